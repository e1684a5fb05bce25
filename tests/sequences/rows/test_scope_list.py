"""The list of scopes that a sequence keeps: every scope with a value is in it, whatever fails, and what it costs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from django.core.management import CommandError

from sequences import changes, dynamodb, get_next_value, put_next
from sequences.actions import Delete
from sequences.changes import EVERY_SCOPE, EveryScope
from sequences.exceptions import (
    AccessRefused,
    CancellationReason,
    InvalidItem,
    NotWritten,
    OperationNotSupported,
    WriteCancelled,
)
from sequences.ops.register import register
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.testing.callers import put_some
from sequences.types import Dated, Scope
from tests.sequences.support import SEQUENCES, Clock, Processes, Wire, written

pytestmark = pytest.mark.usefixtures("configured")

KEEPING = ["transactional-beside", "sort-key", "sort-key-padded", "one-file"]
BESIDE = {"counter_table": "sequence_items"}


@pytest.fixture
def standing(install: Callable[..., Strategy], clock: Clock) -> Callable[[str], None]:
    """A function that makes a process whose clocks stand: it looks neither for other hosts nor for old tallies."""

    def standing(name: str) -> None:
        install(name, clock=clock, wall=clock)

    return standing


def scopes_of(name: str, prefix: str, period: str = "") -> dict[Scope, int | None]:
    """The listed scopes that begin like this, with their last values."""
    counters, following = strategies[name].scopes.page(None, 1000, prefix=prefix, period=period)
    assert following is None
    return {counter.counted_in: counter.last_value for counter in counters}


def list_row(name: str, scope: str) -> dict[str, Any]:
    """The request for the row of a scope in the list."""
    table = strategies[name].history.schema.table
    return {"TableName": table, "Key": {"sequence": {"S": f"#scopes#{name}"}, "scope": {"S": scope}}}


def unlist(name: str, scope: str) -> None:
    """Take a scope out of the list, as if its values were older than the list."""
    dynamodb.call("delete_item", list_row(name, scope))
    strategies[name].scope_list.forget()


def test_which_sequences_keep_a_list() -> None:
    """All but those whose table of counters is a list."""
    assert [name for name in SEQUENCES if strategies[name].scope_list.keep] == KEEPING


@pytest.mark.parametrize("name", KEEPING)
class TestEveryStrategy:
    def test_the_scopes_are_listed(self, name: str, scope: str) -> None:
        """Each scope is there with its last value, in the order of the names, page by page."""
        for count, end in ((2, "b"), (1, "a"), (3, "c")):
            put_some(name, f"{scope}{end}", count)
        assert scopes_of(name, scope) == {f"{scope}a": 1, f"{scope}b": 2, f"{scope}c": 3}
        page, cursor = strategies[name].scopes.page(None, 2, prefix=scope)
        more, _ = strategies[name].scopes.page(cursor, 2, prefix=scope)
        assert [counter.scope for counter in (*page, *more)] == [f"{scope}a", f"{scope}b", f"{scope}c"]

    def test_before_its_first_value(self, name: str, scope: str, wire: Wire, standing: Callable[[str], None]) -> None:
        """A scope is listed before anything is stored in it, once, and is not looked for again."""
        standing(name)
        put_some(name, scope, 1)
        writes = [sent for sent in wire.sent if sent.operation in ("PutItem", "TransactWriteItems")]
        listed, stored = [sent for sent in writes if scope in str(sent.body)]  # others may still be on their way
        assert listed.body["Item"] == list_row(name, scope)["Key"]
        assert stored.body.get("Item", stored.body.get("TransactItems")) != listed.body["Item"]
        wire.clear()
        put_some(name, scope, 1)
        assert not [body for body in wire.bodies("PutItem") if body["Item"] == list_row(name, scope)["Key"]]
        assert wire.operations.count("GetItem") == 0

    def test_another_process_looks_once(
        self, name: str, scope: str, wire: Wire, standing: Callable[[str], None]
    ) -> None:
        """A process that finds values looks for the scope in the list, for half a read unit, and leaves it."""
        standing(name)
        put_some(name, scope, 1)
        strategies[name].scope_list.forget()
        wire.clear()
        put_some(name, scope, 2)
        (looked,) = wire.bodies("GetItem")
        assert looked["Key"] == list_row(name, scope)["Key"]
        assert not looked["ConsistentRead"]

    def test_values_that_are_older_than_the_list(self, name: str, scope: str) -> None:
        """Their scope is listed with the next value."""
        put_some(name, scope, 1)
        unlist(name, scope)
        assert scopes_of(name, scope) == {}
        put_some(name, scope, 1)
        assert scopes_of(name, scope) == {scope: 2}

    def test_processes_that_begin_at_once(self, name: str, scope: str, spawned: Processes) -> None:
        """All give their numbers, and the scope is in the list once."""
        spawned.run(put_some, name, scope, 2)
        assert scopes_of(name, scope) == {scope: 8}


class TestCounters:
    @pytest.mark.parametrize("name", ["atomic", "optimistic-update", "block"])
    def test_values_without_items(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A counter beside the items is listed before its first value is taken, alone or by many."""
        install(name, **BESIDE)
        get_next_value(name, scope=scope)
        put_next(name, {}, scope=f"{scope} of an item")
        assert list(scopes_of(name, scope)) == [scope, f"{scope} of an item"]


class TestFailures:
    def test_a_lost_answer(self, scope: str, wire: Wire) -> None:
        """If the answer about the list is lost, the number is given all the same, once."""
        wire.lose("PutItem")
        assert put_next("sort-key", {}, scope=scope).value == 1
        assert scopes_of("sort-key", scope) == {scope: 1}

    @pytest.mark.parametrize(
        "error",
        [NotWritten("throttled"), WriteCancelled("met another", (CancellationReason("TransactionConflict"),))],
        ids=["throttled", "conflict"],
    )
    def test_what_heals(self, scope: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        """What heals is tried again: no number is stored before its scope is listed."""
        send, refused = dynamodb.call, [error]

        def engine(operation: str, request: Any, **options: Any) -> dict[str, Any]:
            if operation == "put_item" and refused:
                raise refused.pop()
            return send(operation, request, **options)

        monkeypatch.setattr(dynamodb, "call", engine)
        assert put_next("sort-key", {}, scope=scope).value == 1
        assert not refused
        assert scopes_of("sort-key", scope) == {scope: 1}

    def test_a_table_that_is_refused(
        self,
        scope: str,
        install: Callable[..., Strategy],
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """Numbers go on without the list, and one line of the log says so."""
        install("sort-key")
        send, table = dynamodb.call, strategies["sort-key"].history.schema.table

        def engine(operation: str, request: Any, **options: Any) -> dict[str, Any]:
            if request.get("TableName") == table:
                raise AccessRefused("put_item: AccessDenied")
            return send(operation, request, **options)

        monkeypatch.setattr(dynamodb, "call", engine)
        with caplog.at_level(logging.WARNING, "sequences"):
            assert put_some("sort-key", scope, 3) == [1, 2, 3]
            assert put_some("sort-key", f"{scope} other", 1) == [1]
        assert caplog.text.count("is not in its list") == caplog.text.count(f"the scope {scope!r} is not") == 1

    def test_its_rows_are_the_sequence_s(self, scope: str) -> None:
        """What rides with an item leaves the list alone."""
        row = Delete("sequences", {"sequence": "#scopes#sort-key", "scope": scope})
        with pytest.raises(InvalidItem, match="keeps for itself"):
            put_next("sort-key", {}, scope=scope, also=[row])


class TestPeriods:
    def test_scopes_of_a_period(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Each period has its own scopes, which are searched in one of them."""
        install("sort-key", PERIOD="year")
        for year, end in ((2025, "a"), (2026, "a"), (2026, "b")):
            put_next("sort-key", {}, scope=f"{scope}{end}", date=date(year, 3, 5))
        found = scopes_of("sort-key", scope, "2026")
        assert found == {Dated(f"{scope}a", "2026"): 1, Dated(f"{scope}b", "2026"): 1}
        with pytest.raises(OperationNotSupported, match="searched in one period: name it"):
            scopes_of("sort-key", scope)

    def test_the_changes_of_a_period(self, scope: str, install: Callable[..., Strategy], wire: Wire) -> None:
        """What takes every scope of a period reads that part of the list alone."""
        install("sort-key", PERIOD="year")
        for year in (2025, 2026):
            put_next("sort-key", {}, scope=scope, date=date(year, 3, 5))
        wire.clear()
        found = list(strategies["sort-key"].scopes.every("2025"))
        assert Dated(scope, "2025") in found
        assert {each.period for each in found if isinstance(each, Dated)} == {"2025"}
        (listed,) = [query for query in wire.bodies("Query") if ":begin" in query["ExpressionAttributeValues"]]
        assert listed["ExpressionAttributeValues"][":begin"] == {"S": "#2025#"}


class TestWithout:
    def test_it_can_do_without(self, scope: str, wire: Wire, install: Callable[..., Strategy]) -> None:
        """With None no request is made for it, and what needs a list says so."""
        install("sort-key", scopes=None)
        wire.clear()
        put_some("sort-key", scope, 1)
        assert "PutItem" in wire.operations
        assert len([body for body in wire.bodies("PutItem") if "scope" in body["Item"]]) == 0
        with pytest.raises(OperationNotSupported, match="keeps no list of its scopes: name one scope"):
            list(strategies["sort-key"].scopes.every())
        with pytest.raises(OperationNotSupported, match="keeps no list of its scopes"):
            register("sort-key")


class TestEveryScope:
    def test_what_takes_every_scope(self, scope: str) -> None:
        """Changes, audits and lists take the scopes of a sequence that was only named in SEQUENCES."""
        put_some("sort-key", scope, 2)
        frozen = {
            change.scope: change.after
            for change in changes.freeze("sort-key", scope=EVERY_SCOPE, by="ana", reason="a test")
        }
        assert scope in frozen
        changes.thaw("sort-key", scope=EVERY_SCOPE, by="ana", reason="a test")
        assert f"sort-key {scope} " in written("sequences", "audit", "sort-key")
        put_some("sort-key", f"{scope} other", 1)
        shown = written("sequences", "show", "sort-key", "--prefix", f"{scope} ").splitlines()
        assert [line.split("\t")[1] for line in shown] == [f"{scope} other"]

    def test_what_takes_a_prefix(self, scope: str) -> None:
        """Commands take the scopes that begin with a text, and leave the others alone."""
        for end in ("eu-1", "eu-2", "us-1"):
            put_some("sort-key", f"{scope}{end}", 1)
        given = ("sort-key", "--prefix", f"{scope}eu-")
        for command, *reason in (("freeze", "--reason", "a test"), ("thaw", "--reason", "a test"), ("audit",)):
            told = written("sequences", command, *given, *reason)
            assert (f"{scope}eu-1" in told, f"{scope}eu-2" in told, f"{scope}us-1" in told) == (True, True, False)
        found, _ = changes.history("sort-key", scope=EveryScope(f"{scope}eu-"), limit=1000)
        assert sorted(str(line.scope) for line in found) == sorted([f"{scope}eu-1", f"{scope}eu-2"] * 2)

    @pytest.mark.parametrize(("prefix", "said"), [("", "it is empty"), ("\udcff", "it has control characters")])
    def test_what_is_no_prefix(self, prefix: str, said: str) -> None:
        """A variable of a shell that is not set freezes nothing, nor does a byte that is no character."""
        with pytest.raises(CommandError, match=f"--prefix: {said}"):
            written("sequences", "freeze", "sort-key", "--prefix", prefix, "--reason", "a test")

    def test_a_prefix_in_every_period(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Where only one period can be searched, all are read, and the names compared."""
        strategy = install("sort-key", PERIOD="year")
        for year in (2025, 2026):
            for end in ("eu", "us"):
                put_next("sort-key", {}, scope=f"{scope}{end}", date=date(year, 1, 1))
        found = [*strategy.scopes.every(prefix=f"{scope}e")]
        assert found == [Dated(f"{scope}eu", "2025"), Dated(f"{scope}eu", "2026")]
        assert [*strategy.scopes.every("2026", prefix=f"{scope}e")] == found[1:]


class TestRegister:
    def test_what_the_table_has(self, scope: str) -> None:
        """Every scope with rows is found by the keys of the table; those of other sequences are not."""
        for name, end in (("sort-key", "a"), ("sort-key", "b#c"), ("one-file", "d"), ("transactional-beside", "e")):
            put_some(name, f"{scope}{end}", 2)
            unlist(name, f"{scope}{end}")
        found = [each for each in register("sort-key") if str(each).startswith(scope)]
        assert sorted(found, key=str) == [f"{scope}a", f"{scope}b#c"]
        assert scopes_of("sort-key", scope) == {f"{scope}a": 2, f"{scope}b#c": 2}
        assert f"{scope}e" in list(register("transactional-beside"))
        assert scopes_of("transactional-beside", scope) == {f"{scope}e": 2}

    def test_periods(self, scope: str, install: Callable[..., Strategy]) -> None:
        """A partition key with a period gives both."""
        install("sort-key", PERIOD="month")
        put_next("sort-key", {}, scope=scope, date=date(2026, 3, 5))
        strategies["sort-key"].scope_list.forget()
        assert Dated(scope, "2026-03") in list(register("sort-key"))

    def test_no_scope(self) -> None:
        """The sequence without scope is found, too."""
        put_next("one-file", {})
        assert None in list(register("one-file"))

    def test_by_name(self, scope: str) -> None:
        """The scopes that are named are listed, and nothing else is read."""
        told = written("sequences", "register", "sort-key", "--scope", f"{scope}x", "--scope", f"{scope}y")
        assert told.split() == ["sort-key", f"{scope}x", "sort-key", f"{scope}y"]
        assert scopes_of("sort-key", scope) == {f"{scope}x": None, f"{scope}y": None}

    def test_what_it_refuses(self, install: Callable[..., Strategy]) -> None:
        """A table of counters is a list already, and keys of their own tell no scopes."""
        with pytest.raises(OperationNotSupported, match="its table of counters is one"):
            register("atomic")
        strategy = install("atomic", value_in="attribute", scopes="kept")
        strategy.scope_list.keep, strategy.counter = True, None
        with pytest.raises(OperationNotSupported, match="do not tell their scopes: name them"):
            list(register("atomic"))

    def test_many_pages(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The table is read to its end."""
        put_some("sort-key", scope, 1)
        send, cut = dynamodb.call, []

        def engine(operation: str, request: Any, **options: Any) -> dict[str, Any]:
            if operation == "scan":
                cut.append(request)
                request = {**request, "Limit": 1}
            return send(operation, request, **options)

        monkeypatch.setattr(dynamodb, "call", engine)
        assert scope in list(register("sort-key"))
        assert len(cut) > 1


def test_a_list_is_of_one_sequence(scope: str) -> None:
    """Sequences that share a table have lists of their own."""
    put_some("one-file", scope, 1)
    assert scopes_of("one-file", scope) == {scope: 1}
    assert scopes_of("sort-key", scope) == {}
