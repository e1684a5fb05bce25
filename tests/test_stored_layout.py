"""project/stored_rows.md names every kind of row that is stored, with its key and its attributes, and no others.

One of each kind is stored on the engine, by the functions that store it. What is found there is held against the page.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from project.paths import ROOT
from sequences import changes, dynamodb, get_next_values, put_next, series
from sequences.changes import switches
from sequences.ops.audit import audit
from sequences.ops.audit.results import AuditResult, KeptAudits
from sequences.registry import strategies
from sequences.rows import host_queue
from sequences.rows.host_queue import MOST_LOST
from sequences.strategies import BlockAllocator
from sequences.testing.embedded import Engine
from sequences.types import Dated, Scope
from tests.sequences.support import give_each_scope_its_place, tables_of
from tests.test_docs import cells
from tests.tickets.sales.support import LINES, drafted, issued
from tickets import moves, project_services, services
from tickets.access import members
from tickets.sales import services as sales
from tickets.timeline import services as timeline
from tickets.types import TicketKey

PAGE = (ROOT / "project" / "stored_rows.md").read_text(encoding="utf-8")
SIGNED: dict[str, Any] = {"by": "ann", "reason": "a test"}
STRATEGIES = "sequences.strategies"
COUNTED: dict[str, dict[str, Any]] = {
    "plain": {"STRATEGY": f"{STRATEGIES}.atomic.AtomicCounter"},
    "texts": {
        "STRATEGY": f"{STRATEGIES}.transactional.TransactionalCounter",
        "PERIOD": "year",
        "FORMAT": "{scope}-{period}-{value}",
        "DATE_ORDER": "refuse",
        "SERIES": "sequences",
        "OPTIONS": {"text_name": "text"},
    },
    "beside": {
        "STRATEGY": f"{STRATEGIES}.transactional.TransactionalCounter",
        "PERIOD": "year",
        "DATE_ORDER": "refuse",
        "SERIES": "sequences",
        "OPTIONS": {"counter_table": "sequence_items", "history_table": "sequences"},
    },
    "blocks": {"STRATEGY": f"{STRATEGIES}.block.BlockAllocator"},
    "highest": {"STRATEGY": f"{STRATEGIES}.sort_key.SortKeyMaximum"},
    "keyed": {
        "STRATEGY": f"{STRATEGIES}.atomic.AtomicCounter",
        "TABLE": "keyed",
        "OPTIONS": {"value_in": "attribute", "key_names": ["id"], "marker_table": "sequences"},
    },
}


class Kind(NamedTuple):
    """One kind of row, as the page has it: its table, its name, its key with {fields}, and its attributes."""

    table: str
    name: str
    key: tuple[str, ...]
    attributes: frozenset[str]

    def fits(self, table: str, key: tuple[str, ...]) -> bool:
        """Whether a stored row is of this kind."""
        return table == self.table and len(key) == len(self.key) and all(map(_fits, self.key, key))


def _fits(template: str, text: str) -> bool:
    parts = re.split(r"\{(\w+)\}", template)
    fields = {"value": r"\d+", "number": r"\d+", "year": r"\d{4}", "project": "[A-Z][A-Z0-9]*", "sequence": "[^#]+"}
    pattern = "".join(fields.get(part, ".+") if index % 2 else re.escape(part) for index, part in enumerate(parts))
    return re.fullmatch(pattern, text) is not None


def kinds() -> list[Kind]:
    """What the page says, in its order: a row is of the first kind that fits."""
    found = []
    for heading in re.findall(r"^## Table `(\w+)`$", PAGE, re.MULTILINE):
        part = PAGE.partition(f"\n## Table `{heading}`\n")[2].partition("\n## ")[0]
        for name, key, attributes, *_ in cells(part)[1:]:
            names = frozenset(re.findall("`(.*?)`", attributes))
            found.append(Kind(heading, name, tuple(re.findall("`(.*?)`", key)), names))
    return found


def stored(prefix: str) -> Iterator[tuple[str, tuple[str, ...], set[str]]]:
    """Every stored row: its table, its key as texts, and its other attributes."""
    for table in ("sequences", "sequence_items", "keyed", "tickets", "sales"):
        names = list(dynamodb.table_keys(prefix + table))
        for item in dynamodb.call("scan", {"TableName": prefix + table})["Items"]:
            key = tuple(next(iter(item[name].values())) for name in names)
            yield table, key, {_named(name) for name in item if name not in names}


def _named(attribute: str) -> str:
    """The name of an attribute; those of tallies have a number."""
    return re.sub(r"^d\d+$", "dDAY", re.sub(r"^h\d+$", "hHOUR", attribute))


def race(name: str, scope: Scope) -> None:
    """Let this host line up at the next write."""
    line = strategies[name].item_writer.line
    assert line is not None
    for _ in range(MOST_LOST):
        line.lost(scope)


def number_things(patch: pytest.MonkeyPatch) -> None:
    """Store one row of each kind that the sequences store."""
    for seconds in ("BELIEVED_SECONDS", "LINGER_SECONDS", "LONGEST_TURN"):  # a slow machine leaves no line
        patch.setattr(host_queue, seconds, 60.0)
    race("highest", "ABC")
    for name in COUNTED:
        more = {"id": "x", "title": "any"} if name == "keyed" else {}
        put_next(name, more, scope="ABC", idempotency_token="one")
    get_next_values(2, "plain", scope="ABC", idempotency_token="two")
    put_next("texts", {}, scope="ABC", idempotency_token="three", date=date(2025, 3, 4))
    put_next("texts", {"pk": "ABC", "sk": 7}, scope="ABC", idempotency_token="four")
    blocks = strategies["blocks"]
    assert isinstance(blocks, BlockAllocator)
    blocks.give_back()
    for name in ("texts", "beside"):
        switch_both_ways(name)  # before books are closed
        changes.close(name, "2024", **SIGNED)
        changes.close(name, f"{date.today().year}", at=datetime.now(UTC) + timedelta(days=1), **SIGNED)  # noqa: DTZ011
        changes.reopen(name, "2024", scope="other", **SIGNED)
    for name in ("plain", "beside"):
        changes.advance(name, to=20, scope="ABC", **SIGNED)
        changes.seed(name, 30, scope="ABC", **SIGNED)
    changes.void("highest", 1, scope="ABC", **SIGNED)
    for name in ("texts", "beside"):
        series.create(name, "B7", series.Line(format="B7-{value}", period="never"), **SIGNED)
        put_next(name, {}, scope="B7")
        series.name_scope(name, "B7", "Branch 7", **SIGNED)
    for name in ("plain", "beside", "highest"):
        changes.freeze(name, scope="ABC", **SIGNED)
        changes.thaw(name, scope="ABC", **SIGNED)
        changes.freeze(name, scope="ABC", **SIGNED)
    changes.freeze("texts", scope="ABC", period="2025", **SIGNED)
    put_next("highest", {}, scope="OTHER")
    switches.switch("highest", to="TransactionalCounter", scope="OTHER", **SIGNED)
    give_each_scope_its_place(patch)
    kept = KeptAudits(strategies["highest"])
    report = audit(strategies["highest"], "OTHER")
    kept.keep(AuditResult.of(report, by="ann", at=datetime.now(UTC), seconds=1.0))
    kept.begin("running", "ann")
    kept.stop(kept.begin("stopped", "ann"), "asked to")


def switch_both_ways(name: str) -> None:
    """Switch two scopes from a gapless strategy, and one of them back to it."""
    for scope in ("FAST", "GAPLESS"):
        put_next(name, {}, scope=scope)
        switches.switch(name, to="AtomicCounter", scope=scope, **SIGNED)
    switches.finish_switch(name, scope="GAPLESS", **SIGNED)


def run_the_sample() -> None:
    """Store one row of each kind that the sample stores."""
    for key in ("ABC", "XYZ", "OLD"):
        project_services.create_project(key=key, name=key, open="file", by="ann", idempotency_token=key)
    project_services.update_project("OLD", changes={"key": "NEW"}, by="ann")
    User.objects.create_user("bob")
    members.set_member("ABC", "bob", role="member", by="ann")
    content: dict[str, Any] = {"title": "a", "description": "b", "assignee": "bob", "labels": ["hot"]}
    race("tickets", "ABC")
    for project in ("ABC", "ABC", "ABC"):
        services.create_ticket(project, **content, reporter="ann", idempotency_token=None)
    services.create_ticket("ABC", **content, reporter="ann", idempotency_token="t")
    one, two, three = (TicketKey(project="ABC", number=number) for number in (1, 2, 3))
    services.update_ticket(one, version=None, changes={"title": "c"}, by="ann", idempotency_token="u")
    told = timeline.add_comment(one, text="well", by="ann", idempotency_token="c")
    timeline.edit_comment(told.ticket, told.comment.number, text="better", by="ann", version=None)
    timeline.withdraw_comment(told.ticket, told.comment.number, by="ann")
    services.void_ticket(two, by="ann", reason="twice", idempotency_token="v")
    services.void_ticket(three, by="ann", reason="twice")
    services.restore_ticket(three, by="ann", reason="not twice")
    moved = moves.move_ticket(one, to="XYZ", by="ann").ticket
    moves.move_ticket(moved.key, to="NEW", by="ann")
    changes.void("tickets", 4, scope="ABC", **SIGNED)
    race("invoices", Dated.of(None, "2026"))
    invoice = issued(date(2026, 1, 2))
    sales.void_invoice(invoice.key.text, reason="wrong", by="ann")
    sales.create_order(customer="Ada", lines=LINES, by="ann", idempotency_token="o")
    issued(date(2026, 1, 2))
    changes.void("orders", drafted(), **SIGNED)


@pytest.fixture
def found(engine: Engine, db: None) -> Iterator[list[tuple[str, tuple[str, ...], set[str]]]]:
    """Every row that is stored when one of each kind is."""
    with tables_of({**settings.SEQUENCES, **COUNTED}, engine.endpoint) as prefix, pytest.MonkeyPatch.context() as patch:
        number_things(patch)
        run_the_sample()
        yield list(stored(prefix))


def test_every_row_is_on_the_page(found: list[tuple[str, tuple[str, ...], set[str]]]) -> None:
    """Each stored row is of a kind that the page names, and each kind has the attributes that the page names for it."""
    told: dict[Kind | None, set[str]] = defaultdict(set)
    for table, key, attributes in found:
        kind = next((kind for kind in kinds() if kind.fits(table, key)), None)
        assert kind, f"the page names no row {key} in {table}"
        told[kind] |= attributes
    assert [kind.name for kind in kinds() if kind not in told] == []
    wrong = {(kind.table, kind.name): kind.attributes ^ told[kind] for kind in kinds()}
    assert {kind: names for kind, names in wrong.items() if names} == {}
