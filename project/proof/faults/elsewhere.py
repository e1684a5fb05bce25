"""What other processes of the application do in a test: they store items, and record when.

These functions run in a pool of processes with `begin` as its initializer. They take and return plain values.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from project.proof.faults.history import Event

__all__ = [
    "ALONE",
    "HASTY",
    "HELD",
    "SEQUENCES",
    "begin",
    "impatient",
    "patient",
    "put_elsewhere",
    "put_many",
]

READ_SECONDS = 0.12
"""The seconds that impatient clients wait for an answer. It is short, so that tests of hangs are quick."""

SEQUENCES: dict[str, dict[str, Any]] = {
    "atomic": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"},
    "block": {"STRATEGY": "sequences.strategies.block.BlockAllocator"},
    "optimistic-update": {"STRATEGY": "sequences.strategies.optimistic.OptimisticCounter"},
    "optimistic-put": {
        "STRATEGY": "sequences.strategies.optimistic.OptimisticCounter",
        "OPTIONS": {"write": "put"},
    },
    "transactional": {"STRATEGY": "sequences.strategies.transactional.TransactionalCounter"},
    "transactional-beside": {
        "STRATEGY": "sequences.strategies.transactional.TransactionalCounter",
        "OPTIONS": {"counter_table": "sequence_items"},
    },
    "sort-key": {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum"},
}
"""Every strategy, with the options that change its writes. The tables are the default ones."""


def varied(word: str, **options: Any) -> dict[str, dict[str, Any]]:
    """Every sequence again under another name, with some options changed."""
    return {
        f"{word}-{name}": {**entry, "OPTIONS": {**entry.get("OPTIONS", {}), **options}}
        for name, entry in SEQUENCES.items()
    }


ALONE = varied("alone", group=False)
"""The same without group commit: every caller writes for itself."""

HASTY = varied("hasty", deadline=0.2)
"""The same with a short deadline, for tests of giving up."""

HELD = varied("held", deadline=2.0)
"""The same for the quiet scopes of the soak: it holds their writes beyond this deadline."""


def impatient() -> dict[str, dict[str, Any]]:
    """SEQUENCES_CLIENTS as it is, with a default client that waits only for READ_SECONDS."""
    from django.conf import settings

    clients: dict[str, dict[str, Any]] = settings.SEQUENCES_CLIENTS
    return {**clients, "default": {**clients["default"], "READ_TIMEOUT": READ_SECONDS}}


def patient() -> dict[str, dict[str, Any]]:
    """SEQUENCES_CLIENTS with a client that waits a minute: a fresh engine on a busy machine makes tables slowly."""
    from django.conf import settings

    lean = settings.SEQUENCES_CLIENTS.get("default", {}).get("LEAN", True)
    return {"default": {"LEAN": lean, "READ_TIMEOUT": 60.0}}


def begin(endpoint: str, prefix: str, *, patiently: bool = True) -> None:
    """Make this process a process of the application, on this engine. `patiently`, it waits for a busy machine."""
    os.environ.update(
        AWS_ENDPOINT_URL_DYNAMODB=endpoint,
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        AWS_DEFAULT_REGION="us-east-1",
        DJANGO_SETTINGS_MODULE="project.settings.development",
    )
    import django
    from django.conf import settings

    django.setup()
    settings.SEQUENCES, settings.TABLE_PREFIX = {**SEQUENCES, **ALONE, **HASTY, **HELD}, prefix
    if patiently:
        settings.SEQUENCES_CLIENTS = patient()


def put_elsewhere(sequence: str, item: dict[str, Any], scope: str, token: str | None) -> tuple[int, bool]:
    """Store an item. Returns its value, and whether it was stored before."""
    from sequences import put_next

    allocation = put_next(sequence, item, scope=scope, idempotency_token=token)
    return allocation.value, allocation.replayed


def put_many(sequence: str, scope: str, threads: int, count: int) -> list[Event]:
    """Store `threads * count` items by this many threads. Returns when each call began and ended, and its value."""
    from sequences import put_next

    def one(index: int) -> Event:
        began = time.monotonic()
        value = put_next(sequence, {"index": index}, scope=scope).value
        return Event(began, time.monotonic(), value)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(threads * count)))
