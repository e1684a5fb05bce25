"""The change `void`: a number is withdrawn, and keeps its place. And the void rows by which other changes are made."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..dynamodb.expressions import CLOSING
from ..exceptions import InvalidChange, OperationNotSupported
from ..registry import strategies
from ..rows.counter_rows import AGAIN
from ..rows.layout import signed_void
from ..rows.reading import stored_row
from ..signals import value_voided
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change
from .apply import Action, ChangeNote, ChangeRequest, Plan, apply_change
from .arguments import check_whole, counted_in

CLOCK_SECONDS = 2.0  # by so much two readings of the engine's clock may be wrong, which tells whole seconds


def void(
    sequence: str,
    value: int,
    *,
    scope: str | None = None,
    period: str | None = None,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> Change:
    """Withdraw a number: it keeps its place, with who withdrew it, when and why. A void number stays as it is.

    The item under the value gets the attribute `void` and keeps the others. Where no item is stored, a row explains
    the gap; an item with a key of its own that has this value is not seen. Repeated, it returns the first void.
    One more read unit or more, for the item. Raises InvalidChange for a value above the last one, and for one without
    an item that the counter has not handed out, or that a process may hold in its block (`BlockAllocator`: freeze the
    scope first, and wait until every process follows). Raises OperationNotSupported where the value does not make the
    item's key.
    """
    check_whole("value", value)
    request = ChangeRequest("void", by, reason, dry_run)
    change = apply_change(sequence, counted_in(sequence, scope, period), request, partial(_voided, value))
    if not dry_run:
        value_voided.send_robust(type(strategies[sequence]), change=change)
    return change


def _voided(value: int, seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """The plan after which `value` is void. What is void already stays as it is."""
    key = _key_of(seen, value)
    if seen.numbers.problem(value) or seen.last is None or value > seen.last:
        found = "nothing yet" if seen.last is None else seen.last
        wanted = f"it must be a value of the sequence up to its last value, which is {found}"
        raise InvalidChange(f"value is {value!r}; {wanted}.")
    table, partition = seen.layout.schema.table, seen.layout.schema.partition_name
    row = stored_row(table, key, seen.send)
    if void := signed_void(row):
        return Plan(before=value, after=value, stands=void)
    if "void" in row:
        raise InvalidChange(f"The item of value {value} has an attribute 'void' of its own: withdraw it there.")
    if row:
        as_it_was = {partition: dynamodb.unmarshal(key)[partition], "void": None}
        action: Action = expressions.change_row(table, key, unchanged=as_it_was, sets={"void": note.about})
    elif held := _held_in_a_block(seen, value, note.at):
        return Plan(marks=marks_of(seen, note), refusal=held)
    else:
        action = void_row(seen, value, note)
    return Plan(before=value, after=value, actions=(action,))


def _held_in_a_block(seen: ScopeSnapshot, value: int, now: datetime) -> InvalidChange | None:
    """The error for a value without an item that a process may still hand out of its block.

    Raises it for one that the counter may still hand out.
    """
    if seen.by_rows:
        return None
    counted, begin = seen.state.last_value, f"value is {value}; no item has it"
    if counted is None or value > counted:
        at = "which has no value yet" if counted is None else f"at {counted}"
        raise InvalidChange(f"{begin}, and the counter, {at}, has not handed it out: advance or seed it first.")
    found_at, seconds = (seen.frozen or {}).get(AGAIN, {}).get("at"), _seconds_to_follow(seen)
    is_over = found_at and now - datetime.fromisoformat(found_at) >= timedelta(seconds=seconds)
    if is_over or not seen.may_be_held:
        return None
    return InvalidChange(
        f"{begin} yet, and a process may hold it in its block: freeze the scope, wait {seconds:g} s, void it, and thaw "
        "the scope."
    )


def _seconds_to_follow(seen: ScopeSnapshot) -> float:
    """How long after a look has found the scope frozen others may serve blocks, and store what they took.

    When the freeze was stored is not known: it may arrive late. A process with an older look than `watch_seconds` and
    its deadline looks first, and stores by the deadline of the call.
    """
    seconds: float = seen.strategy.option.get("watch_seconds", 0.0) + 2 * seen.strategy.option["deadline"]
    return seconds + CLOCK_SECONDS


def _key_of(seen: ScopeSnapshot, value: int) -> Mapping[str, Any]:
    key = seen.layout.key(seen.scope, value)
    if set(key) != set(seen.layout.key_names):
        raise OperationNotSupported(
            f"The items of {seen.strategy.alias!r} have keys of their own: withdraw the item in your application."
        )
    return key


def void_rows(
    seen: ScopeSnapshot, last: int, note: ChangeNote, frozen: Mapping[str, Any] | None = None
) -> tuple[Action, ...]:
    """Void rows under the next number of each kind of writer, and under `last`, where a scope is frozen."""
    stored = seen.numbers.before_start if seen.top is None else seen.top
    counted = stored if seen.state.last_value is None else seen.state.last_value
    starts = {n for n in map(seen.numbers.following, (stored, counted)) if stored < n < last}
    puts = [void_row(seen, n, note, until=last) for n in sorted(starts)]
    puts.append(void_row(seen, last, note, **({"frozen": frozen} if frozen else {})))
    return (*puts, *thawed_row(seen))


def void_row(seen: ScopeSnapshot, value: int, note: ChangeNote, **more: Any) -> Action:
    """A row without an item: it says that this value is void, and `more`."""
    text = seen.strategy.naming.text_or_number(value, seen.scope)
    place = seen.layout.written(seen.scope, value, note.token, text, own_key=False)
    void = dynamodb.marshal({"void": {**note.about, **more}})
    return expressions.put_if_absent(seen.layout.schema, {**void, **place})


def thawed_row(seen: ScopeSnapshot) -> Iterable[Action]:
    """Let the highest row freeze the scope no longer, if it does."""
    if seen.frozen_row:
        yield _change_frozen_row(seen, removes=["void.frozen"])


def _change_frozen_row(seen: ScopeSnapshot, **how: Any) -> Action:
    """An update of the highest row, which freezes the scope; `how` is as for `change_row`."""
    assert seen.top is not None
    schema, frozen = seen.layout.schema, {"void.frozen": seen.frozen_row}
    return expressions.change_row(schema.table, seen.layout.key(seen.scope, seen.top), unchanged=frozen, **how)


def marks_of(seen: ScopeSnapshot, note: ChangeNote) -> tuple[Action, ...]:
    """What a frozen scope says of the first look that has found it so, with another token for each later one.

    A thaw from before, which is still on its way, does not find what it has seen.
    """
    now = datetime.fromtimestamp(seen.strategy.wall(), UTC)  # after the look
    before = (seen.frozen or {}).get(AGAIN, {"at": now.isoformat(timespec="microseconds")})
    again = {"at": before["at"], "token": note.token}
    marks = [_change_frozen_row(seen, sets={f"void.frozen.{AGAIN}": again})] if seen.frozen_row else []
    name = "frozen" if "frozen" in seen.row else CLOSING
    if name in seen.row:
        marks.append(seen.change(unchanged={name: seen.row[name]}, sets={f"{name}.{AGAIN}": again}))
    return tuple(marks)
