"""What the facts about a table mean: whether it is there, its keys, billing, protection and expiry, and who writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import dynamodb
from ...dynamodb.expressions import MARKER_EXPIRY, shown
from ...rows.soundness import Verdict
from .findings import Fact, Finding, Unknown


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
    if not isinstance(facts.table, Mapping):
        status, remedy = "missing", "Run `manage.py create_tables` with the same TABLE_PREFIX and endpoint."
    else:
        status = str(facts.table.get("TableStatus", "ACTIVE")).lower()
        remedy = "Wait until it is active; if that does not come, ask the console of AWS."
    return Finding.either(
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
    return Finding.either(
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
    return Finding.either(
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
        return Finding.unknown(facts.name, about, facts.recovery)
    state = facts.recovery.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
    return Finding.either(
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
    return Finding.either(
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
        return Finding.unknown(facts.name, about, facts.expiry)
    is_on = facts.expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    attribute = facts.expiry.get("AttributeName", "") if is_on else ""
    if attribute not in ("", MARKER_EXPIRY):
        return Finding.either(
            facts.name,
            about,
            False,
            f"by {attribute}",
            ("", "Items may have this attribute, and a deleted item leaves a gap."),
            "Run `manage.py create_tables --move-expiry`, or turn it off: `aws dynamodb update-time-to-live "
            f"--table-name {facts.name} --time-to-live-specification Enabled=false,AttributeName={attribute}`.",
            Verdict.UNSOUND,
        )
    has_markers = any("markers" in kept for kept in facts.uses.values())
    return Finding.either(
        facts.name,
        about,
        bool(attribute) or not has_markers,
        f"by {attribute}" if attribute else "off",
        (
            "Old markers are deleted, and nothing else." if attribute else "Nothing in it has to expire.",
            "Markers of idempotency tokens stay for ever, and are paid for.",
        ),
        "A strongly consistent global table has no expiry: delete old markers yourself."
        if dynamodb.copies_in(table).is_global and not dynamodb.copies_in(table).transactions
        else "Run `manage.py create_tables` again.",
    )


def _permissions(facts: TableFacts) -> Iterator[Finding]:
    if facts.refused is not None:
        missing = ", ".join(f"dynamodb:{name}" for name in facts.refused)
        yield Finding.either(
            facts.name,
            "permissions",
            not missing,
            f"missing: {missing}" if missing else "those of every write",
            ("Tried by requests that store nothing.", "A process with this role cannot give numbers."),
            f"Allow {missing} in the policy of this role, or run this in the role of the application.",
            Verdict.UNSOUND,
        )
