"""What can be watched is listed by commands, out of the code."""

import logging
import re
from io import StringIO

import pytest
from django.core.management import call_command
from pytest_django import Settings

from sequences import get_next_value, put_next
from sequences.exceptions import SequenceExhausted
from sequences.logs import ABOUT_FIELDS, EVENTS, FIELDS
from sequences.metrics import INSTRUMENTS, Instrument
from sequences.ops.watching import ALARMS, alarms_table, log_tables, metrics_table
from sequences.rows.rules import RULES

PATH = "sequences.strategies"


def listed(name: str) -> set[str]:
    """The code in the table that a command prints."""
    printed = StringIO()
    call_command("sequences", name, stdout=printed)
    return set(re.findall("`(.*?)`", printed.getvalue()))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("metrics", {label for one in INSTRUMENTS for label in one.labels}),
        ("log", {*EVENTS, *FIELDS}),
        ("alarms", {*ALARMS, "Limit"}),
        ("rules", {*RULES}),
    ],
)
def test_a_command_lists_all_that_there_is(name: str, known: set[str]) -> None:
    """Each label, event, field, alarm and setting is in its table."""
    assert known
    assert known - listed(name) == set()


def cells(table: str) -> list[list[str]]:
    """The cells of a Markdown table, without the line below its head."""
    head, rule, *rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in table.splitlines()]
    assert set("".join(rule)) <= set("|- ")
    return [head, *rows]


def test_the_table_of_metrics() -> None:
    """Each has the name that Prometheus has for it: its unit at the end, and `total` after a sum."""
    instruments = [
        Instrument("a.sum.of", ["x", "y"], "How many."),
        Instrument("a.time", [], "How long.", "seconds", buckets=(1.0,)),
        Instrument("a.size", ["x"], "How large.", buckets=(1.0,)),
    ]
    assert cells(metrics_table(instruments)) == [
        ["Metric", "Labels", "Tells"],
        ["`a_sum_of_total`", "`x`, `y`", "How many."],
        ["`a_time_seconds`", "", "How long."],
        ["`a_size`", "`x`", "How large."],
    ]


def test_the_tables_of_the_log() -> None:
    """The first has the events, and the second the fields of a line."""
    events, fields = log_tables().split("\n\n")
    assert cells(events) == [["`event`", "Means"], *([f"`{name}`", about] for name, about in EVENTS.items())]
    assert cells(fields) == [["Field", "Is"], *([f"`{name}`", about] for name, about in ABOUT_FIELDS.items())]


def test_the_table_of_alarms() -> None:
    """Each has what it means, and when it rings."""
    head, *rows = cells(alarms_table())
    assert head == ["Alarm", "Means", "Rings if"]
    assert [name for name, *_ in rows] == [f"`{name}`" for name in (*ALARMS, "Limit")]


def test_lines_have_fields_that_are_listed(
    endpoint: str, table_prefix: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """A stored item, a scope that is nearly used up, and a call that failed have no other fields, and known events."""
    settings.SEQUENCES = {
        "orders": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "MAXIMUM": 2},
        "letters": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", "TABLE": "letters"},
    }
    call_command("create_tables", verbosity=0)
    with caplog.at_level("INFO", "sequences"):
        put_next("letters", {}, scope="A", idempotency_token="one")
        get_next_value("orders")
        get_next_value("orders")
        with pytest.raises(SequenceExhausted):
            get_next_value("orders")
    usual = vars(logging.makeLogRecord({})).keys() | {"message", "asctime"}
    fields = {name for record in caplog.records for name in vars(record).keys() - usual}
    assert {"value", "event", "error"} < fields <= listed("log")
    assert {vars(one)["event"] for one in caplog.records if "event" in vars(one)} == {"call_failed", "nearly_used_up"}
