"""What the facts mean: for each sequence, client and table its findings. Judging needs no network."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ... import dynamodb
from ...commit.waiters import UNITS_PER_SECOND
from ...dynamodb.expressions import MARKER_EXPIRY
from ...rows.rules import Difference
from ...rows.soundness import Needs, Verdict, judge
from ..tables import shown
from .facts import ClientFacts, Facts, Finding, TableFacts, Unknown

__all__ = ["findings_of"]

SLOW_SECONDS = 0.05
SKEWED_SECONDS = 5.0


def findings_of(facts: Facts) -> list[Finding]:
    """What the facts mean: wrong sequences first, then the others, then each client, then each table."""
    wrong = [
        Finding(
            subject=f"sequence {alias}",
            about="settings",
            verdict=Verdict.UNSOUND,
            found=said,
            reason="The sequence cannot be used.",
            remedy="Mend the setting; `manage.py check` says whether it is right.",
        )
        for alias, said in facts.wrong.items()
    ]
    clients = [finding for client in facts.clients for finding in (*_of_client(client), *_names(client))]
    tables = [finding for table in facts.tables for finding in _of_table(table)]
    return [*wrong, *(found for needs in facts.needs for found in _of_sequence(facts, needs)), *clients, *tables]


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
    yield from _permissions(facts)


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
        if dynamodb.copies_in(table).is_global and not dynamodb.copies_in(table).transactions
        else "Run `manage.py create_tables` again.",
    )


def _of_sequence(facts: Facts, needs: Needs) -> Iterator[Finding]:
    """Whether its strategy holds on its tables, if they are there."""
    about = {table.name: table.table for table in facts.tables if table.client == needs.client}
    if any(about[table] is None for table in needs.tables):
        return
    copies = {name: dynamodb.copies_in(told) for name, told in about.items() if isinstance(told, Mapping)}
    soundness = judge(needs, copies)
    yield Finding(
        subject=f"sequence {needs.sequence}",
        about="Regions",
        verdict=soundness.verdict,
        found=soundness.found,
        reason=soundness.reason,
        remedy=soundness.remedy,
    )
    yield _settings(needs.sequence, facts.changed.get(needs.sequence, ()))


def _settings(sequence: str, changed: Sequence[Difference] | Unknown) -> Finding:
    """Whether the settings are those by which the rows are written."""
    subject = f"sequence {sequence}"
    if isinstance(changed, Unknown):
        return _unknown(subject, "settings", changed)
    return _either(
        subject,
        "settings",
        not changed,
        "; ".join(map(str, changed)) or "those by which its rows are written",
        (
            "A change that does not go together with stored rows is noticed.",
            "Rows are written by other settings. Where numbers could come twice or be missing, writers are refused.",
        ),
        f"Put the settings back, or run `manage.py sequences adopt {sequence}`.",
        changed[0].verdict if changed else Verdict.CAREFUL,
    )


def _permissions(facts: TableFacts) -> Iterator[Finding]:
    if facts.refused is not None:
        missing = ", ".join(f"dynamodb:{name}" for name in facts.refused)
        yield _either(
            facts.name,
            "permissions",
            not missing,
            f"missing: {missing}" if missing else "those of every write",
            ("Tried by requests that store nothing.", "Whoever has this role cannot give numbers."),
            f"Allow {missing} in the policy of this role, or run this in the role of the application.",
            Verdict.UNSOUND,
        )


def _names(client: ClientFacts) -> Iterator[Finding]:
    """Who asks, and what the account may do. Both are only read for a thorough look."""
    subject = f"client {client.alias}"
    if isinstance(client.caller, Unknown):
        yield _unknown(subject, "who am I", client.caller)
    elif client.caller is not None:
        reason = "What this role may do, the application may do if it has the same one."
        yield _either(subject, "who am I", True, client.caller, (reason, ""), "")
    if isinstance(client.limits, Unknown):
        yield _unknown(subject, "limits", client.limits)
    elif client.limits is not None:
        most = client.limits.get("TableMaxWriteCapacityUnits", 0)
        yield _either(
            subject,
            "limits",
            most >= UNITS_PER_SECOND,  # what one scope can take
            f"{most:,} write units a second for a table, {client.limits.get('AccountMaxWriteCapacityUnits', 0):,} for "
            "the account in this Region",
            ("A table takes what one busy scope needs.", "One busy scope takes 1,000 write units a second."),
            "Ask AWS for more (Service Quotas).",
        )
