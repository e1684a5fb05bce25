"""What the facts mean: for each sequence, client and table its findings. Judging needs no network."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from ... import dynamodb
from ...commit.waiters import UNITS_PER_SECOND
from ...rows.rules import RESTORED, Difference
from ...rows.soundness import TableRequirements, Verdict, judge
from .facts import ClientFacts, Facts, Finding, Unknown
from .judging_tables import of_table
from .scopes import of_scopes

__all__ = ["findings_of"]

SLOW_SECONDS = 0.05
SKEWED_SECONDS = 5.0


def findings_of(facts: Facts) -> list[Finding]:
    """What the facts mean: wrong sequences first, then the others with their scopes, each client, and each table."""
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
    tables = [finding for table in facts.tables for finding in of_table(table)]
    scopes = {one.sequence: list(of_scopes(one)) for one in facts.scopes}
    of_sequences = [[*_of_sequence(facts, needs), *scopes.get(needs.sequence, ())] for needs in facts.needs]
    return [*wrong, *chain.from_iterable(of_sequences), *clients, *tables]


def _of_client(client: ClientFacts) -> Iterator[Finding]:
    subject = f"client {client.alias}"
    if isinstance(client.seconds, Unknown):
        yield Finding.unknown(subject, "latency", client.seconds)
        return
    median = statistics.median(client.seconds)
    yield Finding.either(
        subject,
        "latency",
        median <= SLOW_SECONDS,
        f"{1000 * median:.1f} ms for a read, the median of {len(client.seconds)}",
        ("Each number takes one to three requests, one after the other.",) * 2,
        "Run the application in the Region of its tables, or look for what slows the network.",
    )
    far, which = abs(client.ahead), "ahead of" if client.ahead > 0 else "behind"
    is_near = far <= SKEWED_SECONDS
    yield Finding.either(
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
    yield Finding.either(
        subject,
        "transport",
        not client.lacks,
        f"boto3's own client, as the lean transport does not fit botocore: {client.lacks}"
        if client.lacks
        else "as the settings ask for",
        ("Requests go the way that was chosen.", "Numbers are right, but each request takes longer."),
        "Install a release of botocore that the lean transport fits.",
    )


def _of_sequence(facts: Facts, needs: TableRequirements) -> Iterator[Finding]:
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


def _names(client: ClientFacts) -> Iterator[Finding]:
    """Who asks, and what the account may do. Both are only read for a thorough look."""
    subject = f"client {client.alias}"
    if isinstance(client.caller, Unknown):
        yield Finding.unknown(subject, "who am I", client.caller)
    elif client.caller is not None:
        reason = "What this role may do, the application may do if it has the same one."
        yield Finding.either(subject, "who am I", True, client.caller, (reason, ""), "")
    if isinstance(client.limits, Unknown):
        yield Finding.unknown(subject, "limits", client.limits)
    elif client.limits is not None:
        most = client.limits.get("TableMaxWriteCapacityUnits", 0)
        yield Finding.either(
            subject,
            "limits",
            most >= UNITS_PER_SECOND,  # what one scope can take
            f"{most:,} write units a second for a table, {client.limits.get('AccountMaxWriteCapacityUnits', 0):,} for "
            "the account in this Region",
            ("A table takes what one busy scope needs.", "One busy scope takes 1,000 write units a second."),
            "Ask AWS for more (Service Quotas).",
        )
