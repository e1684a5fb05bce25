"""Records what clients asked for, what was answered and what is stored in the end, and checks that all of it fits.

    python -m project.proof.faults.history FILE...

A history is a file of JSON lines. Every client appends to it: `invoke` before a request, and then `ok`, `fail` (nothing
was stored) or `unknown`. The end has a line `stored` for each item in the tables, a line `note` for each row that rode
with an item, a line `tally` with how many riders were counted, and a line `scope` with the promises of the strategy.
`LAWS` are the rules that a history must follow.

A request is named by its token, and may have many attempts if it sends this token as its idempotency token. Its last
word is `ok` if one of its attempts was "ok". Otherwise it is `unknown` if one of them was "unknown" or got no answer.
Otherwise it is `fail`. So a "fail" after an "unknown" settles nothing: the earlier write may still arrive.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = [
    "LAWS",
    "NOTE",
    "TALLY",
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
TALLY: Final = "tally"
NOTE: Final = "note"


class Asked(NamedTuple):
    """What a client asks for: `size` items with this content in this scope, with this name.

    `marked` says that the name is sent as the idempotency token. `also` names what rides with the item, and `own_key`
    is the key that the item brings.
    """

    scope: str
    token: str
    content: str
    size: int = 1
    marked: bool = True
    also: tuple[str, ...] = ()
    own_key: int | None = None

    @property
    def titles(self) -> list[str]:
        """The contents of its items."""
        return _titles(self.content, self.size)

    @property
    def repeatable(self) -> bool:
        """Whether a repeat stores nothing twice, and must succeed in the end."""
        return self.marked and not self.also and self.own_key is None


def _titles(content: str, size: int) -> list[str]:
    """The contents of the items of a request, in the order of their numbers."""
    return [content] if size == 1 else [f"{content} {place}" for place in range(size)]


def _unlike_defaults(record: Asked | Word) -> dict[str, Any]:
    """The fields of a record, without those that have their default values."""
    defaults = record._field_defaults
    return {name: value for name, value in record._asdict().items() if name not in defaults or value != defaults[name]}


class Word(NamedTuple):
    """An answer: `what` is "ok", "fail" or "unknown". `content` is the content of the item, if the answer has it.

    `why` is the reason of an answer other than "ok". `wrong` means that the product must never give this answer.
    """

    what: str
    number: int | None = None
    content: str | None = None
    replayed: bool = False
    why: str = ""
    wrong: bool = False


class Recorder:
    """Appends to the histories of a folder, one file for each scope. Threads and processes may share a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}
        self._lock = threading.Lock()

    def path(self, scope: str) -> Path:
        """The file with the history of a scope."""
        return self._folder / f"{scope}.jsonl"

    def call(self, client: str, asked: Asked, send: Callable[[Asked], Word]) -> Word:
        """Call `send`, and record its begin and its end. A client sends one request at a time."""
        self.append({"what": "invoke", "at": time.monotonic(), "client": client, **_unlike_defaults(asked)})
        word = send(asked)
        self.append(
            {
                **_unlike_defaults(word),
                "at": time.monotonic(),
                "client": client,
                "scope": asked.scope,
                "token": asked.token,
            }
        )
        return word

    def append(self, record: Mapping[str, Any]) -> None:
        """Append one line by one write, so that lines of several writers do not mix."""
        os.write(self._file(record["scope"]), f"{json.dumps(record)}\n".encode())

    def _file(self, scope: str) -> int:
        with self._lock:
            if scope not in self._files:
                self._files[scope] = os.open(self.path(scope), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            return self._files[scope]


class Event(NamedTuple):
    """One create: its begin and end (monotonic seconds, by one clock for all processes), and its value."""

    began: float
    ended: float
    value: int


class Told(NamedTuple):
    """One attempt with the answer "ok"."""

    event: Event
    content: str | None
    replayed: bool


@dataclass(slots=True)
class Request:
    """All attempts of one token. An attempt counts as unknown until it has another answer.

    `unfounded` counts the replays without an earlier write: all attempts before had failed for certain.
    """

    content: str
    began: float
    size: int = 1
    also: Sequence[str] = ()
    oks: list[Told] = field(default_factory=list)
    fails: int = 0
    unknowns: int = 0
    unfounded: int = 0

    @property
    def last_word(self) -> str:
        if self.oks:
            return "ok"
        return "unknown" if self.unknowns else "fail"

    @property
    def titles(self) -> list[str]:
        """The contents of its items."""
        return _titles(self.content, self.size)

    def event(self, number: int) -> Event:
        """The time span in which the number was given. The attempt that was not a replay, if known, narrows it."""
        ended = min((told.event.ended for told in self.oks), default=math.inf)
        began = max((told.event.began for told in self.oks if not told.replayed), default=self.began)
        return Event(min(began, ended), ended, number)


class Stored(NamedTuple):
    """An item in the table."""

    token: str
    content: str


@dataclass
class History:
    """Everything that happened in one scope. `gapless` and `ordered` are the promises of its strategy.

    `clashes` lists the numbers of two stored items. `notes` has the content of each note by its number, and `tally` how
    many riders were counted, if they were. `reasons` counts the reasons of attempts that were not "ok". `wrong` lists
    answers that the product must never give.
    """

    scope: str
    gapless: bool = True
    ordered: bool = True
    requests: dict[str, Request] = field(default_factory=dict)
    stored: dict[int, Stored] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    clashes: list[int] = field(default_factory=list)
    notes: dict[int, str] = field(default_factory=dict)
    tally: int | None = None
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _calls: dict[str, float] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one line."""
        match record["what"]:
            case "scope":
                self.gapless, self.ordered = record["gapless"], record["ordered"]
            case "stored":
                self.clashes += [record["number"]] if record["number"] in self.stored else []
                self.stored[record["number"]] = Stored(record["token"], record["content"])
                self.places.setdefault(record["token"], []).append(record["number"])
            case "note":
                self.notes[record["number"]] = record["content"]
            case "tally":
                self.tally = record["count"]
            case "invoke":
                self._calls[record["client"]] = record["at"]
                asked = Request(record["content"], record["at"], record.get("size", 1), record.get("also", ()))
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

    def counts(self) -> Counter[str]:
        """The number of requests for each last word, and the numbers of attempts, replays and stored items."""
        words = Counter(request.last_word for request in self.requests.values())
        replays = sum(told.replayed for request in self.requests.values() for told in request.oks)
        attempts = sum(len(request.oks) + request.fails + request.unknowns for request in self.requests.values())
        return words + Counter(attempts=attempts, replayed=replays, stored=len(self.stored))

    def carriers(self, rider: str) -> dict[int, str]:
        """The numbers and contents of the stored items with which such a rider went."""
        items = ((number, item, self.requests.get(item.token)) for number, item in self.stored.items())
        return {number: item.content for number, item, request in items if request and rider in request.also}


class Violation(NamedTuple):
    """A broken law: its name, the scope, and what broke it."""

    law: str
    scope: str
    text: str

    def __str__(self) -> str:
        return f"{self.scope}: {self.law}: {self.text}"


def uniqueness(history: History) -> Iterator[str]:
    """No two requests got the same number, and no request is stored twice."""
    owners: dict[int, str] = {}
    for token, request in history.requests.items():
        for first in {told.event.value for told in request.oks}:
            for number in range(first, first + request.size):
                if owners.setdefault(number, token) != token:
                    yield f"{number} was answered to {owners[number]} and to {token}"
    for number in history.clashes:
        yield f"{number} is the number of two stored items"
    yield from _stored_twice(history, "ok", "fail")


def no_gap(history: History) -> Iterator[str]:
    """The stored numbers are 1 to n without gaps, if the strategy promises it."""
    numbers = sorted(history.stored)
    if history.gapless and numbers != list(range(1, len(numbers) + 1)):
        missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
        yield f"{len(missing)} numbers are missing, the first are {missing[:FIRST_FEW]}; the last is {max(numbers)}"


def order_in_time(history: History) -> Iterator[str]:
    """Numbers follow time: a create that starts after another has finished has a higher number.

    This is checked only if the strategy promises it. A number without an answer is taken from the table, and its create
    has no end.
    """
    events = [request.event(number) for number, request in _numbered(history)]
    for early, late in broken_pairs(events) if history.ordered else ():
        yield f"{early.value} was answered by {early.ended:.6f}, {late.value} was requested at {late.began:.6f}"


def failed_is_absent(history: History) -> Iterator[str]:
    """A request whose attempts all failed for certain is not stored. It was not stored between its attempts, either."""
    for token, numbers in history.places.items():
        request = history.requests.get(token)
        if request and request.last_word == "fail":
            yield f"{token} failed, but is stored under {numbers}"
    for token, request in history.requests.items():
        if request.unfounded:
            yield f"{token} had failed, but was then answered as stored before"


def unknown_at_most_once(history: History) -> Iterator[str]:
    """A request that ended as unknown is stored once or not at all."""
    yield from _stored_twice(history, "unknown")


def replays_agree(history: History) -> Iterator[str]:
    """All "ok" answers of one token have the same number and content, and at most one of them is not a replay."""
    for token, request in history.requests.items():
        answers = {(told.event.value, told.content) for told in request.oks}
        if len(answers) > 1:
            yield f"{token} was answered with {sorted(answers, key=str)}"
        if sum(not told.replayed for told in request.oks) > 1:
            yield f"{token} was answered as new twice"


def stored_as_told(history: History) -> Iterator[str]:
    """Every "ok" is stored under its number with its content, and everything stored was requested."""
    for token, request in history.requests.items():
        for told in request.oks:
            for number, title in enumerate(request.titles, told.event.value):
                expected = Stored(token, title if told.content is None else told.content)
                found = history.stored.get(number)
                if found != expected:
                    yield f"{number} was answered to be {expected}, but is {found}"
    for number, item in history.stored.items():
        asked = history.requests.get(item.token)
        if asked is None or item.content not in asked.titles:
            yield f"{number} is {item}, which nobody requested"


def together_is_whole(history: History) -> Iterator[str]:
    """Items that are stored together are all there, under numbers that follow each other in their order."""
    for token, numbers in history.places.items():
        request = history.requests.get(token)
        if request and request.size > 1 and len(numbers) <= request.size:
            first = min(numbers)
            found = [history.stored[number].content for number in sorted(numbers)]
            if found != request.titles or sorted(numbers) != list(range(first, first + request.size)):
                yield f"{token} asked for {request.size} items, but {found} are stored under {sorted(numbers)}"


def riders_go_with_items(history: History) -> Iterator[str]:
    """What rode with an item is stored if the item is, and only then: the tally counts them, and each has its note."""
    carriers = history.carriers(TALLY)
    if history.tally is not None and history.tally != len(carriers):
        yield f"{len(carriers)} stored items were to be counted, but the tally is {history.tally}"
    expected = history.carriers(NOTE)
    for number in sorted(number for number, _ in expected.items() ^ history.notes.items())[:FIRST_FEW]:
        yield f"the note of {number} is {history.notes.get(number)}, but must be {expected.get(number)}"


def no_wrong_word(history: History) -> Iterator[str]:
    """No answer was wrong. Wrong answers are refusals of valid requests, and unexpected errors of the product."""
    yield from history.wrong


LAWS: Final = (
    uniqueness,
    no_gap,
    order_in_time,
    failed_is_absent,
    unknown_at_most_once,
    replays_agree,
    stored_as_told,
    together_is_whole,
    riders_go_with_items,
    no_wrong_word,
)


def check(history: History) -> list[Violation]:
    """All violations of all laws."""
    return [Violation(law.__name__, history.scope, text) for law in LAWS for text in law(history)]


def _stored_twice(history: History, *last_words: str) -> Iterator[str]:
    for token, numbers in history.places.items():
        request = history.requests.get(token)
        if request and len(numbers) > request.size and request.last_word in last_words:
            yield f"{token} is stored under {numbers}"


def _numbered(history: History) -> Iterator[tuple[int, Request]]:
    """Every request with its number: the answered one, or else the stored one."""
    for token, request in history.requests.items():
        numbers = [told.event.value for told in request.oks] or history.places.get(token)
        if numbers:
            yield numbers[0], request


def broken_pairs(events: list[Event]) -> list[tuple[Event, Event]]:
    """Pairs that break the order: the first ended before the second began, but its value is not smaller.

    It takes n log n steps, and finds a pair for each event that is too low: it compares each event with the largest
    value among those that had ended before it began.
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
    """The histories in these lines, one for each scope."""
    histories: dict[str, History] = {}
    for line in lines:
        record = json.loads(line)
        histories.setdefault(record["scope"], History(record["scope"])).add(record)
    return list(histories.values())


def main() -> int:
    """The command line. The exit status is 1 if a law was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    broken = 0
    for path in parser.parse_args().files:
        with path.open() as lines:
            for history in read(lines):
                violations = check(history)
                broken += len(violations)
                print(f"{history.scope}: {dict(history.counts())}", *violations, sep="\n")
    print(f"{broken} violations")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
