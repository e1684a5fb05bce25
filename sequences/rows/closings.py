"""Closed periods: one row for each, beside the counters, for the scopes that have no number in the period yet.

The counters that are there when a period is closed are frozen, each by a change of its own. A scope that has none is
looked up in this row before its first number, and the row stays a condition of that write where it is a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from .. import dynamodb
from ..commit.requests import Pending, PutRequest
from ..dynamodb import expressions
from ..types import Dated, Scope, scope_text
from . import operator_errors
from .counter_rows import CounterRows, CounterState, is_due
from .layout import Send

CLOSED = "closed"
"""What a frozen counter says of a closed period, beside who closed it, when and why."""
UNITS = 1.0  # of a read of the row


class Closings:
    """The closed periods of one sequence, as their rows are now: nothing is remembered of them."""

    def __init__(self, alias: str, rows: CounterRows, wall: Callable[[], float]) -> None:
        self._alias = alias
        self._rows = rows
        self._wall = wall

    def place(self, period: str) -> tuple[str, dict[str, Any]]:
        """The table and the key of the row of a period."""
        name, schema = f"#closed#{self._rows.name}", self._rows.schema
        beside = schema.key(f"{name}#{period}", 0) if self._rows.beside_items else None
        return schema.table, beside or {"sequence": {"S": name}, "scope": {"S": period}}

    def read(self, period: str, send: Send) -> Mapping[str, Any]:
        """The row of a period, empty if it was never closed. One consistent read.

        While it is closed, `since` says from which moment on (seconds since 1970, 0 for always), and `open` has the
        texts of the scopes that are open again.
        """
        answer = send("get_item", expressions.read_item(*self.place(period)))
        return dynamodb.unmarshal(answer.get("Item", {}))

    def about(self, scope: Dated, send: Send) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The row of the period of a scope that begins, and what it says of that scope: empty if it stays open.

        Raises SequenceFrozen if the scope is closed by now.
        """
        row = self.read(scope.period, send)
        if "since" not in row or scope_text(scope.scope) in row.get("open", ()):
            return row, {}
        about = {name: row[name] for name in ("by", "at", "reason", "since")}
        if is_due(about, self._wall()):
            raise operator_errors.frozen(self._alias, scope, {**about, CLOSED: True})
        return row, about

    def require_open(self, scope: Scope, send: Send) -> float:
        """Raise SequenceFrozen if a scope that may have no number yet is in a closed period; return the read units."""
        if not isinstance(scope, Dated):
            return 0.0
        self.about(scope, send)
        return UNITS

    def require_thawed(self, scope: Scope, state: CounterState) -> None:
        """Raise SequenceFrozen for a counter that is frozen, or whose period is closed by now."""
        about = state.frozen
        if about is None and state.closing and is_due(state.closing, self._wall()):
            about = {**state.closing, CLOSED: True}
        if about is not None:
            raise operator_errors.frozen(self._alias, scope, about)

    def unchanged(self, period: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The action of a transaction that refuses it unless the row of a period is as it was read."""
        check = expressions.change_row(*self.place(period), unchanged={"token": row.get("token")})
        del check["UpdateExpression"]
        return {"ConditionCheck": check}


class Opening:
    """The first write of a scope in a period, on the condition that the period stays as it was read: open.

    Raises SequenceFrozen if it is closed.
    """

    read_units = UNITS

    def __init__(self, closings: Closings, scope: Dated, send: Send) -> None:
        self._closings, self._scope = closings, scope
        self._row, about = closings.about(scope, send)
        self.closing: Mapping[str, Any] | None = about or None
        """What the counter notes, if the period will be closed."""

    def fitting(self, pendings: Sequence[Pending[PutRequest]], most: int) -> Sequence[Pending[PutRequest]]:
        """As many requests as fit beside the check, into a transaction of so many actions; the first in any case."""
        sizes = accumulate(pending.request.actions for pending in pendings)
        return [one for one, size in zip(pendings, sizes, strict=True) if size < most] or pendings[:1]

    def check(self, pendings: Sequence[Pending[PutRequest]], most: int) -> Mapping[str, Any] | None:
        """The action that checks it; None beside a request that fills the transaction, for which the look must do."""
        is_full = sum(pending.request.actions for pending in pendings) >= most
        return None if is_full else self._closings.unchanged(self._scope.period, self._row)
