"""`manage.py load_sample_projects`: loads a few sample projects if there are no projects yet."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sequences.exceptions import SequenceError
from tickets import selectors, services

SAMPLES = Path(__file__).resolve().parents[2] / "samples.json"


class Command(BaseCommand):
    help = "Loads a few sample projects with tickets, if there are no projects yet."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            loaded = load_samples()
        except SequenceError as error:
            raise CommandError(str(error)) from error
        if options["verbosity"]:
            self.stdout.write(f"{loaded} projects loaded." if loaded else "There are projects: nothing to do.")


def load_samples() -> int:
    """Load the samples, and return the number of projects loaded; 0 if there were projects already."""
    if selectors.list_projects(limit=1).results:
        return 0
    samples = json.loads(SAMPLES.read_text(encoding="utf-8"))
    for project in samples:
        tickets = project.pop("tickets")
        services.create_project(**project, by=tickets[0]["reporter"])
        for ticket in tickets:
            file_sample(project["key"], ticket)
    return len(samples)


def file_sample(project: str, sample: dict[str, Any]) -> None:
    """File one ticket, and void it if the sample has a reason to."""
    reason = sample.pop("void", None)
    created = services.create_ticket(project, **sample)
    if reason is not None:
        services.void_ticket(created.ticket.key, by=created.ticket.reporter, reason=reason)
