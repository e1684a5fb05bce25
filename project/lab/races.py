"""A race: writers that take one number each, in one scope, at the same moment, and what became of it.

A `Race` is a record that nothing changes any more. `racing` runs races, `records` keeps them, and `timelines` draws
them. Times are in tenths of a millisecond from the moment at which the first writer begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

__all__ = ["BLOCK_SIZE", "DELAY_MS", "Call", "Outcome", "Race", "Request", "Value"]

BLOCK_SIZE = 5
DELAY_MS = 5


class Outcome(StrEnum):
    """What a writer learns of one request. The letters are those of the record."""

    READ = "r"
    STORED = "s"
    REFUSED = "x"  # mostly because another writer was faster
    UNANSWERED = "u"  # the engine has stored it, but the answer was lost


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a writer, from its start to its end."""

    writer: int
    started: int
    ended: int
    outcome: Outcome

    def __str__(self) -> str:
        return f"{self.started}{self.outcome}{self.ended}"


@dataclass(frozen=True, slots=True)
class Call:
    """What one writer did: it asked for a number, and got `value`, or `error`, the name of one."""

    started: int
    ended: int
    value: int | None
    error: str = ""


class Value(StrEnum):
    """What became of one value. The words are those of the page."""

    CARRIED = "stored once"
    SHARED = "given to several writers"
    COPY = "a copy of another item"
    GAP = "without an item"


@dataclass(frozen=True)
class Race:
    """One race: the call of each writer, their requests, and the number and writer of each item.

    `apart` says whether each writer is a process that shares nothing with the others, as on a machine of its own;
    otherwise they are threads of one process. `loses` says whether one answer is lost on its way.
    """

    strategy: str
    apart: bool
    loses: bool
    calls: Sequence[Call]
    requests: Sequence[Request]
    stored: Sequence[tuple[int, int]]

    @classmethod
    def of_record(cls, row: Mapping[str, Any]) -> Self:
        """The race that `record` wrote."""
        return cls(
            strategy=row["strategy"],
            apart=row["apart"],
            loses=row["loses"],
            calls=[Call(*call) for call in row["calls"]],
            requests=[*_read(row["requests"])],
            stored=[(number, writer) for number, writer in row["stored"]],
        )

    def record(self) -> dict[str, Any]:
        """The race in JSON's types. The requests of each writer are one text, such as "0r105 106s211"."""
        return {
            "strategy": self.strategy,
            "apart": self.apart,
            "loses": self.loses,
            "calls": [[one.started, one.ended, one.value, one.error] for one in self.calls],
            "requests": [" ".join(map(str, self._sent_by(writer))) for writer in range(len(self.calls))],
            "stored": [[number, writer] for number, writer in self.stored],
        }

    @cached_property
    def values(self) -> Counter[int]:
        """How many writers got each value."""
        return Counter(call.value for call in self.calls if call.value is not None)

    @cached_property
    def carried(self) -> frozenset[int]:
        """The values that an item carries at the end."""
        return frozenset(number for number, _ in self.stored)

    @property
    def ended(self) -> int:
        """When the last writer was done."""
        return max(call.ended for call in self.calls)

    @property
    def highest(self) -> int:
        """The highest value that a writer got or an item carries."""
        return max({0} | self.values.keys() | self.carried)

    @property
    def conflicts(self) -> int:
        """Writes that were refused, because another writer was faster.

        A refused repeat of a write without an answer is none: it met what it had stored itself.
        """
        refused = sum(request.outcome is Outcome.REFUSED for request in self.requests)
        return refused - sum(
            (before.outcome, after.outcome) == (Outcome.UNANSWERED, Outcome.REFUSED) for before, after in self._pairs()
        )

    @property
    def repeats(self) -> int:
        """Writes that a writer sent again, because no answer came."""
        return sum(before.outcome is Outcome.UNANSWERED for before, _ in self._pairs())

    @property
    def duplicates(self) -> int:
        """Writers that got a value which another one had got, too."""
        return self.values.total() - len(self.values)

    @property
    def gaps(self) -> int:
        """Values up to the highest that no item carries."""
        return self.highest - len(self.carried)

    @property
    def copies(self) -> int:
        """Items that store the request of another item again."""
        return len(self.stored) - len({writer for _, writer in self.stored})

    @property
    def errors(self) -> int:
        """Writers that ended without a value."""
        return sum(call.value is None for call in self.calls)

    @property
    def milliseconds(self) -> float:
        """How long the race took."""
        return self.ended / 10

    def line(self, writer: int) -> dict[str, Any]:
        """What one writer did, in figures."""
        sent = list(self._sent_by(writer))
        return {
            "writer": writer + 1,
            "value": self.calls[writer].value,
            "error": self.calls[writer].error,
            "requests": len(sent),
            **{outcome.name.lower(): sum(one.outcome is outcome for one in sent) for outcome in Outcome},
            "milliseconds": (self.calls[writer].ended - self.calls[writer].started) / 10,
        }

    def fate(self, value: int) -> Value:
        """What became of a value up to the highest."""
        if value not in self.carried:
            return Value.GAP
        if self.values[value] > 1:
            return Value.SHARED
        return Value.CARRIED if self.values[value] else Value.COPY

    def _sent_by(self, writer: int) -> Iterator[Request]:
        return (one for one in self.requests if one.writer == writer)

    def _pairs(self) -> Iterator[tuple[Request, Request]]:
        """Each write of a writer with the one that it sent next."""
        for writer in range(len(self.calls)):
            yield from pairwise(one for one in self._sent_by(writer) if one.outcome is not Outcome.READ)


def _read(texts: Sequence[str]) -> Iterator[Request]:
    """The requests in the texts of all writers."""
    for writer, text in enumerate(texts):
        for started, outcome, ended in re.findall(r"(\d+)([a-z])(\d+)", text):
            yield Request(writer, int(started), int(ended), Outcome(outcome))
