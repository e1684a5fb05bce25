"""A bounded memory of the scopes that a process used last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from ..types import Scope

V = TypeVar("V")

SCOPES_REMEMBERED = 4096
SCOPES_CHECKED = 65_536  # checking the items of a scope again costs a query


class LRU(Generic[V]):
    """A bounded memory by scope, safe across threads and signals. It drops the scope written least recently.

    `dropped` is called with that scope, for what must be forgotten together.

    Each step is one atomic operation of the dict, and nobody waits: a signal's handler may interrupt a thread anywhere
    in here, and wait for another thread that writes, too.
    """

    def __init__(self, most: int = SCOPES_REMEMBERED, *, dropped: Callable[[Scope], object] = lambda _: None) -> None:
        self._most = most
        self._dropped = dropped
        self._values: OrderedDict[Scope, V] = OrderedDict()
        self.get: Callable[[Scope], V | None] = self._values.get

    def put(self, scope: Scope, value: V) -> None:
        values = self._values
        values[scope] = value
        with suppress(KeyError):  # another thread has forgotten it meanwhile
            values.move_to_end(scope)
        while len(values) > self._most:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drop the oldest scope, and what goes with it: before, so that it never stays alone, and after.

        Meanwhile another thread may write that again, or drop the oldest.
        """
        with suppress(KeyError, RuntimeError, StopIteration):
            self._dropped(next(iter(self._values)))
            oldest, _ = self._values.popitem(last=False)
            self._dropped(oldest)

    def forget(self, scope: Scope) -> None:
        self._values.pop(scope, None)

    def clear(self) -> None:
        self._values.clear()

    def __len__(self) -> int:
        return len(self._values)
