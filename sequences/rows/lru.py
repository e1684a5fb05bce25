"""A bounded memory of the scopes that a process used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from ..types import Scope

V = TypeVar("V")

SCOPES_REMEMBERED = 4096
SCOPES_CHECKED = 65_536  # checking the items of a scope again costs a query


class LRU(Generic[V]):
    """A bounded memory by scope, safe across threads and signals. It drops the scope written least recently.

    `dropped` is called with that scope, for what must be forgotten together.
    """

    def __init__(self, most: int = SCOPES_REMEMBERED, *, dropped: Callable[[Scope], object] | None = None) -> None:
        self._most = most
        self._dropped = dropped
        self._lock = threading.RLock()  # a signal handler may call `put` while its thread is inside it
        self._values: OrderedDict[Scope, V] = OrderedDict()

    def get(self, scope: Scope) -> V | None:
        return self._values.get(scope)

    def put(self, scope: Scope, value: V) -> None:
        with self._lock:
            self._values[scope] = value
            self._values.move_to_end(scope)
            if len(self._values) > self._most:
                oldest, _ = self._values.popitem(last=False)
                if self._dropped is not None:
                    self._dropped(oldest)

    def forget(self, scope: Scope) -> None:
        with self._lock:
            self._values.pop(scope, None)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)
