"""What type checkers know of the fields: the types of a row's numbers and texts, without any plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

from project.paths import ROOT
from sequences.fields import issue_number

if TYPE_CHECKING:
    from tests.shop.models import Bill, Order

ROWS = """
from sequences.fields import issue_number
from tests.shop.models import Bill, Order

reveal_type(Order().number)
reveal_type(Bill().number_text)
reveal_type(issue_number(Bill()))
Order().number = "x"
"""
WRONG = 'expression has type "str", variable has type "int | None"'


def test_a_checker_without_a_plugin(tmp_path: Path) -> None:
    """mypy alone knows the types, and refuses a number that is a text."""
    script, settings = tmp_path / "rows.py", tmp_path / "mypy.ini"
    script.write_text(ROWS, encoding="utf-8")
    settings.write_text(f"[mypy]\nmypy_path = {ROOT}\ncache_dir = {ROOT}/.local/cache/mypy-plain\n", encoding="utf-8")
    command: list[str | Path] = [sys.executable, "-m", "mypy", "--config-file", settings, script]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = [line.partition("rows.py:")[2] for line in found.stdout.splitlines() if "rows.py:" in line]
    assert said == [
        '5: note: Revealed type is "int | None"',
        '6: note: Revealed type is "str | None"',
        '7: note: Revealed type is "int | None"',
        f"8: error: Incompatible types in assignment ({WRONG})  [assignment]",
    ], found.stderr


def with_the_plugin(order: Order, bill: Bill) -> None:
    """What django-stubs knows: `mypy tests` reads this, and nothing runs it."""
    assert_type(order.number, int | None)
    assert_type(bill.number_text, str | None)
    assert_type(issue_number(bill), int | None)
