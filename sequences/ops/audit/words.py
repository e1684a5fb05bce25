"""The findings of an audit in words, a line for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .report import AuditReport, Findings

__all__ = ["findings_in_words"]


def findings_in_words(report: AuditReport) -> Iterator[str]:
    """A line for each finding that the report lists, what is explained too, and how many more there are."""
    if report.went_back_to is not None:
        yield f"counter: went back to {report.went_back_to}, after {report.last_value} was handed out"
    for gap in report.gaps.listed:
        values = f"{gap.first}" if gap.count == 1 else f"{gap.first} to {gap.last} ({gap.count} values)"
        explained = f", by {gap.by} at {gap.at}: {gap.reason}" if gap.by else ""
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


def _more(what: str, findings: Findings[Any]) -> Iterator[str]:
    if findings.total > len(findings.listed):
        yield f"{findings.total - len(findings.listed)} more {what}"
