"""`manage.py record_races` lets writers race, and keeps what they did."""

from itertools import count
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from project.lab import records
from project.lab.command import chosen_engine
from project.lab.plan import STRATEGIES
from project.lab.racing import run_races
from project.lab.writers import LabError
from sequences.exceptions import SequenceError
from sequences.ops.terminal import progress
from sequences.testing.embedded import EngineError


class Command(BaseCommand):
    requires_system_checks = []  # it uses no pages and no databases
    help = "Lets writers take a number each at the same moment, by every recipe and strategy, and records what they do."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--writers", type=int, default=10, metavar="N", help="that take a number each")
        parser.add_argument(
            "--strategies",
            type=lambda text: tuple(text.split(",")),
            default=STRATEGIES,
            metavar="A,B",
            help="all by default",
        )
        parser.add_argument("--output", type=Path, default=records.RACES, metavar="FILE", help="where the record goes")

    def handle(self, *args: Any, **options: Any) -> None:
        if unknown := [name for name in options["strategies"] if name not in STRATEGIES]:
            raise CommandError(f"--strategies: unknown {', '.join(unknown)}. Known are: {', '.join(STRATEGIES)}.")
        if not 2 <= options["writers"] <= 32:
            raise CommandError("--writers must be 2 to 32.")
        begun = count()
        try:
            with chosen_engine(own=True), progress() as advance:
                found = list(
                    run_races(
                        options["strategies"],
                        writers=options["writers"],
                        progress=lambda race, total: advance(race, next(begun), total),
                    )
                )
            records.keep_races(found, options["output"])
        except (EngineError, LabError, SequenceError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"--output {options['output']} cannot be written ({error.strerror}).") from error
        except KeyboardInterrupt:
            raise CommandError("Stopped. The tables of the races are deleted.") from None
        self.stderr.write(f"Written to {options['output']}: {len(found)} races.")
