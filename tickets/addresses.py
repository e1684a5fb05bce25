"""The one address of whatever has a key: other spellings, former keys, and the keys of moved tickets lead to it.

Each is answered with status 308, so that the method, the body and the query are kept. A key may come back to where it
was: browsers ask again each time, as for every answer (`tickets.headers`).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import Resolver404, URLResolver, get_resolver, resolve, reverse
from django.utils.encoding import escape_uri_path
from django.views.decorators.csrf import csrf_exempt

from tickets import selectors
from tickets.health import Health
from tickets.metrics import PATH as METRICS
from tickets.types import ProjectKey, TicketKey, project_of

K = TypeVar("K", ProjectKey, TicketKey)

# Letters of any case, for a ticket a number with zeros before it, and perhaps no slash at the end.
KEY = "[A-Za-z][A-Za-z0-9]{1,9}(?:-[0-9]{1,50})?"
BEFORE_URLS = (*Health.answers, METRICS)  # answered by middleware
ANY_SPELLING = f"(?P<key>{KEY})(?P<rest>(?:/.*)?)"


@csrf_exempt  # nothing is done here
@login_not_required
def other_spelling(request: HttpRequest, key: str, rest: str) -> HttpResponse:
    """The way from `/abc-042` to `/ABC-42/`. The slash alone is tried before the key: `/orders` is no project."""
    spelled = f"{request.path.removesuffix(key + rest)}{written(key)}{rest}"
    for path in (f"{request.path}/", *(() if written(key) in reserved_words() else (spelled, f"{spelled}/"))):
        if _is_one(path):
            return elsewhere(request, escape_uri_path(path))
    raise Http404("There is nothing at this address.")


@cache
def reserved_words() -> frozenset[str]:
    """What no new project has as its key: in small letters it is the address of something else, such as /login/."""
    words = [*_first_words(get_resolver()), settings.STATIC_URL, *BEFORE_URLS]
    return frozenset(word.strip("/").upper() for word in words)


def _first_words(resolver: URLResolver) -> Iterator[str]:
    """The words with which the addresses of the site begin."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver) and not str(pattern.pattern):
            yield from _first_words(pattern)
        else:
            yield str(pattern.pattern).partition("/")[0]


def path_of(typed: str) -> str | None:
    """The path of the project or the ticket whose key somebody has typed; None for what is no key."""
    spelled = re.fullmatch(KEY, "-".join(typed.split()))
    path = f"{reverse('tickets:project_list')}{written(spelled[0])}/" if spelled else ""
    return path if _is_one(path) else None


def written(key: str) -> str:
    """A key in any spelling, as it is written."""
    project, dash, number = key.partition("-")
    return f"{project.upper()}{dash}{number.lstrip('0')}"


def _is_one(path: str) -> bool:
    """Whether something is at this path."""
    try:
        return resolve(path).func is not other_spelling
    except Resolver404:
        return False


def elsewhere(request: HttpRequest, path: str) -> HttpResponse:
    """The answer that sends the same request, with its query, to another path."""
    return HttpResponsePermanentRedirect(with_query(request, path), preserve_request=True)


def of_key(request: Any, key: str | TicketKey) -> str:
    """The path of this request for another key, without its query."""
    asked = request.resolver_match
    return reverse(asked.view_name, kwargs={**asked.kwargs, "key": key})


def present(key: K) -> K:
    """The same key, with the present one of its project."""
    project = project_of(key)
    now = selectors.present_key(project)
    if now == project:
        return key
    return replace(key, project=now) if isinstance(key, TicketKey) else type(key)(now)


def with_query(request: Any, path: str) -> str:
    """A path with the query of a request."""
    query = request.META.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path
