"""The option --cover: a test runs with fewer of its parameters.

    --cover values     every value of each parameter occurs
    --cover pairs      every value meets every value of each other parameter

A strategy counts as one value, whatever its configuration. Which configuration stands for its strategy differs from
test to test. The contract runs whole.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest

from tests.sequences.support import SEQUENCES

__all__ = ["COVER", "fewer"]

COVER = {"values": 1, "pairs": 2}
"""How many values of a test must have met, by the value of the option."""

Value = tuple[str, str]


def fewer(items: Sequence[pytest.Item], cover: str) -> list[pytest.Item]:
    """The tests that remain, in their order. It is the same choice in every process."""
    named: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        named[item.nodeid.partition("[")[0]].append(item)
    kept = {item for name, same in named.items() for item in _chosen(name, same, COVER[cover])}
    return [item for item in items if item in kept]


def _chosen(name: str, same: list[pytest.Item], size: int) -> Iterator[pytest.Item]:
    """Of one test with its parameters, those that show anything new, in an order that the name of the test draws."""
    shown: set[tuple[Value, ...]] = set()
    for item in random.Random(name).sample(same, len(same)):
        values = _values(item)
        met = set(combinations(values, min(size, len(values))))
        if not values or met - shown or _in_contract(item):
            yield item
        shown |= met


def _values(item: pytest.Item) -> list[Value]:
    """The parameters of a test, in the order of their names; the class of its strategy in place of a configuration."""
    callspec = getattr(item, "callspec", None)
    params = callspec.params if callspec else {}
    return sorted((name, _strategy(value) or repr(value)) for name, value in params.items())


def _strategy(value: object) -> str | None:
    return SEQUENCES[value]["STRATEGY"] if isinstance(value, str) and value in SEQUENCES else None


def _in_contract(item: pytest.Item) -> bool:
    from sequences.testing.contract import StrategyContract  # after the plugin, which has its asserts rewritten

    return issubclass(getattr(item, "cls", None) or object, StrategyContract)
