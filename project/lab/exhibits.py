"""What the committed runs show, for a page: each race and each comparison with its drawings, figures and sentences.

Each is drawn once in a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from project.lab import charts, report
from project.lab.plan import is_ours
from project.lab.races import BLOCK_SIZE, DELAY_MS, Race
from project.lab.records import comparisons, races
from project.lab.timelines import timeline
from project.lab.words import WORDS

__all__ = ["comparison_titles", "strategies", "the_comparison", "the_race"]


def strategies() -> tuple[Sequence[str], Sequence[str]]:
    """The names of ours, which also race in one process, and of the published recipes."""
    names = dict.fromkeys(race.strategy for race in races()[1])
    return [name for name in names if is_ours(name)], [name for name in names if not is_ours(name)]


@cache
def the_race(strategy: str, *, apart: bool, loses: bool) -> dict[str, Any]:
    """The race of a strategy. Raises LookupError if none was recorded."""
    conditions, found = races()
    for race in found:
        if (race.strategy, race.apart, race.loses) == (strategy, apart, loses):
            return {
                "race": race,
                "conditions": conditions,
                "timeline": timeline(race),
                "writers": [race.line(writer) for writer in range(len(race.calls))],
                "values": [_value(race, value) for value in range(1, race.highest + 1)],
                "words": WORDS[strategy],
                "why": WORDS[strategy].why(race),
                "delay_ms": DELAY_MS,
                "block_size": BLOCK_SIZE,
            }
    raise LookupError(f"No race of {strategy} was recorded like this.")


def _value(race: Race, value: int) -> dict[str, Any]:
    fate = race.fate(value)
    return {"value": value, "fate": fate.name.lower(), "words": fate.value, "writers": race.values[value]}


def comparison_titles() -> list[str]:
    """The titles of the comparisons."""
    return [comparison.title for comparison in comparisons()]


@cache
def the_comparison(title: str) -> dict[str, Any]:
    """The comparison of this title, as plots and as a table. Raises LookupError if none was recorded."""
    for comparison in comparisons():
        if comparison.title == title:
            return {
                "comparison": comparison,
                "speeds": report.drawn("speeds", charts.speeds(comparison.rows)),
                "latency": report.drawn("latency", charts.ranges(comparison.rows)),
                "faults": report.drawn("faults", charts.faults(comparison.rows)),
                "columns": report.COLUMNS,
                "rows": [report.cells(row) for row in comparison.rows],
            }
    raise LookupError(f"No comparison {title!r} was recorded.")
