"""What stands before the pages: the limits of requests, and the sign-in of who has no session, or has it no more."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from tickets.accounts import heavy
from tickets.accounts.sign_in import too_many
from tickets.accounts.views import sign_in_again


class Limits(MiddlewareMixin):
    """Stands before everything that reads a body."""

    def process_request(self, request: HttpRequest) -> None:
        """Refuse a body by its length, before a byte of it is read. `project.worker` then closes the connection."""
        most, length = settings.DATA_UPLOAD_MAX_MEMORY_SIZE, request.META.get("CONTENT_LENGTH")
        if length and most is not None and int(length) > most:
            raise RequestDataTooBig(f"A body of {length} bytes is too large.")

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Say how many requests are left, and end with the answer what is heavy."""
        heavy.end_with(response, request)
        if verdicts := getattr(request, "verdicts", None):
            # Of draft-ietf-httpapi-ratelimit-headers-10.
            response["RateLimit-Policy"] = ", ".join([verdict.rate.policy for verdict in verdicts])
            response["RateLimit"] = ", ".join([verdict.header for verdict in verdicts])
        return response

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        """Refuse a heavy page of an account that has asked for too many. REST counts when it knows its caller."""
        if request.path.startswith("/api/") or heavy.weight(request) == 1 or not request.user.is_authenticated:
            return None
        verdict, wait = heavy.admit(request, str(request.user.pk))
        request.verdicts = [verdict] if verdict else []  # type: ignore[attr-defined]
        return too_many(request, wait, "You have asked for too many lists and exports.") if wait else None


class SignInFirst(LoginRequiredMiddleware):
    """Pages are for signed-in people. Who sends a form after the session has ended keeps what they typed."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., Any], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        """Look into the session for the pages that want a sign-in alone: answers to a token depend on no cookie."""
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(  # type: ignore[override] # not always a redirect
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponse:
        """Lead to the sign-in page; in answer to a form, it is shown at once."""
        if request.method == "POST":
            return sign_in_again(request)
        return super().handle_no_permission(request, view_func)
