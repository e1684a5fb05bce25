"""What a process remembers holds for one life of its tables: a table may be deleted and made again, or restored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import dynamodb
from .item_collections import Send

__all__ = ["TableLives"]


class TableLives:
    """The current lives of a sequence's tables. `forget` is called when one of them has changed."""

    def __init__(self, tables: Sequence[str], forget: Callable[[], None]) -> None:
        self.tables = tables
        self.current: tuple[str, ...] = ()
        self._forget = forget

    def bind(self, send: Send) -> None:
        """Look up the lives of the tables, and forget what is remembered of earlier ones."""
        lives = tuple([dynamodb.life_of(table, send=send) for table in self.tables])
        if lives != self.current:
            self.current = lives
            self._forget()

    def changed(self, send: Send) -> bool:
        """Whether a table was made again since the last look-up: a counter that seems to have gone back is then new."""
        before = self.current
        for table in self.tables:
            dynamodb.life_of(table, send=send, anew=True)
        self.bind(send)
        return self.current != before
