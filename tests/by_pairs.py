"""The option --by-pairs: each test meets every strategy, and not every configuration with everything else.

A test runs with so many of its parameters that each strategy, and each other value, occurs. Which configuration stands
for its strategy differs from test to test. The contract runs whole.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pytest

from tests.sequences.support import SEQUENCES

__all__ = ["by_pairs"]


def by_pairs(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that remain, in their order. It is the same choice in every process."""
    named: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        named[item.nodeid.partition("[")[0]].append(item)
    kept = {item for name, same in named.items() for item in _chosen(name, same)}
    return [item for item in items if item in kept]


def _chosen(name: str, same: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Of one test with its parameters, those that show a new value, in an order that the name of the test draws."""
    shown: set[tuple[str, str]] = set()
    for item in random.Random(name).sample(same, len(same)):
        values = _values(item)
        if not values or values - shown or _in_contract(item):
            yield item
        shown |= values


def _values(item: pytest.Item) -> set[tuple[str, str]]:
    """The parameters of a test by their names; the class of its strategy in place of a configuration."""
    callspec = getattr(item, "callspec", None)
    return {(name, _strategy(value) or repr(value)) for name, value in callspec.params.items()} if callspec else set()


def _strategy(value: object) -> str | None:
    return SEQUENCES[value]["STRATEGY"] if isinstance(value, str) and value in SEQUENCES else None


def _in_contract(item: pytest.Item) -> bool:
    from sequences.testing.contract import StrategyContract  # after the plugin, which has its asserts rewritten

    return issubclass(getattr(item, "cls", None) or object, StrategyContract)
