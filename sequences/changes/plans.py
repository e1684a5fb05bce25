"""What a guarded change of one scope writes: its plan, its note, and the void rows that carry it.

There are two ways. A scope with a counter is changed at its counter. A scope whose items are its count is changed by
void rows: the first one lies under the next number, where every writer must come by, and leads to the last one.

    writers   -- n stored --           |-- n + 1 is taken: look again --|-- `to` + 1 --
    change                 -- n + 1 and `to` are void rows --

While a switch is under way writers of both kinds count the items, so that void rows stop them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..strategies.snapshot import ScopeSnapshot

Action = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """What an operator asks for: the kind of change, who makes it and why. With `dry_run` nothing is written."""

    kind: str
    by: str
    reason: str
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeNote:
    """Who makes a change, when and why; `token` is stored with it, and recognises it after a lost answer."""

    by: str
    at: datetime
    reason: str
    token: str

    @property
    def about(self) -> dict[str, str]:
        """What a row says of the change."""
        return {"by": self.by, "at": self.at.isoformat(timespec="microseconds"), "reason": self.reason}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A change that can be written: the last value before and after it, and its actions; none if nothing is to do.

    `stands` says who made the same change before.
    """

    before: int | None
    after: int | None
    actions: tuple[Action, ...] = ()
    stands: Mapping[str, Any] = field(default_factory=dict)


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
    if seen.frozen_row and seen.top is not None:
        yield expressions.change_row(
            seen.layout.schema.table,
            seen.layout.key(seen.scope, seen.top),
            unchanged={"void.frozen": seen.frozen_row},
            removes=["void.frozen"],
        )


def written(note: ChangeNote) -> dict[str, Any]:
    """What a change leaves in a counter: its token, and when."""
    return {"token": note.token, "updated_at": int(note.at.timestamp())}
