"""The lines of an auditor's file: what stands in each cell, for every kind of line."""

from typing import Any

import pytest
from pytest_django import Settings

from sequences.ops.audit.listing import COLUMNS, Line, Stored, cells
from sequences.ops.audit.report import Changed, Duplicate, Gap, Unnumbered, Void
from sequences.registry import strategies
from sequences.types import Dated, Scope

ENTRY: dict[str, Any] = {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum", "FORMAT": "L-{scope}-{value:03d}"}


@pytest.fixture(autouse=True)
def _letters(settings: Settings) -> None:
    """A sequence whose texts name the scope, and one with periods and without scopes."""
    yearly = {**ENTRY, "FORMAT": "Y{period}-{value}", "PERIOD": "year"}
    settings.SEQUENCES = {"letters": ENTRY, "yearly": yearly, "plain": {"STRATEGY": ENTRY["STRATEGY"]}}


@pytest.mark.parametrize(
    ("line", "last"),
    [
        (Stored(3, "OLD-3"), ["stored", 3, 3, "OLD-3", "", "", ""]),
        (Stored(3), ["stored", 3, 3, "L-A-003", "", "", ""]),
        (Gap(first=3, last=5, count=3), ["gap", 3, 5, "L-A-003", "", "", ""]),
        (
            Gap(first=3, last=3, count=1, by="ada", at="noon", reason="=why"),
            ["gap", 3, 3, "L-A-003", "ada", "noon", "'=why"],
        ),
        (Void(value=3, by="@ada", at="noon", reason="why"), ["void", 3, 3, "L-A-003", "'@ada", "noon", "why"]),
        (Void(value=3, by="ada", at="", reason="", text="+3"), ["void", 3, 3, "'+3", "ada", "", ""]),
        (Changed(value=3, text="OLD-3"), ["changed", 3, 3, "OLD-3", "", "", ""]),
        (
            Duplicate(value=3, count=2, rows=("shop.Order 1", "shop.Order 2")),
            ["duplicate", 3, 3, "L-A-003", "", "", "shop.Order 1, shop.Order 2"],
        ),
        (Unnumbered(row="-1"), ["unnumbered", "", "", "", "", "", "'-1"]),
    ],
)
def test_the_cells_of_a_line(line: Line, last: list[object]) -> None:
    """A line has a cell for each column; no cell is a formula, and a text that was stored comes before FORMAT's."""
    found = cells(strategies["letters"], "A", line)
    assert found == ["letters", "", "A", *last]
    assert len(found) == len(COLUMNS)


@pytest.mark.parametrize(
    ("alias", "scope", "begin"),
    [
        ("plain", None, ["plain", "", "", "stored", 3, 3, "3"]),
        ("plain", "=A", ["plain", "", "'=A", "stored", 3, 3, "3"]),
        ("yearly", Dated.of(None, "2026"), ["yearly", "2026", "", "stored", 3, 3, "Y2026-3"]),
    ],
)
def test_the_cells_of_a_scope(alias: str, scope: Scope, begin: list[object]) -> None:
    """Its period and its name stand in cells of their own, and its name is no formula either."""
    assert cells(strategies[alias], scope, Stored(3))[:7] == begin
