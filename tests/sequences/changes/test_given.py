"""Items under numbers that are given: each once, under a free key, and the sequence goes on above them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sequences import get_item, get_last_value, get_next_value, items, put_next
from sequences.actions import VALUE
from sequences.changes import freeze, given, history, put_all_at, put_at, void
from sequences.exceptions import (
    CancellationReason,
    InvalidChange,
    InvalidItem,
    ItemExists,
    OperationNotSupported,
    SequenceContention,
    SequenceError,
    SequenceExhausted,
    SequenceFrozen,
    StorageRefused,
    WriteCancelled,
)
from sequences.ops.audit import audit
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.testing.callers import at_once, put_some
from tests.sequences.support import Clock, Processes, Wire, import_row, stored

pytestmark = pytest.mark.usefixtures("configured")

NAMES = ["sort-key", "sort-key-padded", "transactional", "transactional-beside", "atomic", "optimistic-update", "block"]
Install = Callable[..., Strategy]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest, install: Install) -> str:
    """A sequence that may be given numbers, by each strategy."""
    alias: str = request.param
    install(alias, GIVEN=True)
    return alias


def give(name: str, scope: str, given: dict[int, Any], **more: Any) -> list[int]:
    """Store items under these values."""
    return put_all_at(name, given, scope=scope, by="ana", reason="from the old system", **more)


def values_of(name: str, scope: str) -> list[int]:
    """The values with items, without those that are void."""
    return [item.value for item in items(name, scope=scope) if item.void is None]


class TestOne:
    def test_it_is_stored_and_passed(self, name: str, scope: str) -> None:
        """The item has the value, the next number is above it, and the audit explains what is skipped."""
        assert put_next(name, {"n": 1}, scope=scope).value == 1
        assert put_at(name, 4711, {"n": VALUE}, scope=scope, by="ana", reason="from the old system")
        found = get_item(name, 4711, scope=scope)
        assert found is not None
        assert found.item == {"n": 4711}
        assert put_next(name, {}, scope=scope).value > 4711
        report = audit(strategies[name], scope)
        assert report.unexplained == 0
        assert {gap.by for gap in report.gaps.listed} <= {"ana", ""}
        (line,), _ = history(name, scope=scope)
        assert (line.kind, line.after, line.by) == ("give", 4711, "ana")

    @pytest.mark.parametrize("counter", ["atomic", "optimistic-update", "transactional"])
    def test_below_an_imported_row(self, counter: str, scope: str, install: Install) -> None:
        """The counter passes the value: no number comes twice, and a process that begins finds nothing above it."""
        install(counter, GIVEN=True)
        put_next(counter, {}, scope=scope)
        import_row(counter, scope, 500)
        assert put_at(counter, 130, {}, scope=scope, by="ana", reason="a test")
        assert put_next(counter, {}, scope=scope).value == 131
        strategies[counter].forget()
        assert put_next(counter, {}, scope=scope).value == 132
        with pytest.raises(ItemExists, match="under 500; these"):
            put_at(counter, 500, {"n": 1}, scope=scope, by="ana", reason="a test")
        assert get_last_value(counter, scope=scope) == 132

    def test_the_first_of_a_scope(self, name: str, scope: str) -> None:
        """A scope may begin with a given number, and is in the list of scopes."""
        assert put_at(name, 7, {}, scope=scope, by="ana", reason="a test")
        assert values_of(name, scope) == [7]
        assert scope in list(strategies[name].scopes.every())
        assert get_last_value(name, scope=scope) == 7

    def test_a_repeat(self, name: str, scope: str) -> None:
        """The same item again is a repeat; another one under its number is refused, and changes nothing."""
        for is_new in (True, False):
            assert put_at(name, 7, {"title": "a"}, scope=scope, by="ana", reason="a test") is is_new
        with pytest.raises(ItemExists, match="has other items under 7; these were not changed"):
            put_at(name, 7, {"title": "b"}, scope=scope, by="ana", reason="a test")
        found = get_item(name, 7, scope=scope)
        assert found is not None
        assert found.item == {"title": "a"}

    def test_a_number_below_the_last(self, name: str, scope: str) -> None:
        """A free number that was skipped is filled, and the sequence stays where it is."""
        put_at(name, 9, {}, scope=scope, by="ana", reason="a test")
        before = get_last_value(name, scope=scope)
        assert put_at(name, 5, {"title": "late"}, scope=scope, by="ana", reason="a test")
        assert get_last_value(name, scope=scope) == before
        assert values_of(name, scope) == [5, 9]
        assert audit(strategies[name], scope).unexplained == 0

    def test_the_next_one(self, name: str, scope: str) -> None:
        """The number after the last one skips nothing."""
        put_next(name, {}, scope=scope)
        last = get_last_value(name, scope=scope) or 0
        assert put_at(name, last + 1, {}, scope=scope, by="ana", reason="a test")
        assert put_next(name, {}, scope=scope).value == last + 2
        assert last > 1 or audit(strategies[name], scope).missing == 0

    @pytest.mark.parametrize(("value", "rows"), [(2, {}), (3, {2: None}), (4711, {2: 4710})])
    def test_the_row_under_the_next_number(
        self, value: int, rows: dict[int, int | None], scope: str, install: Install
    ) -> None:
        """Where items are counted, a void row under the next number leads to the last number that is skipped."""
        install("sort-key", GIVEN=True)
        put_next("sort-key", {}, scope=scope)
        put_at("sort-key", value, {}, scope=scope, by="ana", reason="a test")
        found = {n: row["void"].get("until") for n, row in stored("sort-key", scope).items() if "void" in row}
        assert found == rows


class TestMany:
    def test_thousands(self, name: str, scope: str, wire: Wire) -> None:
        """They are stored a hundred in a transaction, each once, however often the import is repeated."""
        given = {value: {"n": value} for value in range(3, 1203, 4)}
        wire.clear()
        assert sorted(give(name, scope, given)) == sorted(given)
        assert wire.operations.count("TransactWriteItems") <= 5
        assert give(name, scope, given) == []
        assert values_of(name, scope) == sorted(given)
        assert put_next(name, {}, scope=scope).value > max(given)
        assert audit(strategies[name], scope).unexplained == 0

    def test_what_an_earlier_run_has_stored(self, name: str, scope: str) -> None:
        """A run that failed midway goes on: it stores what is missing, and names what others have taken."""
        give(name, scope, {5: {"n": 5}, 9: {"n": 9}})
        assert give(name, scope, {value: {"n": value} for value in (3, 5, 7, 9)}) == [3, 7]
        import_row(name, scope, 4)
        with pytest.raises(ItemExists, match="under 4; these"):
            give(name, scope, {value: {"n": value} for value in (2, 3, 4)})
        assert put_next(name, {}, scope=scope).value > 9

    def test_lost_answers(self, name: str, scope: str, wire: Wire) -> None:
        """After lost answers each item is stored once, and the sequence is past them."""
        wire.lose("TransactWriteItems", times=2)
        assert sorted(give(name, scope, {2: {}, 4: {}, 6: {}})) == [2, 4, 6]
        wire.forget_request_tokens()
        wire.lose("TransactWriteItems", times=3)
        assert set(give(name, scope, {3: {}, 5: {}, 8: {}})) >= {3, 5}
        assert values_of(name, scope) == [2, 3, 4, 5, 6, 8]
        assert put_next(name, {}, scope=scope).value > 8

    @pytest.mark.parametrize(("count", "more"), [(10, ""), (11, " and more")])
    def test_many_that_are_taken(self, count: int, more: str, scope: str, install: Install) -> None:
        """Of many numbers that other items have, the first ten are named."""
        install("atomic", GIVEN=True)
        give("atomic", scope, {value: {"by": "ana"} for value in range(1, count + 1)})
        with pytest.raises(ItemExists, match=f"under 1, 2, 3, 4, 5, 6, 7, 8, 9, 10{more}; these"):
            give("atomic", scope, {value: {"by": "bo"} for value in range(1, count + 1)})

    def test_beside_writers(self, name: str, scope: str) -> None:
        """Writers go on meanwhile: every item is stored once, under its own number."""

        def work(n: int) -> list[int]:
            if n % 2:
                return give(name, scope, {100 * n + m: {"by": n} for m in range(3)})
            return [put_next(name, {"by": n}, scope=scope).value for _ in range(5)]

        told = [value for values in at_once(6, work) for value in values]
        assert sorted(told) == values_of(name, scope)
        assert len(set(told)) == len(told)

    def test_nothing(self, name: str, scope: str, wire: Wire) -> None:
        """No items are no request."""
        wire.clear()
        assert give(name, scope, {}) == []
        assert wire.sent == []


class TestRefused:
    def test_a_sequence_that_does_not_allow_it(self, scope: str) -> None:
        """Without the option it says how to allow it."""
        with pytest.raises(OperationNotSupported, match=r"\['GIVEN'\] to True"):
            put_at("sort-key", 7, {}, scope=scope, by="ana", reason="a test")

    def test_nothing_is_stored_before_all_are_checked(self, name: str, scope: str, wire: Wire) -> None:
        """A wrong item or value of many is refused before the first is stored."""
        wire.clear()
        with pytest.raises(InvalidItem, match="cannot be stored"):
            give(name, scope, {1: {}, 2: {"price": 1.5}})
        with pytest.raises(ValueError, match="never gives that"):
            give(name, scope, {1: {}, 0: {}})
        assert wire.sent == []

    def test_a_frozen_scope(self, name: str, scope: str) -> None:
        """A frozen scope takes none."""
        put_next(name, {}, scope=scope)
        freeze(name, scope=scope, by="bo", reason="closed")
        with pytest.raises(SequenceFrozen, match="by bo"):
            put_at(name, 900, {}, scope=scope, by="ana", reason="a test")

    def test_a_void_number(self, name: str, scope: str) -> None:
        """A number that was withdrawn is not given again."""
        put_at(name, 7, {"title": "a"}, scope=scope, by="ana", reason="a test")
        void(name, 7, scope=scope, by="bo", reason="wrong")
        with pytest.raises(ItemExists):
            put_at(name, 7, {"title": "b"}, scope=scope, by="ana", reason="a test")

    def test_who_and_why(self, name: str, scope: str) -> None:
        """A given number is signed."""
        with pytest.raises(InvalidChange, match="reason is ''"):
            put_at(name, 7, {}, scope=scope, by="ana", reason="")

    @pytest.mark.parametrize(("code", "error"), [("ValidationError", StorageRefused), ("None", SequenceContention)])
    def test_an_item_that_is_refused(
        self,
        code: str,
        error: type[SequenceError],
        scope: str,
        clock: Clock,
        install: Install,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """An item of several that never can be stored ends the import at once; what may pass is tried with pauses."""
        install("atomic", GIVEN=True, clock=clock, deadline=0.3)
        sent: list[object] = []
        said = "cancelled"
        if code != "None":
            said = r"^The item of 2 cannot be stored: ValidationError: an .* type\. Others are stored: correct it"

        def refuse(operation: str, request: Mapping[str, Any], **how: Any) -> None:
            sent.append(request)
            assert len(sent) < 100
            reasons = (CancellationReason("None"), CancellationReason(code, message="an index key of another type"))
            raise WriteCancelled("cancelled", reasons)

        monkeypatch.setattr(given, "write_once", refuse)
        with pytest.raises(error, match=said):
            give("atomic", scope, {1: {}, 2: {}, 3: {}})
        assert len(sent) in ([1] if code != "None" else range(2, 30))

    def test_keys_of_their_own(self, scope: str, install: Install) -> None:
        """Items with keys of their own are for the application to store."""
        install("atomic", GIVEN=True, value_in="attribute")
        with pytest.raises(OperationNotSupported, match="keys of their own"):
            put_at("atomic", 7, {"pk": "a", "sk": 1}, scope=scope, by="ana", reason="a test")

    def test_values_of_another_region(self, scope: str, install: Install) -> None:
        """They are stored where that Region writes; otherwise this one would go on with its numbers."""
        install("atomic", GIVEN=True, START={"us-east-1": 1, "us-west-2": 2}, STEP=2)
        with pytest.raises(ValueError, match="value is 10, which 'atomic' gives in another Region: store it there"):
            give("atomic", scope, {9: {}, 10: {}})
        give("atomic", scope, {9: {}})
        assert put_next("atomic", {}, scope=scope).value == 11

    def test_above_the_maximum(self, scope: str, install: Install) -> None:
        """MAXIMUM holds for given numbers, too."""
        install("sort-key", GIVEN=True, MAXIMUM=10)
        with pytest.raises(ValueError, match="above MAXIMUM"):
            put_at("sort-key", 11, {}, scope=scope, by="ana", reason="a test")
        put_at("sort-key", 10, {}, scope=scope, by="ana", reason="a test")
        with pytest.raises(SequenceExhausted):
            put_next("sort-key", {}, scope=scope)


def test_a_period(scope: str, install: Install) -> None:
    """A number of a period is given by its name, or by the date of the document, which its text has."""
    install("transactional", GIVEN=True, PERIOD="year", FORMAT="INV-{year}-{value:04d}", text_name="text")
    put_at("transactional", 7, {}, date=datetime.date(2031, 3, 5), by="ana", reason="a test")
    row = get_item("transactional", 7, period="2031")
    assert row is not None
    assert (row.text, row.period) == ("INV-2031-0007", "2031")
    assert put_next("transactional", {}, date=datetime.date(2031, 3, 6)).text == "INV-2031-0008"


def test_values_without_items(scope: str, install: Install) -> None:
    """Bare values go on above a given one."""
    install("atomic", GIVEN=True)
    assert get_next_value("atomic", scope=scope) == 1
    put_at("atomic", 50, {}, scope=scope, by="ana", reason="a test")
    assert get_next_value("atomic", scope=scope) == 51


def test_other_processes_go_on_above(scope: str, install: Install, spawned: Processes) -> None:
    """Processes that remember the last number meet the given one, and give none below it twice."""
    install("sort-key", GIVEN=True)
    before = spawned.run(put_some, "sort-key", scope, 2)
    put_at("sort-key", 500, {}, scope=scope, by="ana", reason="a test")
    after = [value for values in spawned.run(put_some, "sort-key", scope, 2) for value in values]
    assert min(after) > 500
    assert len({*after, *(value for values in before for value in values)}) == 16
