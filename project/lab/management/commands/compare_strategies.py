"""`manage.py compare_strategies` runs the comparison."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from project.lab import command


class Command(BaseCommand):
    requires_system_checks = []  # it uses no pages and no databases
    help = "Runs the published recipes and our strategies side by side: what each one costs, and what breaks."

    def add_arguments(self, parser: CommandParser) -> None:
        command.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        command.run(self, options)
