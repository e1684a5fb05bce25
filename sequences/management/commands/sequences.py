"""`manage.py sequences`: the audit, guarded changes, tables about strategies and their options, and the template."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from sequences.capabilities import options_table, strategies_table
from sequences.deployment import template
from sequences.management.audits import Audits, add_audit
from sequences.management.changes import CHANGES, Changes

__all__ = ["Command"]

TABLES = {
    "strategies": ("what each strategy guarantees and costs", strategies_table),
    "options": ("the keys of OPTIONS", options_table),
}


class Command(BaseCommand):
    help = "Audits whether every value of a sequence has a stored item, makes guarded changes, and shows strategies."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True)
        add_audit(commands.add_parser("audit", help="read every item; exit 1 if something is unexplained"))
        for name, change in CHANGES.items():
            change.add_arguments(commands.add_parser(name, help=change.about))
        for name, (about, _) in TABLES.items():
            table = commands.add_parser(name, help=about)
            table.add_argument("--format", choices=["markdown"], default="markdown")
        commands.add_parser("template", help="a CloudFormation template of the tables, policies and alarms")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["command"]
        if name == "audit":
            Audits(self).run(options)
        elif name in CHANGES:
            Changes(self).run(name, options)
        elif name == "template":
            self.stdout.write(json.dumps(template(), indent=2))
        else:
            self.stdout.write(TABLES[name][1]())
