"""Switches a sequence between TransactionalCounter and another strategy while writers of both are running.

    1. `switch(sequence, to="TransactionalCounter", ...)`, or to the name of the other strategy
    2. the sequence gets its new STRATEGY, process by process
    3. `finish_switch(sequence, ...)` when no process of the old strategy is left

SortKeyMaximum and TransactionalCounter store an item under its number, on the condition that the key is free. So no
number comes twice. Both take a number only when the one before it is stored. So none is left out. What a counter does
not know are the items of the other strategy: during a switch it follows them, where otherwise it would be refused
(SequenceWentBack).

    SortKeyMaximum         --stores 8--|               |--8 is stored: stores 9--
    TransactionalCounter               |--9 is free: counter from 7 to 9, and item 9: refused, looks again, stores 10--

The other strategies move the counter of TransactionalCounter: see `gapless`.

Switch no sequence to or from SortKeyMaximum whose items have keys of their own. All processes need a version that has
this module. Costs, and errors besides those named, are as in `changes`; a switch itself costs one more change, and
looks at each scope twice.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from functools import partial

from .. import dynamodb
from ..commit.retries import read
from ..dynamodb.expressions import OWN_KEYS, OWN_KEYS_AFTER
from ..exceptions import InvalidChange, OperationNotSupported
from ..registry import strategies
from ..rows.places import COUNTER_OPTIONS
from ..rows.rules import COUNT_ALIKE
from ..rows.rules_row import StoredRules
from ..rows.stored_counter import StoredCounter
from ..strategies import SortKeyMaximum, Strategy, TransactionalCounter
from ..strategies.counter_strategy import counter_of
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Scope
from . import gapless
from .apply import ChangeNote, ChangeRequest, Plan, apply_change
from .arguments import EVERY_SCOPE, Scopes, scopes_of
from .closings import require_open_books
from .moves import counter_to
from .voids import void_rows

FOLLOWED = {"SortKeyMaximum": SortKeyMaximum, "TransactionalCounter": TransactionalCounter}
SWITCHED = (*FOLLOWED, *sorted(COUNT_ALIKE))
"""The names of the strategies."""
DEFAULT_TABLE: str = COUNTER_OPTIONS["counter_table"].default


def switch(
    sequence: str,
    *,
    to: str,
    scope: Scopes = EVERY_SCOPE,
    period: str | None = None,
    counter_table: str = DEFAULT_TABLE,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> list[Change]:
    """Let writers of both strategies number the same items, until `finish_switch`. One of them is TransactionalCounter.

    If the other one is SortKeyMaximum, counters follow the stored items from now on. Where a counter is past its
    items, void rows explain the numbers between: name each scope before it is numbered by SortKeyMaximum if the
    sequence cannot list them. To TransactionalCounter a scope that is not named or listed follows at its first number.
    `to` is the name of the new strategy. `counter_table` is the new configuration's; a sequence with a counter
    has its own. To a strategy that may leave gaps the line of each scope says up to which value there is none.
    Raises OperationNotSupported for a sequence that does not fit (other strategies, STEP, items that are not in
    collections, tables that would be others) or cannot list its scopes; SequenceFrozen for a scope that is frozen; and
    InvalidChange for closed books that writers of the other strategy do not see, and for another `counter_table` than
    the one that the rows tell.
    All scopes are looked at before the switch begins, and again when they are changed. If it fails midway, repeat it:
    what is done stays as it is.
    """
    if to not in SWITCHED:
        raise InvalidChange(f"to is {to!r}; it must be one of {', '.join(map(repr, SWITCHED))}.")
    strategy, request = strategies[sequence], ChangeRequest("switch", by, reason, dry_run)
    send = partial(read, client=strategy.config.client)
    rules = strategy.rules.read(send)
    stored = gapless.stored_names(rules)
    if COUNT_ALIKE & {type(strategy).__name__, to, *stored}:
        return gapless.begun(strategy, to, stored, scope, period, request, send)
    prepare = _followed if to == "TransactionalCounter" else _passed
    holder = _switchable(strategy, counter_table, stored)
    counter = counter_of(holder)
    _require_table(counter, rules)
    if to == "SortKeyMaximum":
        require_open_books(strategy, counter, send)
    prepared = partial(apply_change, sequence, planner=prepare, counter=counter)
    with strategy.rules.switching(send):
        scopes = _listed(strategy if to == "TransactionalCounter" else holder, to, scope, period)
        rehearsal = replace(request, dry_run=True)
        rehearsed = [prepared(each, rehearsal) for each in scopes]  # so that nothing begins if a scope refuses it
        begun = gapless.let_in(strategy, FOLLOWED, request)
        return [*begun, *(rehearsed if dry_run else (prepared(each, request) for each in scopes))]


def _listed(strategy: Strategy, to: str, scope: Scopes, period: str | None) -> list[Scope]:
    """The scopes to look at now; none where they cannot be listed, and follow at their first numbers."""
    try:
        return list(scopes_of(strategy, scope, period))
    except OperationNotSupported:
        if to == "SortKeyMaximum":  # it would count below a counter that is past its items
            raise
        return []


def finish_switch(
    sequence: str,
    *,
    scope: Scopes = EVERY_SCOPE,
    period: str | None = None,
    counter_table: str = DEFAULT_TABLE,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> list[Change]:
    """End a switch when no process of the old strategy is left. Counters that stay are put on their highest items.

    From a strategy that may leave gaps each counter is closed to it: the line of its scope explains the numbers that
    are missing up to its `after`, and above it none is.
    The strategy of the present settings stays: another one is refused at its next start.
    Within a minute counters that are behind their items are refused again. A scope that is not named or listed may be
    refused, too: then `recover` it. Raises OperationNotSupported for a sequence that cannot list its scopes: name one.
    """
    strategy, request = strategies[sequence], ChangeRequest("switch", by, reason, dry_run)
    send = partial(read, client=strategy.config.client)
    stored = gapless.stored_names(strategy.rules.read(send))
    if COUNT_ALIKE & {type(strategy).__name__, *stored}:
        return gapless.finished(strategy, stored, scope, period, request, send)
    counter = counter_of(_switchable(strategy, counter_table, stored))
    follows = strategy.following.now(send)
    with strategy.rules.switching(send):
        scopes = scopes_of(strategy, scope, period) if follows and strategy.counter else ()
        changes = [apply_change(sequence, each, request, _followed, counter=counter) for each in scopes]
    return [*changes, *gapless.let_in(strategy, (), request)]


def _switchable(strategy: Strategy, counter_table: str, stored: Set[str]) -> Strategy:
    """The configuration that has the counters: this one or the other one. Raises OperationNotSupported.

    `stored` names the strategies of the rows.
    """
    gapless.require_switchable(strategy, _problems(strategy, counter_table, stored))
    return strategy if strategy.counter else _other(strategy, counter_table)


def _require_table(counter: StoredCounter, rules: Iterable[StoredRules]) -> None:
    """Raise InvalidChange if the rows tell of counters in another table, which would be left behind."""
    told = {str(row.rules["counter_table"]) for row in rules if "counter_table" in row.rules}
    for table in sorted(told):
        if dynamodb.table_name(table) != counter.table:
            raise InvalidChange(f"counter_table must be {table!r}, where the counters of {counter.alias!r} are.")


def _problems(strategy: Strategy, counter_table: str, stored: Set[str]) -> Iterator[str]:
    if not isinstance(strategy, tuple(FOLLOWED.values())) or stored - {*FOLLOWED, type(strategy).__name__}:
        yield f"only {' and '.join(FOLLOWED)} number the same items"
    if strategy.numbers.step != 1:
        yield "STEP must be 1"
    if not strategy.layout.in_collections:
        yield f"its items are not in collections ('value_in' is {strategy.layout.value_in!r})"
    other = _other(strategy, counter_table)
    for option, own, others in (
        ("history_table", strategy.history.schema.table, other.history.schema.table),
        ("marker_table", strategy.markers.schema.table, other.markers.schema.table),
    ):
        if own != others:
            example = own.removeprefix(dynamodb.table_name(""))
            yield f"set OPTIONS[{option!r}] to the same table in both configurations, for example {example!r}"


def _other(strategy: Strategy, counter_table: str) -> Strategy:
    """The sequence in its other configuration."""
    kind = next(kind for kind in FOLLOWED.values() if not isinstance(strategy, kind))
    given = {**strategy.config.options, "counter_table": counter_table}
    options = {name: value for name, value in given.items() if name in kind.options}
    return kind(replace(strategy.config, options=options))


def _followed(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """The counter is put on the highest stored item, if it is behind it.

    Those who counted the items gave none a key of its own, which a new counter notes for audits.
    """
    seen.require_thawed()
    seen.require_stored()
    last, counted = seen.last, seen.state.last_value
    if last is None or (counted is not None and counted >= last):
        return Plan.in_place(seen)
    begins = {OWN_KEYS: 0, OWN_KEYS_AFTER: seen.numbers.before_start} if counted is None else {}
    return Plan.in_place(seen, *counter_to(seen, last, note, **begins))


def _passed(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """Void rows lead past the numbers that the counter has handed out and no item carries."""
    seen.require_thawed()
    counted, stored = seen.state.last_value, seen.top if seen.counts(seen.top) else None
    if counted is None or counted <= (seen.numbers.before_start if stored is None else stored):
        return Plan.in_place(seen)
    return Plan(before=stored, after=counted, actions=void_rows(seen, counted, note))
