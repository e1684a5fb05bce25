"""What the site measures of its requests: few labels, and nothing of who asked for what."""

from collections import Counter
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from rest_framework.test import APIClient

from sequences.metrics import Instrument, Recorder, metrics
from tickets.metrics import INSTRUMENTS, REQUESTS, SECONDS
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
    book = Book()
    metrics.use([book])
    yield book
    metrics.use([])


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
