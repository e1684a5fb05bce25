"""A process that uses more and more scopes, with and without errors, remembers a bounded number of them.

The engine is a stub, for speed: it accepts writes and stores nothing. Sometimes it refuses, throttles, or says that
another writer was faster. There are three hundred scopes, and all bounds are low. With `LARGE=1` in the environment
there are a million scopes, and the bounds are the real ones.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, NoneType
from typing import Any
from uuid import uuid4

import pytest

from sequences import dynamodb, get_last_value, get_next_value, put_next
from sequences.exceptions import (
    CancellationReason,
    NotWritten,
    OutcomeUnknown,
    SequenceError,
    StorageRefused,
    WriteCancelled,
)
from sequences.registry import strategies
from sequences.rows.lru import SCOPES_REMEMBERED
from sequences.strategies import Strategy
from tests.sequences.support import remember_at_most

LARGE = "LARGE" in os.environ
SCOPES = 1_000_000 if LARGE else 300
LOOKS = 2 if LARGE else 1
"""How often the remembered scopes are counted, the last time at the end."""

BOUND = SCOPES_REMEMBERED if LARGE else 60
LOOKED_INTO = {"sequences", "prometheus_client", "opentelemetry", *sys.stdlib_module_names} - {"logging", "threading"}
"""The packages whose objects may remember scopes of the app."""

ATOMS = {str, bytes, int, float, bool, NoneType, CodeType}
"""What holds no scope: not to look into it saves most of the time."""


def bad_day(request: Mapping[str, Any], draws: random.Random) -> SequenceError:
    """A random error of a write."""
    actions = [next(iter(action.values())) for action in request.get("TransactItems", ())] or [request]
    taken = CancellationReason("ConditionalCheckFailed", {"token": "another's", "last_value": 1, "highest": 1})
    reasons = [taken if "title" in action.get("Item", {}) else CancellationReason("None") for action in actions]
    lost = WriteCancelled("lost", tuple(reasons) if taken in reasons else (taken,) * len(reasons))
    return draws.choice([lost, NotWritten("throttled"), OutcomeUnknown("no answer"), StorageRefused("refused")])


def stubbed_engine() -> Callable[..., dict[str, Any]]:
    """A stub of `dynamodb.call`: 3 % of the writes fail."""
    draws = random.Random(1)

    def call(operation: str, request: Mapping[str, Any], **_: object) -> dict[str, Any]:
        if operation in ("put_item", "update_item", "transact_write_items") and draws.random() < 0.03:
            raise bad_day(request, draws)
        amount = request.get("ExpressionAttributeValues", {}).get(":amount", {"N": "1"})
        return {"Items": [], "Attributes": {"last_value": amount}, "Table": {"TableId": "the one life"}}

    return call


def remembered(prefix: str) -> tuple[int, int]:
    """How many scopes with this prefix the app remembers: the most in one object, and the sum of all objects."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "sequences"]
    ahead: list[object] = [vars(module) for module in modules]
    found, seen, most = set[str](), set[int](), 0
    while ahead:
        thing = ahead.pop()
        if id(thing) in seen or is_foreign(thing):
            continue
        seen.add(id(thing))
        held = gc.get_referents(thing)
        scopes = {text for text in held if type(text) is str and text.startswith(prefix)}
        most = max(most, len(scopes))
        found |= scopes
        ahead.extend(one for one in held if type(one) not in ATOMS)
    return most, len(found)


def is_foreign(thing: object) -> bool:
    """Whether an object belongs to other packages.

    It looks at the type first: a proxy of a deleted object raises an error for anything else.
    """
    kind = type(thing)
    module = thing.__module__ if issubclass(kind, type | FunctionType) else kind.__module__
    return issubclass(kind, ModuleType) or str(module).partition(".")[0] not in LOOKED_INTO


@pytest.fixture
def stubbed(
    install: Callable[..., Strategy], name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    """The strategy on the stub of the engine, without long pauses, with all its bounds at the lowest one."""
    caplog.set_level(logging.CRITICAL, "sequences")
    remember_at_most(BOUND, monkeypatch)
    dynamodb.account()
    install(name, deadline=0.01)
    monkeypatch.setattr(dynamodb, "call", stubbed_engine())
    yield
    strategies.reset()


@pytest.mark.timeout(3600 if LARGE else 300)
@pytest.mark.parametrize("name", ["transactional", "block", "sort-key"])
def test_what_is_remembered_is_bounded(stubbed: None, name: str) -> None:
    """However many scopes there were, those that are remembered are never more than the bound says."""
    prefix = uuid4().hex
    files = open_files()
    for number in range(SCOPES):
        scope = f"{prefix} {number}"
        with suppress(SequenceError):
            put_next(name, {"title": "x"}, scope=scope, idempotency_token="a token" if number % 2 else None)
        if number % 20 == 0 and strategies[name].supports_reserve:
            with suppress(SequenceError):
                get_next_value(name, scope=scope)
        if number % 20 == 1:
            with suppress(SequenceError):
                get_last_value(name, scope=scope)
        if number % (SCOPES // LOOKS) == SCOPES // LOOKS - 1:
            most, together = remembered(prefix)
            assert BOUND / 2 < most <= BOUND
            assert together < 3 * BOUND  # a memory that is seldom written may keep scopes that the others have dropped
    assert open_files() <= files + 2


def open_files() -> int:
    """How many files this process has open."""
    return len(list(Path(f"/proc/{os.getpid()}/fd").iterdir()))
