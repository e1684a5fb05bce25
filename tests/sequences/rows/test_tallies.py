"""Which tallies a counter's row keeps, what each write does to them, and what a process knows of them."""

from __future__ import annotations

from typing import Any

import pytest

from sequences.dynamodb.expressions import SINCE, Tally
from sequences.rows.tallies import (
    ALWAYS,
    MOST_IN_A_ROW,
    RULERS,
    TallyMemory,
    hour_of,
    kept_in,
    known_from_start,
    put_again,
    tallies_in,
)

HOUR, DAY = 3_600, 86_400
NOW = 20_411 * DAY + 12 * HOUR + 1_800  # half past twelve
TODAY, THIS_HOUR = "d20411", "h489876"


def test_which_are_read() -> None:
    """A tally for each of 31 days and 25 hours is read, the newest first; more are on both sides."""
    days, hours = (ruler.names(NOW) for ruler in RULERS)
    assert (days[0], days[-1], len(days)) == (TODAY, "d20381", 31)
    assert (hours[0], hours[-1], len(hours)) == (THIS_HOUR, "h489852", 25)
    wider = RULERS[0].names(NOW, more=2)
    assert (wider[0], wider[-1], len(wider)) == ("d20413", "d20379", 35)


def test_which_are_kept() -> None:
    """A row keeps those that are read at any moment of the hour, and one more on each side."""
    wanted = {f"d{day}" for day in range(20_380, 20_413)} | {f"h{hour}" for hour in range(489_851, 489_878)}
    assert kept_in(hour_of(NOW)) == kept_in(hour_of(NOW + 1_799.9)) == wanted
    assert kept_in(hour_of(NOW + 1_800)) != wanted


def test_the_hour() -> None:
    """Hours are counted from 1970."""
    assert [hour_of(second) for second in (0, 3_599.9, 3_600, NOW)] == [0, 0, 1, 489_876]


def test_the_names_in_a_row() -> None:
    """A tally is a letter and a number; all other attributes are something else."""
    row = ["sequence", "d1", "h20", "d", "day", "h1x", "last_value", "highest", "e1", SINCE]
    assert list(tallies_in(row)) == ["d1", "h20"]


@pytest.mark.parametrize(
    ("row", "is_known"),
    [
        ({}, True),
        ({"last_value": 991}, True),
        ({"last_value": 1021, "d1": 1, "d2": 2, "h7": 3}, True),
        ({"last_value": 1021, "d1": 3, "d2": "many"}, True),
        ({"last_value": 1031, "d1": 1, "d2": 2}, False),
        ({"last_value": 1021, "h7": 3}, False),
        ({"last_value": 1031, SINCE: ALWAYS}, True),
        ({"last_value": 1031, SINCE: 1}, False),
    ],
)
def test_whether_they_tell_of_all(row: dict[str, Any], is_known: bool) -> None:
    """They do if the days add up to the last value, or if the row says so."""
    assert known_from_start(row, 991, 10) is is_known


def test_a_row_that_is_put_whole() -> None:
    """It keeps the tallies that are kept, adds what is given, and says since when there are tallies."""
    row = {"d20411": {"N": "5"}, "d20410": {"N": "7"}, "d20000": {"N": "9"}, "last_value": {"N": "21"}}
    tally = Tally(TODAY, THIS_HOUR, 3)
    put = put_again(row, tally, NOW)
    assert put == {TODAY: {"N": "8"}, "d20410": {"N": "7"}, THIS_HOUR: {"N": "3"}, SINCE: {"N": str(NOW)}}
    assert put_again({SINCE: {"N": "7"}}, tally, NOW)[SINCE] == {"N": "7"}


class TestMemory:
    def test_each_write(self) -> None:
        """It adds to its day and its hour; the first one in an hour says so, and no other one."""
        memory = TallyMemory()
        assert memory.next("a", NOW, 5) == Tally(TODAY, THIS_HOUR, 5, is_first=True)
        assert memory.next("a", NOW + 1_799, 2) == Tally(TODAY, THIS_HOUR, 2)
        assert memory.next("a", NOW + 1_800, 1) == Tally(TODAY, "h489877", 1, is_first=True)
        assert memory.next("b", NOW + 12 * HOUR, 1) == Tally("d20412", "h489888", 1, is_first=True)

    def test_what_is_outdated(self) -> None:
        """The first write in an hour removes what this process has written and what is kept no more, once."""
        memory = TallyMemory()
        memory.next("a", NOW, 5)
        assert memory.next("a", NOW + 25 * HOUR, 1).outdated == ()
        assert memory.next("a", NOW + 26 * HOUR, 1).outdated == (THIS_HOUR,)
        assert memory.next("a", NOW + 27 * HOUR, 1).outdated == ()

    def test_a_row_that_was_read(self) -> None:
        """In a new hour the row counts that is given, and later in the hour none does."""
        memory = TallyMemory()
        tally = memory.next("a", NOW, 1, row=["d20000", "d20400", "last_value"])
        assert tally == Tally(TODAY, THIS_HOUR, 1, is_first=True, outdated=("d20000",))
        assert memory.next("a", NOW, 1, row=["d20001"]) == Tally(TODAY, THIS_HOUR, 1)
        later = memory.next("a", NOW + 40 * DAY, 1)
        assert {*later.outdated} == {TODAY, THIS_HOUR, "d20400"}

    def test_when_the_row_is_wanted(self) -> None:
        """It is before the first write, unless somebody wrote in this hour, and in the next hour if it was not seen."""
        memory = TallyMemory()
        assert memory.wants_row("a", NOW, NOW - HOUR)
        assert not memory.wants_row("a", NOW, NOW - 1_800)
        memory.next("a", NOW, 1)
        assert not memory.wants_row("a", NOW, NOW - HOUR)
        assert memory.wants_row("a", NOW + HOUR, NOW)
        memory.learn("a", [], NOW + HOUR)
        memory.next("a", NOW + HOUR, 1)
        assert not memory.wants_row("a", NOW + 2 * HOUR, NOW)
        memory.next("a", NOW + 2 * HOUR, 1)
        assert not memory.wants_row("a", NOW + 3 * HOUR, NOW)

    def test_what_is_seen_after_the_first_write_of_an_hour(self) -> None:
        """The next write removes what is outdated, and once."""
        memory, row = TallyMemory(), ["h489836", THIS_HOUR]
        assert memory.next("a", NOW, 1).is_first
        memory.learn("a", row, NOW)
        assert memory.next("a", NOW, 1) == Tally(TODAY, THIS_HOUR, 1, outdated=("h489836",))
        assert memory.next("a", NOW, 1).outdated == ()

    @pytest.mark.parametrize("forget", [lambda memory: memory.forget(), lambda memory: memory.forget_scope("a")])
    def test_forgetting(self, forget: Any) -> None:
        """What is forgotten is as if it was never known."""
        memory = TallyMemory()
        memory.learn("a", ["d20000"], NOW)
        forget(memory)
        assert memory.wants_row("a", NOW, NOW - HOUR)
        assert memory.next("a", NOW, 1) == Tally(TODAY, THIS_HOUR, 1, is_first=True)

    def test_a_crowded_row(self) -> None:
        """If a row has too many, who asks gets the outdated ones, and the next write does not remove them again."""
        memory = TallyMemory()
        outdated = [f"d{day}" for day in range(MOST_IN_A_ROW)]
        memory.learn("roomy", outdated, NOW)
        memory.learn("a", [*outdated, TODAY], NOW)
        assert memory.too_many("roomy") == ()
        assert {*memory.next("roomy", NOW, 1).outdated} == {*outdated}
        assert {*memory.too_many("a")} == {*outdated}
        assert memory.too_many("a") == ()
        assert memory.next("a", NOW, 1).outdated == ()

    def test_a_crowded_row_that_is_written(self) -> None:
        """The next write removes what is outdated, and nothing is left to ask for."""
        memory = TallyMemory()
        outdated = [f"d{day}" for day in range(MOST_IN_A_ROW + 1)]
        memory.learn("a", outdated, NOW)
        assert {*memory.next("a", NOW, 1).outdated} == {*outdated}
        assert memory.too_many("a") == ()
