"""The limit of bodies, before anything reads one."""

import pytest
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django import Settings

from tickets.accounts.middleware import Limits


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
