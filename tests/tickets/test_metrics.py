"""What the site measures of its requests: few labels, and nothing of who asked for what."""

from collections import Counter
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings
from rest_framework.test import APIClient

from sequences.metrics import Instrument, Recorder
from tests.sequences.support import measured_by
from tickets.metrics import INSTRUMENTS, REQUESTS, SECONDS, Metrics
from tickets.types import Project


class Book(Recorder):
    """The site's own amounts, by instrument and labels."""

    def __init__(self) -> None:
        self.amounts = Counter[tuple[Instrument, tuple[str, ...]]]()

    def record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
        if instrument in INSTRUMENTS:
            self.amounts[instrument, labels] += 1 if instrument.buckets else int(amount)


@pytest.fixture
def book() -> Iterator[Book]:
    """What is measured during the test."""
    with measured_by(book := Book()):
        yield book


def test_requests_are_counted_by_route(book: Book, browser: Client, api: APIClient, abc: Project) -> None:
    """A page and a program's request count under the names of their routes, with their methods and statuses."""
    browser.get("/ABC/?q=x")
    browser.get("/ABC-7/")
    api.post("/api/projects/ABC/tickets/", {"title": "x"})
    assert book.amounts == {
        (REQUESTS, ("tickets:project", "GET", "200")): 1,
        (REQUESTS, ("tickets:ticket", "GET", "404")): 1,
        (REQUESTS, ("api:ticket_list", "POST", "201")): 1,
        (SECONDS, ("tickets:project",)): 1,
        (SECONDS, ("tickets:ticket",)): 1,
        (SECONDS, ("api:ticket_list",)): 1,
    }


@pytest.mark.django_db
def test_nobody_makes_labels(book: Book, client: Client) -> None:
    """Addresses that lead nowhere and methods that do not exist share a label each, however many there are."""
    for number in range(3):
        client.generic(f"BREW{number}", f"/no/such/address/{number}")
    (one,) = [labels for instrument, labels in book.amounts if instrument is REQUESTS]
    assert one[1:] == ("other", "404")


@pytest.mark.django_db
def test_a_fault_is_counted(book: Book, browser: Client, abc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody expects is a request with status 500."""
    monkeypatch.setattr("tickets.selectors.list_tickets", lambda *_, **__: 1 / 0)
    browser.raise_request_exception = False
    browser.get("/ABC/")
    assert book.amounts[REQUESTS, ("tickets:project", "GET", "500")] == 1


@pytest.mark.django_db
def test_monitors_are_not_counted(book: Book, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What asks for health and metrics would hide what people get."""
    monkeypatch.setattr(settings, "METRICS_TOKEN", "secret")
    client.get("/healthz")
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer secret"}).status_code == 200
    assert book.amounts == {}


def test_the_seconds_are_those_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is that from the request to its answer; where nothing is measured, no clock is asked."""
    told = list[float]()

    class Seconds(Recorder):
        def record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
            told.extend([amount] * (instrument is SECONDS))

    monkeypatch.setattr("tickets.metrics.perf_counter", iter([7.0, 7.25]).__next__)
    middleware, request = Metrics(lambda _: HttpResponse()), RequestFactory().get("/")
    middleware(request)
    with measured_by(Seconds()):
        middleware(request)
    assert told == [0.25]


def test_what_is_told_by_which_name() -> None:
    """Monitors know the amounts by their names, labels and units."""
    assert (REQUESTS.name, [*REQUESTS.labels]) == ("tickets.http.requests", ["route", "method", "status"])
    assert (SECONDS.name, [*SECONDS.labels], SECONDS.unit) == ("tickets.http.request", ["route"], "seconds")


@pytest.mark.parametrize("method", ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"])
def test_methods_have_names(book: Book, method: str) -> None:
    """Each method that there is has a label of its own."""
    Metrics(lambda _: HttpResponse())(RequestFactory().generic(method, "/"))
    assert book.amounts[REQUESTS, ("unmatched", method, "200")] == 1


class TestAddress:
    @pytest.fixture(autouse=True)
    def _token(self, settings: Settings) -> None:
        settings.METRICS_TOKEN = "secret"

    def asked(self, method: str = "GET", **headers: str) -> HttpResponse:
        """The answer to a monitor; the site would say 404."""
        request = RequestFactory().generic(method, "/metrics", headers=headers)
        return Metrics(lambda _: HttpResponse(status=404))(request)

    def test_it_is_read_and_nothing_else(self) -> None:
        """Another method is told the one that there is."""
        answer = self.asked("POST", Authorization="Bearer secret")
        assert (answer.status_code, answer["Allow"]) == (405, "GET")

    @pytest.mark.parametrize("sent", [{}, {"Authorization": "Bearer other"}, {"Authorization": "secret"}])
    def test_without_the_token_it_is_shut(self, sent: dict[str, str]) -> None:
        """Who has no token, or another one, is told what to send."""
        answer = self.asked(**sent)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="metrics"')

    def test_no_cache_keeps_it(self) -> None:
        """A monitor reads what is measured now."""
        answer = self.asked(Authorization="Bearer secret")
        assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
        assert answer["Content-Type"].startswith("text/plain")

    def test_without_a_token_there_is_no_such_address(self, settings: Settings) -> None:
        """Neither a token opens it then, nor the lack of one."""
        settings.METRICS_TOKEN = ""
        assert [self.asked(**sent).status_code for sent in ({}, {"Authorization": "Bearer "})] == [404, 404]
