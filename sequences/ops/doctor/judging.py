"""What the facts about tables, clients and sequences mean, each for itself. Judging needs no network."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import dynamodb
from ...commit.waiters import UNITS_PER_SECOND
from ...dynamodb.expressions import MARKER_EXPIRY, shown
from ...rows.lives import TableLives
from ...rows.rules import RESTORED, Difference
from ...rows.soundness import Verdict
from .findings import Fact, Finding, Unknown

SLOW_SECONDS = 0.05
SKEWED_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFacts:
    """What DynamoDB says of one table; `table` is None if there is none.

    `uses` has what each sequence keeps in it, such as "items" or "markers". `table` is the answer to DescribeTable,
    `expiry` that to DescribeTimeToLive, and `recovery` that to DescribeContinuousBackups. `refused` has the operations
    that the policy of the role refuses; None if they were not tried.
    """

    name: str
    client: str
    keys: Mapping[str, str]
    uses: Mapping[str, Sequence[str]]
    table: Fact
    expiry: Fact = None
    recovery: Fact = None
    refused: Sequence[str] | None = None


def of_table(facts: TableFacts) -> Iterator[Finding]:
    """The findings of one table."""
    if isinstance(facts.table, Unknown):
        yield Finding.unknown(facts.name, "table", facts.table)
        return
    yield _presence(facts)
    if facts.table is None:
        return
    yield _keys(facts, facts.table)
    yield _billing(facts, facts.table)
    yield _recovery(facts)
    yield _protection(facts, facts.table)
    yield _expiry(facts, facts.table)
    yield from _permissions(facts)


def _presence(facts: TableFacts) -> Finding:
    status, remedy = "missing", "Run `manage.py create_tables` with the same TABLE_PREFIX and endpoint."
    if isinstance(facts.table, Mapping):
        status = str(facts.table.get("TableStatus", "ACTIVE")).lower()
        remedy = "Wait until it is active; if that does not come, ask the console of AWS."
    if status in ("active", "updating"):
        return Finding(facts.name, "table", Verdict.GOOD, status, "It takes reads and writes.")
    return Finding(facts.name, "table", Verdict.UNSOUND, status, "Every write of its sequences is refused.", remedy)


def _keys(facts: TableFacts, table: Mapping[str, Any]) -> Finding:
    keys = dynamodb.keys_in(table)
    if list(keys.items()) == list(facts.keys.items()):
        return Finding(facts.name, "keys", Verdict.GOOD, shown(keys), "They are those of the settings.")
    reason = f"The settings are for {shown(facts.keys)}."
    remedy = "Set 'key_names' and 'key_types' in OPTIONS, or name another table."
    return Finding(facts.name, "keys", Verdict.UNSOUND, shown(keys), reason, remedy)


def _billing(facts: TableFacts, table: Mapping[str, Any]) -> Finding:
    if table.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST":
        reason = "It grows with its use, up to 1,000 write units a second in each scope."
        return Finding(facts.name, "billing", Verdict.GOOD, "on demand", reason)
    throughput = table.get("ProvisionedThroughput", {})
    writes, reads = throughput.get("WriteCapacityUnits", 0), throughput.get("ReadCapacityUnits", 0)
    found = f"provisioned: {writes} write and {reads} read units a second"
    reason = "More than that is throttled: callers wait, and give up at their deadline."
    remedy = "Let auto scaling raise it, or choose on-demand billing."
    return Finding(facts.name, "billing", Verdict.CAREFUL, found, reason, remedy)


def _recovery(facts: TableFacts) -> Finding:
    about = "point-in-time recovery"
    if not isinstance(facts.recovery, Mapping):
        return Finding.unknown(facts.name, about, facts.recovery)
    if facts.recovery.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED":
        reason = "It can be restored to each second of the last days; after that run `sequences recover`."
        return Finding(facts.name, about, Verdict.GOOD, "on", reason)
    remedy = (
        f"Run `aws dynamodb update-continuous-backups --table-name {facts.name} "
        "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`."
    )
    return Finding(facts.name, about, Verdict.CAREFUL, "off", "Rows that are lost cannot be brought back.", remedy)


def _protection(facts: TableFacts, table: Mapping[str, Any]) -> Finding:
    about = "deletion protection"
    if table.get("DeletionProtectionEnabled"):
        return Finding(facts.name, about, Verdict.GOOD, "on", "Nobody deletes it by mistake.")
    reason = "If somebody deletes it by mistake, its sequences begin again, with numbers that were given before."
    remedy = f"Run `aws dynamodb update-table --table-name {facts.name} --deletion-protection-enabled`."
    return Finding(facts.name, about, Verdict.CAREFUL, "off", reason, remedy)


def _expiry(facts: TableFacts, table: Mapping[str, Any]) -> Finding:
    about = "expiry (TTL)"
    if not isinstance(facts.expiry, Mapping):
        return Finding.unknown(facts.name, about, facts.expiry)
    is_on = facts.expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    attribute = facts.expiry.get("AttributeName", "") if is_on else ""
    if attribute not in ("", MARKER_EXPIRY):
        reason = "Items may have this attribute, and a deleted item leaves a gap."
        remedy = (
            "Run `manage.py create_tables --move-expiry`, or turn it off: `aws dynamodb update-time-to-live "
            f"--table-name {facts.name} --time-to-live-specification Enabled=false,AttributeName={attribute}`."
        )
        return Finding(facts.name, about, Verdict.UNSOUND, f"by {attribute}", reason, remedy)
    if attribute:
        reason = "Old markers are deleted, and nothing else."
        return Finding(facts.name, about, Verdict.GOOD, f"by {attribute}", reason)
    if not any("markers" in kept for kept in facts.uses.values()):
        return Finding(facts.name, about, Verdict.GOOD, "off", "Nothing in it has to expire.")
    copies = dynamodb.copies_in(table)
    remedy = "Run `manage.py create_tables` again."
    if copies.is_global and not copies.transactions:
        remedy = "A strongly consistent global table has no expiry: delete old markers yourself."
    reason = "Markers of idempotency tokens stay for ever, and are paid for."
    return Finding(facts.name, about, Verdict.CAREFUL, "off", reason, remedy)


def _permissions(facts: TableFacts) -> Iterator[Finding]:
    about = "permissions"
    if facts.refused:
        missing = ", ".join(f"dynamodb:{name}" for name in facts.refused)
        reason = "A process with this role cannot give numbers."
        remedy = f"Allow {missing} in the policy of this role, or run this in the role of the application."
        yield Finding(facts.name, about, Verdict.UNSOUND, f"missing: {missing}", reason, remedy)
    elif facts.refused is not None:
        reason = "Tried by requests that store nothing."
        yield Finding(facts.name, about, Verdict.GOOD, "those of every write", reason)


def of_latency(client: str, seconds: Sequence[float] | Unknown) -> Finding:
    """How long reads take; their median counts."""
    if isinstance(seconds, Unknown):
        return Finding.unknown(client, "latency", seconds)
    median = statistics.median(seconds)
    found = f"{1000 * median:.1f} ms for a read, the median of {len(seconds)}"
    reason = "Each number takes one to three requests, one after the other."
    if median <= SLOW_SECONDS:
        return Finding(client, "latency", Verdict.GOOD, found, reason)
    remedy = "Run the application in the Region of its tables, or look for what slows the network."
    return Finding(client, "latency", Verdict.CAREFUL, found, reason, remedy)


def of_clock(client: str, ahead: float) -> Finding:
    """How far the engine's clock is ahead of the one here, in seconds."""
    if abs(ahead) <= SKEWED_SECONDS:
        return Finding(client, "clock", Verdict.GOOD, "both clocks agree", "Numbers depend on no clock.")
    found = f"the engine is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine"
    reason = "Numbers depend on no clock, but AWS refuses requests that are 15 minutes off."
    return Finding(client, "clock", Verdict.CAREFUL, found, reason, "Synchronise the clock of this machine (NTP).")


def of_transport(client: str, lacks: str) -> Finding:
    """Whether requests go the way that the settings ask for; `lacks` says why they do not."""
    if not lacks:
        reason = "Requests go the way that was chosen."
        return Finding(client, "transport", Verdict.GOOD, "as the settings ask for", reason)
    found = f"boto3's own client, as the lean transport does not fit botocore: {lacks}"
    reason = "Numbers are right, but each request takes longer."
    remedy = "Install a release of botocore that the lean transport fits."
    return Finding(client, "transport", Verdict.CAREFUL, found, reason, remedy)


def of_caller(client: str, caller: str | Unknown) -> Finding:
    """In whose name a client signs."""
    if isinstance(caller, Unknown):
        return Finding.unknown(client, "who am I", caller)
    reason = "What this role may do, the application may do if it has the same one."
    return Finding(client, "who am I", Verdict.GOOD, caller, reason)


def of_limits(client: str, limits: Fact) -> Finding:
    """What the account may do, by the answer to DescribeLimits."""
    if not isinstance(limits, Mapping):
        return Finding.unknown(client, "limits", limits)
    most = limits.get("TableMaxWriteCapacityUnits", 0)
    account = limits.get("AccountMaxWriteCapacityUnits", 0)
    found = f"{most:,} write units a second for a table, {account:,} for the account in this Region"
    if most >= UNITS_PER_SECOND:  # what one scope can take
        return Finding(client, "limits", Verdict.GOOD, found, "A table takes what one busy scope needs.")
    reason = "One busy scope takes 1,000 write units a second."
    return Finding(client, "limits", Verdict.CAREFUL, found, reason, "Ask AWS for more (Service Quotas).")


def of_regions(lives: TableLives, tables: Sequence[Fact]) -> Finding:
    """Whether the strategy of a sequence holds on its tables, by the answers to DescribeTable."""
    held = lives.judged([dynamodb.copies_in(told) if isinstance(told, Mapping) else None for told in tables])
    return Finding(f"sequence {lives.config.alias}", "Regions", held.verdict, held.found, held.reason, held.remedy)


def of_settings(sequence: str, changed: Sequence[Difference] | Unknown) -> Finding:
    """Whether the settings are those by which the rows are written."""
    subject = f"sequence {sequence}"
    if isinstance(changed, Unknown):
        return Finding.unknown(subject, "settings", changed)
    if not changed:
        reason = "A change that does not go together with stored rows is noticed."
        return Finding(subject, "settings", Verdict.GOOD, "those by which its rows are written", reason)
    reason = "Rows are written by other settings. Where numbers could come twice or be missing, writers are refused."
    remedy = f"Put the settings back, or run `manage.py sequences adopt {sequence} --reason ...`."
    if {one.key for one in changed} == {RESTORED}:
        command = f"`manage.py sequences recover {sequence} --all-scopes --margin N --reason ...`"
        remedy = f"Run {command}, as after every restore."
    return Finding(subject, "settings", changed[0].verdict, "; ".join(map(str, changed)), reason, remedy)
