"""What a process and its host remember of the scopes of a sequence, as evidence against one that went back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .. import dynamodb
from ..commit import host_memory
from ..dynamodb import expressions
from ..types import Scope, scope_text
from .counter_rows import CounterRows
from .layout import ItemLayout, Send
from .lives import TableLives
from .lru import LRU, SCOPES_CHECKED
from .numbers import Numbers, highest
from .tallies import TallyMemory


@dataclass(eq=False, repr=False)
class Evidence:
    """The highest value that was handed out in each scope of a sequence.

    This process remembers it for the scopes that it used last. It also leaves it to the other processes of the host,
    under a name that has the life of the tables, and the `kind` and `place` of the scope in them. Where the engine does
    not tell one life of a table from the next, nothing is left: it would be held against a table that was made anew.
    """

    numbers: Numbers
    lives: TableLives
    kind: str
    place: Callable[[Scope], str]
    own: LRU[int] = field(default_factory=LRU)

    def known(self, scope: Scope) -> int | None:
        """The highest value that was handed out, as far as the processes of this host know."""
        name = self._name(scope)
        own, others = self.own.get(scope), host_memory.remembered(name) if name else None
        return highest(own, others)

    def note(self, scope: Scope, value: int) -> None:
        """Remember a value that was handed out, and is confirmed. Those of another Region do not count."""
        own = self.own.get(scope)
        if (own is not None and value <= own) or (self.numbers.others and self.numbers.is_of_others(value)):
            return
        self.own.put(scope, value)
        if name := self._name(scope):
            host_memory.remember(name, value)

    def forget(self) -> None:
        """Forget what this process knows of every scope, because a table is another one now."""
        self.own.clear()

    def forget_scope(self, scope: Scope) -> None:
        """Forget what this process and those that begin later know of a scope, which may begin again."""
        self.own.forget(scope)
        if name := self._name(scope):
            host_memory.forget(name)

    def _name(self, scope: Scope) -> str:
        """What the processes of the host call the scope; empty if nothing is to be left or found."""
        return f"{known_as}|{self.kind} {self.place(scope)}" if (known_as := self.lives.known_as) else ""


NEWEST_ITEMS = 100


class CounterMemory:
    """What this process remembers of one sequence's scopes: what their counters must not be lower than, and tallies."""

    def __init__(
        self, rows: CounterRows, layout: ItemLayout, numbers: Numbers, lives: TableLives, *, check_items: bool
    ) -> None:
        self._layout = layout
        self._numbers = numbers
        self._checks_items = check_items and layout.in_collections
        self._checked: LRU[bool] = LRU(SCOPES_CHECKED)
        self.evidence = Evidence(
            numbers,
            lives,
            f"counter {rows.name}",
            scope_text,
            own=LRU(SCOPES_CHECKED, dropped=self._checked.forget),  # whose value is forgotten is looked at again
        )
        self._behind: LRU[int] = LRU()
        self.behind = self._behind.get
        """The value that `fell_behind` noted; None if there is none, or if the counter has moved since."""
        self.caught_up = self._behind.forget
        """Notes that the next write moves the counter past the stored items."""
        self.tallies = TallyMemory()

    def forget(self) -> None:
        """Forget everything about every scope."""
        for memory in (self._checked, self._behind):
            memory.clear()
        self.evidence.forget()
        self.tallies.forget()

    def forget_scope(self, scope: Scope) -> None:
        """Forget everything about one scope."""
        for memory in (self._checked, self._behind):
            memory.forget(scope)
        self.evidence.forget_scope(scope)
        self.tallies.forget_scope(scope)

    def check_items(self, scope: Scope, send: Send) -> float:
        """Before this process first counts in a scope, see which values its items have; return the read units.

        The items are read before the counter, so that the counter has reached the value of every item that is found.
        """
        if not self._checks_items or self._checked.get(scope):
            return 0.0
        carried, read_units = self._highest_with_token(scope, send)
        if carried is not None:
            self.evidence.note(scope, carried)
        self._checked.put(scope, True)
        return read_units

    def _highest_with_token(self, scope: Scope, send: Send) -> tuple[int | None, float]:
        """The highest value among the newest items with a token, and the read units. Imported rows have no token."""
        schema, token_name, read_units = self._layout.schema, self._layout.token_name, 0.0
        for limit in (1, NEWEST_ITEMS):
            request = expressions.query_numbers(
                schema, self._layout.partition(scope), newest_first=True, limit=limit, attributes=[token_name]
            )
            answer = send("query", request)
            read_units += dynamodb.used_units(answer)
            rows = [dynamodb.unmarshal(item) for item in answer["Items"]]
            found = (schema.number_or_none(row) for row in rows if token_name in row)
            own = (number for number in found if number is not None and not self._numbers.is_of_others(number))
            carried = next(own, None)
            if carried is not None or not rows:
                break
        return carried, read_units

    def fell_behind(self, scope: Scope, value: int) -> None:
        """Note that a row that the counter does not know has this value, so that it moves past the stored items."""
        self._behind.put(scope, max(value, self._behind.get(scope) or 0))
