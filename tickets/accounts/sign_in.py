"""Sign-ins by password: at most so many tries fail, and a line in the log for each that does.

A try takes places before the password is looked at, so that many at the same time are no way around the limits. The
first belongs to a name at an address, so that one person's wrong passwords neither keep the name from signing in
elsewhere, nor others at the address. The address and the name alone have many more. Who is signed in and gives the
password once more has a place of the account alone. A sign-in that succeeds gives all back: people who know
their passwords are never counted.
"""

import ipaddress
import logging
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string

from tickets.accounts import heavy, throttles
from tickets.accounts.throttles import Verdict
from tickets.kept_forms import typed_in

logger = logging.getLogger(__name__)

PEOPLE = 4  # who may sign in at one moment at an address


def address_of(request: HttpRequest) -> str:
    """The address that a request comes from; of IPv6 its first half, as its owner chooses the rest freely.

    Behind PROXIES proxies it is the one that the first of them has seen, in X-Forwarded-For.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if settings.PROXIES and forwarded[0]:
        address = forwarded[-min(settings.PROXIES, len(forwarded))].strip()
    elif forwarded[0]:
        warn_of_proxies()
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    known = getattr(known, "ipv4_mapped", None) or known  # otherwise all of IPv4 were one half
    return str(known if known.version == 4 else ipaddress.ip_network((known, 64), strict=False))


@cache
def warn_of_proxies() -> None:
    """A line of the log, once in each process."""
    logger.warning(
        "A request came with X-Forwarded-For, which is not believed, as PROXIES is 0. If proxies stand before the "
        "site, set PROXIES to their number: all people behind one share a limit of sign-ins."
    )


@dataclass(slots=True)
class Try:
    """One try to sign in. There are too many if it has to `wait` for some seconds."""

    verdicts: list[Verdict] = field(default_factory=list)
    wait: int = 0
    _places: list[str] = field(default_factory=list)

    def succeed(self) -> None:
        """The password was right: the try does not count."""
        for place in self._places:
            throttles.give_back(place)


def begin(request: HttpRequest, name: str) -> Try:
    """Count a try to sign in with this name. It is a heavy call of its address: to check a password takes long."""
    found, address = Try(), address_of(request)
    if not heavy.begin(request, f"sign-in {address}", PEOPLE):
        found.wait = heavy.AGAIN_SECONDS
    for rate, caller in _places(request, name, address):
        taken = None if found.wait else throttles.take_place(rate, caller)
        if taken is None:
            continue
        verdict, place = taken
        found.verdicts.append(verdict)
        if verdict.allowed:
            found._places.append(place)
        else:
            found.wait = verdict.seconds
            logger.warning("A sign-in as %r from %s was refused: too many tries.", name[:150], address)
    return found


def _places(request: HttpRequest, name: str, address: str) -> list[tuple[str, str]]:
    """The rates that a try is counted in, and for whom."""
    if request.user.is_authenticated:
        return [("sign-in", f"account {request.user.pk}")]
    who = unicodedata.normalize("NFKC", name).casefold()
    return [("sign-in", f"{address} {who}"), ("sign-in-address", address), ("sign-in-name", who)]


def limited(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A sign-in page that answers too many tries with 429. It succeeded if it leads on, or has signed somebody in."""

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        tried = begin(request, request.POST.get("username", ""))
        was_signed_in = request.user.is_authenticated
        request.verdicts = tried.verdicts  # type: ignore[attr-defined] # `middleware` makes headers of them
        if tried.wait:
            return too_many(request, tried.wait, "Too many sign-ins failed, or came at once.")
        response = view(request, *args, **kwargs)
        if response.status_code == 302 or request.user.is_authenticated > was_signed_in:
            tried.succeed()
        return response

    return page


def too_many(request: HttpRequest, seconds: int, why: str) -> HttpResponse:
    """The page with status 429."""
    detail = f"{why} Wait {seconds} second{'' if seconds == 1 else 's'}, then try again."
    content = {"title": "Too many tries", "detail": detail, "again": True, "typed": typed_in(request)}
    page = render_to_string("error.html", content, request)
    return HttpResponse(page, status=429, headers={"Retry-After": str(seconds)})


def signed_in(request: Any) -> User:
    """The person that sent a request of a page or of REST, which are for signed-in people only."""
    assert isinstance(request.user, User)
    return request.user


def author(request: Any) -> str:
    """The user name of who sent it, for what they report and change."""
    return str(request.user.get_username())


@receiver(user_login_failed)
def log_failure(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """A line for a sign-in with a wrong name or password: a page, REST, or the administration."""
    name = str(credentials.get("username", ""))[:150]
    address, path = (address_of(request), request.path) if request else ("nowhere", "a program")
    logger.warning("A sign-in as %r from %s failed at %s.", name, address, path)
