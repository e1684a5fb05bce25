"""A DynamoDB in memory for one thread: the requests of the write path, one after the other, in microseconds.

It knows the operations and the expressions that the package sends, and refuses any other. A test holds it against the
embedded engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from decimal import Decimal
from typing import Any

from sequences.dynamodb import unmarshal
from sequences.exceptions import CancellationReason, StorageRefused, WriteCancelled

__all__ = ["Engine"]

Row = dict[str, Any]
_PART = re.compile(r"\s*([#:]\w+(?:\.#\w+)*|\w+|<>|<=|>=|[-+=<>(),])")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class _Invalid(Exception):
    """DynamoDB refuses the action: it cannot be done with this row."""


class Engine:
    """Tables by name, each with its key attributes and its rows.

    Beside an invalid action an engine need not tell which conditions failed. If it `hides` them, only the first
    action tells it.
    """

    def __init__(self, keys: Mapping[str, tuple[str, ...]], *, hides: bool) -> None:
        self.keys = keys
        self.hides = hides
        self.tables: dict[str, dict[tuple[str, ...], Row]] = {name: {} for name in keys}

    def serve(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request. Raises WriteCancelled with the old rows."""
        answer: dict[str, Any] = getattr(self, f"_{operation}")(request)
        return deepcopy(answer)

    def _place(self, table: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(next(iter(row[name].values())) for name in self.keys[table])

    def _describe_table(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"Table": {"TableArn": request["TableName"], "TableId": "the only life"}}

    def _get_item(self, request: Mapping[str, Any]) -> dict[str, Any]:
        row = self.tables[request["TableName"]].get(self._place(request["TableName"], request["Key"]))
        return {"Item": row} if row else {}

    def _batch_get_item(self, request: Mapping[str, Any]) -> dict[str, Any]:
        found = {
            table: [row for key in wanted["Keys"] if (row := self.tables[table].get(self._place(table, key)))]
            for table, wanted in request["RequestItems"].items()
        }
        return {"Responses": found}

    def _query(self, request: Mapping[str, Any]) -> dict[str, Any]:
        table, values = request["TableName"], request["ExpressionAttributeValues"]
        partition, sort = self.keys[table]
        assert request["KeyConditionExpression"] == "#partition = :partition", "a query of one partition"
        rows = [row for row in self.tables[table].values() if row[partition] == values[":partition"]]
        rows.sort(key=lambda row: _plain(row[sort]), reverse=not request.get("ScanIndexForward", True))
        return {"Items": rows[: request["Limit"]]}

    def _put_item(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._alone("Put", request)

    def _update_item(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._alone("Update", request)

    def _delete_item(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._alone("Delete", request)

    def _alone(self, kind: str, request: Mapping[str, Any]) -> dict[str, Any]:
        self._write([(kind, request)])
        row = self.tables[request["TableName"]].get(self._place(request["TableName"], _key_of(request)), {})
        return {"Attributes": row} if "ReturnValues" in request else {}

    def _transact_write_items(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._write([next(iter(action.items())) for action in request["TransactItems"]])
        return {}

    def _write(self, actions: list[tuple[str, Mapping[str, Any]]]) -> None:
        """Do all actions or none. Every action is looked at, as DynamoDB does, and has a reason of its own."""
        places = [(action["TableName"], self._place(action["TableName"], _key_of(action))) for _, action in actions]
        if len(set(places)) < len(places):
            raise StorageRefused("Transaction request cannot include multiple operations on one item")
        reasons, results = [], []
        for kind, action in actions:
            table = self.tables[action["TableName"]]
            place = self._place(action["TableName"], _key_of(action))
            old = table.get(place)
            try:
                holds = _holds(action, old or {})
                new = _new(kind, action, old) if holds else None
            except _Invalid as error:
                reasons.append(CancellationReason("ValidationError", message=str(error)))
                continue
            reasons.append(
                CancellationReason(
                    "None" if holds else "ConditionalCheckFailed", unmarshal(old) if old and not holds else None
                )
            )
            results.append((table, place, kind, new))
        if self.hides and any(reason.code == "ValidationError" for reason in reasons):
            reasons = [reasons[0], *map(_hidden, reasons[1:])]
        if any(reason.code != "None" for reason in reasons):
            raise WriteCancelled("cancelled", tuple(reasons))
        for table, place, kind, new in results:
            if kind == "Delete":
                table.pop(place, None)
            elif kind != "ConditionCheck":
                assert new is not None
                table[place] = deepcopy(new)


def _hidden(reason: CancellationReason) -> CancellationReason:
    return reason if reason.code == "ValidationError" else CancellationReason("None")


def _key_of(action: Mapping[str, Any]) -> Mapping[str, Any]:
    key: Mapping[str, Any] = action.get("Key") or action["Item"]
    return key


def _plain(value: Mapping[str, Any] | None) -> Any:
    if value is None:
        return None
    ((kind, plain),) = value.items()
    return Decimal(plain) if kind == "N" else plain


def _holds(action: Mapping[str, Any], row: Row) -> bool:
    expression = action.get("ConditionExpression")
    return expression is None or _Reader(expression, action, row).condition()


def _new(kind: str, action: Mapping[str, Any], old: Row | None) -> Row | None:
    if kind == "Put":
        return dict(action["Item"])
    if kind == "Update":
        return _Reader(action["UpdateExpression"], action, old or {}).updated(action["Key"])
    return None


class _Reader:
    """Reads one expression against one row."""

    def __init__(self, text: str, action: Mapping[str, Any], row: Row) -> None:
        self.parts = _PART.findall(text)
        assert "".join(self.parts) == re.sub(r"\s", "", text), text
        self.at = 0
        self.row = row
        self.names = action.get("ExpressionAttributeNames", {})
        self.values = action.get("ExpressionAttributeValues", {})

    def _peek(self) -> str:
        return self.parts[self.at] if self.at < len(self.parts) else ""

    def _take(self, wanted: str = "") -> str:
        part = self._peek()
        assert part, self.parts
        assert wanted in ("", part), (self.parts, self.at, wanted)
        self.at += 1
        return part

    def condition(self) -> bool:
        holds = self._all_of()
        while self._peek() == "OR":
            self._take()
            holds = self._all_of() or holds
        return holds

    def _all_of(self) -> bool:
        holds = self._one()
        while self._peek() == "AND":
            self._take()
            holds = self._one() and holds
        return holds

    def _one(self) -> bool:
        if self._peek() == "(":
            self._take()
            holds = self.condition()
            self._take(")")
            return holds
        if self._peek() in ("attribute_exists", "attribute_not_exists"):
            wanted = self._take() == "attribute_exists"
            self._take("(")
            found = self._value(self._take()) is not None
            self._take(")")
            return found is wanted
        left, compare, right = self._value(self._take()), _COMPARE[self._take()], self._value(self._take())
        if left is None or right is None:
            return False
        alike = next(iter(left)) == next(iter(right))
        return alike and compare(_plain(left), _plain(right))

    def _value(self, part: str) -> Any:
        """The attribute value of `:value`, or of a path; None where the row has none."""
        if part.startswith(":"):
            return self.values[part]
        found: Any = {"M": self.row}
        for step in part.split("."):
            name = self.names[step] if step.startswith("#") else step
            found = found.get("M", {}).get(name) if found else None
        return found

    def updated(self, key: Row) -> Row:
        new, clause = {**key, **deepcopy(self.row)}, ""
        while self._peek():
            if self._peek() in ("SET", "REMOVE", "ADD", ","):
                part = self._take()
                clause = clause if part == "," else part
                continue
            *path, name = self._path(self._take())
            target = new
            for step in path:
                target = target[step]["M"]
            if clause == "REMOVE":
                target.pop(name, None)
            elif clause == "ADD":
                target[name] = _sum(target.get(name, {"N": "0"}), self._value(self._take()), 1)
            else:
                self._take("=")
                target[name] = self._sum()
        return new

    def _path(self, part: str) -> Iterator[str]:
        return (self.names[step] if step.startswith("#") else step for step in part.split("."))

    def _sum(self) -> Any:
        total = self._term()
        while self._peek() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            total = _sum(total, self._term(), sign)
        if total is None:
            raise _Invalid("an attribute in the expression does not exist")
        return total

    def _term(self) -> Any:
        part = self._take()
        if part != "if_not_exists":
            return self._value(part)
        self._take("(")
        found = self._value(self._take())
        self._take(",")
        otherwise = self._term()
        self._take(")")
        return found or otherwise


def _sum(left: Any, right: Any, sign: int) -> dict[str, str]:
    if left is None or right is None:
        raise _Invalid("an attribute in the expression does not exist")
    return {"N": str(_plain(left) + sign * _plain(right))}
