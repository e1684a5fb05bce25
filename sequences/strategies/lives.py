"""What a process remembers is true for one life of its tables: a table may be deleted and made again, or restored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import dynamodb
from ..dynamodb import TableLife
from .item_collections import Send

__all__ = ["TableLives"]


class TableLives:
    """The current lives of a sequence's tables. `forget` is called when one of them is another than before."""

    def __init__(self, tables: Sequence[str], forget: Callable[[], None]) -> None:
        self.tables = tables
        self.current: tuple[TableLife, ...] = ()
        self._forget = forget

    def __str__(self) -> str:
        return "|".join(map(str, self.current))

    def bind(self, send: Send) -> None:
        """Look up the lives of the tables, and forget what is remembered of earlier ones."""
        before, lives = self.current, tuple([dynamodb.life_of(table, send=send) for table in self.tables])
        if lives == before:
            return
        others = _are_others(before, lives)
        if others:
            self._forget()
        self.current = lives
        if others:
            self._forget()  # again: another thread may have remembered something of the earlier lives meanwhile

    def changed(self, send: Send) -> bool:
        """Whether a table was made again since the last look-up. Then its counters begin anew."""
        before = self.current
        for table in self.tables:
            dynamodb.life_of(table, send=send, anew=True)
        self.bind(send)
        return _are_others(before, self.current)


def _are_others(before: Sequence[TableLife], lives: Sequence[TableLife]) -> bool:
    return len(before) != len(lives) or any(new.is_another(old) for old, new in zip(before, lives, strict=True))
