"""What clients asked for, what they were told and what is stored in the end: written down, and proved to fit.

    python -m project.proof.faults.history FILE...

A history is a file of JSON lines to which every client appends: `invoke` before it asks, and then `ok`, `fail`
(nothing was stored) or `unknown`. At the end come one line `stored` for each item that the tables hold and one line
`scope`, which tells what its strategy promises. `LAWS` are what must hold of all this together.

A request is named by its idempotency token and may be asked for again and again. Its last word is `ok` if one of
these attempts was; else `unknown` if the fate of one is, because of its answer or for want of one; else `fail`. So
a "fail" after an "unknown" settles nothing: the write that nobody heard of may still be on its way.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = [
    "LAWS",
    "Asked",
    "Event",
    "History",
    "Recorder",
    "Violation",
    "Word",
    "broken_pairs",
    "check",
    "read",
]

FIRST_FEW: Final = 10


class Asked(NamedTuple):
    """What a client asks for: an item with this content, in this scope, under this name for the request."""

    scope: str
    token: str
    content: str


class Word(NamedTuple):
    """What a client was told: `what` is "ok", "fail" or "unknown". `content` is the item's, if the answer holds it.

    `why` is for what is not "ok"; `wrong` says that the product must not speak so, whatever is stored.
    """

    what: str
    number: int | None = None
    content: str | None = None
    replayed: bool = False
    why: str = ""
    wrong: bool = False


class Recorder:
    """Appends to the histories of a folder, one file a scope. Threads and processes may share a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}
        self._lock = threading.Lock()

    def path(self, scope: str) -> Path:
        """Where the history of a scope lies."""
        return self._folder / f"{scope}.jsonl"

    def call(self, client: str, asked: Asked, send: Callable[[Asked], Word]) -> Word:
        """Ask by `send`, and write down both ends. A client asks for one thing at a time."""
        self.append({"what": "invoke", "at": time.monotonic(), "client": client, **asked._asdict()})
        word = send(asked)
        told = {name: value for name, value in word._asdict().items() if value != Word._field_defaults.get(name)}
        self.append({**told, "at": time.monotonic(), "client": client, "scope": asked.scope, "token": asked.token})
        return word

    def append(self, record: Mapping[str, Any]) -> None:
        """One line, by one write at the end of the file: nobody else's line gets between."""
        os.write(self._file(record["scope"]), f"{json.dumps(record)}\n".encode())

    def _file(self, scope: str) -> int:
        with self._lock:
            if scope not in self._files:
                self._files[scope] = os.open(self.path(scope), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            return self._files[scope]


class Event(NamedTuple):
    """One create: when it began and ended (monotonic seconds, one clock for all processes), and its value."""

    began: float
    ended: float
    value: int


class Told(NamedTuple):
    """One attempt that was "ok"."""

    event: Event
    content: str | None
    replayed: bool


@dataclass(slots=True)
class Request:
    """All attempts of one token. An attempt counts as unknown until something else is told.

    `unfounded` counts the replays of what nobody can have stored: every attempt before had failed for certain.
    """

    content: str
    began: float
    oks: list[Told] = field(default_factory=list)
    fails: int = 0
    unknowns: int = 0
    unfounded: int = 0

    @property
    def last_word(self) -> str:
        if self.oks:
            return "ok"
        return "unknown" if self.unknowns else "fail"

    def event(self, number: int) -> Event:
        """When the number was given, as closely as is known: by the attempt that was no replay, if it was heard of."""
        ended = min((told.event.ended for told in self.oks), default=math.inf)
        began = max((told.event.began for told in self.oks if not told.replayed), default=self.began)
        return Event(min(began, ended), ended, number)


class Stored(NamedTuple):
    """An item as the table holds it."""

    token: str
    content: str


@dataclass
class History:
    """All that happened in one scope; `gapless` and `ordered` are what its strategy promises.

    `reasons` counts why attempts were not "ok", and `wrong` lists what the product must not say.
    """

    scope: str
    gapless: bool = True
    ordered: bool = True
    requests: dict[str, Request] = field(default_factory=dict)
    stored: dict[int, Stored] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _calls: dict[str, float] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """Take one line in."""
        match record["what"]:
            case "scope":
                self.gapless, self.ordered = record["gapless"], record["ordered"]
            case "stored":
                self.stored[record["number"]] = Stored(record["token"], record["content"])
                self.places.setdefault(record["token"], []).append(record["number"])
            case "invoke":
                self._calls[record["client"]] = record["at"]
                asked = Request(record["content"], record["at"])
                self.requests.setdefault(record["token"], asked).unknowns += 1
            case _:
                self._hear(record, self.requests[record["token"]], self._calls.pop(record["client"]))

    def _hear(self, record: Mapping[str, Any], request: Request, began: float) -> None:
        if record["what"] != "unknown":
            request.unknowns -= 1
        if record["what"] == "ok":
            event, replayed = Event(began, record["at"], record["number"]), record.get("replayed", False)
            request.unfounded += replayed and not request.oks and not request.unknowns
            request.oks.append(Told(event, record.get("content"), replayed))
        else:
            request.fails += record["what"] == "fail"
            self.reasons[f"{record['what']}: {record.get('why', '')}"] += 1
            self.wrong += [f"{record['token']}: {record.get('why', '')}"] if record.get("wrong") else []

    def tally(self) -> Counter[str]:
        """How many requests ended with which last word, and how many attempts, replays and stored items there were."""
        words = Counter(request.last_word for request in self.requests.values())
        replays = sum(told.replayed for request in self.requests.values() for told in request.oks)
        attempts = sum(len(request.oks) + request.fails + request.unknowns for request in self.requests.values())
        return words + Counter(attempts=attempts, replayed=replays, stored=len(self.stored))


class Violation(NamedTuple):
    """A law, where it was broken, and by what."""

    law: str
    scope: str
    text: str

    def __str__(self) -> str:
        return f"{self.scope}: {self.law}: {self.text}"


def uniqueness(history: History) -> Iterator[str]:
    """No two requests were told one number, and no request is stored twice."""
    owners: dict[int, str] = {}
    for token, request in history.requests.items():
        for number in {told.event.value for told in request.oks}:
            if owners.setdefault(number, token) != token:
                yield f"{number} was told to {owners[number]} and to {token}"
    yield from _stored_twice(history, "ok", "fail")


def no_gap(history: History) -> Iterator[str]:
    """The stored numbers are 1 to n, if the strategy promises it."""
    numbers = sorted(history.stored)
    if history.gapless and numbers != list(range(1, len(numbers) + 1)):
        missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
        yield f"{len(missing)} numbers are missing, the first are {missing[:FIRST_FEW]}; the last is {max(numbers)}"


def order_in_time(history: History) -> Iterator[str]:
    """Numbers follow time: a create that starts after another has finished has a higher number.

    If the strategy promises it. A number whose client heard nothing is known from the table, and has no end.
    """
    events = [request.event(number) for number, request in _numbered(history)]
    for early, late in broken_pairs(events) if history.ordered else ():
        yield f"{early.value} was told by {early.ended:.6f}, {late.value} was asked for at {late.began:.6f}"


def failed_is_absent(history: History) -> Iterator[str]:
    """What failed for certain, at every attempt, is not stored; nor was it when the next attempt came."""
    for token, numbers in history.places.items():
        if _last_word(history, token) == "fail":
            yield f"{token} failed, and is stored under {numbers}"
    for token, request in history.requests.items():
        if request.unfounded:
            yield f"{token} had failed, and was then told to be stored before"


def unknown_at_most_once(history: History) -> Iterator[str]:
    """What ended unknown is stored once, or not at all."""
    yield from _stored_twice(history, "unknown")


def replays_agree(history: History) -> Iterator[str]:
    """Every "ok" of one token names one number and one content, and at most one of them is no replay."""
    for token, request in history.requests.items():
        answers = {(told.event.value, told.content) for told in request.oks}
        if len(answers) > 1:
            yield f"{token} was told {sorted(answers, key=str)}"
        if sum(not told.replayed for told in request.oks) > 1:
            yield f"{token} was told twice that it is new"


def stored_as_told(history: History) -> Iterator[str]:
    """Every "ok" is stored under its number with its content, and nothing is stored that nobody asked for."""
    for token, request in history.requests.items():
        for told in request.oks:
            expected = Stored(token, request.content if told.content is None else told.content)
            found = history.stored.get(told.event.value)
            if found != expected:
                yield f"{told.event.value} was told to be {expected}, and is {found}"
    for number, item in history.stored.items():
        asked = history.requests.get(item.token)
        if asked is None or asked.content != item.content:
            yield f"{number} is {item}, which nobody asked for"


def no_wrong_word(history: History) -> Iterator[str]:
    """Nobody was told what the product must not say: a refusal of what is right, an error that it does not know."""
    yield from history.wrong


LAWS: Final = (
    uniqueness,
    no_gap,
    order_in_time,
    failed_is_absent,
    unknown_at_most_once,
    replays_agree,
    stored_as_told,
    no_wrong_word,
)


def check(history: History) -> list[Violation]:
    """Every breach of every law."""
    return [Violation(law.__name__, history.scope, text) for law in LAWS for text in law(history)]


def _last_word(history: History, token: str) -> str:
    request = history.requests.get(token)
    return request.last_word if request else "nobody asked"


def _stored_twice(history: History, *last_words: str) -> Iterator[str]:
    for token, numbers in history.places.items():
        if len(numbers) > 1 and _last_word(history, token) in last_words:
            yield f"{token} is stored under {numbers}"


def _numbered(history: History) -> Iterator[tuple[int, Request]]:
    """Every request with its number: what it was told, or else where it is stored."""
    for token, request in history.requests.items():
        numbers = [told.event.value for told in request.oks] or history.places.get(token)
        if numbers:
            yield numbers[0], request


def broken_pairs(events: list[Event]) -> list[tuple[Event, Event]]:
    """Pairs that break the order: the first ended before the second began, and has no smaller value.

    All pairs are covered in n log n: beside each event it is enough to look at the largest value among those
    that had ended before it began.
    """
    by_end = sorted(events, key=lambda event: event.ended)
    largest: Event | None = None
    broken, ended = [], 0
    for event in sorted(events):
        while by_end[ended].ended < event.began:
            largest = max(largest or by_end[ended], by_end[ended], key=lambda done: done.value)
            ended += 1
        if largest is not None and largest.value >= event.value:
            broken.append((largest, event))
    return broken


def read(lines: Iterable[str]) -> list[History]:
    """The histories that these lines hold, one for each scope."""
    histories: dict[str, History] = {}
    for line in lines:
        record = json.loads(line)
        histories.setdefault(record["scope"], History(record["scope"])).add(record)
    return list(histories.values())


def main() -> int:
    """The command line; the exit status is 1 when a law was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    broken = 0
    for path in parser.parse_args().files:
        with path.open() as lines:
            for history in read(lines):
                violations = check(history)
                broken += len(violations)
                print(f"{history.scope}: {dict(history.tally())}", *violations, sep="\n")
    print(f"{broken} violations")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
