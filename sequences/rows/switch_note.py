"""The note that a switch is under way, by which counters follow the items of another strategy. See `switches`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..exceptions import TableMissing
from .history import History
from .layout import Send

FOLLOW_SECONDS = 60.0
"""How long a process may go on following items after the end of a switch."""


class SwitchNote:
    """The note of one sequence, beside its history, and what this process remembers of it."""

    def __init__(self, history: History, clock: Callable[[], float]) -> None:
        self._history = history
        self._clock = clock
        self._following_until = -inf

    @property
    def key(self) -> dict[str, Any]:
        """The key of the note."""
        return {"sequence": {"S": f"#switch#{self._history.alias}"}, "scope": {"S": "#"}}

    def read(self, send: Send) -> Mapping[str, Any]:
        """The note about the last switch, empty if there was none; `to` names the strategy while it is under way."""
        request = expressions.read_item(self._history.schema.table, self.key)
        return dynamodb.unmarshal(send("get_item", request).get("Item", {}))

    def is_switching(self, send: Send) -> bool:
        """Whether a switch is under way, so that counters follow items. A yes is remembered for FOLLOW_SECONDS."""
        if self._clock() < self._following_until:
            return True
        try:
            switching = self._history.is_apart and "to" in self.read(send)
        except TableMissing:  # no change was ever made
            return False
        if not switching:
            return False
        self._following_until = self._clock() + FOLLOW_SECONDS
        return True
