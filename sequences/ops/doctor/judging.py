"""What the facts about clients and sequences mean, each for itself. Judging needs no network."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from ... import dynamodb
from ...commit.waiters import UNITS_PER_SECOND
from ...rows.rules import RESTORED, Difference
from ...rows.soundness import TableRequirements, Verdict, judge
from .findings import Fact, Finding, Unknown

SLOW_SECONDS = 0.05
SKEWED_SECONDS = 5.0


def of_latency(client: str, seconds: Sequence[float] | Unknown) -> Finding:
    """How long reads take; their median counts."""
    if isinstance(seconds, Unknown):
        return Finding.unknown(client, "latency", seconds)
    median = statistics.median(seconds)
    return Finding.either(
        client,
        "latency",
        median <= SLOW_SECONDS,
        f"{1000 * median:.1f} ms for a read, the median of {len(seconds)}",
        ("Each number takes one to three requests, one after the other.",) * 2,
        "Run the application in the Region of its tables, or look for what slows the network.",
    )


def of_clock(client: str, ahead: float) -> Finding:
    """How far the engine's clock is ahead of the one here, in seconds."""
    is_near, which = abs(ahead) <= SKEWED_SECONDS, "ahead of" if ahead > 0 else "behind"
    return Finding.either(
        client,
        "clock",
        is_near,
        "both clocks agree" if is_near else f"the engine is {abs(ahead):.0f} s {which} this machine",
        (
            "Numbers depend on no clock.",
            "Numbers depend on no clock, but AWS refuses requests that are 15 minutes off.",
        ),
        "Synchronise the clock of this machine (NTP).",
    )


def of_transport(client: str, lacks: str) -> Finding:
    """Whether requests go the way that the settings ask for; `lacks` says why they do not."""
    return Finding.either(
        client,
        "transport",
        not lacks,
        f"boto3's own client, as the lean transport does not fit botocore: {lacks}"
        if lacks
        else "as the settings ask for",
        ("Requests go the way that was chosen.", "Numbers are right, but each request takes longer."),
        "Install a release of botocore that the lean transport fits.",
    )


def of_caller(client: str, caller: str | Unknown) -> Finding:
    """In whose name a client signs."""
    if isinstance(caller, Unknown):
        return Finding.unknown(client, "who am I", caller)
    reason = "What this role may do, the application may do if it has the same one."
    return Finding.either(client, "who am I", True, caller, (reason, ""), "")


def of_limits(client: str, limits: Fact) -> Finding:
    """What the account may do, by the answer to DescribeLimits."""
    if not isinstance(limits, Mapping):
        return Finding.unknown(client, "limits", limits)
    most = limits.get("TableMaxWriteCapacityUnits", 0)
    return Finding.either(
        client,
        "limits",
        most >= UNITS_PER_SECOND,  # what one scope can take
        f"{most:,} write units a second for a table, {limits.get('AccountMaxWriteCapacityUnits', 0):,} for "
        "the account in this Region",
        ("A table takes what one busy scope needs.", "One busy scope takes 1,000 write units a second."),
        "Ask AWS for more (Service Quotas).",
    )


def of_regions(needs: TableRequirements, tables: Mapping[str, Fact]) -> Finding:
    """Whether the strategy of a sequence holds on its tables, by the answers to DescribeTable."""
    copies = {name: dynamodb.copies_in(told) for name, told in tables.items() if isinstance(told, Mapping)}
    held = judge(needs, copies)
    return Finding(f"sequence {needs.config.alias}", "Regions", held.verdict, held.found, held.reason, held.remedy)


def of_settings(sequence: str, changed: Sequence[Difference] | Unknown) -> Finding:
    """Whether the settings are those by which the rows are written."""
    subject = f"sequence {sequence}"
    if isinstance(changed, Unknown):
        return Finding.unknown(subject, "settings", changed)
    return Finding.either(
        subject,
        "settings",
        not changed,
        "; ".join(map(str, changed)) or "those by which its rows are written",
        (
            "A change that does not go together with stored rows is noticed.",
            "Rows are written by other settings. Where numbers could come twice or be missing, writers are refused.",
        ),
        _remedy(sequence, changed),
        changed[0].verdict if changed else Verdict.CAREFUL,
    )


def _remedy(sequence: str, changed: Sequence[Difference]) -> str:
    if changed and {one.key for one in changed} == {RESTORED}:
        return f"Run `manage.py sequences recover {sequence} --all-scopes --margin N`, as after every restore."
    return f"Put the settings back, or run `manage.py sequences adopt {sequence}`."
