"""Which sort keys of an item collection are values of its sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...dynamodb.expressions import KeySchema
from ...rows.numbers import Numbers
from ...types import Change
from .report import Gap

__all__ = ["Series", "explained"]


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
        if problem := self.numbers.problem(number):
            return problem
        if bound is not None and number > bound:
            return f"above the counter, which is at {max(bound, 0)}"
        return ""

    def last_up_to(self, number: int) -> int:
        """The highest value up to a number; `before_start` if there is none."""
        start, step = self.numbers.start, self.numbers.step
        return max((number - start) // step * step + start, self.numbers.before_start)


def explained(first: int, last: int, changes: Sequence[Change], series: Series) -> Iterator[Gap]:
    """The missing values from `first` to `last` as gaps, divided where a change that skipped values begins or ends."""
    step = series.numbers.step
    while first <= last:
        change = next((one for one in changes if _skipped(one, first, series)), None)
        ends = [one.before for one in changes if one.before is not None and first <= one.before < last]
        end = min([last, *ends] if change is None else [last, change.after or last])
        count = (end - first) // step + 1
        signed = {"by": change.by, "at": change.at.isoformat(), "reason": change.reason} if change else {}
        yield Gap(first=first, last=first + (count - 1) * step, count=count, **signed)
        first += count * step


def _skipped(change: Change, value: int, series: Series) -> bool:
    before = series.numbers.before_start if change.before is None else change.before
    return before < value <= (change.after or 0)
