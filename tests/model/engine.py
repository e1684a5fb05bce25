"""A DynamoDB in memory for one thread: the requests of the write path, one after the other, in microseconds.

It knows the operations and the expressions that the package sends, and refuses any other. A test holds it against the
embedded engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple, TypeVar

from sequences.dynamodb import unmarshal
from sequences.exceptions import CancellationReason, StorageRefused, WriteCancelled

__all__ = ["Engine"]

T = TypeVar("T")
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
        answer: dict[str, Any] = _copied(getattr(self, f"_{operation}")(request))
        return answer

    def _place(self, table: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple([value for name in self.keys[table] for value in row[name].values()])

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
        for (kind, action), (name, place) in zip(actions, places, strict=True):
            table = self.tables[name]
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
                table[place] = _copied(new)


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


def _copied(value: Any) -> Any:
    """A copy that shares nothing with the value. What goes over the wire is made of dicts and lists alone."""
    if isinstance(value, dict):
        return {name: part if isinstance(part, str) else _copied(part) for name, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


def _holds(action: Mapping[str, Any], row: Row) -> bool:
    expression = action.get("ConditionExpression")
    return expression is None or _condition(expression)(_given(action, row))


def _new(kind: str, action: Mapping[str, Any], old: Row | None) -> Row | None:
    if kind == "Put":
        return dict(action["Item"])
    if kind == "Update":
        new = {**action["Key"], **_copied(old or {})}
        given = _given(action, old or {})
        for change in _update(action["UpdateExpression"]):
            change(given, new)
        return new
    return None


class _Given(NamedTuple):
    """What an expression is about: a row, and what the names and values in its text stand for."""

    row: Row
    names: Mapping[str, str]
    values: Mapping[str, Any]


def _given(action: Mapping[str, Any], row: Row) -> _Given:
    return _Given(row, action.get("ExpressionAttributeNames", {}), action.get("ExpressionAttributeValues", {}))


_Test = Callable[[_Given], bool]
_Value = Callable[[_Given], Any]
_Change = Callable[[_Given, Row], None]


@cache
def _condition(text: str) -> _Test:
    return _Parser(text).whole(_Parser.condition)


@cache
def _update(text: str) -> Sequence[_Change]:
    return _Parser(text).whole(_Parser.update)


class _Parser:
    """Makes functions of one expression. There are few texts, and each is asked of thousands of rows."""

    def __init__(self, text: str) -> None:
        self.parts = _PART.findall(text)
        assert "".join(self.parts) == re.sub(r"\s", "", text), text
        self.at = 0

    def whole(self, read: Callable[[_Parser], T]) -> T:
        """What is read from the whole text."""
        found = read(self)
        assert not self._peek(), (self.parts, self.at)
        return found

    def _peek(self) -> str:
        return self.parts[self.at] if self.at < len(self.parts) else ""

    def _take(self, wanted: str = "") -> str:
        part = self._peek()
        assert part, self.parts
        assert wanted in ("", part), (self.parts, self.at, wanted)
        self.at += 1
        return part

    def condition(self) -> _Test:
        return self._joined("OR", self._all_of, any)

    def _all_of(self) -> _Test:
        return self._joined("AND", self._one, all)

    def _joined(self, word: str, read: Callable[[], _Test], join: Callable[[Iterable[bool]], bool]) -> _Test:
        tests = [read()]
        while self._peek() == word:
            self._take()
            tests.append(read())
        return tests[0] if len(tests) == 1 else lambda given: join([test(given) for test in tests])

    def _one(self) -> _Test:
        if self._peek() == "(":
            self._take()
            test = self.condition()
            self._take(")")
            return test
        if self._peek() in ("attribute_exists", "attribute_not_exists"):
            wanted = self._take() == "attribute_exists"
            self._take("(")
            value = _value(self._take())
            self._take(")")
            return lambda given: (value(given) is not None) is wanted
        left, compare, right = _value(self._take()), _COMPARE[self._take()], _value(self._take())
        return lambda given: _compared(left(given), compare, right(given))

    def update(self) -> Sequence[_Change]:
        changes, clause = [], ""
        while self._peek():
            if self._peek() in ("SET", "REMOVE", "ADD", ","):
                part = self._take()
                clause = clause if part == "," else part
            else:
                changes.append(self._change(clause))
        return changes

    def _change(self, clause: str) -> _Change:
        path = self._take().split(".")
        if clause == "REMOVE":
            return lambda given, new: _remove(given, new, path)
        if clause == "ADD":
            added = _value(self._take())
            return lambda given, new: _add(given, new, path, added(given))
        self._take("=")
        total = self._sum()
        return lambda given, new: _set(given, new, path, total(given))

    def _sum(self) -> _Value:
        first, more = self._term(), []
        while self._peek() in ("+", "-"):
            more.append((1 if self._take() == "+" else -1, self._term()))
        return lambda given: _total(first(given), [(sign, term(given)) for sign, term in more])

    def _term(self) -> _Value:
        part = self._take()
        if part != "if_not_exists":
            return _value(part)
        self._take("(")
        found = _value(self._take())
        self._take(",")
        otherwise = self._term()
        self._take(")")
        return lambda given: found(given) or otherwise(given)


def _value(part: str) -> _Value:
    """The attribute value of `:value`, or of a path; None where the row has none."""
    if part.startswith(":"):
        return lambda given: given.values[part]
    path = part.split(".")
    return lambda given: _at(given, path)


def _at(given: _Given, path: Sequence[str]) -> Any:
    found: Any = {"M": given.row}
    for name in _names(given, path):
        found = found.get("M", {}).get(name) if found else None
    return found


def _names(given: _Given, path: Sequence[str]) -> list[str]:
    return [given.names[step] if step.startswith("#") else step for step in path]


def _compared(left: Any, compare: Callable[[Any, Any], bool], right: Any) -> bool:
    if left is None or right is None:
        return False
    alike = next(iter(left)) == next(iter(right))
    return alike and compare(_plain(left), _plain(right))


def _target(given: _Given, new: Row, path: Sequence[str]) -> tuple[Row, str]:
    """The row or the map in it that a path leads to, and the name there."""
    *steps, name = _names(given, path)
    for step in steps:
        new = new[step]["M"]
    return new, name


def _remove(given: _Given, new: Row, path: Sequence[str]) -> None:
    target, name = _target(given, new, path)
    target.pop(name, None)


def _add(given: _Given, new: Row, path: Sequence[str], added: Any) -> None:
    target, name = _target(given, new, path)
    target[name] = _sum(target.get(name, {"N": "0"}), added, 1)


def _set(given: _Given, new: Row, path: Sequence[str], value: Any) -> None:
    target, name = _target(given, new, path)
    target[name] = value


def _total(first: Any, more: Sequence[tuple[int, Any]]) -> Any:
    total = first
    for sign, term in more:
        total = _sum(total, term, sign)
    if total is None:
        raise _Invalid("an attribute in the expression does not exist")
    return total


def _sum(left: Any, right: Any, sign: int) -> dict[str, str]:
    if left is None or right is None:
        raise _Invalid("an attribute in the expression does not exist")
    return {"N": str(_plain(left) + sign * _plain(right))}
