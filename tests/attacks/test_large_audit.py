"""An audit of a large scope finds all problems that were put into it and no others, in bounded memory.

With `LARGE=1` in the environment the scope has 100,000 rows, which takes about a minute.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from sequences import dynamodb
from sequences.ops.audit import AuditReport, Gap, Void, audit
from sequences.registry import strategies
from tests.sequences.support import set_counter

ROWS = 100_000 if "LARGE" in os.environ else 14_000
MOST_BYTES = 3_200_000
"""The most bytes that the audit may use. A list of all rows needs more."""

SCOPE = "large"
NAME = "transactional"

MISSING, VOIDS, UNSIGNED, STRAYS, MARKERS, ORPHANS, ROBBED = 300, 60, 20, 15, 400, 25, 25


@dataclass
class Sprinkled:
    """The problems in the scope, drawn with a seed. Each list has a value only once."""

    missing: set[int]
    voids: dict[int, Void]
    unsigned: set[int]
    strays: list[int | Decimal]
    markers: set[int]
    orphans: set[int]
    robbed: set[int]

    @classmethod
    def drawn(cls, seed: int) -> Sprinkled:
        draws = random.Random(seed)
        missing = {1, 2, *draws.sample(range(3, ROWS), MISSING)}
        carried = draws.sample(sorted(set(range(1, ROWS)) - missing), VOIDS + UNSIGNED + MARKERS + ROBBED)
        drawn = iter(carried)
        voids = {
            value: Void(value=value, by="somebody", at="2026-01-01", reason=f"because of {value}")
            for value in itertools.islice(drawn, VOIDS)
        }
        unsigned, markers, robbed = (set(itertools.islice(drawn, count)) for count in (UNSIGNED, MARKERS, ROBBED))
        strays: list[int | Decimal] = [
            -7,
            Decimal("0.5"),
            Decimal("4.25"),
            *(ROWS + number for number in range(1, STRAYS)),
        ]
        orphans = set(draws.sample(sorted(missing), ORPHANS))
        return cls(missing, voids, unsigned, strays, markers, orphans, robbed)

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows of items and of markers, in the form of the engine."""
        strategy = strategies[NAME]
        for number in itertools.chain(self.strays, (n for n in range(1, ROWS + 1) if n not in self.missing)):
            key = dynamodb.marshal({"pk": strategy.layout.partition(SCOPE), "sk": number})
            yield {**key, **dynamodb.marshal(self.content(number))}
        for value in sorted(self.markers | self.orphans | self.robbed):
            marker = {"token": f"{value}", "value": value, "items": 1}
            yield {**strategy.markers.key(SCOPE, f"{value}"), **dynamodb.marshal(marker)}

    def content(self, number: int | Decimal) -> dict[str, Any]:
        """The attributes of an item."""
        token = {"token": "another's" if number in self.robbed else f"{number}", "title": "x" * 20}
        if number in self.unsigned:
            return {**token, "void": {"reason": "nobody says"}}
        void = self.voids.get(int(number)) if number == int(number) else None
        return {**token, "void": {"by": void.by, "at": void.at, "reason": void.reason}} if void else token

    def gaps(self) -> list[Gap]:
        """The missing values; neighbours form one gap."""
        runs = itertools.groupby(enumerate(sorted(self.missing)), lambda pair: pair[1] - pair[0])
        values = [[value for _, value in run] for _, run in runs]
        return [Gap(first=run[0], last=run[-1], count=len(run)) for run in values]


def store(rows: Iterable[Mapping[str, Any]]) -> None:
    """Store rows without the sequence, 25 at a time."""
    table, rows = strategies[NAME].schema.table, iter(rows)
    while batch := [{"PutRequest": {"Item": row}} for row in itertools.islice(rows, 25)]:
        assert not dynamodb.call("batch_write_item", {"RequestItems": {table: batch}})["UnprocessedItems"]


@pytest.fixture(scope="module")
def sprinkled(configured: str) -> Sprinkled:
    """The problems in the large scope, which is stored now."""
    sprinkled = Sprinkled.drawn(seed=1)
    store(sprinkled.rows())
    set_counter(NAME, SCOPE, last_value=ROWS, highest=ROWS, own_keys=0, own_keys_after=0)
    return sprinkled


@pytest.fixture(scope="module")
def report(sprinkled: Sprinkled) -> tuple[AuditReport, int]:
    """The report of the audit, and the most bytes of memory that it used.

    What else this process allocates meanwhile counts, too: it does so once, and not in each of three audits.
    """
    for _ in range(3):
        found, most = audited()
        if most < MOST_BYTES:
            break
    return found, most


def audited() -> tuple[AuditReport, int]:
    """The report of one audit, and the most bytes that were in use meanwhile."""
    gc.collect()
    tracemalloc.start()
    try:
        report = audit(strategies[NAME], SCOPE)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return report, most


def test_it_finds_what_was_sprinkled(sprinkled: Sprinkled, report: tuple[AuditReport, int]) -> None:
    """Gaps, voids, stray rows and orphaned markers are reported, each as it is, and nothing else."""
    found, _ = report
    assert (found.last_value, found.carried, found.missing) == (
        ROWS,
        ROWS - len(sprinkled.missing),
        len(sprinkled.missing),
    )
    assert found.gaps.listed == sprinkled.gaps()
    signed = [void for void in found.voids.listed if void.by]
    assert signed == [void for _, void in sorted(sprinkled.voids.items())]
    assert {void.value for void in found.voids.listed if not void.by} == sprinkled.unsigned
    assert found.unsigned_voids == UNSIGNED
    assert sorted(stray.sort_key for stray in found.strays.listed) == sorted(map(str, sprinkled.strays))
    assert {orphan.value for orphan in found.orphans.listed} == sprinkled.orphans | sprinkled.robbed
    assert found.markers == MARKERS + ORPHANS + ROBBED
    assert found.went_back_to is None
    assert found.unexplained == len(sprinkled.gaps()) + len(sprinkled.strays) + ORPHANS + ROBBED + UNSIGNED


def test_it_tells_orphans_apart(sprinkled: Sprinkled, report: tuple[AuditReport, int]) -> None:
    """A marker whose item is missing is another finding than one whose item is another request's."""
    orphans = report[0].orphans.listed
    missing = {orphan.value for orphan in orphans if "no item" in orphan.problem}
    assert missing == sprinkled.orphans
    assert {orphan.value for orphan in orphans if "another" in orphan.problem} == sprinkled.robbed


def test_its_memory_is_bounded(sprinkled: Sprinkled, report: tuple[AuditReport, int]) -> None:
    """The audit never holds as much as a list of the keys of all rows would."""
    tracemalloc.start()
    partition = strategies[NAME].layout.partition(SCOPE)
    everything = [{"pk": partition, "sk": n, **sprinkled.content(n)} for n in range(ROWS)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(everything) == ROWS
    assert report[1] < MOST_BYTES < most
