"""The recorded comparisons in one table, for docs/strategies.md: what each recipe costs, and what breaks."""

from __future__ import annotations

from project.lab.plan import Prices
from project.lab.records import comparisons
from project.lab.report import COLUMNS

__all__ = ["LOST", "MANY", "summary"]

MANY, LOST = "Many writers, one project", "When answers get lost"
OF_MANY = ("strategy", "numbers/s", "$/million")
OF_LOST = ("duplicates", "gaps", "twice", "errors")


def summary() -> str:
    """A Markdown table: the speed and the cost with many writers, and the faults when answers get lost."""
    many, lost = _cells(MANY, OF_MANY), _cells(LOST, OF_LOST)
    rows = [[*OF_MANY, *OF_LOST], ["---", *["---:"] * (len(OF_MANY) + len(OF_LOST) - 1)]]
    rows += [[*fast, *lost[name]] for name, fast in many.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(title: str, headings: tuple[str, ...]) -> dict[str, list[str]]:
    """Some columns of the comparison with this title, by strategy."""
    (rows,) = [one.rows for one in comparisons() if one.title == title]
    chosen = [column for heading in headings for column in COLUMNS if column.heading == heading]
    return {row["strategy"]: [column.text(row, Prices()) for column in chosen] for row in rows}
