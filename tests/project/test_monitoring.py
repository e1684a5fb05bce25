"""The rules for Prometheus and the dashboard for Grafana ask for metrics, labels and outcomes that there are."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from promql_parser import AggregateExpr, Expr, MatrixSelector, VectorSelector

from project.commands.docs import write_reference
from project.gauges import BUILD, GAUGES
from project.paths import ROOT
from sequences import exceptions
from sequences.metrics import INSTRUMENTS
from sequences.metrics.prometheus import Prometheus, exposition
from sequences.ops.watching import ALARMS
from tests.test_docs import cells, section
from tickets.metrics import INSTRUMENTS as OF_SITE

RULES = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana.json").read_text(encoding="utf-8"))
MEASURED = r"^\| `((?:sequences|tickets)_\w+)` \| (`.*?`) \| "
"""A row of the reference about a metric: its name, and its labels."""
GAUGE = r"^\| `(tickets_\w+)` \| [^`|]"
OF_PROMETHEUS = {"job", "instance"}
"""The labels that each series gets when it is read."""
OUTCOMES = {"stored", "taken", "replayed", "ok", "conflict", "throttled", "not_sent", "lost", "refused"}
OUTCOMES |= set(exceptions.__all__)


@cache
def exported() -> dict[str, set[str]]:
    """The labels of every series of the site by its name, as it is read; and of what Prometheus makes itself."""
    for instrument in (*INSTRUMENTS, *OF_SITE):
        Prometheus().record(instrument, 1, tuple("test" for _ in instrument.labels))
    samples = [one for family in text_string_to_metric_families(exposition().decode()) for one in family.samples]
    found = {sample.name: {*sample.labels} for sample in samples if re.match("sequences_|tickets_", sample.name)}
    made = {rule["record"]: {"job", "sequence", "outcome"} for rule in rules() if "record" in rule}
    build = {BUILD[0]: {"version", "revision"}}
    return {**found, **{name: set() for name in GAUGES}, **build, **made, "up": set()}


def rules() -> Iterator[dict[str, Any]]:
    """All rules, recorded and alerting ones."""
    return (rule for group in RULES for rule in group["rules"])


def panels() -> Iterator[dict[str, Any]]:
    """The panels of the dashboard that show something."""
    return (panel for panel in DASHBOARD["panels"] if panel["type"] != "row")


def of_panels() -> list[str]:
    """The expressions of all panels, with a span in the place of the dashboard's own."""
    return [one["expr"].replace("$__rate_interval", "5m") for panel in panels() for one in panel["targets"]]


def questions() -> list[str]:
    """The expressions of all rules and panels."""
    return [*(rule["expr"] for rule in rules()), *of_panels()]


def parts(question: str) -> list[Expr]:
    """An expression and all that is in it."""
    found: list[Expr] = []
    promql_parser.walk(promql_parser.parse(question), found.append)
    return found


def selectors(question: str) -> list[VectorSelector]:
    """The series that an expression asks for."""
    found = [part.vector_selector if isinstance(part, MatrixSelector) else part for part in parts(question)]
    return [one for one in found if isinstance(one, VectorSelector)]


@pytest.mark.parametrize("question", questions())
def test_what_it_asks_for_exists(question: str) -> None:
    """Each series is exported, has the labels that are asked for, and can have the outcome."""
    asked = selectors(question)
    assert asked
    for one in asked:
        assert one.name in exported()
        for matcher in one.matchers.matchers:
            assert matcher.name in exported()[one.name] | OF_PROMETHEUS
            assert matcher.name != "outcome" or set(matcher.value.split("|")) <= OUTCOMES


@pytest.mark.parametrize("question", questions())
def test_it_groups_by_labels_that_there_are(question: str) -> None:
    """What a sum keeps apart is a label of each series in it."""
    for one in parts(question):
        if isinstance(one, AggregateExpr) and one.modifier:
            inside = [exported()[each.name or ""] for each in selectors(one.prettify())]
            assert set(one.modifier.labels) <= set.intersection(*inside) | OF_PROMETHEUS


def test_every_alert_says_what_to_do() -> None:
    """It has a summary, a remedy and a severity, and names only labels that there are."""
    alerts = [rule for rule in rules() if "alert" in rule]
    assert len(alerts) > 10
    for alert in alerts:
        assert alert["labels"]["severity"] in {"page", "ticket"}
        assert set(alert["annotations"]) == {"summary", "remedy"}
        named = re.findall(r"\$labels\.(\w+)", alert["annotations"]["summary"])
        kept = [exported()[one.name or ""] for one in selectors(alert["expr"])]
        assert set(named) <= set.intersection(*kept) | OF_PROMETHEUS


def test_nothing_rings_for_what_is_designed() -> None:
    """No alert is about throttled attempts and lost races, which a scope at its ceiling has all day."""
    asked = "".join(rule["expr"] for rule in rules())
    assert not re.search(r"throttled|conflict|failed_attempts|capacity_units", asked)


def test_the_page_says_where_to_look_first() -> None:
    """Each alarm of the template has a row. A rule of Prometheus has its own remedy."""
    _, *rows = cells(section("docs/watching.md", "What rings"))
    assert {alarm.strip("`") for alarm, *_ in rows} == {*ALARMS, "Limit"}
    assert all(wrong and first for _, wrong, first in rows)


def test_the_dashboard_shows_every_metric() -> None:
    """Each metric that the site exports is in a panel; the panels have places of their own."""
    shown = {without_ending(one.name) for question in of_panels() for one in selectors(question)}
    ours = {without_ending(name) for name in exported() if name.startswith(("sequences_", "tickets_"))}
    assert ours - shown == set()
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_reference_names_every_metric(tmp_path: Path) -> None:
    """Each metric that the site exports is in its table under its name, with its labels, and no other."""
    write_reference(tmp_path / "reference")
    page = (tmp_path / "reference" / "metrics.md").read_text(encoding="utf-8")
    measured = {name: {*re.findall("`(.*?)`", labels)} for name, labels in re.findall(MEASURED, page, re.MULTILINE)}
    ours = {name: labels for name, labels in exported().items() if name.startswith(("sequences_", "tickets_"))}
    for name, labels in measured.items():
        assert ours.get(name, ours.get(f"{name}_count")) == labels, name
    listed = {*measured, *re.findall(GAUGE, page, re.MULTILINE)}
    assert {without_ending(name) for name in listed} == {without_ending(name) for name in ours}


def without_ending(name: str | None) -> str:
    """The name of a metric, from that of one of its series."""
    return re.sub("_(created|count|sum|bucket|total)$", "", name or "")
