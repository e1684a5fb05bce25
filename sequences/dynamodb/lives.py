"""The life of a table, from its creation to its deletion, and what this process knows of the lives of its tables."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["KnownLives", "TableLife"]


@dataclass(frozen=True, slots=True)
class TableLife:
    """One life of a table: `place` is endpoint, Region and name, `identity` is ARN and `TableId`.

    `identity` is empty while the engine does not report it. `epoch` counts how often this process had found a table
    missing, or had made or deleted tables itself.
    """

    place: str
    identity: str
    epoch: int

    def is_another(self, other: TableLife) -> bool:
        """Whether the table was made again between the two, as far as that is known.

        Nobody knows it of a life without an identity, unless the table was missing in between.
        """
        if self.identity and other.identity:
            return (self.place, self.identity) != (other.place, other.identity)
        return (self.place, self.epoch) != (other.place, other.epoch)

    def __str__(self) -> str:
        return f"{self.place}|{self.identity}"


@dataclass(slots=True)
class KnownLives:
    """The life of each table, and until when (monotonic seconds) it need not be asked again."""

    by_table: dict[str, tuple[TableLife, float]] = field(default_factory=dict)
    epoch: int = 0

    def forget(self) -> None:
        """Forget every life, because a table was missing, or tables were made or deleted."""
        self.epoch += 1
        self.by_table.clear()
