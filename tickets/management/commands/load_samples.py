"""`manage.py load_samples`: loads a few sample projects and orders, each if there are none yet."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sequences.exceptions import SequenceError
from tickets import project_services, selectors, services
from tickets.sales import selectors as sales
from tickets.sales import services as selling
from tickets.sales.validators import today

TICKETS = Path(__file__).resolve().parents[2]


class Command(BaseCommand):
    help = "Loads a few sample projects with tickets and orders with invoices, each if there are none yet."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            projects = 0 if selectors.list_projects(limit=1).results else load("samples.json", load_project)
            orders = 0 if sales.list_orders(limit=1).results else load("sales/samples.json", load_order)
        except SequenceError as error:
            raise CommandError(str(error)) from error
        if options["verbosity"]:
            self.stdout.write(f"{projects} projects and {orders} orders loaded.")


def load(file: str, one: Callable[..., None]) -> int:
    """Load each sample of a file, and return their number."""
    samples = json.loads((TICKETS / file).read_text(encoding="utf-8"))
    for sample in samples:
        one(**sample)
    return len(samples)


def load_project(*, tickets: list[dict[str, Any]], owner: str, **project: Any) -> None:
    """Create a project, file its tickets, and void those with a reason to."""
    project_services.create_project(**project, by=owner)
    for ticket in tickets:
        reason = ticket.pop("void", None)
        created = services.create_ticket(project["key"], **ticket).ticket
        if reason is not None:
            services.void_ticket(created.key, by=created.reporter, reason=reason)


def load_order(
    *, by: str, days_ago: int | None = None, draft: bool = False, void: str = "", again: bool = False, **content: Any
) -> None:
    """Store one order, and take its invoice as far as the sample says."""
    number = selling.create_order(**content, by=by).value.number
    if draft:
        selling.draft_invoice(number, by=by)
    if days_ago is not None:
        text = issue(number, days_ago, by)
        if void:
            selling.void_invoice(text, reason=void, by=by)
        if again:
            issue(number, days_ago, by)


def issue(number: int, days_ago: int, by: str) -> str:
    """Draft and issue the invoice of an order, dated some days ago."""
    selling.draft_invoice(number, by=by)
    return selling.issue_invoice(number, date=today() - timedelta(days=days_ago), by=by).value.key.text
