"""A program that numbers things by the version of `sequences` that it imports, as it is asked line by line.

    python numbering.py

Each line of its input is a call as JSON, and so is each line that it prints. It ends when its input ends. It uses
nothing that version 0.1.0 lacks, but where it says so.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.util import find_spec
from typing import Any

import django
from django.conf import settings
from django.core.management import CommandError, call_command

STRATEGIES = "sequences.strategies"
SEQUENCES: dict[str, dict[str, Any]] = {
    "added": {"STRATEGY": f"{STRATEGIES}.atomic.AtomicCounter"},
    "stepping": {"STRATEGY": f"{STRATEGIES}.atomic.AtomicCounter", "START": 1001, "STEP": 10},
    "optimistic": {"STRATEGY": f"{STRATEGIES}.optimistic.OptimisticCounter"},
    "put-whole": {"STRATEGY": f"{STRATEGIES}.optimistic.OptimisticCounter", "OPTIONS": {"write": "put"}},
    "blocks": {"STRATEGY": f"{STRATEGIES}.block.BlockAllocator", "OPTIONS": {"block_size": 4}},
    "transactional": {"STRATEGY": f"{STRATEGIES}.transactional.TransactionalCounter"},
    "beside": {
        "STRATEGY": f"{STRATEGIES}.transactional.TransactionalCounter",
        "OPTIONS": {"counter_table": "sequence_items", "history_table": "sequences"},
    },
    "invoices": {
        "STRATEGY": f"{STRATEGIES}.transactional.TransactionalCounter",
        "PERIOD": "year",
        "FORMAT": "{scope}-{year}-{value:06d}",
        "OPTIONS": {"text_name": "text"},
    },
    "highest": {"STRATEGY": f"{STRATEGIES}.sort_key.SortKeyMaximum"},
    "padded": {
        "STRATEGY": f"{STRATEGIES}.sort_key.SortKeyMaximum",
        "TABLE": "padded_items",
        "OPTIONS": {"sort_key": "{value:06d}"},
    },
    "keyed": {
        "STRATEGY": f"{STRATEGIES}.atomic.AtomicCounter",
        "TABLE": "keyed",
        "OPTIONS": {"value_in": "attribute", "key_names": ["id"], "marker_table": "sequences"},
    },
}
AT_FIRST = {"padded": {"sort_key": "padded", "width": 6}}
"""Options as the first version wrote them."""

GAPLESS = ("transactional", "beside", "invoices", "highest", "padded")
LISTED = ("beside", "highest", "padded")
"""The sequences that have a list of their scopes beside their counters or items; 0.1.0 made none."""

RESERVING = ("added", "stepping", "optimistic", "put-whole", "blocks")
SCOPE = "ABC"
DAY, YEAR = date(2026, 3, 5), "2026"
THREADS = 3


def version() -> list[str]:
    """The version, and the folder from which it is imported."""
    import sequences

    return [sequences.__version__, os.path.dirname(os.path.dirname(sequences.__file__))]  # noqa: PTH120


def put(sequence: str, token: str) -> int:
    """Store one item, with what it needs beside its title."""
    from sequences import put_next

    item = {"title": token, **({"id": token} if sequence == "keyed" else {})}
    return put_next(sequence, item, scope=SCOPE, idempotency_token=token, **_dated(sequence)).value


def put_all(sequence: str, tokens: list[str]) -> list[int]:
    """Store one item for each token, by threads."""
    with ThreadPoolExecutor(THREADS) as pool:
        return [*pool.map(lambda token: put(sequence, token), tokens)]


def take(sequence: str, count: int, token: str) -> list[int]:
    """Take values without items."""
    from sequences import get_next_values

    return [*get_next_values(count, sequence, scope=SCOPE, idempotency_token=token, **_dated(sequence))]


def last(sequence: str) -> int | None:
    """The highest value that was handed out."""
    from sequences import get_last_value

    return get_last_value(sequence, scope=SCOPE, **_dated(sequence))


def change(kind: str, sequence: str, arguments: dict[str, Any]) -> None:
    """Make a guarded change."""
    from sequences import changes

    period = {"period": YEAR} if sequence == "invoices" else {}
    getattr(changes, kind)(
        sequence, *arguments.pop("values", ()), scope=SCOPE, by="ann", reason=kind, **period, **arguments
    )


def audit(sequence: str) -> str:
    """What the audit prints, and why it fails; it must not."""
    try:
        call_command("sequences", "audit", sequence, "--scope", SCOPE, *_in_year(sequence), stdout=sys.stderr)
    except (CommandError, SystemExit) as error:
        return f"{sequence}: {error}"
    return ""


def create_tables() -> None:
    """Make the tables that are missing."""
    call_command("create_tables", stdout=sys.stderr)


def history(sequence: str) -> list[list[str]]:
    """The guarded changes, the newest first."""
    from sequences import changes

    return [[change.kind, change.by, change.reason] for change in changes.history(sequence)[0]]


def read(sequence: str) -> dict[str, int]:
    """The values of all items by their titles; 0.1.0 cannot do this."""
    from sequences import items

    return {one.item["title"]: one.value for one in items(sequence, scope=SCOPE, **_dated(sequence))}


def find(sequence: str, text: str) -> int | None:
    """The value of the item with this text; 0.1.0 cannot do this."""
    from sequences import find

    found = find(text, sequence)
    return found.value if found else None


def register(sequence: str) -> None:
    """List the scopes of earlier rows; 0.1.0 cannot do this."""
    call_command("sequences", "register", sequence, stdout=sys.stderr)


def audit_all(sequence: str) -> str:
    """What the audit of all scopes prints."""
    output = io.StringIO()
    call_command("sequences", "audit", sequence, stdout=output)
    return output.getvalue()


def _dated(sequence: str) -> dict[str, Any]:
    return {"date": DAY} if sequence == "invoices" else {}


def _in_year(sequence: str) -> list[str]:
    return ["--period", YEAR] if sequence == "invoices" else []


CALLS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        version,
        put,
        put_all,
        take,
        last,
        change,
        audit,
        create_tables,
        history,
        read,
        find,
        register,
        audit_all,
    )
}


def answer(lines: Iterable[str]) -> None:
    """Answer each line by one: `answer`, or the class of the error and its text."""
    for line in lines:
        name, *arguments = json.loads(line)
        try:
            answered = {"answer": CALLS[name](*arguments)}
        except Exception as error:  # noqa: BLE001 - the test judges it
            answered = {"error": type(error).__name__, "text": str(error)}
        print(json.dumps(answered), flush=True)


def take_options_of_this_version() -> None:
    """Write the options as the first version did, if it is this one, which has no rooms."""
    if find_spec("sequences.rows") is None:
        for sequence, options in AT_FIRST.items():
            SEQUENCES[sequence]["OPTIONS"] = options


if __name__ == "__main__":
    settings.configure(
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "sequences"],
        SEQUENCES=SEQUENCES,
        USE_TZ=True,
    )
    take_options_of_this_version()
    django.setup()
    answer(sys.stdin)
