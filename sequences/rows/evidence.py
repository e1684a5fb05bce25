"""What the processes of this host know of the values that were handed out: evidence against a scope that went back."""

from __future__ import annotations

from collections.abc import Callable

from ..commit import host_memory
from ..types import Scope
from .lives import TableLives
from .lru import LRU
from .numbers import Numbers


class Evidence:
    """The highest value that was handed out in each scope of a sequence.

    This process remembers it for the scopes that it used last. It also leaves it to the other processes of the host,
    under a name that has the life of the tables and the `place` of the scope in them. Where the engine does not tell
    one life of a table from the next, nothing is left: it would be held against a table that was made anew.
    """

    def __init__(
        self, numbers: Numbers, lives: TableLives, place: Callable[[Scope], str], *, own: LRU[int] | None = None
    ) -> None:
        self._numbers = numbers
        self._lives = lives
        self._place = place
        self._own: LRU[int] = LRU() if own is None else own

    def known(self, scope: Scope) -> int | None:
        """The highest value that was handed out, as far as the processes of this host know."""
        name = self._name(scope)
        own, others = self._own.get(scope), host_memory.remembered(name) if name else None
        return max((value for value in (own, others) if value is not None), default=None)

    def note(self, scope: Scope, value: int) -> None:
        """Remember a value that was handed out, and is confirmed. Those of another Region do not count."""
        own = self._own.get(scope)
        if (own is not None and value <= own) or (self._numbers.others and self._numbers.is_of_others(value)):
            return
        self._own.put(scope, value)
        if name := self._name(scope):
            host_memory.remember(name, value)

    def forget(self) -> None:
        """Forget what this process knows of every scope, because a table is another one now."""
        self._own.clear()

    def forget_scope(self, scope: Scope) -> None:
        """Forget what this process and those that begin later know of a scope, which may begin again."""
        self._own.forget(scope)
        if name := self._name(scope):
            host_memory.forget(name)

    def _name(self, scope: Scope) -> str:
        """What the processes of the host call the scope; empty if nothing is to be left or found."""
        return f"{self._lives}|{self._place(scope)}" if self._lives.are_known else ""
