"""`manage.py sequences series`: the rules of single scopes, listed, made and changed."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import partial, wraps
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sequences import series
from sequences.changes.lines import book_of
from sequences.formats.periods import KINDS
from sequences.management.arguments import Options, add_scope, login, one_scope
from sequences.management.changes import told
from sequences.management.rows import FORMATS, Row, write_rows
from sequences.series import Line
from sequences.types import Change, scope_text

RULES: Mapping[str, Mapping[str, Any]] = {
    "number_format": {"help": "how numbers are written, as B7-{value:05d}"},
    "start": {"type": int, "help": "its first number"},
    "step": {"type": int, "help": "the difference between two numbers"},
    "maximum": {"type": int, "help": "its last number"},
    "counts_by": {"choices": (*KINDS, ""), "help": "its PERIOD"},
    "strategy": {"help": "the dotted path of its strategy"},
    "valid_from": {"type": date.fromisoformat, "help": "the day on which it takes over, as 2027-01-01"},
    "valid_to": {"type": date.fromisoformat, "help": "its last day"},
    "warn_at": {"type": int, "help": "the number from which on it is nearly used up"},
    "warn_on": {"type": date.fromisoformat, "help": "the day from which on it comes to its end"},
    "code": {"help": "a text that must stand beside the number"},
}
_NAMES = {"number_format": "format", "counts_by": "period"}


def add_series(parser: ArgumentParser) -> None:
    """The arguments: a scope, a line, and who changes it and why; without a reason the lines are listed."""
    parser.add_argument("alias", help="a key of the setting SEQUENCES")
    add_scope(parser, "every scope with lines is listed")
    parser.add_argument("--name", help="what people call the scope from now on")
    place = "change what is given of this line, counted from 1; '' takes a rule away. Without --line one is added"
    parser.add_argument("--line", type=int, help=place)
    for name, rule in RULES.items():
        kind = _or_empty(rule.get("type", str))
        parser.add_argument(f"--{name.replace('_', '-')}", **{**rule, "type": kind})
    parser.add_argument("--by", default=login(), help="who makes the change; your login name")
    parser.add_argument("--dry-run", action="store_true", help="check it and show the next texts, and write nothing")
    parser.add_argument("--reason", help="why; it is kept in the history. Without it nothing is changed")
    parser.add_argument("--format", choices=FORMATS, default="text")


def _or_empty(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Reads an argument as this kind, which an error names. An empty one stays empty."""

    @wraps(kind, updated=())
    def read(text: str) -> Any:
        return text and kind(text)

    return read


def run_series(command: BaseCommand, options: Options) -> None:
    """List lines, or change those of a scope. Raises SequenceError, and CommandError for a change without a scope."""
    given = _given(options)
    if options["reason"] is None and not given and options["name"] is None:
        write_rows(command, _listed(options), options["format"], f"Rules of {options['alias']}", left=3)
        return
    if options["scope"] is None or options["reason"] is None:
        raise CommandError("A change of lines needs --scope and --reason.")
    alias, scope, place = options["alias"], one_scope(options), options["line"]
    signed = {name: options[name] for name in ("by", "reason", "dry_run")}
    would_be = "would be: " if options["dry_run"] else ""
    name = options["name"]
    if name is not None and place is not None:
        raise CommandError("A name goes with a new line, or alone: leave --line out.")
    if name is not None and not given:
        made = series.name_scope(alias, scope, name, **signed)
        command.stdout.write(f"{would_be}{told(made)}; name: {name}")
        return
    line = Line(**given) if place is None else replace(_line_in(alias, scope, place), **given)
    texts = series.preview(alias, scope, line, place=None if place is None else place - 1)
    change: Callable[..., Change] = series.add_line if name is None else partial(series.create, name=name)
    if place is not None:
        change = partial(series.change_line, place=place - 1)
    command.stdout.write(f"{would_be}{told(change(alias, scope, line, **signed))}; next: {', '.join(texts)}")


def _given(options: Options) -> dict[str, Any]:
    """The rules that the arguments give. For an empty one the settings hold again."""
    said = {_NAMES.get(name, name): options[name] for name in RULES if options[name] is not None}
    return {name: getattr(Line(), name) if rule == "" else rule for name, rule in said.items()}


def _line_in(alias: str, scope: str | None, place: int) -> Line:
    """The line of a scope that an argument counts from 1."""
    lines = series.lines_of(alias, scope).lines
    if not 1 <= place <= len(lines):
        raise CommandError(f"--line is {place}; there are {len(lines)} lines, counted from 1.")
    return lines[place - 1]


def _listed(options: Options) -> Iterator[Row]:
    """A row for each line: what it says, and nothing where the settings hold."""
    alias, scope = options["alias"], one_scope(options)
    is_one = options["scope"] is not None
    for each, lines in [(scope, series.lines_of(alias, scope))] if is_one else book_of(alias).rows.every():
        for place, line in enumerate(lines.lines, 1):
            said = {name: getattr(line, _NAMES.get(name, name)) for name in RULES}
            yield {"sequence": alias, "scope": scope_text(each), "line": place, **said}
