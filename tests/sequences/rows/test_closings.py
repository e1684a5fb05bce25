"""The row of a closed period: where it is, whom it refuses, and the check of it beside a first write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.commit.requests import Pending, PutRequest
from sequences.dynamodb import marshal
from sequences.dynamodb.expressions import KeySchema, change_row
from sequences.exceptions import SequenceFrozen
from sequences.rows.counter_rows import Closings, CounterRows, CounterState, Opening
from sequences.types import Dated
from tests.sequences.support import Clock

COUNTERS = KeySchema(table="sequences", partition_name="sequence", sort_name="scope", sort_type="S")
PLACE = "sequences", {"sequence": {"S": "#closed#orders"}, "scope": {"S": "2026"}}
ABOUT = {"by": "ana", "at": "2027-01-02T03:04:05+00:00", "reason": "audited"}
SCOPE = Dated("A", "2026")


def closings(clock: Clock, *, beside_items: bool = False) -> Closings:
    """Those of a sequence with a table of counters, or with counters beside its items."""
    schema = KeySchema(table="items") if beside_items else COUNTERS
    rows = Mock(spec=CounterRows, schema=schema, beside_items=beside_items)
    rows.name = "orders"
    return Closings("orders", rows, clock)


def sending(**row: Any) -> Mock:
    """An engine with this row."""
    return Mock(return_value={"Item": marshal(row)} if row else {})


def row(since: float, **more: Any) -> Mapping[str, Any]:
    """The row of a period that is closed from then on."""
    return {**ABOUT, "since": int(since), "token": "t", **more}


def test_where_it_is(clock: Clock) -> None:
    """It is beside the counters, in a partition of its own."""
    assert closings(clock).place("2026") == PLACE
    beside = "items", {"pk": {"S": "#closed#orders#2026"}, "sk": {"N": "0"}}
    assert closings(clock, beside_items=True).place("2026") == beside


def test_a_read(clock: Clock) -> None:
    """The row is read consistently; without one nothing is closed."""
    send = sending(token="t")
    assert closings(clock).read("2026", send) == {"token": "t"}
    (operation, request), _ = send.call_args
    assert (operation, request["TableName"], request["Key"], request["ConsistentRead"]) == ("get_item", *PLACE, True)
    assert closings(clock).read("2026", sending()) == {}


def test_an_open_period(clock: Clock) -> None:
    """One that was never closed, or was opened again, refuses nobody; a scope may be open alone."""
    for open_row in ({}, {"token": "t"}, row(0, open=["A", "B"])):
        assert closings(clock).about(SCOPE, sending(**open_row)) == (open_row, {})
    assert closings(clock).require_open(SCOPE, sending()) == 1.0


def test_a_scope_without_periods(clock: Clock) -> None:
    """It is in no period that could be closed, and nothing is asked."""
    send = sending(**row(0))
    assert closings(clock).require_open("A", send) == 0.0
    send.assert_not_called()


@pytest.mark.parametrize("opened", [[], ["B", "#"]])
def test_a_closed_period(clock: Clock, opened: list[str]) -> None:
    """From its moment on it refuses every scope that is not open again, and says who closed it."""
    with pytest.raises(SequenceFrozen, match=r"are closed by ana since 2027-01-02T03:04:05\+00:00: audited"):
        closings(clock).require_open(SCOPE, sending(**row(clock.now, open=opened)))


def test_a_period_that_will_be_closed(clock: Clock) -> None:
    """Before that moment nobody is refused, and a counter that begins notes what was said."""
    later = row(clock.now + 1)
    noted = {**ABOUT, "since": later["since"]}
    assert closings(clock).about(SCOPE, sending(**later)) == (later, noted)
    assert Opening(closings(clock), SCOPE, sending(**later)).closing == noted
    assert Opening(closings(clock), SCOPE, sending()).closing is None


@pytest.mark.parametrize(
    ("frozen", "since", "said"),
    [
        ({"by": "bob"}, None, "is frozen by bob"),
        ({"by": "bob"}, 0, "is frozen by bob"),
        (None, 0, "are closed by ana"),
        (None, 1, ""),
        (None, None, ""),
    ],
)
def test_a_counter(clock: Clock, frozen: dict[str, Any] | None, since: int | None, said: str) -> None:
    """A counter that is frozen, or whose period is closed by now, is refused; a freeze is told first."""
    closing = None if since is None else {**ABOUT, "since": clock.now + since}
    state = CounterState(7, 7, frozen=frozen, closing=closing)
    if not said:
        closings(clock).require_thawed(SCOPE, state)
        return
    with pytest.raises(SequenceFrozen, match=said):
        closings(clock).require_thawed(SCOPE, state)


def pendings(*actions: int) -> list[Pending[PutRequest]]:
    """Requests that take so many actions each."""
    return [Pending(PutRequest(item={}, more=(({}, None),) * (count - 1))) for count in actions]


@pytest.mark.parametrize(
    ("actions", "fitting", "is_checked"),
    [([1, 1, 1], 3, True), ([1, 1, 2], 2, False), ([3, 2], 1, False), ([4, 1], 1, False), ([5, 1], 1, False)],
)
def test_beside_a_first_write(clock: Clock, actions: list[int], fitting: int, is_checked: bool) -> None:
    """The check is one more action; a request that fills the transaction is written without it, and alone."""
    opening, given = Opening(closings(clock), SCOPE, sending(token="t")), pendings(*actions)
    assert opening.fitting(given, 4) == given[:fitting]
    check = opening.check(given, 4)
    assert (check is not None) is is_checked
    assert opening.read_units == 1.0


def test_the_check(clock: Clock) -> None:
    """It holds while the row is as it was read, or is still not there."""
    for send, token in ((sending(token="t"), "t"), (sending(), None)):
        update = change_row(*PLACE, unchanged={"token": token})
        del update["UpdateExpression"]
        assert Opening(closings(clock), SCOPE, send).check(pendings(1), 4) == {"ConditionCheck": update}
