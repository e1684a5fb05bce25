"""Which sort keys of an item collection are values of its sequence."""

from __future__ import annotations

from dataclasses import dataclass

from ..expressions import KeySchema

__all__ = ["Series"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """Which sort keys are values: START, START + STEP and so on, in the schema's form."""

    start: int
    step: int
    schema: KeySchema

    @property
    def before_start(self) -> int:
        return self.start - self.step

    def problem(self, number: int | None, *, bound: int | None = None) -> str:
        """Why a number is not a value of this sequence (up to `bound`); empty if it is one."""
        if number is None:
            width = self.schema.padded_width
            return f"not a number of {width} digits" if width else "not a whole number"
        if number < self.start:
            return f"below START, which is {self.start}"
        if (number - self.start) % self.step:
            return f"not on STEP, which is {self.step} from {self.start}"
        if bound is not None and number > bound:
            return f"above the counter, which is at {max(bound, 0)}"
        return ""

    def last_up_to(self, number: int) -> int:
        """The highest value up to a number; `before_start` if there is none."""
        return max((number - self.start) // self.step * self.step + self.start, self.before_start)
