"""What a process remembers of who may do what in projects, so that a check costs no request."""

from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic

from tickets.types import Access

REMEMBERED_SECONDS = 5
MOST_PROJECTS = 2_000

Known = dict[tuple[str, str], tuple[Access, float]]


class Accesses:
    """The memory of a process. `read` reads the access to one partition, and `table` is the name of the table.

    A change by this process counts at once, one by another process after REMEMBERED_SECONDS at the latest.
    """

    def __init__(self, read: Callable[[str], Access], table: Callable[[], str]) -> None:
        self._read = read
        self._table = table
        self._known: Known = {}

    def of(self, partition: str) -> Access:
        """The access to a partition. Costs one read every REMEMBERED_SECONDS. Raises what `read` raises."""
        return self._remembered(partition) or self.remembering()(partition, self._read(partition))

    def missing(self, partitions: Iterable[str]) -> set[str]:
        """Those of some partitions whose access is not remembered. Costs nothing."""
        return {partition for partition in partitions if not self._remembered(partition)}

    def remembering(self) -> Callable[[str, Access], Access]:
        """What remembers an access that is read after this call, together with other rows."""
        return partial(self._remember, self._known, monotonic() + REMEMBERED_SECONDS)

    def _remembered(self, partition: str) -> Access | None:
        known = self._known.get((self._table(), partition))
        return known[0] if known and known[1] > monotonic() else None

    def _remember(self, known: Known, until: float, partition: str, access: Access) -> Access:
        """Remember an access; in vain if `forget` was called meanwhile: the read may be older than the change."""
        if len(known) >= MOST_PROJECTS:
            known.clear()
        known[self._table(), partition] = access, until
        return access

    def forget(self) -> None:
        """Read every access again before its next use."""
        self._known = {}
