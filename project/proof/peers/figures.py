"""What is made of the measurements: medians, ratios, faults. Nothing is measured here."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of one side. Latencies, and the CPU time of the web processes a request, are 0 if not measured."""

    per_second: float
    faults: int
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    cpu_ms: float = 0.0


def in_turns(sides: Sequence[T], runs: int) -> Iterator[tuple[int, T]]:
    """Each side once in every round, with the number of the round. Every second round has the opposite order."""
    for number in range(runs):
        for side in sides[:: -1 if number % 2 else 1]:
            yield number, side


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """The medians of one side, the sum of its faults, and its runs one by one."""
    names = ("per_second", "p50_ms", "p99_ms", "cpu_ms")
    medians = {name: statistics.median(getattr(run, name) for run in runs) for name in names}
    return {**medians, "faults": sum(run.faults for run in runs), "runs": [asdict(run) for run in runs]}


def over(ours: Sequence[Run], peer: Sequence[Run], bar: float) -> dict[str, Any]:
    """Our speed over the peer's: the median of the rounds, whether it reaches the bar, and the rounds one by one."""
    ratios = [round(mine.per_second / theirs.per_second, 2) for mine, theirs in zip(ours, peer, strict=True)]
    ratio = statistics.median(ratios)
    return {"ratio": ratio, "bar": bar, "reached": ratio >= bar, "runs": ratios}


def in_cells(ratio: dict[str, Any]) -> str:
    """A ratio's bar and the ratio, with the lowest and the highest round, as two cells of a Markdown table."""
    spread = f"[{min(ratio['runs']):,.2f}..{max(ratio['runs']):,.2f}]"
    return f"at least {ratio['bar']:g} | {ratio['ratio']:,.2f} {spread}{'' if ratio['reached'] else ' MISSED'}"


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def count_faults(numbers: Sequence[int], *, after: int) -> int:
    """The number of duplicates, plus the number of gaps between `after` and the highest number.

    A number that is not above `after` was used before, so it is a duplicate.
    """
    new = {number for number in numbers if number > after}
    gaps = max(new, default=after) - after - len(new)
    return len(numbers) - len(new) + gaps


class LastNumbers:
    """The last number of each project so far. The first number of a project is 1."""

    def __init__(self) -> None:
        self._last: defaultdict[str, int] = defaultdict(int)

    def go_on(self, new: Iterable[tuple[str, int]]) -> int:
        """Take the numbers of new tickets, each with its project. Returns how many are missing, or were used before."""
        numbers = defaultdict(list)
        for project, number in new:
            numbers[project].append(number)
        faults = sum(count_faults(found, after=self._last[project]) for project, found in numbers.items())
        for project, found in numbers.items():
            self._last[project] = max(self._last[project], *found)
        return faults
