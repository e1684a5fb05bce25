"""What is stored of one scope: its state, its last numbers and their gaps, its changes, and what became of a request.

All of it only reads, and takes no number. Items are shown by their keys alone. `audit` proves a whole scope; this looks
at its end.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..dynamodb.expressions import MARKER_EXPIRY, Wire
from ..exceptions import InvalidSequence, SequenceWentBack, TableMissing
from ..registry import configured
from ..rows import operator_errors
from ..rows.answers import format_of
from ..rows.layout import SIGNATURE, ItemLayout, Send, signed_void
from ..rows.reading import MOST_IN_A_BATCH, Row, read_rows, stored_row
from ..services.arguments import is_followed, placed
from ..services.texts import following
from ..strategies import BlockAllocator, Strategy
from ..strategies.counter_strategy import CounterStrategy
from ..strategies.snapshot import ScopeSnapshot
from ..types import Change, Counter, Dated, Scope, parted
from .audit.results import AuditResult, AuditRun, KeptAudits
from .audit.values import explained, skips

REQUESTS_OF_A_SCOPE = 8
REQUESTS_OF_A_REQUEST = 2
LAST_NUMBERS = 100
NEXT_NUMBERS = 3
LATEST_CHANGES = 200

OF_OWN_KEY = "Its item has a key of its own, which the application knows."

Rows = Mapping[int, Mapping[str, Any]]

Line = Mapping[str, Any]
"""A number, or a gap from `first` to `last`: its `kind` is "stored", "void" or "gap".

`key` is the item's. `by`, `at` and `about` say who made it void, or has skipped it, when and why; without `by`, `about`
says what the gap means.
"""


def look_at(strategy: Strategy, scope: Scope) -> dict[str, Any]:
    """Look at one scope of a sequence: what was `seen`, and its `counter`, as lists show it.

    `frozen` says by whom it is frozen. `held` counts the reserved values that this process still serves from memory;
    None if the strategy reserves none. `lines` are the latest numbers, the highest first; `unlisted` says why there are
    none. `changes` are the latest of this scope.

    Cost: at most REQUESTS_OF_A_SCOPE requests without repeats: the counter, the highest item, perhaps the note of
    a switch, the last LAST_NUMBERS items, one page of the history, and the audit that is kept; two more for its rates.
    Raises InvalidScope, ScopeNotFound, SequenceUnavailable and StorageRefused.
    """
    seen = ScopeSnapshot(strategy, scope, strategy.deadline().read)
    changes, complete = _changes(strategy, scope)
    unlisted = _unlisted(strategy)
    run, result = _kept(strategy, scope)
    return {
        "seen": seen,
        "counter": counter_of(seen),
        "last_value": seen.last,
        "last_text": "" if seen.last is None else strategy.naming.text_or_number(seen.last, scope),
        "upcoming": following(of_today(seen), scope, seen.last, NEXT_NUMBERS),
        "frozen": operator_errors.signature(seen.frozen) if seen.frozen else "",
        "held": strategy.held(scope) if isinstance(strategy, CounterStrategy) else None,
        "lines": [] if unlisted else list(_lines(seen, changes, complete=complete))[::-1],
        "unlisted": unlisted,
        "changes": changes,
        "run": run,
        "result": result,
    }


def counter_of(seen: ScopeSnapshot) -> Counter:
    """The scope as lists show it."""
    if seen.counter:
        return seen.counter.rows.listed(seen.scope, seen.row, seen.last)
    scope, period = parted(seen.scope)
    return Counter(sequence=seen.strategy.alias, scope=scope, period=period, last_value=seen.last)


def trouble_of(seen: ScopeSnapshot) -> str:
    """Why the next number of a scope is refused, if it went back. Empty if it did not."""
    try:
        seen.require_order()
    except SequenceWentBack as error:
        return str(error)
    return ""


def of_today(seen: ScopeSnapshot) -> Strategy:
    """The strategy of the next number: by the line of today (SERIES), if that counts in this scope and period.

    Else it is the one that the scope was read with.
    """
    if seen.strategy.config.line is None:
        return seen.strategy
    while True:
        today, counted, _ = placed(seen.strategy.alias, parted(seen.scope)[0], even_ended=True)
        if counted != seen.scope:
            return seen.strategy
        if not is_followed(today, counted, seen.last):
            return today


def _changes(strategy: Strategy, scope: Scope) -> tuple[list[Change], bool]:
    """The latest changes of a scope, and whether there are no older ones in the history of the sequence."""
    try:
        changes, cursor = strategy.history.page(None, LATEST_CHANGES)
    except (InvalidSequence, TableMissing):
        return [], True
    return [change for change in changes if Dated.of(change.scope, change.period) == scope], cursor is None


def _kept(strategy: Strategy, scope: Scope) -> tuple[AuditRun | None, AuditResult | None]:
    try:
        return KeptAudits(strategy).look(scope)
    except (InvalidSequence, TableMissing):
        return None, None


def _unlisted(strategy: Strategy) -> str:
    layout = strategy.layout
    if layout.in_collections or len(layout.key(None, strategy.numbers.start)) == len(layout.key_names):
        return ""
    return "The items of this sequence have keys of their own: which item has which number is known to the application."


def _lines(seen: ScopeSnapshot, changes: Sequence[Change], *, complete: bool) -> Iterator[Line]:
    """The last numbers up to the last value, in their order, and the gaps between them."""
    strategy, numbers = seen.strategy, seen.numbers
    rows, expected = _rows(seen)
    why = _why(strategy, complete=complete)
    skipped = skips(changes)
    for value in [*sorted(value for value in rows if value >= expected), None]:
        end = (numbers.before_start if seen.last is None else seen.last) if value is None else value - numbers.step
        for gap in explained(expected, end, skipped, numbers):
            text, about = strategy.naming.text_or_number(gap.first, seen.scope), gap.reason if gap.by else why
            yield {**asdict(gap), "kind": "gap", "text": text, "at": _moment(gap.at), "about": about}
        if value is not None:
            yield _stored(strategy, seen.scope, value, rows[value])
            expected = value + numbers.step


def _rows(seen: ScopeSnapshot) -> tuple[Rows, int]:
    """The last items by their values, and the value from which on all of them were read."""
    layout, numbers = seen.layout, seen.numbers
    if seen.last is None:
        return {}, numbers.start
    attributes = ["void", *filter(None, [layout.text_name])]
    if layout.in_collections:
        schema, partition = layout.schema, layout.partition(seen.scope)
        request = expressions.query_numbers(
            schema, partition, newest_first=True, limit=LAST_NUMBERS, attributes=attributes
        )
        answer = seen.strategy.deadline().read("query", request)
        found = ((schema.number_or_none(row), row) for row in map(dynamodb.unmarshal, answer["Items"]))
        items = {number: row for number, row in found if number is not None and not numbers.problem(number)}
        first = min(items, default=seen.last + numbers.step) if "LastEvaluatedKey" in answer else numbers.start
        return items, first
    first = max(numbers.start, seen.last - numbers.step * (LAST_NUMBERS - 1))
    values = range(first, seen.last + 1, numbers.step)
    keys = [layout.key(seen.scope, value) for value in values]
    rows = read_rows(layout.schema.table, keys, attributes, seen.strategy.deadline().read)
    return {value: row for value, row in zip(values, rows, strict=True) if row}, first


def _stored(strategy: Strategy, scope: Scope, value: int, row: Mapping[str, Any]) -> Line:
    name, void = strategy.layout.text_name, signed_void(row)
    by, at, reason = (str(void.get(part, "")) for part in SIGNATURE)
    told = {"by": by or "somebody", "at": _moment(at), "about": reason or "no reason given"} if void else {}
    text = str(row[name]) if name and name in row else strategy.naming.text_or_number(value, scope)
    key = strategy.layout.key_text(scope, value)
    return {"kind": "void" if void else "stored", "first": value, "count": 1, "text": text, "key": key, **told}


def _moment(text: str) -> datetime.datetime | None:
    """The time that a row tells; None if it tells none that can be read."""
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def _why(strategy: Strategy, *, complete: bool) -> str:
    """What a gap means that no change explains."""
    own = ", or its item has a key of its own" if strategy.layout.may_own_key else ""
    if strategy.gapless:
        among = "No change explains it" if complete else f"None of the latest {LATEST_CHANGES} changes explains it"
        return f"{among}{own}: run an audit."
    if isinstance(strategy, BlockAllocator):
        return f"By design: a process holds it in its block, used it without an item, or ended before it used it{own}."
    return f"By design: a value is taken before its item is stored, and nobody stored one under it{own}."


def settings_of(strategy: Strategy) -> list[tuple[str, Any, bool]]:
    """The settings in force, and whether each is the default; those of OPTIONS last, in the order of their names."""
    config, given = strategy.config, configured()[strategy.alias]
    keys = {
        "STRATEGY": config.strategy,
        "TABLE": config.table,
        "START": config.start,
        "STEP": config.step,
        "MAXIMUM": config.maximum,
        "FORMAT": config.format or "{value}",
        "PERIOD": config.period.kind,
        "CLIENT": config.client,
    }
    return [
        *((name, value, name not in given) for name, value in keys.items()),
        *((name, value, name not in config.options) for name, value in sorted(strategy.option.items())),
    ]


def trace(strategy: Strategy, scope: str | None, token: str) -> dict[str, Any]:
    """What became of a request of a scope, in any period: its marker, and the items under the marker's values.

    `value` is None if nothing is known. `stored_at` is when the marker was stored, as far as its expiry tells.
    `is_expired`: a repeat would be a new request by now. `item` says what is under the values now.
    Cost: at most REQUESTS_OF_A_REQUEST reads. Raises SequenceUnavailable and StorageRefused.
    """
    send = strategy.deadline().read
    marker = stored_row(strategy.markers.schema.table, strategy.markers.key(scope, token), send)
    value, expires = marker.get("value"), marker.get(MARKER_EXPIRY)
    if not isinstance(value, int) or not isinstance(expires, int) or marker.get("token") != token:
        return {"value": None}
    counted, count = Dated.of(scope, marker.get("period", "")), marker.get("count", marker.get("items", 1))
    values = range(value, value + strategy.numbers.step * count, strategy.numbers.step)
    until = datetime.datetime.fromtimestamp(expires, datetime.UTC)
    day = datetime.date.fromisoformat(marker["day"]) if "day" in marker else None
    form = format_of(marker, strategy.naming.format)
    text = partial(strategy.naming.text_or_number, scope=counted, day=day, form=form)
    return {
        "value": value,
        "count": count,
        "period": marker.get("period", ""),
        "texts": _ends(values, text),
        "stored_at": until - datetime.timedelta(seconds=strategy.option["marker_seconds"]),
        "until": until,
        "is_expired": expires <= strategy.wall(),
        "key": "" if marker.get("own_keys") else strategy.layout.key_text(counted, value),
        "item": _item_of(_items_of(strategy.layout, counted, marker, values[:MOST_IN_A_BATCH], send), text),
    }


def _ends(values: Sequence[int], text: Callable[[int], str]) -> list[str]:
    """The texts of the first and the last of some values; one if they are the same."""
    return [text(one) for one in dict.fromkeys((values[0], values[-1]))]


def _item_of(said: Mapping[int, str], text: Callable[[int], str]) -> str:
    """What is stored under a marker's values, in words; of several, each part begins with their texts."""
    if len(said) < 2:
        return next(iter(said.values()), "It took values without items.")
    groups = groupby(said, key=said.__getitem__)
    return " ".join(f"{' to '.join(_ends([*values], text))}: {words}" for words, values in groups)


def _items_of(
    layout: ItemLayout, scope: Scope, marker: Mapping[str, Any], values: Sequence[int], send: Send
) -> Mapping[int, str]:
    """What is stored under each of a marker's values, by one read; nothing for values without items."""
    if "count" in marker:
        return {}
    own = marker.get("own_keys", ())
    keys = {one: layout.key(scope, one) for place, one in enumerate(values) if place not in own}
    found = _stored_under(layout, {one: key for one, key in keys.items() if len(key) == len(layout.key_names)}, send)
    return {one: _said_of(layout, marker, found[one]) if one in found else OF_OWN_KEY for one in values}


def _stored_under(layout: ItemLayout, keys: Mapping[int, Wire], send: Send) -> Mapping[int, Row | None]:
    """The rows under these keys, by one read; None for one that the engine leaves out."""
    table = layout.schema.table
    if len(keys) == 1:
        return {one: stored_row(table, key, send) for one, key in keys.items()}
    rows = read_rows(table, list(keys.values()), ["void", layout.token_name], send)
    return dict(zip(keys, rows, strict=True))


def _said_of(layout: ItemLayout, marker: Mapping[str, Any], row: Row | None) -> str:
    """What an item's row says; None stands for one that was not read."""
    if row is None:
        return "The engine did not tell its item: look again."
    if not row:
        own = ", or it has a key of its own" if layout.may_own_key else ""
        return f"Its item is not there any more{own}."
    if row.get(layout.token_name) != marker["token"]:
        return "The item under this number belongs to another request."
    return "Its item is stored, and void." if signed_void(row) else "Its item is stored."
