"""`manage.py compare_strategies` runs `sequences.lab`, which an installation may leave out."""

from __future__ import annotations

from argparse import SUPPRESS
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

__all__ = ["Command"]


class Command(BaseCommand):
    requires_system_checks = []  # it uses no pages and no databases
    help = "Runs the published recipes and our strategies side by side: what each one costs, and what breaks."

    def add_arguments(self, parser: CommandParser) -> None:
        try:
            from sequences.lab import command
        except ModuleNotFoundError as error:
            parser.usage = SUPPRESS  # one line says it all
            parser.error(f"the comparison needs the folder sequences/lab, which is left out here ({error}).")
        command.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from sequences.lab import command

        command.run(self, options)
