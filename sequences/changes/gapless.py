"""What a switch between TransactionalCounter and a strategy that may leave gaps does to the counters.

Both move one counter, each write on its own condition, so that no number comes twice while both are running. But what a
process has reserved may stay unused. So the end of a switch to TransactionalCounter closes each counter to the others:

    BlockAllocator         --reserves 101 to 200--|                          |--to reserve 203 to 302: refused--
    TransactionalCounter                          |--stores 201--|--stores 202--|--stores 203--
    finish                                                       |--closes the counter--|

A line in the history then explains each number that is missing up to 202; above it none is. A switch the other way
opens the counter, and its line says up to which number the sequence is gapless.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from typing import Any

from ..dynamodb import expressions
from ..dynamodb.expressions import CHANGED, GAPLESS_AFTER, GAPLESS_UNTIL, GIVEN_BACK, OWN_KEYS, OWN_KEYS_AFTER
from ..exceptions import OperationNotSupported
from ..rows.layout import Send
from ..rows.rules import COUNT_ALIKE
from ..rows.rules_row import StoredRules
from ..strategies import Strategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change
from .apply import Action, ChangeNote, ChangeRequest, Plan, apply_change, write
from .arguments import Scopes, scopes_of
from .closings import require_open_books

GAPLESS = "TransactionalCounter"
SWITCHED = {GAPLESS, *COUNT_ALIKE}


def stored_names(rules: Iterable[StoredRules]) -> set[str]:
    """The strategies by whose settings the rows are written."""
    return {name for row in rules for name in row.strategies}


def begun(
    strategy: Strategy,
    to: str,
    stored: Set[str],
    scope: Scopes,
    period: str | None,
    request: ChangeRequest,
    send: Send,
) -> list[Change]:
    """Let processes of both strategies start. Before that, open the counters to one that may leave gaps.

    `stored` names the strategies of the rows.
    """
    require_switchable(strategy, _problems(strategy, {type(strategy).__name__, to, *stored}))
    if to != GAPLESS and strategy.counter:
        require_open_books(strategy, strategy.counter, send, only_later=True)
    planner = _looked_at if to == GAPLESS else partial(opened, stored != SWITCHED)
    with strategy.rules.switching(send):
        changed = partial(apply_change, strategy.alias, planner=planner)
        scopes = list(scopes_of(strategy, scope, period))
        rehearsed = [changed(each, replace(request, dry_run=True)) for each in scopes]
        made = rehearsed if request.dry_run else [changed(each, request) for each in scopes]
        return [*let_in(strategy, SWITCHED, request), *made]


def finished(
    strategy: Strategy, stored: Set[str], scope: Scopes, period: str | None, request: ChangeRequest, send: Send
) -> list[Change]:
    """Let the strategy of the present settings alone start. If it is gapless, close the counters to the others."""
    if stored != SWITCHED:
        return []
    require_switchable(strategy, _problems(strategy, {type(strategy).__name__, *stored}))
    planner = _closed if strategy.gapless else partial(opened, False)
    with strategy.rules.switching(send):
        made = []
        for each in scopes_of(strategy, scope, period):
            if strategy.gapless and not request.dry_run:
                apply_change(strategy.alias, each, request, _closing)
            made.append(apply_change(strategy.alias, each, request, planner))
        return [*made, *let_in(strategy, (), request)]


def require_switchable(strategy: Strategy, problems: Iterator[str]) -> None:
    """Raise OperationNotSupported with the first of these problems; none is good."""
    for problem in problems:
        name = type(strategy).__name__
        raise OperationNotSupported(f"The sequence {strategy.alias!r} ({name}) cannot be switched: {problem}.")


def _problems(strategy: Strategy, names: Collection[str]) -> Iterator[str]:
    """Why they are not one gapless strategy, and others that move the same counters."""
    if strategy.config.stripe:
        yield "each Region has a START of its own"
    if others := set(names) - SWITCHED:
        yield f"{min(others)} and the others count in different places: switch to {GAPLESS} first"
    if GAPLESS not in names:
        yield f"{' and '.join(sorted(names))} may replace each other without a switch"


def let_in(strategy: Strategy, names: Collection[str], request: ChangeRequest) -> list[Change]:
    """The change after which processes with these strategies may start; without names, those with the present one."""
    deadline = strategy.deadline()

    def plan(note: ChangeNote) -> Plan:
        rows = [row for row in strategy.rules.read(deadline.read) if set(row.switching) != set(names)]
        now = strategy.rules.now
        actions = [row.write(row.rules or now if names else now, note.token, sorted(names)) for row in rows]
        return Plan(actions=tuple(actions))

    change, is_new = write(strategy, None, request, plan, deadline)
    return [change] if is_new else []


def _looked_at(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """Nothing is to do, but a scope that is frozen, or must be recovered, stops the switch."""
    seen.require_thawed()
    seen.require_order()
    return Plan.in_place(seen)


def _closing(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """From now on only a gapless strategy moves the counter, and nothing is given back. The others may have moved it
    since this look: `_closed` says how far."""
    stays, last = _looked_at(seen, note), seen.state.last_value
    if last is None or GAPLESS_AFTER in seen.row:
        return stays
    since = {GAPLESS_UNTIL: {OWN_KEYS: 0}}
    action = _marked(seen, note, {GAPLESS_AFTER: last, CHANGED: note.token}, if_missing=since, removes=[GIVEN_BACK])
    return Plan(before=last, after=last, actions=(action,))


def _closed(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """What others reserved up to here and did not use is skipped, and explained from where the sequence was gapless."""
    stays, last = _looked_at(seen, note), seen.state.last_value
    until = seen.row.get(GAPLESS_UNTIL, {})
    if last is None or (GAPLESS_AFTER in seen.row and not until):
        return stays
    explained = seen.row.get(OWN_KEYS, 0) - until.get(OWN_KEYS, 0)
    begins = {} if "value" in until else {OWN_KEYS_AFTER: last}
    action = _marked(seen, note, {GAPLESS_AFTER: last, **begins}, removes=[GAPLESS_UNTIL])
    action = expressions.with_fewer_own_keys(action, explained) if explained else action
    return Plan(before=until.get("value"), after=last, actions=(action,))


def opened(everywhere: bool, seen: ScopeSnapshot, note: ChangeNote) -> Plan:
    """Every strategy may move the counter. The row keeps up to which value it is gapless.

    Not `everywhere`, when others have begun scopes already, but only where the counter is closed to them.
    """
    stays, last = _looked_at(seen, note), seen.state.last_value
    is_marked = GAPLESS_UNTIL in seen.row or not everywhere
    if last is None or (is_marked and GAPLESS_AFTER not in seen.row):
        return stays
    until = seen.row.get(GAPLESS_UNTIL, {"value": last, OWN_KEYS: seen.row.get(OWN_KEYS, 0)})
    action = _marked(seen, note, {GAPLESS_UNTIL: until}, removes=[GAPLESS_AFTER])
    return Plan(before=last, after=last, actions=(action,))


def _marked(seen: ScopeSnapshot, note: ChangeNote, sets: Mapping[str, Any], **more: Any) -> Action:
    """Mark the counter as this says, if it has the marks that were seen. A busy one may count on meanwhile."""
    return seen.change(
        unchanged={name: seen.row.get(name) for name in ("frozen", GAPLESS_AFTER, GAPLESS_UNTIL)},
        at_least={"last_value": seen.row["last_value"]},
        sets={**sets, **note.in_counter},
        **more,
    )
