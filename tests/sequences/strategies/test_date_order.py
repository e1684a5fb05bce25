"""DATE_ORDER "refuse": numbers go up with the dates of documents, whoever writes, and a refusal costs no number."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from sequences import aput_next, get_last_value, items, put_next, put_next_each, put_next_many, put_next_together
from sequences.changes import advance, freeze, put_at, recover, thaw
from sequences.commit.requests import Pending, PutRequest
from sequences.exceptions import DateRefused, InvalidSequence
from sequences.registry import strategies
from sequences.rows.assignments import Hint
from sequences.strategies import Strategy
from sequences.testing.callers import at_once
from tests.sequences.support import Processes, Wire, make, nth, read_counter, set_counter

pytestmark = pytest.mark.usefixtures("configured")

NAMES = ["transactional", "transactional-beside", "transactional-from-1001-by-10"]
SIGNED: dict[str, Any] = {"by": "ana", "reason": "a test"}
Install = Callable[..., Strategy]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest, install: Install) -> str:
    """A sequence that keeps the order of dates, in each way it can be configured."""
    alias: str = request.param
    install(alias, DATE_ORDER="refuse", GIVEN=True)
    return alias


def day(number: int) -> date:
    """A day in March."""
    return date(2026, 3, number)


def put(name: str, scope: str, number: int, token: str | None = None) -> int:
    """Store a document of this day in March; its value."""
    return put_next(name, {"day": number}, scope=scope, date=day(number), idempotency_token=token).value


def put_days(name: str, scope: str, days: list[int]) -> list[tuple[int, int]]:
    """Store documents of these days in a process of its own, as far as they are taken: their days and values."""
    strategies._made[name] = make(name, DATE_ORDER="refuse")
    found = []
    for number in days:
        try:
            found.append((number, put(name, scope, number)))
        except DateRefused:
            pass
    return found


def days_of(name: str, scope: str) -> list[int]:
    """The days of the documents, in the order of their numbers."""
    return [item.item["day"] for item in items(name, scope=scope)]


class TestOrder:
    def test_an_earlier_date(self, name: str, scope: str) -> None:
        """It is refused with number and date of the last document, and the first date that is allowed; none is lost."""
        put(name, scope, 5)
        assert put(name, scope, 7) == nth(name, 2)
        with pytest.raises(DateRefused) as refused:
            put(name, scope, 6)
        assert f"number {nth(name, 2)} of {name!r}, scope {scope!r}, is dated 2026-03-07" in str(refused.value)
        assert "Date it 2026-03-07 or later." in str(refused.value)
        assert refused.value.first == day(7)
        assert pickle.loads(pickle.dumps(refused.value)).first == day(7)
        assert put(name, scope, 7) == nth(name, 3)
        assert days_of(name, scope) == [5, 7, 7]

    def test_what_it_costs(self, name: str, scope: str, wire: Wire) -> None:
        """No request and no unit more than a sequence without the key."""
        costs = []
        for order in ("any", "refuse"):
            strategies._made[name] = make(name, DATE_ORDER=order, PERIOD="year")
            wire.clear()
            found = [put_next(name, {}, scope=f"{scope}{order}", date=day(n), idempotency_token=f"{n}") for n in (5, 6)]
            costs.append((wire.operations, wire.units, [(one.write_units, one.read_units) for one in found]))
        assert costs[0] == costs[1]

    def test_scopes_and_periods(self, install: Install, scope: str) -> None:
        """Each scope has an order of its own in each period."""
        install("transactional", DATE_ORDER="refuse", PERIOD="year", FORMAT="{scope}-{period}-{value}")
        for at, named in ((day(5), scope), (date(2025, 12, 31), scope), (day(4), f"{scope}-2")):
            assert put_next("transactional", {}, scope=named, date=at).value == 1
        with pytest.raises(DateRefused, match=r"scope '\w+' of 2026, is dated 2026-03-05"):
            put_next("transactional", {}, scope=scope, date=day(4))

    def test_today(self, install: Install, scope: str) -> None:
        """Without a date it is today in the time zone of the sequence, and 23:30 in UTC is tomorrow in Berlin."""
        moment = 1772753400.0  # 2026-03-05T23:30:00Z
        install("transactional", DATE_ORDER="refuse", TIME_ZONE="Europe/Berlin", wall=lambda: moment)
        put_next("transactional", {}, scope=scope)
        with pytest.raises(DateRefused, match="is dated 2026-03-06"):
            put("transactional", scope, 5)

    def test_all_or_none(self, name: str, scope: str) -> None:
        """Items that are stored together, or one after the other, are refused together."""
        put(name, scope, 7)
        with pytest.raises(DateRefused):
            put_next_together(name, [{"day": 6}, {"day": 6}], scope=scope, date=day(6))
        answers = put_next_each(name, [{"day": 6}, {"day": 6}], scope=scope, date=day(6))
        assert [type(one) for one in answers] == [DateRefused, DateRefused]
        allocations = put_next_many(name, [{"day": 8}, {"day": 8}], scope=scope, date=day(8))
        assert [one.value for one in allocations] == [nth(name, 2), nth(name, 3)]
        with pytest.raises(DateRefused, match=f"number {nth(name, 3)} of"):
            put(name, scope, 7)


class TestRepeats:
    def test_a_repeat_has_its_first_answer(self, name: str, scope: str) -> None:
        """A request that was stored in order is answered although later documents are stored since."""
        first = put(name, scope, 5, "one")
        for number in (6, 7):
            put(name, scope, number)
            assert put(name, scope, 5, "one") == first
        strategies[name].forget()
        assert put(name, scope, 5, "one") == first
        with pytest.raises(DateRefused):
            put(name, scope, 5, "another")
        assert put(name, scope, 5, "one") == first
        assert days_of(name, scope) == [5, 6, 7]

    def test_a_lost_answer(self, name: str, scope: str, wire: Wire) -> None:
        """The write is sent again, and was stored once, also if another process stores a later document between."""
        put(name, scope, 5)
        wire.lose("TransactWriteItems")
        assert put(name, scope, 6) == nth(name, 2)
        other = make(name, DATE_ORDER="refuse")
        strategy = strategies[name]

        def later() -> None:
            strategies._made[name] = other
            put(name, scope, 8)
            strategies._made[name] = strategy

        wire.lose("TransactWriteItems")
        wire.after("TransactWriteItems", later)
        assert put(name, scope, 7) == nth(name, 3)
        assert days_of(name, scope) == [5, 6, 7, 8]

    @pytest.mark.usefixtures("alone_on_its_host")
    def test_a_lost_answer_of_a_late_document(self, name: str, scope: str, wire: Wire) -> None:
        """Its outcome is certain as soon as the counter is seen: no later answer can store it."""
        put(name, scope, 5)
        put_by_another(name, scope, 7)
        last_value = read_counter(name, scope)["last_value"]
        strategies[name].accept_hint(scope, Hint(last_value, strategies[name].timing.clock()))
        wire.clear()
        wire.lose("TransactWriteItems")
        with pytest.raises(DateRefused):
            put(name, scope, 6)
        assert days_of(name, scope) == [5, 7]


class TestGroups:
    def test_callers_of_one_group(self, name: str, scope: str) -> None:
        """Those that come while a write is under way are put in the order of their dates, by one write; no late one."""
        strategy = strategies[name]
        put(name, scope, 4)
        strategy.forget()  # so that it reads the date of the last document
        writer = strategy.item_writer
        calls = [put_pending(name, number) for number in (9, 3, 7, 5)]
        write = writer.prepare(scope, calls, strategy.deadline())
        assert write is not None
        assert [pending.request.day for pending in write.pendings] == [day(number) for number in (5, 7, 9)]

    def test_one_that_comes_too_late(self, name: str, scope: str) -> None:
        """It is refused, and the others of its group are stored."""
        strategy = strategies[name]
        put(name, scope, 5)
        strategy.forget()
        calls = [put_pending(name, number) for number in (8, 4, 6)]
        strategy.put(scope, calls, strategy.deadline())
        assert [type(call.answer).__name__ for call in calls] == ["Allocation", "DateRefused", "Allocation"]
        assert days_of(name, scope) == [5, 6, 8]

    def test_threads(self, name: str, scope: str) -> None:
        """Whatever comes first: the stored numbers are in order, and have no gap."""
        found = at_once(8, lambda index: put_days_here(name, scope, [(index * 3 + n * 5) % 28 + 1 for n in range(6)]))
        stored = days_of(name, scope)
        assert stored == sorted(stored)
        assert len(stored) == sum(map(len, found))
        assert get_last_value(name, scope=scope) == nth(name, len(stored))

    def test_awaiting_callers(self, name: str, scope: str) -> None:
        """Those that await together are put in order, too."""

        async def both() -> list[Any]:
            calls = [aput_next(name, {"day": n}, scope=scope, date=day(n)) for n in (9, 3, 7, 5)]
            return await asyncio.gather(*calls, return_exceptions=True)

        answers = asyncio.run(both())
        stored = days_of(name, scope)
        assert stored == sorted(stored)
        assert len(stored) == sum(not isinstance(answer, DateRefused) for answer in answers)

    def test_processes(self, scope: str, spawned: Processes) -> None:
        """Processes that know nothing of each other keep one order."""
        found = [one for run in spawned.run(put_days, "transactional", scope, [*range(1, 15)]) for one in run]
        numbers = [number for number, _ in sorted(found, key=lambda one: one[1])]
        assert numbers == sorted(numbers)
        assert sorted(value for _, value in found) == [*range(1, len(found) + 1)]


class TestChanges:
    def test_a_counter_without_a_date(self, name: str, scope: str) -> None:
        """A sequence that gets the key later keeps the order from its next document on."""
        strategies._made[name] = make(name)
        put_next(name, {"day": 0}, scope=scope)
        strategies._made[name] = make(name, DATE_ORDER="refuse")
        assert put(name, scope, 5) == nth(name, 2)
        with pytest.raises(DateRefused):
            put(name, scope, 4)

    def test_without_the_key_again(self, name: str, scope: str) -> None:
        """Where the key is gone no document is refused, and its return looks at the last one that was in order."""
        put(name, scope, 5)
        strategies._made[name] = make(name, DATE_ORDER="any", PERIOD="never")
        assert put_next(name, {"day": 1}, scope=scope).value == nth(name, 2)
        strategies._made[name] = make(name, DATE_ORDER="refuse")
        with pytest.raises(DateRefused, match=f"number {nth(name, 1)} of"):
            put(name, scope, 4)
        assert put(name, scope, 5) == nth(name, 3)

    def test_guarded_changes_keep_the_date(self, name: str, scope: str) -> None:
        """After an advance, a recover, a freeze and a thaw the last document is as before."""
        put(name, scope, 5)
        advance(name, to=nth(name, 10), scope=scope, **SIGNED)
        recover(name, scope=scope, margin=0, **SIGNED)
        freeze(name, scope=scope, **SIGNED)
        thaw(name, scope=scope, **SIGNED)
        with pytest.raises(DateRefused, match=f"number {nth(name, 1)} of .* is dated 2026-03-05"):
            put(name, scope, 4)
        assert put(name, scope, 5) == nth(name, 11)

    def test_given_numbers(self, name: str, scope: str) -> None:
        """A given document may be dated before the last one, and is the last one if it is dated later."""
        put(name, scope, 5)
        put_at(name, nth(name, 5), {"day": 3}, scope=scope, date=day(3), **SIGNED)
        assert put(name, scope, 5) == nth(name, 6)
        put_at(name, nth(name, 9), {"day": 8}, scope=scope, date=day(8), **SIGNED)
        with pytest.raises(DateRefused, match=f"number {nth(name, 9)} of .* is dated 2026-03-08"):
            put(name, scope, 7)

    def test_a_counter_that_was_set_by_hand(self, name: str, scope: str) -> None:
        """Without the attribute the order begins with the next document."""
        put(name, scope, 5)
        row = read_counter(name, scope)
        assert row["last_document"] == {"date": "2026-03-05", "value": nth(name, 1)}
        set_counter(name, scope, last_document={"date": "2026-03-01", "value": nth(name, 1)})
        assert put(name, scope, 2) == nth(name, 2)


class TestSettings:
    @pytest.mark.parametrize("name", ["sort-key", "atomic", "optimistic-update", "block"])
    def test_where_it_cannot_hold(self, name: str) -> None:
        """Strategies without a counter, or that lose a value by a refusal, name the remedy."""
        with pytest.raises(InvalidSequence, match=r"'DATE_ORDER'.* must be 'any'.*Take TransactionalCounter"):
            make(name, DATE_ORDER="refuse")

    def test_regions(self) -> None:
        """Regions that count on their own have no common order."""
        with pytest.raises(InvalidSequence, match="with one START"):
            make("transactional", DATE_ORDER="refuse", START={"us-east-1": 1, "eu-west-1": 2}, STEP=2)

    def test_other_words(self) -> None:
        """It is "any" or "refuse"."""
        with pytest.raises(InvalidSequence, match=r"'DATE_ORDER'. is 'strict'; it must be one of 'any', 'refuse'"):
            make("transactional", DATE_ORDER="strict")


def put_by_another(name: str, scope: str, number: int) -> None:
    """Store a document of this day as another process does."""
    strategy = strategies[name]
    put_days(name, scope, [number])
    strategies._made[name] = strategy


def put_days_here(name: str, scope: str, days: list[int]) -> list[int]:
    """Store documents of these days, as far as they are taken; their values."""
    found = []
    for number in days:
        try:
            found.append(put(name, scope, number))
        except DateRefused:
            pass
    return found


def put_pending(name: str, number: int) -> Pending[PutRequest]:
    """The request for a document of this day in March."""
    return Pending(strategies[name].item_writer.request({"day": number}, None, (), day(number)))
