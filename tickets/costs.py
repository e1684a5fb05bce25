"""What a number took, for the person who made it and asks how: pages alone say so."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sequences.registry import strategies
from sequences.storage import at_most
from sequences.types import Allocation


@dataclass
class Cost:
    """What a call took: also the reads before its write, and the wait for others."""

    requests: int = 0
    """Those that its own thread sent; none where another caller's request stored the number, too."""
    seconds: float = 0.0


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure what the body takes; the figures are there when it has ended."""
    cost, began = Cost(), perf_counter()
    with at_most() as budget:
        yield cost
    cost.requests, cost.seconds = budget.sent, perf_counter() - began


def tell(request: HttpRequest, sentence: str, allocation: Allocation | None, cost: Cost) -> None:
    """Say on the next page what was made, and what its number took; nothing for a repeat."""
    if allocation is None:
        messages.success(request, sentence)
        return
    took = ", ".join(_figures(allocation, cost))
    line = "{} <details><summary>How?</summary> It took {}: {}.</details>"
    messages.success(request, format_html(line, sentence, took, _idea(allocation.sequence)))


def _figures(allocation: Allocation, cost: Cost) -> Iterator[str]:
    yield _counted(cost.requests, "request") if cost.requests else "a share of another request"
    yield _counted(allocation.write_units, "write unit")
    if allocation.read_units:
        yield _counted(allocation.read_units, "read unit")
    yield f"{cost.seconds * 1000:.0f} ms"


def _counted(count: float, what: str) -> str:
    return f"{count:.3g} {what}{'' if count == 1 else 's'}"


def _idea(sequence: str) -> SafeString:
    """How the sequence makes its numbers, as a link to the page that shows it."""
    return format_html('<a href="{}">{}</a>', reverse("numbers"), strategies[sequence].idea)
