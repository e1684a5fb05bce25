"""An audit in words: a title for each scope, and a line for each finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .report import AuditReport, ColumnReport, Findings

__all__ = ["findings_in_words", "title_in_words"]


def title_in_words(report: AuditReport) -> str:
    """How far a scope has counted, and how many there are of each kind."""
    scope = " ".join(filter(None, ["without scope" if report.scope is None else report.scope, report.period]))
    last = "nothing handed out" if report.last_value is None else f"last value {report.last_value}"
    return f"{report.sequence} {scope} ({report.strategy}): {', '.join([last, *_counts(report)])}"


def _counts(report: AuditReport) -> Iterator[str]:
    """The numbers that a change skipped are not called missing."""
    rows = report if isinstance(report, ColumnReport) else None
    yield f"{report.carried} {'in rows' if rows else 'stored'}"
    yield f"{report.missing - report.skipped} missing"
    if report.skipped:
        yield f"{report.skipped} skipped"
    if rows:
        yield f"{rows.duplicates.total} of several rows"
        yield f"{rows.unnumbered.total} rows without a number"
    else:
        yield f"{report.voids.total} void"
        yield f"{report.markers} markers"


def findings_in_words(report: AuditReport) -> Iterator[str]:
    """A line for each finding that the report lists, what is explained too, and how many more there are."""
    if report.went_back_to is not None:
        yield f"counter: went back to {report.went_back_to}, after {report.last_value} was handed out"
    for gap in report.gaps.listed:
        values = f"{gap.first}" if gap.count == 1 else f"{gap.first} to {gap.last} ({gap.count} values)"
        maybe = f", {gap.reason}" if gap.reason else ""
        explained = f", by {gap.by} at {gap.at}: {gap.reason}" if gap.by else maybe
        yield f"gap: {values}{' at the end' if gap.last == report.last_value else ''}{explained}"
    yield from _more("gaps", report.gaps)
    for void in report.voids.listed:
        signed = f"by {void.by} at {void.at}" if void.by and void.at else "without a signature"
        yield f"void: {void.value} {signed}: {void.reason or 'no reason given'}"
    yield from _more("voids", report.voids)
    for stray in report.strays.listed:
        yield f"stray row: {stray.sort_key} is {stray.problem}"
    yield from _more("stray rows", report.strays)
    for orphan in report.orphans.listed:
        yield f"marker without its item: token {orphan.token!r}, value {orphan.value}: {orphan.problem}"
    yield from _more("markers without their items", report.orphans)
    if isinstance(report, ColumnReport):
        yield from _of_columns(report)


def _of_columns(report: ColumnReport) -> Iterator[str]:
    for twice in report.duplicates.listed:
        more = f" and {twice.count - len(twice.rows)} more" if twice.count > len(twice.rows) else ""
        yield f"number of {twice.count} rows: {twice.value} of {', '.join(twice.rows)}{more}"
    yield from _more("numbers of several rows", report.duplicates)
    for each in report.unnumbered.listed:
        yield f"row without a number: {each.row}"
    yield from _more("rows without a number", report.unnumbered)


def _more(what: str, findings: Findings[Any]) -> Iterator[str]:
    if findings.total > len(findings.listed):
        yield f"{findings.total - len(findings.listed)} more {what}"
