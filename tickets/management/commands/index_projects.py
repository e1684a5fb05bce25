"""`manage.py index_projects`: lets people find the projects that were made before projects had members."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sequences.exceptions import SequenceError
from tickets import store

PROJECTS_A_PAGE = 100


class Command(BaseCommand):
    help = "Puts projects from before there were members on the list of open projects. It is safe to run again."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            indexed = index_projects()
        except SequenceError as error:
            raise CommandError(str(error)) from error
        if options["verbosity"]:
            self.stdout.write(f"{indexed} projects are listed now." if indexed else "All projects are listed already.")


def index_projects() -> int:
    """Put each project that lacks it on the list of open projects; returns how many there were."""
    indexed, place = 0, None
    while True:
        found = store.projects.find_projects(place, PROJECTS_A_PAGE)
        for row in found.rows:
            if "open" not in row:
                store.members.index_project(row)
                indexed += 1
        place = found.next
        if place is None:
            return indexed
