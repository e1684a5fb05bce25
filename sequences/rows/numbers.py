"""The arithmetic of one sequence: START, STEP and MAXIMUM."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..commit.requests import Pending
from ..exceptions import InvalidSequence, SequenceExhausted

LARGEST = 10**38 - 1
"""The largest number that DynamoDB keeps exactly."""
NEARLY_PERCENT = 90
"""From so many percent on, a sequence is nearly used up."""


def whole_number(where: str, value: Any, least: int) -> int:
    """A number of the settings. Raises InvalidSequence, which names the key, if it is no whole number from `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
        raise InvalidSequence(f"{where} is {value!r}; it must be a whole number from {least} to 38 digits.")
    return value


def highest(*values: int | None) -> int | None:
    """The highest of these values; None if there is none."""
    found = None
    for value in values:
        if found is None or (value is not None and value > found):
            found = value
    return found


def is_below(value: int | None, known: int | None) -> bool:
    """Whether a last value, or none at all, is lower than one that is known."""
    return known is not None and (value is None or value < known)


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The values of a sequence, or `of_line`: from `start` by `step` to `maximum`. A padded sort key may lower that.

    If each Region has a START of its own, they are the values of this Region, and `others` has the other STARTs.
    """

    alias: str
    start: int
    step: int
    maximum: int
    padded: bool = False
    widest: int | None = None
    others: tuple[int, ...] = ()
    warn_at: int | None = None
    of_line: bool = False
    before_start: int = field(init=False)
    """The last value of a scope before its first value."""
    limit: int = field(init=False)
    """The last value before the sequence ends, or before a value is wider than FORMAT has it (`widest`)."""
    nearly_used_up: int = field(init=False)
    """From this value on, NEARLY_PERCENT of the values up to the limit are used; or the one of `warn_at`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "before_start", self.start - self.step)
        limit = self.maximum if self.widest is None else min(self.maximum, self.widest)
        nearly = self.before_start - (self.before_start - limit) * NEARLY_PERCENT // 100
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "nearly_used_up", nearly if self.warn_at is None else self.warn_at)

    def is_used_up(self, value: int | None) -> bool:
        """Whether no value is left after this last value, which may be one of another Region."""
        if value is None:
            return False
        return (self.up_to(value, self.before_start) if self.others else value) + self.step > self.maximum

    def percent_used(self, value: int | None) -> int:
        """How much of the values up to the limit is used, after this last value."""
        if value is None:
            return 0
        return min((value - self.before_start) * 100 // max(self.limit - self.before_start, 1), 100)

    def checked(self, value: int) -> int:
        """The value. Raises ValueError for one that the sequence never gives."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"value is {value!r}; it must be a whole number.")
        above = f"above MAXIMUM, which is {self.maximum}" if value > self.maximum else ""
        if problem := (not self.is_of_others(value) and self.problem(value)) or above:
            raise ValueError(f"value is {value}, and {self.alias!r} never gives that: it is {problem}.")
        return value

    def gives(self, value: int) -> bool:
        """Whether the sequence gives this value."""
        with suppress(ValueError):
            self.checked(value)
            return True
        return False

    def is_of_others(self, number: int) -> bool:
        """Whether a number is a value of another Region."""
        return any(number >= start and (number - start) % self.step == 0 for start in self.others)

    def problem(self, number: int) -> str:
        """Why a number is not a value of this sequence; empty if it is one."""
        if number < self.start:
            return f"below START, which is {self.start}"
        if (number - self.start) % self.step:
            return f"not on STEP, which is {self.step} from {self.start}"
        return ""

    def after(self, last_value: int, count: int) -> range:
        """The next `count` values."""
        return range(last_value + self.step, last_value + self.step * (count + 1), self.step)

    def firsts(self, pendings: Sequence[Pending[Any]], last_value: int) -> tuple[Sequence[int], int]:
        """The first value of each request, where each takes as many as it counts, and the last value of all."""
        firsts = []
        for pending in pendings:
            firsts.append(last_value + self.step)
            last_value += self.step * pending.request.count
        return firsts, last_value

    def up_to(self, bound: int, last_value: int) -> int:
        """The highest value after `last_value` that is not above `bound`; `last_value` if there is none."""
        return last_value + max(bound - last_value, 0) // self.step * self.step

    def following(self, number: int) -> int:
        """The lowest value above a number."""
        return self.up_to(number, self.before_start) + self.step

    def reaching(self, bound: int, last_value: int) -> int:
        """The lowest value from `last_value` on that is not below `bound`."""
        return last_value + -(-max(bound - last_value, 0) // self.step) * self.step

    def fitting(self, pendings: Sequence[Pending[Any]], last_value: int) -> Sequence[Pending[Any]]:
        """The first requests that still get values. Raises SequenceExhausted if not even the first one does."""
        room = (self.maximum - last_value) // self.step
        taken = 0
        for index, pending in enumerate(pendings):
            taken += pending.request.count
            if taken > room:
                if index == 0:
                    raise self.exhausted()
                return pendings[:index]
        return pendings

    def exhausted(self) -> SequenceExhausted:
        """The error for a request for which no value is left."""
        width = " and the digits of sort_key" if self.padded else ""
        remedy = "add a line, or raise the maximum of this one" if self.of_line else "raise MAXIMUM"
        return SequenceExhausted(
            f"The sequence {self.alias!r} has reached its maximum {self.maximum}: {remedy}{width}."
        )
