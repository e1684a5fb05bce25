"""Writes that are held back longer than anybody waits, and then delivered: every answer must be true in the end.

A write is held for 5 to 12 seconds, longer than a client waits for an answer. Some writes are throttled, or conflict
with another transaction. Callers start one after the other, each with a deadline, with one item or many, with or
without tokens. Another process puts into the same scopes, and its writes are not held. After the last delivery all
answers are compared with the table.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import override_settings

from project.proof.faults.control import ProxyLog, proxy_before
from project.proof.faults.plans import Rule
from sequences import put_next, put_next_many
from sequences.exceptions import GaveUp
from sequences.registry import strategies
from sequences.testing.embedded import Engine
from tests.attacks.support import ATTACKED
from tests.sequences.support import SEQUENCES as CONFIGURED
from tests.sequences.support import Processes, stored

SCOPE = "ABC"
DEADLINES = [1, 4, 10]
ALONE_DEADLINE = 4
FAULTY_SECONDS = 9.0
"""The seconds after which no more writes are held. The last held write is delivered up to 12 seconds later."""

RIVALS = 6
"""How often another process puts into every scope."""

STARTS = [0.0, 0.1, 0.2, 0.9, 1.1, 2.3, 3.4, 4.5]
"""When the callers of a scope start, in seconds."""

FAULTS: list[dict[str, Any]] = [
    {"fault": "delay", "seconds": 5, "probability": 0.2},
    {"fault": "delay", "seconds": 8, "probability": 0.15},
    {"fault": "delay", "seconds": 12, "probability": 0.15},
    {"fault": "ThrottlingException", "probability": 0.1},
    {"fault": "cancel-TransactionConflict", "probability": 0.1},
]
RULES = [
    Rule(**{"operation": operation, **fault})
    for fault in FAULTS
    for operation in ("PutItem", "UpdateItem", "TransactWriteItems")
]


def with_options(name: str, **options: Any) -> dict[str, Any]:
    """A configuration with some options changed."""
    entry = CONFIGURED[name]
    return {**entry, "OPTIONS": {**entry.get("OPTIONS", {}), **options}}


SEQUENCES = {
    **{f"{name}-{deadline}": with_options(name, deadline=deadline) for name in ATTACKED for deadline in DEADLINES},
    **{f"{name}-alone": with_options(name, deadline=ALONE_DEADLINE, group=False) for name in ATTACKED},
}


@dataclass
class Call:
    """One call and its result: values for its titles, or an error."""

    sequence: str
    place: int
    values: list[int] = field(default_factory=list)
    error: Exception | None = None
    seconds: float = 0.0

    @property
    def titles(self) -> list[str]:
        """The titles of its items: every third call has three items, the others one."""
        return [f"{self.place}.{n}" for n in range(3 if self.place % 3 == 2 else 1)]

    @property
    def tokens(self) -> list[str | None]:
        """The idempotency tokens of its items: every second call has tokens."""
        return [f"token {title}" if self.place % 2 else None for title in self.titles]

    @property
    def told(self) -> dict[str, int]:
        """The values that were answered, by title."""
        return dict(zip(self.titles, self.values, strict=False))

    def run(self) -> Call:
        """Wait for the moment of the call, make it, and record its result."""
        time.sleep(STARTS[self.place])
        began = time.monotonic()
        try:
            self.values = self.put()
        except Exception as error:  # noqa: BLE001 - checked by the tests
            self.error = error
        self.seconds = time.monotonic() - began
        return self

    def put(self) -> list[int]:
        """Store the items."""
        items = [{"title": title} for title in self.titles]
        if len(items) > 1:
            answers = put_next_many(self.sequence, items, scope=SCOPE, idempotency_tokens=self.tokens)
        else:
            answers = [put_next(self.sequence, items[0], scope=SCOPE, idempotency_token=self.tokens[0])]
        return [answer.value for answer in answers]

    def __str__(self) -> str:
        fate = repr(self.error) if self.error else f"told {self.values}"
        return f"{self.sequence}, call {self.place}, {self.seconds:.1f} s: {fate}"


def rival(endpoint: str) -> dict[str, dict[int, str]]:
    """Put into every scope many times, without the proxy. Returns the titles of the answered calls by their values."""
    os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint
    told: dict[str, dict[int, str]] = {sequence: {} for sequence in SEQUENCES}
    began = time.monotonic()
    for number in range(RIVALS):
        time.sleep(max(0.0, began + number * FAULTY_SECONDS / RIVALS - time.monotonic()))
        for sequence in SEQUENCES:
            title = f"rival {number}"
            with suppress(GaveUp):
                told[sequence][put_next(sequence, {"title": title}, scope=SCOPE).value] = title
    return told


@dataclass
class Aftermath:
    """Every call, the rival's items, the log of the proxy, and the stored titles of each sequence by value."""

    calls: list[Call]
    rivals: dict[str, dict[int, str]]
    log: ProxyLog
    stored: dict[str, dict[int, str]]

    def count(self, call: Call) -> list[int]:
        """How often each item of the call is stored."""
        titles = Counter(self.stored[call.sequence].values())
        return [titles[title] for title in call.titles]


@pytest.fixture(scope="module")
def aftermath(engine: Engine) -> Iterator[Aftermath]:
    """The result of all calls together, and the table after the last delivery. This takes about half a minute."""
    prefix = f"held_{uuid4().hex[:12]}_"
    configured = override_settings(SEQUENCES=SEQUENCES, TABLE_PREFIX=prefix)
    with pytest.MonkeyPatch.context() as patch, configured, proxy_before(engine.endpoint) as proxy:
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint)
        strategies.reset()
        call_command("create_tables", verbosity=0)
        rivals = Processes("fork", 1, engine.endpoint, prefix)
        rivals.run(os.getpid)  # forked before there are other threads
        calls = [Call(sequence, place) for sequence in SEQUENCES for place in range(len(STARTS))]
        proxy.follow(*RULES, seed=1)
        with ThreadPoolExecutor(len(calls) + 1) as threads:
            rivalry = threads.submit(rivals.run, rival, engine.endpoint)
            running = [threads.submit(call.run) for call in calls]
            time.sleep(FAULTY_SECONDS)
            log = proxy.log
            proxy.calm()
            calls = [future.result() for future in running]
        proxy.settle()
        yield Aftermath(calls, rivalry.result()[0], log, read_all())
        rivals.stop()
    strategies.reset()


def read_all() -> dict[str, dict[int, str]]:
    """The stored titles of every sequence."""
    return {sequence: {value: row["title"] for value, row in stored(sequence, SCOPE).items()} for sequence in SEQUENCES}


def test_it_was_an_attack(aftermath: Aftermath) -> None:
    """Writes of every kind were held; calls were answered or gave up, certain or not; the rival got most values."""
    held = Counter(operation for _, operation, fault in aftermath.log.faults if fault == "delay")
    assert min(held[operation] for operation in ("PutItem", "UpdateItem", "TransactWriteItems")) > 5
    fates = Counter(call.error.outcome_unknown for call in aftermath.calls if isinstance(call.error, GaveUp))
    assert min(fates[False], fates[True], len(aftermath.calls) - fates.total()) > 2
    assert sum(map(len, aftermath.rivals.values())) > RIVALS * len(SEQUENCES) / 2


def test_an_answer_is_a_value_or_a_giving_up(aftermath: Aftermath) -> None:
    """A call ends with a value or with GaveUp, and with no other error."""
    assert [str(call) for call in aftermath.calls if call.error and not isinstance(call.error, GaveUp)] == []


def test_a_value_that_was_told_is_stored(aftermath: Aftermath) -> None:
    """The item of an answered call stands under its value."""
    lies = [
        str(call)
        for call in aftermath.calls
        if any(aftermath.stored[call.sequence].get(value) != title for title, value in call.told.items())
    ]
    assert lies == []
    for sequence, told in aftermath.rivals.items():
        assert told.items() <= aftermath.stored[sequence].items()


def test_nothing_was_stored_means_for_ever(aftermath: Aftermath) -> None:
    """If a call reports that nothing was stored, its items are not stored later, by a write that arrives late."""
    certain = [call for call in aftermath.calls if isinstance(call.error, GaveUp) and not call.error.outcome_unknown]
    assert [str(call) for call in certain if any(aftermath.count(call))] == []


def test_no_item_is_stored_twice(aftermath: Aftermath) -> None:
    """Whatever a call reports, each of its items is stored at most once."""
    assert [str(call) for call in aftermath.calls if max(aftermath.count(call)) > 1] == []


def test_no_gap_is_left(aftermath: Aftermath) -> None:
    """With a gapless strategy the values are 1, 2, 3 and so on."""
    gaps = {
        sequence: sorted(values)
        for sequence, values in aftermath.stored.items()
        if strategies[sequence].gapless and sorted(values) != list(range(1, len(values) + 1))
    }
    assert gaps == {}


def test_every_call_ends_in_time(aftermath: Aftermath) -> None:
    """A call lasts its deadline. It never waits for the writes that are held longest, not even on a busy machine."""
    late = [str(call) for call in aftermath.calls if call.seconds > strategies[call.sequence].option["deadline"] + 5]
    assert late == []


def test_a_repeat_finds_what_was_stored(aftermath: Aftermath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call with tokens that gave up is repeated: now each of its items is stored, once, under the value told."""
    repeated = [replace(call) for call in aftermath.calls if call.error and call.tokens[0]]
    for call in repeated:
        monkeypatch.setitem(strategies[call.sequence].option, "deadline", 30.0)  # a busy machine takes over a second
        call.values = call.put()
    after = replace(aftermath, calls=[*aftermath.calls, *repeated], stored=read_all())
    assert len(repeated) > 5
    assert [str(call) for call in repeated if after.count(call) != [1] * len(call.titles)] == []
    test_a_value_that_was_told_is_stored(after)
    test_no_gap_is_left(after)
