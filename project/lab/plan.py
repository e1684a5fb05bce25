"""What a comparison runs and what it may cost: names, numbers, prices. This module runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from project.lab.recipes import BARE_PUT_ITEM, NUMBERS, RECIPES
from sequences.capabilities import strategy_classes
from sequences.strategies import Strategy

__all__ = ["OURS", "STRATEGIES", "Plan", "Prices", "Row", "can_reserve", "is_ours"]

Row = dict[str, Any]

OURS: Mapping[str, type[Strategy]] = {strategy.__name__: strategy for strategy in strategy_classes()}
STRATEGIES = (*RECIPES, *OURS)
KNOWN = (*STRATEGIES, BARE_PUT_ITEM)
# Write and read units of a number with one writer, and whether its writers race each other.
RECIPE_UNITS: Mapping[str, tuple[float, float, bool]] = {
    "published-atomic": (2, 0, False),
    "published-number-first": (2, 0.5, False),
    "published-item-first": (2, 0.5, False),
    "published-placeholder": (3, 0, False),
    "published-conditional-update": (2, 0.5, True),
    "published-conditional-put": (2, 0.5, True),
    "published-conditional-add": (2, 0.5, True),
    "published-transaction": (4, 1, True),
    "published-sort-key-increment": (1, 0.5, True),
    "published-sort-key-requery": (1, 0.5, True),
    BARE_PUT_ITEM: (1, 0, False),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """`count` numbers by each of `strategies`, for each number of `writers`, spread over `processes`.

    The writers share `scopes`. `runs` is the number of rounds, `faults` the share of answers to writes that are lost,
    drawn from `seed`. `values_only` takes numbers without items. Raises ValueError for a plan that cannot run; it names
    the option and the remedy.
    """

    strategies: Sequence[str] = STRATEGIES
    writers: Sequence[int] = (8,)
    processes: int = 1
    count: int = 400
    scopes: int = 1
    runs: int = 1
    faults: float = 0.0
    seed: int = 1
    values_only: bool = False
    block_size: int = 100

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_strategies()

    def cases(self) -> Iterator[tuple[int, str]]:
        """Every (writers, strategy) of all rounds in the order in which they run; every second round runs backwards."""
        once = [(writers, strategy) for writers in self.writers for strategy in self.strategies]
        for number in range(self.runs):
            yield from once[:: -1 if number % 2 else 1]

    def _check_numbers(self) -> None:
        for name in ("processes", "count", "scopes", "runs", "block_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name.replace('_', '-')} must be 1 or more.")
        if not self.writers or min(self.writers) < 1:
            raise ValueError("--writers must be 1 or more.")
        fewest, most = min(self.writers), max(self.writers)
        if self.processes > fewest:
            raise ValueError(f"--processes {self.processes} needs as many --writers or more, not {fewest}.")
        if self.count < most:
            raise ValueError(f"--count {self.count} is less than --writers {most}: each writer needs a number.")
        if not 0 <= self.faults < 1:
            raise ValueError("--faults is the share of answers to lose: 0 or more, and less than 1.")

    def _check_strategies(self) -> None:
        if unknown := [name for name in self.strategies if name not in KNOWN]:
            raise ValueError(f"--strategies: unknown {', '.join(unknown)}. Known are: {', '.join(KNOWN)}.")
        if not self.strategies:
            raise ValueError(f"--strategies is empty. Known are: {', '.join(KNOWN)}.")
        unable = [name for name in self.strategies if not can_reserve(name)]
        if self.values_only and unable:
            able = ", ".join(filter(can_reserve, KNOWN))
            raise ValueError(f"--values-only: {', '.join(unable)} cannot number without an item. Choose from: {able}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Dollars for a million write and read units. The defaults are on-demand prices of us-east-1."""

    write: float = 0.625
    read: float = 0.125

    def per_million(self, row: Row) -> float:
        """Dollars for a million numbers with the units of this row."""
        return float(row["write_units_per_number"] * self.write + row["read_units_per_number"] * self.read)

    def estimate(self, plan: Plan) -> float:
        """The most dollars that a plan may cost on real tables: as if every race were lost."""
        dollars = 0.0
        for writers, strategy in plan.cases():
            write, read = _most_units(strategy, writers, plan.processes)
            # The check reads every item again, at less than half a unit each.
            each = write * self.write + (read + 0.5) * self.read
            dollars += (plan.count + writers * plan.scopes) * each / 1_000_000
        return dollars


def _most_units(strategy: str, writers: int, processes: int) -> tuple[float, float]:
    """Write and read units of a number if every race is lost. Our strategies race other processes only."""
    if is_ours(strategy):
        write, read, rivals = 4.0 if OURS[strategy].needs_transactions else 2.0, 1.0, processes
    else:
        write, read, fights = RECIPE_UNITS[strategy]
        rivals = writers if fights else 1
    return write * rivals, read * rivals


def is_ours(strategy: str) -> bool:
    """Whether this is the name of one of our strategies."""
    return strategy in OURS


def can_reserve(strategy: str) -> bool:
    """Whether a strategy or recipe can hand out a number without an item."""
    return strategy in NUMBERS or (is_ours(strategy) and OURS[strategy].supports_reserve)
