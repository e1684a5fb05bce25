"""Asks DynamoDB what the doctor wants to know. Writes nothing: what it tries has a condition that cannot hold."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ... import dynamodb
from ...commit.retries import Deadline, read
from ...dynamodb.expressions import KeySchema, read_item
from ...exceptions import (
    AccessRefused,
    BudgetSpent,
    GaveUp,
    InvalidSequence,
    NotConfigured,
    SequenceError,
    StorageError,
    TableMissing,
)
from ...registry import configured, strategies
from ...rows.rules import Difference
from ...strategies import Strategy
from ..tables import schemas_of
from .facts import ClientFacts, Fact, Facts, SequenceFacts, TableFacts, Unknown, Use
from .scopes import read_scopes

__all__ = ["READS", "read_facts"]

READS = 5  # their median counts
PATIENCE_SECONDS = 1.0  # for one answer
# What a read asks for: no item has this key.
NO_KEY = {"S": {"S": "#health"}, "N": {"N": "0"}}


def read_facts(*, most_tables: int | None = None, most_scopes: int = 0, thorough: bool = False) -> Facts:
    """Read the facts of every sequence, also of its first scopes, at most so many.

    Cost: three requests for each table, one for each sequence, and for each client READS reads of half a unit; scopes
    cost what `read_scopes` says. When `thorough`, each table is also asked for what the policy refuses (up to three
    requests of one unit, which store nothing), and each client for its limits and its name. When DynamoDB does not
    answer, the other tables of that client are not asked. Raises InvalidSequence if SEQUENCES is no dict.
    """
    made, wrong = _made()
    places = _places(made)
    looked_at = list(places.values())[:most_tables]
    reading = _Reading(thorough=thorough)
    tables = [reading.table(schema, uses) for schema, uses in looked_at]
    clients = [reading.client(alias, tables) for alias in dict.fromkeys(table.client for table in tables)]
    known = {(schema.client, schema.table) for schema, _ in looked_at}
    seen = [one for one in made if {(one.config.client, table) for table in one.lives.tables} <= known]
    return Facts(
        needs=[one.lives.needs for one in seen],
        changed={one.alias: reading.changed(one) for one in seen},
        scopes=[reading.scopes(one, most_scopes) for one in seen] if most_scopes else (),
        tables=tables,
        clients=clients,
        wrong=wrong,
        left_out=len(places) - len(tables),
        away=reading.away,
    )


def _made() -> tuple[list[Strategy], dict[str, str]]:
    """The strategies, and the sequences that have none, because their settings are wrong."""
    made, wrong = [], {}
    for alias in configured():
        try:
            strategy = strategies[alias]
            schemas_of(strategy)
        except InvalidSequence as error:
            wrong[alias] = str(error)
        else:
            made.append(strategy)
    return made, wrong


def _places(made: Sequence[Strategy]) -> dict[tuple[str, str], tuple[KeySchema, list[Use]]]:
    """Every table once, with its keys and its uses."""
    places: dict[tuple[str, str], tuple[KeySchema, list[Use]]] = {}
    for strategy in made:
        for schema in schemas_of(strategy):
            _, uses = places.setdefault((schema.client, schema.table), (schema, []))
            uses.append(Use(sequence=strategy.alias, keeps=_kept(strategy, schema.table)))
    return places


def _kept(strategy: Strategy, table: str) -> list[str]:
    """What a sequence keeps in a table."""
    kept = {
        "items": strategy.schema.table,
        "counters": strategy.counter.table if strategy.counter else "",
        "markers": strategy.markers.schema.table,
        "history": strategy.history.schema.table if strategy.history.is_apart else "",
    }
    return [name for name, where in kept.items() if where == table]


class _Reading:
    """One reading of the facts. It asks a client that did not answer nothing more."""

    def __init__(self, *, thorough: bool) -> None:
        self.away: dict[str, str] = {}
        self._thorough = thorough

    def table(self, schema: KeySchema, uses: Sequence[Use]) -> TableFacts:
        table = self._ask(schema, "describe_table", "Table")
        is_there = isinstance(table, Mapping)
        return TableFacts(
            name=schema.table,
            client=schema.client,
            keys=schema.keys,
            uses=uses,
            table=table,
            expiry=self._ask(schema, "describe_time_to_live", "TimeToLiveDescription") if is_there else None,
            recovery=(
                self._ask(schema, "describe_continuous_backups", "ContinuousBackupsDescription") if is_there else None
            ),
            refused=self._refused(schema) if is_there and self._thorough else None,
        )

    def changed(self, strategy: Strategy) -> Sequence[Difference] | Unknown:
        """How the settings of a sequence differ from those by which its rows are written."""
        client = strategy.config.client
        if client in self.away:
            return Unknown(self.away[client])
        try:
            return strategy.rules.changed(partial(read, deadline=_patience(client)))[0]
        except TableMissing:
            return []
        except (GaveUp, StorageError) as error:
            return self._unknown(client, "batch_get_item", error)

    def scopes(self, strategy: Strategy, most: int) -> SequenceFacts:
        """The first scopes of a sequence."""
        if away := self.away.get(strategy.config.client):
            return SequenceFacts(sequence=strategy.alias, now=0.0, unread=Unknown(away))
        return read_scopes(strategy, most)

    def _refused(self, schema: KeySchema) -> list[str]:
        """The operations that the role may not do with a table. What fails otherwise is no matter of the role."""
        names = []
        for operation, request in _tries(schema).items():
            try:
                _send(operation, request, schema.client)
            except AccessRefused:
                names.append(_title(operation))
            except SequenceError:
                pass  # a condition that failed, as it must, or an engine that is away
        return names

    def _ask(self, schema: KeySchema, operation: str, member: str) -> Fact:
        """What an operation says about a table; None if there is no table."""
        if schema.client in self.away:
            return Unknown(self.away[schema.client])
        try:
            answer = _read(operation, {"TableName": schema.table}, schema.client)
        except TableMissing:
            return None
        except (GaveUp, StorageError) as error:
            return self._unknown(schema.client, operation, error)
        found: Mapping[str, Any] = answer.get(member, {})
        return found

    def _unknown(self, client: str, operation: str, error: Exception) -> Unknown:
        name = _title(operation)
        if isinstance(error, AccessRefused):
            return Unknown(f"{name} is refused.", f"Allow dynamodb:{name} in the policy of this role.")
        if "UnknownOperationException" in str(error):
            return Unknown(f"This engine does not know {name}.", failure=False)
        if isinstance(error, GaveUp | NotConfigured) or (isinstance(error, BudgetSpent) and error.too_slow):
            self.away[client] = str(error)
        return Unknown(str(error))

    def client(self, alias: str, tables: Sequence[TableFacts]) -> ClientFacts:
        """How long reads by a client take, of the first of its tables that is there."""
        if alias in self.away:
            return ClientFacts(alias=alias, seconds=Unknown(self.away[alias]))
        there = next((one for one in tables if one.client == alias and isinstance(one.table, Mapping)), None)
        if there is None:
            return ClientFacts(alias=alias, seconds=Unknown("None of its tables can be read.", failure=False))
        key = {name: NO_KEY[kind] for name, kind in there.keys.items()}
        request = {**read_item(there.name, key), "ConsistentRead": False}
        try:
            seconds = [_timed(request, alias) for _ in range(READS)]
        except (GaveUp, StorageError) as error:
            return ClientFacts(alias=alias, seconds=self._unknown(alias, "get_item", error))
        ahead, lacks = dynamodb.now(alias) - time.time(), dynamodb.transport_lacks(alias)
        facts = ClientFacts(alias=alias, seconds=seconds, ahead=ahead, lacks=lacks)
        return replace(facts, caller=_caller(alias), limits=self._limits(alias)) if self._thorough else facts

    def _limits(self, alias: str) -> Fact:
        try:
            return _read("describe_limits", {}, alias)
        except (GaveUp, StorageError) as error:
            return replace(self._unknown(alias, "describe_limits", error), failure=False)


def _caller(alias: str) -> str | Unknown:
    """In whose name a client signs."""
    try:
        return dynamodb.caller(alias) or Unknown("This engine is not AWS: anybody may do everything.", failure=False)
    except StorageError as error:
        return Unknown(str(error), failure=False)


def _tries(schema: KeySchema) -> Mapping[str, Mapping[str, Any]]:
    """A query, and writes that nothing can fulfil: no row has its partition key and has it not."""
    key = {name: NO_KEY[kind] for name, kind in schema.keys.items()}
    name = {"#key": schema.partition_name}
    never = {
        "TableName": schema.table,
        "ConditionExpression": "attribute_exists(#key) AND attribute_not_exists(#key)",
        "ExpressionAttributeNames": name,
    }
    query = {
        "TableName": schema.table,
        "KeyConditionExpression": "#key = :key",
        "ExpressionAttributeNames": name,
        "ExpressionAttributeValues": {":key": key[schema.partition_name]},
    }
    return {"query": query, "put_item": {**never, "Item": key}, "update_item": {**never, "Key": key}}


def _title(operation: str) -> str:
    """The name of an operation in a policy, such as "PutItem"."""
    return "".join(part.capitalize() for part in operation.split("_"))


def _read(operation: str, request: Mapping[str, Any], client: str) -> Mapping[str, Any]:
    return read(operation, request, deadline=_patience(client))


def _send(operation: str, request: Mapping[str, Any], client: str) -> Mapping[str, Any]:
    return _patience(client).send(operation, request)


def _patience(client: str) -> Deadline:
    return Deadline(seconds=PATIENCE_SECONDS, client=client)


def _timed(request: Mapping[str, Any], client: str) -> float:
    began = time.perf_counter()
    _read("get_item", request, client)
    return time.perf_counter() - began
