"""Which partition the key of a project names, and which key a partition shows, as one process remembers it.

The tickets of a project stay in one partition for ever: the one of its first key. A key never comes to name another
partition, so a memory that is too old does not lead astray: it lacks a new key, or shows a former one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar

from sequences.exceptions import ScopeNotFound
from tickets.exceptions import NotFound

REMEMBERED_SECONDS = 30

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """The keys of the renamed projects, and the time at which they are read again."""

    until: float
    partitions: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)


class Renames:
    """The memory of a process. `read` gives the rows of the renamed projects."""

    def __init__(self, read: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        self._read = read
        self._known: Known | None = None

    def key(self, partition: str) -> str:
        """The key that a partition shows; for up to 30 s after another process has renamed the project, its last one.

        Costs nothing, but for one query every 30 s.
        """
        return self._remembered().keys.get(partition, partition)

    def present(self, key: str) -> str:
        """The present key of the project that a key names, as far as it is remembered."""
        known = self._remembered()
        partition = known.partitions.get(key, key)
        return known.keys.get(partition, partition)

    def in_partition(self, key: str, act: Callable[[str], T]) -> T:
        """The result of `act` on the partition that a key names.

        If nothing is there, the key may be newer than the memory: then one query reads the renames again, and `act` is
        repeated on the partition that they say. Raises what `act` raises.
        """
        partition = self._remembered().partitions.get(key, key)
        try:
            return act(partition)
        except (NotFound, ScopeNotFound):
            self.forget()
            named = self.partition(key)
            if named == partition:
                raise
            return act(named)

    def learn(self, partition: str, key: str) -> None:
        """Take notice of the key in a project's row: where that is another one, another process has renamed it."""
        if self._known and self._known.keys.get(partition, partition) != key:
            self.forget()

    def forget(self) -> None:
        """Read the renames again before their next use."""
        self._known = None

    def partition(self, key: str) -> str:
        """The partition of the project that a key names, as far as it is remembered."""
        return self._remembered().partitions.get(key, key)

    def _remembered(self) -> Known:
        known, now = self._known, monotonic()
        if known is None or known.until <= now:
            rows = [*self._read()]  # each has a `partition`, the present `key` of its project, and all its `keys`
            known = self._known = Known(
                until=now + REMEMBERED_SECONDS,
                partitions={key: row["partition"] for row in rows for key in row["keys"]},
                keys={row["partition"]: row["key"] for row in rows},
            )
        return known
