"""Which line of a scope counts, and what a strategy by a line is made of; without a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

import pytest

from sequences.exceptions import (
    InvalidSequence,
    OperationNotSupported,
    SequenceError,
    SequenceExhausted,
    SequenceFrozen,
)
from sequences.rows.counter_rows import CounterState
from sequences.rows.lines import Line, Lines, LinesChanged
from sequences.strategies import Strategy
from sequences.strategies.first_look import FirstLook
from sequences.strategies.lines import ScopeLines
from sequences.types import Counter, Dated
from tests.sequences.support import Clock, make

pytestmark = pytest.mark.usefixtures("configured")
MAY, JUNE, JULY = date(2026, 5, 1), date(2026, 6, 1), date(2026, 7, 1)
USED_UP, CHANGED = SequenceExhausted("No value is left."), LinesChanged("They have changed.")
THREE = (Line(start=1, maximum=4), Line(start=10, maximum=14), Line(start=20, maximum=24, step=2))


class Book:
    """The lines of a sequence's scopes, without the table in which they are stored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *lines: Line, **changes: Any) -> None:
        self.strategy = make(
            "transactional", wall=Clock(1_780_315_200.0), SERIES="series", FORMAT="T-{scope}-{value}", **changes
        )
        self.scopes = self.strategy.scopes
        self.book = ScopeLines(self.strategy)
        self.now = Lines(lines, version=1)
        self.after: Lines | None = None
        self.told: list[Any] = []
        self.newer = False
        self.last_values: list[int | None] = []
        self.highest: int | None = None
        monkeypatch.setattr(self.book.known, "of", lambda scope: self.now)
        monkeypatch.setattr(self.book.known, "forget", self.forget)
        monkeypatch.setattr(self.book.known, "are_newer", self.are_newer)
        monkeypatch.setattr(self.book.known, "clear", lambda: self.told.append("cleared"))

    def forget(self, scope: str | None) -> None:
        self.told.append(("forgotten", scope))
        self.now = self.after or self.now

    def are_newer(self, scope: str | None, version: int) -> bool:
        self.told.append(("newer", scope, version))
        return self.newer

    def at(self, place: int, day: date = JUNE, scope: str | None = "ABC") -> Strategy:
        """The strategy by a line, whose counter is read from `last_values`."""
        made = self.book.at(scope, self.now, place, day)
        assert made.counter is not None
        vars(made.counter.rows)["state"] = lambda counted, send: CounterState(self.last_values.pop(0), self.highest)
        return made

    def line(self, day: date | None = JUNE, period: str | None = None, scope: str | None = "ABC") -> int | None:
        """The place of the line by which a scope counts."""
        found = self.book.strategy(scope, day, period)
        return found.config.line if found else None


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Book:
    """Three ranges that follow each other: 1 to 4, 10 to 14, and 20 to 24 by two."""
    return Book(monkeypatch, *THREE)


class TestMade:
    def test_by_its_line(self, book: Book) -> None:
        """It has the rules of its line, and begins where the first line begins that counts in the same counter."""
        configs = [book.at(place).config for place in range(3)]
        assert [(one.start, one.step, one.maximum) for one in configs] == [(1, 1, 4), (1, 1, 14), (1, 2, 24)]
        assert [(one.line, one.version) for one in configs] == [(0, 1), (1, 1), (2, 1)]
        assert book.at(1) is book.at(1)
        assert [book.at(place).counter.version for place in range(3)] == [1, 1, 1]  # type: ignore[union-attr]

    def test_its_first_look(self, book: Book) -> None:
        """A later line begins its range by the first look, one step before its first number."""
        looks = [book.at(place).scope_list for place in range(3)]
        assert not isinstance(looks[0], FirstLook)
        assert [look._before_range for look in looks[1:] if isinstance(look, FirstLook)] == [9, 18]
        assert [look.keep for look in looks] == [book.strategy.scope_list.keep] * 3

    @pytest.mark.parametrize(
        ("scope", "read"),
        [("ABC", ("OLD-{value}", "T-{scope}-{value}", "X{scope}/{value}")), (None, ("OLD-{value}", "N-{value}"))],
    )
    def test_what_it_reads(self, monkeypatch: pytest.MonkeyPatch, scope: str | None, read: tuple[str, ...]) -> None:
        """It reads its former texts, and those of the settings that name a scope, or none for what has none."""
        line = Line(format="L-{value}", former=("OLD-{value}",))
        book = Book(monkeypatch, line, ALSO_READ=["X{scope}/{value}", "N-{value}"])
        assert book.at(0, scope=scope).config.also_read == read

    def test_what_is_called_for_all(self, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
        """All that were made forget and stop with their sequence, and its lines are read anew."""
        told: list[str] = []
        for name in ("forget", "stop"):
            monkeypatch.setattr(book.at(0), name, lambda name=name: told.append(name))
        monkeypatch.setattr(book.book.texts, "forget", lambda: told.append("texts"))
        book.book._used_up.put("ABC", (1, 0))
        book.strategy.forget()
        book.book.stop()
        assert told == ["texts", "forget", "stop"]
        assert book.told == ["cleared"]
        assert book.book._used_up.get("ABC") is None
        book.book.read_again("ABC")
        assert (told[3:], book.told[1:]) == (["texts"], [("forgotten", "ABC")])


class TestWhichLine:
    def test_without_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A scope without lines counts by the settings."""
        book = Book(monkeypatch)
        assert book.line() is None
        assert book.line(period="") is None
        assert book.told == []

    def test_a_scope_that_the_settings_do_not_take(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """There may be newer lines for it, which are looked for."""
        book = Book(monkeypatch)
        monkeypatch.setattr(book.strategy.naming, "takes", lambda scope: scope is None)
        assert book.line(scope=None) is None
        assert book.told == []
        assert book.line() is None
        assert book.told == [("newer", "ABC", 1)]

    def test_newer_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where newer lines are found after the last day, they count."""
        book = Book(monkeypatch, Line(valid_to=MAY))
        later = Lines((Line(), Line(valid_from=JUNE)), version=2)

        def follow(scope: str | None, version: int) -> bool:
            book.now = later
            return True

        monkeypatch.setattr(book.book.known, "are_newer", follow)
        assert book.line() == 1

    def test_after_the_last_day(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A document after it is refused, and one of its day is not; a period is not asked for its day."""
        book = Book(monkeypatch, Line(valid_to=JUNE))
        assert book.line(JUNE) == 0
        assert book.told == []
        with pytest.raises(SequenceExhausted, match="valid until 2026-06-01, and the date is 2026-07-01"):
            book.line(JULY)
        assert book.told == [("newer", "ABC", 1)]
        assert book.line(period="") == 0

    def test_by_the_day(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The last line that has begun on a day counts; without a day it is that of now."""
        book = Book(monkeypatch, Line(), Line(valid_from=JUNE), Line(valid_from=JULY))
        assert [book.line(day) for day in (MAY, JUNE, JULY, None)] == [0, 1, 2, 1]

    def test_by_the_period(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a period it is the last line that has begun by then; of before all lines it is none."""
        book = Book(monkeypatch, Line(valid_from=MAY), Line(valid_from=JULY), PERIOD="month")
        assert [book.line(period=f"2026-{month:02d}") for month in (4, 5, 6, 7, 8)] == [None, 0, 0, 1, 1]

    @pytest.mark.parametrize(
        ("last_value", "place"), [(None, 0), (3, 0), (4, 1), (9, 1), (13, 1), (14, 2), (22, 2), (24, 2)]
    )
    def test_by_what_is_used_up(self, book: Book, last_value: int | None, place: int) -> None:
        """A range without a number left is followed by the next one; the counter is read once."""
        book.at(0)
        book.last_values.append(last_value)
        assert [book.line(), book.line()] == [place, place]
        assert book.last_values == []

    def test_by_the_highest_that_was_given(self, book: Book) -> None:
        """A counter that was set back is judged by who writes: here it goes by the highest number that it tells of."""
        book.at(0)
        book.last_values.append(1)
        book.highest = 13
        assert book.line() == 1

    def test_a_list_uses_no_line_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A later line of the same period, by which a list shows a scope, says nothing of those before it."""
        two = Line(valid_from=JULY, start=50, maximum=60), Line(start=70)
        book = Book(monkeypatch, Line(maximum=10), Line(start=20, maximum=30), *two, PERIOD="year")
        listed = Counter(sequence="transactional", scope="ABC", period="2026", last_value=3)
        book.book.shown(listed)
        assert book.line() == 0
        book.book.shown(dataclasses.replace(listed, last_value=10))
        assert book.line() == 0
        assert book.book.goes_on(book.at(0), Dated("ABC", "2026"), USED_UP) is True
        book.book.shown(listed)
        assert book.line() == 1

    def test_by_other_lines(self, book: Book) -> None:
        """When lines have changed, the counter is read again."""
        book.at(0)
        book.last_values.append(4)
        assert book.line() == 1
        book.now = Lines((Line(start=1, maximum=5), *THREE[1:]), version=2)
        book.at(0)
        book.last_values.append(4)
        assert book.line() == 0
        assert book.last_values == []

    def test_the_day_of_a_period(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A period is looked at as of its first day, and what has none as of the day that is given."""
        book = Book(monkeypatch, Line(), PERIOD="month")
        places = [book.book._place(book.now, JUNE, period) for period in ("2026-05", None)]
        assert places == [(0, MAY), (0, JUNE)]
        book = Book(monkeypatch, Line())
        assert book.book._place(book.now, JUNE, "") == (0, JUNE)


class TestGoingOn:
    @pytest.mark.parametrize("error", [SequenceFrozen("frozen"), OperationNotSupported("no")])
    def test_other_errors(self, book: Book, error: SequenceError) -> None:
        """A call that ended for another reason is not repeated."""
        assert book.book.goes_on(book.at(0), "ABC", error) is False

    @pytest.mark.parametrize(
        ("now", "after", "forgets", "goes_on"),
        [(1, 2, True, True), (1, 1, True, False), (0, 0, True, False), (3, 3, False, True)],
    )
    def test_lines_that_have_changed(self, book: Book, now: int, after: int, forgets: bool, goes_on: bool) -> None:
        """It is repeated by newer lines, which are read unless another request has read them; not by older ones."""
        used = book.at(0)
        book.now, book.after = Lines(THREE, version=now), Lines(THREE, version=after)
        assert book.book.goes_on(used, Dated("ABC", "2026"), CHANGED) is goes_on
        assert book.told == [("forgotten", "ABC")] * forgets

    def test_the_next_range(self, book: Book) -> None:
        """A range that is used up is noted, so that the next one takes over."""
        assert book.book.goes_on(book.at(0), "ABC", USED_UP) is True
        assert book.line() == 1
        assert book.told == []

    @pytest.mark.parametrize("newer", [True, False])
    def test_the_last_range(self, book: Book, newer: bool) -> None:
        """After the last range it is repeated only by newer lines."""
        book.newer = newer
        assert book.book.goes_on(book.at(2), Dated("ABC", "2026"), USED_UP) is newer
        assert book.book.goes_on(book.strategy, "ABC", USED_UP) is newer
        assert book.told == [("newer", "ABC", 1), ("newer", "ABC", 0)]


class TestShown:
    def counter(self, last_value: int | None, period: str = "") -> Counter:
        """A counter of a list."""
        return Counter(sequence="transactional", scope="ABC", period=period, last_value=last_value)

    @pytest.mark.parametrize(("last_value", "percent"), [(None, 0), (2, 50), (4, 28), (12, 85), (14, 60), (24, 100)])
    def test_what_is_used(self, book: Book, last_value: int | None, percent: int) -> None:
        """It is of the line that counts by now; nothing is read for it."""
        book.now = Lines(THREE, version=1, name="A shop")
        shown = book.book.shown(self.counter(last_value))
        assert (shown.name, shown.percent_used) == ("A shop", percent)

    def test_of_what_is_no_number(self, book: Book) -> None:
        """Of a text that somebody has stored as the last value nothing is used, and the list goes on."""
        text: Any = "two"
        shown = book.book.shown(self.counter(text))
        assert (shown.last_value, shown.percent_used) == (text, 0)

    def test_of_before_the_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A counter of a period of before all lines is as it is."""
        book = Book(monkeypatch, Line(valid_from=MAY, maximum=10), PERIOD="month")
        before, within = self.counter(5, "2026-04"), self.counter(5, "2026-05")
        assert book.book.shown(before).percent_used == before.percent_used
        assert book.book.shown(within).percent_used == 50

    def test_lists(self, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
        """A list leaves out what has counted nothing and is not frozen, and reads the lines of all others at once."""
        counters = [
            self.counter(2),
            self.counter(None),
            Counter(sequence="transactional", scope="F", last_value=None, frozen="by ana"),
        ]
        scopes, read = book.strategy.scopes, list[list[str | None]]()
        with self.paged(scopes, counters, begin="A"):
            monkeypatch.setattr(book.book.known, "read_many", lambda scopes: read.append([*scopes]))
            page, cursor = scopes.page("a cursor", 7, prefix="A")
        assert [(one.scope, one.percent_used) for one in page] == [("ABC", 50), ("F", 0)]
        assert (cursor, read) == ("another", [["ABC", "F"]])
        with self.paged(scopes, [], begin=""):
            assert scopes.page("a cursor", 7) == ([], "another")

    @contextmanager
    def paged(self, scopes: Any, counters: list[Counter], *, begin: str) -> Iterator[None]:
        """The table of counters has these."""

        def page(*asked: Any, **how: Any) -> tuple[list[Counter], str]:
            assert (asked, how) == (("a cursor", 7), {"begin": begin})
            return counters, "another"

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scopes._counter.rows, "page", page)
            yield

    def test_one(self, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
        """One scope is shown as in a list."""
        monkeypatch.setattr(book.strategy.counter, "shown", lambda scope, send: self.counter(2))
        assert book.strategy.scopes.one("ABC").percent_used == 50


@pytest.mark.parametrize("period", ["2026", "2026-05", "2026-05-01"])
def test_periods_of_any_line(monkeypatch: pytest.MonkeyPatch, period: str) -> None:
    """Scopes are searched by a period of the settings or of any line, and by a prefix within one."""
    book = Book(monkeypatch, PERIOD="year")
    scopes: Any = book.strategy.scopes
    scopes._check("A", period)
    with pytest.raises(ValueError, match="'2026-13'"):
        scopes._check("A", "2026-13")
    with pytest.raises(OperationNotSupported, match="searched in one period"):
        scopes._check("A", "")


def test_sequences_that_have_no_lines() -> None:
    """Without a counter nothing tells that rules have changed; with a START for each Region there are no others."""
    with pytest.raises(InvalidSequence, match=r"^SEQUENCES\['sort-key'\]\['SERIES'\]: SortKeyMaximum has no counter"):
        ScopeLines(make("sort-key"))
    striped = make("atomic")
    striped.config = dataclasses.replace(striped.config, starts={"us-east-1": 1})
    with pytest.raises(InvalidSequence, match=r"^SEQUENCES\['atomic'\]\['SERIES'\]: START by Regions"):
        ScopeLines(striped)
