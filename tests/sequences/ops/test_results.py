"""The short form of an audit that is kept, and how the results of several scopes come together."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from sequences.ops.audit.report import AuditReport, Findings, Gap
from sequences.ops.audit.results import EVERY, AuditResult, KeptAudits, _plain, _result, _taken
from sequences.registry import strategies

AT = datetime(2026, 1, 2, tzinfo=UTC)
RESULT = AuditResult(
    sequence="letters",
    scope="A",
    period="2026",
    by="ada",
    at=AT,
    seconds=1.5,
    stored=5,
    missing=4,
    gaps=3,
    voids=2,
    unexplained=1,
    last_value=9,
    findings=("a", "b", "c"),
)
OTHER = replace(
    RESULT,
    scope="B",
    at=AT + timedelta(seconds=1),
    seconds=0.5,
    stored=50,
    missing=2,
    gaps=30,
    voids=20,
    unexplained=10,
    last_value=90,
    findings=("d", "e", "f"),
)


@pytest.mark.parametrize(
    ("unexplained", "said"),
    [(0, "everything is explained"), (1, "1 finding is unexplained"), (2, "2 findings are unexplained")],
)
def test_the_verdict(unexplained: int, said: str) -> None:
    """It says how many findings have no explanation."""
    assert replace(RESULT, unexplained=unexplained).verdict == said


def test_the_result_of_a_report() -> None:
    """It has the counts of the report, and the first five findings in at most 200 characters each."""
    gaps = [Gap(first=n, last=n, count=1, reason="x" * 300) for n in range(1, 7)]
    report = AuditReport(
        sequence="letters",
        scope="A",
        period="2026",
        strategy="SortKeyMaximum",
        gaps_explained=False,
        last_value=9,
        carried=5,
        missing=6,
        gaps=Findings(total=6, listed=gaps),
        voids=Findings(total=2, listed=[]),
        unsigned_voids=1,
    )
    found = AuditResult.of(report, by="ada", at=AT, seconds=1.5)
    words = [f"gap: {n}, {'x' * 300}"[:200] for n in range(1, 6)]
    assert found == replace(RESULT, missing=6, gaps=6, unexplained=7, findings=tuple(words))


def test_every_scope() -> None:
    """The result of every scope has the sums, the first five findings, and the time of the last."""
    first = RESULT.for_all("2026")
    assert first == replace(RESULT, scope=None, last_value=None, every_scope=True)
    assert RESULT.for_all().period == ""
    assert first.with_scope(OTHER) == replace(
        first,
        at=OTHER.at,
        seconds=2.0,
        stored=55,
        missing=6,
        gaps=33,
        voids=22,
        unexplained=11,
        scopes=2,
        findings=("a", "b", "c", "d", "e"),
    )


def test_items_and_rows() -> None:
    """The rows of the same numbers add what is unexplained and their findings; a number is missing only once."""
    assert RESULT.with_rows(OTHER) == replace(
        RESULT,
        at=OTHER.at,
        seconds=2.0,
        missing=4,
        gaps=30,
        unexplained=11,
        findings=("a", "b", "c", "in rows: d", "in rows: e"),
    )


@pytest.mark.parametrize("result", [RESULT, RESULT.for_all(), replace(RESULT, seconds=0.0014, findings=())])
def test_what_is_kept(result: AuditResult) -> None:
    """A result comes back as it was kept, its time to the millisecond; nothing is kept of what is None."""
    kept = _plain(result)
    assert None not in kept.values()
    assert kept["milliseconds"] == round(1000 * result.seconds)
    assert _result({"result": kept}) == replace(result, seconds=round(result.seconds, 3))
    assert _result({"token": "one"}) is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"of": "A", "by": "ada", "began_at": "noon"}, "the scope 'A' by ada is running here since noon: wait"),
        ({"of": EVERY, "by": "ada", "began_at": "noon"}, "An audit of every scope by ada is"),
        ({"of": f"{EVERY}2026", "by": "ada", "began_at": "noon"}, "An audit of every scope by ada is"),
        ({}, "the scope None by somebody is running here since a moment: wait"),
    ],
)
def test_a_place_that_is_taken(row: dict[str, Any], said: str) -> None:
    """The error says by whom and since when."""
    assert said in str(_taken(row))


def test_where_it_is_kept(settings: Settings) -> None:
    """The place of a scope follows from its name alone, in every process and release."""
    settings.SEQUENCES = {"letters": {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum"}}
    kept = KeptAudits(strategies["letters"])
    assert [kept._key(text) for text in ("A", "#", EVERY)] == [
        {"sequence": {"S": "#audits#letters"}, "scope": {"S": place}} for place in ("016", "297", "126")
    ]
