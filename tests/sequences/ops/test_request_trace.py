"""What is told of a request by its idempotency token: what it got, when, until when, and what is there now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sequences import changes, dynamodb, get_next_values, put_next, put_next_together
from sequences.dynamodb.expressions import MARKER_EXPIRY
from sequences.ops.scope_report import trace
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.types import Dated
from tests.sequences.support import Clock, Wire, delete_row, import_row

pytestmark = pytest.mark.usefixtures("configured")

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
WEEK = timedelta(days=7)


@pytest.fixture
def clock() -> Clock:
    """The time of day, which only the test moves."""
    return Clock(NOW.timestamp())


@pytest.fixture
def letters(install: Callable[..., Strategy], clock: Clock) -> Strategy:
    """A sequence by that clock."""
    return install("sort-key", wall=clock, marker_seconds=7 * 86_400)


def item_of(name: str, scope: str, token: str = "t") -> str:
    """What is said of the item of a request."""
    said: str = trace(strategies[name], scope, token)["item"]
    return said


def test_what_it_got(letters: Strategy, scope: str, wire: Wire) -> None:
    """Its number, its times, and its item, by two reads."""
    put_next("sort-key", {}, scope=scope, idempotency_token="t")
    wire.clear()
    assert trace(letters, scope, "t") == {
        "value": 1,
        "count": 1,
        "period": "",
        "texts": ["1"],
        "stored_at": NOW,
        "until": NOW + WEEK,
        "is_expired": False,
        "key": f"sort-key#{scope} / 1",
        "item": "Its item is stored.",
    }
    assert wire.operations == ["GetItem", "GetItem"]


def test_until_when(letters: Strategy, scope: str, clock: Clock) -> None:
    """A repeat is a new request from the second on at which its marker expires."""
    put_next("sort-key", {}, scope=scope, idempotency_token="t")
    told = []
    for seconds in (WEEK.total_seconds() - 1, WEEK.total_seconds()):
        clock.now = NOW.timestamp() + seconds
        told.append(trace(letters, scope, "t")["is_expired"])
    assert told == [False, True]


def test_nothing_is_known(letters: Strategy, scope: str, wire: Wire) -> None:
    """Of another token nothing is told, after one read."""
    put_next("sort-key", {}, scope=scope, idempotency_token="t")
    wire.clear()
    assert trace(letters, scope, "other") == {"value": None}
    assert wire.operations == ["GetItem"]


@pytest.mark.parametrize("name", ["token", "value", MARKER_EXPIRY])
def test_a_row_that_somebody_wrote(letters: Strategy, scope: str, name: str) -> None:
    """Of a marker of another token, or without a number or an end, nothing is told."""
    put_next("sort-key", {}, scope=scope, idempotency_token="t")
    key = {"TableName": letters.markers.schema.table, "Key": letters.markers.key(scope, "t")}
    update = {"UpdateExpression": "SET #name = :other", "ExpressionAttributeNames": {"#name": name}}
    dynamodb.call("update_item", {**key, **update, "ExpressionAttributeValues": {":other": {"S": "other"}}})
    assert trace(letters, scope, "t") == {"value": None}


def test_values_without_items(scope: str) -> None:
    """A request for values tells the first and the last of them, and reads no item."""
    name = "atomic-from-1001-by-10"
    get_next_values(3, name, scope=scope, idempotency_token="t")
    found = trace(strategies[name], scope, "t")
    assert (found["value"], found["count"], found["texts"]) == (1001, 3, ["1001", "1021"])
    assert found["item"] == "It took values without items."
    assert found["key"] == f"{name}#{scope} / 1001"


def test_another_period(scope: str, install: Callable[..., Strategy]) -> None:
    """The period and the day are the marker's, and so are the text and the key."""
    yearly = install("transactional", PERIOD="year", FORMAT="{scope}-{day}.{month}.{period}-{value}")
    put_next("transactional", {}, scope=scope, date=datetime(2019, 6, 5, tzinfo=UTC).date(), idempotency_token="t")
    found = trace(yearly, scope, "t")
    assert (found["period"], found["texts"]) == ("2019", [f"{scope}-05.06.2019-1"])
    assert found["key"] == yearly.layout.key_text(Dated(scope, "2019"), 1)
    assert found["item"] == "Its item is stored."


def test_another_format(scope: str, install: Callable[..., Strategy]) -> None:
    """The text is the one that the request got, as a repeat gets it, although FORMAT has changed since."""
    install("sort-key", FORMAT="OLD-{value}")
    put_next("sort-key", {}, scope=None, idempotency_token=scope)
    now = install("sort-key", FORMAT="NEW-{value:03d}")
    repeat = put_next("sort-key", {}, scope=None, idempotency_token=scope)
    assert trace(now, None, scope)["texts"] == [repeat.text] == [f"OLD-{repeat.value}"]


class TestTogether:
    """A request for several items."""

    def test_what_it_got(self, scope: str, wire: Wire) -> None:
        """All its numbers, and what is under them, by two reads."""
        put_next("transactional", {}, scope=scope)
        put_next_together("transactional", [{}, {}, {}], scope=scope, idempotency_token="t")
        wire.clear()
        found = trace(strategies["transactional"], scope, "t")
        assert (found["value"], found["count"], found["texts"]) == (2, 3, ["2", "4"])
        assert found["item"] == "2 to 4: Its item is stored."
        assert wire.operations == ["GetItem", "BatchGetItem"]

    def test_each_item(self, scope: str) -> None:
        """What has become of each of them is told in the order of their numbers."""
        put_next_together("sort-key", [{}] * 5, scope=scope, idempotency_token="t")
        changes.void("sort-key", 3, scope=scope, by="ann", reason="twice")
        delete_row("sort-key", scope, 4)
        import_row("sort-key", scope, 5)
        assert item_of("sort-key", scope) == (
            "1 to 2: Its item is stored. 3: Its item is stored, and void. 4: Its item is not there any more. "
            "5: The item under this number belongs to another request."
        )

    def test_keys_of_their_own(self, scope: str) -> None:
        """No item is looked for under a number whose item brought its own key."""
        own: Any = {"pk": f"own-{scope}", "sk": 7}
        put_next_together("transactional", [{}, own], scope=scope, idempotency_token="t")
        item = "Its item has a key of its own, which the application knows."
        assert item_of("transactional", scope) == f"1: Its item is stored. 2: {item}"
        put_next("transactional", own | {"sk": 8}, scope=scope, idempotency_token="one")
        found = trace(strategies["transactional"], scope, "one")
        assert (found["item"], found["key"]) == (item, "")

    def test_what_the_engine_leaves_out(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is said of an item that was not read."""
        put_next_together("sort-key", [{}, {}], scope=scope, idempotency_token="t")
        monkeypatch.setattr("sequences.ops.scope_report.read_rows", lambda *_: [None, None])
        assert item_of("sort-key", scope) == "1 to 2: The engine did not tell its item: look again."


class TestItems:
    """What is under the number now."""

    def test_a_void(self, letters: Strategy, scope: str) -> None:
        """The item is there, and withdrawn."""
        put_next("sort-key", {}, scope=scope, idempotency_token="t")
        changes.void("sort-key", 1, scope=scope, by="ann", reason="twice")
        assert item_of("sort-key", scope) == "Its item is stored, and void."

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("sort-key", "Its item is not there any more."),
            ("transactional", "Its item is not there any more, or it has a key of its own."),
        ],
    )
    def test_an_item_that_is_gone(self, name: str, said: str, scope: str) -> None:
        """Where items may have keys of their own, it may be under one."""
        put_next(name, {}, scope=scope, idempotency_token="t")
        delete_row(name, scope, 1)
        assert item_of(name, scope) == said

    def test_an_item_of_another_request(self, scope: str) -> None:
        """Its token is another one."""
        put_next("sort-key", {}, scope=scope, idempotency_token="t")
        import_row("sort-key", scope, 1)
        assert item_of("sort-key", scope) == "The item under this number belongs to another request."

    def test_keys_that_the_application_knows(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Where no key follows from a number, no item is read."""
        own: Any = {"pk": scope, "sk": 7}
        install("transactional", value_in="attribute")
        put_next("transactional", own, scope=scope, idempotency_token="t")
        assert item_of("transactional", scope) == "Its item has a key of its own, which the application knows."
