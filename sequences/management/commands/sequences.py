"""`manage.py sequences`: how sequences stand, audits, guarded changes, estimates, and tables of what there is."""

import os
import sys
from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from sequences.capabilities import options_table, rules_table, strategies_table
from sequences.exceptions import SequenceError
from sequences.management.arguments import Options
from sequences.management.audits import add_audit, run_audit
from sequences.management.changes import CHANGES, add_history, run_history
from sequences.management.engine import add_engine, run_engine
from sequences.management.estimates import add_estimate, run_estimate
from sequences.management.series import add_series, run_series
from sequences.management.standing import STANDING
from sequences.ops.deployment import template, text_of
from sequences.ops.watching import alarms_table, log_tables, metrics_table

Run = Callable[[BaseCommand, Options], object]

TABLES = {
    "strategies": ("what each strategy guarantees and costs", strategies_table),
    "options": ("the keys of OPTIONS", options_table),
    "rules": ("what becomes of each setting that changes while rows are stored", rules_table),
    "metrics": ("what is measured", metrics_table),
    "log": ("the events and fields of lines of the log", log_tables),
    "alarms": ("the alarms of the template", alarms_table),
}


class Command(BaseCommand):
    help = "Tells how sequences stand, audits whether every value has a stored item, and makes guarded changes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        options = [option for option in parser._actions if option.dest != "help"]  # each command has its own
        commands = parser.add_subparsers(dest="command", required=True)

        def add(name: str, about: str, run: Run, add_arguments: Callable[[ArgumentParser], object]) -> None:
            command = commands.add_parser(name, help=about)
            _add_again(options, command)
            add_arguments(command)
            command.set_defaults(run=run)

        for name, reading in STANDING.items():
            add(name, reading.about, reading.run, reading.add_arguments)
        add("audit", "read every item; exit 1 if something is unexplained", run_audit, add_audit)
        for name, change in CHANGES.items():
            add(name, change.about, change.run, change.add_arguments)
        add("series", "list, make and change the rules of single scopes", run_series, add_series)
        add("history", "list the changes, the newest first", run_history, add_history)
        add("estimate", "units, money, waits and the end of each strategy", run_estimate, add_estimate)
        for name, (about, table) in TABLES.items():
            add(name, about, partial(_write, table), _add_markdown)
        add("engine", "run an engine with the tables of SEQUENCES on this machine", run_engine, add_engine)
        about = "a CloudFormation template of the tables, policies and alarms"
        add("template", about, partial(_write, lambda: text_of(template())), lambda command: None)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            options["run"](self, options)
        except (DatabaseError, SequenceError) as error:
            raise CommandError(_with_notes(str(error), error)) from error
        except KeyboardInterrupt as error:
            raise CommandError(_with_notes("Stopped before the end.", error), returncode=130) from None
        except BrokenPipeError:  # who reads this has read enough, as `head` has
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stdout.fileno())  # for what is still in its buffer
            sys.exit(141)  # as a shell says of a program that SIGPIPE ends


def _add_again(options: Iterable[Action], command: ArgumentParser) -> None:
    """Let Django's own options stand after the name of a command, too. One that is left out there says nothing."""
    for option in options:
        again = copy(option)  # a command may set a default of its own
        again.default = again.help = SUPPRESS
        command._add_action(again)


def _with_notes(text: str, error: BaseException) -> str:
    return " ".join([text, *getattr(error, "__notes__", ())])


def _write(text: Callable[[], str], command: BaseCommand, options: Options) -> None:
    command.stdout.write(text())


def _add_markdown(parser: ArgumentParser) -> None:
    parser.add_argument("--format", choices=["markdown"], default="markdown")
