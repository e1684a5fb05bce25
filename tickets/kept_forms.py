"""What was typed into a form that another page answers: that page keeps it, so that it can be sent again."""

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

CSRF_FIELD, PASSWORD = "csrfmiddlewaretoken", "password"
KEPT = "kept."  # before the names of another form's fields, which the sign-in page keeps


def typed_in(request: HttpRequest) -> list[tuple[str, str]]:
    """The fields of the form that was sent, with what was typed; none if the request cannot be read.

    No page ever holds a password: of a form that has one there is only what a sign-in page keeps, and where it leads.
    """
    try:
        typed = request.POST
    except (BadRequest, MultiPartParserError, SuspiciousOperation, UnreadablePostError):
        return []
    fields = [(name, value) for name, values in typed.lists() if name != CSRF_FIELD for value in values]
    if any(PASSWORD in name for name in typed):  # or "new_password1", as in the administration
        kept = [(name, value) for name, value in fields if name.startswith(KEPT)]
        return [*kept, ("next", typed.get("next", ""))] if kept else []
    return fields


def kept_in(request: HttpRequest) -> list[tuple[str, str]]:
    """What the sign-in page has kept: the fields of the other form."""
    lists = request.POST.lists()
    return [(name.removeprefix(KEPT), value) for name, values in lists if name.startswith(KEPT) for value in values]
