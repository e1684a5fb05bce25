"""What gunicorn's master does before it forks its workers, and while it does: it files tickets and takes values.

gunicorn reads this as its configuration. The file that `PRELOADED_TOLD` names gets a line for each value that the
master was told.
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
BLOCKS = {"STRATEGY": "sequences.strategies.block.BlockAllocator", "OPTIONS": {"block_size": 8}}

preload_app = True


def when_ready(server: object) -> None:
    """gunicorn calls it in the master, when the application is imported and no worker has been forked."""
    from django.conf import settings

    from sequences.registry import strategies
    from tickets.services import create_project

    settings.SEQUENCES = {**settings.SEQUENCES, "orders": BLOCKS}
    strategies.reset()
    create_project(key=PROJECT, name="Preloaded", by="the master")
    for number in range(3):
        use(number)
    threading.Thread(target=go_on, daemon=True).start()


def go_on() -> None:
    """Use the sequences all the while."""
    number = 3
    while True:
        use(number)
        number += 1
        time.sleep(0.005)


def use(number: int) -> None:
    """File a ticket and take an order's value, and write down what was told."""
    from sequences import get_next_value
    from tickets.services import create_ticket

    ticket = create_ticket(PROJECT, title=f"{number} of the master", reporter="the master").ticket
    with Path(os.environ[TOLD]).open("a") as told:
        told.write(json.dumps({"ticket": ticket.key.number, "order": get_next_value("orders")}) + "\n")
