"""The numbers of a scope as lines for an auditor: what is stored, what is void, and the gaps.

They are read page by page, so that memory stays bounded however many there are.
"""

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...exceptions import SequenceError
from ...strategies.base import Strategy
from ...types import Scope, parted
from ..spreadsheets import MARK, harmless, written
from .check import Check
from .report import Changed, Duplicate, Gap, Unnumbered, Void

logger = logging.getLogger(__name__)

COLUMNS = ("sequence", "period", "scope", "kind", "first", "last", "text", "by", "at", "reason")
INCOMPLETE = "INCOMPLETE: DynamoDB did not answer. The numbers after this are missing. Export them again."


class Stored(NamedTuple):
    """A value that an item carries, and that is not void, with the text that is stored with it."""

    value: int
    text: str = ""


Line = Stored | Gap | Void | Changed | Duplicate | Unnumbered


def cells(strategy: Strategy, scope: Scope, line: Line) -> list[object]:
    """The cells of a line under COLUMNS. `last` is a gap's last value.

    `text` is what stands on the document, where the item has it; otherwise `first`, as FORMAT writes it today.
    """
    plain, period = parted(scope)
    kind, shown = type(line).__name__.lower(), harmless(plain or "")
    if isinstance(line, Unnumbered):
        return [strategy.alias, period, shown, kind, "", "", "", "", "", harmless(line.row)]
    first, last = (line.first, line.last) if isinstance(line, Gap) else (line.value, line.value)
    stored = line.text if isinstance(line, Stored | Void | Changed) else ""
    text = stored or strategy.naming.text_or_number(first, scope)
    return [strategy.alias, period, shown, kind, first, last, *map(harmless, (text, *_signed(line)))]


def _signed(line: Stored | Gap | Void | Changed | Duplicate) -> tuple[str, str, str]:
    """By whom, when and why; the rows of a number that several have stand for the reason."""
    if isinstance(line, Duplicate):
        return "", "", ", ".join(line.rows)
    return ("", "", "") if isinstance(line, Stored | Changed) else (line.by, line.at, line.reason)


def export_numbers(strategy: Strategy, scope: Scope) -> Iterator[bytes]:
    """The parts of a CSV file with every number of a scope, and the key of its item, in their order.

    The first page is read at once; the others when they are wanted. After an error later on a last line says that the
    file is incomplete, and then the error is raised. Cost: the consistent read units of the items, and of the
    sequence's history if there is a gap.
    Raises OperationNotSupported for items that are not in collections, InvalidScope, SequenceUnavailable and
    StorageRefused.
    """
    found: list[Stored | Gap | Void | Changed] = []
    check = Check(strategy, scope, found.append, lambda *stored: found.append(Stored(*stored)))
    reads = check.items()
    next(reads)
    return _parts(check, reads, found)


def _parts(check: Check, reads: Iterator[int], found: list[Any]) -> Iterator[bytes]:
    yield MARK.encode() + written([(*COLUMNS, "item")])
    more: int | None = 0
    while more is not None:
        yield written(_with_key(check, line) for line in found)
        found.clear()
        try:
            more = next(reads, None)
        except SequenceError as error:
            logger.error("export of %s %r: incomplete: %s", check.strategy.alias, check.scope, error)
            yield written([[INCOMPLETE]])
            raise
    yield written(_with_key(check, line) for line in found)


def _with_key(check: Check, line: Stored | Gap | Void | Changed) -> list[object]:
    key = "" if isinstance(line, Gap) else check.strategy.layout.key_text(check.scope, line.value)
    return [*cells(check.strategy, check.scope, line), harmless(key)]
