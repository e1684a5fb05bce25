"""What is remembered of tables belongs to one life of them: they may be deleted and made again, or restored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import dynamodb
from .item_collections import Send

__all__ = ["TableLives"]


class TableLives:
    """The lives of a sequence's tables that this process knows; `forget` is called when they are others."""

    def __init__(self, tables: Sequence[str], forget: Callable[[], None]) -> None:
        self.tables = tables
        self.current: tuple[str, ...] = ()
        self._forget = forget

    def bind(self, send: Send) -> None:
        """Forget what is remembered of another life of the tables."""
        lives = tuple([dynamodb.life_of(table, send=send) for table in self.tables])
        if lives != self.current:
            self.current = lives
            self._forget()

    def changed(self, send: Send) -> bool:
        """Whether a table was made again since it was asked; what seems to have gone back has then begun anew."""
        before = self.current
        for table in self.tables:
            dynamodb.life_of(table, send=send, anew=True)
        self.bind(send)
        return self.current != before
