"""`manage.py sequences advance` and its like: the arguments of guarded changes, and the words for what they did."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.core.management.base import BaseCommand, CommandError
from django.db import connections, router

from sequences import changes
from sequences.changes.apply import ChangeRequest
from sequences.changes.arguments import Scopes
from sequences.changes.moves import MARGIN, seeded
from sequences.changes.switches import DEFAULT_TABLE, SWITCHED
from sequences.fields import SequenceField
from sequences.management.arguments import Options, add_period, add_prefix, add_scope, login, one_scope, scopes
from sequences.management.rows import FORMATS, Row, plain, write_rows
from sequences.ops.audit.report import scope_in_words
from sequences.registry import strategies
from sequences.services.texts import values_after
from sequences.types import Change, named_scope, scope_text

COLUMNS = ("at", "kind", "sequence", "scope", "period", "before", "after", "by", "reason")

Arguments = Mapping[str, Mapping[str, Any]]
"""Flags, each with what argparse wants to know of it."""
Make = Callable[[Options, Scopes], Change | list[Change]]
"""Makes a change of the scopes that are meant."""


@dataclass(frozen=True)
class Subcommand:
    """One guarded change as a command: what it is for, how it is made, and its own arguments, some of them `one_of`."""

    about: str
    make: Make
    arguments: Arguments = field(default_factory=dict)
    one_of: Arguments = field(default_factory=dict)
    every_scope: bool = False
    all_scopes: bool = False
    many_scopes: bool = False
    one_period: bool = False
    without_period: str = ""  # which are meant, where the scopes do not tell
    notes: Callable[[Options], Sequence[str]] = lambda options: ()
    """What is said before the change is made."""
    nothing: str = "No scope has to change."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What every change has, and what this one has."""
        _add_places(parser, self)
        own = parser.add_mutually_exclusive_group(required=True) if self.one_of else parser
        for group, arguments in ((own, self.one_of), (parser, self.arguments)):
            for flag, about in arguments.items():
                group.add_argument(flag, **about)
        parser.add_argument("--by", default=login(), help="who makes the change; your login name")
        parser.add_argument("--dry-run", action="store_true", help="tell what would change, and write nothing")
        parser.add_argument("--reason", required=True, help="why; it is kept in the history")
        parser.add_argument("--format", choices=FORMATS[:2], default="text")

    def run(self, command: BaseCommand, options: Options) -> None:
        """Make the change and tell what it did. Raises SequenceError, and CommandError for a check that fails."""
        for note in self.notes(options):
            command.stderr.write(note)
        several = self.every_scope or options.get("all_scopes") or options.get("prefix")
        made = self.make(options, (scopes if several else one_scope)(options))
        made = made if isinstance(made, list) else [made]
        check = options.get("check", False)
        if options["format"] == "json":
            command.stdout.write(json.dumps([plain(asdict(change)) for change in made]))
        else:
            for change in made:
                line = ("would be: " if options["dry_run"] or check else "") + told(change)
                command.stdout.write(f"{line}; {_following(change)}" if check else line)
            if not made:
                command.stdout.write(self.nothing)
        behind = sum(change.before != change.after for change in made)
        if check and behind:
            raise CommandError(f"Scopes that are not past their numbers: {behind}. Run this without --check.")


def _add_places(parser: ArgumentParser, change: Subcommand) -> None:
    """The sequence, the scopes and the period that a change is about."""
    parser.add_argument("alias", help="a key of the setting SEQUENCES")
    scope, period = "the sequence without scope", "the one of today"
    if change.every_scope:
        scope, period = "every scope that can be listed", "all of them, or with --scope today's"
    elif change.all_scopes:
        period += ", or with --all-scopes or --prefix all of them"
    group = parser.add_mutually_exclusive_group()
    add_scope(group, scope, action="append" if change.many_scopes else "store")
    if change.all_scopes:
        group.add_argument("--all-scopes", action="store_true", help="every scope that can be listed")
        add_prefix(group)
    add_period(parser, "" if change.one_period else change.without_period or period)


def add_history(parser: ArgumentParser) -> None:
    """The arguments of the history."""
    _add_places(parser, Subcommand("", lambda options, scope: [], every_scope=True, without_period="all of them"))
    parser.add_argument("--limit", type=int, default=100, help="how many lines to read")
    parser.add_argument("--cursor", help="where the last page ended")
    parser.add_argument("--format", choices=FORMATS, default="text")


def run_history(command: BaseCommand, options: Options) -> None:
    """Write a page of the history, and where the next one begins."""
    named = {name: options[name] for name in ("period", "limit", "cursor")}
    lines, cursor = changes.history(options["alias"], scope=scopes(options), **named)
    if options["format"] == "json":
        command.stdout.write(
            json.dumps({"changes": [plain(asdict(change)) for change in lines], "next_cursor": cursor})
        )
        return
    write_rows(command, map(_line, lines), options["format"], f"Changes of {options['alias']}", left=9)
    if cursor:
        command.stderr.write(f"older ones: --cursor {cursor}")


def told(change: Change) -> str:
    """A change in one line."""
    place = scope_in_words(change.scope, change.period)
    if change.before == change.after:
        what = "" if change.after is None else f" at {change.after}"
    else:
        what = f" from {'nothing' if change.before is None else change.before} to {change.after}"
    at = change.at.isoformat(sep=" ", timespec="seconds")
    return f"{change.sequence} {place}: {change.kind}{what}, by {change.by} at {at}: {change.reason}"


def _following(change: Change) -> str:
    """Which number comes next after a change."""
    strategy = strategies.of(change.sequence, change.scope, period=change.period, even_ended=True)
    return f"the next number is {values_after(strategy, change.after, 1)[0]}"


def _line(change: Change) -> Row:
    """A change as a row: when, what, where, from which value to which, and who and why."""
    told = {**plain(asdict(change)), "scope": scope_text(change.scope), "period": change.period or None}
    return {name: told[name] for name in COLUMNS}


def _signed(options: Options) -> dict[str, Any]:
    return {name: options[name] for name in ("period", "by", "reason", "dry_run")}


def _by(change: Callable[..., Change | list[Change]], *names: str) -> Make:
    """What makes a change by a function that takes the options of these names."""

    def make(options: Options, scope: Scopes) -> Change | list[Change]:
        return change(options["alias"], scope=scope, **{name: options[name] for name in names}, **_signed(options))

    return make


def _seed(options: Options, scope: Scopes) -> list[Change]:
    alias, is_check = options["alias"], options["check"]
    request = ChangeRequest("seed", options["by"], options["reason"], options["dry_run"] or is_check)
    seed = partial(seeded, alias, request=request, period=options["period"], drops=not is_check)
    if options["column"] is None:
        source = ("items", scopes(options)) if options["items"] else (options["number"], scope)
        return seed(source[0], field="", scope=source[1])
    if options["scope"] is not None:
        raise CommandError("A column says the scope of each row: leave --scope out.")
    field = _sequence_field(options["column"], alias)
    rows = field.model._base_manager.using(options["database"] or router.db_for_write(field.model)).all()
    return seed(rows, field=field.name, scope=field.scope)


def _sequence_field(column: str, alias: str) -> SequenceField:
    """The field of a text such as shop.Order.number. Raises CommandError."""
    model, _, name = column.rpartition(".")
    if model.count(".") != 1:
        raise CommandError(f"{column!r} names no column. Name a column as shop.Order.number.")
    try:
        field = apps.get_model(model)._meta.get_field(name)
    except (LookupError, FieldDoesNotExist) as error:
        raise CommandError(f"{str(error).removesuffix('.')}. Name a column as shop.Order.number.") from error
    if not isinstance(field, SequenceField):
        raise CommandError(f"{column} is no SequenceField: for another column use SeedSequence in a migration.")
    if field.sequence != alias:
        raise CommandError(f"{column} is numbered by {field.sequence!r}, not by {alias!r}.")
    return field


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r}; give a moment such as 2026-03-05T12:00:00+00:00") from None


def _close(options: Options, scope: Scopes) -> list[Change]:
    if options["scope"] is not None:
        raise CommandError("A period is closed in every scope: leave --scope out, or `freeze` that scope.")
    return changes.close(options["alias"], at=options["at"], **_signed(options))


def _switch(options: Options, scope: Scopes) -> list[Change]:
    given = {"scope": scope, "counter_table": options["counter_table"], **_signed(options)}
    if options["finish"]:
        return changes.finish_switch(options["alias"], **given)
    return changes.switch(options["alias"], to=options["to"], **given)


def _staying(options: Options) -> list[str]:
    stays = type(strategies[options["alias"]]).__name__
    return [f"{stays} stays, as the settings here name it. The other strategy ends."] if options["finish"] else []


def _changed(options: Options) -> list[str]:
    return [str(one) for one in changes.changed_settings(options["alias"])] or ["Nothing has changed."]


def _adopt(options: Options, scope: Scopes) -> list[Change]:
    named = scope if options["scope"] is None else [named_scope(each) for each in options["scope"]]
    return changes.adopt(options["alias"], scope=named, copied=options["copied"], **_signed(options))


CHANGES: Mapping[str, Subcommand] = {
    "advance": Subcommand(
        "begin the next numbers above a given one",
        _by(changes.advance, "to"),
        {"--to": {"type": int, "required": True, "help": "every later number is above this"}},
    ),
    "seed": Subcommand(
        "begin the next numbers above those that are there already",
        _seed,
        {
            "--database": {
                "choices": connections,
                "help": "the alias of the column's database; without it, the one in which its model is written",
            },
            "--check": {"action": "store_true", "help": "write nothing; exit 1 if a next number is too low"},
        },
        {
            "--number": {"type": int, "help": "above this number"},
            "--items": {"action": "store_true", "help": "above what the sequence's own table holds"},
            "--column": {"help": "above a column that is a SequenceField, such as shop.Order.number"},
        },
        without_period="the one of today, or with --items and no --scope all of them, or with --column each row's",
    ),
    "recover": Subcommand(
        "after a restore: above all that is stored or remembered",
        _by(changes.recover, "margin", "past", "since"),
        {
            "--margin": {"type": int, "default": MARGIN, "help": f"how many numbers to leave out beyond it ({MARGIN})"},
            "--past": {"type": int, "help": "a number that is known to have been handed out"},
            "--since": {"type": _moment, "help": "go on after a failure: leave what was recovered since then"},
        },
        every_scope=True,
        all_scopes=True,
    ),
    "freeze": Subcommand("refuse every write, until `thaw`", _by(changes.freeze), all_scopes=True),
    "thaw": Subcommand("let what is frozen go on", _by(changes.thaw), all_scopes=True),
    "close": Subcommand(
        "refuse every number in a period",
        _close,
        {"--at": {"type": _moment, "help": "a moment in the future, from which on it holds"}},
        every_scope=True,
        one_period=True,
        nothing="No open scope has numbers in this period. Scopes that begin later are closed, too.",
    ),
    "reopen": Subcommand(
        "let numbers be given in a closed period, until it is closed again",
        _by(changes.reopen),
        every_scope=True,
        one_period=True,
        nothing="No closed scope has numbers in this period. Scopes that begin later are open, too.",
    ),
    "switch": Subcommand(
        "let writers of two strategies number the same items",
        _switch,
        {"--counter-table": {"default": DEFAULT_TABLE, "help": "the table of counters of the other configuration"}},
        {
            "--to": {"choices": list(SWITCHED), "help": "begin: the new strategy"},
            "--finish": {"action": "store_true", "help": "end: no process of the old strategy is left"},
        },
        every_scope=True,
        notes=_staying,
    ),
    "adopt": Subcommand(
        "go on by the present settings where rows are written by others",
        _adopt,
        {"--copied": {"action": "store_true", "help": "its table is a copy, whose numbers meet nobody"}},
        every_scope=True,
        many_scopes=True,
        notes=_changed,
    ),
    "void": Subcommand(
        "withdraw a number, which keeps its place",
        _by(changes.void, "value"),
        {"--value": {"type": int, "required": True, "help": "the number that is withdrawn"}},
    ),
}
