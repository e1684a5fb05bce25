"""A library's process: takes numbers as the library's README shows, with the same item as we do.

This file runs under the peers' Python, so it imports nothing of ours. dynamodb-autoincrement runs on the embedded
engine, as we do. django-sequences runs on PostgreSQL; it takes the number and inserts the item in one transaction.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

AUTOINCREMENT, DJANGO_SEQUENCES = "dynamodb-autoincrement 0.2.0", "django-sequences 3.1"


@dataclass(frozen=True, kw_only=True)
class Task:
    """The task of a peer's process. `where` is the engine's address, or the folder of PostgreSQL's socket."""

    peer: str
    where: str
    items_table: str
    counters_table: str
    scope: str
    item: dict[str, str]
    writers: int
    count: int


def main(task: Task) -> None:
    """Do the task, and print the seconds and the values."""
    work = asyncio.run(use_autoincrement(task)) if task.peer == AUTOINCREMENT else use_django_sequences(task)
    print(json.dumps({"seconds": work[0], "values": work[1]}))


def shares(task: Task) -> list[int]:
    """How many numbers each writer takes."""
    return [task.count // task.writers + (index < task.count % task.writers) for index in range(task.writers)]


async def use_autoincrement(task: Task) -> tuple[float, list[int]]:
    """Use dynamodb-autoincrement as its README shows: one resource, and `put` by many tasks at a time."""
    import aioboto3  # type: ignore[import-not-found]
    from dynamodb_autoincrement import DynamoDBAutoIncrement  # type: ignore[import-not-found]

    async with aioboto3.Session().resource("dynamodb", endpoint_url=task.where) as dynamodb:
        peer = DynamoDBAutoIncrement(
            dynamodb=dynamodb,
            counter_table_name=task.counters_table,
            counter_table_key={"sequence": "tickets", "scope": task.scope},
            attribute_name="sk",
            table_name=task.items_table,
            initial_value=1,
        )

        async def write(count: int) -> list[int]:
            return [int(await peer.put({"pk": task.scope, **task.item})) for _ in range(count)]

        await write(1)  # warm
        started = time.perf_counter()
        values = await asyncio.gather(*map(write, shares(task)))
        return time.perf_counter() - started, [value for found in values for value in found]


def use_django_sequences(task: Task) -> tuple[float, list[int]]:
    """Use django-sequences as its README shows: `get_next_value` and the insert in one transaction, in many threads."""
    prepare_django(task)
    from django.db import connection, transaction

    from sequences import get_next_value

    insert = "INSERT INTO items (scope, number, item) VALUES (%s, %s, %s)"
    item = json.dumps(task.item)

    def write_one() -> int:
        with transaction.atomic():
            value = int(get_next_value(task.scope))
            with connection.cursor() as cursor:
                cursor.execute(insert, [task.scope, value, item])
        return value

    ready = threading.Barrier(task.writers + 1)

    def write(count: int) -> list[int]:
        write_one()  # opens the connection of this thread
        ready.wait()
        ready.wait()
        return [write_one() for _ in range(count)]

    with ThreadPoolExecutor(task.writers) as pool:
        futures = [pool.submit(write, count) for count in shares(task)]
        ready.wait()
        started = time.perf_counter()
        ready.wait()
        values = [value for future in futures for value in future.result()]
    return time.perf_counter() - started, values


def prepare_django(task: Task) -> None:
    """Configure Django, and create the table of the peer and a table for the items."""
    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "postgres",
        "USER": "postgres",
        "HOST": task.where,
    }
    settings.configure(
        DATABASES={"default": {**database, "CONN_MAX_AGE": None}},
        INSTALLED_APPS=["sequences"],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    django.setup()
    call_command("migrate", verbosity=0)
    columns = "scope varchar, number bigint, item jsonb, PRIMARY KEY (scope, number)"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE IF NOT EXISTS items ({columns})")


if __name__ == "__main__":
    main(Task(**json.loads(sys.argv[1])))
