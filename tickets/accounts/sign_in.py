"""Sign-ins by password: at most so many tries by an address and for a name, and a line in the log for each that fails.

A try takes a place of its address and of its name before the password is looked at, so that many at the same time are
no way around the limit. A sign-in that succeeds gives both back: people who know their passwords are never counted.
"""

import ipaddress
import logging
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string

from tickets.accounts import throttles
from tickets.accounts.throttles import Verdict

logger = logging.getLogger(__name__)


def address_of(request: HttpRequest) -> str:
    """The address that a request comes from; of IPv6 its first half, as its owner chooses the rest freely.

    Behind PROXIES proxies it is the one that the first of them has seen, in X-Forwarded-For.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if settings.PROXIES and forwarded[0]:
        address = forwarded[-min(settings.PROXIES, len(forwarded))].strip()
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    return str(known if known.version == 4 else ipaddress.ip_network((known, 64), strict=False))


@dataclass(slots=True)
class Try:
    """One try to sign in. `refusal` says that there are too many."""

    verdicts: list[Verdict] = field(default_factory=list)
    refusal: Verdict | None = None
    _places: list[str] = field(default_factory=list)

    def succeed(self) -> None:
        """The password was right: the try does not count."""
        for place in self._places:
            throttles.give_back(place)


def begin(request: HttpRequest, name: str) -> Try:
    """Count a try to sign in with this name from the address of the request."""
    found = Try()
    who = unicodedata.normalize("NFKC", name).casefold()
    for rate, caller in (("sign-in-address", address_of(request)), ("sign-in-name", who)):
        taken = throttles.take_place(rate, caller)
        if taken is None:
            continue
        verdict, place = taken
        found.verdicts.append(verdict)
        if not verdict.allowed:
            found.refusal = verdict
            logger.warning("A sign-in as %r from %s was refused: too many tries.", name[:150], address_of(request))
            break
        found._places.append(place)
    return found


def limited(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A sign-in page that answers too many tries with 429. It succeeded if it leads on, or has signed somebody in."""

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        tried = begin(request, request.POST.get("username", ""))
        was_signed_in = request.user.is_authenticated
        request.verdicts = tried.verdicts  # type: ignore[attr-defined] # `middleware` makes headers of them
        if tried.refusal:
            return too_many(request, tried.refusal.seconds)
        response = view(request, *args, **kwargs)
        if response.status_code == 302 or request.user.is_authenticated > was_signed_in:
            tried.succeed()
        return response

    return page


def too_many(request: HttpRequest, seconds: int) -> HttpResponse:
    """The page with status 429."""
    detail = f"Too many sign-ins failed. Wait {seconds} second{'' if seconds == 1 else 's'}, then try again."
    page = render_to_string("error.html", {"title": "Too many tries", "detail": detail, "again": True}, request)
    return HttpResponse(page, status=429, headers={"Retry-After": str(seconds)})


def signed_in(request: Any) -> User:
    """The person that sent a request of a page or of REST, which are for signed-in people only."""
    assert isinstance(request.user, User)
    return request.user


@receiver(user_login_failed)
def log_failure(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """A line for a sign-in with a wrong name or password: a page, REST, or the administration."""
    name = str(credentials.get("username", ""))[:150]
    address, path = (address_of(request), request.path) if request else ("nowhere", "a program")
    logger.warning("A sign-in as %r from %s failed at %s.", name, address, path)
