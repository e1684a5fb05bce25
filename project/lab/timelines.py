"""The geometry of a race's drawing: numbers only. A template draws a row for each writer; time goes to the right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from project.lab.races import Outcome, Race, Request

__all__ = ["timeline"]

WIDTH, LEFT, RIGHT, TOP, ROW = 720, 30, 670, 6, 24
AXIS = 34
STEPS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)  # milliseconds between two ticks
MOST_TICKS = 9
BARS = {Outcome.READ: 4, Outcome.STORED: 14, Outcome.REFUSED: 14, Outcome.UNANSWERED: 14}  # heights


def timeline(race: Race) -> dict[str, Any]:
    """Where the rows, the bars and the ticks are. The bars of one outcome are one path, to be short."""
    scale = (RIGHT - LEFT) / max(race.ended, 1)
    bottom = TOP + ROW * len(race.calls)
    step = next((step for step in STEPS if race.ended / 10 / step <= MOST_TICKS), STEPS[-1])
    return {
        "width": WIDTH,
        "height": bottom + AXIS,
        "left": LEFT,
        "right": RIGHT,
        "bottom": bottom,
        "middle": (LEFT + RIGHT) // 2,
        "rows": [
            {
                "name": writer + 1,
                "y": _middle(writer),
                "from": _at(call.started, scale),
                "to": _at(call.ended, scale),
                "value": call.value,
                "is_shared": race.values[call.value or 0] > 1,
            }
            for writer, call in enumerate(race.calls)
        ],
        "ticks": [{"at": _at(10 * time, scale), "text": time} for time in range(0, race.ended // 10 + 1, step)],
        "bars": [
            {
                "outcome": outcome.name.lower(),
                "path": _path((one for one in race.requests if one.outcome is outcome), scale),
            }
            for outcome in Outcome
        ],
    }


def _middle(writer: int) -> int:
    return TOP + ROW * writer + ROW // 2


def _at(time: int, scale: float) -> float:
    return round(LEFT + time * scale, 1)


def _path(requests: Iterable[Request], scale: float) -> str:
    """A rectangle for each request."""
    return "".join(_rectangle(request, scale) for request in requests)


def _rectangle(request: Request, scale: float) -> str:
    height = BARS[request.outcome]
    left, width = _at(request.started, scale), round(max((request.ended - request.started) * scale - 0.6, 0.8), 1)
    return f"M{left:g} {_middle(request.writer) - height // 2}h{width:g}v{height}h-{width:g}z"
