"""The tables that the configured sequences need: how they are created, and how their markers expire."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from .. import dynamodb
from ..dynamodb import PLAIN, Indexes, TableOptions
from ..dynamodb.expressions import MARKER_EXPIRY, KeySchema
from ..exceptions import InvalidSequence, StorageRefused
from ..registry import configured, strategies
from ..rows.line_rows import series_schema
from ..strategies import Strategy


def create_tables(*, move_expiry: bool = False, options: TableOptions = PLAIN) -> dict[str, bool]:
    """Create the tables that are missing, and return whether each was created, by its name. Safe to run again.

    New tables have the `options`; existing ones stay as they are, but get the indexes that sequences have besides.

    Markers expire by an attribute that items cannot have. A table that deletes items by another attribute is refused;
    with `move_expiry` that is turned off first. Raises StorageRefused for such a table, and for one with other keys
    than its sequence is configured for; NotConfigured, AccessRefused, InvalidSequence, and NotWritten when the engine
    is not reachable.
    """
    made = [strategies[alias] for alias in strategies]
    created: dict[tuple[str, str], bool] = {}
    keys: dict[tuple[str, str], Mapping[str, str]] = {}
    for strategy in made:
        for schema in schemas_of(strategy):
            place = (schema.table, schema.client)
            if place not in created:
                having = replace(options, indexes=indexes_of(made, *place))
                created[place] = dynamodb.create_table(schema.table, schema.keys, schema.client, having)
                keys[place] = dynamodb.table_keys(*place)
            schema.require(keys[place], strategy.alias)
    if any(created.values()):
        strategies.forget()
    for table, client in dict.fromkeys((one.markers.schema.table, one.config.client) for one in made):
        _expire_markers(table, client, move=move_expiry)
    return {_place(*place): is_new for place, is_new in created.items()}


def _place(table: str, client: str) -> str:
    return table if client == dynamodb.DEFAULT_CLIENT else f"{table} of client {client}"


def usable() -> Iterator[Strategy]:
    """The strategies of the sequences whose settings are right; `check_sequences` reports the others."""
    with suppress(InvalidSequence):
        for alias in configured():
            with suppress(InvalidSequence):
                yield strategies[alias]


def schemas_of(strategy: Strategy) -> list[KeySchema]:
    """The tables of a sequence, each once: of its items, its counters, its markers, its history and its SERIES."""
    counter, history = strategy.counter, strategy.history
    schemas = [counter.rows.schema] if counter else []
    schemas += [history.schema] if history.is_apart else []
    schemas += [series_schema(strategy.config)] if strategy.config.series else []
    return list(dict.fromkeys([strategy.schema, strategy.markers.schema, *schemas]))


def indexes_of(made: Sequence[Strategy], table: str, client: str) -> Indexes:
    """The indexes of a table, of all sequences whose items are in it. Raises InvalidSequence where two disagree."""
    found: dict[str, Mapping[str, Literal["S", "N"]]] = {}
    for strategy in (one for one in made if (one.schema.table, one.schema.client) == (table, client)):
        for name, keys in strategy.config.indexes.items():
            if list(found.setdefault(name, keys).items()) != list(keys.items()):
                where = f"SEQUENCES[{strategy.alias!r}]['INDEXES'][{name!r}]"
                raise InvalidSequence(f"{where} has other keys than another sequence gives it in {table!r}.")
    return found


def _expire_markers(table: str, client: str, *, move: bool) -> None:
    attribute = dynamodb.expire_items(table, MARKER_EXPIRY, client)
    if attribute == MARKER_EXPIRY:
        return
    if not move:
        raise StorageRefused(
            f"The table {table!r} deletes items by {attribute!r}, which items of a sequence may have: a deleted item "
            "leaves a gap. Run `manage.py create_tables --move-expiry`: it turns that off and expires markers by "
            f"{MARKER_EXPIRY!r}. Older markers stay until you delete them."
        )
    dynamodb.set_expiry(table, attribute, client, enabled=False)
    try:
        dynamodb.expire_items(table, MARKER_EXPIRY, client)
    except StorageRefused as error:
        raise StorageRefused(
            f"The table {table!r} deletes no items by {attribute!r} any more. DynamoDB takes up to an hour before it "
            f"accepts another attribute: then run `manage.py create_tables` again. ({error})"
        ) from error
