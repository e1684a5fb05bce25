"""gunicorn's master files tickets and takes values, before and while it forks its workers.

gunicorn reads this as its configuration. The master writes a line for each value that it got to the file that
`PRELOADED_TOLD` names.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

__all__ = ["PROJECT", "TOLD", "preload_app", "when_ready"]

TOLD = "PRELOADED_TOLD"
PROJECT = "PRE"
BLOCKS = "sequences.strategies.block.BlockAllocator"

preload_app = True


def when_ready(server: object) -> None:
    """Use the sequences. gunicorn calls this in the master, after the import of the application, before it forks."""
    from django.conf import settings

    from sequences.registry import strategies
    from tickets.project_services import create_project

    orders = settings.SEQUENCES["orders"]
    in_blocks = {**orders, "STRATEGY": BLOCKS, "OPTIONS": {**orders["OPTIONS"], "block_size": 8}}
    settings.SEQUENCES = {**settings.SEQUENCES, "orders": in_blocks}
    strategies.reset()
    create_project(key=PROJECT, name="Preloaded", by="the master")
    for number in range(3):
        use(number)
    threading.Thread(target=go_on, daemon=True).start()


def go_on() -> None:
    """Go on using the sequences."""
    number = 3
    while True:
        use(number)
        number += 1
        time.sleep(0.05)


def use(number: int) -> None:
    """File a ticket, take a value of `orders`, and record both values."""
    from sequences import get_next_value
    from tickets.services import create_ticket

    ticket = create_ticket(PROJECT, title=f"{number} of the master", reporter="the master").ticket
    with Path(os.environ[TOLD]).open("a") as told:
        told.write(json.dumps({"ticket": ticket.key.number, "order": get_next_value("orders")}) + "\n")
