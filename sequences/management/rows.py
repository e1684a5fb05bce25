"""How the commands that read write their rows: as text, JSON, or a line of JSON for each."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from django.core.management.base import BaseCommand

from sequences.ops.terminal import table

FORMATS = ("text", "json", "jsonl")

Row = Mapping[str, Any]


def write_rows(
    command: BaseCommand,
    rows: Iterable[Row],
    format: str,  # noqa: A002 - the name that the option has
    caption: str,
    *,
    left: int,
    quiet: Collection[str] = (),
) -> None:
    """Write rows that have the same names in the same order.

    As text it is a table at a terminal, whose first `left` columns hold texts, without empty and without `quiet` ones.
    Elsewhere it is a line for each row, with a tab between two cells, and without headings. "json" is one list, and
    "jsonl" writes each row as soon as it is there.
    """
    write = command.stdout.write
    if format == "json":
        write(json.dumps([plain(row) for row in rows]))
    elif format == "jsonl":
        for row in rows:
            write(json.dumps(plain(row)))
    elif command.stdout.isatty():
        write(_table(list(rows), caption, left, quiet))
    else:
        for row in rows:
            write("\t".join(map(_cell, row.values())))


def _table(rows: Sequence[Row], caption: str, left: int, quiet: Collection[str]) -> str:
    names = list(rows[0]) if rows else []
    texts = set(names[:left])
    kept = [name for name in names if name not in quiet and any(row[name] is not None for row in rows)]
    cells = [[_short(row[name]) for name in kept] for row in rows]
    headings = [name.replace("_", " ") for name in kept]
    return table(headings, cells, caption, left=sum(name in texts for name in kept))


def _short(value: object) -> str:
    """A value as people read it: no more digits than say something."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return f"{value:.3g}" if isinstance(value, float) else _cell(value)


def plain(row: Row) -> dict[str, Any]:
    """A row as JSON has it."""
    return {name: value.isoformat() if isinstance(value, date) else value for name, value in row.items()}


def _cell(value: object) -> str:
    """A value in one cell, which has neither tabs nor line breaks; empty for what is not known."""
    if value is None:
        return ""
    text = value.isoformat() if isinstance(value, date) else str(value)
    return "".join(character if character.isprintable() else " " for character in text)
