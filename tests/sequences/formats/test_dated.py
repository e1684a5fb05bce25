"""Sequences with a PERIOD: each period counts on its own, by the document's date."""

from __future__ import annotations

import asyncio
import datetime
import json
import logging
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from sequences import (
    aget_last_value,
    aget_next_value,
    aput_next,
    format_value,
    get_last_value,
    get_next_value,
    get_next_values,
    parse,
    preview,
    put_next,
    put_next_many,
)
from sequences.actions import TEXT, Put, value_text
from sequences.exceptions import (
    IdempotencyMismatch,
    InvalidItem,
    InvalidPeriod,
    InvalidScope,
    InvalidSequence,
    InvalidText,
)
from sequences.ops.audit import audit
from sequences.registry import parse_config, strategies
from sequences.rows.reading import pages
from sequences.signals import nearly_used_up, value_allocated
from sequences.testing.callers import at_once
from sequences.testing.embedded import Engine
from sequences.types import Dated, scope_of_text, scope_text
from tests.sequences.support import Wire, tables_of, tapped, written

PATHS = ("sort_key.SortKeyMaximum", "atomic.AtomicCounter", "block.BlockAllocator", "optimistic.OptimisticCounter",
         "transactional.TransactionalCounter")  # fmt: skip
YEARLY: dict[str, dict[str, Any]] = {
    path.partition(".")[0]: {
        "STRATEGY": f"sequences.strategies.{path}",
        "PERIOD": "year",
        "FORMAT": "{scope}/{period}/{value:04d}",
    }
    for path in PATHS
}
YEARLY["block"]["OPTIONS"] = {"watch_seconds": 3600}  # a look is a request, and other tests count them
NAMES = [*YEARLY]
RESERVING = [name for name in NAMES if name not in ("sort_key", "transactional")]
SEQUENCES: dict[str, dict[str, Any]] = {
    **YEARLY,
    "beside": {**YEARLY["transactional"], "TABLE": "beside", "OPTIONS": {"counter_table": "beside"}},
    "texts": {**YEARLY["transactional"], "OPTIONS": {"text_name": "number"}},
    "own-key": {
        "STRATEGY": "sequences.strategies.transactional.TransactionalCounter",
        "TABLE": "invoices",
        "PERIOD": "year",
        "FORMAT": "INV-{period}-{value:03d}",
        "OPTIONS": {"value_in": "partition_key", "key_names": ["id"], "partition": "INV-{period}-{value:03d}"},
    },
    "daily-text": {**YEARLY["atomic"], "PERIOD": "never", "FORMAT": "{year}{month}{day}-{value}"},
    "short": {**YEARLY["atomic"], "FORMAT": "{scope}-{period}-{value:01d}"},
    "plain": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"},
}
LAST_YEAR, THIS_YEAR = datetime.date(2025, 12, 31), datetime.date(2026, 1, 1)


@pytest.fixture(scope="module")
def dated(engine: Engine) -> Iterator[str]:
    """Tables for these sequences. The tests share them. The value is their prefix."""
    with tables_of(SEQUENCES, engine.endpoint) as prefix:
        yield prefix


@pytest.fixture(autouse=True)
def _dated(dated: str) -> None:
    """All tests here use these tables."""


@pytest.fixture
def scope() -> str:
    """A scope of its own."""
    return uuid4().hex[:12]


class TestEveryStrategy:
    pytestmark = pytest.mark.parametrize("name", NAMES)

    def test_each_year_counts_on_its_own(self, name: str, scope: str) -> None:
        """A document dated last December gets last year's next number, after this year has begun."""
        dates = [LAST_YEAR, THIS_YEAR, LAST_YEAR, THIS_YEAR, THIS_YEAR]
        puts = [put_next(name, {"title": "a"}, scope=scope, date=date) for date in dates]
        assert [(put.period, put.value) for put in puts] == [
            ("2025", 1), ("2026", 1), ("2025", 2), ("2026", 2), ("2026", 3),
        ]  # fmt: skip
        assert [put.scope for put in puts] == [scope] * 5
        assert puts[2].text == f"{scope}/2025/0002"

    def test_todays_period_is_the_default(self, name: str, scope: str) -> None:
        """Without a date the number is in the period of today."""
        put = put_next(name, {"title": "a"}, scope=scope)
        assert put.period == f"{datetime.datetime.now(datetime.UTC):%Y}"

    def test_a_repeat_in_the_next_period_gets_the_first_answer(self, name: str, scope: str) -> None:
        """A request that is repeated after New Year stores nothing, and has its number of last year."""
        first = put_next(name, {"title": "a"}, scope=scope, date=LAST_YEAR, idempotency_token="t")
        strategies.reset()
        again = put_next(name, {"title": "a"}, scope=scope, date=THIS_YEAR, idempotency_token="t")
        assert (again.replayed, again.period, again.value, again.text) == (True, "2025", 1, first.text)
        assert put_next(name, {"title": "b"}, scope=scope, date=THIS_YEAR).value == 1

    def test_another_item_with_the_token_of_another_period_is_refused(self, name: str, scope: str) -> None:
        """One token names one request, in whatever period."""
        put_next(name, {"title": "a"}, scope=scope, date=LAST_YEAR, idempotency_token="t")
        with pytest.raises(IdempotencyMismatch):
            put_next(name, {"title": "b"}, scope=scope, date=THIS_YEAR, idempotency_token="t")

    def test_last_values(self, name: str, scope: str) -> None:
        """The last value is asked for by a date or by the name of a period; by default it is today's."""
        put_next_many(name, [{"title": "a"}] * 3, scope=scope, date=LAST_YEAR)
        known = 100 if name == "block" else 3
        assert get_last_value(name, scope=scope, date=LAST_YEAR) == known
        assert get_last_value(name, scope=scope, period="2025") == known
        assert get_last_value(name, scope=scope, date=THIS_YEAR) is None
        with pytest.raises(InvalidPeriod, match="2026"):
            get_last_value(name, scope=scope, period="25")

    def test_the_audit_is_of_one_period(self, name: str, scope: str) -> None:
        """The audit of a period has its items and its markers, and none of another one."""
        for date, times in ((LAST_YEAR, 2), (THIS_YEAR, 3)):
            for each in range(times):
                put_next(name, {"title": "a"}, scope=scope, date=date, idempotency_token=f"{date}-{each}")
        reports = [audit(strategies[name], Dated(scope, period)) for period in ("2025", "2026")]
        assert [(report.period, report.carried, report.markers) for report in reports] == [
            ("2025", 2, 2), ("2026", 3, 3),
        ]  # fmt: skip
        assert not any(report.unexplained for report in reports)

    def test_the_command_audits_periods(self, name: str, scope: str) -> None:
        """The command audits one period of a scope, or all that the sequence can list, and writes a list as CSV."""
        for date, times in ((LAST_YEAR, 2), (THIS_YEAR, 3)):
            put_next_many(name, [{"title": "a"}] * times, scope=scope, date=date)
        of_scope = ("sequences", "audit", name, "--scope", scope, "--format", "json")
        reports = json.loads(written(*of_scope))
        assert [(each["period"], each["carried"]) for each in reports] == [("2025", 2), ("2026", 3)]
        (report,) = json.loads(written(*of_scope, "--period", "2026"))
        assert (report["scope"], report["period"], report["carried"]) == (scope, "2026", 3)
        with pytest.raises(CommandError, match="'26'"):
            written(*of_scope, "--period", "26")

    def test_writers_of_two_periods(self, name: str, scope: str) -> None:
        """Writers at the turn of the year take numbers of both years, each without a duplicate."""
        dates = [LAST_YEAR, THIS_YEAR] * 20
        puts = at_once(40, lambda index: put_next(name, {"title": "a"}, scope=scope, date=dates[index]))
        for period in ("2025", "2026"):
            assert sorted(put.value for put in puts if put.period == period) == list(range(1, 21))

    def test_awaiting_callers(self, name: str, scope: str) -> None:
        """The functions for event loops count in the same periods."""

        async def calls() -> tuple[Any, ...]:
            puts = await asyncio.gather(*(aput_next(name, {"a": 1}, scope=scope, date=LAST_YEAR) for _ in range(3)))
            return puts, await aget_last_value(name, scope=scope, period="2026")

        puts, this_year = asyncio.run(calls())
        assert sorted((put.period, put.value) for put in puts) == [("2025", 1), ("2025", 2), ("2025", 3)]
        assert this_year is None


@pytest.mark.parametrize("name", RESERVING)
class TestValuesAlone:
    def test_values_of_a_period(self, name: str, scope: str) -> None:
        """Values without items are taken in the period of the given date."""
        assert get_next_value(name, scope=scope, date=LAST_YEAR) == 1
        assert list(get_next_values(2, name, scope=scope, date=THIS_YEAR)) == [1, 2]
        assert asyncio.run(aget_next_value(name, scope=scope, date=LAST_YEAR)) == 2

    def test_a_repeat_in_the_next_period(self, name: str, scope: str) -> None:
        """A token gets the same values again in its period; in another one, where others get these, it is refused."""
        first = get_next_values(3, name, scope=scope, date=LAST_YEAR, idempotency_token="t")
        with pytest.raises(IdempotencyMismatch):
            get_next_values(3, name, scope=scope, date=THIS_YEAR, idempotency_token="t")
        assert get_next_values(3, name, scope=scope, date=LAST_YEAR, idempotency_token="t") == first
        assert get_next_value(name, scope=scope, date=THIS_YEAR) == 1


def test_periods_in_the_list_of_counters(scope: str) -> None:
    """The counters of a sequence are listed by one query, each with its scope and its period."""
    get_next_value("atomic", scope=scope, date=LAST_YEAR)
    get_next_value("atomic", scope=scope, date=THIS_YEAR)
    with tapped() as wire:
        counters, _ = strategies["atomic"].scopes.page(None, 1000)
    assert [(each.period, each.last_value) for each in counters if each.scope == scope] == [("2025", 1), ("2026", 1)]
    assert wire.operations == ["Query"]
    assert {Dated(scope, "2025"), Dated(scope, "2026")} <= {*strategies["atomic"].scopes.every()}


def test_counters_beside_the_items(scope: str) -> None:
    """Counters in the table of the items have the period in their keys, too."""
    puts = [put_next("beside", {"title": "a"}, scope=scope, date=date) for date in (LAST_YEAR, THIS_YEAR)]
    assert [put.value for put in puts] == [1, 1]


def test_values_in_the_partition_key() -> None:
    """A partition key that is the text of the number has the period in it."""
    assert put_next("own-key", {"total": 1}, date=LAST_YEAR).text == "INV-2025-001"
    assert put_next("own-key", {"total": 1}, date=THIS_YEAR).text == "INV-2026-001"


def test_the_text_is_stored_with_the_item(scope: str) -> None:
    """With the option `text_name` an item has its text, which no later FORMAT changes; the item must not bring one."""
    put = put_next("texts", {"title": "a"}, scope=scope, date=LAST_YEAR)
    layout = strategies["texts"].layout
    page = rows_of(layout.partition(Dated(scope, "2025")), "number")
    assert [row["number"] for row in page] == [put.text] == [f"{scope}/2025/0001"]
    with pytest.raises(InvalidItem, match="'number'"):
        put_next("texts", {"number": "1"}, scope=scope)


def test_a_period_needs_a_sequence() -> None:
    """A period is one of a named sequence, and only of one that has periods."""
    with pytest.raises(CommandError, match="--period needs a sequence"):
        written("sequences", "audit", "--period", "2026")
    with pytest.raises(CommandError, match="no periods"):
        written("sequences", "audit", "plain", "--period", "2026")


def rows_of(partition: str, *attributes: str) -> list[Any]:
    """The items of one collection, with these attributes."""
    return [row for page in pages(strategies["texts"].schema, partition, 10, *attributes) for row in page]


@pytest.mark.parametrize("name", ["transactional", "texts", "sort_key"])
def test_texts_agree(name: str, scope: str) -> None:
    """What is previewed is what is given, what is written again later, and what is read back."""
    put_next(name, {"title": "a"}, scope=scope, date=LAST_YEAR)
    previewed = preview(2, name, scope=scope, date=LAST_YEAR)
    put = put_next(name, {"title": "a"}, scope=scope, date=LAST_YEAR)
    assert previewed == [put.text, f"{scope}/2025/0003"]
    assert put.text == format_value(2, name, scope=scope, date=LAST_YEAR)
    assert put.text == format_value(2, name, scope=scope, period="2025")
    read = parse(f" {scope} / 2025 / 2", name)
    assert (read.value, read.scope, read.period, read.text) == (2, scope, "2025", put.text)


def test_a_text_with_what_is_no_scope() -> None:
    """What stands in the place of the scope and cannot be one is mistyped."""
    with pytest.raises(InvalidText, match="begins with '#'"):
        parse("#x/2025/1", "atomic")


def test_a_preview_ends_with_the_sequence() -> None:
    """A preview shows no value above MAXIMUM."""
    entry = {**YEARLY["atomic"], "MAXIMUM": 2}
    with override_settings(SEQUENCES={**SEQUENCES, "two": entry}):
        assert preview(5, "two", scope="x", date=LAST_YEAR) == ["x/2025/0001", "x/2025/0002"]


@pytest.mark.parametrize("count", [0, -1, 1_000_001, True, "2"])
def test_a_preview_of_no_count(count: Any) -> None:
    """A preview of no value, of too many, or of what is no number is refused, and names the count."""
    with pytest.raises(ValueError, match="count"):
        preview(count, "atomic", scope="x")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (10, "value is 10, and 'odd' never gives that: it is below START, which is 11."),
        (12, "value is 12, and 'odd' never gives that: it is not on STEP, which is 2 from 11."),
        (17, "value is 17, and 'odd' never gives that: it is above MAXIMUM, which is 15."),
        (True, "value is True; it must be a whole number."),
        ("11", "value is '11'; it must be a whole number."),
    ],
)
def test_no_text_for_what_is_never_given(value: Any, said: str) -> None:
    """A value that the sequence never gives has no text, and the error says why."""
    odd = {**SEQUENCES["plain"], "START": 11, "STEP": 2, "MAXIMUM": 15}
    with override_settings(SEQUENCES={"odd": odd}), pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        format_value(value, "odd")
    with override_settings(SEQUENCES={"odd": odd}):
        assert [format_value(each, "odd") for each in (11, 15)] == ["11", "15"]


def test_no_text_for_what_is_no_scope() -> None:
    """Texts are not written for a scope that cannot be."""
    for write in (lambda: preview(1, "atomic", scope="#x"), lambda: format_value(1, "atomic", scope="#x")):
        with pytest.raises(InvalidScope, match="begins with '#'"):
            write()


def test_no_text_without_its_date() -> None:
    """A FORMAT with parts of the date needs the date; the name of a period does not tell it."""
    with override_settings(SEQUENCES={**SEQUENCES, "m": {**YEARLY["atomic"], "FORMAT": "{period}-{month}-{value}"}}):
        with pytest.raises(ValueError, match="give the date"):
            format_value(1, "m", period="2025")
        assert format_value(1, "m", date=LAST_YEAR) == "2025-12-1"


def test_the_text_rides_along(scope: str) -> None:
    """Other rows of the transaction may have the text, alone or within a text."""
    row = {"pk": f"order {scope}", "sk": 0, "invoice": TEXT, "about": value_text("{text} is number {value}")}
    put = put_next("texts", {"title": "a"}, scope=scope, date=LAST_YEAR, also=[Put("sequence_items", row)])
    stored = rows_of(f"order {scope}", "invoice", "about")
    assert [(row["invoice"], row["about"]) for row in stored] == [(put.text, f"{put.text} is number 1")]


def test_dates_in_the_text_alone() -> None:
    """Without a PERIOD, dates in FORMAT change the text and not the count; a repeat has the text of the first time."""
    first = put_next("daily-text", {"a": 1}, date=LAST_YEAR, idempotency_token="t")
    second = put_next("daily-text", {"a": 1}, date=THIS_YEAR)
    again = put_next("daily-text", {"a": 1}, date=THIS_YEAR, idempotency_token="t")
    assert (first.text, second.text) == (f"20251231-{first.value}", f"20260101-{first.value + 1}")
    assert (again.text, again.period) == (first.text, "")


class TestTheEnd:
    def test_it_is_told_before(self, scope: str, caplog: pytest.LogCaptureFixture) -> None:
        """From 90 % of the width on, each further percent is logged and signalled once."""
        told: list[Any] = []
        receiver = lambda **about: told.append(about) if about["scope"] == scope else None  # noqa: E731
        nearly_used_up.connect(receiver)
        with caplog.at_level(logging.WARNING, "sequences.services"):
            puts = [put_next("short", {"a": 1}, scope=scope, date=LAST_YEAR) for _ in range(10)]
        nearly_used_up.disconnect(receiver)
        assert puts[-1].text == f"{scope}-2025-10"
        wanted = [{"scope": scope, "period": "2025", "value": 9, "limit": 9, "percent": 100}]
        assert [{name: about[name] for name in wanted[0]} for about in told] == wanted
        assert [message for message in caplog.messages if scope in message] == [
            f"sequence short scope {scope!r} of 2025: 100 % of the values up to 9 are used"
        ]


class TestWrongArguments:
    def test_a_date_for_a_sequence_without_dates(self) -> None:
        """A date that would be ignored is refused."""
        with pytest.raises(ValueError, match="no PERIOD"):
            put_next("plain", {"a": 1}, date=THIS_YEAR)
        with pytest.raises(ValueError, match="no PERIOD"):
            get_next_value("plain", date=THIS_YEAR)

    def test_no_date(self, scope: str) -> None:
        """Something else than a date is refused, by its name."""
        with pytest.raises(ValueError, match="date"):
            put_next("atomic", {"a": 1}, scope=scope, date="2026-01-01")  # type: ignore[arg-type]

    def test_a_scope_that_the_text_does_not_show(self) -> None:
        """Two scopes would have the same texts, so a FORMAT without {scope} takes none."""
        with pytest.raises(InvalidScope, match="FORMAT"):
            put_next("own-key", {"a": 1}, scope="x", date=THIS_YEAR)
        with pytest.raises(InvalidScope, match="FORMAT"):
            get_next_value("daily-text", scope="x")

    def test_a_text_without_its_scope(self) -> None:
        """A FORMAT with {scope} needs one, before a value is taken."""
        with (
            override_settings(SEQUENCES={"scoped": {**YEARLY["atomic"], "FORMAT": "{scope}-{period}-{value}"}}),
            pytest.raises(InvalidScope, match="give a text"),
        ):
            get_next_value("scoped")

    @pytest.mark.parametrize(
        "changes",
        [
            {"OPTIONS": {"partition": "{sequence}#{scope}"}},
            {"PERIOD": "never", "OPTIONS": {"partition": "{sequence}#{period}#{scope}"}},
        ],
    )
    def test_a_partition_key_without_the_period(self, changes: dict[str, Any]) -> None:
        """Items of two periods must not share a collection."""
        entry = {**YEARLY["atomic"], "FORMAT": "{scope}-{value}", **changes}
        with (
            override_settings(SEQUENCES={"bad": entry}),
            pytest.raises(InvalidSequence, match=r"\['partition'\].*period"),
        ):
            strategies["bad"]

    def test_a_name_of_the_text_that_is_taken(self) -> None:
        """The attribute of the text must be one of its own."""
        entry = {**YEARLY["atomic"], "OPTIONS": {"text_name": "token"}}
        with override_settings(SEQUENCES={"bad": entry}), pytest.raises(InvalidSequence, match="text_name"):
            strategies["bad"]


def test_signals_have_the_period(scope: str) -> None:
    """Receivers learn the scope and the period."""
    told: list[Any] = []

    def receiver(**about: Any) -> None:
        if about["scope"] == scope:  # a thread of an earlier test may still send one
            told.append((scope, about["period"], [*about["values"]]))

    value_allocated.connect(receiver)
    put_next("transactional", {"a": 1}, scope=scope, date=LAST_YEAR)
    get_next_value("atomic", scope=scope, date=THIS_YEAR)
    value_allocated.disconnect(receiver)
    assert told == [(scope, "2025", [1]), (scope, "2026", [1])]


PLAIN = st.none() | st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).filter(
    lambda text: not text.startswith("#")
)
COUNTED = PLAIN | st.builds(Dated, PLAIN, st.sampled_from(["2025", "2026-01", "2026-Q1", "2026-01-31"]))


class TestStoredScopes:
    @given(COUNTED, COUNTED)
    def test_no_two_are_stored_alike(self, one: Any, other: Any) -> None:
        """A scope and a period are stored as a text that no other scope or period has."""
        assert (scope_text(one) == scope_text(other)) == (one == other)

    @given(COUNTED)
    def test_they_are_read_back(self, scope: Any) -> None:
        """A stored text gives back the scope and its period."""
        assert scope_of_text(scope_text(scope)) == scope


def test_the_plain_way_asks_for_no_date(wire_of_plain: Wire) -> None:
    """A sequence without PERIOD and FORMAT takes its value by one request."""
    get_next_value("plain")
    assert wire_of_plain.operations == ["UpdateItem"]


@pytest.fixture
def wire_of_plain() -> Iterator[Wire]:
    """The requests after the first value."""
    get_next_value("plain")
    with tapped() as wire:
        yield wire


def test_parse_config_reads_the_period() -> None:
    """The keys of a period are those of one sequence."""
    config = parse_config("x", {**YEARLY["atomic"], "PERIOD": "month", "FORMAT": "{period}-{value}"})
    assert (config.period.kind, config.format) == ("month", "{period}-{value}")
