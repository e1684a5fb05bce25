"""The throttles of the API. Their counting is in `tickets.accounts.throttles`."""

from typing import Any

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from tickets.accounts import heavy
from tickets.accounts.sign_in import Try, address_of, begin
from tickets.accounts.throttles import Verdict, take


def note(request: Request, *verdicts: Verdict | None) -> None:
    """Let the answer's headers tell these verdicts."""
    known = (*getattr(request._request, "verdicts", ()), *filter(None, verdicts))
    request._request.verdicts = [*known]  # type: ignore[attr-defined]


class UserThrottle(BaseThrottle):
    """So many requests of each account, where a heavy one counts more, and so many heavy ones at once."""

    seconds: int

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the account may send this request."""
        verdict, self.seconds = heavy.admit(request._request, str(request.user.pk))
        note(request, verdict)
        return not self.seconds

    def wait(self) -> float | None:
        """The seconds until there are others."""
        return self.seconds


class TokenThrottle(UserThrottle):
    """So many new tokens of each account. As each takes the password, so many wrong ones can be tried."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the account may send this request. Reading is not counted here."""
        verdict = take("tokens", str(request.user.pk)) if request.method == "POST" else None
        note(request, verdict)
        self.seconds = verdict.wait if verdict else 0
        return not self.seconds


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
    if tried.wait:
        raise Throttled(tried.wait)
    return tried
