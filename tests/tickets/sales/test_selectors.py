"""Which numbers of a year are missing and which are explained, and whose invoice can be issued."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tickets.exceptions import NoDraft, OrderInvoiced, OrderVoided
from tickets.sales import selectors
from tickets.sales.selectors import _explained, _missing, _skipped_by_changes, require_draft
from tickets.sales.types import Draft, InvoiceKey, Issued, Missing, Order, Skipped
from tickets.tables import Slice
from tickets.types import Void

NOW = datetime(2026, 1, 31, tzinfo=UTC)
VOID = Void(by="eve", at=NOW, reason="A test.")
ORDER: dict[str, Any] = {
    "number": 1001,
    "text": "ORD-1001",
    "customer": "Ada",
    "lines": (),
    "total": 0,
    "created_by": "ann",
    "created_at": NOW,
    "version": 1,
}
DRAFT = Draft(by="ann", at=NOW)
ISSUED = (Issued(key=InvoiceKey(year=2026, number=1, text="INV-1"), token="t"),)


@pytest.mark.parametrize(
    ("rows", "end", "newest", "start", "step", "missing"),
    [
        ([5, 4, 3, 2, 1], None, 5, 1, 1, []),
        ([5, 3, 2, 1], None, 5, 1, 1, [(4, 4)]),
        ([5, 4], None, 7, 1, 1, [(6, 7), (1, 3)]),
        ([5, 4], 4, 7, 1, 1, [(6, 7)]),
        ([], None, 3, 1, 1, [(1, 3)]),
        ([], None, 0, 1, 1, []),
        ([30, 10], None, 40, 10, 10, [(40, 40), (20, 20)]),
        ([7], None, 7, 5, 1, [(5, 6)]),
        ([5], None, 5, 5, 1, []),
    ],
)
def test_what_has_no_row_is_missing(
    rows: list[int], end: int | None, newest: int, start: int, step: int, missing: list[tuple[int, int]]
) -> None:
    """From the last number that was given down to the end of the page, or to the first one; by their steps."""
    found = Slice(rows=tuple({"sk": number} for number in rows), newest_first=True, begins=None, end=end)
    assert [(one.first, one.last) for one in _missing(found, newest, start, step)] == missing


@pytest.mark.parametrize(
    ("skips", "parts"),
    [
        ([], ["missing 3-8"]),
        ([(1, 2), (9, 10)], ["missing 3-8"]),
        ([(1, 20)], ["skipped 3-8"]),
        ([(3, 3)], ["skipped 3-3", "missing 4-8"]),
        ([(8, 9)], ["missing 3-7", "skipped 8-8"]),
        ([(4, 5), (7, 7)], ["missing 3-3", "skipped 4-5", "missing 6-6", "skipped 7-7", "missing 8-8"]),
        ([(2, 4), (5, 8)], ["skipped 3-4", "skipped 5-8"]),
    ],
)
def test_what_was_skipped_is_not_missing(skips: list[tuple[int, int]], parts: list[str]) -> None:
    """A gap from 3 to 8 is parted into what somebody has explained and what is missing indeed."""
    found = _explained(Missing(first=3, last=8), [Skipped(first=a, last=b, void=VOID) for a, b in skips])
    names = {Missing: "missing", Skipped: "skipped"}
    assert [f"{names[type(one)]} {one.first}-{one.last}" for one in found] == parts


def test_changes_say_what_was_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pages of the history are read; numbers come upwards, and the first change began before number 1."""
    asked = list[Any]()

    def change(before: int | None, after: int | None) -> Any:
        return SimpleNamespace(before=before, after=after, by="eve", at=NOW, reason="A test.")

    pages = {None: ([change(7, 9)], "next"), "next": ([change(None, 2), change(4, None)], None)}

    def history(sequence: str, *, cursor: str | None = None, **about: Any) -> Any:
        asked.append((sequence, about, cursor))
        return pages[cursor]

    monkeypatch.setattr(selectors, "history", history)
    found = _skipped_by_changes(2026, "NORD")
    assert found == [Skipped(first=first, last=last, void=VOID) for first, last in ((1, 2), (5, 0), (8, 9))]
    about = {"scope": "NORD", "period": "2026"}
    assert asked == [("invoices", about, None), ("invoices", about, "next")]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"draft": DRAFT}, None),
        ({"draft": DRAFT, "issued": ISSUED}, None),
        ({"draft": None}, NoDraft),
        ({"draft": DRAFT, "issued": ISSUED, "is_invoiced": True}, OrderInvoiced),
        ({"draft": DRAFT, "void": VOID}, OrderVoided),
        ({"draft": None, "issued": ISSUED, "is_invoiced": True, "void": VOID}, OrderVoided),
    ],
)
def test_whose_invoice_can_be_issued(more: dict[str, Any], error: type[Exception] | None) -> None:
    """An order with a draft, without an invoice in force, that is not void."""
    order = Order(**{**ORDER, **more})
    if error is None:
        require_draft(order)
    else:
        with pytest.raises(error):
            require_draft(order)
