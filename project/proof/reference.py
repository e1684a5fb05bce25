"""The page of all figures in the reference that `make docs` writes: what strategies can do and cost, and how fast."""

from __future__ import annotations

from collections.abc import Iterator

from project.lab.plan import Prices
from project.lab.records import comparisons
from project.lab.report import CAPTION, markdown
from project.proof.figures import Figures
from sequences.capabilities import as_table, strategies_table

__all__ = ["page_of_figures"]


def page_of_figures() -> str:
    """The tables of the classes, the bars, the site beside a peer, and the recorded comparisons, as Markdown."""
    return "\n\n".join([*_of_strategies(), *_of_bars(), *_of_comparisons()]) + "\n"


def _of_strategies() -> Iterator[str]:
    yield "# All figures"
    yield "## What each strategy can do, and its cost"
    yield "WU and RU are write and read request units."
    yield strategies_table()


def _of_bars() -> Iterator[str]:
    figures = Figures.recorded()
    yield "## Speed and cost"
    yield figures.conditions["bars"]
    yield as_table(["What", "Bar", "Measured"], figures.bar_rows())
    yield "## Beside a site on PostgreSQL"
    yield f"{figures.conditions['peers']} Rates, latencies and faults are ours / the peer's."
    yield as_table(figures.peer_columns(), figures.peer_rows())


def _of_comparisons() -> Iterator[str]:
    for one in comparisons():
        yield f"## {one.title}"
        yield f"```text\n{one.command}\n```"
        yield f"Recorded on {one.conditions.on} with {one.conditions.engine} on {one.conditions.cores} cores. {CAPTION}"
        yield markdown(one.rows, Prices())
