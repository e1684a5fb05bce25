"""What is told of one scope: its last numbers and their gaps, what the gaps mean, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from sequences import changes, get_next_value, get_next_values, put_next, put_next_many
from sequences.ops import scope_report
from sequences.ops.audit.results import KeptAudits
from sequences.ops.scope_report import look_at, settings_of, trouble_of
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.types import Counter
from tests.sequences.support import (
    SEQUENCES,
    Wire,
    delete_row,
    give_each_scope_its_place,
    import_row,
    set_counter,
)

pytestmark = pytest.mark.usefixtures("configured")

DESIGNED = "By design: a value is taken before its item is stored, and nobody stored one under it"
HELD = "By design: a process holds it in its block, used it without an item, or ended before it used it"
OWN_KEY = ", or its item has a key of its own"


def lines(name: str, scope: str) -> list[tuple[str, int, int]]:
    """The lines of a scope: of what kind, from which number on, and how many."""
    return [(line["kind"], line["first"], line["count"]) for line in look_at(strategies[name], scope)["lines"]]


class TestState:
    def test_a_scope_that_has_counted(self, scope: str) -> None:
        """How far it is, and what comes next; nothing else is to be said of it."""
        put_next_many("sort-key", [{}] * 2, scope=scope)
        found = look_at(strategies["sort-key"], scope)
        assert found["counter"] == Counter(sequence="sort-key", scope=scope, period="", last_value=2)
        assert (found["last_value"], found["last_text"], list(found["upcoming"])) == (2, "2", ["3", "4", "5"])
        assert (found["frozen"], found["held"], found["unlisted"]) == ("", None, "")
        assert (found["changes"], found["run"], found["result"]) == ([], None, None)
        assert (found["seen"].scope, found["seen"].last) == (scope, 2)

    def test_a_scope_that_has_not_counted(self, scope: str, wire: Wire) -> None:
        """It has no last number and no lines, so that no items are read."""
        found = look_at(strategies["sort-key"], scope)
        assert (found["last_value"], found["last_text"], list(found["upcoming"])) == (None, "", ["1", "2", "3"])
        assert (found["lines"], trouble_of(found["seen"])) == ([], "")
        wire.clear()
        assert scope_report._rows(found["seen"]) == ({}, 1)
        assert wire.sent == []

    def test_what_a_process_holds(self, scope: str) -> None:
        """Of a block that a process took, it says how many values are left; other strategies hold none."""
        get_next_value("block", scope=scope)
        assert look_at(strategies["block"], scope)["held"] == 7
        get_next_value("atomic", scope=scope)
        found = look_at(strategies["atomic"], scope)
        assert not found["held"]
        assert [found["counter"]] == strategies["atomic"].scopes.page(None, 10, prefix=scope)[0]

    def test_a_frozen_scope(self, scope: str) -> None:
        """It says by whom and why, and the change is among those of the scope alone."""
        for name in (scope, f"{scope}-2"):
            get_next_value("atomic", scope=name)
            changes.freeze("atomic", scope=name, by="ann", reason="a test")
        found = look_at(strategies["atomic"], scope)
        assert found["frozen"].startswith("by ann since ")
        assert [(change.kind, change.scope) for change in found["changes"]] == [("freeze", scope)]

    def test_the_audits_that_are_kept(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The one that runs, and the result of the last one."""
        give_each_scope_its_place(monkeypatch)
        run = KeptAudits(strategies["sort-key"]).begin(scope, "ann")
        found = look_at(strategies["sort-key"], scope)
        assert (found["run"], found["result"]) == (run, None)

    def test_trouble(self, scope: str, install: Callable[..., Strategy]) -> None:
        """A scope that went back is in trouble; one that has used its last value is not, and no number follows."""
        few = install("atomic", MAXIMUM=3)
        get_next_values(2, "atomic", scope=scope)
        assert look_at(few, scope)["upcoming"] == ["3"]
        get_next_value("atomic", scope=scope)
        assert look_at(few, scope)["upcoming"] == []
        assert trouble_of(look_at(few, scope)["seen"]) == ""
        set_counter("atomic", scope, last_value=1)
        assert "sequences recover atomic" in trouble_of(look_at(few, scope)["seen"])


class TestLines:
    @pytest.mark.parametrize("name", ["sort-key", "transactional", "atomic-from-1001-by-10"])
    def test_gaps_between_items(self, scope: str, name: str) -> None:
        """Each number stands there with its item, the highest first; what has none is a gap."""
        start, step = (1001, 10) if name in SEQUENCES and "START" in SEQUENCES[name] else (1, 1)
        put_next_many(name, [{}] * 7, scope=scope)
        first, second, _, fourth, fifth, *_, last = range(start, start + 7 * step, step)
        for value in (first, fourth, fifth):
            delete_row(name, scope, value)
        assert lines(name, scope) == [
            ("stored", last, 1),
            ("stored", last - step, 1),
            ("gap", fourth, 2),
            ("stored", second + step, 1),
            ("stored", second, 1),
            ("gap", first, 1),
        ]

    def test_a_gap_at_the_end(self, scope: str) -> None:
        """What the counter gave last may have no item."""
        put_next_many("transactional", [{}] * 3, scope=scope)
        delete_row("transactional", scope, 3)
        assert lines("transactional", scope) == [("gap", 3, 1), ("stored", 2, 1), ("stored", 1, 1)]

    def test_no_more_than_some(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The last numbers are read alone, and what is before them is no gap."""
        monkeypatch.setattr(scope_report, "LAST_NUMBERS", 3)
        put_next_many("sort-key", [{}] * 5, scope=scope)
        assert lines("sort-key", scope) == [("stored", value, 1) for value in (5, 4, 3)]
        delete_row("sort-key", scope, 4)
        assert lines("sort-key", scope) == [("stored", 5, 1), ("gap", 4, 1), ("stored", 3, 1), ("stored", 2, 1)]

    def test_rows_that_are_no_numbers_of_it(self, scope: str) -> None:
        """A row below START, such as a project's own, or between two steps is left out."""
        put_next_many("sort-key", [{}] * 2, scope=scope)
        import_row("sort-key", scope, 0)
        assert lines("sort-key", scope) == [("stored", 2, 1), ("stored", 1, 1)]
        put_next_many("atomic-from-1001-by-10", [{}] * 2, scope=scope)
        import_row("atomic-from-1001-by-10", scope, 1005)
        assert lines("atomic-from-1001-by-10", scope) == [("stored", 1011, 1), ("stored", 1001, 1)]

    def test_items_that_nobody_can_list(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Where the application knows the keys alone, there are no lines, and it says why."""
        get_next_value("atomic", scope=scope)
        found = look_at(install("atomic", value_in="attribute"), scope)
        assert (found["last_value"], found["lines"]) == (1, [])
        assert found["unlisted"].startswith("The items of this sequence have keys of their own")

    def test_the_key_and_the_text_of_an_item(self, scope: str, install: Callable[..., Strategy]) -> None:
        """The text is the one that is stored with it, or else the number's."""
        put_next("sort-key", {}, scope=scope)
        (line,) = look_at(strategies["sort-key"], scope)["lines"]
        assert (line["key"], line["text"]) == (f"sort-key#{scope} / 1", "1")
        with_text = install("sort-key", text_name="text")
        assert [scope_report._stored(with_text, scope, 1, row)["text"] for row in ({"text": 7}, {})] == ["7", "1"]

    def test_a_void(self, scope: str) -> None:
        """It says by whom, when and why, as far as its row does."""
        put_next_many("sort-key", [{}] * 2, scope=scope)
        changes.void("sort-key", 1, scope=scope, by="ann", reason="twice")
        _, void = look_at(strategies["sort-key"], scope)["lines"]
        assert (void["kind"], void["by"], void["about"], void["at"].tzinfo is not None) == (
            "void",
            "ann",
            "twice",
            True,
        )
        strategy = strategies["sort-key"]
        told = scope_report._stored(strategy, scope, 1, {"void": {"reason": "", "by": "", "at": "noon"}})
        assert (told["kind"], told["by"], told["at"], told["about"]) == ("void", "somebody", None, "no reason given")

    def test_a_gap_with_what_was_void(self, scope: str) -> None:
        """A change that skipped nothing divides no gap."""
        put_next_many("transactional", [{}] * 5, scope=scope)
        changes.void("transactional", 3, scope=scope, by="ann", reason="twice")
        for value in (2, 3, 4):
            delete_row("transactional", scope, value)
        assert lines("transactional", scope) == [("stored", 5, 1), ("gap", 2, 3), ("stored", 1, 1)]

    def test_a_gap_that_a_change_explains(self, scope: str) -> None:
        """It has the change's signature in place of what gaps mean."""
        put_next("transactional", {}, scope=scope)
        changes.advance("transactional", to=4, scope=scope, by="ann", reason="round")
        put_next("transactional", {}, scope=scope)
        (gap,) = (line for line in look_at(strategies["transactional"], scope)["lines"] if line["kind"] == "gap")
        assert (gap["first"], gap["last"], gap["text"], gap["by"], gap["about"]) == (2, 4, "2", "ann", "round")
        assert gap["at"].tzinfo is not None


class TestGaps:
    """What a gap means that no change explains."""

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("transactional", f"No change explains it{OWN_KEY}: run an audit."),
            ("sort-key", "No change explains it: run an audit."),
            ("atomic", f"{DESIGNED}{OWN_KEY}."),
            ("block", f"{HELD}{OWN_KEY}."),
        ],
    )
    def test_by_strategy(self, scope: str, name: str, said: str) -> None:
        """Where no gap may be, it asks for an audit; elsewhere it says how gaps come."""
        put_next_many(name, [{}] * 2, scope=scope)
        delete_row(name, scope, 1)
        gap = next(line for line in look_at(strategies[name], scope)["lines"] if line["first"] == 1)
        assert (gap["kind"], gap["about"], gap["at"]) == ("gap", said, None)

    def test_a_long_history(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """If there are more changes than were read, it does not say that none explains it."""
        monkeypatch.setattr(scope_report, "LATEST_CHANGES", 1)
        put_next_many("sort-key", [{}] * 2, scope=scope)
        delete_row("sort-key", scope, 1)
        for _ in range(2):
            changes.freeze("sort-key", scope=scope, by="ann", reason="a test")
            changes.thaw("sort-key", scope=scope, by="ann", reason="a test")
        found = look_at(strategies["sort-key"], scope)
        assert found["lines"][-1]["about"] == "None of the latest 1 changes explains it: run an audit."
        assert len(found["changes"]) == 1

    @pytest.mark.parametrize("table", ["no_such_table", "sequence_items"])
    def test_without_a_history(self, scope: str, install: Callable[..., Strategy], table: str) -> None:
        """Where no change can have been made, none explains it, and no audit is kept."""
        put_next_many("sort-key", [{}] * 2, scope=scope)
        delete_row("sort-key", scope, 1)
        found = look_at(install("sort-key", history_table=table), scope)
        assert found["lines"][-1]["about"] == "No change explains it: run an audit."
        assert (found["changes"], found["run"], found["result"]) == ([], None, None)


def test_the_settings(settings: Settings) -> None:
    """Those of the entry first, then the options by name; each says whether it is the default."""
    path = "sequences.strategies.sort_key.SortKeyMaximum"
    entry: dict[str, Any] = {"STRATEGY": path, "START": 5, "OPTIONS": {"text_name": "text"}}
    settings.SEQUENCES = {"letters": entry}
    found = settings_of(strategies["letters"])
    names = [name for name, *_ in found]
    assert names[:8] == ["STRATEGY", "TABLE", "START", "STEP", "MAXIMUM", "FORMAT", "PERIOD", "CLIENT"]
    assert names[8:] == sorted(strategies["letters"].option)
    assert found[:8] == [
        ("STRATEGY", path, False),
        ("TABLE", "sequence_items", True),
        ("START", 5, False),
        ("STEP", 1, True),
        ("MAXIMUM", 10**38 - 1, True),
        ("FORMAT", "{value}", True),
        ("PERIOD", "never", True),
        ("CLIENT", "default", True),
    ]
    assert ("text_name", "text", False) in found
    assert ("scope_must_exist", False, True) in found
