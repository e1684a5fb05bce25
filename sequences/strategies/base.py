"""What every strategy is: its capability flags, its options, and the methods that callers use.

A strategy decides which value comes next (see `Assigner`). `ItemWriter` makes one write of that. `CommitQueues` decides
which requests are written together, and retries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from .. import dynamodb
from ..commit.commit_queues import CommitQueues
from ..commit.requests import Pending, PutRequest
from ..commit.retries import DEADLINE_SECONDS, Deadline, Timing
from ..exceptions import InvalidSequence
from ..rows.answers import Markers
from ..rows.assignments import Assigner
from ..rows.following import Following
from ..rows.history import History, ScopeList
from ..rows.host_queue import HostQueue
from ..rows.item_writer import ItemWriter
from ..rows.layout import VALUE_IN
from ..rows.lives import TableLives
from ..rows.lru import LRU
from ..rows.naming import Naming
from ..rows.options import Option, boolean, checked_options, is_name, is_names, one_of, positive, whole
from ..rows.places import OwnRows, Places, item_layout, places_of, sort_key_of
from ..rows.rules import rules_of
from ..rows.rules_row import RulesRow
from ..rows.stored_counter import StoredCounter
from ..types import Scope, SequenceConfig
from .scopes import KEPT, Scopes

if TYPE_CHECKING:
    from .held_blocks import WatchedBlocks

WEEK_SECONDS = 7 * 24 * 3600

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


class Strategy(Assigner):
    """The algorithm that hands out values, for one sequence and all its scopes, in one process.

    Its first class attributes answer the questions of FLAGS and COSTS. The tables in `docs/` and the admin pages are
    made of them. A new strategy sets them, and implements the methods of `Assigner`.
    """

    gapless: bool  # of the class, but for a sequence in which each Region has a START of its own
    supports_reserve: ClassVar[bool]
    needs_transactions: ClassVar[bool]
    ordered_across_processes: ClassVar[bool]
    exactly_once: ClassVar[bool]
    takes_own_keys: ClassVar[bool] = False
    counts_by_region: ClassVar[bool] = False
    """Whether each Region may have a START of its own, because no row is written by two Regions."""
    keeps_date_order: ClassVar[bool] = False
    """Whether it can refuse a document that is dated before the last one, so that no value is lost by that."""
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
        "sort_key": Option(
            None,
            lambda v: v is None or sort_key_of(v) is not None,
            "a text that ends with the value in 1 to 38 digits, as '{value:010d}' or 'TICKET#{value:010d}', or None",
        ),
        "ignore_in_repeat": Option((), is_names, "a list of attribute names"),
        "marker_table": Option(None, lambda v: v is None or is_name(v), "the name of a table, or None"),
        "history_table": Option(None, lambda v: v is None or is_name(v), "the name of a table, or None"),
        "marker_seconds": whole(WEEK_SECONDS, 1, "a whole number above 0"),
        "deadline": positive(DEADLINE_SECONDS),
        "group": boolean(True),
        "scopes": Option(
            KEPT,
            lambda v: v in (None, KEPT) or (is_name(v) and "." in v),
            f"{KEPT!r}, the dotted path of a function, or None",
        ),
    }
    counter: StoredCounter | None = None
    """The counters of the scopes, for a strategy that has them."""
    watched: WatchedBlocks | None = None
    """What follows the changes of others for the blocks that this strategy holds, and those of its lines."""
    before_range: int | None = None
    """By a later line (SERIES) the value before its range: the first number of that moves the counter there."""

    def __init__(
        self,
        config: SequenceConfig,
        *,
        timing: Timing | None = None,
        wall: Callable[[], float] | None = None,
        parent: Strategy | None = None,
    ) -> None:
        """`parent` is the strategy of the whole sequence, for one by the rules of a single scope."""
        self.config, self.alias = config, config.alias
        self.forget_too: list[Callable[[], None]] = []
        """What is called when it forgets: other memories of the same tables."""
        self.option = checked_options(self.options, config)
        _check_region(self)
        _check_date_order(self)
        self.gapless = type(self).gapless and not config.stripe
        self.timing = timing or Timing()
        self.wall = wall or partial(dynamodb.now, config.client)
        places = places_of(config, self.option)
        self.schema = places.items
        self.naming = Naming(config, self.schema.padded_width, self.wall)
        self.numbers = self.naming.numbers
        self.layout = item_layout(config, self.schema, self.option, takes_own_keys=self.takes_own_keys)
        self.markers = Markers(self, places.markers)
        self.history = History(self.alias, places.history, self.schema.table)
        self.scope_list = ScopeList(self.history, keep=self.option["scopes"] == KEPT and not places.counters_apart)
        self.own_rows = OwnRows(self.alias, self.schema, places.others)
        self.rules: RulesRow = parent.rules if parent else _rules_row(self, places)
        self.following = Following(self.rules)
        self.lives: TableLives = parent.lives if parent else _lives(self, places)
        joins = self.writes_together and self.option["group"]
        self.item_writer = ItemWriter(self, self.markers, _host_queue(self) if joins else None)
        self.items = CommitQueues(self.item_writer, joins=joins)
        self.scopes = Scopes(self)
        self.percents: LRU[int] = LRU()
        """How many percent of a scope's values this process has seen used."""

    # What callers use.

    def put(self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline) -> None:
        """Store each request's item under the next value, or settle the request with an error."""
        self.items.submit(scope, self.takeable(scope, pendings, deadline), deadline)

    def takeable(
        self, scope: Scope, pendings: Sequence[Pending[PutRequest]], deadline: Deadline
    ) -> Sequence[Pending[PutRequest]]:
        """The requests that are to be written. The others are settled: what is wrong with them is known before."""
        self.layout.check_scope(scope)
        self.lives.bind(deadline.send, deadline)
        if self.naming.limits:
            pendings = self.naming.limits.allowed(scope, pendings, self.item_writer.answers.repeat_if_marked, deadline)
        return self.lives.takeable(pendings)

    def changed(self, scope: Scope, last_value: int | None, *, moves: bool = True) -> None:
        """A guarded change of this process has moved the scope to `last_value`, or left it there, as frozen or thawed.

        What is left may be an imported row above the counter, and so no evidence.
        """
        if self.evidence and moves and last_value is not None:
            self.evidence.note(scope, last_value)

    def forget(self) -> None:
        """Forget everything about every scope."""
        self.scope_list.forget()
        if self.counter:
            self.counter.memory.forget()
        for forget in self.forget_too:
            forget()

    def stop(self) -> None:
        """End what runs on its own: this process makes a new strategy. Never waits, as a forked child calls it too."""


def _rules_row(strategy: Strategy, places: Places) -> RulesRow:
    config, items = strategy.config, places.items
    beside = items if items.partition_type == "S" else places.markers
    numbering = () if config.stripe else places.numbering
    present = rules_of(type(strategy), config, strategy.option, places, strategy.layout)
    return RulesRow(strategy.alias, beside, strategy.history, numbering, present, strategy.timing.clock)


def _lives(strategy: Strategy, places: Places) -> TableLives:
    needs = strategy.needs_transactions
    return TableLives(places.written, strategy.forget, strategy.config, strategy.rules, needs_transactions=needs)


def _host_queue(strategy: Strategy) -> HostQueue:
    name, clock = strategy.config.counted_as, strategy.timing.clock
    return HostQueue(name, strategy.markers.schema, clock=clock, wall=strategy.wall)


def _check_region(strategy: Strategy) -> None:
    if strategy.config.stripe and not strategy.counts_by_region:
        raise InvalidSequence(
            f"SEQUENCES[{strategy.alias!r}]['START'] must be a number: {type(strategy).__name__} cannot count by "
            "Regions. Set HOME_REGION, or use another strategy."
        )


def _check_date_order(strategy: Strategy) -> None:
    if strategy.config.date_order == "refuse" and (strategy.config.stripe or not strategy.keeps_date_order):
        raise InvalidSequence(
            f"SEQUENCES[{strategy.alias!r}]['DATE_ORDER'] must be 'any': {type(strategy).__name__}, or Regions that "
            "count on their own, cannot keep it without losing a value. Take TransactionalCounter, with one START."
        )
