"""The arithmetic of one sequence: where it starts, how it steps, and how far it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..commits import Pending
from ..exceptions import SequenceExhausted

__all__ = ["Numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The values of a sequence: `start`, and on by `step` up to `maximum`, which a padded sort key may bound."""

    alias: str
    start: int
    step: int
    maximum: int
    padded: bool = False

    @property
    def before_start(self) -> int:
        """The last value of a scope in which none was handed out."""
        return self.start - self.step

    def after(self, last_value: int, count: int) -> range:
        """The next values."""
        return range(last_value + self.step, last_value + self.step * (count + 1), self.step)

    def fitting(self, pendings: Sequence[Pending[Any]], last_value: int) -> Sequence[Pending[Any]]:
        """The first requests for which there are values. Raises SequenceExhausted if there is none."""
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
        """The error for whoever asks for more."""
        width = " and the width of the sort key" if self.padded else ""
        return SequenceExhausted(
            f"The sequence {self.alias!r} has reached its maximum {self.maximum}: raise MAXIMUM{width}."
        )
