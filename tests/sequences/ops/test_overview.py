"""The figures of sequences and of their scopes: which are shown, in which order, and why there are none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from unittest import mock

import pytest
from pytest_django import Settings

from sequences import dynamodb, get_next_values, put_next, put_next_many
from sequences.exceptions import BudgetSpent, NotConfigured, SequenceError, SequenceUnavailable, StorageRefused
from sequences.ops import overview as module
from sequences.ops.audit.results import latest_audits
from sequences.ops.overview import Figures, ScopeFigures, figures_of, is_away, overview, present_period
from sequences.ops.register import register
from sequences.rates import Rates, Usage, rates_of
from sequences.registry import strategies
from sequences.types import Counter
from tests.sequences.support import set_counter, written

pytestmark = pytest.mark.usefixtures("own_sequences", "patience", "steady_date")

AT, EARLIER = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
PATH = "sequences.strategies"
SEQUENCES: dict[str, Any] = {
    "orders": {"STRATEGY": f"{PATH}.atomic.AtomicCounter"},
    "letters": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", "TABLE": "letters"},
    "yearly": {"STRATEGY": f"{PATH}.transactional.TransactionalCounter", "PERIOD": "year"},
}


def shown(figures: Figures) -> list[tuple[str | None, int | None]]:
    """The scopes that have figures, with their last values."""
    return [(one.counter.scope, one.counter.last_value) for one in figures.scopes]


@pytest.mark.parametrize("name", ["orders", "letters"])
def test_those_used_most_come_first(name: str) -> None:
    """Of a page those that have given most are shown, and it says whether there are more."""
    began = datetime.now(UTC).replace(microsecond=0)
    for scope, count in (("A", 3), ("B", 10), ("C", 1)):
        put_next_many(name, [{}] * count, scope=scope)
    figures = figures_of(name, None, 100)
    assert shown(figures) == [("B", 10), ("A", 3), ("C", 1)]
    assert [counter.scope for counter in figures.read] == ["B", "A", "C"]
    assert (figures.alias, figures.strategy, figures.period) == (name, strategies[name], "")
    assert (figures.following, figures.has_more, figures.trouble, figures.unlisted) == (None, False, "", "")
    assert (figures.audit, figures.away) == (None, False)
    if name == "orders":
        assert all(one.last_at is not None and one.last_at >= began for one in figures.scopes)
    few = figures_of(name, None, 100, shown=2)
    assert (shown(few), len(few.read), few.following, few.has_more) == ([("B", 10), ("A", 3)], 3, None, True)
    page = figures_of(name, None, 2)
    assert (len(page.scopes), page.following is not None, page.has_more) == (2, True, True)
    rest = figures_of(name, page.following, 2)
    assert (len(rest.scopes), rest.has_more) == (1, False)
    assert shown(figures_of(name, None, 100, prefix="B")) == [("B", 10)]


@pytest.mark.parametrize(("name", "read"), [("letters", "A"), ("orders", "ABC")])
def test_rates_of_scopes_that_are_not_shown(name: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read only where they come with the counters."""
    for scope in "ABC":
        put_next(name, {}, scope=scope)
    rates = mock.Mock(wraps=rates_of)
    monkeypatch.setattr(module, "rates_of", rates)
    figures_of(name, None, 100, shown=1)
    ((_, counters),) = (call.args for call in rates.call_args_list)
    assert [counter.scope for counter in counters] == list(read)


def test_the_present_period() -> None:
    """Of a sequence with periods the scopes of today's are shown; one without them has none."""
    put_next("yearly", {}, scope="old", date=date(2019, 1, 1))
    put_next("yearly", {}, scope="new")
    today = f"{datetime.now(UTC):%Y}"
    (figures,) = overview(["yearly"])
    assert (figures.period, shown(figures)) == (today, [("new", 1)])
    assert [present_period(strategies[name]) for name in SEQUENCES] == ["", "", today]
    every = figures_of("yearly", None, 100)
    assert (every.period, len(every.scopes)) == ("", 2)


def test_lines_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scopes of today's period are listed: that list says what is wrong."""
    book = mock.Mock()
    book.rows.has_own_periods.side_effect = SequenceUnavailable("No answer.", attempts=1, seconds=1.0)
    monkeypatch.setattr(strategies, "lines", lambda alias: book)
    assert present_period(strategies["yearly"]) == f"{datetime.now(UTC):%Y}"


def test_a_budget_for_each_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some scopes of some sequences are read, and a few of them shown."""
    monkeypatch.setattr(module, "FIRST_SCOPES", 2)
    monkeypatch.setattr(module, "READ_SCOPES", 3)
    monkeypatch.setattr(module, "COUNTERS_AT_ONCE", 4)
    for scope in "ABCDE":
        put_next("letters", {}, scope=scope)
        get_next_values(2, "orders", scope=scope)
    found = overview(["letters", "orders"])
    assert [(figures.alias, len(figures.read), len(figures.scopes)) for figures in found] == [
        ("letters", 3, 2),
        ("orders", 4, 2),
    ]


def test_scopes_that_nobody_lists(settings: Settings) -> None:
    """It says why, and that is no trouble."""
    settings.SEQUENCES = {"letters": {**SEQUENCES["letters"], "OPTIONS": {"scopes": None}}}
    put_next("letters", {}, scope="A")
    (figures,) = overview(["letters"])
    assert (figures.scopes, figures.read, figures.trouble, figures.away) == ((), (), "", False)
    assert "letters" in figures.unlisted


def test_a_sequence_that_cannot_be_used(settings: Settings) -> None:
    """Its trouble is what is wrong with its settings; the others have their figures."""
    get_next_values(2, "orders", scope="A")
    settings.SEQUENCES = {**SEQUENCES, "wrong": {"STRATEGY": "nobody's"}}
    wrong, orders = overview(["wrong", "orders"])
    assert (wrong.alias, wrong.strategy, "nobody's" in wrong.trouble) == ("wrong", None, True)
    assert shown(orders) == [("A", 2)]


def test_an_engine_that_is_away(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It is asked for one sequence of a client, and not for the others; the log says what a page says."""
    monkeypatch.setattr(module, "SECONDS_A_SEQUENCE", 0.1)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    dynamodb.reset()
    first, *others = overview([*SEQUENCES])
    (said,) = (record.getMessage() for record in caplog.records if record.name == module.__name__)
    assert first.trouble == said.replace("the figures of orders cannot be read: ", "The scopes cannot be read. ")
    assert [(figures.trouble, figures.away) for figures in others] == [("Not asked, as for orders.", True)] * 2
    assert (first.away, first.strategy) == (True, strategies["orders"])


def test_those_of_an_unknown_month(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scope whose last 30 days are unknown comes after one that has given a number in them."""
    rates = Rates(hour=None, day=None, month=None, days=[], last_at=AT, since=None, approximate=False)
    unknown, one = (
        ScopeFigures(counter=mock.Mock(), rates=replace(rates, month=month), usage=Usage(share=0.0, ends_on=None))
        for month in (None, 1)
    )
    monkeypatch.setattr(module, "scope_figures", lambda strategy, counters: [unknown, one])
    assert module._most_used(strategies["orders"], [], None) == [one, unknown]


def test_scopes_without_numbers() -> None:
    """They come last."""
    list(register("letters", ["A", "B"]))
    put_next("letters", {}, scope="C")
    assert shown(figures_of("letters", None, 100)) == [("C", 1), ("A", None), ("B", None)]


def test_a_counter_that_is_no_number() -> None:
    """What somebody has stored as a text is shown, after the others; it is no trouble for them."""
    get_next_values(3, "orders", scope="B")
    get_next_values(5, "orders", scope="A")
    set_counter("orders", "A", last_value="five")
    (figures,) = overview(["orders"])
    assert ([one.counter.last_value for one in figures.scopes], figures.trouble) == ([3, "five"], "")


@pytest.mark.parametrize(
    ("by_rates", "by_counter", "known"), [(AT, None, AT), (None, AT, AT), (AT, EARLIER, AT), (None, None, None)]
)
def test_when_the_last_value_was_given(
    by_rates: datetime | None, by_counter: datetime | None, known: datetime | None
) -> None:
    """As the rates tell, or else the counter."""
    rates = Rates(hour=None, day=None, month=None, days=[], last_at=by_rates, since=None, approximate=False)
    counter = Counter(sequence="orders", scope="A", last_value=1, updated_at=by_counter)
    assert ScopeFigures(counter=counter, rates=rates, usage=Usage(share=0.0, ends_on=None)).last_at == known


def test_where_no_audit_can_be_kept(settings: Settings) -> None:
    """A sequence whose history has no table of its own has none, and nothing is asked for it."""
    settings.SEQUENCES = {"letters": {**SEQUENCES["letters"], "OPTIONS": {"history_table": "letters"}}}
    assert latest_audits(strategies["letters"]) == []


def test_the_last_audit() -> None:
    """It is the one that was kept last."""
    put_next("letters", {}, scope="A")
    assert latest_audits(strategies["letters"]) == []
    written("sequences", "audit", "letters", "--keep", "--by", "ann")
    written("sequences", "audit", "letters", "--scope", "A", "--keep", "--by", "bob")
    (found, *_), (figures,) = latest_audits(strategies["letters"]), overview(["letters"])
    assert (found.by, figures.audit, len(figures.audits)) == ("bob", found, 2)


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (SequenceUnavailable("No answer.", attempts=1, seconds=1.0), True),
        (NotConfigured("No Region."), True),
        (StorageRefused("No."), False),
        (BudgetSpent("Too many.", too_slow=False), False),
        (BudgetSpent("Too slow.", too_slow=True), True),
    ],
)
def test_who_is_away(error: SequenceError, away: bool) -> None:
    """Who did not answer, or cannot be reached; not who refused, or was asked too often."""
    assert is_away(error) is away
