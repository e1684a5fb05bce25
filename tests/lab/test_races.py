"""Races: what the runner records, and what the committed record shows."""

from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from project.lab import records
from project.lab.plan import OURS, STRATEGIES, Row
from project.lab.races import Call, Outcome, Race, Request, Value
from project.lab.timelines import BARS, timeline
from project.lab.words import WORDS

GAPLESS = [name for name, strategy in OURS.items() if strategy.gapless]
READ_THEN_WRITE = ["published-number-first", "published-item-first"]
SORT_KEY = ["published-sort-key-increment", "published-sort-key-requery"]
COUNTERS = [
    "published-atomic", "published-placeholder", "published-conditional-update", "published-conditional-put",
    "published-conditional-add",
]  # fmt: skip
RACES = records.races()[1]


def a_race(*requests: Request, calls: Sequence[Call] = (), stored: Sequence[tuple[int, int]] = ()) -> Race:
    """A race with these requests and calls."""
    return Race("SortKeyMaximum", True, False, calls or [Call(0, 100, 1), Call(5, 90, 2)], requests, stored)


def recorded(strategies: Sequence[str], *, loses: bool) -> list[Race]:
    """The committed races of some strategies."""
    found = [race for race in RACES if race.strategy in strategies and race.loses is loses]
    assert {race.strategy for race in found} == {*strategies}
    return found


@pytest.fixture(scope="module")
def run(ready_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Race]]:
    """The races of two writers, by the command, as they stand in its record."""
    path = tmp_path_factory.mktemp("races") / "races.json"
    names = ["published-atomic", "published-number-first", *SORT_KEY, *OURS]
    call_command(
        "record_races", "--writers=2", f"--strategies={','.join(names)}", f"--output={path}", stderr=StringIO()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "RACES", path)
        yield list(records.races.__wrapped__()[1])


@pytest.mark.needs_engine
class TestRuns:
    def test_each_race_is_run(self, run: list[Race]) -> None:
        """Each strategy runs with and without a lost answer, and ours also in one process."""
        published = ["published-atomic", "published-number-first", *SORT_KEY]
        apart = [(name, True, loses) for name in [*published, *OURS] for loses in (False, True)]
        together = [(name, False, loses) for name in OURS for loses in (False, True)]
        assert [(race.strategy, race.apart, race.loses) for race in run] == apart + together

    def test_every_writer_is_recorded(self, run: list[Race]) -> None:
        """Each of the two has its number, and what was sent is within its time, but where another sent it."""
        for race in run:
            assert [call.error for call in race.calls] == [""] * 2, race
            assert race.values.total() == 2
            for request in race.requests:
                call = race.calls[request.writer]
                assert call.started <= request.started <= request.ended <= call.ended

    def test_what_is_exact_is_exact(self, run: list[Race]) -> None:
        """Ours give no number twice and store no copy, whatever is lost; the gapless ones leave no gap."""
        for race in run:
            if race.strategy in OURS:
                assert (race.duplicates, race.copies) == (0, 0), race
            if race.strategy in GAPLESS:
                assert (race.gaps, race.highest) == (0, 2), race

    def test_a_lost_answer_does_what_the_recipes_say(self, run: list[Race]) -> None:
        """One answer is lost. A repeated addition leaves a gap, and the sort-key recipes store a copy."""
        lost = {race.strategy: race for race in run if race.loses and race.apart}
        assert {race.repeats for race in lost.values()} == {1}
        assert lost["published-atomic"].gaps == 1
        assert [lost[name].copies for name in SORT_KEY] == [1, 1]
        assert {race.repeats for race in run if not race.loses} == {0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--strategies=Nothing"], "--strategies: unknown Nothing. Known are: published-atomic"),
        (["--writers=1"], "--writers must be 2 to 32."),
    ],
)
def test_what_cannot_run_is_said(arguments: list[str], said: str) -> None:
    """A wrong option is one line with its name and what it may be."""
    with pytest.raises(CommandError, match=said):
        call_command("record_races", *arguments)


class TestCommitted:
    def test_each_race_is_there(self) -> None:
        """The record has every recipe and strategy, of ten writers, with the day, the engine and the cores."""
        conditions = records.races()[0]
        assert conditions.engine.startswith("dynoxide ")
        assert conditions.day.year >= 2026
        assert conditions.cores >= 1
        assert {(race.strategy, race.apart, race.loses) for race in RACES} == {
            (name, apart, loses)
            for name in STRATEGIES
            for apart in ((True, False) if name in OURS else (True,))
            for loses in (False, True)
        }
        assert {len(race.calls) for race in RACES} == {10}

    def test_ours_are_exact(self) -> None:
        """No number is given twice, no item is stored twice, and the gapless ones have no gap."""
        for race in RACES:
            if race.strategy in OURS:
                assert (race.duplicates, race.copies, race.errors) == (0, 0, 0), race
            if race.strategy in GAPLESS:
                assert race.gaps == 0, race

    def test_the_recipes_break_as_the_page_says(self) -> None:
        """What docs/strategies.md and the sentences of the page say of the recipes is to be seen in the record."""
        for loses in (False, True):
            assert all(race.duplicates for race in recorded(READ_THEN_WRITE, loses=loses))
            assert not any(race.duplicates for race in recorded([*COUNTERS, *SORT_KEY], loses=loses))
        assert [race.gaps for race in recorded(COUNTERS, loses=True)] == [1] * len(COUNTERS)
        assert [race.copies for race in recorded(SORT_KEY, loses=True)] == [1, 1]
        assert not any(race.gaps or race.copies for race in recorded([*COUNTERS, *SORT_KEY], loses=False))
        assert all(race.conflicts > 10 for race in recorded(["published-transaction", *SORT_KEY], loses=False))

    def test_one_process_shares_its_writes(self) -> None:
        """In one process the gapless strategies store ten items by two writes: the first one's, then all others'."""
        together = [race for race in recorded(GAPLESS, loses=False) if not race.apart]
        assert len(together) == len(GAPLESS)
        for race in together:
            assert sum(request.outcome is Outcome.STORED for request in race.requests) == 2

    def test_every_race_is_explained(self) -> None:
        """There is a sentence for each race, and none too many."""
        assert WORDS.keys() == {*STRATEGIES}
        assert all(WORDS[race.strategy].why(race) for race in RACES)
        assert {name for name, words in WORDS.items() if words.together} == {*OURS}

    def test_it_can_be_written_and_read_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A race is the same after it was recorded."""
        monkeypatch.setattr(records, "RACES", tmp_path / "races.json")
        records.keep_races(RACES, records.RACES)
        assert records.races.__wrapped__()[1] == RACES


class TestCounts:
    def test_a_repeat_that_meets_itself_is_no_conflict(self) -> None:
        """A refused write is a lost race, but not after one without an answer; a read between them changes nothing."""
        race = a_race(
            Request(0, 0, 10, Outcome.UNANSWERED),
            Request(0, 11, 20, Outcome.REFUSED),
            Request(0, 21, 30, Outcome.READ),
            Request(0, 31, 40, Outcome.REFUSED),
            Request(0, 41, 50, Outcome.STORED),
            Request(1, 5, 15, Outcome.REFUSED),
        )
        assert (race.conflicts, race.repeats) == (2, 1)

    def test_the_fate_of_each_value(self) -> None:
        """Two writers got 1, nobody got 2, which is a copy, nothing carries 3, and 4 is as it should be."""
        calls = [Call(0, 1, 1), Call(0, 1, 1), Call(0, 1, 4), Call(0, 1, None, "RuntimeError")]
        race = a_race(calls=calls, stored=[(1, 1), (2, 2), (4, 2)])
        assert [race.fate(value) for value in (1, 2, 3, 4)] == [Value.SHARED, Value.COPY, Value.GAP, Value.CARRIED]
        assert (race.duplicates, race.gaps, race.copies, race.errors, race.highest) == (1, 1, 1, 1, 4)


def test_the_drawing_has_every_request() -> None:
    """Each request is a rectangle in the row of its writer, from its start to its end, within the frame."""
    for race in RACES:
        drawn = timeline(race)
        paths = {bar["outcome"]: bar["path"] for bar in drawn["bars"]}
        for outcome in BARS:
            assert paths[outcome.name.lower()].count("z") == sum(one.outcome is outcome for one in race.requests)
        assert [row["value"] for row in drawn["rows"]] == [call.value for call in race.calls]
        assert max(row["to"] for row in drawn["rows"]) == drawn["right"]
        assert 2 <= len(drawn["ticks"]) <= 10


def test_a_comparison_takes_the_place_of_its_title(tmp_path: Path) -> None:
    """A run is recorded with its command and conditions, in place of the one with the same title."""
    path = tmp_path / "comparisons.json"
    row: Row = {"strategy": "AtomicCounter", "writers": 1}
    later: dict[str, Any] = {**row, "writers": 2}
    records.keep_comparison("One", "manage.py a", [row], path)
    records.keep_comparison("Two", "manage.py b", [row], path)
    records.keep_comparison("One", "manage.py c", [later], path)
    found = records._comparisons(path)
    assert [(one.title, one.command, one.rows) for one in found] == [
        ("One", "manage.py c", [later]),
        ("Two", "manage.py b", [row]),
    ]
    assert found[0].conditions == records.Conditions.here()
