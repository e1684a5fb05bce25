"""The id of each request."""

import logging
import re
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from sequences.logs import FIELDS
from sequences.rest.request_ids import RequestIdFilter, RequestIds, current_request_id


class TestRequestIds:
    @pytest.mark.parametrize("sent", ["a", "0.A-z_9", "x" * 128])
    def test_a_sane_id_is_kept(self, client: Client, db: None, sent: str) -> None:
        """The caller's own id comes back."""
        assert client.get("/problems/", headers={"X-Request-Id": sent})["X-Request-Id"] == sent

    @pytest.mark.parametrize("sent", ["", "x" * 129, "a b", "a\nb", "é", "a;b"])
    def test_another_id_is_replaced(self, client: Client, db: None, sent: str) -> None:
        """An id that is too long, or could forge a line of the log, is replaced by a new one each time."""
        given = {client.get("/problems/", headers={"X-Request-Id": sent})["X-Request-Id"] for _ in range(2)}
        assert len(given) == 2
        assert all(re.fullmatch("[0-9a-f]{32}", one) for one in given)

    def test_each_line_of_the_log_has_it(self) -> None:
        """Within a request every line has its id; outside of one a dash, also after a request that failed."""
        seen: list[Any] = []

        def look() -> None:
            record = logging.makeLogRecord({})
            assert RequestIdFilter().filter(record)
            seen.append((current_request_id(), record.__dict__["request_id"]))

        def answer(request: HttpRequest) -> HttpResponse:
            look()
            if request.path == "/fail/":
                raise KeyError("ours")
            return HttpResponse()

        for address in ("/", "/fail/"):
            request = RequestFactory().get(address, headers={"X-Request-Id": address.strip("/") or "home"})
            try:
                RequestIds(answer)(request)
            except KeyError:
                pass
        look()
        assert seen == [("home", "home"), ("fail", "fail"), ("", "-")]

    def test_a_line_about_an_answered_request_has_it(self, rf: RequestFactory) -> None:
        """Django writes lines about a request when it has left all middleware: they have its id all the same."""
        request = rf.get("/", headers={"X-Request-Id": "home"})
        RequestIds(lambda _: HttpResponse(status=503))(request)
        record = logging.makeLogRecord({"request": request})
        assert RequestIdFilter().filter(record)
        assert record.__dict__["request_id"] == "home"

    def test_the_handlers_of_the_site_show_it(self, settings: Settings) -> None:
        """Every handler has the filter, and every format shows the id."""
        assert all("request_id" in handler["filters"] for handler in settings.LOGGING["handlers"].values())
        assert "{request_id}" in settings.LOGGING["formatters"]["text"]["format"]
        assert "request_id" in FIELDS
