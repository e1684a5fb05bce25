"""Plans guarded changes of one scope: looks at what is stored, and says which actions change it.

There are two ways. A scope with a counter is changed at its counter. A scope whose items are its count is changed by
void rows: the first one lies under the next number, where every writer must come by, and leads to the last one.

    writers   -- n stored --           |-- n + 1 is taken: look again --|-- `to` + 1 --
    change                 -- n + 1 and `to` are void rows --

While a switch is under way writers of both kinds count the items, so that void rows stop them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..dynamodb.expressions import BORN, CHANGED, GIVEN_BACK
from ..exceptions import InvalidChange, OperationNotSupported, ScopeNotFound
from ..rows import counter_rows, remedies
from ..rows.layout import SIGNATURE, Send, signed_void
from ..rows.numbers import LARGEST
from ..rows.stored_counter import StoredCounter
from ..rows.tallies import ALWAYS, SINCE, known_from_start
from ..strategies.base import Strategy
from ..types import Scope

__all__ = ["Plan", "Scene", "Signature"]

Action = Mapping[str, Any]
CLOCK_SECONDS = 2.0  # by so much two readings of the engine's clock may be wrong, which tells whole seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Signature:
    """Who makes a change, when and why; `token` is stored with it, and recognises it after a lost answer."""

    by: str
    at: datetime
    reason: str
    token: str

    @property
    def about(self) -> dict[str, str]:
        """What a row tells of the change."""
        return {"by": self.by, "at": self.at.isoformat(timespec="microseconds"), "reason": self.reason}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A change that can be written: the last value before and after it, and its actions; none if nothing is to do.

    `stands` tells who made the same change before.
    """

    before: int | None
    after: int | None
    actions: tuple[Action, ...] = ()
    stands: Mapping[str, Any] = field(default_factory=dict)


class Scene:
    """A scope as one look at it found it: its counter first, then its highest item. Costs up to three reads."""

    def __init__(self, strategy: Strategy, scope: Scope, send: Send, *, counter: StoredCounter | None = None) -> None:
        strategy.layout.check_scope(scope)
        self.strategy, self.scope, self.send = strategy, scope, send
        self.layout, self.numbers = strategy.layout, strategy.numbers
        self.counter = counter or strategy.counter
        evidence = (self.counter or strategy).evidence
        self._remembered = evidence.known(scope) if evidence else None  # before the reads: others may count on then
        self.row = self._read(self.counter.table, self.counter.key(scope)) if self.counter else {}
        self.state = counter_rows.CounterState.of(self.row)
        self.top, _, self._frozen_row = self.layout.top(scope, send)
        if (self._remembered or 0) > (self.last or 0) and strategy.lives.changed(send):
            self._remembered = None
        if self.top is None and strategy.option.get("scope_must_exist"):
            raise ScopeNotFound.of(strategy.alias, scope, "create it before you change it")

    def _read(self, table: str, key: Mapping[str, Any]) -> dict[str, Any]:
        return dynamodb.unmarshal(self.send("get_item", expressions.read_item(table, key)).get("Item", {}))

    @cached_property
    def by_rows(self) -> bool:
        """Whether writers count the stored items: always, or while a switch is under way."""
        if self.strategy.counter is None:
            return True
        return self.layout.in_collections and "to" in self.strategy.switch_note.read(self.send)

    @property
    def last(self) -> int | None:
        """The last value of the scope, as its counter and its items tell it."""
        return _highest(self.state.last_value, self.top if self._counts(self.top) else None)

    @property
    def handed_out(self) -> int:
        """The highest value that is known to have been handed out or stored; the value before START if there is none.

        That is also what the counter and this host remember.
        """
        return _highest(self.numbers.before_start, self.last, self.state.highest, self._remembered) or 0

    @property
    def frozen(self) -> Mapping[str, Any] | None:
        """By whom, since when and why the scope is frozen, at its counter or at its highest row; None if it is not."""
        return self.state.frozen or self._frozen_row

    def _counts(self, number: int | None) -> bool:
        return number is not None and number >= self.numbers.start

    def require_existing(self) -> None:
        """Raise ScopeNotFound for a scope that has neither a counter nor items."""
        if not self.row and self.top is None:
            place = "without a scope" if self.scope is None else f"in the scope {self.scope!r}"
            raise ScopeNotFound(
                f"{self.strategy.alias!r} has counted nothing {place}, so nothing was changed: name a scope that has "
                "numbers, or take every one (--all-scopes, EVERY_SCOPE)."
            )

    def require_order(self) -> None:
        """Raise SequenceWentBack for a scope that is lower than a value it handed out."""
        if self.counter and not self.by_rows:
            known = self.state.should_be(self._remembered)
            if known is not None:
                raise remedies.went_back(self.strategy.alias, self.scope, found=self.state.last_value, known=known)
        elif self.counter is None and self.handed_out > (self.numbers.before_start if self.last is None else self.last):
            raise remedies.items_went_back(self.strategy.alias, self.scope, found=self.last, known=self.handed_out)

    def require_stored(self) -> None:
        """Raise SequenceWentBack if a value was handed out that neither the counter nor an item has."""
        if self.last is not None and self.handed_out > self.last:
            found = self.state.last_value
            raise remedies.went_back(self.strategy.alias, self.scope, found=found, known=self.handed_out)

    def require_thawed(self) -> None:
        """Raise SequenceFrozen for a scope that is frozen."""
        if self.frozen:
            raise remedies.frozen(self.strategy.alias, self.scope, self.frozen)

    # Forward.

    def moved_to(self, value: int, sign: Signature) -> Plan:
        """The plan after which every new value is above `value`. A scope that is frozen stays so."""
        counted = self.numbers.before_start if self.state.last_value is None else self.state.last_value
        base = counted if self.last is None else self.numbers.reaching(self.last, counted)
        reached = self.numbers.up_to(value, base)
        behind = self.state.last_value is None or reached > self.state.last_value
        drops = not behind and not self.strategy.ordered_across_processes and value >= self.numbers.start
        if drops and reached <= self.numbers.maximum - self.numbers.step:
            reached += self.numbers.step  # no process gives lower values any more, also not of a block that it holds
        if reached > self.numbers.maximum:
            raise self.numbers.exhausted()
        if self.by_rows:
            actions = self._rows(reached, sign, self._frozen_row) if reached > base else ()
        elif self._frozen_row:
            raise remedies.frozen(self.strategy.alias, self.scope, self._frozen_row)
        else:
            moves = (behind or drops) and reached > self.numbers.before_start
            actions = (self.counter_to(reached, sign),) if moves else ()
        return Plan(before=self.last, after=reached if actions else self.last, actions=tuple(actions))

    def counter_to(self, value: int, sign: Signature, **more: Any) -> Action:
        """The action that puts the counter on `value`, and sets `more`.

        The counter of a gapless strategy must still be as it was seen, so that the history is exact. Another one may
        count on meanwhile, as a busy one always does; it must still be below `value`.
        """
        assert self.counter is not None
        frozen, last_value = self.state.frozen, self.state.last_value
        kept = {name: frozen[name] for name in SIGNATURE if name in frozen} if frozen else {}
        is_busy = not self.strategy.gapless and not frozen and self.state.highest == last_value
        moves = is_busy and last_value is not None and last_value < value
        exactly = ("frozen", "thawed") if moves else ("last_value", "highest", "token", "frozen")
        return expressions.change_row(
            self.counter.table,
            self.counter.key(self.scope),
            unchanged={name: self.row.get(name) for name in exactly},
            at_least={"last_value": last_value} if moves and last_value is not None else {},
            below={"last_value": value} if moves else {},
            sets={
                "last_value": value,
                **({"frozen": kept} if frozen else {"highest": value}),
                **({SINCE: ALWAYS} if self._is_tallied else {}),
                CHANGED: sign.token,
                **self._written(sign),
                **more,
            },
            if_missing={BORN: sign.token},
            removes=[GIVEN_BACK],
        )

    @property
    def _is_tallied(self) -> bool:
        """Whether the counter's tallies tell of all that was given, so that skipped values do not blur that."""
        known = known_from_start(self.row, self.numbers.before_start, self.numbers.step)
        return known and (self.state.last_value is not None or self.last is None)

    def _written(self, sign: Signature) -> dict[str, Any]:
        return {"token": sign.token, "updated_at": int(sign.at.timestamp())}

    def _rows(self, last: int, sign: Signature, frozen: Mapping[str, Any] | None = None) -> tuple[Action, ...]:
        """Void rows under the next number of each kind of writer, and under `last`, where a scope is frozen."""
        stored = self.top if self.top is not None and self._counts(self.top) else self.numbers.before_start
        counted = stored if self.state.last_value is None else self.state.last_value
        starts = {n for n in map(self.numbers.following, (stored, counted)) if stored < n < last}
        puts = [self._void_row(n, sign, until=last) for n in sorted(starts)]
        puts.append(self._void_row(last, sign, **({"frozen": frozen} if frozen else {})))
        return (*puts, *self._thawed_row())

    def passed(self, sign: Signature) -> Plan:
        """The plan after which writers that count the items go on past the counter."""
        counted, stored = self.state.last_value, self.top if self._counts(self.top) else None
        if counted is None or counted <= (self.numbers.before_start if stored is None else stored):
            return Plan(before=self.last, after=self.last)
        return Plan(before=stored, after=counted, actions=self._rows(counted, sign))

    def _void_row(self, value: int, sign: Signature, **more: Any) -> Action:
        written = self.layout.written(
            self.scope, value, sign.token, self.strategy.text_or_number(value, self.scope), own_key=False
        )
        void = dynamodb.marshal({"void": {**sign.about, **more}})
        return expressions.put_if_absent(self.layout.schema, {**void, **written})

    # Freeze and thaw.

    def freeze(self, sign: Signature) -> Plan:
        """The plan after which every write in the scope raises SequenceFrozen. Raises that if it is frozen already."""
        self.require_thawed()
        if self.by_rows:
            self._require_one_region()
            last = self.numbers.following(self.numbers.before_start if self.last is None else self.last)
            if last > self.numbers.maximum:
                raise self.numbers.exhausted()
            return Plan(before=self.last, after=last, actions=self._rows(last, sign, sign.about))
        return Plan(before=self.last, after=self.last, actions=(self._frozen_counter(sign),))

    def closed(self, sign: Signature) -> tuple[Action, ...]:
        """The actions that freeze the scope at exactly the last value of this look, for good."""
        if self.by_rows:
            return self.freeze(sign).actions
        return (self._frozen_counter(sign, exactly=True),)

    def _require_one_region(self) -> None:
        """Raise OperationNotSupported if other Regions store rows above the one that would freeze the scope."""
        if self.numbers.others:
            raise OperationNotSupported(
                f"{self.strategy.alias!r} counts the items of several Regions, whose rows would hide a freeze: "
                "set HOME_REGION to a Region without writers in place of its STARTs."
            )

    def _frozen_counter(self, sign: Signature, *, exactly: bool = False) -> Action:
        """Put the counter's `highest` out of reach, so that the condition of every write refuses it.

        A busy counter may count on between the look and the change, unless it must be `exactly` as it was seen. One
        that went back, or has no value, may not.
        """
        assert self.counter is not None
        went_back = self.state.should_be(None) is not None
        at_rest = exactly or went_back or self.state.last_value is None
        seen = {name: self.row.get(name) for name in ("last_value", "highest")}
        return expressions.change_row(
            self.counter.table,
            self.counter.key(self.scope),
            unchanged={"frozen": None, "thawed": self.row.get("thawed"), **(seen if at_rest else {})},
            at_least={} if at_rest or self.state.last_value is None else {"last_value": self.state.last_value},
            sets={
                "frozen": {**sign.about, **({"highest": self.state.highest} if went_back else {})},
                "highest": LARGEST,
                CHANGED: sign.token,
            },
            if_missing={BORN: sign.token},
            removes=[GIVEN_BACK],
        )

    def thaw(self, sign: Signature) -> Plan:
        """The plan after which the scope goes on. Raises InvalidChange if it is not frozen."""
        actions = (*self._thawed_counter(sign), *self._thawed_row())
        if not actions:
            raise InvalidChange(f"The sequence {self.strategy.alias!r}, scope {self.scope!r}, is not frozen.")
        return Plan(before=self.last, after=self.last, actions=actions)

    def _thawed_counter(self, sign: Signature) -> Iterable[Action]:
        """Let `highest` be as before. An earlier freeze that is still on its way must not follow a later thaw."""
        if self.counter and self.state.frozen:
            highest = _highest(self.state.last_value, self.state.highest)
            yield expressions.change_row(
                self.counter.table,
                self.counter.key(self.scope),
                unchanged={name: self.row.get(name) for name in ("last_value", "token", "frozen")},
                sets={
                    **({} if highest is None else {"highest": highest}),
                    "thawed": sign.token,
                    **self._written(sign),
                },
                removes=["frozen", *(["highest"] if highest is None else [])],
            )

    def _thawed_row(self) -> Iterable[Action]:
        if self._frozen_row and self.top is not None:
            yield expressions.change_row(
                self.layout.schema.table,
                self.layout.key(self.scope, self.top),
                unchanged={"void.frozen": self._frozen_row},
                removes=["void.frozen"],
            )

    # Void.

    def voided(self, value: int, sign: Signature) -> Plan:
        """The plan after which `value` is void. What is void already stays as it is."""
        key = self._key_of(value)
        if self.numbers.problem(value) or self.last is None or value > self.last:
            found = "nothing yet" if self.last is None else self.last
            wanted = f"it must be a value of the sequence up to its last value, which is {found}"
            raise InvalidChange(f"value is {value!r}; {wanted}.")
        row = self._read(self.layout.schema.table, key)
        if void := signed_void(row):
            return Plan(before=value, after=value, stands=void)
        if "void" in row:
            raise InvalidChange(f"The item of value {value} has an attribute 'void' of its own: withdraw it there.")
        if not row:
            self._require_handed_out(value, sign.at)
        action = self._void_item(key, sign) if row else self._void_row(value, sign)
        return Plan(before=value, after=value, actions=(action,))

    def _require_handed_out(self, value: int, now: datetime) -> None:
        """Raise InvalidChange for a value without an item that may still be handed out."""
        if self.by_rows:
            return
        counted, begin = self.state.last_value, f"value is {value}; no item has it"
        if counted is None or value > counted:
            at = "which has no value yet" if counted is None else f"at {counted}"
            raise InvalidChange(f"{begin}, and the counter, {at}, has not handed it out: advance or seed it first.")
        if not self.strategy.ordered_across_processes and not self._blocks_are_dropped(now):
            raise InvalidChange(
                f"{begin} yet, and a process may hold it in its block: freeze the scope, wait "
                f"{self._seconds_to_follow:g} s, void it, and thaw the scope."
            )

    def _blocks_are_dropped(self, now: datetime) -> bool:
        """Whether the scope is frozen for so long that no process has a block of it any more."""
        at = (self.frozen or {}).get("at")
        return at is not None and now - datetime.fromisoformat(at) >= timedelta(seconds=self._seconds_to_follow)

    @property
    def _seconds_to_follow(self) -> float:
        """How long after the time in a change others may serve blocks: it is stored by its deadline, and a process with
        an older look than `watch_seconds` and its deadline looks first."""
        seconds: float = self.strategy.option.get("watch_seconds", 0.0) + 2 * self.strategy.option["deadline"]
        return seconds + CLOCK_SECONDS

    def _key_of(self, value: int) -> Mapping[str, Any]:
        key = self.layout.key(self.scope, value)
        if set(key) != set(self.layout.key_names):
            raise OperationNotSupported(
                f"The items of {self.strategy.alias!r} have keys of their own: withdraw the item in your application."
            )
        return key

    def _void_item(self, key: Mapping[str, Any], sign: Signature) -> Action:
        partition = self.layout.schema.partition_name
        exists = {partition: dynamodb.unmarshal(key)[partition]}
        return expressions.change_row(
            self.layout.schema.table, key, unchanged={**exists, "void": None}, sets={"void": sign.about}
        )


def _highest(*values: int | None) -> int | None:
    return max((value for value in values if value is not None), default=None)
