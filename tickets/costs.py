"""What a number took, in one quiet line for the person who made it: pages alone say so."""

from collections.abc import Iterator
from time import perf_counter

from django.contrib import messages
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sequences.registry import strategies
from sequences.types import Allocation


def tell(request: HttpRequest, sentence: str, allocation: Allocation | None, *, since: float) -> None:
    """Say on the next page what was made, and what its number took since a `perf_counter`; nothing for a repeat.

    The milliseconds are those of the whole call: also of the reads before the write, and of the wait for others.
    """
    if allocation is None:
        messages.success(request, sentence)
        return
    took = ", ".join(_figures(allocation, round((perf_counter() - since) * 1000)))
    line = "{} <small>It took {}: {}.</small>"
    messages.success(request, format_html(line, sentence, took, _idea(allocation.sequence)))


def _figures(allocation: Allocation, milliseconds: int) -> Iterator[str]:
    yield _counted(allocation.attempts, "attempt")
    yield _counted(allocation.write_units, "write unit")
    if allocation.read_units:
        yield _counted(allocation.read_units, "read unit")
    yield f"{milliseconds} ms"


def _counted(count: float, what: str) -> str:
    return f"{count:.3g} {what}{'' if count == 1 else 's'}"


def _idea(sequence: str) -> str | SafeString:
    """How the sequence makes its numbers, as a link to the page that shows it, if the site has one."""
    idea = strategies[sequence].idea
    try:
        return format_html('<a href="{}">{}</a>', reverse("tickets:numbers"), idea)
    except NoReverseMatch:
        return idea
