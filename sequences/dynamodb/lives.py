"""What this process knows of its tables: their lives, from creation to deletion, and where they have copies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

LEGACY = "2017.11.29"  # global tables of this version do not list their replicas
ALTERNATOR = "arn:scylla:alternator:"


class Copies(NamedTuple):
    """The Regions that have a copy of a table, whether all agree at once, and whether it takes transactions."""

    regions: tuple[str, ...] = ()
    strongly: bool = True
    transactions: bool = True
    engine: str = ""
    """The engine, if it is another than DynamoDB and that matters."""

    @property
    def is_global(self) -> bool:
        """Whether another Region has a copy."""
        return len(self.regions) > 1

    @property
    def told(self) -> str:
        """The same for people."""
        if self.is_global:
            return f"{'strongly' if self.strongly else 'eventually'} consistent, with {', '.join(self.regions)}"
        return self.engine or "one Region"


def copies_in(about: Mapping[str, Any]) -> Copies:
    """The copies of a table, from what `DescribeTable` says about it.

    A strongly consistent global table takes no transactions, nor does Alternator. A witness has no copy to write to.
    """
    arn = str(about.get("TableArn", ""))
    if arn.startswith(ALTERNATOR):
        return Copies(transactions=False, engine="ScyllaDB Alternator")
    _, _, _, own, *_ = f"{arn}:::".split(":")  # empty for what is no ARN
    replicas = [replica.get("RegionName", "") for replica in about.get("Replicas", ())]
    others = sorted({*replicas} - {own}) or ["others"] * (about.get("GlobalTableVersion") == LEGACY)
    if not others:
        return Copies()
    strongly = about.get("MultiRegionConsistency") == "STRONG"
    return Copies((own or "this one", *others), strongly=strongly, transactions=not strongly)


@dataclass(frozen=True, slots=True)
class TableLife:
    """One life of a table: `place` is endpoint, Region and name, `identity` is ARN and `TableId`, empty if not known.

    `epoch` counts how often this process had found a table missing, or had made or deleted tables itself. `copies` is
    None while they are not known, and `keys` is empty. `table_id` is empty where the engine gives none, and for a
    global table: its copies share rows, but not the id.
    """

    place: str
    identity: str
    epoch: int
    copies: Copies | None = None
    keys: tuple[tuple[str, str], ...] = ()
    table_id: str = ""

    def is_another(self, other: Self) -> bool:
        """Whether the table was made again between the two. A life without identity shows it by its epoch alone."""
        if self.identity and other.identity:
            return (self.place, self.identity) != (other.place, other.identity)
        return (self.place, self.epoch) != (other.place, other.epoch)

    def __str__(self) -> str:
        return f"{self.place}|{self.identity}"


@dataclass(slots=True)
class KnownLife:
    """The life of a table, until when it need not be asked again, and when the table was last used (see `elapsed`)."""

    life: TableLife
    until: float
    used: float


@dataclass(slots=True)
class KnownLives:
    """The life of each table."""

    by_table: dict[str, KnownLife] = field(default_factory=dict)
    epoch: int = 0

    def forget(self) -> None:
        """Forget every life, because a table was missing, or tables were made or deleted."""
        self.epoch += 1
        self.by_table.clear()
