"""The committed runs of the lab, with the day, the engine and the cores: the races, and the comparisons of the docs.

`manage.py record_races` renews the races, and `manage.py compare_strategies --record "A title"` the comparison of that
title.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.utils import timezone

from project.lab.plan import Row
from project.lab.races import Race
from sequences.testing.embedded import find_binary

__all__ = ["COMPARISONS", "RACES", "Comparison", "Conditions", "comparisons", "keep_comparison", "keep_races", "races"]

RACES = Path(__file__).with_name("races.json")
COMPARISONS = Path(__file__).with_name("comparisons.json")


@dataclass(frozen=True, slots=True)
class Conditions:
    """When and on what a run was made."""

    on: str
    engine: str
    cores: int

    @classmethod
    def here(cls) -> Conditions:
        """Those of this moment."""
        binary = find_binary()
        command = [str(binary), "--version"]
        engine = subprocess.check_output(command, text=True).strip() if binary else "moto"  # noqa: S603 - our own binary
        return cls(timezone.localdate().isoformat(), engine, os.cpu_count() or 1)

    @property
    def day(self) -> datetime.date:
        """The day of the run."""
        return datetime.date.fromisoformat(self.on)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One recorded comparison: the command that made it, and the rows of `comparison.compare`."""

    title: str
    command: str
    conditions: Conditions
    rows: Sequence[Row]


@cache
def races() -> tuple[Conditions, Sequence[Race]]:
    """The recorded races. Reads the file once in each process."""
    record = json.loads(RACES.read_text(encoding="utf-8"))
    return Conditions(**record["conditions"]), [Race.of_record(row) for row in record["races"]]


def keep_races(found: Iterable[Race], path: Path = RACES) -> None:
    """Write a record of these races: one a line, so that changes can be read."""
    rows = ",\n".join(_json(race.record()) for race in found)
    path.write_text(f'{{"conditions":{_json(asdict(Conditions.here()))},"races":[\n{rows}\n]}}\n', encoding="utf-8")


@cache
def comparisons() -> Sequence[Comparison]:
    """The recorded comparisons. Reads the file once in each process."""
    return _comparisons(COMPARISONS)


def keep_comparison(title: str, command: str, rows: Sequence[Row], path: Path = COMPARISONS) -> None:
    """Record a comparison, in place of the one with the same title."""
    known = {one.title: one for one in _comparisons(path)} if path.exists() else {}
    known[title] = Comparison(title, command, Conditions.here(), rows)
    path.write_text("[\n" + ",\n".join(map(_lines, known.values())) + "\n]\n", encoding="utf-8")


def _comparisons(path: Path) -> Sequence[Comparison]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Comparison(**{**one, "conditions": Conditions(**one["conditions"])}) for one in found]


def _lines(comparison: Comparison) -> str:
    """A comparison in JSON with one row a line, so that changes can be read."""
    record = asdict(comparison)
    rows = ",\n".join(_json(row) for row in record.pop("rows"))
    return f'{_json(record)[:-1]},"rows":[\n{rows}\n]}}'


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
