"""The row that keeps the rules of a sequence beside its rows, so that settings that change meanwhile are noticed.

Settings may change behind the rows' back: with another counter table a sequence begins at START again, and gives
numbers twice. So one small row beside the items, and one beside the history, tell by which rules the rows are written.
A change that moves one of the two places meets the row in the other one. The row also has the `TableId` of its table:
where it is another one, the table was restored or copied, and its rows may be older than numbers that were given.

    former settings   --first write: stores the row--|
    present settings                                 |--first write: the row says otherwise: refused--
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

from .. import dynamodb
from ..commit.retries import Deadline, new_token, write_once
from ..dynamodb import expressions
from ..dynamodb.expressions import KeySchema
from ..exceptions import NotWritten, RulesChanged, SequenceError, StorageRefused, TableRestored, WriteCancelled
from .history import History
from .layout import Send
from .reading import stored_row
from .rules import RESTORED, Difference, Told, class_name, differences
from .soundness import Verdict

logger = logging.getLogger(__name__)

RULES_KEY = "#rules#"  # before the name of the sequence
ASK_AGAIN_SECONDS = 60.0
WAIT_SECONDS = 1.0  # for another thread that looks


class Place(NamedTuple):
    """Where the row is kept: a table with its keys, and the key."""

    schema: KeySchema
    key: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredRules:
    """The row as it is in one place; `rules` is empty where there is none.

    While a switch is under way, `switching` names both strategies. `written_in` is the `TableId` of the table in which
    the row was written, and `read_in` the one of the table where it was found; empty where nobody knows.
    """

    place: Place
    read_in: str
    rules: Told
    written_in: str = ""
    token: str | None = None
    switching: tuple[str, ...] = ()

    @classmethod
    def of(cls, place: Place, read_in: str, row: Mapping[str, Any]) -> StoredRules:
        """The row, as it was read."""
        switching = tuple(row.get("switching", ()))
        return cls(place, read_in, row.get("rules", {}), row.get("table_id", ""), row.get("token"), switching)

    @property
    def is_restored(self) -> bool:
        """Whether the row came here from another table."""
        return bool(self.written_in and self.read_in) and self.written_in != self.read_in

    @property
    def strategies(self) -> Sequence[str]:
        """The names of the strategies that may write."""
        return self.switching or ([class_name(self.rules)] if self.rules else [])

    @property
    def lacks_table(self) -> bool:
        """Whether the row is there, and does not say in which table, as earlier versions stored it."""
        return bool(self.rules and self.read_in and not self.written_in)

    def differences(self, now: Told) -> list[Difference]:
        """How the present rules differ from the row."""
        found = differences(self.rules, now)
        changed = [one for one in found if one.key != "STRATEGY" or class_name(now) not in self.switching]
        restored = Difference(RESTORED, self.written_in, self.read_in, Verdict.UNSOUND)
        return [restored, *changed] if self.is_restored else changed

    def write(self, rules: Told, token: str, switching: Sequence[str] = (), *, here: bool = False) -> dict[str, Any]:
        """The action that stores these rules, if the row is as it was read. `here`: as written in this table."""
        table_id = self.read_in if here else self.written_in or self.read_in
        more = {"switching": [*switching], "table_id": table_id}
        fields = {"rules": dict(rules), "token": token, **{name: told for name, told in more.items() if told}}
        schema, key = self.place
        if not self.rules:
            return expressions.put_if_absent(schema, {**key, **dynamodb.marshal(fields)})
        removes = [] if switching else ["switching"]
        return expressions.change_row(schema.table, key, unchanged={"token": self.token}, sets=fields, removes=removes)


@dataclass(eq=False, repr=False)
class RulesRow:
    """The row of one sequence, and whether this process has looked at it. `enforced` is False while it is changed.

    `items` are the keys of the items' table, or of another one where items have numbers as partition keys. `now`
    has the present rules. `numbering` are the tables on which numbers depend; none where Regions share the row.
    """

    alias: str
    items: KeySchema
    history: History
    numbering: Collection[str]
    now: Told
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self.enforced = True
        self._looked_until = -inf
        self._has_told = self._in_part = False
        self._lock = threading.RLock()  # a signal handler may look while its thread does

    def doubt(self, *, sure: bool) -> None:
        """Let the next call look again, as a table is another one; if that is not `sure`, one may be missing alone."""
        if sure or not self._in_part:
            self._looked_until = -inf

    def require(self, send: Send) -> None:
        """Raise RulesChanged if the rows are written by rules that do not go together with the present ones.

        Raise TableRestored if they came from another table. Costs one request in a process, and once in the life of the
        sequence two writes, which store the row, and a `DescribeTable` for each table. What cannot be read or stored
        makes no write fail: it is logged once, and tried again a minute later.
        """
        if self.clock() < self._looked_until or not self.enforced:
            return
        locked = self._lock.acquire(timeout=WAIT_SECONDS)  # who waits in vain looks, too
        try:
            if self.clock() >= self._looked_until:
                self._look(send)
        finally:
            if locked:
                self._lock.release()

    @contextmanager
    def switching(self, send: Send) -> Iterator[None]:
        """Let this process switch the strategy by guarded changes. Raises RulesChanged if another key has changed."""
        _refuse(
            self.alias, [one for row in self.read(send) for one in row.differences(self.now) if one.key != "STRATEGY"]
        )
        before, self.enforced = self.enforced, False
        try:
            yield
        finally:
            self.enforced = before

    def _look(self, send: Send) -> None:
        try:
            self._judge(send)
            self._looked_until = inf
        except (RulesChanged, TableRestored):
            raise
        except SequenceError as error:
            self._looked_until = self.clock() + ASK_AGAIN_SECONDS
            self._tell("by which settings its rows are written is not known", error)

    def _tell(self, message: str, about: object) -> None:
        """Log something once in this process."""
        if not self._has_told:
            self._has_told = True
            logger.warning("sequence %s: %s: %s", self.alias, message, about)

    def _judge(self, send: Send) -> None:
        now, rows = self.now, self.read(send)
        found = [one for row in rows for one in row.differences(now)]
        _refuse(self.alias, found)
        if careful := [one for one in found if one.verdict is Verdict.CAREFUL]:
            self._tell("a setting has changed, which `manage.py sequences adopt` accepts", careful[0])
            now = {}  # the rules that are stored stay
        for row in rows:
            if row.lacks_table or (now and (not row.rules or row.differences(now))):
                self._store(row, now, send)

    def _store(self, row: StoredRules, now: Told, send: Send) -> None:
        """Store the row. If another process was faster, compare with what that one has stored."""
        if not row.written_in:  # a wrong table would stop every process that reads the row later
            row = replace(row, read_in=self._table_id(row.place, send, anew=True))
        action = row.write({**row.rules, **now}, new_token(), row.switching)
        try:
            send("put_item" if "Item" in action else "update_item", action)
        except WriteCancelled as error:
            old = error.reasons[0].old or {}
            _refuse(self.alias, StoredRules.of(row.place, row.read_in, old).differences(now))

    def read(self, send: Send) -> list[StoredRules]:
        """The row in each of its places that can be read. One request. Raises a StorageError if none can be read."""
        places = self.places
        keys = {place.schema.table: place.key for place in places}
        try:
            answer = send("batch_get_item", expressions.read_tables(keys))
        except StorageRefused as error:
            self._tell("by which settings its rows are written is looked up in one place alone", error)
            self._in_part = True
            return self._read_singly(places, send)
        if answer.get("UnprocessedKeys"):
            raise NotWritten("batch_get_item: the engine did not return all rows.")
        found = {table: dynamodb.unmarshal(rows[0]) for table, rows in answer.get("Responses", {}).items() if rows}
        return [self._found(place, found.get(place.schema.table, {}), send) for place in places]

    def _read_singly(self, places: Sequence[Place], send: Send) -> list[StoredRules]:
        """A table may be missing, or refused to this role: the other one still tells."""
        rows, refused = [], None
        for place in places:
            try:
                rows.append(self._found(place, stored_row(place.schema.table, place.key, send), send))
            except StorageRefused as error:
                refused = error
        if refused and not rows:
            raise refused
        return rows

    def _found(self, place: Place, row: Mapping[str, Any], send: Send) -> StoredRules:
        """The row. Before its table is taken for another one, that is asked anew: it may be made anew meanwhile."""
        found = StoredRules.of(place, self._table_id(place, send), row)
        return replace(found, read_in=self._table_id(place, send, anew=True)) if found.is_restored else found

    def _table_id(self, place: Place, send: Send, *, anew: bool = False) -> str:
        """The `TableId` of a table, if numbers depend on it and it can be asked. A process asks once, or `anew`."""
        if place.schema.table in self.numbering:
            with suppress(SequenceError):
                return dynamodb.life_of(place.schema.table, anew=anew, send=send, alias=place.schema.client).table_id
        return ""

    @property
    def places(self) -> list[Place]:
        """Beside the items, and beside the history."""
        name = f"{RULES_KEY}{self.alias}"
        beside_items = Place(self.items, self.items.key(name, 0))
        if not self.history.is_apart:
            return [beside_items]
        beside_history = Place(self.history.schema, {"sequence": {"S": name}, "scope": {"S": "#"}})
        apart = beside_items.schema.table != beside_history.schema.table
        return [beside_items, beside_history] if apart else [beside_history]

    def restored(self, deadline: Deadline) -> None:
        """Take the tables as they are from now on: each scope is past what was given before they were restored.

        One request, and one write for each table that was restored. Raises a StorageError.
        """
        for row in self.read(deadline.read):
            if row.is_restored:
                token = new_token()
                with suppress(WriteCancelled):  # another process has done it
                    action = row.write(row.rules, token, row.switching, here=True)
                    write_once("update_item", action, token=token, deadline=deadline)

    def changed(self, send: Send) -> tuple[list[Difference], StoredRules | None]:
        """How the present rules differ from the stored ones, but for what is GOOD, and the row. One request."""
        for row in self.read(send):
            if found := [one for one in row.differences(self.now) if one.verdict is not Verdict.GOOD]:
                return found, row
        return [], None


def _refuse(alias: str, found: Sequence[Difference]) -> None:
    unsound = [one for one in found if one.verdict is Verdict.UNSOUND]
    if told := list(dict.fromkeys(str(one) for one in unsound if one.key != RESTORED)):
        raise RulesChanged(
            f"The rows of {alias!r} are written by other settings: {'; '.join(told)}. Nothing was written. Put the "
            f"settings back, or run `manage.py sequences adopt {alias} --reason ...`, which takes the sequence to the "
            "present ones. Between TransactionalCounter and another strategy `manage.py sequences switch` does it "
            "while writers are running."
        )
    if unsound:
        raise TableRestored(
            f"A table of {alias!r} was restored or copied: {unsound[0]}. Nothing was written. Run `manage.py "
            f"sequences recover {alias} --all-scopes --margin N --reason ...`, with at least as many numbers as a "
            "scope gave since the moment of the restore."
        )
