"""A strategy as a stranger would add it to an own project: one file, named in SEQUENCES by its dotted path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sequences.strategies import Assignment, Deadline, Pending, PutRequest, Scope, Strategy, read

__all__ = ["ReadThenPut"]


class ReadThenPut(Strategy):
    """Read the highest number before every write, and put the item under the next one if it is free."""

    gapless = True
    supports_reserve = False
    needs_transactions = False
    ordered_across_processes = True
    exactly_once = True
    writes_together = True
    requests = "2 alone, 2/n in a group of n"
    units = "1 WU (2 in a group, 4 with a token) + 1 RU"

    def assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment:
        highest, read_units = self.layout.highest(scope, deadline.send)
        last_value = self.numbers.before_start if highest is None else highest
        fitting = self.numbers.fitting(pendings, last_value)
        return Assignment(fitting, self.numbers.firsts(fitting, last_value)[0], read_units)

    def number_taken(self, scope: Scope, pending: Pending[PutRequest], value: int) -> None:
        """Another writer was faster: the next attempt reads again."""

    def last_value(self, scope: Scope) -> int | None:
        highest, _ = self.layout.highest(scope, partial(read, deadline=self.deadline()))
        return highest
