"""Closing the books of a period, and opening them again, in the administration."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from sequences import put_next
from sequences.admin import dialogs
from sequences.changes import close, history
from sequences.exceptions import SequenceFrozen, SequenceUnavailable
from sequences.registry import strategies
from sequences.strategies.counter_strategy import counter_of
from tests.sequences.admin.test_admin import LIST, client_with

AT = "sequences.strategies."
YEARLY: dict[str, Any] = {"PERIOD": "year", "FORMAT": "{scope}-{period}-{value}"}
SEQUENCES: dict[str, dict[str, Any]] = {
    "invoices": {"STRATEGY": f"{AT}TransactionalCounter", **YEARLY},
    "atomic": {"STRATEGY": f"{AT}AtomicCounter", **YEARLY},
    "tail": {"STRATEGY": f"{AT}SortKeyMaximum", **YEARLY},
    "plain": {"STRATEGY": f"{AT}TransactionalCounter"},
}
CLOSE, REOPEN = f"{LIST}invoices/close/", f"{LIST}invoices/reopen/"
ASKED = {"period": "2025", "reason": "the audit is done"}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_sequences")]


@pytest.fixture
def client() -> Client:
    """Somebody who may close and open books, and nothing else."""
    return client_with("sequences.view_sequence", "sequences.close_sequence", "sequences.reopen_sequence")


def put(scope: str, day: date = date(2025, 5, 5)) -> int:
    """Store an item; its value."""
    return put_next("invoices", {}, scope=scope, date=day).value


def is_closed(scope: str) -> bool:
    """Whether a scope gets no number in 2025."""
    try:
        put(scope)
    except SequenceFrozen:
        return True
    return False


def test_books_are_closed_and_opened(client: Client) -> None:
    """The page says first which scopes have numbers; what is confirmed is done, and stands in the history."""
    put("A"), put("B"), put("A", date(2026, 1, 1))
    shown = client.post(CLOSE, ASKED).content.decode()
    assert re.findall(r"(\w+), last value (\w+)", shown) == [("A", "1"), ("B", "1")]
    assert not is_closed("A")
    done = client.post(CLOSE, {**ASKED, "confirmed": "Yes"})
    assert done["Location"] == f"{LIST}invoices/?period=2025"
    assert all(map(is_closed, "ABC"))
    page = client.get(done["Location"]).content.decode()
    assert "Done: the books of 2025 are closed. Scopes with numbers: 2." in page
    made = {(one.kind, one.by, one.reason) for one in history("invoices")[0]}
    assert made == {("close", "ada", "the audit is done")}
    assert client.post(REOPEN, {**ASKED, "confirmed": "Yes"}).status_code == 302
    assert [put(scope) for scope in "ABC"] == [3, 2, 1]


def test_one_scope_is_opened(client: Client) -> None:
    """The others stay closed, and so does the sequence without scope."""
    put("A"), put("B")
    close("invoices", "2025", by="ana", reason="a test")
    form = {**ASKED, "scope": "B"}
    assert "<td>B</td>" in client.post(REOPEN, form).content.decode()
    client.post(REOPEN, {**form, "confirmed": "Yes"})
    assert [is_closed(scope) for scope in "ABC"] == [True, False, True]


def test_the_sequence_without_scope_is_opened(client: Client, settings: Settings) -> None:
    """It is named by "#", as everywhere; the scopes stay closed."""
    settings.SEQUENCES = {**SEQUENCES, "invoices": {**SEQUENCES["invoices"], "FORMAT": None}}
    put("A"), put_next("invoices", {}, date=date(2025, 5, 5))
    close("invoices", "2025", by="ana", reason="a test")
    client.post(REOPEN, {**ASKED, "scope": "#", "confirmed": "Yes"})
    assert put_next("invoices", {}, date=date(2025, 5, 5)).value == 2
    assert is_closed("A")


def test_a_moment_in_the_future(client: Client) -> None:
    """Until then numbers are given; a moment that is past is refused, and the page says so."""
    put("A")
    later = timezone.localtime() + timedelta(days=1)
    form = {**ASKED, "at": later.strftime("%Y-%m-%dT%H:%M")}
    assert later.strftime("%Y-%m-%d %H:%M") in client.post(CLOSE, form).content.decode()
    assert client.post(CLOSE, {**form, "confirmed": "Yes"}).status_code == 302
    assert not is_closed("A")
    assert "which is past" in client.post(CLOSE, {**form, "at": "2020-01-01T00:00"}).content.decode()


def test_a_moment_without_time_zones(client: Client, settings: Settings) -> None:
    """A project without USE_TZ closes books at a moment of its TIME_ZONE."""
    settings.USE_TZ, settings.TIME_ZONE = False, "Europe/Berlin"
    form = {**ASKED, "at": "2126-02-01T00:00", "confirmed": "Yes"}
    assert client.post(CLOSE, form).status_code == 302
    strategy = strategies["invoices"]
    row = counter_of(strategy).closings.read("2025", strategy.deadline().read)
    assert row["at"].startswith("2126-01-31T23:00")


def test_what_a_sequence_cannot(client: Client) -> None:
    """Only counters with periods have the pages linked; a moment is asked for where it can hold."""
    linked = {alias: "/close/" in client.get(f"{LIST}{alias}/").content.decode() for alias in SEQUENCES}
    assert linked == {"invoices": True, "atomic": True, "tail": False, "plain": False}
    for alias, said in (("tail", "has no counters"), ("plain", "has no PERIOD")):
        assert said in client.post(f"{LIST}{alias}/close/", ASKED).content.decode()
    assert 'name="at"' in client.get(CLOSE).content.decode()
    assert 'name="at"' not in client.get(f"{LIST}atomic/close/").content.decode()
    assert client.get(f"{LIST}nothing/close/").status_code == 404


@pytest.mark.parametrize(("field", "given"), [("period", "25"), ("period", ""), ("reason", "")])
def test_wrong_fields(client: Client, field: str, given: str) -> None:
    """The page says what is wrong, and closes nothing."""
    page = client.post(CLOSE, {**ASKED, field: given, "confirmed": "Yes"})
    assert (page.status_code, "errorlist" in page.content.decode()) == (200, True)
    assert not is_closed("A")


@pytest.mark.parametrize("kind", ["close", "reopen"])
@pytest.mark.parametrize(("permission", "status"), [("close", 200), ("change", 200), ("thaw", 403)])
def test_who_may(kind: str, permission: str, status: int) -> None:
    """Each of them takes a permission of its own; who may change sequences may do both."""
    named = kind if permission == "close" else permission
    client = client_with("sequences.view_sequence", f"sequences.{named}_sequence")
    assert client.get(f"{LIST}invoices/{kind}/").status_code == status
    shown = [f"invoices/{one}/" in client.get(f"{LIST}invoices/").content.decode() for one in ("close", "reopen")]
    assert shown == [permission == "change" or one == named for one in ("close", "reopen")]


def test_more_than_a_page_has_time_for(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is closed by then stays closed, for every scope that has no number; the page says how to go on."""
    for scope in "ABCDEF":
        put(scope)
    monkeypatch.setattr(dialogs, "MOST_REQUESTS", 12)
    page = client.post(CLOSE, {**ASKED, "confirmed": "Yes"})
    said = "More to do than a page has time for: `manage.py sequences close invoices --period 2025 --reason ...`"
    assert (page.status_code, said in page.content.decode()) == (503, True)
    assert is_closed("new")
    monkeypatch.undo()
    client.post(CLOSE, {**ASKED, "confirmed": "Yes"})
    assert all(map(is_closed, "ABCDEF"))


def test_the_engine_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says that it is not known whether it was done."""

    def fail(*given: Any, **named: Any) -> None:
        raise SequenceUnavailable("gone", attempts=1, seconds=1.0, outcome_unknown=True)

    monkeypatch.setattr("sequences.changes.close", fail)
    page = client.post(CLOSE, {**ASKED, "confirmed": "Yes"})
    assert (page.status_code, "It is not known whether this was done" in page.content.decode()) == (503, True)


def test_many_scopes(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page names some scopes, and says how many more there are."""
    monkeypatch.setattr(dialogs, "NAMED", 2)
    for scope in "ABC":
        put(scope)
    assert "and 1 more" in client.post(CLOSE, ASKED).content.decode()
