"""Takes a sequence from the settings by which its rows are written to the present ones, so that no number comes twice.

    former processes   --store 52--|                       refused: the scope is closed
    adopt                          |--closes it at 52, and puts the present one on 52--|--present rules are stored--
    present processes  refused                                                         |--store 53--

Where numbers are counted in another place than before, that place is closed: it is frozen in the transaction that puts
the present one past its last value. Where they are counted in the same place, the last former process must have
stopped before. Costs, and errors besides those named, are as in `changes`, for each scope; one more change at the end.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .. import dynamodb
from ..commit.retries import read
from ..dynamodb import expressions
from ..dynamodb.expressions import GAPLESS_AFTER, LAST_DOCUMENT
from ..exceptions import InvalidChange, InvalidSequence, OperationNotSupported, TableMissing
from ..registry import configured, made_of, strategies
from ..rows.layout import Send
from ..rows.numbers import highest
from ..rows.rules import RESTORED, RULES, Difference, Told
from ..rows.soundness import Verdict
from ..strategies import Strategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Scope, scope_text
from .apply import Action, ChangeNote, ChangeRequest, Plan, write
from .arguments import EVERY_SCOPE, Scopes, counted_in, scopes_of
from .closings import require_open_books
from .freezes import frozen, thawed
from .gapless import opened
from .moves import moved_to

LEFT = "moved by adopt: "
"""How the reason begins for which a scope is frozen in the place where it was counted before."""


def changed_settings(sequence: str) -> list[Difference]:
    """How the settings differ from those by which the rows are written, the worst first. One request."""
    strategy = strategies[sequence]
    return strategy.rules.changed(partial(read, client=strategy.config.client))[0]


def adopt(
    sequence: str,
    *,
    scope: Scopes | Sequence[str | None] = EVERY_SCOPE,
    period: str | None = None,
    by: str,
    reason: str,
    copied: bool = False,
    dry_run: bool = False,
) -> list[Change]:
    """Take a sequence from the settings by which its rows are written to the present ones; no number comes twice.

    Every scope goes on above its last value, and its line in the history explains numbers of before that no item
    carries where the present settings look. Items and markers stay where they are. If it fails midway, repeat it: what
    is done stays as it is, and the present settings are refused until all is done. Empty if nothing has changed.
    Where nothing but a table is another one, because it was restored or copied, `copied` says that its numbers meet
    nobody, as in a copy for tests: it goes on where it is.
    Raises OperationNotSupported for a sequence that cannot list its scopes (name them all), whose former settings
    cannot be used any more, or that is in a switch; InvalidChange if others are named than all that it can list, and
    for closed books that would be left behind; and SequenceFrozen for a scope that is frozen.
    """
    present = made_of(strategies[sequence].alias, configured()[sequence])
    present.rules.enforced = False
    deadline = present.deadline()
    present.lives.bind(deadline.send)
    present.lives.require_transactions("The change 'adopt'")
    found, row = present.rules.changed(deadline.read)
    if row is None:
        return []
    if row.switching:
        raise OperationNotSupported(f"{present.alias!r} is in a switch: finish that with its former settings.")
    here = all(one.key == RESTORED for one in found)
    if here and not copied:
        raise _not_recovered(present.alias)
    adoption = _Adoption(_former(present, row.rules), present, ChangeRequest("adopt", by, reason, dry_run))
    adoption.require_open_books(deadline.read)
    scopes = adoption.all_scopes(scope, period) if adoption.counts_otherwise() else []
    taken = [adoption.take_over(each) for each in scopes]
    if not dry_run:
        adoption.open_counters(scope, period)
    return [*taken, adoption.store_rules(here=here)]


def _not_recovered(alias: str) -> OperationNotSupported:
    return OperationNotSupported(
        f"A table of {alias!r} was restored or copied, and its settings are the same. Run `manage.py sequences recover "
        f"{alias} --all-scopes --margin N --reason ...`; where its numbers meet nobody, as in a copy for tests, add "
        "--copied to this (copied=True)."
    )


def _former(present: Strategy, rules: Told) -> Strategy:
    """The sequence by its former settings. What they do not tell is as it is now, where that makes no difference."""
    entry, kept = configured()[present.alias], _without_rules
    options = {**kept(entry.get("OPTIONS", {})), **{key: told for key, told in rules.items() if not key.isupper()}}
    given = {**kept(entry), **{key: told for key, told in rules.items() if key.isupper()}}
    for key in ("TIME_ZONE", "HOME_REGION"):  # no place depends on them, and they may not fit the former settings
        given.pop(key, None)
    try:
        return made_of(present.alias, {**given, "OPTIONS": options}, lenient=True)
    except InvalidSequence as error:
        tables = " and ".join(place.schema.table for place in present.rules.places)
        raise OperationNotSupported(
            f"The former settings of {present.alias!r} cannot be used any more: {error} Stop its writers, delete its "
            f"row '#rules#{present.alias}' in {tables}, and `seed` each scope past its last number."
        ) from error


def _without_rules(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The keys whose changes make no difference to stored rows."""
    return {key: told for key, told in entry.items() if key not in RULES or RULES[key].verdict is Verdict.GOOD}


def _place(strategy: Strategy) -> tuple[object, ...]:
    """Where a strategy counts."""
    if strategy.counter:
        return strategy.counter.table, strategy.counter.key(None)
    return _items(strategy)


def _items(strategy: Strategy) -> tuple[object, ...]:
    """Where a strategy stores its items."""
    return strategy.schema, strategy.layout.template, strategy.layout.value_in


@dataclass(frozen=True)
class _Adoption:
    """One run: from the former settings to the present ones, as an operator asks for it."""

    former: Strategy
    present: Strategy
    request: ChangeRequest

    def counts_otherwise(self) -> bool:
        """Whether scopes of before go on in another place, or their gaps must be explained; not in new periods."""
        same_periods = self.former.naming.period.kind == self.present.naming.period.kind
        return same_periods and (_place(self.former) != _place(self.present) or self._may_miss_values())

    def _may_miss_values(self) -> bool:
        """Whether values of before may have no item where the present settings look."""
        former, present = self.former, self.present
        ranges = [(one.numbers.start, one.numbers.step) for one in (former, present)]
        begins_gapless = present.gapless and not former.gapless
        return begins_gapless or _items(former) != _items(present) or ranges[0] != ranges[1]

    def require_open_books(self, send: Send) -> None:
        """Raise InvalidChange for closed books that the present strategy would not see, or not in time."""
        counter, apart = self.former.counter, _place(self.former) != _place(self.present)
        if counter and (apart or not self.present.gapless):
            with suppress(TableMissing):
                require_open_books(self.former, counter, send, only_later=not apart)

    def all_scopes(self, scope: Any, period: str | None) -> list[Scope]:
        """The scopes of before. Raises InvalidChange if one is known and not named: it would begin at START again."""
        scopes = self.scopes(scope, period)
        if scope != EVERY_SCOPE:
            with suppress(OperationNotSupported, TableMissing):
                if left_out := {*self.former.scopes.every()} - {*scopes}:
                    first = min(left_out, key=scope_text)
                    raise InvalidChange(f"The scope {first!r} is not named, and would begin again: name all, or none.")
        return scopes

    def scopes(self, scope: Any, period: str | None) -> list[Scope]:
        """The scopes that are named, or every scope of before."""
        if isinstance(scope, list | tuple):
            return [counted_in(self.present.alias, each, period) for each in scope]
        if scope != EVERY_SCOPE:
            return list(scopes_of(self.former, scope, period))
        try:
            return list(self.former.scopes.every())
        except OperationNotSupported as error:
            raise OperationNotSupported(f"{error} Then repeat this, or name every scope that it has.") from error
        except TableMissing as error:
            raise OperationNotSupported(
                f"A table of its former settings is not there any more ({error}). Name every scope that it has: each "
                "goes on above what the present tables hold. Then `recover` it before its first write, --past what is "
                "known."
            ) from error

    def take_over(self, scope: Scope) -> Change:
        """One scope goes on above its last value, in the present place."""
        deadline = self.present.deadline()
        here = ScopeSnapshot(self.present, scope, deadline.read)
        if _is_left(here) and not self.request.dry_run:
            write(self.present, scope, replace(self.request, kind="thaw"), partial(thawed, here), deadline)
        return write(self.present, scope, self.request, partial(self._taken_over, scope, deadline.read), deadline)[0]

    def _taken_over(self, scope: Scope, send: Send, note: ChangeNote) -> Plan:
        here, there = ScopeSnapshot(self.present, scope, send), None
        if not (self.request.dry_run and _is_left(here)):
            here.require_thawed()
        with suppress(TableMissing):  # the former place may not be there any more
            there = ScopeSnapshot(self.former, scope, send)
        last = max([here.handed_out, *([there.handed_out] if there else [])])
        moved = moved_to(here, last, note, **_last_document(here, there))
        counted = highest(here.counted, there.counted) if there else None
        before = None if self._may_miss_values() else moved.after if counted is None else counted
        actions = (*(self._leaving(there, note) if there else ()), *moved.actions)
        if before != moved.after:
            actions = actions or _as_seen(here)
        return Plan(before=before, after=moved.after, actions=actions)

    def _leaving(self, there: ScopeSnapshot, note: ChangeNote) -> Sequence[Action]:
        """What ends numbering in the former place. Rows with the same keys exclude each other."""
        where = _place if self.former.counter else _items
        if where(self.former) == where(self.present) or _is_left(there):
            return ()
        return frozen(there, replace(note, reason=f"{LEFT}{note.reason}"), exactly=True).actions

    def open_counters(self, scope: Any, period: str | None) -> None:
        """Open counters that a switch may have closed to the present strategy, as far as they are listed."""
        scopes: list[Scope] = []
        if self.present.counter and self.former.gapless and not self.present.gapless:
            with suppress(OperationNotSupported):
                scopes = self.scopes(scope, period)
        for each in scopes:
            deadline = self.present.deadline()
            write(self.present, each, self.request, partial(self._opened, each, deadline.read), deadline)

    def _opened(self, scope: Scope, send: Send, note: ChangeNote) -> Plan:
        seen = ScopeSnapshot(self.present, scope, send)
        return opened(False, seen, note) if GAPLESS_AFTER in seen.row else Plan.in_place(seen)

    def store_rules(self, *, here: bool) -> Change:
        """The change that stores the present rules; `here` those that came with a restored table alone."""
        rules, deadline = self.present.rules, self.present.deadline()

        def plan(note: ChangeNote) -> Plan:
            rows, now = rules.read(deadline.read), rules.now
            return Plan(
                actions=tuple(row.write(now, note.token, here=here) for row in rows if here or row.rules != now)
            )

        return write(self.present, None, self.request, plan, deadline)[0]


def _as_seen(seen: ScopeSnapshot) -> tuple[Action, ...]:
    """The check that a scope is still as it was seen, for a change that stores its line alone."""
    if seen.counter:
        check = seen.change(unchanged={"last_value": seen.state.last_value})
    else:
        assert seen.top is not None  # the scope has a last value
        key, schema = seen.layout.key(seen.scope, seen.top), seen.layout.schema
        exists = {schema.partition_name: dynamodb.unmarshal(key)[schema.partition_name]}
        check = expressions.change_row(schema.table, key, unchanged=exists)
    del check["UpdateExpression"]
    return ({"ConditionCheck": check},)


def _last_document(here: ScopeSnapshot, there: ScopeSnapshot | None) -> dict[str, Any]:
    """What the counter notes of the last document (DATE_ORDER), if the former one has a later date."""
    former, present = (seen.row.get(LAST_DOCUMENT, {}) if seen else {} for seen in (there, here))
    return {LAST_DOCUMENT: former} if former.get("date", "") > present.get("date", "") else {}


def _is_left(seen: ScopeSnapshot) -> bool:
    return str((seen.frozen or {}).get("reason", "")).startswith(LEFT)
