"""What can be watched, as Markdown tables: metrics, lines of the log, and alarms of the template."""

from __future__ import annotations

from collections.abc import Iterable

from ..capabilities import as_table
from ..logs import ABOUT_FIELDS, EVENTS
from ..metrics import INSTRUMENTS, Instrument
from .alarms import ALARMS, LIMIT


def metrics_table(instruments: Iterable[Instrument] = INSTRUMENTS) -> str:
    """Every instrument under its name for Prometheus, with its labels."""
    rows = [[f"`{_for_prometheus(one)}`", _codes(one.labels), one.about] for one in instruments]
    return as_table(["Metric", "Labels", "Tells"], rows)


def _for_prometheus(instrument: Instrument) -> str:
    endings = [instrument.unit, "" if instrument.buckets else "total"]
    return "_".join([*instrument.name.split("."), *filter(None, endings)])


def log_tables() -> str:
    """Every event of the log, by which alarms go, and every field of a line."""
    events = as_table(["`event`", "Means"], [[f"`{name}`", about] for name, about in EVENTS.items()])
    fields = as_table(["Field", "Is"], [[f"`{name}`", about] for name, about in ABOUT_FIELDS.items()])
    return f"{events}\n\n{fields}"


def alarms_table() -> str:
    """Every alarm of the template, with what makes it ring."""
    alarms = {**ALARMS, "Limit": LIMIT}
    return as_table(
        ["Alarm", "Means", "Rings if"], [[f"`{name}`", one.about, one.rings_if] for name, one in alarms.items()]
    )


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
