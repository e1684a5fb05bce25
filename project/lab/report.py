"""The result of a comparison for people: a Markdown table, a table for the terminal, a page with plots.

Everything is made from the rows of `comparison.compare`. The page is one file without outside assets. `charts` computes
where its lines and bars are, and the template `comparison.html` draws them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.template import Context, Template
from django.utils.safestring import SafeString

from project.lab import charts
from project.lab.plan import OURS, Prices, Row, is_ours
from sequences.capabilities import capabilities

__all__ = ["CAPTION", "COLUMNS", "Column", "cells", "drawn", "html", "markdown", "table"]

PIPE_WIDTH = 150


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, the text in each row, and whether it counts faults, which are highlighted."""

    heading: str
    text: Callable[[Row, Prices], str]
    fault: bool = False


def _plain(key: str) -> Callable[[Row, Prices], str]:
    return lambda row, prices: f"{row[key]:,}"


def _writers(row: Row) -> str:
    return f"{row['writers']}" if row["processes"] == 1 else f"{row['writers']} in {row['processes']}"


def _decimals(key: str, digits: int) -> Callable[[Row, Prices], str]:
    return lambda row, prices: f"{row[key]:,.{digits}f}"


CAPTION = (
    "Writers are threads, spread over processes. Requests, the writes among them, and units are per number. "
    "Twice: items that were stored again under another number."
)
PAGE = Path(__file__).with_name("comparison.html")

COLUMNS = (
    Column("strategy", lambda row, prices: row["strategy"]),
    Column("writers", lambda row, prices: _writers(row)),
    Column("numbers/s", lambda row, prices: f"{row['per_second']:,.0f}"),
    Column("requests", _decimals("requests_per_number", 2)),
    Column("writes", _decimals("write_requests_per_number", 2)),
    Column("write units", _decimals("write_units_per_number", 2)),
    Column("read units", _decimals("read_units_per_number", 2)),
    Column("$/million", lambda row, prices: f"{prices.per_million(row):,.2f}"),
    Column("p50 ms", _decimals("p50_ms", 1)),
    Column("p99 ms", _decimals("p99_ms", 1)),
    Column("duplicates", _plain("duplicates"), fault=True),
    Column("gaps", _plain("gaps"), fault=True),
    Column("twice", lambda row, prices: f"{row.get('written_twice', 0):,}", fault=True),
    Column("errors", _plain("errors"), fault=True),
)


def _strategies(rows: Sequence[Row], prices: Prices) -> list[dict[str, Any]]:
    """What each of our strategies does and promises, in its own words, with its figures if it ran."""
    by_name = {row["strategy"]: row for row in rows}
    return [
        {
            "name": name,
            "does": " ".join((strategy.__doc__ or "").partition("\n\n")[0].replace("`", "").split()),
            "promises": [asked.label for asked in capabilities() if asked.is_flag and asked.answer(strategy)],
            "figures": _figures(by_name.get(name), prices),
            "degrees": 210 + 360 * index // len(OURS),
        }
        for index, (name, strategy) in enumerate(OURS.items())
    ]


def _figures(row: Row | None, prices: Prices) -> str:
    if row is None:
        return ""
    return (
        f"{row['per_second']:,.0f} numbers/s, {row['requests_per_number']:,.2f} requests "
        f"and ${prices.per_million(row):,.2f} per million"
    )


def markdown(rows: Sequence[Row], prices: Prices) -> str:
    """A Markdown table; requests and units are per number."""
    lines = [
        " | ".join(column.heading for column in COLUMNS),
        " | ".join(_rule(column) for column in COLUMNS),
    ]
    lines += [" | ".join(column.text(row, prices) for column in COLUMNS) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _rule(column: Column) -> str:
    return "---" if column.heading == "strategy" else "---:"


def table(rows: Sequence[Row], prices: Prices) -> str:
    """A table for the terminal: our strategies in bold and faults in red, if it has colours."""
    from rich.console import Console  # here, as web servers load this module and draw no tables
    from rich.table import Table
    from rich.text import Text

    result = Table(caption=CAPTION)
    for index, column in enumerate(COLUMNS):
        result.add_column(column.heading, justify="right" if index else "left", no_wrap=not index)
    for row in rows:
        weight = "bold" if is_ours(row["strategy"]) else ""
        result.add_row(*(Text(text, f"{weight} red" if is_bad else weight) for text, is_bad in _texts(row, prices)))
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else PIPE_WIDTH, force_terminal=is_terminal)
    with console.capture() as captured:
        console.print(result)
    return captured.get().rstrip("\n")


def _texts(row: Row, prices: Prices) -> list[tuple[str, bool]]:
    """The text of each cell, and whether it counts faults that there are."""
    texts = [(column.text(row, prices), column.fault) for column in COLUMNS]
    return [(text, fault and text != "0") for text, fault in texts]


def html(rows: Sequence[Row], prices: Prices, *, command: str) -> str:
    """A self-contained page: what our strategies promise, plots, all figures. `command` is how to repeat the run."""
    most = max(row["writers"] for row in rows)
    busiest = [row for row in rows if row["writers"] == most]
    context = {
        "command": command,
        "prices": prices,
        "strategies": _strategies(busiest, prices),
        "writers": most,
        "count": busiest[0]["count"],
        "line_plots": _line_plots(rows, prices),
        "latency": drawn("latency", charts.ranges(busiest)),
        "faults": drawn("faults", charts.faults(busiest)),
        "caption": CAPTION,
        "columns": COLUMNS,
        "rows": [_cells(row, prices) for row in rows],
    }
    return Template(PAGE.read_text(encoding="utf-8")).render(Context(context))


def drawn(name: str, plot: Mapping[str, Any]) -> SafeString:
    """A plot of `charts` as SVG: "latency", "faults" or "speeds". Its colours are those of the page around it."""
    return Template(PAGE.with_name(f"{name}.html").read_text(encoding="utf-8")).render(Context({"plot": plot}))


def cells(row: Row) -> dict[str, Any]:
    """One row of the table of all figures, with the default prices."""
    return _cells(row, Prices())


def _line_plots(rows: Sequence[Row], prices: Prices) -> list[dict[str, Any]]:
    throughput = charts.lines(rows, lambda row: float(row["per_second"]), unit="numbers/s")
    cost = charts.lines(rows, prices.per_million, unit="$ per million")
    return [
        {"title": "Throughput", "note": "Numbers a second against writers. Higher is better.", **throughput},
        {"title": "Cost", "note": "Dollars for a million numbers against writers. Lower is better.", **cost},
    ]


def _cells(row: Row, prices: Prices) -> dict[str, Any]:
    cells = [{"text": text, "fault": is_bad} for text, is_bad in _texts(row, prices)]
    return {"ours": is_ours(row["strategy"]), "cells": cells}
