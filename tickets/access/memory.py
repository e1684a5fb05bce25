"""What a process remembers of what people may do in projects, so that a check costs no request."""

from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic

from tickets.types import Access

REMEMBERED_SECONDS = 5
MOST_REMEMBERED = 10_000

Known = dict[tuple[str, str, str], tuple[Access, float]]


class Accesses:
    """The memory of a process. `read` reads the access of a person to a partition, `table` is the name of the table.

    A change by this process counts at once, one by another process after REMEMBERED_SECONDS at the latest.
    """

    def __init__(self, read: Callable[[str, str], Access], table: Callable[[], str]) -> None:
        self._read = read
        self._table = table
        self._known: Known = {}

    def of(self, person: str, partition: str) -> Access:
        """The access of a person to a partition. Costs one read every REMEMBERED_SECONDS. Raises what `read` raises."""
        known = self._remembered(person, partition)
        return known or self.remembering(person)(partition, self._read(person, partition))

    def missing(self, person: str, partitions: Iterable[str]) -> set[str]:
        """Those of some partitions for which the access of a person is not remembered. Costs nothing."""
        return {partition for partition in partitions if not self._remembered(person, partition)}

    def remembering(self, person: str) -> Callable[[str, Access], Access]:
        """What remembers accesses of a person that are read after this call, together with other rows."""
        return partial(self._remember, self._known, monotonic() + REMEMBERED_SECONDS, person)

    def _remembered(self, person: str, partition: str) -> Access | None:
        known = self._known.get((self._table(), person, partition))
        return known[0] if known and known[1] > monotonic() else None

    def _remember(self, known: Known, until: float, person: str, partition: str, access: Access) -> Access:
        """Remember an access; in vain if `forget` was called meanwhile: the read may be older than the change."""
        if len(known) >= MOST_REMEMBERED:
            known.clear()
        known[self._table(), person, partition] = access, until
        return access

    def forget(self) -> None:
        """Read every access again before its next use."""
        self._known = {}
