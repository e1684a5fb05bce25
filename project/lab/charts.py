"""The geometry of the comparison's plots: positions only, no colours and no markup.

Every function takes rows and returns a dict of plain numbers and texts, which the page's template draws as SVG.
Coordinates are user units from the top left corner. Both axes of a line plot and the axis of latency are logarithmic,
because the strategies differ by factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from project.lab.plan import OURS, Row, is_ours

__all__ = ["Scale", "faults", "lines", "ranges", "speeds"]

LEFT, RIGHT, TOP, BOTTOM = 52.0, 362.0, 12.0, 332.0
WIDTH, HEIGHT = 560.0, 380.0
LABEL_GAP = 16.0
BAR_LEFT, BAR_RIGHT, BAR_STEP, BAR_TOP = 196.0, 540.0, 24.0, 8.0
FAULT_WIDTH = 200.0
SPEED_WIDTH = 280.0
FAULT_KINDS = ("duplicates", "gaps", "written_twice", "errors")


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic scale from whole powers of ten around the values to coordinates."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float) -> Scale:
        """The scale that contains all positive values."""
        positive = [value for value in values if value > 0] or [1.0]
        low = math.floor(math.log10(min(positive)))
        return cls(low, max(low + 1, math.ceil(math.log10(max(positive)))), start, end)

    def at(self, value: float) -> float:
        """The coordinate of a value; zero and negative values are at the start."""
        if value <= 0:
            return self.start
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[dict[str, Any]]:
        """One tick for each power of ten."""
        return [
            {"at": self.at(10.0**power), "text": f"{10.0**power:,.12g}"} for power in range(self.low, self.high + 1)
        ]


def lines(rows: Sequence[Row], value: Callable[[Row], float], *, unit: str) -> dict[str, Any]:
    """One line for each strategy: `value` against the number of writers, with the name at its right end."""
    writers = sorted({row["writers"] for row in rows})
    scale = Scale.around([value(row) for row in rows], BOTTOM, TOP)
    columns = {count: _column(index, len(writers)) for index, count in enumerate(writers)}
    points: dict[str, list[tuple[int, float]]] = {}
    for row in sorted(rows, key=lambda row: is_ours(row["strategy"])):  # ours are drawn on top
        points.setdefault(row["strategy"], []).append((row["writers"], value(row)))
    series = [
        _line(name, found, lambda count, height: (columns[count], scale.at(height)), unit)
        for name, found in points.items()
    ]
    _spread_labels(series)
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": RIGHT,
        "bottom": BOTTOM,
        "middle": (LEFT + RIGHT) / 2,
        "x_ticks": [{"at": columns[count], "text": str(count)} for count in writers],
        "y_ticks": scale.ticks(),
        "series": series,
    }


def ranges(rows: Sequence[Row]) -> dict[str, Any]:
    """One bar for each strategy, from the median latency to the 99th percentile."""
    ordered = sorted(rows, key=lambda row: float(row["p99_ms"]))
    scale = Scale.around([row[key] for row in rows for key in ("p50_ms", "p99_ms")], BAR_LEFT, BAR_RIGHT)
    bars = [
        {
            **_bar(index, row),
            "from": scale.at(row["p50_ms"]),
            "to": scale.at(row["p99_ms"]),
            "title": f"{row['strategy']}: p50 {row['p50_ms']:,.2f} ms, p99 {row['p99_ms']:,.2f} ms",
        }
        for index, row in enumerate(ordered)
    ]
    return {**_bar_frame(len(rows)), "ticks": scale.ticks(), "bars": bars}


def speeds(rows: Sequence[Row]) -> dict[str, Any]:
    """One bar for each strategy, as long as it hands out numbers a second."""
    most = max(float(row["per_second"]) for row in rows)
    bars = [
        {
            **_bar(index, row),
            "length": (length := max(1.0, round(row["per_second"] / most * SPEED_WIDTH, 1))),
            "end": BAR_LEFT + length,
            "said": f"{row['per_second']:,.0f}",
        }
        for index, row in enumerate(sorted(rows, key=lambda row: float(row["per_second"])))
    ]
    return {**_bar_frame(len(rows)), "height": BAR_TOP + len(rows) * BAR_STEP, "bars": bars}


def faults(rows: Sequence[Row]) -> dict[str, Any]:
    """One stacked bar for each strategy: duplicates, gaps, copies and errors; empty for a strategy without faults."""
    most = max([1, *(_fault_count(row) for row in rows)])
    bars = [_fault_bar(index, row, most) for index, row in enumerate(sorted(rows, key=_by_faults))]
    kinds = [
        {"number": number, "name": _counted(kind, 2), "x": BAR_LEFT + (number - 1) * 100}
        for number, kind in enumerate(FAULT_KINDS, start=1)
    ]
    return {**_bar_frame(len(rows)), "bars": bars, "kinds": kinds}


def _hue(name: str) -> str:
    return f"ours-{list(OURS).index(name) + 1}" if is_ours(name) else "published"


def _column(index: int, columns: int) -> float:
    """Columns at equal distances, with a margin on both sides, so that 1, 8 and 32 writers are clearly apart."""
    return round(LEFT + (index + 0.5) * (RIGHT - LEFT) / columns, 1)


def _line(
    name: str, points: Sequence[tuple[int, float]], at: Callable[[int, float], tuple[float, float]], unit: str
) -> dict[str, Any]:
    dots = [
        {
            "x": at(*point)[0],
            "y": at(*point)[1],
            "title": f"{name}, {point[0]} writers: {point[1]:,.4g} {unit}",
        }
        for point in sorted(points)
    ]
    return {
        "name": name,
        "hue": _hue(name),
        "dots": dots,
        "path": " ".join(f"{dot['x']},{dot['y']}" for dot in dots),
        "end": dots[-1],
        "label_y": dots[-1]["y"],
    }


def _spread_labels(series: list[dict[str, Any]]) -> None:
    """Move overlapping names apart: first downwards, then all of them back into the frame."""
    ordered = sorted(series, key=lambda line: float(line["label_y"]))
    lowest = TOP - LABEL_GAP
    for line in ordered:
        lowest = line["label_y"] = max(line["label_y"], lowest + LABEL_GAP)
    highest = BOTTOM + LABEL_GAP
    for line in reversed(ordered):
        highest = line["label_y"] = min(line["label_y"], highest - LABEL_GAP)


def _bar(index: int, row: Row) -> dict[str, Any]:
    return {"name": row["strategy"], "hue": _hue(row["strategy"]), "y": BAR_TOP + (index + 0.5) * BAR_STEP}


def _bar_frame(count: int) -> dict[str, Any]:
    bottom = BAR_TOP + count * BAR_STEP
    return {
        "width": WIDTH,
        "height": bottom + 40,
        "left": BAR_LEFT,
        "right": BAR_RIGHT,
        "top": BAR_TOP,
        "bottom": bottom,
    }


def _fault_count(row: Row) -> int:
    return sum(row.get(kind, 0) for kind in FAULT_KINDS)


def _fault_bar(index: int, row: Row, most: int) -> dict[str, Any]:
    """The pieces of one bar, side by side, each wide enough to be seen."""
    parts, said, left = [], [], BAR_LEFT
    for number, kind in enumerate(FAULT_KINDS, start=1):
        if count := row.get(kind, 0):
            text = f"{count:,} {_counted(kind, count)}"
            width = max(3.0, round(count / most * FAULT_WIDTH, 1))
            parts.append({"x": left, "width": width, "kind": number, "title": text})
            said.append(text)
            left += width
    return {**_bar(index, row), "parts": parts, "said": ", ".join(said) or "none", "end": left}


def _counted(kind: str, count: int) -> str:
    words = kind.replace("_", " ")
    return words.removesuffix("s") if count == 1 else words


def _by_faults(row: Row) -> tuple[int, bool]:
    """The order of the fault bars: strategies with few faults first, and ours before others."""
    return _fault_count(row), not is_ours(row["strategy"])
