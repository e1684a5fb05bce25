"""The history of a sequence: how its lines are stored, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.dynamodb import marshal
from sequences.dynamodb.expressions import KeySchema, put_if_absent, query_numbers, read_item
from sequences.exceptions import InvalidChange, InvalidSequence
from sequences.rows import reading
from sequences.rows.history import LINES_A_PAGE, History
from sequences.types import Change, Dated

SCHEMA = KeySchema(table="changes", partition_name="sequence", sort_name="scope", sort_type="S", client="other")
FIELDS = ["kind", "of_scope", "period", "by", "reason", "before", "after"]
TOKEN = "0123456789abcdef" * 2
PLACE = f"2026-03-05T12:00:00.000000+00:00#{TOKEN}"
KEY = {"sequence": {"S": "#history#orders"}, "scope": {"S": PLACE}}


def change(**more: Any) -> Change:
    """A change at noon."""
    given = {"sequence": "orders", "scope": "A", "kind": "advance", "by": "ana", "reason": "a test", **more}
    return Change(**{"at": datetime(2026, 3, 5, 12, tzinfo=UTC), "before": 7, "after": 9, **given})


def row(**more: Any) -> dict[str, Any]:
    """The row of that change."""
    told = {"kind": "advance", "of_scope": "A", "by": "ana", "reason": "a test", "before": 7, "after": 9}
    return {"sequence": "#history#orders", "scope": PLACE, **told, "token": TOKEN, **more}


@pytest.fixture
def history() -> History:
    """One in a table of its own."""
    return History("orders", SCHEMA, "items")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """What sends the reads of pages."""
    sent = Mock(return_value={"Items": [marshal(row())]})
    monkeypatch.setattr(reading, "read", sent)
    return sent


def test_where_it_is(history: History) -> None:
    """It must not be in the table of the items, and the option to change is named."""
    assert (history.is_apart, history.schema) == (True, SCHEMA)
    beside = History("orders", SCHEMA, "changes")
    assert not beside.is_apart
    with pytest.raises(
        InvalidSequence, match=r"^SEQUENCES\['orders'\]\['OPTIONS'\]\['history_table'\] must be another"
    ):
        _ = beside.schema


@pytest.mark.parametrize(
    ("more", "stored"),
    [
        ({}, row()),
        ({"period": "2026", "before": None}, {name: at for name, at in row(period="2026").items() if name != "before"}),
        ({"scope": None, "before": 0}, {name: at for name, at in row(before=0).items() if name != "of_scope"}),
    ],
    ids=["a scope", "a period", "no scope"],
)
def test_a_line(history: History, read: Mock, more: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """It is stored once, at its moment, without what is not there, and read back as it was."""
    assert history.put(change(**more), TOKEN) == put_if_absent(SCHEMA, marshal(stored))
    read.return_value = {"Items": [marshal(stored)]}
    assert history.page(None, 5) == ([change(**more)], None)


def test_whether_a_change_is_stored(history: History) -> None:
    """One consistent read of its row says so."""
    send = Mock(side_effect=[{"Item": KEY}, {}])
    assert [history.has(change(), TOKEN, send) for _ in range(2)] == [True, False]
    send.assert_called_with("get_item", read_item("changes", KEY))


def test_pages(history: History, read: Mock) -> None:
    """The newest come first; a cursor names the sequence and the line after which the next page begins."""
    read.return_value = {"Items": [marshal(row())], "LastEvaluatedKey": KEY}
    changes, cursor = history.page(None, 1)
    assert (changes, cursor) == ([change()], f"orders#{PLACE}")
    history.page(cursor, 1)
    first, second = (call.args[1] for call in read.call_args_list)
    assert first == query_numbers(SCHEMA, "#history#orders", newest_first=True, limit=1, attributes=FIELDS)
    assert second == {**first, "ExclusiveStartKey": KEY}


@pytest.mark.parametrize(
    "cursor", ["", PLACE, f"others#{PLACE}", f"orders#{PLACE}0", "orders#2026", f"orders{PLACE}", 7]
)
def test_what_is_no_cursor(history: History, cursor: Any) -> None:
    """What no page of this history has given is refused."""
    with pytest.raises(InvalidChange, match="it must be one that a page of this history has given, or left out"):
        history.page(cursor, 5)


def test_one_scope(history: History, read: Mock) -> None:
    """Its lines are those of its own period, the newest first."""
    rows = [row(), row(of_scope="B"), row(period="2026")]
    read.return_value = {"Items": [*map(marshal, rows)]}
    assert list(history.of("A")) == [change()]
    assert list(history.of(Dated("A", "2026"))) == [change(period="2026")]
    wanted = query_numbers(SCHEMA, "#history#orders", newest_first=True, limit=LINES_A_PAGE, attributes=FIELDS)
    read.assert_called_with("query", wanted, client="other")


def test_scopes_since_a_moment(history: History) -> None:
    """They are read in the order of time, from the moment on, by the keys of their lines."""
    rows = [{"sequence": "#history#orders", "scope": "a", "of_scope": "A", "period": "2026"}, {"scope": "b"}]
    send = Mock(return_value={"Items": [*map(marshal, rows)]})
    assert history.scopes_since(change().at, send) == {"a": Dated("A", "2026"), "b": None}
    begin = {**KEY, "scope": {"S": "2026-03-05T12:00:00.000000+00:00"}}
    wanted = query_numbers(
        SCHEMA,
        "#history#orders",
        newest_first=False,
        limit=LINES_A_PAGE,
        after=begin,
        attributes=["of_scope", "period"],
    )
    send.assert_called_once_with("query", wanted)
