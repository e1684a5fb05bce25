"""The capacity units that the items of a sequence took, as far as this process has stored them."""

from __future__ import annotations

from dataclasses import dataclass

from ..types import Allocation


@dataclass(slots=True)
class Spent:
    """How many numbers were stored with an item, and what the engine reported for them. Threads may miss some."""

    numbers: int = 0
    write: float = 0.0
    read: float = 0.0

    def add(self, stored: Allocation) -> None:
        """Count a number that was just stored."""
        self.numbers += 1
        self.write += stored.write_units
        self.read += stored.read_units

    @property
    def each(self) -> tuple[float, float]:
        """The write and the read units of one number, once there is any."""
        return self.write / self.numbers, self.read / self.numbers
