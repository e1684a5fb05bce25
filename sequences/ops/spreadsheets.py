"""CSV files (RFC 4180) for spreadsheets, in which no cell is a formula, whatever people typed.

A spreadsheet takes a cell that begins with one of `FORMULA` for a formula, which may do harm: such a cell gets an
apostrophe before it. All cells are in quotes, so that no other separator than the comma splits them. A file begins with
the mark of UTF-8, which spreadsheets ask for.
"""

import csv
import io
from collections.abc import Iterable

__all__ = ["MARK", "harmless", "written"]

FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are =, +, - and @ in full width
MARK = "\ufeff"


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def written(rows: Iterable[Iterable[object]]) -> bytes:
    """Some lines of a file. The cells must be harmless already."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue().encode()
