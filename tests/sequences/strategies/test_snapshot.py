"""A scope as one look finds it: what counts as its last value, and what it is refused for."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from sequences import dynamodb
from sequences.dynamodb import expressions
from sequences.exceptions import ScopeNotFound, SequenceFrozen, SequenceWentBack
from sequences.rows.numbers import Numbers
from sequences.strategies.snapshot import ScopeSnapshot

KEY = {"pk": {"S": "#counter"}}
BY_ANA = {"by": "ana", "at": "noon", "reason": "a test"}


class Stored:
    """One scope as it is stored, with or without a counter, and what its host remembers of it."""

    def __init__(
        self,
        row: Mapping[str, Any] | None = None,
        top: int | None = None,
        *,
        remembered: int | None = None,
        frozen: Mapping[str, Any] | None = None,
        start: int = 1,
        made_anew: bool = False,
        switch: bool = False,
        **options: bool,
    ) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.asked: list[str] = []
        self.row = row
        evidence = None if remembered is None else SimpleNamespace(known=lambda scope: remembered)
        rows = SimpleNamespace(change=lambda scope, **how: {"scope": scope, **how})
        counter = SimpleNamespace(table="counters", key=lambda scope: KEY, evidence=evidence, rows=rows)
        self.strategy: Any = SimpleNamespace(
            alias="stub",
            counter=None if row is None else counter,
            evidence=evidence,
            lives=SimpleNamespace(changed=lambda send: self.ask("lives", made_anew)),
            layout=SimpleNamespace(
                check_scope=lambda scope: self.ask(f"scope {scope}", None),
                top=lambda scope, send: (top, 0.5, frozen),
                in_collections=options.pop("in_collections", True),
            ),
            numbers=Numbers(alias="stub", start=start, step=1, maximum=100),
            option=options,
            following=SimpleNamespace(now=lambda send: self.ask("switch", switch)),
            wall=lambda: 1000.0,
        )

    def ask(self, what: str, answer: Any) -> Any:
        """Note that somebody asks, and answer."""
        self.asked.append(what)
        return answer

    def send(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a read of the counter."""
        self.requests.append((operation, request))
        return {"Item": dynamodb.marshal(self.row)} if self.row else {}

    def look(self, scope: str | None = "ABC") -> ScopeSnapshot:
        """One look at the scope."""
        return ScopeSnapshot(self.strategy, scope, self.send)


@pytest.mark.parametrize(
    ("stored", "last", "handed_out"),
    [
        (Stored(), None, 0),
        (Stored(start=0), None, -1),
        (Stored({}), None, 0),
        (Stored(top=4), 4, 4),
        (Stored({"last_value": 5}), 5, 5),
        (Stored({"last_value": 5}, 7), 7, 7),
        (Stored({"last_value": 5}, 3), 5, 5),
        (Stored({"last_value": 5, "highest": 9}, 7), 7, 9),
        (Stored({"last_value": 5}, remembered=8), 5, 8),
        (Stored(top=4, remembered=8), 4, 8),
        (Stored(remembered=8), None, 8),
        (Stored(top=3, start=3), 3, 3),
        (Stored(top=2, start=3), None, 2),
    ],
)
def test_the_last_value(stored: Stored, last: int | None, handed_out: int) -> None:
    """It is the higher one of the counter's and the items', from START on; more may have been handed out."""
    seen = stored.look()
    assert (seen.last, seen.handed_out) == (last, handed_out)


@pytest.mark.parametrize(
    ("stored", "asked", "handed_out"),
    [
        (Stored({"last_value": 5}, remembered=6, made_anew=True), True, 5),
        (Stored({"last_value": 5}, remembered=6), True, 6),
        (Stored(remembered=6, made_anew=True), True, 0),
        (Stored({"last_value": 5}, remembered=5, made_anew=True), False, 5),
        (Stored({"last_value": 5}, made_anew=True), False, 5),
    ],
)
def test_tables_that_were_made_anew(stored: Stored, asked: bool, handed_out: int) -> None:
    """What the host remembers of former tables is left out; they are asked only if the scope is lower than that."""
    assert stored.look().handed_out == handed_out
    assert stored.asked == ["scope ABC", *["lives"] * asked]


def test_one_read_of_the_counter() -> None:
    """The counter is read once, and not at all where there is none; it can be changed by its key."""
    stored = Stored({"last_value": 5})
    seen = stored.look()
    assert (seen.row, seen.state.last_value) == ({"last_value": 5}, 5)
    assert seen.change(set={"a": 1}) == {"scope": "ABC", "set": {"a": 1}}
    assert stored.requests == [("get_item", expressions.read_item("counters", KEY))]
    stored = Stored(top=5)
    assert stored.look().row == {}
    assert stored.requests == []


def test_a_counter_of_another_strategy() -> None:
    """Where a counter is given it is looked at, with what its host remembers, in place of the strategy's."""
    other, stored = Stored({"last_value": 5}, remembered=9), Stored(top=3, remembered=4)
    seen = ScopeSnapshot(stored.strategy, "ABC", other.send, counter=other.strategy.counter)
    assert (seen.last, seen.handed_out) == (5, 9)


def test_a_scope_that_must_exist() -> None:
    """With `scope_must_exist` a scope without items is refused, whatever its counter says."""
    with pytest.raises(ScopeNotFound, match="create it before you change it"):
        Stored({"last_value": 5}, scope_must_exist=True).look()
    assert Stored(top=1, scope_must_exist=True).look().last == 1
    assert Stored(scope_must_exist=False).look().last is None


def test_a_scope_that_is_not_there() -> None:
    """A scope with neither a counter nor items is refused by its name; with one of them it exists."""
    for stored, scope, named in ((Stored({}), "ABC", "in the scope 'ABC'"), (Stored(), None, "without a scope")):
        with pytest.raises(ScopeNotFound, match=f"'stub' has counted nothing {named}, so nothing"):
            stored.look(scope).require_existing()
    Stored({"last_value": 1}).look().require_existing()
    Stored(top=1).look().require_existing()


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        (Stored({"last_value": 5, "highest": 9}), "The counter of .* says 5, but 9 was"),
        (Stored({"last_value": 5}, remembered=6), "The counter of .* says 5, but 6 was"),
        (Stored(top=4, remembered=6), "The items of .* end at 4, but 6 was"),
        (Stored(remembered=1), "The items of .* end at nothing, but 1 was"),
    ],
)
def test_a_scope_that_went_back(stored: Stored, said: str) -> None:
    """A counter below what it handed out, and items below that without a counter, are refused with the remedy."""
    with pytest.raises(SequenceWentBack, match=said):
        stored.look().require_order()


@pytest.mark.parametrize(
    "stored",
    [
        Stored(),
        Stored({}),
        Stored(top=4, remembered=4),
        Stored({"last_value": 5, "highest": 5}, remembered=5),
        Stored({"last_value": 5, "highest": 9}, switch=True),
    ],
)
def test_a_scope_in_order(stored: Stored) -> None:
    """What reaches all that was handed out is in order; while a switch is under way, items count and not a counter."""
    stored.look().require_order()


@pytest.mark.parametrize(
    ("stored", "by_rows", "asked"),
    [
        (Stored(switch=True), True, False),
        (Stored({}, switch=True), True, True),
        (Stored({}), False, True),
        (Stored({}, switch=True, in_collections=False), False, False),
    ],
)
def test_who_counts_the_items(stored: Stored, by_rows: bool, asked: bool) -> None:
    """Writers count items where there is no counter, or while a switch to one is under way, which is read once."""
    seen = stored.look()
    assert [seen.by_rows, seen.by_rows] == [by_rows, by_rows]
    assert stored.asked.count("switch") == asked


def test_values_that_nothing_has_stored() -> None:
    """A value that was handed out above the last one is refused; a scope without a last value is not."""
    with pytest.raises(SequenceWentBack, match="says 5, but 8 was"):
        Stored({"last_value": 5}, 6, remembered=8).look().require_stored()
    Stored({"last_value": 5}, 8, remembered=8).look().require_stored()
    Stored({}, remembered=8).look().require_stored()


@pytest.mark.parametrize(
    ("stored", "by"),
    [
        (Stored({"frozen": BY_ANA}, frozen={"by": "ben"}), BY_ANA),
        (Stored({"last_value": 1}, frozen=BY_ANA), BY_ANA),
        (Stored({"closing": {**BY_ANA, "since": 1000}}), {**BY_ANA, "since": 1000, "closed": True}),
    ],
)
def test_a_frozen_scope(stored: Stored, by: Mapping[str, Any]) -> None:
    """It is frozen at its counter, at its highest row, or by a period that is closed by now."""
    seen = stored.look()
    assert seen.frozen == by
    with pytest.raises(SequenceFrozen, match="by ana since noon: a test"):
        seen.require_thawed()


@pytest.mark.parametrize("stored", [Stored({"last_value": 1}), Stored({"closing": {**BY_ANA, "since": 1001}})])
def test_a_thawed_scope(stored: Stored) -> None:
    """A scope is not frozen before the moment at which its period is closed."""
    seen = stored.look()
    assert seen.frozen is None
    seen.require_thawed()
