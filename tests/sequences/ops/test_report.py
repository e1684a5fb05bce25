"""The report of an audit: how many findings it lists, which of them are unexplained, and its words."""

from typing import Any

import pytest

from sequences.ops.audit import report as module
from sequences.ops.audit.report import (
    AuditReport,
    Changed,
    ColumnReport,
    Duplicate,
    Findings,
    Gap,
    Orphan,
    Stray,
    Unnumbered,
    Void,
    findings_in_words,
    scope_in_words,
    title_in_words,
)

OF_ONE: dict[str, Any] = {"sequence": "orders", "scope": "A", "period": "", "strategy": "Any", "gaps_explained": False}


def found(*findings: Any) -> Findings[Any]:
    """These findings."""
    all_of_them: Findings[Any] = Findings()
    for finding in findings:
        all_of_them.add(finding)
    return all_of_them


@pytest.mark.parametrize(
    ("kind", "finding", "said"),
    [
        ("gaps", Gap(first=3, last=3, count=1), "gap: 3"),
        ("gaps", Gap(first=3, last=5, count=3), "gap: 3 to 5 (3 values)"),
        ("gaps", Gap(first=8, last=9, count=2), "gap: 8 to 9 (2 values) at the end"),
        ("gaps", Gap(first=3, last=3, count=1, reason="may be a rollback"), "gap: 3, may be a rollback"),
        ("gaps", Gap(first=3, last=3, count=1, by="ada", at="noon", reason="why"), "gap: 3, by ada at noon: why"),
        ("changed", Changed(value=3), "changed: 3 is not as it was stored: its digest is another"),
        ("changed", Changed(value=3, text="O-3"), "changed: 3 (O-3) is not as it was stored: its digest is another"),
        ("voids", Void(value=3, by="ada", at="noon", reason="twice"), "void: 3 by ada at noon: twice"),
        ("voids", Void(value=3, by="ada", at="noon", reason=""), "void: 3 by ada at noon: no reason given"),
        ("strays", Stray(sort_key="x", problem="not a whole number"), "stray row: x is not a whole number"),
        (
            "orphans",
            Orphan(token="t", value=3, problem="no item"),
            "marker without its item: token 't', value 3: no item",
        ),
        ("duplicates", Duplicate(value=3, count=2, rows=("a 1", "a 2")), "number of 2 rows: 3 of a 1, a 2"),
        ("duplicates", Duplicate(value=3, count=4, rows=("a 1", "a 2")), "number of 4 rows: 3 of a 1, a 2 and 2 more"),
        ("unnumbered", Unnumbered(row="a 1"), "row without a number: a 1"),
    ],
)
def test_the_line_of_a_finding(kind: str, finding: Any, said: str) -> None:
    """Each kind of finding has its line, in the report of rows as well as in that of items, if it is of both."""
    of_rows = kind in ("duplicates", "unnumbered")
    for report in [ColumnReport, *([] if of_rows else [AuditReport])]:
        assert [*findings_in_words(report(**{**OF_ONE, "last_value": 9, kind: found(finding)}))] == [said]


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("changed", "changed"),
        ("gaps", "gaps"),
        ("voids", "voids"),
        ("strays", "stray rows"),
        ("orphans", "markers without their items"),
        ("duplicates", "numbers of several rows"),
        ("unnumbered", "rows without a number"),
    ],
)
def test_how_many_more(kind: str, what: str) -> None:
    """What is not listed is counted."""
    assert [*findings_in_words(ColumnReport(**{**OF_ONE, kind: Findings(total=7)}))] == [f"7 more {what}"]


def test_the_counter_comes_first() -> None:
    """That a counter went back is said before all findings."""
    report = AuditReport(**OF_ONE, last_value=9, went_back_to=0, gaps=found(Gap(first=3, last=3, count=1)))
    assert [*findings_in_words(report)] == ["counter: went back to 0, after 9 was handed out", "gap: 3"]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many findings are listed, the first ones, and all are counted."""
    monkeypatch.setattr(module, "MOST_LISTED", 2)
    all_of_them = found(*"abc")
    assert (all_of_them.total, all_of_them.listed) == (3, ["a", "b"])


@pytest.mark.parametrize(
    ("counts", "unexplained"),
    [
        ({}, 0),
        ({"gaps": Findings(total=9), "explained_gaps": 2, "unjudged_gaps": 3}, 4),
        ({"strays": Findings(total=2), "orphans": Findings(total=3), "changed": Findings(total=4)}, 9),
        ({"unsigned_voids": 2, "voids": Findings(total=5)}, 2),
        ({"went_back_to": 0}, 1),
    ],
)
def test_what_is_unexplained(counts: dict[str, Any], unexplained: int) -> None:
    """Every finding is, but what a change explains, what cannot be judged, and voids with a signature."""
    assert AuditReport(**OF_ONE, **counts).unexplained == unexplained
    designed = AuditReport(**{**OF_ONE, "gaps_explained": True}, **counts)
    assert designed.unexplained == (0 if "gaps" in counts else unexplained)


@pytest.mark.parametrize(
    ("counts", "unexplained"),
    [
        ({"strays": Findings(total=2), "unnumbered": Findings(total=3)}, 0),
        ({"gaps": Findings(total=9), "explained_gaps": 2}, 7),
        ({"duplicates": Findings(total=2), "above": 3, "went_back_to": 4}, 6),
    ],
)
def test_what_is_unexplained_in_rows(counts: dict[str, Any], unexplained: int) -> None:
    """Rows without a number may be drafts, and strays are numbers of others, unless they are to be given again."""
    assert ColumnReport(**OF_ONE, **counts).unexplained == unexplained
    designed = ColumnReport(**{**OF_ONE, "gaps_explained": True}, **counts)
    assert designed.unexplained == (0 if "gaps" in counts else unexplained)


@pytest.mark.parametrize(
    ("scope", "period", "name", "said"),
    [
        (None, "", "", "without scope"),
        ("A", "", "", "A"),
        ("A", "2026", "Alpha", "A (Alpha) 2026"),
        (None, "2026", "", "without scope 2026"),
    ],
)
def test_the_words_of_a_scope(scope: str | None, period: str, name: str, said: str) -> None:
    """Its own name, the one that people call it by, and its period."""
    assert scope_in_words(scope, period, name) == said


def test_the_title_of_items() -> None:
    """What is skipped or changed is told if there is any, and the skipped are not called missing."""
    assert title_in_words(AuditReport(**OF_ONE)) == (
        "orders A (Any): nothing handed out, 0 stored, 0 missing, 0 void, 0 markers"
    )
    report = AuditReport(
        **{**OF_ONE, "name": "Alpha", "period": "2026"},
        last_value=20,
        carried=10,
        missing=9,
        skipped=4,
        markers=3,
        voids=Findings(total=2),
        changed=Findings(total=1),
    )
    assert title_in_words(report) == (
        "orders A (Alpha) 2026 (Any): last value 20, 10 stored, 5 missing, 4 skipped, 2 void, 3 markers, 1 changed"
    )


def test_the_title_of_rows() -> None:
    """Rows have no voids and no markers, but may have a number twice, or none."""
    report = ColumnReport(
        **OF_ONE, last_value=7, carried=6, missing=1, duplicates=Findings(total=2), unnumbered=Findings(total=3)
    )
    assert title_in_words(report) == (
        "orders A (Any): last value 7, 6 in rows, 1 missing, 2 of several rows, 3 rows without a number"
    )
