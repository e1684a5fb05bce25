"""Whether what callers were told is what is stored, for the contract of every strategy."""

from collections.abc import Mapping
from itertools import chain, pairwise
from typing import Any

from ..registry import strategies
from ..rows.reading import pages
from ..services import get_last_value
from .callers import put_some


def values_from_start(name: str, count: int) -> list[int]:
    """The first values of a sequence."""
    config = strategies[name].config
    return [config.start + config.step * n for n in range(count)]


def stored(name: str, scope: str | None) -> dict[int, Mapping[str, Any]]:
    """The items of a scope by their values, with their keys and the attributes that the contract's items have."""
    strategy = strategies[name]
    found = pages(strategy.schema, strategy.layout.partition(scope), 1000, "title", "at", "labels")
    return {strategy.schema.number(row): row for page in found for row in page}


def judge(name: str, scope: str, told: list[list[int]]) -> None:
    """Each value was told once, in increasing order to each of the callers, and is in its place."""
    values = sorted(chain.from_iterable(told))
    config = strategies[name].config
    assert all(a < b for a, b in pairwise(values)), "a value was handed out twice"
    assert all(a < b for part in told for a, b in pairwise(part)), "a later value is not the larger"
    assert values[0] == config.start
    assert {(value - config.start) % config.step for value in values} == {0}
    last_value = get_last_value(name, scope=scope)
    assert last_value is not None
    assert last_value >= values[-1]


def judge_items(name: str, scope: str, told: list[list[int]]) -> None:
    """Each value has an item, and every item's value was answered; gapless strategies leave no gap."""
    judge(name, scope, told)
    values = sorted(chain.from_iterable(told))
    assert sorted(stored(name, scope)) == values
    if strategies[name].gapless:
        assert values == values_from_start(name, len(values))
        assert get_last_value(name, scope=scope) == values[-1]


def judge_repeats(name: str, scope: str, told: list[tuple[int, bool]]) -> None:
    """All repeats at the same moment were told one value, which has the only item, and one of them stored it."""
    values = {value for value, _ in told}
    assert values == set(stored(name, scope))
    assert len(values) == 1
    assert [replayed for _, replayed in told].count(False) == 1
    if strategies[name].exactly_once:
        assert values == {strategies[name].config.start}
        assert put_some(name, scope, 1) == values_from_start(name, 2)[1:]
