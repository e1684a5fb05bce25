"""The comparison: published recipes and our strategies on one engine, in one run, with the same items.

This module runs it (`compare`) and turns the results of the writers into rows. Every strategy runs once in each round,
so that a machine that slows down affects all of them. `plan.Plan` says what is run, `writers` runs the writers, and
`report` shows the rows.
"""

from __future__ import annotations

import logging
import os
import secrets
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from django.conf import settings

from project.environment import ENDPOINT
from project.lab import recipes
from project.lab.client import plain_client
from project.lab.losses import LosingProxy, losing_proxy
from project.lab.plan import OURS, Plan, Row
from project.lab.writers import Job, LabError, Share, run
from sequences import dynamodb
from sequences.dynamodb.expressions import KeyType
from sequences.exceptions import TableMissing

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["KEYS", "Case", "compare", "lab_tables", "sequences_of", "stored_items"]

logger = logging.getLogger(__name__)

KEYS = (
    "strategy",
    "writers",
    "processes",
    "count",
    "seconds",
    "per_second",
    "requests_per_number",
    "write_requests_per_number",
    "write_units_per_number",
    "read_units_per_number",
    "p50_ms",
    "p99_ms",
    "refused_share",
    "slowest_over_fastest",
    "duplicates",
    "gaps",
    "errors",
)
TABLES: Mapping[str, Mapping[str, KeyType]] = {
    "items": {"pk": "S", "sk": "N"},
    "sequences": {"sequence": "S", "scope": "S"},
}
FAULTS = ("duplicates", "gaps", "errors", "written_twice")
Stored = Mapping[str, Sequence[tuple[int, str]]]  # scope -> number and request of each item


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One strategy with one number of writers. `number` counts the cases; `prefix` begins the names of the tables."""

    plan: Plan
    number: int
    writers: int
    strategy: str
    prefix: str
    endpoint: str | None

    @property
    def table(self) -> str:
        """The table of the items; the recipes also keep their counters there."""
        return f"{self.prefix}items"

    @property
    def scopes(self) -> tuple[str, ...]:
        """Scopes that no other case uses, as short as project keys."""
        return tuple(f"P{self.number}S{scope}" for scope in range(self.plan.scopes))

    def jobs(self) -> list[Job]:
        """One job for each process; writers and count are divided as evenly as possible."""
        bounds = [self.writers * process // self.plan.processes for process in range(self.plan.processes + 1)]
        return [self._job(first, after) for first, after in pairwise(bounds)]

    def _job(self, first: int, after: int) -> Job:
        return Job(
            strategy=self.strategy,
            sequences=sequences_of(self.plan.block_size),
            table=self.table,
            prefix=self.prefix,
            endpoint=self.endpoint,
            scopes=self.scopes,
            writers=self.writers,
            first_writer=first,
            threads=after - first,
            count=self.plan.count * after // self.writers - self.plan.count * first // self.writers,
            values_only=self.plan.values_only,
        )


def compare(plan: Plan, *, progress: Callable[[str], None] = lambda case: None) -> list[Row]:
    """Run the plan on the engine in the environment; return one row for each strategy and number of writers.

    A row is a dict with the keys `KEYS`, and `written_twice` if the run lost answers. Its figures are the medians of
    the rounds, its faults the worst. `progress` is called with a text before each case. The names of the tables have a
    random prefix; they are deleted at the end, also when the run is interrupted. Raises LabError, and the storage
    errors of `sequences.exceptions`.
    """
    measured: dict[tuple[int, str], list[Row]] = {}
    with lab_tables() as prefix, _losses(plan) as proxy:
        endpoint = proxy.endpoint if proxy else os.environ.get(ENDPOINT)
        for number, (writers, strategy) in enumerate(plan.cases()):
            progress(f"{strategy}, {writers} writers")
            case = Case(plan=plan, number=number, writers=writers, strategy=strategy, prefix=prefix, endpoint=endpoint)
            measured.setdefault((writers, strategy), []).append(_measure(case, proxy))
    return [_middle(rows) for rows in measured.values()]


@contextmanager
def lab_tables() -> Iterator[str]:
    """Create tables, delete them after the block, and give their prefix."""
    prefix = f"{getattr(settings, 'TABLE_PREFIX', '')}lab-{secrets.token_hex(4)}-"
    begun: list[str] = []
    try:
        for name, keys in TABLES.items():
            begun.append(f"{prefix}{name}")
            dynamodb.create_table(f"{prefix}{name}", keys)
        yield prefix
    finally:
        for name in begun:
            with suppress(TableMissing):
                dynamodb.delete_table(name)


@contextmanager
def _losses(plan: Plan) -> Iterator[LosingProxy | None]:
    """The proxy that loses answers; None if the plan does not ask for it."""
    upstream = os.environ.get(ENDPOINT, "")
    if plan.faults and not upstream.startswith("http://"):
        raise LabError(f"--faults needs an engine at a plain http address in {ENDPOINT}.")
    with losing_proxy(upstream, plan.faults, plan.seed) if plan.faults else nullcontext() as proxy:
        yield proxy


def _measure(case: Case, proxy: LosingProxy | None) -> Row:
    """Run one case and check what it stored."""
    client = plain_client()
    if case.strategy in recipes.RECIPES:
        for scope in case.scopes:
            with dynamodb.translate_errors("put_item"):
                recipes.prepare(client, case.table, scope)
    try:
        shares = run(case.jobs(), at_start=proxy.active.set if proxy else lambda: None)
    finally:
        if proxy:
            proxy.active.clear()
    stored = {} if case.plan.values_only else {scope: stored_items(client, case.table, scope) for scope in case.scopes}
    for share in shares:
        for kind, count in share.errors.items():
            logger.warning("%s, %d writers: %d times %s", case.strategy, case.writers, count, kind)
    return _row(case, shares, stored)


def sequences_of(block_size: int, *, group: bool = True) -> dict[str, Any]:
    """The setting SEQUENCES for the writers: one alias for each of our strategies, with the name of its class.

    Without `group` a writer has nobody to share a write with, and takes no turns with other processes of the host.
    """
    options = {"partition": "{scope}", "block_size": block_size, "group": group}
    return {
        name: {
            "STRATEGY": f"{strategy.__module__}.{name}",
            "TABLE": "items",
            "OPTIONS": {key: value for key, value in options.items() if key in strategy.options},
        }
        for name, strategy in OURS.items()
    }


def stored_items(client: DynamoDBClient, table: str, scope: str) -> list[tuple[int, str]]:
    """The numbers and requests of all items of a scope that have a number."""
    pages = client.get_paginator("query").paginate(
        TableName=table,
        ConsistentRead=True,
        KeyConditionExpression="pk = :scope",
        ExpressionAttributeNames={"#number": "number"},
        ExpressionAttributeValues={":scope": {"S": scope}},
        ProjectionExpression="sk, #number, request_name",
    )
    with dynamodb.translate_errors("query"):
        items = [item for page in pages for item in page["Items"]]
    return [(number, item["request_name"]["S"]) for item in items if (number := recipes.number_of(item))]


def _row(case: Case, shares: Sequence[Share], stored: Stored) -> Row:
    """One row of the result, from the shares of the processes and the stored items."""
    seconds = max(share.ended for share in shares) - min(share.started for share in shares)
    numbers = sum(share.numbers for share in shares)
    usage = sum((share.usage for share in shares[1:]), shares[0].usage)
    latencies = sorted(latency for share in shares for latency in share.latencies)
    row = {
        "strategy": case.strategy,
        "writers": case.writers,
        "processes": case.plan.processes,
        "count": case.plan.count,
        "seconds": round(seconds, 4),
        "per_second": round(numbers / seconds, 1),
        "requests_per_number": _each(usage.requests, numbers),
        "write_requests_per_number": _each(usage.write_requests, numbers),
        "write_units_per_number": _each(usage.write_units, numbers),
        "read_units_per_number": _each(usage.read_units, numbers),
        "p50_ms": _milliseconds(latencies, 0.50),
        "p99_ms": _milliseconds(latencies, 0.99),
        "refused_share": _each(usage.refused_writes, usage.write_requests),
        "slowest_over_fastest": _balance(shares),
        **_checked(shares, stored),
        "errors": sum(share.errors.total() for share in shares),
    }
    return row | ({"written_twice": sum(map(_copies, stored.values()))} if case.plan.faults else {})


def _by_scope(parts: Iterable[Mapping[str, Iterable[int]]]) -> dict[str, list[int]]:
    """The numbers of all processes together, by scope."""
    whole: dict[str, list[int]] = {}
    for part in parts:
        for scope, values in part.items():
            whole.setdefault(scope, []).extend(values)
    return whole


def _checked(shares: Sequence[Share], stored: Stored) -> dict[str, int]:
    """Count duplicates (callers with another caller's number) and gaps (numbers below the highest without an item).

    Without items, a number that a caller got is not a gap.
    """
    handed, warm = _by_scope(share.handed for share in shares), _by_scope(share.warm for share in shares)
    duplicates = gaps = 0
    for scope, values in handed.items():
        given = {*values, *warm[scope]}
        carried = {number for number, _ in stored[scope]} if stored else given
        duplicates += len(values) - len(given.difference(warm[scope]))
        gaps += max({0} | given | carried) - len(carried)
    return {"duplicates": duplicates, "gaps": gaps}


def _copies(items: Sequence[tuple[int, str]]) -> int:
    """How many items are copies: they store the same request as another item."""
    return len(items) - len({request for _, request in items})


def _each(total: float, numbers: int) -> float:
    return round(total / numbers, 8) if numbers else 0.0


def _balance(shares: Sequence[Share]) -> float:
    """The speed of the slowest process over the speed of the fastest; all have the same count, give or take one."""
    seconds = [share.ended - share.started for share in shares]
    return round(min(seconds) / max(seconds), 4)


def _milliseconds(latencies: Sequence[int], share: float) -> float:
    """The latency that `share` of the sorted nanoseconds do not exceed, in milliseconds; 0.0 if there are none."""
    if not latencies:
        return 0.0
    return round(latencies[min(len(latencies) - 1, int(share * len(latencies)))] / 1_000_000, 4)


def _middle(rows: Sequence[Row]) -> Row:
    """The rows of all rounds as one: the median of each figure, the worst of each fault."""
    merged = dict(rows[0])
    for key, value in merged.items():
        if key in FAULTS:
            merged[key] = max(row[key] for row in rows)
        elif isinstance(value, float):
            merged[key] = statistics.median(row[key] for row in rows)
    return merged
