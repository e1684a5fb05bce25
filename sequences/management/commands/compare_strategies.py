"""`manage.py compare_strategies` runs `sequences.lab`, which an installation may leave out."""

from __future__ import annotations

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
            parser.error(f"{error}. The comparison needs the folder sequences/lab and the packages that it imports.")
        command.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from sequences.lab import command

        command.run(self, options)
