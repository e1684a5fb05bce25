"""The numbers of a scope as lines for an auditor: what is stored, what is void, and the gaps.

They are read page by page, so that memory stays bounded however many there are.
"""

import logging
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from ...exceptions import SequenceError
from ...rows.layout import SIGNATURE
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

    `text` is what stands on the document, where the item has it; otherwise `first`, as FORMAT writes it today. The rows
    of a number that several have stand for the reason.
    """
    plain, period = parted(scope)
    begin = [strategy.alias, period, harmless(plain or ""), type(line).__name__.lower()]
    if isinstance(line, Unnumbered):
        return [*begin, "", "", "", "", "", harmless(line.row)]
    first, last = (line.first, line.last) if isinstance(line, Gap) else (line.value, line.value)
    text = getattr(line, "text", "") or strategy.naming.text_or_number(first, scope)
    by, at, reason = (getattr(line, name, "") for name in SIGNATURE)
    if isinstance(line, Duplicate):
        reason = ", ".join(line.rows)
    return [*begin, first, last, *map(harmless, (text, by, at, reason))]


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
    try:
        for _ in chain([0], reads):  # the first page is read already
            yield written(_with_key(check, line) for line in found)
            found.clear()
    except SequenceError as error:
        logger.error("export of %s %r: incomplete: %s", check.strategy.alias, check.scope, error)
        yield written([[INCOMPLETE]])
        raise
    yield written(_with_key(check, line) for line in found)


def _with_key(check: Check, line: Stored | Gap | Void | Changed) -> list[object]:
    key = "" if isinstance(line, Gap) else check.strategy.layout.key_text(check.scope, line.value)
    return [*cells(check.strategy, check.scope, line), harmless(key)]
