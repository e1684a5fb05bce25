"""Files for spreadsheets: no cell is a formula, and all cells are in quotes."""

import pytest

from sequences.ops.spreadsheets import MARK, harmless, written


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_what_looks_like_a_formula(begin: str) -> None:
    """A cell that a spreadsheet would compute gets an apostrophe."""
    assert harmless(f"{begin}1") == f"'{begin}1"


@pytest.mark.parametrize("cell", ["", "1", "a=b", " =1", "'=1", "漢", "~1"])
def test_what_looks_like_none(cell: str) -> None:
    """Any other cell stays as it is."""
    assert harmless(cell) == cell


def test_a_file_begins_with_the_mark_of_utf_8() -> None:
    """Without it a spreadsheet would not ask for the encoding."""
    assert MARK.encode() == b"\xef\xbb\xbf"


def test_some_lines() -> None:
    """Every cell is in quotes, a quote in it is doubled, and a line ends as RFC 4180 has it."""
    assert written([("a,b", 1, 'say "é"'), ("",)]) == '"a,b","1","say ""é"""\r\n""\r\n'.encode()
    assert written([]) == b""
