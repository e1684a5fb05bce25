"""The errors that an operator mends: what they say, and the command that does it."""

from __future__ import annotations

from typing import Any

import pytest

from sequences.rows import operator_errors
from sequences.types import Dated, Scope

AT = "2026-03-05T12:00:00.123456+00:00"


@pytest.mark.parametrize(
    ("scope", "more", "said"),
    [
        ("ABC", (), "`manage.py sequences thaw orders --scope ABC --reason ...`"),
        (None, (), "`manage.py sequences thaw orders --scope '#' --reason ...`"),
        ("-x y", (), "`manage.py sequences thaw orders '--scope=-x y' --reason ...`"),
        (Dated("A", "2026"), ("--past", "7"), "`manage.py sequences thaw orders --scope A --period 2026 --past 7 --r"),
        (Dated(None, "2026"), (), "`manage.py sequences thaw orders --scope '#' --period 2026 --reason ...`"),
    ],
)
def test_a_command(scope: Scope, more: tuple[str, ...], said: str) -> None:
    """A command names the scope so that a shell takes it, and its period."""
    assert operator_errors.command("thaw", "orders", scope, *more).startswith(said)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({}, "by somebody since an unknown time: no reason given"),
        ({"by": "ana", "at": AT, "reason": "stock"}, "by ana since 2026-03-05T12:00:00+00:00: stock"),
        ({"by": "ana", "at": AT, "reason": ""}, "by ana since 2026-03-05T12:00:00+00:00: no reason given"),
        ({"by": "ana", "at": AT, "closed": True}, "closed by ana since 2026-03-05T12:00:00+00:00: no reason given"),
    ],
)
def test_who_froze_it(about: dict[str, Any], said: str) -> None:
    """People read by whom, since when and why, as far as it is known."""
    assert operator_errors.signature(about) == said


def test_a_frozen_scope() -> None:
    """The message says how it goes on: a closed period is opened again, and another scope is thawed."""
    closed = str(operator_errors.frozen("orders", "A", {"by": "ana", "closed": True}))
    assert closed.startswith("The books of 'orders', scope 'A', are closed by ana since")
    assert closed.endswith("`manage.py sequences reopen orders --scope A --reason ...`, and `close` again.")
    frozen = str(operator_errors.frozen("orders", "A", {"by": "ana"}))
    assert frozen.startswith("The sequence 'orders', scope 'A', is frozen by ana since")
    assert frozen.endswith("To go on: `manage.py sequences thaw orders --scope A --reason ...`.")


def test_a_gapless_scope() -> None:
    """Who leaves gaps reads how to switch back."""
    said = str(operator_errors.gapless("orders", "A", after="7"))
    assert "leaves no number out after 7" in said
    assert "`manage.py sequences switch orders --scope A --to BlockAllocator --reason ...`" in said


def test_a_scope_that_went_back() -> None:
    """Each message has what was found, what is known, and the command that goes past it."""
    remedy = "`manage.py sequences recover orders --scope A --past 9 --reason ...`"
    back = str(operator_errors.went_back("orders", "A", found=7, known=9))
    assert "says 7, but 9 was handed out" in back
    items = str(operator_errors.items_went_back("orders", "A", found=7, known=9))
    assert "end at 7, but 9 was handed out" in items
    none = str(operator_errors.items_went_back("orders", "A", found=None, known=9))
    assert "end at nothing, but 9 was handed out" in none
    again = str(operator_errors.offered_again("orders", "A", known=9))
    assert all(remedy in said for said in (back, items, none, again))
