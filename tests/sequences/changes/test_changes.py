"""Guarded changes: what each does, what it refuses, and the history that it leaves."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime
from functools import partial
from itertools import chain, repeat
from typing import Any
from unittest.mock import Mock, patch

import pytest
from django.core.management import CommandError, call_command

from project.proof.faults.control import Proxy
from sequences import (
    changes,
    dynamodb,
    get_last_value,
    get_next_value,
    get_next_values,
    put_next,
    put_next_many,
    put_next_together,
)
from sequences.changes import apply, freezes
from sequences.changes.apply import ChangeNote, ChangeRequest, Plan
from sequences.commit import host_lock
from sequences.commit.retries import new_token, write_once
from sequences.dynamodb import expressions
from sequences.exceptions import (
    CancellationReason,
    InvalidChange,
    InvalidPeriod,
    InvalidScope,
    InvalidSequence,
    OperationNotSupported,
    RulesChanged,
    ScopeNotFound,
    SequenceContention,
    SequenceError,
    SequenceExhausted,
    SequenceFrozen,
    SequenceUnavailable,
    SequenceWentBack,
    StorageRefused,
    WriteCancelled,
)
from sequences.ops.audit import AuditReport, audit
from sequences.registry import strategies
from sequences.rows.numbers import LARGEST
from sequences.services.arguments import reserving
from sequences.strategies import Strategy, counter_strategy, sort_key
from sequences.testing import engine_at
from sequences.testing.callers import put_some, take_some
from sequences.types import Change, Dated
from tests.sequences import support
from tests.sequences.running import FAULTS, Writers
from tests.sequences.support import (
    COUNTERS,
    SORT_KEYS,
    STEPPING,
    Clock,
    Processes,
    Wire,
    arrives,
    delete_counter,
    delete_row,
    held_up,
    import_row,
    make,
    names_that,
    nth,
    read_counter,
    set_counter,
    stored,
    wait_until,
)

pytestmark = pytest.mark.usefixtures("configured", "steady_date")

WHO: dict[str, Any] = {"by": "ana", "reason": "a test"}
EVERY = [*COUNTERS, *SORT_KEYS, *STEPPING]
every_strategy = pytest.mark.parametrize("name", EVERY)
counters = pytest.mark.parametrize("name", [*COUNTERS, *STEPPING])


def lines(name: str, scope: str | None) -> list[Change]:
    """The history of a scope, the newest change first."""
    return changes.history(name, scope=scope, limit=10_000)[0]


def checked(name: str, scope: str | None) -> AuditReport:
    """The audit of a scope in which all is explained."""
    report = audit(strategies[name], scope)
    assert report.unexplained == 0, report
    return report


written = partial(support.written, "sequences")
"""What `manage.py sequences` prints."""


class TestAdvance:
    @every_strategy
    def test_the_next_value_is_higher(self, name: str, scope: str) -> None:
        """The next item gets the first value of the sequence that is above the given one, and the audit explains it."""
        put_some(name, scope, 2)
        step = strategies[name].config.step
        change = changes.advance(name, to=nth(name, 50) + step // 2, scope=scope, **WHO)
        assert (change.kind, change.before, change.after) == ("advance", get_before(name), nth(name, 50))
        assert put_some(name, scope, 1) == [nth(name, 51)]
        report = checked(name, scope)
        assert report.last_value is not None
        assert report.missing + report.carried == (report.last_value - nth(name, 0)) // step

    def test_a_counter_between_two_values(self, scope: str, install: Callable[..., Strategy]) -> None:
        """A counter that another STEP has left between two values of START and STEP goes on at the next one."""
        put_some("atomic", scope, 3)
        install("atomic", STEP=10)
        change = changes.advance("atomic", to=20, scope=scope, **WHO)
        assert (change.before, change.after) == (3, 11)
        assert put_some("atomic", scope, 1) == [21]

    @pytest.mark.parametrize("frozen", [False, True])
    def test_what_its_row_says(self, scope: str, frozen: bool) -> None:
        """The row without an item says who did it, when and why, and of a frozen scope that, too."""
        put_some("sort-key", scope, 1)
        if frozen:
            changes.freeze("sort-key", scope=scope, **WHO)
        changes.advance("sort-key", to=5, scope=scope, **WHO)
        said = stored("sort-key", scope)[5]["void"].keys()
        assert said == {"by", "at", "reason", *(["frozen"] if frozen else [])}

    @every_strategy
    def test_only_upwards(self, name: str, scope: str) -> None:
        """What is not above all values so far is refused with the least that is allowed, and nothing is written."""
        put_some(name, scope, 2)
        least = get_before(name) + strategies[name].config.step
        before = (stored(name, scope), read_counter(name, scope) if strategies[name].counter else {})
        for to in (0, least - 1):
            with pytest.raises(InvalidChange, match=f"give {least} or more"):
                changes.advance(name, to=to, scope=scope, **WHO)
        assert before == (stored(name, scope), read_counter(name, scope) if strategies[name].counter else {})
        assert lines(name, scope) == []
        assert changes.advance(name, to=least, scope=scope, **WHO).after == least

    @pytest.mark.parametrize("name", ["atomic", "transactional"])
    def test_past_imported_rows(self, name: str, scope: str) -> None:
        """A counter cannot be advanced to a number that an imported row has, although it has not counted so far."""
        import_row(name, scope, 50)
        with pytest.raises(InvalidChange, match="give 51 or more"):
            changes.advance(name, to=50, scope=scope, **WHO)

    def test_to_the_next_number(self, scope: str) -> None:
        """The next number is void then, and nothing else is."""
        put_next("sort-key", {}, scope=scope)
        changes.advance("sort-key", to=2, scope=scope, **WHO)
        assert set(stored("sort-key", scope)) == {1, 2}
        assert put_next("sort-key", {}, scope=scope).value == 3

    def test_a_row_below_the_start(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Void rows lie under START and under the value of the advance, and none beside a row that does not count."""
        install("sort-key", START=100)
        import_row("sort-key", scope, 5)
        changes.advance("sort-key", to=200, scope=scope, **WHO)
        assert set(stored("sort-key", scope)) == {5, 100, 200}

    def test_writers_of_the_same_host(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A change waits until the processes of its host have no write of the scope under way."""
        monkeypatch.setattr(host_lock, "LONGEST_WAIT", 60.0)
        put_next("sort-key", {}, scope=scope)
        writer, deadline = strategies["sort-key"].item_writer, strategies["sort-key"].deadline()
        with ThreadPoolExecutor(1) as thread:
            with writer.exclusively(scope, deadline):
                advancing = thread.submit(changes.advance, "sort-key", to=10, scope=scope, **WHO)
                assert not wait([advancing], 0.3).done
            assert advancing.result().after == 10

    @pytest.mark.parametrize("name", ["block", "atomic", "optimistic-put"])
    def test_values_in_memory_are_dropped(self, name: str, scope: str) -> None:
        """This process hands out none of the lower values that it has reserved."""
        take_some(name, scope, 1)
        changes.advance(name, to=500, scope=scope, **WHO)
        assert get_next_value(name, scope=scope) == 501

    @pytest.mark.parametrize("name", list(SORT_KEYS))
    def test_busy_writers_follow(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A writer that remembers the highest number, and so reads nothing, does not go on below the new one."""
        other = install(name)
        put_next(name, {}, scope=scope)
        del strategies._made[name]  # another process advances
        changes.advance(name, to=100, scope=scope, **WHO)
        strategies._made[name] = other
        assert put_next(name, {}, scope=scope).value == 101

    def test_a_frozen_scope(self, scope: str) -> None:
        """A frozen scope can be advanced, and stays frozen until it is thawed."""
        for name in ("atomic", "sort-key"):
            put_some(name, scope, 2)
            changes.freeze(name, scope=scope, **WHO)
            changes.advance(name, to=50, scope=scope, **WHO)
            with pytest.raises(SequenceFrozen):
                put_next(name, {}, scope=scope)
            changes.thaw(name, scope=scope, **WHO)
            assert put_next(name, {}, scope=scope).value == 51

    @pytest.mark.parametrize("name", list(SORT_KEYS))
    def test_busy_writers_of_a_frozen_scope(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A writer that remembers a number from before the freeze does not pass a scope that was advanced since."""
        other = install(name)
        put_next(name, {}, scope=scope)
        del strategies._made[name]
        changes.freeze(name, scope=scope, **WHO)
        changes.advance(name, to=50, scope=scope, **WHO)
        strategies._made[name] = other
        for _ in range(3):
            with pytest.raises(SequenceFrozen):
                put_next(name, {}, scope=scope)

    @pytest.mark.parametrize("name", SORT_KEYS)
    def test_void_among_the_skipped(
        self, name: str, scope: str, install: Callable[..., Strategy], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Many items, one of which would lie under a void number among the skipped, go past all of them."""
        monkeypatch.setattr(sort_key, "TAIL_SECONDS", 60.0)
        own = install(name)
        put_next(name, {}, scope=scope)
        install(name)
        changes.advance(name, to=50, scope=scope, **WHO)
        changes.void(name, 10, scope=scope, **WHO)
        strategies._made[name] = own
        assert [put.value for put in put_next_many(name, [{}] * 15, scope=scope)] == [*range(51, 66)]

    @pytest.mark.parametrize("name", ["atomic", "sort-key-padded"])
    def test_above_the_maximum(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A value above MAXIMUM is refused, and the sequence stays."""
        install(name, MAXIMUM=100)
        with pytest.raises(SequenceExhausted, match="raise MAXIMUM"):
            changes.advance(name, to=101, scope=scope, **WHO)
        assert get_last_value(name, scope=scope) is None
        assert changes.advance(name, to=100, scope=scope, **WHO).after == 100
        with pytest.raises(SequenceExhausted):
            put_next(name, {}, scope=scope)

    def test_it_is_remembered(self, scope: str) -> None:
        """A counter that is set back after it was advanced is refused."""
        changes.advance("atomic", to=10, scope=scope, **WHO)
        set_counter("atomic", scope, last_value=5, highest=5)
        with pytest.raises(SequenceWentBack):
            get_next_value("atomic", scope=scope)

    def test_a_scope_that_must_exist(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Where a scope must have a row first, a change makes none."""
        install("sort-key", scope_must_exist=True, partition=f"{scope}#{{scope}}")
        with pytest.raises(ScopeNotFound, match="create it before you change it"):
            changes.advance("sort-key", to=10, scope=scope, **WHO)
        with pytest.raises(ScopeNotFound, match=r"^'sort-key' counts in scopes alone: name one\.$"):
            changes.advance("sort-key", to=10, **WHO)

    def test_dry_run(self, scope: str, wire: Wire) -> None:
        """A dry run tells the same change, and writes nothing."""
        wire.clear()
        rehearsed = changes.advance("atomic", to=10, scope=scope, dry_run=True, **WHO)
        assert not {"TransactWriteItems", "UpdateItem", "PutItem"} & set(wire.operations)
        made = changes.advance("atomic", to=10, scope=scope, **WHO)
        assert (rehearsed.before, rehearsed.after) == (made.before, made.after) == (None, 10)


def get_before(name: str) -> int:
    """The last value after two puts: that of a block is its end."""
    return nth(name, 8) if name == "block" else nth(name, 2)


def sent(wire: Wire) -> list[Any]:
    """The guarded changes that were sent."""
    return [body for body in wire.bodies("TransactWriteItems") if "#history#" in json.dumps(body)]


class TestWriting:
    """How a change is written, whatever it is."""

    @pytest.mark.parametrize("name", ["transactional", "sort-key"])
    def test_a_race_is_looked_at_again(self, name: str, scope: str, wire: Wire) -> None:
        """If another process numbers between the look and the write, the change is planned anew."""
        put_next(name, {}, scope=scope)
        wire.before("TransactWriteItems", partial(elsewhere, name, scope))
        change = changes.advance(name, to=10, scope=scope, **WHO)
        assert (change.before, change.after) == (2, 10)
        assert lines(name, scope) == [change]
        assert len(sent(wire)) == 2

    @pytest.mark.parametrize("name", ["atomic", "sort-key"])
    def test_a_lost_answer_is_found_again(self, name: str, scope: str, wire: Wire) -> None:
        """If the answer is lost, the same change is sent again and recognised, also after others went on."""
        wire.lose("TransactWriteItems")
        wire.forget_request_tokens()
        wire.after("TransactWriteItems", partial(elsewhere, name, scope))
        change = changes.advance(name, to=10, scope=scope, **WHO)
        assert lines(name, scope) == [change]
        assert get_last_value(name, scope=scope) == 11

    def test_an_answer_that_a_conflict_hides(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the refusal of the repeat does not show that the first send was stored, the history does."""

        def hide(*arguments: Any, **options: Any) -> None:
            write_once(*arguments, **options)
            reasons = (CancellationReason("ConditionalCheckFailed"), CancellationReason("TransactionConflict"))
            error = WriteCancelled("hidden", reasons)
            error.after_unknown = True
            raise error

        monkeypatch.setattr("sequences.changes.apply.write_once", hide)
        change = changes.advance("atomic", to=10, scope=scope, **WHO)
        assert lines("atomic", scope) == [change]

    def test_a_history_among_the_items(self, scope: str, install: Callable[..., Strategy]) -> None:
        """A history in the table of the items is refused by each change, and numbers go on."""
        install("sort-key", history_table="sequence_items")
        put_next("sort-key", {}, scope=scope)
        with pytest.raises(InvalidSequence, match=r"\['history_table'\] must be another table"):
            changes.advance("sort-key", to=10, scope=scope, **WHO)
        assert put_next("sort-key", {}, scope=scope).value == 2

    @pytest.mark.parametrize("name", ["atomic", "transactional"])
    def test_the_requests_of_a_counter(self, name: str, scope: str, wire: Wire) -> None:
        """A change holds for the row that was seen; where gaps may be, for any later value below the new one, too."""
        born, absent = "#born = if_not_exists(#born, :first_0) REMOVE #given_back", "attribute_not_exists"
        moves = f"#since = :new_2, #changed = :new_3, #token = :new_4, #updated_at = :new_5, {born}"
        moved = f"SET #last_value = :new_0, #highest = :new_1, {moves}"
        new = " AND ".join(f"{absent}(#{name})" for name in ("last_value", "highest", "token", "frozen"))
        seen = "#last_value = :old_0 AND #highest = :old_1 AND #token = :old_2 AND"
        busy = f"{absent}(#frozen) AND {absent}(#thawed) AND #last_value >= :least_0"
        above = f"{busy} AND #last_value < :below_0" if name == "atomic" else f"{seen} {absent}(#frozen)"
        thawed = "SET #highest = :new_0, #thawed = :new_1, #token = :new_2, #updated_at = :new_3 REMOVE #frozen"
        expected = [
            (new, moved),
            (above, moved),
            (busy, f"SET #frozen = :new_0, #highest = :new_1, #changed = :new_2, {born}"),
            (f"{seen} #frozen = :old_3", f"SET #last_value = :new_0, #frozen = :new_1, {moves}"),
            ("#last_value = :old_0 AND #token = :old_1 AND #frozen = :old_2", thawed),
        ]
        wire.clear()
        first = changes.advance(name, to=5, scope=scope, **WHO)
        row = read_counter(name, scope)
        assert {key: row[key] for key in ("last_value", "highest", "since")} == {
            "last_value": 5,
            "highest": 5,
            "since": 0,
        }
        assert row["token"] == row["changed"] == row["born"]
        assert row["updated_at"] == int(first.at.timestamp())
        changes.advance(name, to=50, scope=scope, **WHO)
        frozen = changes.freeze(name, scope=scope, **WHO)
        changes.advance(name, to=60, scope=scope, **WHO)
        row = read_counter(name, scope)
        assert (row["last_value"], row["highest"], row["born"] != row["token"]) == (60, LARGEST, True)
        assert row["frozen"] == {**WHO, "at": frozen.at.isoformat(timespec="microseconds")}
        changes.thaw(name, scope=scope, **WHO)
        assert read_counter(name, scope)["highest"] == 60
        updates = [body["TransactItems"][0]["Update"] for body in sent(wire)]
        assert [(update["ConditionExpression"], update["UpdateExpression"]) for update in updates] == expected

    def test_both_or_neither(self, scope: str, wire: Wire) -> None:
        """The change and its line in the history are in one transaction."""
        changes.advance("atomic", to=10, scope=scope, **WHO)
        (body,) = wire.bodies("TransactWriteItems")
        assert [list(action) for action in body["TransactItems"]] == [["Update"], ["Put"]]

    def test_races_that_do_not_end(
        self, scope: str, wire: Wire, clock: Clock, install: Callable[..., Strategy]
    ) -> None:
        """At the deadline it gives up, and nothing of it was written."""
        install("transactional", clock=clock)

        def move(n: int) -> Callable[[], None]:
            return lambda: set_counter("transactional", scope, last_value=n, highest=n, token="another")

        wire.before("TransactWriteItems", *map(move, range(1, 100)))
        with pytest.raises(SequenceContention):
            changes.advance("transactional", to=1000, scope=scope, **WHO)
        assert read_counter("transactional", scope)["last_value"] < 100
        assert lines("transactional", scope) == []

    @pytest.mark.parametrize(
        ("field", "text"),
        [("by", ""), ("by", "a" * 201), ("by", 5), ("reason", " "), ("reason", "a\nb"), ("reason", "a" * 501)],
    )
    def test_who_and_why_are_required(self, field: str, text: Any, wire: Wire) -> None:
        """A change without who or why names the field, and is not sent."""
        wire.clear()
        with pytest.raises(InvalidChange, match=f"^{field} is "):
            changes.freeze("sort-key", **{**WHO, field: text})
        assert "TransactWriteItems" not in wire.operations

    @pytest.mark.parametrize(("by", "reason"), [("a", "b"), ("a" * 200, "b" * 500)])
    def test_the_shortest_and_the_longest(self, by: str, reason: str, scope: str) -> None:
        """Who and why may be one character, and as long as the refusal of a longer text says."""
        put_next("sort-key", {}, scope=scope)
        changes.freeze("sort-key", scope=scope, by=by, reason=reason)
        assert [(line.by, line.reason) for line in lines("sort-key", scope)] == [(by, reason)]

    @pytest.mark.parametrize(
        ("error", "done", "dry_run", "said"),
        [
            (StorageRefused("no"), 1, False, ["Of the scopes, 1 is done. Go on."]),
            (StorageRefused("no"), 2, False, ["Of the scopes, 2 are done. Go on."]),
            (StorageRefused("no"), 2, True, []),
            (StorageRefused("no"), 0, False, []),
            (InvalidChange("no"), 0, False, []),
            (
                SequenceUnavailable("no", attempts=1, seconds=1.0, outcome_unknown=True),
                0,
                False,
                ["Of the scopes, 0 are done. Go on."],
            ),
            (KeyboardInterrupt(), 2, False, ["Of the scopes, 2 are done. Go on."]),
            (KeyboardInterrupt(), 0, False, ["Of the scopes, 0 are done. Go on."]),
            (KeyboardInterrupt(), 2, True, []),
        ],
    )
    def test_an_error_among_many(
        self, error: BaseException, done: int, dry_run: bool, said: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It says how many scopes are done and how to go on, where one is, or may be."""
        monkeypatch.setattr(apply, "apply_change", Mock(side_effect=[*done * [None], error]))
        request = ChangeRequest("freeze", "ana", "a test", dry_run)
        with pytest.raises(type(error)):
            apply.apply_to_all("atomic", "abc", request, Mock(), how_to_go_on="Go on.")
        assert getattr(error, "__notes__", []) == said

    def test_who_made_an_earlier_change(self) -> None:
        """A change that stands is signed as its row says; what the row does not say is left open."""
        at, then = datetime(2026, 3, 5, tzinfo=UTC), datetime(2025, 3, 5, tzinfo=UTC)
        note = ChangeNote(by="ana", at=at, reason="a test", token="t")
        told = []
        for stands in ({}, {"by": "bo", "at": then.isoformat(), "reason": "earlier"}, {"frozen": True}):
            change = apply._change(
                "atomic", Dated.of("a", "2026"), "freeze", Plan(before=1, after=2, stands=stands), note
            )
            told.append((change.by, change.at, change.reason))
            assert (change.sequence, change.scope, change.period, change.kind) == ("atomic", "a", "2026", "freeze")
            assert (change.before, change.after) == (1, 2)
        assert told == [("ana", at, "a test"), ("bo", then, "earlier"), ("", at, "")]

    @pytest.mark.parametrize("value", [-1, True, 1.0, "1", None])
    def test_a_wrong_number(self, value: Any, wire: Wire) -> None:
        """A number that is negative or not whole is refused unsent, and the field is named."""
        wire.clear()
        for attempt, field in (
            (lambda: changes.advance("atomic", to=value, **WHO), "to"),
            (lambda: changes.seed("atomic", value, **WHO), "source"),
            (lambda: changes.void("atomic", value, **WHO), "value"),
            (lambda: changes.recover("atomic", margin=value, **WHO), "margin"),
        ):
            with pytest.raises(InvalidChange, match=f"^{field} is .*; it must be a whole number from 0"):
                attempt()
        assert wire.sent == []

    def test_nothing_lowers_a_sequence(self, scope: str) -> None:
        """No change, given a lower number, makes a number come again."""
        for name in [*COUNTERS, "sort-key"]:
            told = put_some(name, scope, 3)
            for change in (
                partial(changes.advance, to=1),
                partial(changes.seed, source=1),
                partial(changes.seed, source="items"),
                partial(changes.recover, margin=0, past=1),
                changes.freeze,
                partial(changes.advance, to=1),
                changes.thaw,
                partial(changes.void, value=told[0]),
                partial(changes.switch, to="SortKeyMaximum"),
                changes.finish_switch,
            ):
                before = get_last_value(name, scope=scope)
                try:
                    change(name, scope=scope, **WHO)
                except (InvalidChange, OperationNotSupported):
                    pass
                after = get_last_value(name, scope=scope)
                assert before is not None
                assert after is not None
                assert after >= before
            assert put_some(name, scope, 1)[0] > told[-1]


def elsewhere(name: str, scope: str) -> None:
    """Another process stores the next item."""
    own = strategies._made.pop(name)
    put_next(name, {}, scope=scope)
    strategies._made[name] = own


class TestSeed:
    @every_strategy
    def test_a_number(self, name: str, scope: str) -> None:
        """The next number is above the given one, and a second time nothing is changed, where no block is held."""
        (change,) = changes.seed(name, nth(name, 40), scope=scope, **WHO)
        assert (change.kind, change.before, change.after) == ("seed", None, nth(name, 40))
        (again,) = changes.seed(name, nth(name, 40), scope=scope, **WHO)
        drops = not strategies[name].ordered_across_processes
        assert (again.before, again.after) == (nth(name, 40), nth(name, 40 + drops))
        assert len(lines(name, scope)) == 1 + drops
        assert put_next(name, {}, scope=scope).value == nth(name, 41 + drops)

    def test_below_the_start(self, scope: str) -> None:
        """A sequence that begins above the number begins at START."""
        (change,) = changes.seed("atomic-from-1001-by-10", 1000, scope=scope, **WHO)
        assert change.after is None
        assert get_next_value("atomic-from-1001-by-10", scope=scope) == 1001

    @pytest.mark.parametrize(("number", "maximum", "after"), [(4, 99, 12), (5, 99, 13), (5, 13, 13), (5, 12, 12)])
    def test_blocks_of_other_processes(
        self, number: int, maximum: int, after: int, scope: str, install: Callable[..., Strategy]
    ) -> None:
        """A block that is held is dropped by moving on by one value, where there is one, for a number from START on."""
        install("block", START=5, MAXIMUM=maximum)
        take_some("block", scope, 1)
        assert get_last_value("block", scope=scope) == 12
        (change,) = changes.seed("block", number, scope=scope, **WHO)
        assert (change.before, change.after) == (12, after)

    def test_a_check_beside_blocks(self, scope: str) -> None:
        """A check that a sequence is past a number passes where it is, and moves nothing."""
        last = get_next_values(20, "block", scope=scope)[-1]
        arguments = ("block", "--scope", scope, "--reason", "a look", "--check", "--number")
        stored = read_counter("block", scope)["last_value"]
        assert f"seed at {stored}, by" in written("seed", *arguments, str(last))
        with pytest.raises(CommandError, match=r"not past their numbers: 1\."):
            written("seed", *arguments, str(stored + 1))
        assert read_counter("block", scope)["last_value"] == stored

    def test_items_beside_a_block(self, scope: str) -> None:
        """Blocks are dropped for the numbers of stored items, too."""
        put_some("block", scope, 1)
        (change,) = changes.seed("block", "items", scope=scope, **WHO)
        assert (change.before, change.after) == (8, 9)

    @every_strategy
    def test_no_items(self, name: str, scope: str) -> None:
        """Where nothing is stored, nothing is changed."""
        (change,) = changes.seed(name, "items", scope=scope, **WHO)
        assert (change.before, change.after) == (None, None)
        assert lines(name, scope) == []

    @pytest.mark.parametrize("name", ["transactional", "atomic"])
    def test_imported_rows(self, name: str, scope: str) -> None:
        """A check finds what the counter does not know; the line says from where it moved, so that audits know why."""
        put_some(name, scope, 3)
        import_row(name, scope, 7)
        with pytest.raises(CommandError, match=r"not past their numbers: 1\."):
            written("seed", name, "--items", "--scope", scope, "--reason", "a look", "--check")
        (change,) = changes.seed(name, "items", scope=scope, **WHO)
        assert (change.before, change.after) == (3, 7)
        import_row(name, scope, 11)
        change = changes.advance(name, to=12, scope=scope, **WHO)
        assert (change.before, change.after) == (7, 12)
        assert audit(strategies[name], scope).unexplained == 0
        assert put_next(name, {}, scope=scope).value == 13

    @counters
    def test_stored_items(self, name: str, scope: str) -> None:
        """The counter goes past the items of the sequence's own table."""
        import_row(name, scope, nth(name, 7))
        (change,) = changes.seed(name, "items", scope=scope, **WHO)
        assert change.after == nth(name, 7)
        assert put_next(name, {}, scope=scope).value == nth(name, 8)


@pytest.mark.usefixtures("alone_on_its_host")
class TestRecover:
    @counters
    def test_a_counter_that_went_back(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """After a restore numbers go on past the stored items and the margin, where they were refused before."""
        told = put_some(name, scope, 3)
        delete_counter(name, scope)
        install(name)
        with pytest.raises(SequenceWentBack, match=f"sequences recover {name} --scope {scope} --past"):
            put_some(name, scope, 1)
        (change,) = changes.recover(name, scope=scope, margin=5, **WHO)
        assert change.after is not None
        assert change.after >= told[-1] + 5 * strategies[name].config.step
        assert put_some(name, scope, 1)[0] > change.after

    @counters
    def test_an_advance_in_its_place(self, name: str, scope: str) -> None:
        """A counter that went back in this process's sight is recovered first, not moved up."""
        told = put_some(name, scope, 3)
        set_counter(name, scope, last_value=told[0])
        with pytest.raises(SequenceWentBack, match=f"sequences recover {name} --scope {scope} --past"):
            changes.advance(name, to=told[-1] + 1000, scope=scope, **WHO)

    @pytest.mark.parametrize("name", ["atomic", "transactional", "sort-key"])
    def test_what_is_evidence(self, name: str, scope: str) -> None:
        """The highest marker, stored item, line of the history and given number each count, and the highest wins."""
        put_next(name, {}, scope=scope)
        assert changes.recover(name, scope=scope, margin=1, **WHO)[0].after == 2
        put_next(name, {}, scope=scope, idempotency_token="a token")
        forget_all(name, scope, keep_markers=True)
        assert changes.recover(name, scope=scope, margin=1, **WHO)[0].after == 4
        forget_all(name, scope)
        assert changes.recover(name, scope=scope, margin=1, **WHO)[0].after == 5
        import_row(name, scope, 60)
        assert changes.recover(name, scope=scope, margin=1, **WHO)[0].after == 61
        assert changes.recover(name, scope=scope, margin=1, past=80, **WHO)[0].after == 81
        assert put_next(name, {}, scope=scope).value == 82

    @pytest.mark.parametrize("kind", ["advance", "seed", "recover", "switch", "adopt", "give", "series"])
    def test_a_line_without_a_counter(self, kind: str, scope: str) -> None:
        """Whatever change had moved a scope, its line is evidence, and the usual margin is a hundred numbers."""
        write_line(scope, kind, 500)
        (change,) = changes.recover("atomic", scope=scope, **WHO)
        assert (change.after, get_next_value("atomic", scope=scope)) == (600, 601)

    @pytest.mark.parametrize(("kind", "after"), [("freeze", 500), ("advance", None)])
    def test_a_line_that_is_no_evidence(self, kind: str, after: int | None, scope: str) -> None:
        """A line that has moved nothing tells of no number."""
        write_line(scope, kind, after)
        with pytest.raises(ScopeNotFound):
            changes.recover("atomic", scope=scope, **WHO)

    @pytest.mark.parametrize("past", [-1, True, 1.0, "1"])
    def test_a_wrong_past(self, past: Any, scope: str) -> None:
        """What is no whole number is no evidence, and the field is named."""
        with pytest.raises(InvalidChange, match=r"^past is .*; it must be a whole number from 0"):
            changes.recover("atomic", scope=scope, past=past, **WHO)

    def test_values_taken_with_a_token(self, scope: str) -> None:
        """A marker of many values counts with the last of them."""
        get_next_values(10, "atomic", scope=scope, idempotency_token="ten")
        delete_counter("atomic", scope)
        strategies.reset()
        assert changes.recover("atomic", scope=scope, margin=0, **WHO)[0].after == 10

    @pytest.mark.parametrize("options", [{}, {"value_in": "attribute"}])
    def test_items_stored_together_with_a_token(
        self, options: dict[str, str], scope: str, install: Callable[..., Strategy]
    ) -> None:
        """So does the marker of items that were stored together."""
        install("transactional", **options)
        items = [{"pk": scope, "sk": place} if options else {} for place in range(5)]
        put_next_together("transactional", items, scope=scope, idempotency_token="five")
        forget_all("transactional", scope, keep_markers=True)
        assert changes.recover("transactional", scope=scope, margin=0, **WHO)[0].after == 5

    def test_imported_rows_are_explained(self, scope: str) -> None:
        """What is skipped up to an imported row, and beyond it, is skipped by the change."""
        put_some("transactional", scope, 3)
        import_row("transactional", scope, 7)
        (change,) = changes.recover("transactional", scope=scope, margin=5, **WHO)
        assert (change.before, change.after) == (3, 12)
        assert audit(strategies["transactional"], scope).unexplained == 0

    def test_a_table_without_a_sort_key(self, scope: str, install: Callable[..., Strategy], wire: Wire) -> None:
        """The markers of a scope cannot be listed there, and no query is sent: the counter tells how far it was."""
        install("atomic", TABLE="singly", value_in="attribute", key_names=["id"])
        table = dynamodb.table_name("singly")
        dynamodb.create_table(table, {"id": "S"})
        put_next("atomic", {"id": "a"}, scope=scope, idempotency_token="a token")
        assert changes.recover("atomic", scope=scope, margin=5, **WHO)[0].after == 6
        assert table not in {query["TableName"] for query in wire.bodies("Query")}
        dynamodb.delete_table(table)

    def test_a_scope_of_which_all_is_lost(self, scope: str) -> None:
        """Where nothing is left, a number that is known from elsewhere is evidence enough."""
        (change,) = changes.recover("atomic", scope=scope, past=20, margin=0, **WHO)
        assert (change.before, change.after) == (None, 20)

    def test_a_scope_that_has_only_its_row(self, scope: str) -> None:
        """Where nothing was ever counted, there is nothing to recover."""
        import_row("sort-key", scope, 0)
        (change,) = changes.recover("sort-key", scope=scope, **WHO)
        assert change.after is None
        assert put_some("sort-key", scope, 1) == [1]

    def test_every_scope(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Without a scope every counter that is listed is recovered."""
        install("optimistic-put", counter_table="marks")
        dynamodb.create_table(dynamodb.table_name("marks"), {"sequence": "S", "scope": "S"})
        for each in ("a", "b", None):
            get_next_values(2, "optimistic-put", scope=each)
        made = changes.recover("optimistic-put", margin=10, **WHO)
        assert [(change.scope, change.after) for change in made] == [(None, 12), ("a", 12), ("b", 12)]
        dynamodb.delete_table(dynamodb.table_name("marks"))

    def test_the_history_is_read_once(self, scope: str, wire: Wire) -> None:
        """However many scopes are recovered: after a freeze of each, it has as many lines as there are scopes."""
        for end in ("a", "b", "c"):
            put_next("transactional", {}, scope=f"{scope}{end}")
            changes.advance("transactional", to=500, scope=f"{scope}{end}", **WHO)
        history = strategies["transactional"].history.partition
        wire.sent.clear()
        made = changes.recover("transactional", scope=changes.EveryScope(scope), margin=1, **WHO)
        assert [change.after for change in made] == [501] * 3
        asked = [body["ExpressionAttributeValues"].values() for body in wire.bodies("Query")]
        assert sum({"S": history} in values for values in asked) == 1

    def test_a_repeat_after_a_failure(
        self, tables: str, install: Callable[..., Strategy], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What fails midway says how to repeat it, so that no scope is moved by its margin twice.

        The engine's clock may go back by a second meanwhile.
        """
        strategy = install("atomic", MAXIMUM=105)
        for scope, count in (("a", 2), ("b", 9), ("c", 3)):
            get_next_values(count, "atomic", scope=scope)
        now = strategy.wall()
        moments = chain([now], repeat(now - 1))
        monkeypatch.setattr(strategy, "wall", lambda: next(moments))
        with pytest.raises(SequenceExhausted) as error:
            changes.recover("atomic", **WHO)
        (said,) = error.value.__notes__
        since = said.partition("since=")[2].partition(",")[0]
        assert said == (
            "Of the scopes, 1 is done. To go on without moving what is done again, repeat this with "
            f"since={since}, or --since {since}."
        )
        install("atomic")
        made = changes.recover("atomic", since=datetime.fromisoformat(since), **WHO)
        assert [(change.scope, change.before, change.after) for change in made] == [
            ("a", 102, 102),
            ("b", 9, 109),
            ("c", 3, 103),
        ]
        assert changes.recover("atomic", scope="a", **WHO)[0].after == 202

    def test_tables_that_are_refused_still(
        self, tables: str, install: Callable[..., Strategy], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the sequence cannot go on in its tables, the error says that all scopes are done, and how to go on."""
        rules = install("atomic").rules
        get_next_value("atomic", scope="a")
        monkeypatch.setattr(rules, "restored", Mock(side_effect=RulesChanged("another writer")))
        with pytest.raises(RulesChanged) as error:
            changes.recover("atomic", margin=5, **WHO)
        (said,) = error.value.__notes__
        assert said.startswith("All scopes are recovered, but the sequence is refused still. To go on without moving")
        assert get_last_value("atomic", scope="a") == 6

    @pytest.mark.parametrize("since", ["2026-01-01", datetime(2026, 1, 1), 5])  # noqa: DTZ001
    def test_since_when(self, scope: str, since: Any) -> None:
        """What is no moment, or has no time zone, is refused."""
        with pytest.raises(InvalidChange, match=r"^since is .*; it must be a datetime with a time zone"):
            changes.recover("atomic", scope=scope, since=since, **WHO)


def write_line(scope: str, kind: str, after: int | None) -> None:
    """Write a line into the history of a scope of "atomic" that has no counter."""
    told = {"sequence": "atomic", "scope": scope, "period": "", "at": datetime.now(UTC), "before": None, **WHO}
    line = strategies["atomic"].history.put(Change(**told, kind=kind, after=after), "token")
    dynamodb.call("transact_write_items", expressions.transaction([line], request_token=new_token()))


def forget_all(name: str, scope: str, *, keep_markers: bool = False) -> None:
    """Lose the counter and the items, as a restore does, and the markers."""
    strategy = strategies[name]
    partitions = [strategy.layout.partition(scope), *([] if keep_markers else [strategy.markers.partition(scope)])]
    for partition in partitions:
        request = {
            "TableName": strategy.schema.table,
            "KeyConditionExpression": "pk = :scope",
            "ExpressionAttributeValues": {":scope": {"S": partition}},
        }
        for row in dynamodb.call("query", request)["Items"]:
            key = {part: row[part] for part in ("pk", "sk")}
            dynamodb.call("delete_item", {"TableName": strategy.schema.table, "Key": key})
    if strategy.counter:
        delete_counter(name, scope)
    strategies.reset()


class TestFreeze:
    @every_strategy
    def test_writes_are_refused_and_reads_go_on(self, name: str, scope: str) -> None:
        """Nothing is stored in a frozen scope; the error tells who, why and the command; after the thaw it goes on."""
        told = put_some(name, scope, 2)
        last = get_last_value(name, scope=scope)
        change = changes.freeze(name, scope=scope, by="ana", reason="the year is closed")
        before = stored(name, scope)
        said = f"frozen by ana since .*: the year is closed. .*sequences thaw {name} --scope {scope} --reason"
        for _ in range(2):
            with pytest.raises(SequenceFrozen, match=said):
                put_next(name, {}, scope=scope)
        with pytest.raises(SequenceFrozen):
            put_next(name, {}, scope=scope, idempotency_token="a token")
        with pytest.raises(SequenceFrozen):
            put_next_many(name, [{}, {}], scope=scope)
        assert stored(name, scope) == before
        assert get_last_value(name, scope=scope) == change.after
        assert (change.after or 0) >= (last or 0)
        checked(name, scope)
        changes.thaw(name, scope=scope, **WHO)
        assert put_some(name, scope, 1)[0] > max(told[-1], change.after or 0)
        assert [line.kind for line in lines(name, scope)] == ["thaw", "freeze"]
        checked(name, scope)

    @pytest.mark.parametrize("name", names_that("supports_reserve"))
    def test_reservations_are_refused(self, name: str, scope: str) -> None:
        """No value is taken from a frozen counter, with or without a token."""
        if name not in COUNTERS:
            return
        last = changes.advance(name, to=50, scope=scope, **WHO).after
        changes.freeze(name, scope=scope, **WHO)
        for token in (None, "a token"):
            with pytest.raises(SequenceFrozen):
                get_next_value(name, scope=scope, idempotency_token=token)
        changes.thaw(name, scope=scope, **WHO)
        assert get_next_value(name, scope=scope) == (last or 0) + 1

    @pytest.mark.parametrize("name", [name for name in EVERY if not name.startswith("block")])
    def test_another_process_follows_at_once(self, name: str, scope: str) -> None:
        """A process that remembers the scope stores nothing after the freeze."""
        put_some(name, scope, 2)
        own = strategies._made.pop(name)
        changes.freeze(name, scope=scope, **WHO)
        strategies._made[name] = own
        with pytest.raises(SequenceFrozen):
            put_next(name, {}, scope=scope)
        changes.thaw(name, scope=scope, **WHO)
        assert put_some(name, scope, 1)

    def test_a_frozen_counter_is_not_deleted(self, scope: str) -> None:
        """A frozen counter cannot be deleted, by which it would begin again."""
        take_some("atomic", scope, 2)
        changes.freeze("atomic", scope=scope, **WHO)
        with pytest.raises(SequenceFrozen):
            counter_strategy.delete_counter(strategies["atomic"], scope)
        assert get_last_value("atomic", scope=scope) == 2

    def test_the_first_number_is_void(self, scope: str) -> None:
        """To freeze a scope that has its row but no items takes its first number, and no other one."""
        import_row("sort-key", scope, 0)
        assert changes.freeze("sort-key", scope=scope, **WHO).after == 1
        assert [*stored("sort-key", scope)] == [0, 1]

    @every_strategy
    def test_twice(self, name: str, scope: str) -> None:
        """A frozen scope is not frozen again, and one that is not frozen cannot be thawed."""
        put_next(name, {}, scope=scope)
        with pytest.raises(InvalidChange, match="is not frozen"):
            changes.thaw(name, scope=scope, **WHO)
        changes.freeze(name, scope=scope, by="ana", reason="a test")
        with pytest.raises(SequenceFrozen, match="by ana"):
            changes.freeze(name, scope=scope, by="bob", reason="another")
        changes.thaw(name, scope=scope, **WHO)
        with pytest.raises(InvalidChange, match="is not frozen"):
            changes.thaw(name, scope=scope, **WHO)
        assert len(lines(name, scope)) == 2

    @counters
    def test_a_counter_that_went_back_stays_so(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """To freeze and thaw a counter does not hide that it went back."""
        told = put_some(name, scope, 12)
        set_counter(name, scope, last_value=nth(name, 2))
        changes.freeze(name, scope=scope, **WHO)
        changes.thaw(name, scope=scope, **WHO)
        install(name, check_items=False)
        with pytest.raises(SequenceWentBack):
            put_some(name, scope, 10)
        assert len(stored(name, scope)) == len(told)

    @pytest.mark.parametrize("name", ["atomic", "transactional"])
    def test_a_busy_counter(self, name: str, scope: str, wire: Wire) -> None:
        """A counter that counts on between the look and the write is frozen at the first attempt all the same."""
        put_next(name, {}, scope=scope)
        wire.before("TransactWriteItems", partial(elsewhere_alone, name, scope))
        changes.freeze(name, scope=scope, **WHO)
        with pytest.raises(SequenceFrozen):
            put_next(name, {}, scope=scope)
        assert len(sent(wire)) == 1

    @pytest.mark.parametrize("name", COUNTERS)
    def test_a_freeze_that_was_held_up(self, name: str, scope: str, wire: Wire) -> None:
        """A freeze that arrives after a later thaw does nothing, also when numbers were taken meanwhile."""
        put_next(name, {}, scope=scope)
        changes.freeze(name, scope=scope, **WHO)
        (late,) = wire.bodies("TransactWriteItems")[-1:]
        changes.thaw(name, scope=scope, **WHO)
        told = put_next_many(name, [{}] * 9, scope=scope)  # more than a block
        history = late["TransactItems"][1]["Put"]
        history["Item"]["scope"]["S"] += "0"  # the same freeze, which nobody has stored yet
        with pytest.raises(SequenceError):
            dynamodb.call("transact_write_items", {**late, "ClientRequestToken": "held up"})
        assert put_next(name, {}, scope=scope).value > told[-1].value

    @every_strategy
    def test_a_thaw_that_was_held_up(self, name: str, scope: str) -> None:
        """A thaw that arrives after a later freeze does nothing, although that freeze has found all done."""
        put_some(name, scope, 2)
        first = changes.freeze(name, scope=scope, by="ana", reason="a test")
        thaw = partial(changes.thaw, name, scope=scope, **WHO)
        late = held_up(thaw)
        with pytest.raises(SequenceFrozen, match=r"by ana since .*: a test"):
            changes.freeze(name, scope=scope, by="bob", reason="again")
        assert not arrives(late)
        late = held_up(thaw)
        every = apply.apply_to_all(name, [scope], ChangeRequest("freeze", **WHO), freezes._frozen_by_now)
        assert [(change.by, change.at) for change in every] == [("ana", first.at)]
        assert not arrives(late)
        with pytest.raises(SequenceFrozen, match=r"by ana since .*: a test"):
            put_next(name, {}, scope=scope)
        thaw()
        assert [line.kind for line in lines(name, scope)] == ["thaw", "freeze"]
        assert put_some(name, scope, 1)

    def test_a_thaw_that_a_put_has_not_seen(self, scope: str, wire: Wire) -> None:
        """A put of the whole counter that read it before a thaw does not undo the mark of the thaw."""
        put_next("optimistic-put", {}, scope=scope)

        def pause() -> None:
            changes.freeze("optimistic-put", scope=scope, **WHO)
            changes.thaw("optimistic-put", scope=scope, **WHO)

        wire.before("PutItem", pause)
        assert put_next("optimistic-put", {}, scope=scope).value == 2
        thaw = sent(wire)[-1]
        assert read_counter("optimistic-put", scope)["thawed"] == thaw["ClientRequestToken"]

    def test_a_lost_answer_before_the_freeze(self, scope: str, wire: Wire) -> None:
        """A write whose answer was lost before the freeze is found again, and not stored twice."""
        put_next("transactional", {}, scope=scope)
        wire.lose("TransactWriteItems")
        wire.forget_request_tokens()
        wire.after("TransactWriteItems", partial(changes.freeze, "transactional", scope=scope, **WHO))
        assert put_next("transactional", {}, scope=scope).value == 2
        assert len(stored("transactional", scope)) == 2

    def test_a_lost_request_before_the_freeze(self, scope: str, wire: Wire) -> None:
        """A write that may still be on its way is not called refused: it may be stored after a thaw."""
        put_next("transactional", {}, scope=scope)

        def lose() -> None:
            changes.freeze("transactional", scope=scope, **WHO)
            wire.lose("TransactWriteItems")

        wire.before("TransactWriteItems", lose)
        with pytest.raises(SequenceUnavailable, match="is frozen") as gave_up:
            put_next("transactional", {}, scope=scope)
        assert gave_up.value.outcome_unknown

    @pytest.mark.parametrize("token", [None, "a token"])
    def test_a_number_that_the_freeze_has_taken(self, scope: str, wire: Wire, token: str | None) -> None:
        """A write whose number is a void row now can never be stored: it is refused, although an answer was lost."""
        operation = "TransactWriteItems" if token else "PutItem"
        put_next("sort-key", {}, scope=scope)

        def lose() -> None:
            changes.freeze("sort-key", scope=scope, **WHO)
            wire.lose(operation)

        wire.before(operation, lose)
        with pytest.raises(SequenceFrozen):
            put_next("sort-key", {}, scope=scope, idempotency_token=token)
        assert [*stored("sort-key", scope)] == [1, 2]

    @pytest.mark.parametrize("is_taken", [True, False])
    def test_why_a_freeze_takes_a_number(self, scope: str, is_taken: bool, wire: Wire) -> None:
        """A write that is held up past the freeze and the thaw is stored then, unless its number is taken.

        Its caller was told that it is refused. Without the void row it would be stored all the same.
        """
        put_next("sort-key", {}, scope=scope)
        wire.before("PutItem", partial(changes.freeze, "sort-key", scope=scope, **WHO))
        with pytest.raises(SequenceFrozen):
            put_next("sort-key", {"title": "refused"}, scope=scope)
        (held,) = wire.bodies("PutItem")[-1:]
        changes.thaw("sort-key", scope=scope, **WHO)
        if is_taken:
            with pytest.raises(WriteCancelled):
                dynamodb.call("put_item", held)
        else:
            delete_row("sort-key", scope, 2)
            dynamodb.call("put_item", held)
        assert ("refused" in [row.get("title") for row in stored("sort-key", scope).values()]) is not is_taken

    def test_each_freeze_takes_a_number(self, scope: str, wire: Wire) -> None:
        """A write that was begun after a thaw is refused by the next freeze, although nothing was stored between."""
        put_next("sort-key", {}, scope=scope)
        changes.freeze("sort-key", scope=scope, **WHO)
        changes.thaw("sort-key", scope=scope, **WHO)
        wire.before("PutItem", partial(changes.freeze, "sort-key", scope=scope, **WHO))
        with pytest.raises(SequenceFrozen):
            put_next("sort-key", {}, scope=scope)
        assert [("void" in row) for row in stored("sort-key", scope).values()] == [False, True, True]

    @pytest.mark.parametrize("before", [[], [{}]])
    def test_an_item_of_its_own_under_a_frozen_counter(self, scope: str, wire: Wire, before: list[Any]) -> None:
        """A key of the caller's own may become free again, so that the write may still be stored after a thaw."""
        own = {"pk": f"own {scope}", "sk": 1}
        put_next("transactional", {}, scope=scope)

        def lose() -> None:
            changes.freeze("transactional", scope=scope, **WHO)
            dynamodb.call("put_item", {"TableName": strategies["transactional"].schema.table, "Item": row})
            wire.lose("TransactWriteItems")

        row = dynamodb.marshal(own)
        wire.before("TransactWriteItems", lose)
        with pytest.raises(SequenceUnavailable, match="is frozen") as gave_up:
            put_next_together("transactional", [*before, own], scope=scope)
        assert gave_up.value.outcome_unknown


def elsewhere_alone(name: str, scope: str) -> None:
    """Another process stores the next item, and this one does not look."""
    threading.Thread(target=elsewhere, args=(name, scope)).run()


@every_strategy
@pytest.mark.parametrize("refusal", [SequenceFrozen, SequenceExhausted, SequenceWentBack])
def test_a_repeat_is_answered(
    name: str, scope: str, install: Callable[..., Strategy], refusal: type[SequenceError]
) -> None:
    """A repeat gets its first answer where no new number is given, also from a process that remembers nothing."""
    first = put_next(name, {}, scope=scope, idempotency_token="a token")
    if refusal is SequenceFrozen:
        changes.freeze(name, scope=scope, **WHO)
    elif refusal is SequenceWentBack and strategies[name].counter:
        set_counter(name, scope, last_value=nth(name, 0))
    end = {"MAXIMUM": get_last_value(name, scope=scope)} if refusal is SequenceExhausted else {}
    install(name, group=False, **end)  # without the hints of other processes
    again = put_next(name, {}, scope=scope, idempotency_token="a token")
    assert (again.value, again.replayed) == (first.value, True)


EVERYWHERE: dict[str, Any] = {"scope": changes.EVERY_SCOPE, **WHO}


def three_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """Three scopes, two to a page."""
    return (["a", "b"], "b") if cursor is None else (["c"], None)


class TestEveryScope:
    """What a restore asks for: all scopes of a sequence at once."""

    @pytest.fixture(params=["atomic", "transactional-beside", "sort-key"])
    def name(self, request: pytest.FixtureRequest, tables: str, install: Callable[..., Strategy]) -> str:
        """A sequence with three scopes, in tables of its own."""
        name = str(request.param)
        install(name, **({} if name == "atomic" else {"scopes": f"{__name__}.three_scopes"}))
        for scope in ("a", "b", "c"):
            put_some(name, scope, 2)
        return name

    def test_all_are_frozen_and_thawed(self, name: str) -> None:
        """Nothing is stored in any scope until all of them are thawed."""
        frozen = changes.freeze(name, **EVERYWHERE)
        assert [change.scope for change in frozen] == ["a", "b", "c"]
        for scope in ("a", "b", "c"):
            with pytest.raises(SequenceFrozen):
                put_next(name, {}, scope=scope)
        thawed = changes.thaw(name, **EVERYWHERE)
        assert [change.scope for change in thawed] == ["a", "b", "c"]
        assert [put_some(name, scope, 1) for scope in "abc"] == [[(change.after or 0) + 1] for change in thawed]

    def test_those_with_a_prefix(self, name: str) -> None:
        """Where nothing searches for a prefix, all are read, and the others stay."""
        assert [change.scope for change in changes.freeze(name, scope=changes.EveryScope("b"), **WHO)] == ["b"]
        assert [len(lines(name, scope)) for scope in "abc"] == [0, 1, 0]

    def test_what_is_done_stays(self, name: str) -> None:
        """What is frozen or thawed already keeps its signature, and gets no line in the history."""
        before = changes.freeze(name, scope="b", by="bob", reason="earlier")
        frozen = changes.freeze(name, **EVERYWHERE)
        assert [(change.by, change.reason) for change in frozen] == [
            ("ana", "a test"), ("bob", "earlier"), ("ana", "a test"),
        ]  # fmt: skip
        assert (frozen[1].before, frozen[1].after) == (before.after, before.after)
        changes.thaw(name, scope="c", **WHO)
        changes.thaw(name, **EVERYWHERE)
        assert [[change.kind for change in lines(name, scope)] for scope in "abc"] == [["thaw", "freeze"]] * 3

    def test_a_repeat_after_a_failure(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run that fails midway says how many scopes are done, and a repeat does the rest."""

        def fail(sequence: str, scope: str, *given: Any, **named: Any) -> Change:
            if scope == "c":
                raise StorageRefused("the engine says no")
            return really(sequence, scope, *given, **named)

        really = apply.apply_change
        with monkeypatch.context() as patch:
            patch.setattr(apply, "apply_change", fail)
            with pytest.raises(StorageRefused) as error:
                changes.freeze(name, **EVERYWHERE)
        assert error.value.__notes__ == ["Of the scopes, 2 are done. Repeat this: what is done stays as it is."]
        assert len(changes.freeze(name, **EVERYWHERE)) == 3
        assert [len(lines(name, scope)) for scope in "abc"] == [1, 1, 1]

    def test_after_a_restore(self, name: str) -> None:
        """Scopes that went back can be listed: all are frozen, recovered and thawed, each by one command."""
        for scope in ("a", "b", "c"):
            delete_row(name, scope, 2)
            if strategies[name].counter:
                set_counter(name, scope, last_value=1)
        who = ("--all-scopes", "--by", "ana", "--reason", "a test")
        assert written("freeze", name, *who).count(": freeze ") == 3
        assert written("recover", name, "--margin", "10", *who).count(": recover from ") == 3
        assert written("thaw", name, *who).count(": thaw at ") == 3
        assert [put_some(name, scope, 1) > [12] for scope in "abc"] == [True] * 3

    def test_a_dry_run(self, name: str) -> None:
        """A dry run tells of every scope, and freezes none."""
        assert [change.scope for change in changes.freeze(name, dry_run=True, **EVERYWHERE)] == ["a", "b", "c"]
        assert [put_some(name, scope, 1) for scope in "abc"] == [[3]] * 3

    def test_one_or_all(self, name: str) -> None:
        """The command takes one scope or all of them."""
        with pytest.raises(CommandError, match="not allowed with argument"):
            written("freeze", name, "--scope", "a", "--all-scopes", "--by", "ana", "--reason", "a test")

    def test_scopes_that_cannot_be_listed(self, install: Callable[..., Strategy]) -> None:
        """A sequence without a list of its scopes says so, and nothing is frozen."""
        install("sort-key", scopes=None)
        for change in (changes.freeze, changes.thaw, changes.recover):
            with pytest.raises(OperationNotSupported, match=r"keeps no list of its scopes: name one scope"):
                change("sort-key", **EVERYWHERE)


class TestNoSuchScope:
    @every_strategy
    @pytest.mark.parametrize("change", [changes.freeze, changes.thaw, changes.recover])
    def test_it_is_refused(self, name: str, change: Callable[..., Any], scope: str) -> None:
        """A scope that was mistyped is named, and nothing is changed."""
        words = f"^'{name}' has counted nothing in the scope '{scope}', so nothing was changed: name a scope"
        with pytest.raises(ScopeNotFound, match=words):
            change(name, scope=scope, **WHO)
        assert stored(name, scope) == {}
        assert lines(name, scope) == []
        assert len(put_some(name, scope, 1)) == 1

    def test_in_the_command(self, tables: str) -> None:
        """The command fails where it takes the sequence without a scope, and nothing is counted there."""
        for command in ("freeze", "thaw"):
            with pytest.raises(CommandError, match=r"nothing without a scope.*take every one \(--all-scopes"):
                written(command, "atomic", "--by", "ana", "--reason", "a test")


class TestVoid:
    @every_strategy
    def test_an_item(self, name: str, scope: str) -> None:
        """A void item keeps its place and its attributes, and says who withdrew it, when and why."""
        told = put_some(name, scope, 3)
        before = stored(name, scope)[told[1]]
        change = changes.void(name, told[1], scope=scope, by="ana", reason="entered twice")
        assert (change.kind, change.before, change.after) == ("void", told[1], told[1])
        row = stored(name, scope)[told[1]]
        assert row == {**before, "void": {"by": "ana", "at": change.at.isoformat(), "reason": "entered twice"}}
        assert [void.value for void in checked(name, scope).voids.listed] == [told[1]]
        assert put_some(name, scope, 1)[0] > told[-1]

    @every_strategy
    def test_twice(self, name: str, scope: str) -> None:
        """A void number stays as it is: the first void is returned, and told once."""
        (value,) = put_some(name, scope, 1)
        first = changes.void(name, value, scope=scope, by="ana", reason="entered twice")
        assert changes.void(name, value, scope=scope, by="bob", reason="another") == first
        assert lines(name, scope) == [first]

    @pytest.mark.parametrize("name", ["atomic", "transactional", "sort-key"])
    def test_a_gap(self, name: str, scope: str) -> None:
        """Where no item is stored, a row explains the gap."""
        put_some(name, scope, 1)
        changes.advance(name, to=5, scope=scope, **WHO)
        changes.void(name, 3, scope=scope, by="ana", reason="torn out")
        assert stored(name, scope)[3]["void"]["reason"] == "torn out"
        changes.void(name, 5, scope=scope, by="ana", reason="the last one")
        checked(name, scope)
        assert put_next(name, {}, scope=scope).value == 6

    @every_strategy
    def test_what_is_no_value_yet(self, name: str, scope: str) -> None:
        """A number above the last value, or no value of the sequence, is refused, and nothing is stored."""
        with pytest.raises(InvalidChange, match=r"up to its last value, which is nothing yet\.$"):
            changes.void(name, nth(name, 1), scope=scope, **WHO)
        put_some(name, scope, 1)
        last = get_last_value(name, scope=scope) or 0
        for value in (0, last + strategies[name].config.step):
            with pytest.raises(InvalidChange, match=rf"up to its last value, which is {last}\.$"):
                changes.void(name, value, scope=scope, **WHO)
        assert len(stored(name, scope)) == 1

    @pytest.mark.parametrize("name", ["atomic", "transactional"])
    def test_what_no_counter_has_handed_out(self, name: str, scope: str) -> None:
        """Below an imported row, a number that the counter has not reached cannot be void; the row itself can."""
        put_some(name, scope, 3)
        import_row(name, scope, 9)
        with pytest.raises(
            InvalidChange, match=r"^value is 7; no item has it, and the counter, at 3, has not handed it"
        ):
            changes.void(name, 7, scope=scope, **WHO)
        changes.void(name, 9, scope=scope, **WHO)
        assert [*stored(name, scope)] == [1, 2, 3, 9]
        import_row(name, f"{scope}-new", 9)
        with pytest.raises(InvalidChange, match="and the counter, which has no value yet, has not handed it out"):
            changes.void(name, 7, scope=f"{scope}-new", **WHO)

    @pytest.mark.parametrize("name", ["atomic", "block", "optimistic-put", "transactional"])
    @pytest.mark.parametrize("how", ["freeze", "void"])
    def test_the_counter_goes_on_below_an_imported_row(self, name: str, how: str, scope: str) -> None:
        """A change that leaves the counter where it is takes no imported row for a number that was handed out."""
        told = put_some(name, scope, 3)
        import_row(name, scope, 9000)
        if how == "void":
            changes.void(name, 9000, scope=scope, **WHO)
        else:
            changes.freeze(name, scope=scope, **WHO)
            changes.thaw(name, scope=scope, **WHO)
        assert told[-1] < put_some(name, scope, 1)[0] < 9000

    def test_a_value_in_a_block(self, scope: str, install: Callable[..., Strategy]) -> None:
        """A value without an item may be in a block: it can be void when a freeze has emptied the blocks."""
        clock = Clock()
        install("block", wall=clock, watch_seconds=10)
        other = reserving(make("block"))
        assert other.next_value(scope) == 1
        words = r"^value is 5; no item has it yet, and a process may hold it in its block: freeze the scope, wait 32 s"
        with pytest.raises(InvalidChange, match=words):
            changes.void("block", 5, scope=scope, **WHO)
        changes.freeze("block", scope=scope, **WHO)
        clock.now += 31
        with pytest.raises(InvalidChange, match=words):
            changes.void("block", 5, scope=scope, **WHO)
        clock.now += 1
        changes.void("block", 5, scope=scope, **WHO)
        assert [*stored("block", scope)] == [5]
        other.stop()

    @pytest.mark.parametrize("repeated", [False, True])
    def test_a_freeze_that_arrived_late(self, scope: str, install: Callable[..., Strategy], repeated: bool) -> None:
        """The wait begins when the freeze was found stored, by its repeat or by the first refusal."""
        clock = Clock()
        install("block", wall=clock, watch_seconds=10)
        other = reserving(make("block"))
        assert other.next_value(scope) == 1
        late = held_up(partial(changes.freeze, "block", scope=scope, **WHO))
        clock.now += 100
        assert arrives(late)
        if repeated:
            with pytest.raises(SequenceFrozen):
                changes.freeze("block", scope=scope, **WHO)
        for seconds in (0, 31):
            clock.now += seconds
            with pytest.raises(InvalidChange, match="a process may hold it in its block: freeze the scope, wait 32 s"):
                changes.void("block", 5, scope=scope, **WHO)
        clock.now += 1
        changes.void("block", 5, scope=scope, **WHO)
        assert [*stored("block", scope)] == [5]
        other.stop()

    def test_a_freeze_of_every_block(self, scope: str, install: Callable[..., Strategy]) -> None:
        """The wait begins with the freeze, if it is found stored at once."""
        clock = Clock()
        install("block", wall=clock, watch_seconds=10)
        assert get_next_value("block", scope=scope) == 1
        changes.freeze("block", scope=changes.EveryScope(scope), **WHO)
        clock.now += 32
        assert changes.void("block", 5, scope=scope, **WHO).after == 5
        strategies["block"].stop()

    @pytest.mark.needs_engine  # moto counts fewer bytes as too many
    def test_an_item_without_room(self, scope: str) -> None:
        """An item that is too large for the signature is refused with what the engine says."""
        put_next("sort-key", {"text": "x" * 409_500}, scope=scope)
        with pytest.raises(StorageRefused, match=r"^The change cannot be stored: ValidationError: .*size"):
            changes.void("sort-key", 1, scope=scope, **WHO)

    def test_an_attribute_of_the_application(self, scope: str) -> None:
        """An attribute `void` of the application's own is not overwritten."""
        put_next("sort-key", {"void": False}, scope=scope)
        with pytest.raises(InvalidChange, match="attribute 'void' of its own"):
            changes.void("sort-key", 1, scope=scope, **WHO)

    def test_an_attribute_that_looks_like_a_freeze(self, scope: str, install: Callable[..., Strategy]) -> None:
        """No item freezes a scope by an attribute `void` of the application's own."""
        put_next("sort-key", {"void": {"frozen": {"water": "ice"}}}, scope=scope)
        install("sort-key", group=False)  # a process that must look
        assert put_next("sort-key", {}, scope=scope).value == 2

    def test_items_with_their_own_keys(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Where the value does not make the key, the item is withdrawn by the application."""
        install("transactional", value_in="attribute")
        put_next("transactional", {"pk": f"own {scope}", "sk": 1}, scope=scope)
        with pytest.raises(OperationNotSupported, match="withdraw the item in your application"):
            changes.void("transactional", 1, scope=scope, **WHO)


@pytest.mark.needs_engine
@pytest.mark.parametrize("name", ["atomic", "transactional", "sort-key"])
def test_under_running_writers(name: str, scope: str, proxy: Proxy) -> None:
    """While writers are running and answers are lost, no number comes twice, and the history explains what lacks."""
    with engine_at(proxy.endpoint):
        proxy.follow(*FAULTS)
        writers = Writers(name, scope, [make(name) for _ in range(3)])
        made = []

        def more() -> None:
            before = len(writers.told)
            wait_until(lambda: len(writers.told) > before + 5)

        more()
        made.append(changes.freeze(name, scope=scope, **WHO))
        wait_until(lambda: len(writers.refused) > 5)
        frozen_at = get_last_value(name, scope=scope)
        made.append(changes.thaw(name, scope=scope, **WHO))
        assert made[-1].after == frozen_at
        more()
        made.append(changes.advance(name, to=5000, scope=scope, **WHO))
        more()
        made += changes.recover(name, scope=scope, margin=30, **WHO)
        more()
        writers.stop()
        proxy.calm()
        proxy.settle()
        rows, report, told = stored(name, scope), audit(strategies[name], scope), lines(name, scope)
    assert set(writers.told.values()) == {1}
    assert {value: rows[value]["title"] for value in writers.told} == writers.titles
    assert len({row["title"] for row in rows.values() if "title" in row}) == len(rows) - report.voids.total
    assert report.unexplained == 0
    if strategies[name].gapless:
        assert report.gaps.total == report.explained_gaps == 2
    assert sorted(told, key=lambda change: change.at) == sorted(made, key=lambda change: change.at)


@pytest.mark.needs_engine
@pytest.mark.parametrize("name", ["atomic", "transactional", "sort-key"])
def test_other_processes_stop(name: str, scope: str, spawned: Processes) -> None:
    """Other processes store nothing after a freeze, and all that they were told is stored."""
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(spawned.run, until_frozen, name, scope)
        wait_until(lambda: len(stored(name, scope)) > 10, seconds=60)  # the processes start at their first task
        changes.freeze(name, scope=scope, **WHO)
        frozen = stored(name, scope)
        told = [value for values in running.result(timeout=120) for value in values]
    rows = {value: row for value, row in stored(name, scope).items() if "void" not in row}
    assert len(set(told)) == len(told)
    assert sorted(told) == sorted(rows)
    if strategies[name].gapless:
        assert stored(name, scope) == frozen
    changes.thaw(name, scope=scope, **WHO)
    checked(name, scope)


def until_frozen(name: str, scope: str) -> list[int]:
    """What one process stores until it is refused, with pauses in which a freeze wins, also without the host's lock."""
    told = []
    while True:
        time.sleep(0.02)
        try:
            told.append(put_next(name, {}, scope=scope).value)
        except SequenceFrozen:
            return told


class TestHistory:
    @pytest.mark.parametrize("limit", [0, -1, True, 1.0, "5"])
    def test_a_wrong_limit(self, limit: Any, wire: Wire) -> None:
        """A limit that is no whole number from 1 is refused, unsent."""
        wire.clear()
        with pytest.raises(InvalidChange, match=r"^limit is .*; it must be a whole number from 1\.$"):
            changes.history("atomic", limit=limit)
        assert wire.sent == []

    @pytest.mark.parametrize("cursor", ["", "abc", "2026-01-01T00:00:00+00:00#t", 5])
    def test_a_foreign_cursor(self, cursor: Any) -> None:
        """What is no cursor of a page of this history is refused."""
        with pytest.raises(InvalidChange, match=r"^cursor is .*; it must be one that a page of this history has given"):
            changes.history("atomic", cursor=cursor)

    def test_the_cursor_of_another_sequence(self, scope: str) -> None:
        """Each sequence has cursors of its own, which lead to the next page."""
        for _ in range(2):
            changes.seed("atomic", get_next_value("atomic", scope=scope) + 1, scope=scope, **WHO)
        (newest,), cursor = changes.history("atomic", limit=1)
        (older,), _ = changes.history("atomic", limit=1, cursor=cursor)
        assert newest.at > older.at
        with pytest.raises(InvalidChange, match=r"^cursor is "):
            changes.history("transactional", cursor=cursor)

    def test_a_wrong_period(self, install: Callable[..., Strategy]) -> None:
        """A period that the sequence cannot have is refused, here and where a change is of every scope."""
        install("atomic", PERIOD="year")
        for ask in (partial(changes.history, "atomic"), partial(changes.recover, "atomic", **WHO)):
            with pytest.raises(InvalidPeriod, match="The period is '2026-13'; it must be a year such as '2026'"):
                ask(period="2026-13")

    def test_a_wrong_scope(self, wire: Wire) -> None:
        """A scope that no item can have is refused, unsent, here and where it is to be changed."""
        wire.clear()
        for ask in (changes.history, partial(changes.freeze, **WHO)):
            with pytest.raises(InvalidScope):
                ask("atomic", scope="#5")
        assert wire.sent == []

    def test_which_lines(self, scope: str, install: Callable[..., Strategy]) -> None:
        """It has the lines of every scope, of those with a prefix or of one, and of every period or of one."""
        install("atomic", PERIOD="year")
        one, other = f"{scope}-1", f"{scope}-2"
        for each, period in ((one, "2025"), (one, "2026"), (other, "2026"), (f"-{scope}", "2026")):
            changes.advance("atomic", to=5, scope=each, period=period, **WHO)

        def told(**which: Any) -> list[tuple[str | None, str]]:
            lines, _ = changes.history("atomic", limit=10_000, **which)
            return sorted((line.scope or "", line.period) for line in lines if scope in (line.scope or ""))

        mine = [(one, "2025"), (one, "2026"), (other, "2026")]
        assert told() == told(scope=changes.EVERY_SCOPE) == [(f"-{scope}", "2026"), *mine]
        assert told(scope=changes.EveryScope(scope)) == mine
        assert told(scope=one) == mine[:2]
        assert told(scope=one, period="2026") == mine[1:2]
        assert told(scope=changes.EveryScope(scope), period="2026") == mine[1:]

    def test_in_the_command(self) -> None:
        """The command says what is wrong with its arguments."""
        for wrong, said in (
            ("--limit=0", "limit is 0"),
            ("--cursor=x", "cursor is 'x'"),
            ("--period=x", "The period is 'x'"),
        ):
            with pytest.raises(CommandError, match=said):
                written("history", "atomic", wrong)


class TestAudit:
    def test_a_gap_that_a_change_explains(self, scope: str) -> None:
        """A gap that a change skipped has its signature; the values beside it are a gap of their own."""
        put_some("transactional", scope, 3)
        delete_row("transactional", scope, 3)
        changes.advance("transactional", to=10, scope=scope, **WHO)
        (first, second) = audit(strategies["transactional"], scope).gaps.listed
        assert (first.first, first.last, first.by) == (3, 3, "")
        assert (second.first, second.last, second.count, second.by, second.reason) == (4, 10, 7, "ana", "a test")
        with pytest.raises(CommandError, match="Unexplained findings: 1"):
            written("audit", "transactional", "--scope", scope)

    def test_a_list_for_an_auditor(self, scope: str) -> None:
        """The CSV has every void and every gap, in their order, and no text that a spreadsheet would calculate."""
        put_some("transactional", scope, 2)
        changes.void("transactional", 1, scope=scope, by="ana", reason="=1+1")
        changes.advance("transactional", to=9, scope=scope, **WHO)
        lines = written("audit", "transactional", "--scope", scope, "--format", "csv")
        table = list(csv.DictReader(io.StringIO(lines)))
        assert [(line["kind"], line["first"], line["last"], line["by"], line["reason"]) for line in table] == [
            ("void", "1", "1", "ana", "'=1+1"),
            ("gap", "3", "9", "ana", "a test"),
        ]
        assert {(line["sequence"], line["scope"], line["period"]) for line in table} == {("transactional", scope, "")}

    def test_the_list_is_whole(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The CSV has more than the thousand voids that a report lists."""
        monkeypatch.setattr("sequences.rows.put_requests._check_void", lambda about: None)  # as an earlier version did
        items = [{"void": {"by": "ana", "at": "2026-01-01", "reason": "n"}} for _ in range(100)]
        for _ in range(11):
            put_next_many("sort-key", items, scope=scope)
        assert written("audit", "sort-key", "--scope", scope, "--format", "csv").count("\n") == 1101


class TestCommand:
    def test_each_change(self, scope: str) -> None:
        """The command makes each change, and tells it in a line."""
        who = ("--scope", scope, "--by", "ana", "--reason", "a test")
        told = [
            written("advance", "atomic", "--to", "10", *who),
            written("seed", "atomic", "--number", "20", *who),
            written("seed", "atomic", "--items", *who),
            written("recover", "atomic", "--margin", "5", *who),
            written("freeze", "atomic", *who),
            written("thaw", "atomic", *who),
            written("void", "atomic", "--value", "7", *who),
        ]
        said = ["advance from nothing to 10", "seed from 10 to 20", "seed at 20", "recover from 20 to 25"]
        for line, words in zip(told, [*said, "freeze at 25", "thaw at 25", "void at 7"], strict=True):
            assert line.startswith(f"atomic {scope}: {words}, by ana at ")
            assert line.endswith(": a test\n")
        listed = [line.split("\t") for line in written("history", "atomic", "--scope", scope).splitlines()]
        kinds = ["advance", "freeze", "recover", "seed", "thaw", "void"]
        assert sorted(line[1] for line in listed) == kinds
        assert ["advance", "atomic", scope, "", "", "10", "ana", "a test"] in [line[1:] for line in listed]

    def test_as_json(self, scope: str) -> None:
        """JSON has the fields of a change."""
        who = ("--scope", scope, "--by", "ana", "--reason", "a test", "--format", "json")
        (change,) = json.loads(written("advance", "atomic", "--to", "10", "--dry-run", *who))
        assert (change["kind"], change["before"], change["after"], change["by"]) == ("advance", None, 10, "ana")
        assert json.loads(written("history", "atomic", "--scope", scope, "--format", "json"))["changes"] == []

    def test_who_is_the_login(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without --by the login name signs; a reason is required."""
        monkeypatch.setenv("LOGNAME", "bea")
        get_next_value("atomic", scope=scope)
        assert "by bea at" in written("freeze", "atomic", "--scope", scope, "--reason", "a test")
        with pytest.raises(CommandError, match="--reason"):
            written("thaw", "atomic", "--scope", scope)

    def test_errors(self, scope: str, install: Callable[..., Strategy]) -> None:
        """What a change refuses is an error of the command, with the remedy."""
        install("sort-key", scopes=None)
        who = ("--by", "ana", "--reason", "a test")
        get_next_value("atomic", scope=scope)
        with pytest.raises(CommandError, match="is not frozen"):
            written("thaw", "atomic", "--scope", scope, *who)
        with pytest.raises(CommandError, match=r"keeps no list of its scopes: name one scope\."):
            written("recover", "sort-key", *who)
        with pytest.raises(CommandError, match=r"cannot be switched: .*: switch to TransactionalCounter first\.$"):
            written("switch", "atomic", "--to", "SortKeyMaximum", *who)

    @pytest.mark.parametrize("form", ["{} x", "-{}", "--by", "'{}\"`", None])
    def test_the_command_that_an_error_names(self, scope: str, form: str | None) -> None:
        """The command in the message of a frozen scope thaws it, whatever the scope looks like."""
        place = form.format(scope) if form else None
        put_next("sort-key", {}, scope=place)
        changes.freeze("sort-key", scope=place, **WHO)
        with pytest.raises(SequenceFrozen) as frozen:
            put_next("sort-key", {}, scope=place)
        named = str(frozen.value).partition("`manage.py sequences ")[2].partition(" --reason ...`")[0]
        written(*shlex.split(named), "--by", "ana", "--reason", "as it says")
        assert put_next("sort-key", {}, scope=place).value > 1

    def test_switch(self, scope: str, capsys: pytest.CaptureFixture[str]) -> None:
        """A switch begins and ends by the command, which names the strategy that stays."""
        who = ("--scope", scope, "--by", "ana", "--reason", "a test")
        assert "switch" in written("switch", "sort-key", "--to", "TransactionalCounter", *who)
        assert "switch" in written("switch", "sort-key", "--finish", *who)
        said = "SortKeyMaximum stays, as the settings here name it. The other strategy ends.\n"
        assert capsys.readouterr().err == said

    def test_a_recovery_that_fails_midway(self, tables: str, install: Callable[..., Strategy]) -> None:
        """The command says how to repeat it, and the repeat leaves what is done."""
        who = ("--by", "ana", "--reason", "a test")
        install("atomic", MAXIMUM=105)
        for scope, count in (("a", 2), ("b", 9)):
            get_next_values(count, "atomic", scope=scope)
        with pytest.raises(CommandError, match=r"raise MAXIMUM.* Of the scopes, 1 is done.* --since ") as error:
            written("recover", "atomic", *who)
        install("atomic")
        again = str(error.value).rpartition("--since ")[2].rstrip(".")
        assert "a: recover at 102," in written("recover", "atomic", "--since", again, *who)
        with pytest.raises(CommandError, match="since: 'yesterday'; give a moment such as 2026-"):
            written("recover", "atomic", "--since", "yesterday", *who)

    @pytest.mark.parametrize(
        "place", ["sequences.changes.moves.moved_to", "sequences.rows.rules_row.RulesRow.restored"]
    )
    def test_a_recovery_that_is_interrupted(self, tables: str, install: Callable[..., Strategy], place: str) -> None:
        """Ctrl-C ends the command with 130 and says how to repeat it, as an error does."""
        who = ("--by", "ana", "--reason", "a test")
        install("atomic")
        for scope in ("a", "b"):
            get_next_value("atomic", scope=scope)
        with patch(place, side_effect=KeyboardInterrupt), pytest.raises(CommandError) as error:
            written("recover", "atomic", *who)
        assert error.value.returncode == 130
        assert re.match(r"Stopped before the end\. .* are (done|recovered).* --since ", str(error.value))

    def test_an_audit_that_is_interrupted(self) -> None:
        """It ends with another code than one that has found something."""
        interrupted = patch("sequences.management.audits.results_of", side_effect=KeyboardInterrupt)
        with interrupted, pytest.raises(CommandError, match="Stopped before the end") as error:
            written("audit", "atomic")
        assert error.value.returncode == 130


ONE_OR_MANY = "the one of today, or with --all-scopes or --prefix all of them"
MANY_OR_ONE = "all of them, or with --scope today's"


@pytest.mark.parametrize(
    ("command", "periods"),
    [
        ("advance", "the one of today"),
        ("seed", "the one of today, or with --items and no --scope all of them, or with --column each row's"),
        ("recover", MANY_OR_ONE),
        ("freeze", ONE_OR_MANY),
        ("thaw", ONE_OR_MANY),
        ("switch", MANY_OR_ONE),
        ("adopt", MANY_OR_ONE),
        ("history", "all of them"),
        ("show", MANY_OR_ONE),
    ],
)
def test_the_help_says_which_periods_are_meant(command: str, periods: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a period a command is about the one of today only where it is about one scope."""
    with pytest.raises(SystemExit):
        call_command("sequences", command, "--help")
    told = " ".join(capsys.readouterr().out.split())
    assert f'--period PERIOD the period, such as "2026"; without it, {periods} --' in told


class TestPeriods:
    def test_each_on_its_own(self, scope: str, install: Callable[..., Strategy]) -> None:
        """A change is of one period: the others go on, and the error and the history name it."""
        for name in ("atomic", "sort-key"):
            install(name, PERIOD="year")
            days = [datetime(year, 5, 1, tzinfo=UTC).date() for year in (2025, 2026)]
            put_next(name, {}, scope=scope, date=days[0])
            changes.freeze(name, scope=scope, period="2025", **WHO)
            with pytest.raises(SequenceFrozen, match=f"thaw {name} --scope {scope} --period 2025"):
                put_next(name, {}, scope=scope, date=days[0])
            assert put_next(name, {}, scope=scope, date=days[1]).value == 1
            changes.thaw(name, scope=scope, period="2025", **WHO)
            change = changes.advance(name, to=50, scope=scope, period="2025", **WHO)
            assert put_next(name, {}, scope=scope, date=days[0]).value == 51
            assert changes.history(name, scope=scope, period="2025", limit=10_000)[0].count(change) == 1
            assert changes.history(name, scope=scope, period="2026", limit=10_000)[0] == []
            assert audit(strategies[name], Dated(scope, "2025")).unexplained == 0

    @pytest.mark.parametrize("name", ["atomic", "transactional", "sort-key"])
    def test_markers_of_another_period(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A recovered period goes past the values in its own markers, not past those of a busier year."""
        install(name, PERIOD="year")
        for year, count in ((2025, 5), (2026, 2)):
            day = datetime(year, 5, 1, tzinfo=UTC).date()
            for n in range(count):
                put_next(name, {}, scope=scope, date=day, idempotency_token=f"{year}-{n}")
        made = [changes.recover(name, scope=scope, period=year, margin=1, **WHO)[0] for year in ("2025", "2026")]
        assert [change.after for change in made] == [6, 3]
