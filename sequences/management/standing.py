"""`manage.py sequences list`, `show`, `register` and `doctor`: the scopes, and whether the tables are sound."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from sequences.changes.arguments import counted_in
from sequences.management.arguments import Options, add_period, add_prefix, add_scope, one_scope
from sequences.management.rows import FORMATS, Row, write_rows
from sequences.ops.audit.results import AuditResult, latest_audits
from sequences.ops.costs import cost_of_thousand
from sequences.ops.doctor import Verdict, diagnose
from sequences.ops.overview import SCOPES_A_PAGE, ScopeFigures, overview, scope_figures
from sequences.ops.register import register
from sequences.registry import configured, strategies
from sequences.strategies import Strategy
from sequences.types import named_scope, parted, scope_text

QUIET = ("strategy", "approximate", "cost_of_thousand", "cost_of_thousand_with_tokens", "last_audit")
"""What a table at a terminal leaves out, so that it is not too wide."""

INNER = ("failure", "hand")
"""Of a finding, what is no column."""

SCOPES_EXAMINED = 100


def _listed(options: Options, problems: list[str]) -> Iterator[Row]:
    """A row for each of the first scopes of every sequence, as the administration's overview shows them."""
    for figures in overview(list(configured())):
        if figures.trouble:
            problems.append(f"{figures.alias}: {figures.trouble}")
        note = figures.trouble or figures.unlisted or ("there are more scopes" if figures.has_more else "")
        for scope in figures.scopes or (None,):  # one row without figures if no scope can be shown
            yield _row(figures.alias, figures.strategy, scope, figures.audit, note)


def _shown(options: Options, problems: list[str]) -> Iterator[Row]:
    """A row for each scope of a sequence, or for the one that is named."""
    strategy = strategies[options["alias"]]
    audit = next(iter(latest_audits(strategy)), None)
    if options["scope"] is None:
        counters = strategy.scopes.counters(options["period"] or "", prefix=options["prefix"] or "")
    else:
        named = counted_in(strategy.alias, one_scope(options), options["period"])
        counters = iter([strategy.scopes.one(parted(named))])
    while page := [*islice(counters, SCOPES_A_PAGE)]:
        yield from (_row(strategy.alias, strategy, figures, audit) for figures in scope_figures(strategy, page))


def _registered(options: Options, problems: list[str]) -> Iterator[Row]:
    """A row for each scope that is put in the list of its sequence."""
    named = None if options["scope"] is None else map(named_scope, options["scope"])
    for listed in register(options["alias"], named, period=options["period"]):
        scope, period = parted(listed)
        yield {"sequence": options["alias"], "scope": scope_text(scope), "period": period or None}


def _examined(options: Options, problems: list[str]) -> Iterator[Row]:
    """A row for each finding about sequences, their scopes, clients and tables."""
    findings = diagnose(thorough=True, most_scopes=options["scopes"]).findings
    if unsound := sum(finding.verdict is Verdict.UNSOUND for finding in findings):
        problems.append(f"Unsound: {unsound}.")
    unread = {one.reason: one for one in reversed(findings) if one.failure}  # the first one of each reason
    problems += [f"Not read: {one.about} of {one.subject}. {one.reason} {one.remedy}" for one in unread.values()]
    return ({name: told for name, told in asdict(one).items() if name not in INNER} for one in findings)


def _row(
    alias: str, strategy: Strategy | None, figures: ScopeFigures | None, audit: AuditResult | None, note: str = ""
) -> Row:
    counter, rates = (figures.counter, figures.rates) if figures else (None, None)
    return {
        "sequence": alias,
        "scope": counter and scope_text(counter.scope),
        "period": (counter.period or None) if counter else None,
        "strategy": type(strategy).__name__ if strategy else None,
        "last_value": counter and _number(counter.last_value),
        "last_at": figures and figures.last_at,
        "hour": rates and rates.hour,
        "day": rates and rates.day,
        "month": rates and rates.month,
        "approximate": rates and rates.approximate,
        "share_used": figures and figures.usage.share,
        "ends_on": figures and figures.usage.ends_on,
        "cost_of_thousand": _cost(strategy),
        "cost_of_thousand_with_tokens": _cost(strategy, tokens=True),
        "last_audit": audit and audit.at,
        "audit_verdict": audit and audit.verdict,
        "frozen": counter and counter.frozen,
        "note": note or None,
        "name": (counter.name or None) if counter else None,
    }


def _cost(strategy: Strategy | None, *, tokens: bool = False) -> float | None:
    cost = cost_of_thousand(strategy, tokens=tokens) if strategy else None
    return None if cost is None else float(cost)


def _number(value: Any) -> Any:
    """A value; what somebody has stored in its place as a text."""
    return value if value is None or isinstance(value, int) else str(value)


def _add_show(parser: ArgumentParser) -> None:
    parser.add_argument("alias", help="a key of the setting SEQUENCES")
    scopes = parser.add_mutually_exclusive_group()
    add_scope(scopes, "every scope")
    add_prefix(scopes)
    add_period(parser, "all of them, or with --scope today's")


def _add_register(parser: ArgumentParser) -> None:
    parser.add_argument("alias", help="a key of the setting SEQUENCES")
    add_scope(parser, "all that the table of its items has, by a scan", action="append")
    parser.add_argument("--period", help='with --scope: the period, such as "2026"; without it, the one of today')


def _add_doctor(parser: ArgumentParser) -> None:
    about = "at how many scopes of each sequence it looks; 0 for none"
    parser.add_argument("--scopes", type=int, default=SCOPES_EXAMINED, help=f"{about}; {SCOPES_EXAMINED} by default")


@dataclass(frozen=True)
class Reading:
    """One command that reads: what it is for, its rows, its own arguments, and how many columns hold texts.

    Its rows are made from the options; what makes the command end with 1, after everything is written, goes into a
    list of problems.
    """

    about: str
    rows: Callable[[Options, list[str]], Iterator[Row]]
    left: int
    arguments: Callable[[ArgumentParser], object] = lambda parser: None

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The arguments of its own, and the format."""
        self.arguments(parser)
        parser.add_argument("--format", choices=FORMATS, default="text")

    def run(self, command: BaseCommand, options: Options) -> None:
        """Write what it tells. Raises SequenceError, and CommandError for what is wrong or unsound."""
        problems: list[str] = []
        try:
            write_rows(
                command, self.rows(options, problems), options["format"], self.about, left=self.left, quiet=QUIET
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        if problems:
            raise CommandError(" ".join(problems))


STANDING: Mapping[str, Reading] = {
    "list": Reading("how every sequence stands, with its first scopes", _listed, 4),
    "show": Reading("how the scopes of a sequence stand", _shown, 4, _add_show),
    "register": Reading("list the scopes of a sequence from before it kept a list", _registered, 3, _add_register),
    "doctor": Reading("all that needs a hand; exit 1 if it is unsound, or not read", _examined, 6, _add_doctor),
}
