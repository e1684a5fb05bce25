"""What is kept of audits: how far a running one is, and the result of the last one of a scope.

Each process sees it. It is beside the history of a sequence, in at most PLACES rows of one partition, so that nothing
has to be deleted. A scope's place follows from a hash of its name. Two scopes may have the same place: then one waits
for the other, and the later result is kept.

    row  token, of, by, began_at   the audit that began last in this place, and its scope
         lease_until               while it runs; the process renews it, unless it dies
         done, wanted, problem     how far it is, and why it stopped
         result                    of the last audit of that scope that came to its end
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Self

from ... import dynamodb
from ...commit.retries import new_token, read, write_once
from ...dynamodb import expressions
from ...exceptions import AuditRefused, TableMissing, WriteCancelled
from ...registry import strategies
from ...strategies.base import Strategy
from ...types import Dated, Scope, scope_text
from .report import AuditReport, findings_in_words

PLACES = 400  # of a sequence: one query reads them all
LEASE_SECONDS = 60  # a page of items takes up to 10 s
MOST_WORDS, LONGEST_WORDS = 5, 200

EVERY = "##"
"""Stands for every scope of a sequence in one result, with a period after it for those of that. No scope begins so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditResult:
    """How one audit ended, of one scope, or of every scope (`every_scope`): by whom, when, and what it found.

    `stored` counts the numbers that items carry, and `missing` those that none carries, which are in so many `gaps`.
    `unexplained` counts the findings without an explanation; `findings` says the first few in words.
    """

    sequence: str
    scope: str | None
    period: str
    by: str
    at: datetime
    seconds: float
    stored: int
    missing: int
    gaps: int
    voids: int
    unexplained: int
    last_value: int | None = None
    scopes: int = 1
    every_scope: bool = False
    findings: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        if not self.unexplained:
            return "everything is explained"
        return "1 finding is unexplained" if self.unexplained == 1 else f"{self.unexplained} findings are unexplained"

    @classmethod
    def of(cls, report: AuditReport, *, by: str, at: datetime, seconds: float) -> Self:
        """The result of an audit of one scope, in the short form that is kept."""
        same = ("sequence", "scope", "period", "missing", "unexplained", "last_value")
        return cls(
            **{name: getattr(report, name) for name in same},
            by=by,
            at=at,
            seconds=seconds,
            stored=report.carried,
            gaps=report.gaps.total,
            voids=report.voids.total,
            findings=tuple(words[:LONGEST_WORDS] for words in islice(findings_in_words(report), MOST_WORDS)),
        )

    def with_scope(self, other: Self) -> Self:
        """This result of every scope, with one scope more."""
        counts = ("stored", "missing", "gaps", "voids", "unexplained", "scopes", "seconds")
        sums = {name: getattr(self, name) + getattr(other, name) for name in counts}
        return replace(self, at=other.at, findings=(*self.findings, *other.findings)[:MOST_WORDS], **sums)

    def with_rows(self, other: Self) -> Self:
        """This result of items, with what was found in the rows that have the same numbers."""
        found = (*self.findings, *(f"in rows: {words}" for words in other.findings))[:MOST_WORDS]
        more = {name: max(getattr(self, name), getattr(other, name)) for name in ("missing", "gaps")}
        unexplained, seconds = self.unexplained + other.unexplained, self.seconds + other.seconds
        return replace(self, at=other.at, findings=found, unexplained=unexplained, seconds=seconds, **more)

    def for_all(self, period: str = "") -> Self:
        """This result of one scope as the first of every scope, or of every scope of a period."""
        return replace(self, scope=None, period=period, last_value=None, every_scope=True)


def results_of(reports: Iterable[AuditReport], by: str) -> Iterator[tuple[AuditReport, AuditResult]]:
    """Each report as soon as it is there, with its result, whose seconds are those since the report before it."""
    began = time.monotonic()
    for report in reports:
        now, at = time.monotonic(), datetime.fromtimestamp(strategies[report.sequence].wall(), UTC)
        yield report, AuditResult.of(report, by=by, at=at, seconds=now - began)
        began = now


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRun:
    """An audit that began: by whom and when, how many of the values it has read, and whether it runs.

    `wanted` is 0 until that is known. One that neither runs nor has ended has stopped: `problem` says why, if its
    process could say it.
    """

    token: str
    of: str
    by: str
    began_at: datetime
    done: int = 0
    wanted: int = 0
    problem: str = ""
    runs: bool
    ended: bool


class KeptAudits:
    """The audits of one sequence that are kept."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.schema = strategy.history.schema
        self.partition = f"#audits#{strategy.alias}"

    def _key(self, text: str) -> dict[str, Any]:
        place = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % PLACES
        return {"sequence": {"S": self.partition}, "scope": {"S": f"{place:03d}"}}

    def look(self, scope: Scope) -> tuple[AuditRun | None, AuditResult | None]:
        """The audit of a scope that began last, and the result of the last one that ended. One consistent read."""
        text = scope_text(scope)
        row = self._row(text)
        if row.get("of") != text:
            return None, None
        return self._run(row), _result(row)

    def _row(self, text: str) -> Mapping[str, Any]:
        answer = read("get_item", expressions.read_item(self.schema.table, self._key(text)), client=self.schema.client)
        return dynamodb.unmarshal(answer.get("Item", {}))

    def _run(self, row: Mapping[str, Any]) -> AuditRun:
        lease = row.get("lease_until")
        told = {name: row[name] for name in ("token", "of", "by", "done", "wanted", "problem") if name in row}
        return AuditRun(
            **told,
            began_at=datetime.fromisoformat(row["began_at"]),
            runs=lease is not None and lease > self.strategy.wall(),
            ended=lease is None and "problem" not in row,
        )

    def begin(self, text: str, by: str) -> AuditRun:
        """Take the place of a scope, which is given as text, for an audit that begins now.

        Costs one read and one conditional write. Raises AuditRefused while another one has the place.
        """
        row, now = self._row(text), self.strategy.wall()
        if row and self._run(row).runs:
            raise _taken(row)
        begun = {
            "token": new_token(),
            "of": text,
            "by": by,
            "began_at": datetime.fromtimestamp(now, UTC).isoformat(),
            "done": 0,
            "wanted": 0,
            "lease_until": int(now) + LEASE_SECONDS,
        }
        outdated = ["problem", *(["result"] if row.get("of") != text else [])]
        if not self._change(text, row.get("token"), begun, outdated):
            raise _taken(self._row(text))
        return self._run(begun)

    def renew(self, run: AuditRun, done: int, wanted: int) -> bool:
        """Store how far a running audit is; False if another one has its place. One write."""
        lease = int(self.strategy.wall()) + LEASE_SECONDS
        return self._change(run.of, run.token, {"done": done, "wanted": wanted, "lease_until": lease}, [])

    def finish(self, run: AuditRun, result: AuditResult) -> bool:
        """Keep the result of an audit that came to its end; False if another one has its place. One write."""
        return self._change(run.of, run.token, {"result": _plain(result)}, ["lease_until", "problem"])

    def stop(self, run: AuditRun, problem: str) -> bool:
        """Keep why an audit stopped before its end; False if another one has its place. One write."""
        return self._change(run.of, run.token, {"problem": problem[:LONGEST_WORDS]}, ["lease_until"])

    def _change(self, text: str, token: str | None, sets: Mapping[str, Any], removes: list[str]) -> bool:
        """Change the row of a place; False if it has not this token, or any for None.

        A repeat of the write knows itself by a new token.
        """
        key, unchanged = self._key(text), {"token": token}
        request = expressions.change_row(self.schema.table, key, unchanged=unchanged, sets=sets, removes=removes)
        try:
            write_once("update_item", request, token=sets.get("token", ""), client=self.schema.client)
        except WriteCancelled:
            return False
        return True

    def keep(self, result: AuditResult) -> None:
        """Keep the result of an audit that was not begun here. Costs one read and two writes.

        Raises AuditRefused while another audit has the place.
        """
        every = f"{EVERY}{result.period}"
        text = every if result.every_scope else scope_text(Dated.of(result.scope, result.period))
        self.finish(self.begin(text, result.by), result)


def latest_audits(strategy: Strategy) -> list[AuditResult]:
    """The results that are kept of a sequence, the latest first; none if no audit was ever kept, or none can be kept.

    Cost: one query of at most PLACES rows of about 0.5 KB, 0.5 read units for 4 KB. It may miss what ended a second
    ago. Raises SequenceUnavailable and StorageRefused.
    """
    if not strategy.history.is_apart:
        return []
    kept = KeptAudits(strategy)
    request = expressions.query_numbers(
        kept.schema, kept.partition, newest_first=False, limit=PLACES, consistent=False, attributes=["result"]
    )
    try:
        answer = read("query", request, client=kept.schema.client)
    except TableMissing:
        return []
    results = [result for row in map(dynamodb.unmarshal, answer["Items"]) if (result := _result(row))]
    return sorted(results, key=lambda result: result.at, reverse=True)


def _plain(result: AuditResult) -> dict[str, Any]:
    told = {**asdict(result), "at": result.at.isoformat(), "findings": list(result.findings)}
    told["milliseconds"] = round(1000 * told.pop("seconds"))
    return {name: value for name, value in told.items() if value is not None}


def _result(row: Mapping[str, Any]) -> AuditResult | None:
    if "result" not in row:
        return None
    told = {"scope": None, **row["result"]}
    seconds, at = told.pop("milliseconds") / 1000, datetime.fromisoformat(told.pop("at"))
    return AuditResult(at=at, seconds=seconds, findings=tuple(told.pop("findings")), **told)


def _taken(row: Mapping[str, Any]) -> AuditRefused:
    of = row.get("of")
    whose = "every scope" if str(of).startswith(EVERY) else f"the scope {of!r}"
    return AuditRefused(
        f"An audit of {whose} by {row.get('by', 'somebody')} is running here since {row.get('began_at', 'a moment')}: "
        "wait for its end."
    )
