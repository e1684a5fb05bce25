"""What every strategy is: its capability flags, its options, the methods that callers use, and what it decides.

A strategy decides which value comes next (`assign`). `ItemWriter` makes one write of that. `CommitQueues` decides which
requests are written together, and retries.
"""

from __future__ import annotations

import datetime
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from django.utils.module_loading import import_string

from .. import dynamodb
from ..commit.commit_queues import CommitQueues
from ..commit.requests import Pending, PutRequest, ReserveRequest
from ..commit.retries import DEADLINE_SECONDS, Deadline, Timing, read
from ..dynamodb.expressions import KeySchema, KeyType
from ..exceptions import (
    CancellationReason,
    InvalidScope,
    InvalidSequence,
    OperationNotSupported,
    SequenceError,
    SequenceUnsound,
)
from ..formats import Format
from ..rows import counter_rows, remedies
from ..rows.assignments import Assignment, Hint
from ..rows.course import Course, course_of_counter
from ..rows.evidence import Evidence
from ..rows.history import History
from ..rows.host_line import HostLine
from ..rows.item_writer import ItemWriter
from ..rows.layout import VALUE_IN, ItemLayout, Send
from ..rows.lives import TableLives
from ..rows.lru import LRU
from ..rows.markers import Markers
from ..rows.numbers import Numbers
from ..rows.options import Option, boolean, checked_options, is_name, is_names, one_of, positive, whole
from ..rows.own_rows import OwnRows
from ..rows.rules import rules_of
from ..rows.rules_row import RulesRow
from ..rows.soundness import Needs, judge
from ..rows.stored_counter import COUNTER_OPTIONS, StoredCounter
from ..rows.switch_note import SwitchNote
from ..types import Counter, Dated, Scope, SequenceConfig, parted

__all__ = ["COSTS", "FLAGS", "Strategy"]

WEEK_SECONDS = 7 * 24 * 3600
PARTITION_IN_PERIODS = "{sequence}#{period}#{scope}"
"""The default of the option `partition` for a sequence with a PERIOD."""

FLAGS = {
    "gapless": "Does every value up to `last_value` have a stored item, whatever fails?",
    "supports_reserve": "Can it hand out values before their items are stored (`get_next_value`)?",
    "needs_transactions": "Does it need `TransactWriteItems` even for one item without an idempotency token?",
    "ordered_across_processes": "Is a later value always higher, even when another process takes it?",
    "exactly_once": "Do a request and its repeats with the same idempotency token store one item and use one value?",
    "takes_own_keys": "May an item have its own key, and get its value as an attribute?",
    "writes_together": "Does one request write the items of all callers that come at the same time in one scope?",
}
"""What a strategy says yes or no to, by the class attribute that answers."""

COSTS = {
    "requests": "How many requests does one value take, alone and in a group?",
    "units": "How many write and read units does one value take, with an item of up to 1 KB?",
}
"""What a strategy answers with a text, by the class attribute that answers."""


class Strategy(ABC):
    """The algorithm that hands out values, for one sequence and all its scopes, in one process.

    Its first class attributes answer the questions of FLAGS and COSTS. The tables in `docs/` and the admin pages are
    made of them. A new strategy sets them and implements the methods under "What a strategy decides".
    """

    gapless: bool  # of the class, but for a sequence in which each Region has a START of its own
    supports_reserve: ClassVar[bool]
    needs_transactions: ClassVar[bool]
    ordered_across_processes: ClassVar[bool]
    exactly_once: ClassVar[bool]
    takes_own_keys: ClassVar[bool] = False
    counts_by_region: ClassVar[bool] = False
    """Whether each Region may have a START of its own, because no row is written by two Regions."""
    writes_together: ClassVar[bool]
    requests: ClassVar[str]
    units: ClassVar[str]
    idea: ClassVar[str] = "a strategy of its own"
    """How it makes numbers, in a few words for people."""

    options: ClassVar[Mapping[str, Option]] = {
        "partition": Option(
            "{sequence}#{scope}",
            is_name,
            'a text with "{scope}" in it, with "{period}" if there is a PERIOD, and with "{sequence}" if other '
            "sequences share the table",
        ),
        "key_names": Option(
            ("pk", "sk"), lambda v: is_names(v) and len(v) in (1, 2), "one or two names, as ('pk', 'sk')"
        ),
        "key_types": Option(
            None, lambda v: v is None or (is_names(v) and {*v} <= {"S", "N"}), "for each key name 'S' or 'N', or None"
        ),
        "value_in": one_of(*VALUE_IN),
        "value_name": Option("value", is_name, "a name"),
        "token_name": Option("token", is_name, "a name"),
        "text_name": Option(None, lambda v: v is None or is_name(v), "a name, or None"),
        "sort_key": one_of("number", "padded"),
        "width": Option(10, lambda v: isinstance(v, int) and 1 <= v <= 38, "a whole number from 1 to 38"),
        "ignore_in_repeat": Option((), is_names, "a list of attribute names"),
        "marker_table": Option(None, lambda v: v is None or is_name(v), "the name of a table, or None"),
        "history_table": Option(None, lambda v: v is None or is_name(v), "the name of a table, or None"),
        "marker_seconds": whole(WEEK_SECONDS, 1, "a whole number above 0"),
        "deadline": positive(DEADLINE_SECONDS),
        "group": boolean(True),
        "scopes": Option(None, lambda v: v is None or isinstance(v, str), "the dotted path of a function"),
    }
    most_actions: ClassVar[int] = 100
    """How many actions of one transaction items and their markers may use."""

    counter: StoredCounter | None = None
    """The counters of the scopes, for a strategy that has them."""

    evidence: Evidence | None = None
    """What this host remembers of the scopes, for a strategy that refuses one that went back."""

    def __init__(
        self, config: SequenceConfig, *, timing: Timing | None = None, wall: Callable[[], float] | None = None
    ) -> None:
        self.config = config
        self.alias = config.alias
        self.option = checked_options(self.options, config)
        if config.stripe and not self.counts_by_region:
            raise InvalidSequence(
                f"SEQUENCES[{self.alias!r}]['START'] must be a number: {type(self).__name__} cannot count by Regions. "
                "Set HOME_REGION, or use another strategy."
            )
        self.gapless = type(self).gapless and not config.stripe
        self.timing = timing or Timing()
        self.wall = wall or partial(dynamodb.now, config.client)
        self.schema = _key_schema(config, self.option)
        self.period, self.format, self.numbers = config.period, *_written(config, self.schema.padded_width)
        self.uses_dates = config.period.kind != "never" or self.format.uses_dates
        self.is_plain = config.period.kind == "never" and config.format is None
        self.layout = self._layout()
        marker_schema = _marker_schema(config.alias, self.schema, self.option)
        tables = list(dict.fromkeys([self.schema.table, marker_schema.table]))
        self.markers = Markers(
            config.alias,
            marker_schema,
            seconds=self.option["marker_seconds"],
            ignored=self.option["ignore_in_repeat"],
            wall=self.wall,
        )
        history_schema = _history_schema(config, self.schema, self.option)
        self.history = History(config.alias, history_schema, self.schema.table)
        counters = dynamodb.table_name(self.option.get("counter_table", config.table))
        self.own_rows = OwnRows(config.alias, self.schema, [marker_schema.table, history_schema.table, counters])
        self.switch_note = SwitchNote(self.history, self.timing.clock)
        self.rules = RulesRow(
            config.alias,
            self.schema if self.schema.partition_type == "S" else marker_schema,
            self.history,
            lambda: rules_of(
                type(self), config, self.layout, marker_schema, self.history, self.counter.table if self.counter else ""
            ),
            self.timing.clock,
        )
        self.lives = TableLives(
            tables, self.forget, config.client, lambda copies: judge(self.needs, copies), self.rules
        )
        joins = self.writes_together and self.option["group"]
        self.item_writer = ItemWriter(
            self,
            self.layout,
            self.markers,
            self.lives,
            most_actions=self.most_actions,
            line=self._line() if joins else None,
            clock=self.timing.clock,
            texts=self.format.text,
        )
        self.items = CommitQueues(self.item_writer, joins=joins)
        self._percents: LRU[int] = LRU()
        self._list_scopes = _imported(config.alias, self.option["scopes"])

    def _line(self) -> HostLine:
        """The lines of hosts; those of another Region have lines of their own."""
        stripe = self.config.stripe
        name = f"{self.alias}@{stripe}" if stripe else self.alias
        return HostLine(name, self.markers.schema, clock=self.timing.clock, wall=self.wall)

    def _layout(self) -> ItemLayout:
        in_periods = self.period.kind != "never"
        default = PARTITION_IN_PERIODS if in_periods else self.option["partition"]
        return ItemLayout(
            alias=self.alias,
            schema=self.schema,
            template=self.config.options.get("partition", default),
            value_in=self.option["value_in"],
            value_name=self.option["value_name"],
            token_name=self.option["token_name"],
            text_name=self.option["text_name"],
            own_keys=self.takes_own_keys,
            in_periods=in_periods,
        )

    # What callers use.

    @property
    def needs(self) -> Needs:
        """What decides whether the sequence is sound on the tables that its lives are looked up of."""
        return Needs(
            sequence=self.alias,
            client=self.config.client,
            tables=tuple(self.lives.tables),
            needs_transactions=self.needs_transactions,
            region=self.config.region,
            home_region=self.config.home_region,
            striped=bool(self.config.stripe),
            accepted=self.config.accepted,
        )

    def text(self, value: int, scope: Scope, day: datetime.date | None) -> str:
        """A value as FORMAT writes it. Raises ValueError if it needs a day and there is none."""
        plain, period = parted(scope)
        return self.format.text(value, plain, day, period)

    def text_or_number(self, value: int, scope: Scope, day: datetime.date | None = None) -> str:
        """A value as FORMAT writes it; the number alone if that needs a day and there is none."""
        try:
            return self.text(value, scope, day)
        except ValueError:
            return str(value)

    def dated(
        self, scope: str | None, date: datetime.date | None, period: str | None = None
    ) -> tuple[Scope, datetime.date | None]:
        """The scope in the period of the document's date, and that date if the sequence needs one.

        The default is today; a `period` may be named in its place.
        Raises InvalidScope for a scope that is not in FORMAT, InvalidPeriod, and
        ValueError for a date that the sequence does not use or cannot read.
        """
        if scope is not None and self.config.format is not None and not self.format.uses_scope:
            raise InvalidScope(
                f"The scope is {scope!r}; the FORMAT of {self.alias!r} has no {{scope}}, so two scopes would have the "
                "same texts: add it to FORMAT, or leave the scope out."
            )
        self.format.check_scope(scope)
        if period is not None:
            self.period.check(period)
            return Dated.of(scope, period), None
        if not self.uses_dates:
            if date is not None:
                raise ValueError(f"{self.alias!r} has no PERIOD, and no date in its FORMAT: leave the date out.")
            return scope, None
        day = self.period.date_of(date, self.wall())
        self.format.check_day(day)
        return Dated.of(scope, self.period.name(day)), day

    def deadline(self, began: float | None = None) -> Deadline:
        """A deadline for one call. It began at this time (`time.monotonic`), before it had its strategy; else now."""
        seconds: float = self.option["deadline"]
        deadline = Deadline(timing=self.timing, seconds=seconds, client=self.config.client, sequence=self.alias)
        if began is not None:
            deadline.began -= time.monotonic() - began
        return deadline

    def put(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> None:
        """Store each request's item under the next value, or settle the request with an error."""
        self.layout.check_scope(scope)
        self.lives.bind(deadline.send, deadline)
        self.items.submit(scope, self.takeable(pendings), deadline)

    def takeable(self, pendings: Sequence[Pending[PutRequest]]) -> Sequence[Pending[PutRequest]]:
        """The requests that the tables can take; the others are settled with SequenceUnsound, before any write."""
        if self.lives.takes_transactions:
            return pendings
        for pending in pendings:
            if pending.request.actions > 1:
                pending.settle(self._needs_a_transaction("An idempotency token, `also`, or several items at once"))
        return [pending for pending in pendings if pending.answer is None]

    def require_transactions(self, what: str) -> None:
        """Raise SequenceUnsound if the tables take no transactions, and `what` needs one."""
        if not self.lives.takes_transactions:
            raise self._needs_a_transaction(what)

    def _needs_a_transaction(self, what: str) -> SequenceUnsound:
        return SequenceUnsound(
            f"{what} needs a transaction, and a table of {self.alias!r} takes none. Nothing was written. Do without, "
            "or give the sequence a table in one Region of AWS (`manage.py sequences doctor` tells of its tables)."
        )

    def next_value(self, scope: Scope) -> int:
        """Take the next value before its item is stored. Raises OperationNotSupported."""
        return self.reserve(scope, 1, self.deadline())[0]

    def reserve(self, scope: Scope, count: int, deadline: Deadline) -> range | list[int]:
        """Take `count` values before their items are stored. Raises OperationNotSupported."""
        raise self._not_supported()

    def reserve_once(
        self, scope: Scope, count: int, token: str, day: datetime.date | None, deadline: Deadline
    ) -> tuple[range, bool]:
        """Take `count` values, or give a repeat of the token the same ones; return them, and whether it is a repeat.

        Raises OperationNotSupported.
        """
        raise self._not_supported()

    def _not_supported(self) -> OperationNotSupported:
        return OperationNotSupported(
            f"The sequence {self.alias!r} ({type(self).__name__}) hands out a value only together with its item: "
            "use put_next."
        )

    def advance_to(self, scope: Scope, value: int, *, only_new: bool = False) -> int | None:
        """Move the counter up, so that the next value is above `value` (see `StoredCounter.advance_to`).

        Raises OperationNotSupported without a counter.
        """
        deadline = self.deadline()
        self.lives.bind(deadline.send, deadline)
        return self.stored_counter.advance_to(
            scope, value, deadline, only_new=only_new, drops=not self.ordered_across_processes
        )

    def delete_counter(self, scope: Scope) -> bool:
        """Delete the counter; return whether there was one. Raises OperationNotSupported without a counter."""
        deadline = self.deadline()
        self.lives.bind(deadline.send, deadline)  # what the host remembers has a name that they are in
        return self.stored_counter.delete(scope, deadline)

    def held(self, scope: Scope) -> int | None:
        """How many reserved values of a scope this process serves from memory; None if it never reserves any."""
        return None

    def used_up(self, scope: Scope, value: int) -> tuple[int, bool]:
        """How many percent of a scope's values are used, and whether this process learns that for the first time."""
        percent = self.numbers.percent_used(value)
        is_new = percent > (self._percents.get(scope) or 0)
        if is_new:
            self._percents.put(scope, percent)
        return percent, is_new

    @property
    def stored_counter(self) -> StoredCounter:
        """The counters of the scopes. Raises OperationNotSupported for a strategy that has none."""
        if self.counter is None:
            raise OperationNotSupported(
                f"The sequence {self.alias!r} ({type(self).__name__}) has no counter to move: it counts on from its "
                "highest stored item. Store the item that has the highest number."
            )
        return self.counter

    def reserve_all(self, scope: Scope, pendings: Sequence[Pending[ReserveRequest]], deadline: Deadline) -> None:
        """Take the values of many callers, or settle a request with its error."""
        for pending in pendings:
            try:
                pending.settle(self.reserve(scope, pending.request.count, pending.deadline or deadline))
            except SequenceError as error:
                pending.settle(error)

    @abstractmethod
    def last_value(self, scope: Scope) -> int | None:
        """The highest value handed out; None if there was none yet. Costs one read."""

    @property
    def units_alone(self) -> tuple[float, float] | None:
        """The write and the read units of one number with an item of up to 1 KB, for a caller alone, without a token.

        None where the strategy does not say.
        """
        return None

    def counters(
        self, cursor: str | None, limit: int, *, prefix: str = "", period: str = ""
    ) -> tuple[list[Counter], str | None]:
        """One page of this sequence's scopes, in order, and the cursor of the next page. Never scans a table.

        With `prefix` only scopes whose names begin with it, and with `period` only those of a period, such as "2026". A
        sequence with a PERIOD needs a period for a prefix. A cursor belongs to the list with the same two.

        Counters in a table of their own are listed by one query. Other scopes come from the function that the option
        "scopes" names, and each costs one read. It is asked for a prefix and a period by its arguments of these names.
        Raises OperationNotSupported if there is no such function, or if it has no such argument; InvalidPeriod.
        """
        if period:
            self.period.check(period)
        if self.counter and not self.counter.rows.beside_items:
            return self.counter.rows.page(cursor, limit, begin=self._begin(prefix, period))
        if self._list_scopes is None:
            raise OperationNotSupported(
                f"{self.alias!r} keeps no list of its scopes. Name a function (cursor, limit) -> (scopes, next cursor) "
                f"in SEQUENCES[{self.alias!r}]['OPTIONS']['scopes'], or name one scope."
            )
        asked = {name: text for name, text in (("prefix", prefix), ("period", period)) if text}
        for name in asked:
            if not self.searches(name):
                raise OperationNotSupported(
                    f"The scopes of {self.alias!r} cannot be searched by {name}: give the function in "
                    f"SEQUENCES[{self.alias!r}]['OPTIONS']['scopes'] an argument {name!r}."
                )
        scopes, following = self._list_scopes(cursor, limit, **asked)
        return [self.counted(scope) for scope in scopes], following

    def searches(self, name: str) -> bool:
        """Whether `counters` takes the argument "prefix", or "period"."""
        if name == "period" and not self.layout.in_periods:
            return False
        if self.counter and not self.counter.rows.beside_items:
            return True
        return self._list_scopes is not None and name in inspect.signature(self._list_scopes).parameters

    def _begin(self, prefix: str, period: str) -> str:
        """How the stored texts of the scopes begin that have this prefix and period. Raises OperationNotSupported."""
        if prefix and self.layout.in_periods and not period:
            raise OperationNotSupported(f"The scopes of {self.alias!r} are searched in one period: name it.")
        return f"#{period}#{prefix}" if period else prefix

    def counted(self, listed: str | tuple[str | None, str] | None) -> Counter:
        """One scope, or a scope with its period, as `counters` lists it. Costs one read."""
        scope, period = listed if isinstance(listed, tuple) else (listed, "")
        if self.counter:
            return self.counter.shown(Dated.of(scope, period), partial(read, deadline=self.deadline()))
        last_value, frozen = self.look(Dated.of(scope, period))
        told = remedies.signature(frozen) if frozen else None
        return Counter(
            sequence=self.alias,
            scope=scope,
            period=period,
            last_value=last_value,
            frozen=told,
            percent_used=self.numbers.percent_used(last_value),
        )

    def course(self, counter: Counter, now: float, moments: Sequence[float]) -> Course | None:
        """How far a counter of a list had counted around these moments; None if that is not known. See `rates_of`."""
        return course_of_counter(counter, self.numbers, now) if self.counter else None

    def look(self, scope: Scope) -> tuple[int | None, Mapping[str, Any] | None]:
        """The last value of a scope, and by whom it is frozen if the read tells. Costs one read."""
        return self.last_value(scope), None

    def free_value(self, scope: Scope) -> int:
        """The value after the last one of a scope. Costs one read. Raises SequenceFrozen if the read tells that."""
        last_value, frozen = self.look(scope)
        if frozen:
            raise remedies.frozen(self.alias, scope, frozen)
        return self.numbers.start if last_value is None else self.numbers.following(last_value)

    # What a strategy decides, and how it learns the outcome (see `assignments.Assigner`).

    @abstractmethod
    def assign(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> Assignment:
        """Assign the next values to these requests, or to the first few of them. May read."""

    @abstractmethod
    def number_taken(self, scope: Scope, pending: Pending[PutRequest], value: int) -> None:
        """Another item is already stored under this value."""

    def committed(self, scope: Scope, last_value: int) -> None:
        """A write is stored, and this is its last value."""

    def handed_out(self, scope: Scope, value: int) -> None:
        """A marker shows that this value was handed out."""
        if self.evidence:
            self.evidence.note(scope, value)

    def counter_moved(self, scope: Scope, reason: CancellationReason, send: Send) -> None:
        """The counter has changed since it was read; `reason.old` is the counter now."""

    def skipped(self, scope: Scope) -> None:
        """The number that is taken is the first of a skipped range: what comes next must be read."""

    def hint(self, scope: Scope) -> Hint | None:
        """The last confirmed value of a scope, for other processes of this host; None if there is none."""
        return None

    def accept_hint(self, scope: Scope, hint: Hint) -> None:
        """Take over a newer last value from another process of this host."""

    def changed(self, scope: Scope, last_value: int | None) -> None:
        """A guarded change of this process has moved the scope to `last_value`, has frozen or has thawed it."""
        if self.evidence and last_value is not None:
            self.evidence.note(scope, last_value)

    def forget(self) -> None:
        """Forget everything about every scope."""
        if self.counter:
            self.counter.memory.forget()

    def stop(self) -> None:
        """End what runs on its own: this process makes a new strategy. Never waits, as a forked child calls it too."""


def _key_schema(config: SequenceConfig, option: Mapping[str, Any]) -> KeySchema:
    names, is_padded = option["key_names"], option["sort_key"] == "padded" and option["value_in"] == "sort_key"
    default: tuple[KeyType, ...] = ("S", "S" if is_padded else "N")
    types: Sequence[KeyType] = option["key_types"] or default[: len(names)]
    if len(types) != len(names):
        where = f"SEQUENCES[{config.alias!r}]['OPTIONS']['key_types']"
        raise InvalidSequence(f"{where} is {types!r}; it must have a type for each of {names!r}.")
    return KeySchema(
        table=dynamodb.table_name(config.table),
        partition_name=names[0],
        sort_name=names[1] if len(names) == 2 else "",
        padded_width=option["width"] if is_padded else 0,
        partition_type=types[0],
        sort_type=types[-1],
        client=config.client,
    )


def _marker_schema(alias: str, schema: KeySchema, option: Mapping[str, Any]) -> KeySchema:
    """The keys of the markers: beside the items, or beside the counters if the items' partition key is a number."""
    table, beside_items = option["marker_table"], schema.partition_type == "S"
    if table is None and beside_items:
        return schema
    name = dynamodb.table_name(table or option.get("counter_table", COUNTER_OPTIONS["counter_table"].default))
    if name != schema.table:
        return counter_rows.counter_schema(name, schema.client)
    if not beside_items:
        wrong = "counter_table" if table is None and "counter_table" in option else "marker_table"
        where = f"SEQUENCES[{alias!r}]['OPTIONS'][{wrong!r}]"
        raise InvalidSequence(f"{where} must be another table: the items' partition key is a number.")
    return schema


def _history_schema(config: SequenceConfig, items: KeySchema, option: Mapping[str, Any]) -> KeySchema:
    """The keys of the history: in the table of counters, unless that is the table of the items."""
    given, default = option["history_table"], COUNTER_OPTIONS["counter_table"].default
    tables = [
        dynamodb.table_name(name) for name in ([given] if given else [option.get("counter_table"), default]) if name
    ]
    apart = [table for table in tables if table != items.table]
    return counter_rows.counter_schema((apart or tables)[0], config.client)


def _written(config: SequenceConfig, padded_width: int) -> tuple[Format, Numbers]:
    """How values are written, and which there are."""
    numbers = Numbers(
        alias=config.alias,
        start=config.start,
        step=config.step,
        maximum=min(config.maximum, 10**padded_width - 1) if padded_width else config.maximum,
        padded=padded_width > 0,
        others=tuple(start for region, start in config.starts.items() if region != config.stripe),
    )
    text_format = Format(
        template="{value}" if config.format is None else config.format,
        period=config.period,
        start=min([numbers.start, *numbers.others]),
        step=1 if numbers.others else numbers.step,  # the values of every Region are written and read everywhere
        maximum=numbers.maximum,
        where=f"SEQUENCES[{config.alias!r}]['FORMAT']",
    )
    return text_format, replace(numbers, widest=text_format.widest)


def _imported(alias: str, path: str | None) -> Callable[..., Any] | None:
    try:
        return import_string(path) if path else None
    except ImportError as error:
        where = f"SEQUENCES[{alias!r}]['OPTIONS']['scopes']"
        raise InvalidSequence(f"{where}: cannot import {path!r}: {error}") from error
