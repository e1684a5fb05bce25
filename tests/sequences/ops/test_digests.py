"""Items that keep a digest of their content, and audits that name those which somebody has changed."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from sequences import changes, dynamodb, get_item, put_next, put_next_together
from sequences.actions import TEXT, VALUE
from sequences.changes import put_at
from sequences.exceptions import InvalidItem, InvalidSequence
from sequences.ops.audit import AuditReport, audit
from sequences.ops.audit.listing import export_numbers
from sequences.ops.audit.report import findings_in_words, title_in_words
from sequences.registry import strategies
from sequences.storage import digest_of

pytestmark = pytest.mark.usefixtures("own_sequences")

PATH = "sequences.strategies"
SHARED: dict[str, Any] = {"DIGEST": "digest", "FORMAT": "INV-{scope}-{value:04d}", "GIVEN": True}
SEQUENCES: dict[str, dict[str, Any]] = {
    "sorted": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", **SHARED, "OPTIONS": {"text_name": "text"}},
    "transactional": {"STRATEGY": f"{PATH}.transactional.TransactionalCounter", **SHARED},
    "atomic": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", **SHARED},
}
WHO: dict[str, Any] = {"by": "ana", "reason": "a test"}
ITEM: dict[str, Any] = {"total": 12, "lines": [{"text": "Paper", "price": 4}], "tags": {"b", "a"}}
every_one = pytest.mark.parametrize("name", list(SEQUENCES))


def row_of(name: str, value: int, scope: str | None = "A") -> dict[str, Any]:
    """The stored row of a value."""
    request = {"TableName": strategies[name].schema.table, "Key": strategies[name].layout.key(scope, value)}
    return dynamodb.unmarshal(dynamodb.call("get_item", request)["Item"])


def store(name: str, row: dict[str, Any]) -> None:
    """Store a row behind the sequence's back."""
    dynamodb.call("put_item", {"TableName": strategies[name].schema.table, "Item": dynamodb.marshal(row)})


def audited(name: str) -> AuditReport:
    """The report on the scope of the tests."""
    return audit(strategies[name], "A")


def changed(name: str) -> list[int]:
    """The values that an audit calls changed."""
    report = audited(name)
    assert report.unexplained == report.changed.total
    return [one.value for one in report.changed.listed]


@every_one
def test_each_way_to_store_items(name: str) -> None:
    """Each item has the digest of its row, and an audit finds nothing: alone, repeated, together, given, and void."""
    put_next(name, ITEM, scope="A")
    told = [put_next(name, {**ITEM, "number": VALUE, "named": TEXT}, scope="A", idempotency_token="one") for _ in "ab"]
    put_next_together(name, [ITEM, {"total": 1}], scope="A")
    put_at(name, 9, ITEM, scope="A", **WHO)
    put_at(name, 9, ITEM, scope="A", **WHO)
    changes.void(name, 2, scope="A", **WHO)
    assert [one.replayed for one in told] == [False, True]
    for value in (1, 2, 3, 4, 9):
        row = row_of(name, value)
        assert row["digest"] == digest_of(name, row)
        item = get_item(name, value, scope="A")
        assert item is not None
        assert (item.digest, "digest" in item.item) == (row["digest"], False)
    report = audited(name)
    assert (report.changed.total, report.voids.total) == (0, 2 if name == "sorted" else 1)
    assert not any("digest" in note for note in report.notes)


@every_one
def test_what_somebody_has_changed(name: str) -> None:
    """An audit names each item that was changed past the application: an attribute, one more, or another place."""
    for _ in range(5):
        put_next(name, ITEM, scope="A")
    rows = {value: row_of(name, value) for value in range(1, 6)}
    store(name, {**rows[1], "total": 13})
    store(name, {**rows[2], "lines": [{"text": "Paper", "price": 3}]})
    store(name, {**rows[3], "note": "paid"})
    store(name, {**rows[4], "sk": 5})
    assert changed(name) == [1, 2, 3, 5]


def test_a_changed_text(settings: Settings) -> None:
    """The text that stands on the document is content, too; a void item keeps its content."""
    for _ in range(2):
        put_next("sorted", ITEM, scope="A")
    store("sorted", {**row_of("sorted", 1), "text": "INV-A-0002"})
    changes.void("sorted", 2, scope="A", **WHO)
    store("sorted", {**row_of("sorted", 2), "total": 0})
    assert changed("sorted") == [1, 2]


def test_where_an_audit_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    """In its words, in the command, which exits with 1, in its CSV, and in an export."""
    put_next("sorted", ITEM, scope="A")
    assert "changed" not in title_in_words(audited("sorted"))
    store("sorted", {**row_of("sorted", 1), "total": 13})
    report = audited("sorted")
    assert "1 changed" in title_in_words(report)
    assert next(findings_in_words(report)) == ("changed: 1 (INV-A-0001) is not as it was stored: its digest is another")
    for form in ("text", "csv", "json"):
        output = StringIO()
        with pytest.raises(CommandError):
            call_command("sequences", "audit", "sorted", format=form, stdout=output)
        assert "changed" in output.getvalue()
    lines = list(csv.reader(b"".join(export_numbers(strategies["sorted"], "A")).decode("utf-8-sig").splitlines()))
    assert [(line[3], line[4], line[6]) for line in lines[1:]] == [
        ("stored", "1", "INV-A-0001"),
        ("changed", "1", "INV-A-0001"),
    ]


def test_items_without_a_digest(settings: Settings) -> None:
    """Items from before there was a digest are no findings; a note says how many there are."""
    put_next("sorted", ITEM, scope="A")
    row = row_of("sorted", 1)
    del row["digest"]
    store("sorted", row)
    report = audited("sorted")
    assert report.unexplained == 0
    assert any(note.startswith("1 items have no digest") for note in report.notes)


def test_what_it_takes(settings: Settings) -> None:
    """A digest takes no request and no unit more."""
    with_digest = put_next("transactional", ITEM, scope="A", idempotency_token="one")
    plain = {key: told for key, told in SEQUENCES["transactional"].items() if key != "DIGEST"}
    settings.SEQUENCES = {"transactional": plain}
    without = put_next("transactional", ITEM, scope="B", idempotency_token="two")
    assert "digest" not in row_of("transactional", 1, "B")
    assert (with_digest.attempts, with_digest.write_units) == (without.attempts, without.write_units)


@pytest.mark.parametrize("taken", ["token", "text", "void", "pk", "sk", "value", "marker_expires_at"])
def test_names_that_are_taken(settings: Settings, taken: str) -> None:
    """The attribute is another one than those that the sequence has already."""
    settings.SEQUENCES = {"sorted": {**SEQUENCES["sorted"], "DIGEST": taken}}
    with pytest.raises(InvalidSequence, match=r"\['DIGEST'\] is '.*': another attribute has this name"):
        strategies["sorted"]


def test_an_item_that_brings_one() -> None:
    """The sequence alone writes it."""
    with pytest.raises(InvalidItem, match="'digest', which the sequence writes itself"):
        put_next("sorted", {"digest": "0"}, scope="A")
