"""Numbers that are given: an item is stored under a value that the caller names, and the sequence goes on above it."""

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from .. import dynamodb
from ..commit.requests import Pending, PutRequest
from ..commit.retries import new_token, write_once
from ..dynamodb import expressions
from ..dynamodb.expressions import CHANGED, LAST_DOCUMENT
from ..exceptions import ItemExists, OperationNotSupported, WriteCancelled
from ..rows.reading import MOST_IN_A_BATCH, read_rows, stored_row
from ..services.arguments import placed
from ..strategies.base import Strategy
from ..strategies.counter_strategy import CounterStrategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Scope
from .apply import Action, ChangeNote, ChangeRequest, Plan, apply_change, try_after
from .arguments import being_switched
from .moves import counter_to, moved_to
from .voids import void_row

MOST_SHOWN = 10


def put_at(
    sequence: str,
    value: int,
    item: Mapping[str, Any],
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
    by: str,
    reason: str,
) -> bool:
    """Store an item under a value that is given, such as 4711 of another system; return whether it is new.

    The sequence must allow it (`"GIVEN": True`). The item is stored if no item has the value; the same
    item again is a repeat. Where the value is above the last one, the sequence goes on after it: item, counter and a
    line of the history that explains what is skipped are one transaction. A value up to the last one that was handed
    out without an item (`get_next_value`) counts as free. The change may store a document that is dated before the last
    one (DATE_ORDER), or far from today (DATES); one that is dated later is the last one from then on.
    Where a process may hold the value in its block (`BlockAllocator`), the sequence moves on by one value, if one is
    left, and a line of the history makes every process drop its block: this one before the item is stored, the others
    within `watch_seconds`. Until then another process may still give the value. A repeat moves nothing.
    Cost: as of another guarded change, and 2 write units a KB of the item; also a read unit or more, for the item, with
    blocks if the value is not above the last one, and with a counter if a higher item was imported.
    Raises ItemExists, InvalidItem, InvalidChange while a switch is under way, OperationNotSupported for items under
    keys of their own, ValueError for what is no value of the sequence, SequenceExhausted where blocks are to be dropped
    and the last value is above MAXIMUM, and what every guarded change raises.
    """
    return bool(put_all_at(sequence, {value: item}, scope=scope, date=date, period=period, by=by, reason=reason))


def put_all_at(
    sequence: str,
    items: Mapping[int, Mapping[str, Any]],
    *,
    scope: str | None = None,
    date: datetime.date | None = None,
    period: str | None = None,
    by: str,
    reason: str,
) -> list[int]:
    """Store many items under the values that are their keys, as `put_at` does; return the values that are new.

    All items are checked before the first is stored. Then the sequence goes on above the highest of them, and the
    others are stored, a hundred in a transaction. If it fails midway, repeat it: what is stored stays as it is.
    Blocks of this process are dropped before the others are stored. Where a look for items is needed, it reads a
    hundred at a time, up to one that is missing.
    """
    strategy, counted, day = placed(sequence, scope, date, period)
    if not strategy.config.given:
        raise OperationNotSupported(
            f"{sequence!r} gives its numbers itself: to name them, set SEQUENCES[{sequence!r}]['GIVEN'] to True."
        )
    given = {value: _Given.of(strategy, counted, day, value, items[value]) for value in sorted(items)}
    if not given:
        return []
    first: list[int] = []  # the values that the change stores
    plan = partial(_planned, strategy, given, first)
    apply_change(strategy.alias, counted, ChangeRequest("give", by, reason), plan)
    if strategy.scope_list.keep:
        strategy.scope_list.put(counted, strategy.deadline().read)
    others = {Pending(one.request): one for value, one in given.items() if value not in first}
    new = [*first]
    for part in strategy.item_writer.parts([*others]):
        new += _put(strategy, [others[pending] for pending in part])
    return new


@dataclass(frozen=True, slots=True)
class _Given:
    """A given value with the request of its item, and the action that stores this, if its key is free."""

    value: int
    request: PutRequest
    put: Action
    token: str

    @classmethod
    def of(
        cls, strategy: Strategy, scope: Scope, day: datetime.date | None, value: int, item: Mapping[str, Any]
    ) -> Self:
        """Check a value and its item. The token is the same for each repeat."""
        writer, layout = strategy.item_writer, strategy.layout
        request = writer.request(item, None, (), day)
        if request.own_key or len(layout.key(scope, strategy.numbers.checked(value))) != len(layout.key_names):
            raise OperationNotSupported(
                f"The items of {strategy.alias!r} have keys of their own: store them yourself, and `advance`."
            )
        if strategy.numbers.is_of_others(value):
            raise ValueError(f"value is {value}, which {strategy.alias!r} gives in another Region: store it there.")
        named = f"given {value} {layout.collection(scope)} {dynamodb.fingerprint(request.item or {})}"
        token = hashlib.sha256(named.encode()).hexdigest()
        row = writer.row(scope, request, request.items[0], value, token)
        return cls(value, request, expressions.put_if_absent(strategy.schema, row), token)


def _planned(
    strategy: Strategy, given: Mapping[int, _Given], first: list[int], seen: ScopeSnapshot, note: ChangeNote
) -> Plan:
    """The plan after which the sequence goes on above the highest value; `first` tells what it stores."""
    seen.require_order()
    seen.require_thawed()
    if seen.by_rows and seen.counter:
        raise being_switched(strategy.alias)
    last = seen.numbers.before_start if seen.counted is None else seen.counted
    highest = max(given)
    first.clear()
    if highest <= last:
        return moved_to(seen, highest, note) if _may_be_given(seen, given) else Plan.in_place(seen)
    following = seen.numbers.following(last)
    if seen.by_rows:
        first[:] = sorted({following, highest} & set(given))
    elif not _is_stored(seen, given[highest]):
        first[:] = [highest]
    actions = [given[value].put for value in first]
    if not seen.by_rows:
        actions += counter_to(seen, highest, note, **_last_document(seen, given[highest]))
    elif following not in given:
        end = highest - seen.numbers.step
        actions.append(void_row(seen, following, note, **({"until": end} if end > following else {})))
    return Plan(before=seen.counted, after=highest, actions=tuple(actions))


def _is_stored(seen: ScopeSnapshot, one: _Given) -> bool:
    """Whether an item above the counter is there already. No read, where no higher one is. Raises ItemExists."""
    layout = seen.layout
    if layout.in_collections and (seen.top is None or seen.top < one.value):
        return False
    key = layout.key(seen.scope, one.value)
    row = stored_row(layout.schema.table, key, seen.strategy.deadline().read)
    if row and row.get(layout.token_name) != one.token:
        raise _exist(seen.strategy, [one.value])
    return bool(row)


def _may_be_given(seen: ScopeSnapshot, values: Iterable[int]) -> bool:
    """Whether one of these values up to the last one is free, and a process may give it from its block.

    A change makes every process drop its block, and leaves its token in the counter, as each reservation does: if the
    token is still there, no block was reserved since.
    """
    strategy, row = seen.strategy, seen.row
    if not seen.may_be_held:
        return False
    is_held_here = isinstance(strategy, CounterStrategy) and strategy.held(seen.scope)
    return bool(is_held_here or row.get(CHANGED) != row.get("token")) and _is_one_free(seen, sorted(values))


def _is_one_free(seen: ScopeSnapshot, values: Sequence[int]) -> bool:
    """Whether no item is stored under one of these values. The highest come first: they are stored last."""
    table = seen.layout.schema.table
    for end in range(len(values), 0, -MOST_IN_A_BATCH):
        keys = [seen.layout.key(seen.scope, value) for value in values[max(end - MOST_IN_A_BATCH, 0) : end]]
        send = seen.strategy.deadline().read  # for each batch, as they may be many
        for key, row in zip(keys, read_rows(table, keys, (), send), strict=True):
            if not (stored_row(table, key, send) if row is None else row):
                return True
    return False


def _last_document(seen: ScopeSnapshot, given: _Given) -> dict[str, Any]:
    """What the counter notes of a given document: its date, unless that is before the last one, which stays."""
    day, last = given.request.day, seen.row.get(LAST_DOCUMENT, {}).get("date", "")
    if seen.strategy.config.date_order != "refuse" or day is None or day.isoformat() < last:
        return {}
    return {LAST_DOCUMENT: {"date": day.isoformat(), "value": given.value}}


def _put(strategy: Strategy, part: Sequence[_Given]) -> Iterator[int]:
    """Store some items whose keys are free or have the same item already. Raises ItemExists, which names the others."""
    deadline = strategy.deadline()
    while part:
        request = expressions.transaction([one.put for one in part], request_token=new_token())
        try:
            write_once("transact_write_items", request, token="", deadline=deadline)
        except WriteCancelled as error:
            found = {one.value: reason.old or {} for one, reason in zip(part, error.reasons, strict=True) if reason.old}
            names = {one.value: one.token for one in part}
            if taken := [value for value, old in found.items() if old.get(strategy.layout.token_name) != names[value]]:
                raise _exist(strategy, taken) from error
            if error.after_unknown:
                yield from found
            if not found:
                try_after(error, deadline, [one.value for one in part])
            part = [one for one in part if one.value not in found]
        else:
            yield from (one.value for one in part)
            return


def _exist(strategy: Strategy, taken: Sequence[int]) -> ItemExists:
    shown = ", ".join(map(str, taken[:MOST_SHOWN])) + (" and more" if len(taken) > MOST_SHOWN else "")
    return ItemExists(f"{strategy.alias!r} has other items under {shown}; these were not changed.")
