"""The tables of one sequence, as a process knows them: which life they are in, and whether they are sound.

What a process remembers is true for one life of its tables: a table may be deleted and made again, or restored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import dynamodb
from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline
from ..commit.waiters import TOOK_TOO_LONG
from ..dynamodb import Copies, TableLife
from ..dynamodb.expressions import KeySchema
from ..exceptions import SequenceUnsound
from ..types import SequenceConfig
from .layout import Send
from .rules_row import RulesRow
from .soundness import Soundness, Verdict, judge

LONGEST_LOOK = 5.0  # seconds after which the first caller may be stuck, and others ask themselves


@dataclass(eq=False, repr=False)
class TableLives:
    """The current lives of a sequence's tables. `forget` is called when one of them is another than before.

    Whether the sequence is sound on them is judged when they are looked up, and never again while they stay the same.
    """

    schemas: Sequence[KeySchema]
    forget: Callable[[], None]
    config: SequenceConfig
    rules: RulesRow
    needs_transactions: bool

    def __post_init__(self) -> None:
        self.takes_transactions = True
        self._sound: tuple[TableLife, ...] | None = None
        self.become(())
        self._lock = threading.RLock()  # a signal handler may look them up while its thread does
        self._first = threading.RLock()  # held by the first caller while it asks

    def become(self, lives: tuple[TableLife, ...]) -> None:
        """Go on in these lives."""
        self.current = lives
        self.name = "|".join(map(str, lives))
        self.known_as = self.name if all(life.identity for life in lives) else ""
        """Their name, if a table that was made again is sure to have another one; else empty."""

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return [schema.table for schema in self.schemas]

    def judged(self, copies: Sequence[Copies | None]) -> Soundness:
        """Whether the sequence is sound on its tables, by the copies of each; None for one that is not known."""
        return judge(self.config, copies, needs_transactions=self.needs_transactions)

    def takeable(self, pendings: Sequence[Pending[PutRequest]]) -> Sequence[Pending[PutRequest]]:
        """Reject requests that need a transaction if the tables take none (SequenceUnsound). Return the others."""
        if self.takes_transactions:
            return pendings
        for pending in pendings:
            if pending.request.actions > 1:
                pending.settle(self._no_transaction("An idempotency token, `also`, or several items at once"))
        return [pending for pending in pendings if pending.answer is None]

    def require_transactions(self, what: str) -> None:
        """Raise SequenceUnsound if the tables take no transactions, and `what` needs one."""
        if not self.takes_transactions:
            raise self._no_transaction(what)

    def _no_transaction(self, what: str) -> SequenceUnsound:
        return SequenceUnsound(
            f"{what} needs a transaction, and a table of {self.config.alias!r} takes none. Nothing was written. Do "
            "without, or give the sequence a table in one Region of AWS (`manage.py sequences doctor` shows its "
            "tables)."
        )

    def bind(self, send: Send, deadline: Deadline | None = None) -> None:
        """Look up the lives of the tables, and forget what is remembered of earlier ones.

        Costs a request for each table and one for the rules, once in a process: callers with a deadline wait for the
        first of them. Raises SequenceUnsound if the sequence must not be written, StorageRefused if a table has other
        keys, RulesChanged if its rows are written by other settings, and TableRestored if they are of another table.
        """
        if self.current or deadline is None or dynamodb.in_request():
            self._bind(send)
            return
        locked = self._first.acquire(timeout=max(0.0, min(deadline.left, LONGEST_LOOK)))
        try:
            if deadline.over and not locked:
                raise deadline.give_up(TOOK_TOO_LONG)
            self._bind(send)
        finally:
            if locked:
                self._first.release()

    def _bind(self, send: Send) -> None:
        lives = tuple([dynamodb.life_of(schema.table, send=send, alias=self.config.client) for schema in self.schemas])
        if lives != self._sound:
            self._go_on_in(lives)
            self._require_sound(lives)
        self.rules.require(send)

    def _go_on_in(self, lives: tuple[TableLife, ...]) -> None:
        """Forget everything about earlier lives.

        The rules are judged anew after another life, and with a `TableId` that could not be asked before.
        """
        with self._lock:  # threads that find it at the same time forget once, and none goes on before
            others = _are_others(self.current, lives)
            if others or any(new.table_id != old.table_id for old, new in zip(self.current, lives, strict=False)):
                self.rules.doubt(sure=all(life.identity for life in lives))
            if others:
                self.forget()
            self.become(lives)
            if others:
                self.forget()  # again: another thread may have remembered something of the earlier lives meanwhile

    def _require_sound(self, lives: tuple[TableLife, ...]) -> None:
        soundness = self.judged([life.copies for life in lives])
        if soundness.verdict is Verdict.UNSOUND:
            for table in self.tables:
                dynamodb.ask_again(table, self.config.client)
            raise SequenceUnsound(f"{soundness.found}. {soundness.reason} Nothing was written. {soundness.remedy}")
        for schema, life in zip(self.schemas, lives, strict=True):
            if life.keys:
                schema.require(dict(life.keys), self.config.alias)
        self.takes_transactions = soundness.takes_transactions
        self._sound = lives

    def are_still(self, lives: tuple[TableLife, ...]) -> bool:
        """Whether the tables are in these lives, as far as that is known."""
        return lives is self.current or not _are_others(lives, self.current)

    def changed(self, send: Send) -> bool:
        """Whether a table was made again since the last look-up. Then its counters begin anew."""
        before = self.current
        for table in self.tables:
            dynamodb.life_of(table, send=send, anew=True, alias=self.config.client)
        self.bind(send)
        return _are_others(before, self.current)


def _are_others(before: Sequence[TableLife], lives: Sequence[TableLife]) -> bool:
    """Whether one of the lives is another than before. Before the first look-up there is none to compare."""
    return any(new.is_another(old) for old, new in zip(before, lives, strict=False))
