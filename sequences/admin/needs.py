"""What needs a hand, with the button that leads to what helps; and who may do that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from ..ops.doctor import Finding, Hand, Verdict
from ..types import Scope, parted

__all__ = ["address_of", "may", "with_buttons"]

LABELS = {"recover": "Recover", "thaw": "Thaw", "audit": "Audit", "scope": "Look at it"}


def may(request: HttpRequest, what: str) -> bool:
    """Whether somebody may do this, such as "advance". Who may change sequences may do all of it."""
    return request.user.has_perm(f"sequences.{what}_sequence") or request.user.has_perm("sequences.change_sequence")


def address_of(page: str, alias: str, counted: Scope, *more: str) -> str:
    """The address of one of the pages about a scope."""
    scope, period = parted(counted)
    query = urlencode({name: text for name, text in {"scope": scope, "period": period}.items() if text})
    plain = reverse(f"admin:sequences_sequence_{page}", args=[alias, *more])
    return f"{plain}?{query}" if query else plain


def with_buttons(request: HttpRequest, findings: Iterable[Finding]) -> list[Mapping[str, Any]]:
    """The findings, the worst first, each with a button.

    It leads to what helps for who may do it, and to the page of the scope for everybody else.
    """
    worst_first = sorted(findings, key=lambda one: one.verdict is not Verdict.UNSOUND)
    return [{"finding": one, **(_button(request, one.hand) if one.hand else {})} for one in worst_first]


def _button(request: HttpRequest, hand: Hand) -> Mapping[str, str]:
    page = hand.page if may(request, hand.page) else "scope"
    if page in ("audit", "scope"):
        address = address_of(page, hand.sequence, hand.scope)
    else:
        address = address_of("change_scope", hand.sequence, hand.scope, page)
    return {"address": address, "label": LABELS[page]}
