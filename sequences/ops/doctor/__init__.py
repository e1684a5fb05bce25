"""What needs a hand, in tables, clients, sequences and scopes: `diagnose` asks DynamoDB, and judges what it says.

It writes nothing: what it tries has a condition that cannot hold. Whether a sequence keeps its promises on its tables
is judged in `soundness`, by which a process refuses its first write, too.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from ... import dynamodb
from ...commit.retries import Deadline
from ...dynamodb.expressions import KeySchema, read_item
from ...exceptions import AccessRefused, BudgetSpent, GaveUp, InvalidSequence, SequenceError, StorageError, TableMissing
from ...metrics.events import operation_name
from ...registry import configured, strategies
from ...rows.rules import Difference
from ...rows.soundness import Verdict
from ...strategies import Strategy
from ..overview import is_away
from ..tables import schemas_of
from . import judging
from .findings import Fact, Finding, Unknown
from .judging import TableFacts
from .scopes import read_scopes

__all__ = ["Diagnosis", "Finding", "Unknown", "Verdict", "diagnose"]

READS = 5  # their median counts
PATIENCE_SECONDS = 1.0  # for one answer
# What a read asks for: no item has this key.
NO_KEY = {"S": {"S": "#health"}, "N": {"N": "0"}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What was found: wrong sequences first, then the others with their scopes, each client, and each table.

    `away` has the clients for which DynamoDB did not answer, and what they said.
    """

    findings: Sequence[Finding]
    tables: Sequence[TableFacts]
    away: Mapping[str, str]


def diagnose(*, most_scopes: int = 0, thorough: bool = False) -> Diagnosis:
    """Look at every sequence, also at its first scopes, at most so many.

    Cost: three requests for each table, one for each sequence, and for each client READS reads of half a unit; scopes
    cost what `read_scopes` says. When `thorough`, each table is also asked for what the policy refuses (up to three
    requests of one unit, which store nothing), and each client for its limits and its name. When DynamoDB does not
    answer, the other tables of that client are not asked. Raises InvalidSequence if SEQUENCES is no dict.
    """
    made, wrong = _made()
    reading = _Reading(thorough=thorough)
    tables = [reading.table(schema, uses) for schema, uses in _places(made).values()]
    clients = [list(reading.client(alias, tables)) for alias in dict.fromkeys(table.client for table in tables)]
    of_sequences = [list(reading.sequence(one, tables, most_scopes)) for one in made]
    return Diagnosis(
        findings=[*wrong, *chain(*of_sequences, *clients, *map(judging.of_table, tables))],
        tables=tables,
        away=reading.away,
    )


def _made() -> tuple[list[Strategy], list[Finding]]:
    """The strategies, and what is wrong with the sequences that have none."""
    made, wrong = [], []
    for alias in configured():
        try:
            made.append(strategies[alias])
        except InvalidSequence as error:
            reason = "The sequence cannot be used."
            remedy = "Mend the setting; `manage.py check` says whether it is right."
            wrong.append(Finding(f"sequence {alias}", "settings", Verdict.UNSOUND, str(error), reason, remedy))
    return made, wrong


def _places(made: Sequence[Strategy]) -> dict[tuple[str, str], tuple[KeySchema, dict[str, list[str]]]]:
    """Every table once, with its keys, and with what each sequence keeps in it."""
    places: dict[tuple[str, str], tuple[KeySchema, dict[str, list[str]]]] = {}
    for strategy in made:
        for schema in schemas_of(strategy):
            _, uses = places.setdefault((schema.client, schema.table), (schema, {}))
            uses[strategy.alias] = _kept(strategy, schema.table)
    return places


def _kept(strategy: Strategy, table: str) -> list[str]:
    kept = {
        "items": strategy.schema.table,
        "counters": strategy.counter.table if strategy.counter else "",
        "markers": strategy.markers.schema.table,
        "history": strategy.history.schema.table if strategy.history.is_apart else "",
    }
    return [name for name, where in kept.items() if where == table]


class _Reading:
    """One look at everything. It asks a client that did not answer nothing more."""

    def __init__(self, *, thorough: bool) -> None:
        self.away: dict[str, str] = {}
        self._thorough = thorough

    def table(self, schema: KeySchema, uses: Mapping[str, Sequence[str]]) -> TableFacts:
        table = self._ask(schema, "describe_table", "Table")
        facts = TableFacts(name=schema.table, client=schema.client, keys=schema.keys, uses=uses, table=table)
        if not isinstance(table, Mapping):
            return facts
        return replace(
            facts,
            expiry=self._ask(schema, "describe_time_to_live", "TimeToLiveDescription"),
            recovery=self._ask(schema, "describe_continuous_backups", "ContinuousBackupsDescription"),
            refused=self._refused(schema) if self._thorough else None,
        )

    def sequence(self, strategy: Strategy, tables: Sequence[TableFacts], most_scopes: int) -> Iterator[Finding]:
        """Whether its strategy and its settings hold on its tables, if they are there, and how its scopes are."""
        about = {table.name: table.table for table in tables if table.client == strategy.config.client}
        found = [about[table] for table in strategy.lives.tables]
        if not any(one is None for one in found):
            yield judging.of_regions(strategy.lives, found)
            yield judging.of_settings(strategy.alias, self._changed(strategy))
        if not most_scopes:
            return
        if away := self.away.get(strategy.config.client):
            yield Finding.unknown(f"sequence {strategy.alias}", "scopes", Unknown(away))
        else:
            yield from read_scopes(strategy, most_scopes)

    def _changed(self, strategy: Strategy) -> Sequence[Difference] | Unknown:
        """How the settings of a sequence differ from those by which its rows are written."""
        client = strategy.config.client
        if client in self.away:
            return Unknown(self.away[client])
        try:
            return strategy.rules.changed(_patience(client).read)[0]
        except TableMissing:
            return []
        except (GaveUp, StorageError) as error:
            return self._unknown(client, "batch_get_item", error)

    def client(self, alias: str, tables: Sequence[TableFacts]) -> Iterator[Finding]:
        """How a client reaches DynamoDB, by reads of the first of its tables that is there."""
        client, seconds = f"client {alias}", self._seconds(alias, tables)
        yield judging.of_latency(client, seconds)
        if isinstance(seconds, Unknown):
            return
        yield judging.of_clock(client, dynamodb.now(alias) - time.time())
        yield judging.of_transport(client, dynamodb.transport_lacks(alias))
        if self._thorough:
            yield judging.of_caller(client, _caller(alias))
            yield judging.of_limits(client, self._limits(alias))

    def _seconds(self, alias: str, tables: Sequence[TableFacts]) -> list[float] | Unknown:
        if alias in self.away:
            return Unknown(self.away[alias])
        there = next((one for one in tables if one.client == alias and isinstance(one.table, Mapping)), None)
        if there is None:
            return Unknown("None of its tables can be read.", failure=False)
        key = {name: NO_KEY[kind] for name, kind in there.keys.items()}
        request = {**read_item(there.name, key), "ConsistentRead": False}
        try:
            return [_timed(request, alias) for _ in range(READS)]
        except (GaveUp, StorageError) as error:
            return self._unknown(alias, "get_item", error)

    def _limits(self, alias: str) -> Fact:
        try:
            return _patience(alias).read("describe_limits", {})
        except (GaveUp, StorageError) as error:
            return replace(self._unknown(alias, "describe_limits", error), failure=False)

    def _refused(self, schema: KeySchema) -> list[str]:
        """The operations that the role may not do with a table. What fails otherwise is no matter of the role."""
        names = []
        for operation, request in _tries(schema).items():
            try:
                _patience(schema.client).send(operation, request)
            except AccessRefused:
                names.append(operation_name(operation))
            except SequenceError:
                pass  # a condition that failed, as it must, or an engine that is away
        return names

    def _ask(self, schema: KeySchema, operation: str, member: str) -> Fact:
        """What an operation says about a table; None if there is no table."""
        if schema.client in self.away:
            return Unknown(self.away[schema.client])
        try:
            answer = _patience(schema.client).read(operation, {"TableName": schema.table})
        except TableMissing:
            return None
        except (GaveUp, StorageError) as error:
            return self._unknown(schema.client, operation, error)
        found: Mapping[str, Any] = answer.get(member, {})
        return found

    def _unknown(self, client: str, operation: str, error: SequenceError) -> Unknown:
        name = operation_name(operation)
        if isinstance(error, AccessRefused) and "AccessDeniedException" in str(error):  # else the credentials are wrong
            return Unknown(f"{name} is refused.", f"Allow dynamodb:{name} in the policy of this role.")
        if "UnknownOperationException" in str(error):
            return Unknown(f"This engine does not know {name}.", failure=False)
        if is_away(error):
            self.away[client] = str(error)
        remedy = "`manage.py sequences doctor` has no such limit." if isinstance(error, BudgetSpent) else ""
        return Unknown(str(error), remedy)


def _caller(alias: str) -> str | Unknown:
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


def _patience(client: str) -> Deadline:
    return Deadline(seconds=PATIENCE_SECONDS, client=client)


def _timed(request: Mapping[str, Any], client: str) -> float:
    began = time.perf_counter()
    _patience(client).read("get_item", request)
    return time.perf_counter() - began
