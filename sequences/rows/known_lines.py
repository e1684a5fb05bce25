"""What a process knows of the lines of scopes: as it read them last."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .layout import Send
from .line_rows import LineRows
from .lines import Lines
from .lru import LRU, SCOPES_CHECKED

READ_AGAIN_SECONDS = 3600.0
"""After which lines are read anew: a counter that nobody has written since they changed cannot show their version."""
FOLLOW_SECONDS = 1.0
"""After which lines are read anew where they refuse a call: another process may have changed them."""


class KnownLines:
    """The lines of one sequence's scopes. `send` makes what a read is sent by, which ends with the call's deadline."""

    def __init__(self, rows: LineRows, clock: Callable[[], float], send: Callable[[], Send]) -> None:
        self._rows, self._clock, self._send = rows, clock, send
        self._known: LRU[tuple[Lines, float]] = LRU(SCOPES_CHECKED)
        self.clear, self.forget = self._known.clear, self._known.forget

    def of(self, scope: str | None) -> Lines:
        """The lines of a scope. One read, once in a process."""
        return self._read_within(READ_AGAIN_SECONDS, scope)

    def are_newer(self, scope: str | None, version: int) -> bool:
        """Whether there are newer lines than those of this version, which refuse a call. One read a second."""
        return self._read_within(FOLLOW_SECONDS, scope).version > version

    def read(self, scope: str | None) -> Lines:
        """The lines of a scope as they are stored now, by which this process goes on. One read."""
        at = self._clock()
        lines = self._rows.of(scope, self._send())
        self._known.put(scope, (lines, at))
        return lines

    def read_many(self, scopes: Iterable[str | None]) -> None:
        """Read the lines of at most a hundred scopes that are not known. One request."""
        unknown = [scope for scope in scopes if self._known.get(scope) is None]
        for scope, lines in self._rows.of_many(unknown, self._send()).items():
            self._known.put(scope, (lines, self._clock()))

    def _read_within(self, seconds: float, scope: str | None) -> Lines:
        """The lines of a scope as they were read within the last seconds."""
        found = self._known.get(scope)
        return found[0] if found and self._clock() - found[1] <= seconds else self.read(scope)
