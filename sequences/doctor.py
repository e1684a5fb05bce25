"""Whether the tables of all sequences are sound: `read_facts` asks DynamoDB, and `findings_of` judges what it says.

Judging needs no network, so a page, a command and a check at the start of a process say the same.
"""

from __future__ import annotations

import enum
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import dynamodb
from .exceptions import AccessRefused, BudgetSpent, GaveUp, InvalidSequence, NotConfigured, StorageError, TableMissing
from .expressions import MARKER_EXPIRY, KeySchema, read_item
from .registry import configured, strategies
from .retries import Deadline, read
from .strategies import Strategy
from .tables import keys_of, schemas_of, shown

__all__ = [
    "ClientFacts",
    "Facts",
    "Finding",
    "TableFacts",
    "Unknown",
    "Use",
    "Verdict",
    "findings_of",
    "read_facts",
]

READS = 5  # of which the median counts
PATIENCE_SECONDS = 1.0  # for one answer
SLOW_SECONDS = 0.05
SKEWED_SECONDS = 5.0
# What a read asks for: no item has this key.
NO_KEY = {"S": {"S": "#health"}, "N": {"N": "0"}}


class Verdict(enum.StrEnum):
    """What a finding comes to."""

    GOOD = "good"
    CAREFUL = "careful"
    UNSOUND = "unsound"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at: of a table, a client or a sequence, what was found, why it matters, what helps."""

    subject: str
    about: str
    verdict: Verdict
    found: str
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Stands for a fact that could not be read, and says why."""

    reason: str
    remedy: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """What one sequence keeps in a table, such as "items" or "markers", and what its writes need."""

    sequence: str
    keeps: Sequence[str]
    needs_transactions: bool
    writes_groups: bool


Fact = Mapping[str, Any] | Unknown | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFacts:
    """What DynamoDB says of one table; `table` is None if there is none.

    `table` is the answer to DescribeTable, `expiry` that to DescribeTimeToLive, and `recovery` that to
    DescribeContinuousBackups, each without its outermost member.
    """

    name: str
    client: str
    keys: Mapping[str, str]
    uses: Sequence[Use]
    table: Fact
    expiry: Fact = None
    recovery: Fact = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientFacts:
    """How one client reaches DynamoDB: how long each of a few reads took, and how far ahead the engine's clock is."""

    alias: str
    seconds: Sequence[float] | Unknown
    ahead: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Everything that was read. `wrong` has the sequences whose settings are wrong, and why."""

    tables: Sequence[TableFacts] = ()
    clients: Sequence[ClientFacts] = ()
    wrong: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0
    """How many tables were not looked at, because there are too many."""
    away: Mapping[str, str] = field(default_factory=dict)
    """The clients for which DynamoDB did not answer, and what they said."""


# Reading.


def read_facts(*, most_tables: int | None = None) -> Facts:
    """Read the facts of every sequence.

    Cost: three requests for each table, and for each client READS reads of half a unit. When DynamoDB does not answer,
    the other tables of that client are not asked. Raises InvalidSequence if SEQUENCES is no dict.
    """
    made, wrong = _made()
    places = _places(made)
    reading = _Reading()
    tables = [reading.table(schema, uses) for schema, uses in list(places.values())[:most_tables]]
    left_out = len(places) - len(tables)
    clients = [reading.client(alias, tables) for alias in dict.fromkeys(table.client for table in tables)]
    return Facts(tables=tables, clients=clients, wrong=wrong, left_out=left_out, away=reading.away)


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
            uses.append(
                Use(
                    sequence=strategy.alias,
                    keeps=_kept(strategy, schema.table),
                    needs_transactions=strategy.needs_transactions,
                    writes_groups=strategy.writes_together and bool(strategy.option["group"]),
                )
            )
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

    def __init__(self) -> None:
        self.away: dict[str, str] = {}

    def table(self, schema: KeySchema, uses: Sequence[Use]) -> TableFacts:
        table = self._ask(schema, "describe_table", "Table")
        is_there = isinstance(table, Mapping)
        return TableFacts(
            name=schema.table,
            client=schema.client,
            keys=keys_of(schema),
            uses=uses,
            table=table,
            expiry=self._ask(schema, "describe_time_to_live", "TimeToLiveDescription") if is_there else None,
            recovery=(
                self._ask(schema, "describe_continuous_backups", "ContinuousBackupsDescription") if is_there else None
            ),
        )

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
        name = "".join(part.capitalize() for part in operation.split("_"))
        if isinstance(error, AccessRefused):
            return Unknown(f"{name} is refused.", f"Allow dynamodb:{name} in the policy of this role.")
        if "UnknownOperationException" in str(error):
            return Unknown(f"This engine does not know {name}.")
        if isinstance(error, GaveUp | NotConfigured) or (isinstance(error, BudgetSpent) and error.too_slow):
            self.away[client] = str(error)
        return Unknown(str(error))

    def client(self, alias: str, tables: Sequence[TableFacts]) -> ClientFacts:
        """How long reads by a client take, of the first of its tables that is there."""
        if alias in self.away:
            return ClientFacts(alias=alias, seconds=Unknown(self.away[alias]))
        there = next((one for one in tables if one.client == alias and isinstance(one.table, Mapping)), None)
        if there is None:
            return ClientFacts(alias=alias, seconds=Unknown("None of its tables can be read."))
        key = {name: NO_KEY[kind] for name, kind in there.keys.items()}
        request = {**read_item(there.name, key), "ConsistentRead": False}
        try:
            seconds = [_timed(request, alias) for _ in range(READS)]
        except (GaveUp, StorageError) as error:
            return ClientFacts(alias=alias, seconds=self._unknown(alias, "get_item", error))
        return ClientFacts(alias=alias, seconds=seconds, ahead=dynamodb.now(alias) - time.time())


def _read(operation: str, request: Mapping[str, Any], client: str) -> Mapping[str, Any]:
    return read(operation, request, deadline=Deadline(seconds=PATIENCE_SECONDS, client=client))


def _timed(request: Mapping[str, Any], client: str) -> float:
    began = time.perf_counter()
    _read("get_item", request, client)
    return time.perf_counter() - began


# Judging.


def findings_of(facts: Facts) -> list[Finding]:
    """What the facts mean: the sequences that are wrong first, then each client, then each table."""
    wrong = [
        Finding(
            subject=alias,
            about="settings",
            verdict=Verdict.UNSOUND,
            found=said,
            reason="The sequence cannot be used.",
            remedy="Mend the setting; `manage.py check` says whether it is right.",
        )
        for alias, said in facts.wrong.items()
    ]
    clients = [finding for client in facts.clients for finding in _of_client(client)]
    return [*wrong, *clients, *(finding for table in facts.tables for finding in _of_table(table))]


def _either(
    subject: str,
    about: str,
    is_good: bool,
    found: str,
    reasons: tuple[str, str],
    remedy: str,
    otherwise: Verdict = Verdict.CAREFUL,
) -> Finding:
    """A finding that is good, with the first of the reasons, or needs the remedy, with the second."""
    return Finding(
        subject=subject,
        about=about,
        verdict=Verdict.GOOD if is_good else otherwise,
        found=found,
        reason=reasons[0 if is_good else 1],
        remedy="" if is_good else remedy,
    )


def _unknown(subject: str, about: str, fact: Unknown | None) -> Finding:
    told = fact or Unknown("It was not read.")
    return Finding(
        subject=subject,
        about=about,
        verdict=Verdict.UNKNOWN,
        found="not known",
        reason=told.reason,
        remedy=told.remedy,
    )


def _of_client(client: ClientFacts) -> Iterator[Finding]:
    subject = f"client {client.alias}"
    if isinstance(client.seconds, Unknown):
        yield _unknown(subject, "latency", client.seconds)
        return
    median = statistics.median(client.seconds)
    yield _either(
        subject,
        "latency",
        median <= SLOW_SECONDS,
        f"{1000 * median:.1f} ms for a read, the median of {len(client.seconds)}",
        ("Each number takes one to three requests, one after the other.",) * 2,
        "Run the application in the Region of its tables, or look for what slows the network.",
    )
    far, which = abs(client.ahead), "ahead of" if client.ahead > 0 else "behind"
    is_near = far <= SKEWED_SECONDS
    yield _either(
        subject,
        "clock",
        is_near,
        "both clocks agree" if is_near else f"the engine is {far:.0f} s {which} this machine",
        (
            "Numbers depend on no clock.",
            "Numbers depend on no clock, but AWS refuses requests that are 15 minutes off.",
        ),
        "Synchronise the clock of this machine (NTP).",
    )


def _of_table(facts: TableFacts) -> Iterator[Finding]:
    if isinstance(facts.table, Unknown):
        yield _unknown(facts.name, "table", facts.table)
        return
    yield _presence(facts)
    if facts.table is None:
        return
    yield _keys(facts, facts.table)
    yield _billing(facts, facts.table)
    yield _recovery(facts)
    yield _protection(facts, facts.table)
    yield _expiry(facts, facts.table)
    yield from _regions(facts, facts.table)


def _presence(facts: TableFacts) -> Finding:
    if not isinstance(facts.table, Mapping):
        status, remedy = "missing", "Run `manage.py create_tables` with the same TABLE_PREFIX and endpoint."
    else:
        status = str(facts.table.get("TableStatus", "ACTIVE")).lower()
        remedy = "Wait until it is active; if that does not come, ask the console of AWS."
    return _either(
        facts.name,
        "table",
        status in ("active", "updating"),
        status,
        ("It takes reads and writes.", "Every write of its sequences is refused."),
        remedy,
        Verdict.UNSOUND,
    )


def _keys(facts: TableFacts, table: Mapping[str, Any]) -> Finding:
    keys = dynamodb.keys_in(table)
    return _either(
        facts.name,
        "keys",
        list(keys.items()) == list(facts.keys.items()),
        shown(keys),
        ("They are those of the settings.", f"The settings are for {shown(facts.keys)}."),
        "Set 'key_names' and 'key_types' in OPTIONS, or name another table.",
        Verdict.UNSOUND,
    )


def _billing(facts: TableFacts, table: Mapping[str, Any]) -> Finding:
    on_demand = table.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST"
    throughput = table.get("ProvisionedThroughput", {})
    writes, reads = throughput.get("WriteCapacityUnits", 0), throughput.get("ReadCapacityUnits", 0)
    return _either(
        facts.name,
        "billing",
        on_demand,
        "on demand" if on_demand else f"provisioned: {writes} write and {reads} read units a second",
        (
            "It grows with its use, up to 1,000 write units a second in each scope.",
            "More than that is throttled: callers wait, and give up at their deadline.",
        ),
        "Let auto scaling raise it, or choose on-demand billing.",
    )


def _recovery(facts: TableFacts) -> Finding:
    about = "point-in-time recovery"
    if not isinstance(facts.recovery, Mapping):
        return _unknown(facts.name, about, facts.recovery)
    state = facts.recovery.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
    return _either(
        facts.name,
        about,
        state == "ENABLED",
        "on" if state == "ENABLED" else "off",
        (
            "It can be restored to each second of the last days; after that run `sequences recover`.",
            "Rows that are lost cannot be brought back.",
        ),
        f"Run `aws dynamodb update-continuous-backups --table-name {facts.name} "
        "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`.",
    )


def _protection(facts: TableFacts, table: Mapping[str, Any]) -> Finding:
    is_on = bool(table.get("DeletionProtectionEnabled"))
    return _either(
        facts.name,
        "deletion protection",
        is_on,
        "on" if is_on else "off",
        (
            "Nobody deletes it by mistake.",
            "If somebody deletes it by mistake, its sequences begin again, with numbers that were given before.",
        ),
        f"Run `aws dynamodb update-table --table-name {facts.name} --deletion-protection-enabled`.",
    )


def _expiry(facts: TableFacts, table: Mapping[str, Any]) -> Finding:
    about = "expiry (TTL)"
    if not isinstance(facts.expiry, Mapping):
        return _unknown(facts.name, about, facts.expiry)
    is_on = facts.expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    attribute = facts.expiry.get("AttributeName", "") if is_on else ""
    if attribute not in ("", MARKER_EXPIRY):
        return _either(
            facts.name,
            about,
            False,
            f"by {attribute}",
            ("", "Items may have this attribute, and a deleted item leaves a gap."),
            "Run `manage.py create_tables --move-expiry`, or turn it off: `aws dynamodb update-time-to-live "
            f"--table-name {facts.name} --time-to-live-specification Enabled=false,AttributeName={attribute}`.",
            Verdict.UNSOUND,
        )
    has_markers = any("markers" in use.keeps for use in facts.uses)
    return _either(
        facts.name,
        about,
        bool(attribute) or not has_markers,
        f"by {attribute}" if attribute else "off",
        (
            "Old markers are deleted, and nothing else." if attribute else "Nothing in it has to expire.",
            "Markers of idempotency tokens stay for ever, and are paid for.",
        ),
        "A strongly consistent global table has no expiry: delete old markers yourself."
        if _is_strong(table)
        else "Run `manage.py create_tables` again.",
    )


def _is_strong(table: Mapping[str, Any]) -> bool:
    return bool(table.get("MultiRegionConsistency") == "STRONG")


def _regions(facts: TableFacts, table: Mapping[str, Any]) -> Iterator[Finding]:
    regions = [replica.get("RegionName", "") for replica in table.get("Replicas", ())]
    kind = "strongly" if _is_strong(table) else "eventually"
    found = f"{kind} consistent, with {', '.join(regions)}" if regions else "one"
    if not regions:
        yield _either(facts.name, "Regions", True, found, ("Conditions are checked against the only copy.", ""), "")
    elif not _is_strong(table):
        reason = "Each Region checks conditions against its own copy: two Regions give the same number, silently."
        remedy = "Let all processes write in one Region, or make it a strongly consistent global table."
        yield _either(facts.name, "Regions", False, found, ("", reason), remedy, Verdict.UNSOUND)
    else:
        yield from (_without_transactions(facts, use, found) for use in facts.uses)


def _without_transactions(facts: TableFacts, use: Use, found: str) -> Finding:
    """What a strongly consistent global table means for a sequence: it takes no transactions."""
    about = f"Regions, for {use.sequence}"
    if use.needs_transactions:
        reason = "Such a table takes no transactions, and this strategy needs one for each number."
        remedy = "Give the sequence AtomicCounter or SortKeyMaximum, or a table in one Region."
        return _either(facts.name, about, False, found, ("", reason), remedy, Verdict.UNSOUND)
    refused = "tokens, groups and guarded changes" if use.writes_groups else "tokens and guarded changes"
    reason = f"Numbers are right in every Region, but such a table takes no transactions: {refused} are refused."
    remedy = "Give no idempotency tokens" + (", and set the option 'group' to False." if use.writes_groups else ".")
    return _either(facts.name, about, False, found, ("", reason), remedy)
