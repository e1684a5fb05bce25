"""Which sort keys of an item collection are values of its sequence."""

from __future__ import annotations

from dataclasses import dataclass

from ..expressions import KeySchema
from ..strategies.numbers import Numbers

__all__ = ["Series"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """Which sort keys are values: START, START + STEP and so on, in the schema's form."""

    numbers: Numbers
    schema: KeySchema

    def problem(self, number: int | None, *, bound: int | None = None) -> str:
        """Why a number is not a value of this sequence (up to `bound`); empty if it is one."""
        if number is None:
            width = self.schema.padded_width
            return f"not a number of {width} digits" if width else "not a whole number"
        start, step = self.numbers.start, self.numbers.step
        if number < start:
            return f"below START, which is {start}"
        if (number - start) % step:
            return f"not on STEP, which is {step} from {start}"
        if bound is not None and number > bound:
            return f"above the counter, which is at {max(bound, 0)}"
        return ""

    def last_up_to(self, number: int) -> int:
        """The highest value up to a number; `before_start` if there is none."""
        start, step = self.numbers.start, self.numbers.step
        return max((number - start) // step * step + start, self.numbers.before_start)
