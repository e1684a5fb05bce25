"""Markers: what they remember of a request, under which keys, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.commit.requests import Pending, PutRequest
from sequences.dynamodb import fingerprint, marshal
from sequences.dynamodb.expressions import KeySchema, marker_number, put_marker, read_item
from sequences.rows import answers
from sequences.rows.answers import Markers
from sequences.types import Dated
from tests.sequences.support import Clock

SCHEMA = KeySchema(table="items")
DAY = date(2026, 3, 5)
KEY = {"pk": {"S": "#marker#orders#A"}, "sk": {"N": str(marker_number("t"))}}


def made(clock: Clock, *, template: str | None = "A-{value}") -> Markers:
    """Those of a sequence; each is kept for a minute."""
    options = {"marker_seconds": 60, "ignore_in_repeat": ["at"]}
    assigner: Any = Mock(alias="orders", option=options, wall=clock)
    assigner.config.format = template
    return Markers(assigner, SCHEMA)


def test_the_key(clock: Clock) -> None:
    """It is made of the token and the scope without its period, so that a repeat in the next one finds it."""
    assert made(clock).key("A", "t") == made(clock).key(Dated("A", "2026"), "t") == KEY
    assert made(clock).partition(None) == "#marker#orders##"


@pytest.mark.parametrize(
    ("request_", "template", "told"),
    [
        (PutRequest(item={}, token="t", digest="d"), "A-{value}", {"items": 1, "format": "A-{value}"}),
        (PutRequest(item={}, token="t", digest="d"), None, {"items": 1, "format": "{value}"}),
        (PutRequest(item=None, token="t", digest="d", count=3), "A-{value}", {"count": 3}),
        (
            PutRequest(item={}, token="t", digest="d", day=DAY),
            None,
            {"items": 1, "period": "2026", "day": "2026-03-05", "format": "{value}"},
        ),
        (
            PutRequest(item={}, token="t", digest="d", count=2, more=(({}, {"pk": {"S": "own"}}),)),
            None,
            {"items": 2, "own_keys": [1], "format": "{value}"},
        ),
    ],
    ids=["an item", "without FORMAT", "values alone", "a day", "own keys"],
)
def test_what_is_stored(clock: Clock, request_: PutRequest, template: str | None, told: Mapping[str, Any]) -> None:
    """A marker has the first answer, what a repeat must have alike, and how long it counts."""
    clock.now += 0.9
    fields = {"token": "t", "request": "sign", "value": 7, "digest": "d", "marker_expires_at": 1_000_060, **told}
    wanted = put_marker(SCHEMA, {**KEY, **marshal(fields)}, now=1_000_000)
    assert made(clock, template=template).put(Dated("A", "2026"), request_, 7, "sign") == wanted


@pytest.mark.parametrize(("left", "is_found"), [(1, True), (0, False), (-1, False), (None, False)])
def test_a_look_up(clock: Clock, monkeypatch: pytest.MonkeyPatch, left: int | None, is_found: bool) -> None:
    """It is charged to the request, and finds a marker until that expires, though it is still there after it."""
    marker = {} if left is None else {"value": 7, "marker_expires_at": int(clock.now) + left}
    read = Mock(return_value={"Item": marshal(marker), "ConsumedCapacity": {"CapacityUnits": 1.0}})
    monkeypatch.setattr(answers, "read", read)
    pending, deadline = Pending(PutRequest(item={}, token="t")), Mock()
    assert made(clock).find("A", pending, deadline) == (marker if is_found else None)
    assert pending.read_units == 1.0
    read.assert_called_once_with("get_item", read_item("items", KEY), deadline=deadline)


def test_no_marker(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found where nothing is stored."""
    monkeypatch.setattr(answers, "read", Mock(return_value={}))
    assert made(clock).find("A", Pending(PutRequest(item={}, token="t")), Mock()) is None


def test_the_digest(clock: Clock) -> None:
    """What is ignored in a repeat is not in it."""
    item = marshal({"title": "one", "at": 7})
    assert made(clock).digest(item) == fingerprint(marshal({"title": "one"}))
