"""Counters: what happens when somebody changes them, when answers are lost, and when they are used up."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable
from decimal import Decimal

import pytest

from sequences import changes, dynamodb, get_last_value, get_next_value, put_next, put_next_many, put_next_together
from sequences.commit import host_memory
from sequences.commit.host_lock import hold_host_lock
from sequences.commit.requests import Pending, PutRequest, Refusal, ReserveRequest, values_of
from sequences.commit.retries import new_token
from sequences.exceptions import (
    CancellationReason,
    InvalidItem,
    InvalidPeriod,
    ItemExists,
    OperationNotSupported,
    SequenceExhausted,
    SequenceFrozen,
    SequenceWentBack,
    StorageRefused,
    WriteCancelled,
)
from sequences.registry import strategies
from sequences.rows.lru import SCOPES_REMEMBERED
from sequences.services.arguments import reserving
from sequences.strategies import Strategy, counter_strategy
from sequences.strategies.counter_strategy import CounterStrategy, advance_to
from sequences.testing.callers import put_some, take_some
from sequences.types import Allocation, Counter, Dated
from tests.sequences.support import (
    COUNTERS,
    STEPPING,
    Clock,
    Wire,
    counter_of,
    delete_counter,
    import_row,
    lock_name,
    make,
    mark_listed,
    names_that,
    nth,
    read_counter,
    remember_at_most,
    set_counter,
    stored,
)

HOLDING = [*COUNTERS, *STEPPING]
RESERVING = names_that("supports_reserve")
OWN_KEYS = names_that("takes_own_keys")
GAPLESS_OWN_KEYS = [name for name in names_that("gapless") if name in OWN_KEYS]
WRITES = {
    "atomic": "UpdateItem",
    "optimistic-update": "UpdateItem",
    "optimistic-put": "PutItem",
    "transactional": "TransactWriteItems",
    "transactional-beside": "TransactWriteItems",
    "block": "UpdateItem",
}
"""How each configuration writes its counter."""
pytestmark = pytest.mark.usefixtures("configured")


@pytest.fixture(params=HOLDING)
def name(request: pytest.FixtureRequest) -> str:
    """The alias of a configuration with a counter."""
    return str(request.param)


def put_until_refused(name: str, scope: str, told: list[int]) -> None:
    """Store items until the sequence refuses; no value may come twice."""
    for _ in range(60):
        (value,) = put_some(name, scope, 1)
        assert value not in told, "a value was handed out twice"
        told.append(value)


class TestRogueWriters:
    @pytest.mark.usefixtures("alone_on_its_host")
    @pytest.mark.parametrize("fresh", [False, True], ids=["same process", "fresh process"])
    def test_a_counter_set_back(self, name: str, scope: str, fresh: bool, install: Callable[..., Strategy]) -> None:
        """A counter that somebody set back is refused before a value comes twice, also by a fresh process."""
        told = put_some(name, scope, 12)
        set_counter(name, scope, last_value=nth(name, 2))
        if fresh:
            install(name)
        with pytest.raises(SequenceWentBack, match=f"says {nth(name, 2)}, but"):
            put_until_refused(name, scope, told)
        with pytest.raises(SequenceWentBack):
            get_last_value(name, scope=scope)
        assert sorted(stored(name, scope)) == told

    def test_a_counter_set_back_and_forth(self, scope: str, wire: Wire) -> None:
        """A counter that is right again when it is read is counted on: nobody is told that MAXIMUM is reached."""
        put_some("atomic", scope, 3)
        set_counter("atomic", scope, last_value=1)
        wire.before("GetItem", lambda: set_counter("atomic", scope, last_value=3))
        assert put_some("atomic", scope, 1) == [4]

    @pytest.mark.parametrize(
        ("name", "operation"), [("optimistic-put", "PutItem"), ("optimistic-update", "UpdateItem")]
    )
    def test_how_a_value_is_taken(self, name: str, operation: str, scope: str, wire: Wire) -> None:
        """The option `write` says by which operation the counter is written."""
        get_next_value(name, scope=scope)
        assert wire.operations[-1] == operation

    def test_a_counter_that_cannot_be_written(self, scope: str) -> None:
        """A counter that is refused for another reason than its condition is a permanent error."""
        writer = strategies["transactional"].item_writer
        pending = Pending(PutRequest(item={}))
        write = writer.prepare(scope, [pending], strategies["transactional"].deadline())
        assert write is not None
        reasons = (CancellationReason("ValidationError", message="too large"), CancellationReason("None"))
        with pytest.raises(StorageRefused, match="counter cannot be written: ValidationError: too large"):
            writer.refused(Refusal(scope, write, WriteCancelled("no", reasons), strategies["transactional"].deadline()))

    def test_an_item_that_cannot_be_written(self, scope: str) -> None:
        """An item that is refused for another reason than its condition is the error of its caller, with the reason."""
        writer, deadline = strategies["transactional"].item_writer, strategies["transactional"].deadline()
        pending = Pending(PutRequest(item={}))
        write = writer.prepare(scope, [pending], deadline)
        assert write is not None
        reasons = (CancellationReason("None"), CancellationReason("ValidationError", message="too large"))
        writer.refused(Refusal(scope, write, WriteCancelled("no", reasons), deadline))
        assert isinstance(pending.refusal, InvalidItem)
        assert str(pending.refusal) == "The item cannot be stored: ValidationError: too large"

    @pytest.mark.parametrize(
        ("name", "group", "joins"), [("atomic", True, True), ("atomic", False, False), ("block", True, False)]
    )
    def test_who_shares_an_addition(
        self, name: str, group: bool, joins: bool, install: Callable[..., Strategy]
    ) -> None:
        """Callers share an addition where the option allows it and the strategy has no blocks to share."""
        strategy = install(name, group=group)
        assert isinstance(strategy, CounterStrategy)
        assert strategy.reservations._joins is joins

    @pytest.mark.usefixtures("alone_on_its_host")
    def test_in_another_process_altogether(self, scope: str) -> None:
        """A counter that somebody set back is refused after the registry has forgotten everything."""
        put_some("transactional", scope, 3)
        set_counter("transactional", scope, last_value=1)
        strategies.reset()
        with pytest.raises(SequenceWentBack, match="--past 3 "):
            put_next("transactional", {}, scope=scope)

    @pytest.mark.needs_engine
    def test_a_counter_that_is_no_number(self, name: str, scope: str) -> None:
        """A counter that somebody overwrote with a text is refused with the remedy, and nothing is stored."""
        told = put_some(name, scope, 12)
        set_counter(name, scope, last_value="12")
        with pytest.raises(StorageRefused, match="repair its last_value"):
            put_until_refused(name, scope, told)
        with pytest.raises(StorageRefused, match="repair its last_value"):
            get_last_value(name, scope=scope)

    def test_a_counter_deleted(self, name: str, scope: str) -> None:
        """A counter that somebody deleted is refused by a process that used it."""
        told = put_some(name, scope, 12)
        delete_counter(name, scope)
        with pytest.raises(SequenceWentBack, match="says None"):
            put_until_refused(name, scope, told)
        with pytest.raises(SequenceWentBack):
            get_last_value(name, scope=scope)

    @pytest.mark.usefixtures("alone_on_its_host")
    def test_a_deleted_counter_and_a_fresh_process(
        self, name: str, scope: str, install: Callable[..., Strategy]
    ) -> None:
        """A process that uses a scope first after its counter was deleted refuses it, because of the items."""
        told = put_some(name, scope, 3)
        delete_counter(name, scope)
        install(name)
        with pytest.raises(SequenceWentBack, match=f"--past {told[-1]} "):
            put_some(name, scope, 1)
        assert sorted(stored(name, scope)) == told

    @pytest.mark.usefixtures("alone_on_its_host")
    def test_a_counter_set_back_whole_and_a_fresh_process(
        self, name: str, scope: str, install: Callable[..., Strategy]
    ) -> None:
        """A process that uses a scope first after its counter was set back with `highest` refuses it."""
        told = put_some(name, scope, 3)
        set_counter(name, scope, last_value=nth(name, 1), highest=nth(name, 1))
        install(name)
        with pytest.raises(SequenceWentBack, match=f"--past {told[-1]} "):
            put_some(name, scope, 1)

    @pytest.mark.usefixtures("alone_on_its_host")
    def test_items_among_imported_rows(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Imported rows above the items do not hide them."""
        told = put_some(name, scope, 3)
        for n in range(50, 60):
            import_row(name, scope, nth(name, n))
        delete_counter(name, scope)
        install(name)
        with pytest.raises(SequenceWentBack, match=f"--past {told[-1]} "):
            put_some(name, scope, 1)

    def test_items_are_asked_once(self, name: str, scope: str, install: Callable[..., Strategy], wire: Wire) -> None:
        """A process reads the newest items of a scope once, and never without `check_items`."""
        install(name)
        put_some(name, scope, 3)
        assert wire.operations.count("Query") == 1
        install(name, check_items=False)
        put_some(name, scope, 1)
        assert wire.operations.count("Query") == 1

    def test_items_are_paid_for(self, scope: str, wire: Wire) -> None:
        """The first allocation of a scope says what it cost to look for its newest item among imported rows too."""
        import_row("transactional", scope, 50)
        wire.clear()
        allocation = put_next("transactional", {}, scope=scope)
        assert wire.operations == ["Query", "Query", "GetItem", "TransactWriteItems"]
        assert allocation.read_units + allocation.write_units == wire.units

    @pytest.mark.parametrize("name", RESERVING)
    def test_values_need_no_table_of_items(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Without `check_items` values are handed out also where there is no table of items at all."""
        install(name, check_items=False, TABLE="there_is_none")
        assert take_some(name, scope, 2) == [nth(name, 1), nth(name, 2)]

    def test_a_marker_proves_what_was_handed_out(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A process that answers a repeat from its marker refuses a counter that is below the marker's value."""
        put_some(name, scope, 2)
        item = {"pk": f"own {scope}", "sk": 1} if name in OWN_KEYS else {"title": "the third"}
        told = put_next(name, item, scope=scope, idempotency_token="a token").value
        delete_counter(name, scope)
        install(name, check_items=False)
        with contextlib.suppress(SequenceWentBack):
            assert put_next(name, item, scope=scope, idempotency_token="a token").value == told
        with pytest.raises(SequenceWentBack):
            put_some(name, scope, 1)

    @pytest.mark.parametrize("lost", ["last_value", "last_value and highest"])
    def test_a_counter_without_its_value(
        self, name: str, scope: str, lost: str, install: Callable[..., Strategy]
    ) -> None:
        """A counter whose `last_value` was removed does not begin again."""
        told = put_some(name, scope, 3)
        row = read_counter(name, scope)
        kept = {key: value for key, value in row.items() if key not in lost.split(" and ")}
        item = {**dynamodb.marshal(kept), **counter_of(name).key(scope)}
        dynamodb.call("put_item", {"TableName": counter_of(name).table, "Item": item})
        install(name)
        with pytest.raises(SequenceWentBack, match="says None"):
            put_some(name, scope, 1)
        assert sorted(stored(name, scope)) == told

    @pytest.mark.parametrize("name", RESERVING)
    def test_a_counter_without_its_value_or_items(
        self, name: str, scope: str, install: Callable[..., Strategy]
    ) -> None:
        """A counter without `last_value` and without items does not begin again, because of its `highest`."""
        take_some(name, scope, 3)
        kept = {key: value for key, value in read_counter(name, scope).items() if key != "last_value"}
        item = {**dynamodb.marshal(kept), **counter_of(name).key(scope)}
        dynamodb.call("put_item", {"TableName": counter_of(name).table, "Item": item})
        install(name)
        with pytest.raises(SequenceWentBack, match="says None"):
            take_some(name, scope, 1)

    def test_a_fraction(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A counter that somebody set to a fraction is refused with the remedy, and nothing is stored."""
        told = put_some(name, scope, 3)
        set_counter(name, scope, last_value=Decimal("100000.5"), highest=1)
        install(name)
        with pytest.raises(StorageRefused, match="repair its last_value"):
            put_some(name, scope, 1)
        assert sorted(stored(name, scope)) == told

    @pytest.mark.parametrize("name", ["atomic"])
    @pytest.mark.parametrize("repaired", [5, 9])
    @pytest.mark.parametrize("is_new", [False, True])
    def test_an_addition_to_a_fraction(
        self, name: str, scope: str, repaired: int, is_new: bool, install: Callable[..., Strategy]
    ) -> None:
        """An addition moves a fraction and then sees it: every call is refused until the counter is repaired."""
        assert take_some(name, scope, 5) == [1, 2, 3, 4, 5]
        set_counter(name, scope, last_value=Decimal("5.5"))
        if is_new:
            install(name)
        for moved in (Decimal("6.5"), Decimal("7.5")):
            with pytest.raises(StorageRefused, match="repair its last_value and highest"):
                get_next_value(name, scope=scope)
            row = read_counter(name, scope)
            assert (row["last_value"], row["highest"]) == (moved, moved)
        with pytest.raises(StorageRefused, match="repair its last_value and highest"):
            put_next(name, {}, scope=scope)
        assert stored(name, scope) == {}
        set_counter(name, scope, last_value=repaired, highest=repaired)
        assert get_next_value(name, scope=scope) == repaired + 1

    def test_set_right_again(self, name: str, scope: str) -> None:
        """When the counter is set to where it was, numbering goes on."""
        told = put_some(name, scope, 12)
        row = read_counter(name, scope)
        set_counter(name, scope, last_value=nth(name, 1))
        with pytest.raises(SequenceWentBack):
            put_until_refused(name, scope, told)
        set_counter(name, scope, last_value=row["last_value"], highest=row["highest"])
        assert put_some(name, scope, 1)[0] > told[-1]

    def test_a_counter_set_forward(self, name: str, scope: str) -> None:
        """A counter that was set forward is followed: no value below it comes any more."""
        told = put_some(name, scope, 3)
        set_counter(name, scope, last_value=nth(name, 100), highest=nth(name, 100))
        while told[-1] < nth(name, 100):
            told += put_some(name, scope, 1)
        assert told[-1] == nth(name, 101)

    def test_reading_while_values_are_taken(self, name: str, scope: str, wire: Wire) -> None:
        """A counter that was read just before another thread moved it did not go back."""
        told = put_some(name, scope, 1)

        def meanwhile() -> None:
            told.extend(put_some(name, scope, 20))

        wire.after("GetItem", meanwhile)
        seen = get_last_value(name, scope=scope)
        assert len(told) == 21
        assert seen is not None
        assert seen >= told[0]

    @pytest.mark.parametrize("name", ["transactional", "transactional-beside"])
    @pytest.mark.parametrize("seen", [None, 3])
    def test_a_hint_saves_the_read(
        self, name: str, scope: str, seen: int | None, install: Callable[..., Strategy], clock: Clock, wire: Wire
    ) -> None:
        """A process that follows another one of its machine, however soon, knows the counter without reading it."""
        install(name, clock=clock)
        put_some(name, scope, 3)
        install(name, clock=clock)
        if seen:
            counter_of(name).evidence.note(scope, nth(name, seen))
        strategies[name].lives.bind(dynamodb.call)
        mark_listed(name, scope)
        wire.clear()
        assert put_some(name, scope, 1) == [nth(name, 4)]
        assert wire.operations == ["Query", "TransactWriteItems"]

    @pytest.mark.parametrize("name", ["transactional", "transactional-beside"])
    def test_a_lost_race_tells_the_counter(self, name: str, scope: str, wire: Wire) -> None:
        """After a lost race the counter comes from the refusal, without a read."""
        put_some(name, scope, 1)
        set_counter(name, scope, last_value=nth(name, 7), highest=nth(name, 7))
        wire.clear()
        assert put_some(name, scope, 1) == [nth(name, 8)]
        assert wire.operations == ["TransactWriteItems", "TransactWriteItems"]

    @pytest.mark.parametrize("name", ["transactional", "transactional-beside"])
    def test_the_items_of_a_lost_race_are_no_imported_rows(
        self, name: str, scope: str, wire: Wire, logged: pytest.LogCaptureFixture
    ) -> None:
        """The winner's item has the number as well; the counter, which moved with it, is not taken to be behind."""
        put_some(name, scope, 1)
        import_row(name, scope, nth(name, 2))
        set_counter(name, scope, last_value=nth(name, 2), highest=nth(name, 2))
        wire.clear()
        assert put_some(name, scope, 1) == [nth(name, 3)]
        assert wire.operations == ["TransactWriteItems", "TransactWriteItems"]
        assert [record for record in logged.records if record.levelno >= logging.WARNING] == []

    @pytest.mark.parametrize("name", ["transactional", "transactional-beside"])
    def test_another_process_has_frozen_the_scope(self, name: str, scope: str) -> None:
        """A process that remembers the counter learns of it by a lost race, and says so."""
        put_some(name, scope, 1)
        changes.freeze(name, scope=scope, by="ada", reason="the books are closed")
        frozen = read_counter(name, scope)
        changes.thaw(name, scope=scope, by="ada", reason="a late entry")
        put_some(name, scope, 1)
        delete_counter(name, scope)
        set_counter(name, scope, **{key: value for key, value in frozen.items() if key not in ("sequence", "scope")})
        with pytest.raises(SequenceFrozen, match="the books are closed"):
            put_some(name, scope, 1)

    @pytest.mark.parametrize("name", ["transactional", "transactional-beside"])
    def test_an_outdated_hint(self, name: str, scope: str) -> None:
        """A hint from a process that was slow to leave it costs a race, and is not taken for a counter set back."""
        told = put_some(name, scope, 3)
        with hold_host_lock(lock_name(name, scope)) as turn:
            turn.leave_hint(told[1], strategies[name].timing.clock())
        assert put_some(name, scope, 1) == [nth(name, 4)]

    @pytest.mark.parametrize("name", ["transactional", "transactional-beside"])
    def test_a_hint_from_before_the_table(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A hint that is left of a table that was made anew does not keep a fresh process from counting."""
        strategy = install(name, deadline=30.0)
        with hold_host_lock(lock_name(name, scope)) as turn:
            turn.leave_hint(1000, strategy.timing.clock())
        assert put_some(name, scope, 1) == [nth(name, 1)]


class TestImportedRows:
    @pytest.mark.parametrize(
        ("imported", "switching", "warned"), [(20, False, True), (20, True, False), (None, False, False)]
    )
    def test_when_it_is_told(
        self,
        scope: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        imported: int | None,
        switching: bool,
        warned: bool,
    ) -> None:
        """A counter that moves past a stored item is told of, unless a switch is under way, or it need not move."""
        put_some("atomic", scope, 2)
        counter = counter_of("atomic")
        counter.memory.fell_behind(scope, 2)
        if imported:
            import_row("atomic", scope, imported)
        if switching:
            monkeypatch.setattr(counter.following, "_until", math.inf)
        counter.standing(scope, dynamodb.call)
        assert ("moved it to" in caplog.text) == warned

    def test_the_counter_moves_past(self, name: str, scope: str, caplog: pytest.LogCaptureFixture) -> None:
        """A counter that is behind imported rows moves past the highest of them, and says so."""
        for n in range(1, 21):
            import_row(name, scope, nth(name, n))
        with caplog.at_level(logging.WARNING, "sequences"):
            allocation = put_next(name, {}, scope=scope)
        assert allocation.value > nth(name, 20)
        assert f"{nth(name, 20)} is stored" in caplog.text
        last_value = get_last_value(name, scope=scope)
        assert last_value is not None
        assert last_value >= allocation.value
        if strategies[name].gapless:
            assert put_next(name, {}, scope=scope).value == nth(name, 22)

    def test_between_numbers(self, name: str, scope: str) -> None:
        """The counter keeps to its steps when an imported row does not."""
        import_row(name, scope, nth(name, 1))
        import_row(name, scope, nth(name, 3) + strategies[name].config.step // 2)
        value = put_next(name, {}, scope=scope).value
        assert len(stored(name, scope)) == 3
        assert (value - nth(name, 1)) % strategies[name].config.step == 0

    def test_with_a_token(self, name: str, scope: str) -> None:
        """An item with a token moves past imported rows too, and is repeated with its value."""
        for n in (1, 2, 3):
            import_row(name, scope, nth(name, n))
        first = put_next(name, {}, scope=scope, idempotency_token="a")
        assert first.value > nth(name, 3)
        again = put_next(name, {}, scope=scope, idempotency_token="a")
        assert (again.value, again.replayed) == (first.value, True)

    def test_in_the_middle_of_a_group(self, name: str, scope: str) -> None:
        """A group that meets an imported row is numbered after it as a whole or around it, and nothing is lost."""
        import_row(name, scope, nth(name, 5))
        values = [allocation.value for allocation in put_next_many(name, [{}] * 8, scope=scope)]
        assert len(set(values)) == 8
        assert set(values) | {nth(name, 5)} == set(stored(name, scope))
        assert nth(name, 5) not in values


class TestOwnKeys:
    @pytest.mark.parametrize("name", OWN_KEYS)
    def test_an_item_with_its_own_key(self, name: str, scope: str) -> None:
        """An item that brings its key is stored under it, with its value as an attribute."""
        assert self._put(name, scope, 7).value == nth(name, 1)
        assert self._row(name, scope, 7)["value"] == nth(name, 1)

    @pytest.mark.parametrize("name", OWN_KEYS)
    @pytest.mark.parametrize("token", [None, "another token"])
    def test_the_key_exists(self, name: str, scope: str, token: str | None) -> None:
        """If an item with this key exists, the caller gets ItemExists and nothing is overwritten.

        No value is used, if the strategy is gapless; otherwise the error says which one stays unused.
        """
        self._put(name, scope, 7, title="a")
        unused = "no value was used" if name in GAPLESS_OWN_KEYS else f"the value {nth(name, 2)} stays unused"
        with pytest.raises(ItemExists, match=rf"{scope}-own.*{unused}\.$"):
            self._put(name, scope, 7, token, title="b")
        assert self._row(name, scope, 7)["title"] == "a"
        assert self._put(name, scope, 8).value == nth(name, 2 if name in GAPLESS_OWN_KEYS else 3)

    @pytest.mark.parametrize("name", GAPLESS_OWN_KEYS)
    def test_a_repeat_after_the_counter_was_set_back(self, name: str, scope: str) -> None:
        """A repeat gets its first answer although the counter went back: the marker is read before the counter."""
        first = self._put(name, scope, 1, "a token")
        for number in (2, 3):
            self._put(name, scope, number)
        set_counter(name, scope, last_value=nth(name, 1), highest=nth(name, 1))
        again = self._put(name, scope, 1, "a token")
        assert (again.value, again.replayed) == (first.value, True)

    @pytest.mark.parametrize("name", GAPLESS_OWN_KEYS)
    def test_a_counter_set_back(self, name: str, scope: str) -> None:
        """A counter that was set back is refused, although no item would be found under a value that comes again."""
        for n in range(3):
            self._put(name, scope, n)
        set_counter(name, scope, last_value=nth(name, 1), highest=nth(name, 1))
        with pytest.raises(SequenceWentBack):
            self._put(name, scope, 3)

    @pytest.mark.parametrize("name", OWN_KEYS)
    def test_a_repeat_with_its_own_key(self, name: str, scope: str) -> None:
        """A repeat of an item with its own key is a repeat, not an item that exists."""
        first = self._put(name, scope, 7, "a token")
        again = self._put(name, scope, 7, "a token")
        assert (again.value, again.replayed) == (first.value, True)

    @pytest.mark.parametrize("name", OWN_KEYS)
    @pytest.mark.parametrize("token", [None, "a token"])
    def test_a_lost_answer(self, name: str, scope: str, token: str | None, wire: Wire) -> None:
        """A lost answer is not taken for an item that exists."""
        wire.lose("TransactWriteItems" if token or name in GAPLESS_OWN_KEYS else "PutItem")
        allocation = self._put(name, scope, 7, token)
        assert (allocation.value, allocation.replayed) == (nth(name, 1), False)
        assert self._row(name, scope, 7)["value"] == nth(name, 1)

    @pytest.mark.parametrize("name", GAPLESS_OWN_KEYS)
    def test_among_others(self, name: str, scope: str) -> None:
        """In a group the item that exists is left out, and the others are numbered without a hole."""
        self._put(name, scope, 3)
        items = [{"pk": f"{scope}-own", "sk": n} for n in range(1, 6)]
        with pytest.raises(ItemExists):
            put_next_many(name, items, scope=scope)
        values = [self._row(name, scope, n)["value"] for n in (3, 1, 2, 4, 5)]
        assert values == [nth(name, n) for n in range(1, 6)]
        assert get_last_value(name, scope=scope) == nth(name, 5)

    def _put(self, name: str, scope: str, number: int, token: str | None = None, **fields: str) -> Allocation:
        item = {"pk": f"{scope}-own", "sk": number, **fields}
        return put_next(name, item, scope=scope, idempotency_token=token)

    def _row(self, name: str, scope: str, number: int) -> dict[str, object]:
        key = dynamodb.marshal({"pk": f"{scope}-own", "sk": number})
        request = {"TableName": strategies[name].schema.table, "Key": key, "ConsistentRead": True}
        return dynamodb.unmarshal(dynamodb.call("get_item", request)["Item"])


class TestLostAnswers:
    @pytest.mark.parametrize("name", COUNTERS)
    def test_they_cost_no_value(self, name: str, scope: str, wire: Wire) -> None:
        """A lost answer to the counter's write costs no value and makes no second item."""
        told = put_some(name, scope, 1)
        for _ in range(8):
            wire.lose(WRITES[name])
            told += put_some(name, scope, 1)
        assert told == [nth(name, n) for n in range(1, 10)]
        assert sorted(stored(name, scope)) == told

    @pytest.mark.parametrize("name", RESERVING)
    def test_of_the_item(self, name: str, scope: str, wire: Wire) -> None:
        """A lost answer to the item's write makes no second item."""
        wire.lose("PutItem", times=2)
        allocation = put_next(name, {}, scope=scope)
        assert allocation.value == nth(name, 1)
        assert list(stored(name, scope)) == [allocation.value]

    @pytest.mark.parametrize("name", RESERVING)
    def test_of_a_reservation(self, name: str, scope: str, wire: Wire) -> None:
        """A lost answer to a reservation costs no value."""
        wire.lose("PutItem" if "put" in name else "UpdateItem", times=2)
        assert take_some(name, scope, 3) == [nth(name, n) for n in (1, 2, 3)]

    @pytest.mark.parametrize("name", COUNTERS)
    def test_the_same_write_goes_again(self, name: str, scope: str, wire: Wire) -> None:
        """After a lost answer the counter's write is sent again unchanged."""
        put_some(name, scope, 1)
        wire.clear()
        wire.lose(WRITES[name])
        put_some(name, scope, 8)
        first, second, *_ = wire.bodies(WRITES[name])
        assert first == second


@pytest.mark.parametrize("name", COUNTERS)
class TestStartAtZero:
    def test_a_deleted_counter(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """The value 0 is a value: a counter that handed it out, and was deleted, does not hand it out again."""
        install(name, START=0, block_size=1) if name == "block" else install(name, START=0)
        assert put_some(name, scope, 1) == [0]
        delete_counter(name, scope)
        with pytest.raises(SequenceWentBack, match="says None, but 0 was handed out"):
            put_some(name, scope, 3)
        assert min(stored(name, scope)) == 0

    def test_a_counter_at_zero(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Counting goes on after 0, in this process and in one that never saw it."""
        install(name, START=0, block_size=1) if name == "block" else install(name, START=0)
        assert put_some(name, scope, 2) == [0, 1]
        install(name, START=0, block_size=1) if name == "block" else install(name, START=0)
        assert put_some(name, scope, 1)[0] >= 2


class TestMaximum:
    def test_every_value_up_to_it(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Every value up to MAXIMUM is handed out, and then the error says what to do."""
        install(name, MAXIMUM=nth(name, 5))
        assert put_some(name, scope, 5) == [nth(name, n) for n in range(1, 6)]
        with pytest.raises(SequenceExhausted, match="raise MAXIMUM"):
            put_next(name, {}, scope=scope)
        assert sorted(stored(name, scope)) == [nth(name, n) for n in range(1, 6)]

    def test_a_group_that_does_not_fit(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Of a group for which there is not enough room, the first get their values."""
        install(name, MAXIMUM=nth(name, 5))
        with pytest.raises(SequenceExhausted):
            put_next_many(name, [{}] * 8, scope=scope)
        assert sorted(stored(name, scope)) == [nth(name, n) for n in range(1, 6)]

    @pytest.mark.parametrize("name", RESERVING)
    @pytest.mark.parametrize("maximum", [3, 20])
    def test_nothing_is_taken_beyond_it(
        self, name: str, scope: str, install: Callable[..., Strategy], maximum: int
    ) -> None:
        """A caller that wants more values than there are gets none, and the rest remains for others."""
        strategy = install(name, MAXIMUM=nth(name, maximum))
        with pytest.raises(SequenceExhausted):
            reserving(strategy).reserve(scope, maximum + 1, strategy.deadline())
        assert [get_next_value(name, scope=scope) for _ in range(3)] == [nth(name, n) for n in (1, 2, 3)]

    @pytest.mark.parametrize("name", [name for name in RESERVING if "block" not in name])
    def test_a_greedy_caller(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A caller that wants more values than there are does not keep the others of its group from the rest."""
        strategy = install(name, MAXIMUM=nth(name, 5))
        assert isinstance(strategy, CounterStrategy)
        greedy, modest = (Pending(ReserveRequest(count=count)) for count in (6, 2))
        strategy.reservations.submit(scope, [greedy, modest], strategy.deadline())
        assert isinstance(greedy.answer, SequenceExhausted)
        assert list(values_of(modest)) == [nth(name, 1), nth(name, 2)]

    @pytest.mark.parametrize("name", ["atomic"])
    def test_who_gets_none_learns_it_last(
        self, name: str, scope: str, install: Callable[..., Strategy], wire: Wire
    ) -> None:
        """Not before others of its group have their values: it may move the counter to the range of another line."""
        strategy = install(name, MAXIMUM=2)
        assert isinstance(strategy, CounterStrategy)
        get_next_value(name, scope=scope)
        first, last = Pending(ReserveRequest(count=1)), Pending(ReserveRequest(count=1))
        meanwhile: list[object] = []
        wire.before("UpdateItem", lambda: None, lambda: meanwhile.append(last.answer))
        strategy.reservations.submit(scope, [first, last], strategy.deadline())
        assert (list(values_of(first)), meanwhile) == ([2], [None])
        assert isinstance(last.answer, SequenceExhausted)

    def test_a_counter_before_its_start(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """A sequence may start at 0."""
        install(name, START=0)
        assert put_some(name, scope, 2) == [0, strategies[name].config.step]
        assert get_last_value(name, scope=scope) is not None

    def test_large_numbers(self, name: str, scope: str, install: Callable[..., Strategy]) -> None:
        """Values are whole numbers of up to 38 digits."""
        start = 10**37 + 1
        install(name, START=start)
        values = put_some(name, scope, 2)
        assert values == [start, start + strategies[name].config.step]
        assert sorted(stored(name, scope)) == values


class TestLists:
    @pytest.mark.parametrize("name", [name for name in COUNTERS if name != "transactional-beside"])
    def test_counters_by_pages(self, name: str, configured: str) -> None:
        """The counters of a sequence are listed by pages in the order of their scopes, by one query a page."""
        for scope in ("list-a", "list-b", "list-c"):
            put_some(name, scope, 2)
        found: list[Counter] = []
        cursor = None
        for _ in range(2000):
            page, cursor = strategies[name].scopes.page(cursor, 2)
            found += page
            if cursor is None:
                break
        assert len({(counter.scope, counter.period) for counter in found}) == len(found)
        listed = {counter.scope: counter for counter in found}
        assert set(listed) >= {"list-a", "list-b", "list-c"}
        for scope in ("list-a", "list-b", "list-c"):
            assert listed[scope].last_value == read_counter(name, scope)["last_value"]
            assert listed[scope].updated_at is not None
        assert all(counter.sequence == name for counter in found)

    def test_counters_that_begin_with_a_text(self, wire: Wire) -> None:
        """A prefix finds the scopes that begin with it, page by page, by one query a page; "#" finds the nameless."""
        for scope in ("Search-1", "Search-2", "Search-30", "search-4", "Se", None):
            get_next_value("atomic", scope=scope)
        wire.clear()
        found, cursor = strategies["atomic"].scopes.page(None, 2, prefix="Search-")
        rest, end = strategies["atomic"].scopes.page(cursor, 2, prefix="Search-")
        assert [counter.scope for counter in found + rest] == ["Search-1", "Search-2", "Search-30"]
        assert end is None
        assert wire.operations == ["Query", "Query"]
        assert {counter.scope for counter in strategies["atomic"].scopes.page(None, 2, prefix="#")[0]} == {None}

    def test_counters_of_a_period(self) -> None:
        """A sequence with a PERIOD is searched in one period, whose name must be one."""
        strategy = make("atomic", PERIOD="year", partition="{sequence}#{period}#{scope}")
        for scope in (Dated("AB", "2001"), Dated("AC", "2001"), Dated(None, "2001"), Dated("AB", "2002")):
            advance_to(strategy, scope, 5)
        found, _ = strategy.scopes.page(None, 10, period="2001")
        assert [counter.scope for counter in found] == [None, "AB", "AC"]
        assert [counter.period for counter in strategy.scopes.page(None, 10, prefix="AB", period="2002")[0]] == ["2002"]
        with pytest.raises(OperationNotSupported, match="in one period: name it"):
            strategy.scopes.page(None, 10, prefix="AB")
        with pytest.raises(InvalidPeriod):
            strategy.scopes.page(None, 10, period="nonsense")

    def test_advancing_tells_the_last_value(self, scope: str) -> None:
        """Whether the counter moves or stays, the answer is its last value."""
        strategy = make("atomic")
        start = strategy.config.start
        told = [advance_to(strategy, scope, start + more) for more in (4, 2, 4, 5)]
        assert told == [start + more for more in (4, 4, 4, 5)]

    def test_advancing_to_the_last_of_all_values(self, scope: str) -> None:
        """The maximum can be reached, and no value above it."""
        strategy = make("atomic", MAXIMUM=10_000)
        assert advance_to(strategy, scope, 10_000) == 10_000
        with pytest.raises(SequenceExhausted):
            advance_to(strategy, scope, 10_001)

    def test_a_broken_counter_is_listed(self, scope: str) -> None:
        """A counter that somebody has set to what is no number does not hide the others."""
        put_some("atomic", scope, 1)
        set_counter("atomic", scope, last_value="many")
        listed = {each.scope: each for each in strategies["atomic"].scopes.page(None, 10_000)[0]}
        assert repr(listed[scope].last_value) == "'many'"
        assert listed[scope].percent_used == 0

    def test_counters_beside_the_items(self) -> None:
        """Counters beside the items cannot be listed where the sequence keeps no list."""
        with pytest.raises(OperationNotSupported, match="keeps no list of its scopes"):
            make("transactional-beside", scopes=None).scopes.page(None, 10)

    def test_scopes_from_a_function(self, scope: str) -> None:
        """With the option that names the scopes, counters beside the items are listed, by one read each."""
        put_some("transactional-beside", scope, 2)
        _listed[:] = [scope]
        strategy = make("transactional-beside", scopes=f"{__name__}.list_scopes")
        counters, cursor = strategy.scopes.page(None, 10)
        assert [(counter.scope, counter.last_value) for counter in counters] == [(scope, 2)]
        assert cursor is None

    def test_a_function_is_searched_by_its_arguments(self, scope: str) -> None:
        """A function of scopes with the argument `prefix` is asked for it; one without it is named."""
        strategy = make("transactional-beside", scopes=f"{__name__}.search_scopes")
        assert [counter.scope for counter in strategy.scopes.page(None, 10, prefix=scope)[0]] == [scope]
        with pytest.raises(OperationNotSupported, match="an argument 'prefix'"):
            make("transactional-beside", scopes=f"{__name__}.list_scopes").scopes.page(None, 10, prefix="a")


_listed: list[str] = []


def search_scopes(cursor: str | None, limit: int, *, prefix: str = "") -> tuple[list[str], str | None]:
    """The one scope that begins with the text: the text itself."""
    return [prefix], None


def list_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """The scopes of a test, as an application would name them."""
    return _listed[:limit], None


def test_who_holds_a_counter() -> None:
    """The configurations above are those with a counter."""
    for name in HOLDING:
        assert counter_of(name).table
    assert set(WRITES) == set(COUNTERS)


@pytest.mark.parametrize("name", ["atomic", "optimistic-update"])
def test_many_other_scopes(configured: str, name: str, scope: str) -> None:
    """A counter that was set back is refused, also when this process has counted in thousands of other scopes since."""
    for _ in range(6):
        put_next(name, {}, scope=scope, idempotency_token=new_token())
    counter = counter_of(name)
    for other in range(SCOPES_REMEMBERED + 1):
        counter.evidence.note(f"other {other}", counter.numbers.start)
    second = counter.numbers.start + counter.numbers.step
    set_counter(name, scope, last_value=second, highest=second)
    with pytest.raises(SequenceWentBack):
        get_next_value(name, scope=scope)


@pytest.mark.parametrize("name", ["transactional", "transactional-beside"])
def test_what_the_next_process_begins_with(name: str, scope: str) -> None:
    """A process leaves the last value for others of its host, so that their first number needs no read."""
    (value,) = put_some(name, scope, 1)
    with hold_host_lock(lock_name(name, scope)) as turn:
        hint = turn.hint()
    assert hint
    assert hint[0] == value


def test_a_value_that_is_forgotten(configured: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that forgets the value of a scope looks at its items again before it counts there."""
    remember_at_most(10, monkeypatch)
    put_some("atomic", scope, 3)
    counter = counter_of("atomic")
    for other in range(11):
        counter.evidence.note(f"other {other}", 1)  # as repeats do, without a look at the items
    monkeypatch.setattr(host_memory, "SUPPORTED", False)
    set_counter("atomic", scope, last_value=1, highest=1)
    with pytest.raises(SequenceWentBack):
        get_next_value("atomic", scope=scope)


def test_a_strategy_without_counters() -> None:
    """What needs a counter is refused where numbers come from the items, with what to do in its place."""
    with pytest.raises(OperationNotSupported, match=r"\(SortKeyMaximum\) has no counter to move: .* highest number"):
        counter_strategy.counter_of(make("sort-key"))


@pytest.mark.parametrize("name", ["atomic", "block"])
def test_two_together(name: str, scope: str) -> None:
    """Two items together have values that follow each other."""
    first, second = put_next_together(name, [{}, {}], scope=scope)
    assert second.value == first.value + 1
