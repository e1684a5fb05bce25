"""The rows of lines: how they are read, and which actions change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest
from pytest_django import Settings

from sequences.dynamodb import marshal
from sequences.dynamodb.expressions import change_row, query_numbers, read_item, read_keys
from sequences.registry import parse_config
from sequences.rows import reading
from sequences.rows.line_rows import LineRows
from sequences.rows.lines import Line, Lines

HEAD = {"sequence": {"S": "#series#orders"}, "scope": {"S": "##"}}
LINES = Lines((Line(format="B7-{value}", start=5000), Line()), 5, "Berlin")
ROW = {"scope": "A", "lines": [{"format": "B7-{value}", "start": 5000}, {}], "version": 5, "name": "Berlin"}


def key(scope: str) -> dict[str, Any]:
    """The key of the lines of a scope, by the text that is stored for it."""
    return {**HEAD, "scope": {"S": scope}}


def answer(row: Mapping[str, Any] | None) -> dict[str, Any]:
    """The answer to a read of one row."""
    return {} if row is None else {"Item": marshal(row)}


@pytest.fixture
def rows(settings: Settings) -> LineRows:
    """Those of a sequence."""
    settings.TABLE_PREFIX = ""
    return LineRows(parse_config("orders", {"STRATEGY": "sequences.strategies.AtomicCounter", "SERIES": "series"}))


def test_one_scope(rows: LineRows) -> None:
    """The lines of a scope are read consistently; without a row the settings hold."""
    send = Mock(side_effect=[answer(ROW), answer(None)])
    assert rows.of("A", send) == LINES
    send.assert_called_once_with("get_item", read_item("series", key("A")))
    assert rows.of(None, send) == Lines()
    send.assert_called_with("get_item", read_item("series", key("#")))


def test_many_scopes(rows: LineRows) -> None:
    """Each is asked for once. One without a row has no lines, and one that the engine leaves out is missing."""
    left_out = {"series": {"Keys": [key("C")]}}
    found = {**HEAD, **marshal(ROW)}
    send = Mock(return_value={"Responses": {"series": [found]}, "UnprocessedKeys": left_out})
    assert rows.of_many(["A", None, "C", "A"], send) == {"A": LINES, None: Lines()}
    names = ["sequence", "scope", "lines", "version", "name"]
    wanted = read_keys("series", [key("A"), key("#"), key("C")], attributes=names)
    send.assert_called_once_with("batch_get_item", wanted)


def test_no_scopes(rows: LineRows) -> None:
    """Nothing is asked for none."""
    send = Mock()
    assert rows.of_many([], send) == {}
    send.assert_not_called()


@pytest.mark.parametrize(
    ("row", "version", "own_periods"), [(None, 0, False), ({"version": 7}, 7, False), ({"own_periods": True}, 0, True)]
)
def test_what_is_known_of_all(rows: LineRows, row: Mapping[str, Any] | None, version: int, own_periods: bool) -> None:
    """One row counts the changes of all scopes, and says whether a line ever had a PERIOD of its own."""
    send = Mock(return_value=answer(row))
    assert rows.version(send) == version
    assert rows.has_own_periods(send) is own_periods
    assert [call.args for call in send.call_args_list] == [("get_item", read_item("series", HEAD))] * 2


def test_every_scope(rows: LineRows, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are read page by page, without the row that counts the changes."""
    pages = [
        {"Items": [marshal({"scope": "##", "version": 7}), marshal({"scope": "#"})], "LastEvaluatedKey": key("#")},
        {"Items": [marshal(ROW)]},
    ]
    read = Mock(side_effect=pages)
    monkeypatch.setattr(reading, "read", read)
    assert list(rows.every()) == [(None, Lines()), ("A", LINES)]
    first = query_numbers(
        rows.schema,
        "#series#orders",
        newest_first=False,
        limit=100,
        attributes=["lines", "version", "name"],
    )
    assert [call.args[1] for call in read.call_args_list] == [first, {**first, "ExclusiveStartKey": key("#")}]


def test_a_change(rows: LineRows) -> None:
    """It is stored if nothing has changed meanwhile, in the row of the scope and in the one of all."""
    after = Lines(LINES.lines, 8, "Bonn")
    head, one = rows.changed("A", LINES, after, 7, own_periods=True)
    stored = [{"format": "B7-{value}", "start": 5000}, {}]
    own = {"version": 8, "own_periods": True}
    assert head == change_row("series", HEAD, unchanged={"version": 7}, sets=own)
    sets = {"version": 8, "lines": stored, "name": "Bonn"}
    assert one == change_row("series", key("A"), unchanged={"version": 5}, sets=sets)


def test_the_first_change(rows: LineRows) -> None:
    """It is stored if there is no row yet; a name that stays is not written."""
    head, one = rows.changed(None, Lines(), Lines((Line(),), 1), 0, own_periods=False)
    assert head == change_row("series", HEAD, unchanged={"version": None}, sets={"version": 1})
    assert one == change_row("series", key("#"), unchanged={"version": None}, sets={"version": 1, "lines": [{}]})


def test_a_name(rows: LineRows) -> None:
    """It is stored whatever the lines are."""
    assert rows.named("A", "Bonn") == change_row("series", key("A"), unchanged={}, sets={"name": "Bonn"})
