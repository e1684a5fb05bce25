"""DynamoDB's limits, reached exactly and exceeded by one: 100 actions and 4 MB a transaction, 400 KB an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from project.proof.faults.elsewhere import patient
from sequences import put_next, put_next_many
from sequences.exceptions import InvalidItem, StorageRefused
from sequences.strategies import Strategy
from sequences.testing.callers import at_once
from tests.attacks.support import GAPLESS, every_strategy, judge
from tests.sequences.support import stored

LARGE = "x" * 350_000
MORE_THAN_FIT = 13
"""A number of large items that one transaction cannot hold."""

THREADS = 100
COUNTS = [49, 50, 51, 98, 99, 100, 101]
"""Numbers of items around the limit of one transaction, with and without a counter, with and without tokens."""


def nested(levels: int) -> Any:
    """Lists and maps in each other, with this many levels."""
    value: Any = "the innermost"
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


BAD: dict[str, Any] = {"an empty set": set(), "too many levels": nested(40), "too many bytes": "x" * 450_000}


def titled(count: int) -> list[dict[str, Any]]:
    """This many small items."""
    return [{"title": f"item {number}"} for number in range(count)]


@every_strategy
def test_many_large_items(configured: str, scope: str, name: str) -> None:
    """More bytes than one transaction holds are stored by one call, in their order, and none is sent in vain."""
    items = [{**item, "content": LARGE} for item in titled(MORE_THAN_FIT)]
    tokens = [item["title"] if number % 2 else None for number, item in enumerate(items)]
    answers = put_next_many(name, items, scope=scope, idempotency_tokens=tokens)
    values = [answer.value for answer in answers]
    assert values == sorted(values)
    assert {answer.attempts for answer in answers} == {1}
    told = {item["title"]: value for item, value in zip(items, values, strict=True)}
    assert judge(name, scope, told) == told


@every_strategy
def test_large_items_at_the_same_moment(configured: str, scope: str, name: str) -> None:
    """Threads whose items are together more than one transaction holds are all answered."""

    def put(number: int) -> int:
        item = {"title": f"item {number}", "content": LARGE}
        return put_next(name, item, scope=scope, idempotency_token=f"{number}" if number % 2 else None).value

    told = {f"item {number}": value for number, value in enumerate(at_once(MORE_THAN_FIT, put))}
    assert judge(name, scope, told) == told


@pytest.mark.parametrize("name", GAPLESS)
@pytest.mark.parametrize("marked", [False, True], ids=["plain", "with-tokens"])
def test_as_many_items_as_a_transaction_holds(configured: str, scope: str, name: str, marked: bool) -> None:
    """One call with about as many items as fit has the next values for them, in their order; so has its repeat."""
    before = 0
    for count in COUNTS:
        tokens = [f"{number} of {count}" for number in range(count)] if marked else None
        for repeat in range(1 + marked):
            answers = put_next_many(name, titled(count), scope=scope, idempotency_tokens=tokens)
            assert [answer.value for answer in answers] == list(range(before + 1, before + count + 1))
            assert {answer.replayed for answer in answers} == {bool(repeat)}
        before += count
    assert sorted(stored(name, scope)) == list(range(1, before + 1))


@pytest.mark.needs_engine
@every_strategy
def test_bad_items_among_many_callers(install: Callable[..., Strategy], scope: str, name: str) -> None:
    """Of a hundred threads three have items that cannot be stored: they get errors, and the others get values."""
    install(name, deadline=60.0)
    items = titled(THREADS)
    for item, content in zip(items[50:], BAD.values(), strict=False):
        item["content"] = content

    def put(number: int) -> int | InvalidItem | StorageRefused:
        try:
            return put_next(
                name, items[number], scope=scope, idempotency_token=f"{number}" if number % 3 else None
            ).value
        except (InvalidItem, StorageRefused) as error:
            return error

    answers = {item["title"]: answer for item, answer in zip(items, at_once(THREADS, put), strict=True)}
    told = {title: answer for title, answer in answers.items() if isinstance(answer, int)}
    assert set(answers) - set(told) == {item["title"] for item in items if "content" in item}
    assert judge(name, scope, told) == told


@pytest.mark.needs_engine
@every_strategy
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_item_among_many(configured: str, scope: str, name: str, bad: str) -> None:
    """A call with an item that cannot be stored raises; of the others all are stored or none, and no gap is left."""
    items = titled(THREADS)
    items[50]["content"] = BAD[bad]
    with pytest.raises((InvalidItem, StorageRefused)):
        put_next_many(name, items, scope=scope)
    others = {item["title"] for item in items if "content" not in item}
    assert set(judge(name, scope, {})) in (set(), others)
    assert put_next(name, {"title": "the next"}, scope=scope).value > len(stored(name, scope)) - 1


@pytest.mark.needs_engine  # moto serves one call after the other, so the last one may time out
def test_more_callers_than_connections(configured: str, scope: str, settings: Settings) -> None:
    """Where more requests are under way than the client keeps connections, each is answered at once all the same."""
    settings.SEQUENCES_CLIENTS = {"default": {**patient()["default"], "POOL_SIZE": 2}}
    put_next("sort-key", {"title": "the first one"}, scope=scope)
    answers = at_once(20, lambda number: put_next("sort-key", {"title": "x"}, scope=f"{scope} {number}"))
    assert {(answer.value, answer.attempts) for answer in answers} == {(1, 1)}
