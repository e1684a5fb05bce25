"""The limit of bodies, before anything reads one; which pages count; and who is asked to sign in."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django import Settings

from tests.tickets.accounts.test_throttles import Clock
from tickets.accounts import heavy, middleware, throttles
from tickets.accounts.middleware import Limits, SignInFirst


def passed_on(length: str) -> list[HttpRequest]:
    """The requests that a site sees of one that announces a body of this length."""
    seen: list[HttpRequest] = []

    def answer(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse()

    request = RequestFactory().post("/")
    request.META["CONTENT_LENGTH"] = length
    Limits(answer)(request)
    return seen


@pytest.mark.parametrize(("most", "length"), [(10, "10"), (10, ""), (None, "1000000000")])
def test_a_body_within_the_limit_passes(settings: Settings, most: int | None, length: str) -> None:
    """A body of as many bytes as are allowed passes, and one of any length where there is no limit."""
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = most
    assert len(passed_on(length)) == 1


def test_a_larger_body_is_refused_by_its_length(settings: Settings) -> None:
    """A body that is announced as too large is refused, whoever would read it."""
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    with pytest.raises(RequestDataTooBig):
        passed_on("11")


def asked(path: str, name: str, *, signed_in: bool = True) -> Any:
    """A request with a filter for the address of this name."""
    request: Any = RequestFactory().get(path, {"text": "x"})
    request.resolver_match = Mock(view_name=name)
    request.user = SimpleNamespace(is_authenticated=signed_in, pk=f"{uuid4()}")
    return request


@pytest.mark.parametrize(
    ("path", "name", "signed_in", "counts"),
    [
        ("/ABC/", "tickets:project", True, True),
        ("/ABC/", "tickets:project", False, False),
        ("/ABC/", "tickets:ticket", True, False),
        ("/apis/", "tickets:project", True, True),
        ("/api/projects/ABC/tickets/", "api:ticket_list", True, False),
    ],
)
def test_which_pages_count(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, path: str, name: str, signed_in: bool, counts: bool
) -> None:
    """A heavy page of somebody who is signed in is counted here; REST counts for itself."""
    monkeypatch.setattr(throttles, "time", Clock())
    settings.THROTTLES, settings.HEAVY_AT_ONCE = {"user": "20/hour"}, None
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": uuid4().hex}}
    throttles.forget()
    heavy._under_way.clear()
    request, limits, answer = asked(path, name, signed_in=signed_in), Limits(lambda _: HttpResponse()), HttpResponse()
    assert limits.process_view(request) is None
    limits.process_response(request, answer)
    assert answer.get("RateLimit-Policy") == ('"user";q=20;w=3600' if counts else None)
    assert answer.get("RateLimit", "").startswith('"user";r=0;t=') is counts
    again = limits.process_view(request)
    assert (again.status_code if again else None) == (429 if counts else None)
    ends: Any = answer._resource_closers  # type: ignore[attr-defined] # what `close` calls
    assert [end() for end in (*ends, *ends)] == [None, None] * counts
    assert not heavy._under_way
    throttles.forget()


def test_several_rates_are_told_together(rf: RequestFactory) -> None:
    """Each rate by which a request was counted stands in the headers; without any there are none."""
    request: Any = rf.get("/")
    rates = [throttles.Rate("a", 1, 60), throttles.Rate("b", 2, 3600)]
    request.verdicts = [throttles.Verdict(rate, allowed=True, left=rate.count, seconds=5) for rate in rates]
    told = Limits(lambda _: HttpResponse()).process_response(request, HttpResponse())
    assert (told["RateLimit-Policy"], told["RateLimit"]) == ('"a";q=1;w=60, "b";q=2;w=3600', '"a";r=1;t=5, "b";r=2;t=5')
    request.verdicts = []
    assert not Limits(lambda _: HttpResponse()).process_response(request, HttpResponse()).has_header("RateLimit")


def test_who_has_to_sign_in(rf: RequestFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page leads to the sign-in page, and a form is answered with it; what wants no sign-in looks at nobody."""
    monkeypatch.setattr(middleware, "sign_in_again", lambda request: HttpResponse("Sign in", status=403))
    door, nobody = SignInFirst(lambda _: HttpResponse()), SimpleNamespace(is_authenticated=False)

    def shut(request: Any) -> HttpResponse:
        return HttpResponse()

    def opened(request: Any) -> HttpResponse:
        return HttpResponse()

    opened.login_required = False  # type: ignore[attr-defined]
    for request, view, status in (
        (rf.get("/ABC/"), shut, 302),
        (rf.post("/ABC/"), shut, 403),
        (rf.get("/ABC/"), opened, None),
    ):
        if view is shut:  # otherwise it has no user to look at
            request.user = nobody  # type: ignore[assignment]
        answer = door.process_view(request, view, (), {})
        assert (answer.status_code if answer else None) == status
