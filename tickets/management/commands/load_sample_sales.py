"""`manage.py load_sample_sales`: loads a few sample orders with their invoices if there are no orders yet."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sequences.exceptions import SequenceError
from tickets.sales import selectors, services
from tickets.sales.validators import today

SAMPLES = Path(__file__).resolve().parents[2] / "sales" / "samples.json"


class Command(BaseCommand):
    help = "Loads a few sample orders with drafted, issued and void invoices, if there are no orders yet."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            loaded = load_samples()
        except SequenceError as error:
            raise CommandError(str(error)) from error
        if options["verbosity"]:
            self.stdout.write(f"{loaded} orders loaded." if loaded else "There are orders: nothing to do.")


def load_samples() -> int:
    """Load the samples, and return the number of orders loaded; 0 if there were orders already."""
    if selectors.list_orders(limit=1).results:
        return 0
    samples = json.loads(SAMPLES.read_text(encoding="utf-8"))
    for sample in samples:
        load_order(**sample)
    return len(samples)


def load_order(
    *, by: str, days_ago: int | None = None, draft: bool = False, void: str = "", again: bool = False, **content: Any
) -> None:
    """Store one order, and take its invoice as far as the sample says."""
    number = services.create_order(**content, by=by).value.number
    if draft:
        services.draft_invoice(number, by=by)
    if days_ago is not None:
        text = issue(number, days_ago, by)
        if void:
            services.void_invoice(text, reason=void, by=by)
        if again:
            issue(number, days_ago, by)


def issue(number: int, days_ago: int, by: str) -> str:
    """Draft and issue the invoice of an order, dated some days ago."""
    services.draft_invoice(number, by=by)
    return services.issue_invoice(number, date=today() - timedelta(days=days_ago), by=by).value.key.text
