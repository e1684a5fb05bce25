"""The throttles of the API. Their counting is in `tickets.accounts.throttles`."""

from typing import Any

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from tickets.accounts.sign_in import Try, address_of, begin
from tickets.accounts.throttles import Verdict, take


def note(request: Request, *verdicts: Verdict) -> None:
    """Let the answer's headers tell these verdicts."""
    request._request.verdicts = [*getattr(request._request, "verdicts", ()), *verdicts]  # type: ignore[attr-defined]


class UserThrottle(BaseThrottle):
    """So many requests of each account."""

    rate = "user"
    verdict: Verdict | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the account may send this request."""
        self.verdict = take(self.rate, str(request.user.pk))
        if self.verdict:
            note(request, self.verdict)
        return self.verdict is None or self.verdict.allowed

    def wait(self) -> float | None:
        """The seconds until there are others."""
        return self.verdict.seconds if self.verdict else None


class TokenThrottle(UserThrottle):
    """So many new tokens of each account."""

    rate = "tokens"

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the account may send this request. Reading is not counted here."""
        return request.method != "POST" or super().allow_request(request, view)


def require_unknown_allowed(request: Request) -> None:
    """Count a request whose token has to be looked up. Raises Throttled if its address sent too many of them."""
    verdict = take("address", address_of(request._request))
    if verdict and not verdict.allowed:
        note(request, verdict)
        raise Throttled(verdict.seconds)


def begin_sign_in(request: Request, name: str) -> Try:
    """Count a try to sign in by a password. Raises Throttled."""
    tried = begin(request._request, name)
    note(request, *tried.verdicts)
    if tried.refusal:
        raise Throttled(tried.refusal.seconds)
    return tried
