"""`manage.py sequences`: how sequences stand, audits, guarded changes, estimates, and tables of what there is."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from sequences.capabilities import options_table, rules_table, strategies_table
from sequences.management.audits import Audits, add_audit
from sequences.management.changes import CHANGES, Changes
from sequences.management.engine import add_engine, run_engine
from sequences.management.estimates import Estimates, add_estimate
from sequences.management.standing import STANDING, Standing
from sequences.ops.deployment import template, text_of
from sequences.ops.watching import alarms_table, log_tables, metrics_table

__all__ = ["Command"]

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
        commands = parser.add_subparsers(dest="command", required=True)
        for name, reading in STANDING.items():
            reading.add_arguments(commands.add_parser(name, help=reading.about))
        add_audit(commands.add_parser("audit", help="read every item; exit 1 if something is unexplained"))
        for name, change in CHANGES.items():
            change.add_arguments(commands.add_parser(name, help=change.about))
        add_estimate(commands.add_parser("estimate", help="units, money, waits and the end of each strategy"))
        for name, (about, _) in TABLES.items():
            table = commands.add_parser(name, help=about)
            table.add_argument("--format", choices=["markdown"], default="markdown")
        add_engine(commands.add_parser("engine", help="run an engine with the tables of SEQUENCES on this machine"))
        commands.add_parser("template", help="a CloudFormation template of the tables, policies and alarms")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["command"]
        if name in STANDING:
            Standing(self).run(name, options)
        elif name == "audit":
            Audits(self).run(options)
        elif name in CHANGES:
            Changes(self).run(name, options)
        elif name == "estimate":
            Estimates(self).run(options)
        elif name == "engine":
            run_engine(self, options)
        elif name == "template":
            self.stdout.write(text_of(template()))
        else:
            self.stdout.write(TABLES[name][1]())
