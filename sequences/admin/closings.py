"""The administration's pages that close the books of a period over every scope, and open them again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from .. import changes, dynamodb
from ..changes.arguments import LONGEST_REASON
from ..exceptions import BudgetSpent, SequenceError
from ..services.arguments import LONGEST_SCOPE
from ..strategies import Strategy
from ..types import Change, named_scope
from .overview import may
from .scope import status_after, strategy_or_404

MOST_REQUESTS = 2000
MOST_SECONDS = 20.0
NAMED = 20
"""So many scopes are named on the page; of the others it says how many there are."""

logger = logging.getLogger(__name__)


class _BooksForm(forms.Form):
    """Which period is closed or opened, and why."""

    period = forms.CharField(max_length=20, help_text="Such as 2026.", widget=forms.TextInput({"autocomplete": "off"}))
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        help_text="It is kept with your name.",
        widget=forms.TextInput({"class": "vTextField"}),
    )

    def __init__(self, strategy: Strategy, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if not strategy.gapless:
            self.fields.pop("at", None)


class _CloseForm(_BooksForm):
    at = forms.DateTimeField(
        required=False,
        label="From when on",
        help_text="A moment in the future, as 2027-02-01 00:00. Leave it empty to close at once.",
        widget=forms.DateTimeInput({"type": "datetime-local"}),
    )
    field_order = ("period", "at", "reason")


class _ReopenForm(_BooksForm):
    scope = forms.CharField(
        required=False, strip=False, max_length=LONGEST_SCOPE, help_text="Leave it empty for every scope."
    )
    field_order = ("period", "scope", "reason")

    def clean_scope(self) -> Any:
        """The scope that is meant, or all of them."""
        text = self.cleaned_data["scope"]
        return named_scope(text) if text else changes.EVERY_SCOPE


_FORMS: Any = {"close": _CloseForm, "reopen": _ReopenForm}
KINDS = tuple(_FORMS)


def can_close(strategy: Strategy) -> bool:
    """Whether the books of a sequence can be closed (see `changes.close`)."""
    return strategy.layout.in_periods and strategy.counter is not None


def books_page(request: HttpRequest, alias: str, kind: str) -> dict[str, Any] | HttpResponseBase:
    """Close or open a period: show first what that would do, and do it when it is confirmed.

    Sends at most MOST_REQUESTS requests, and none after MOST_SECONDS. What is closed by then stays closed.
    """
    strategy = strategy_or_404(alias)
    if not may(request, kind):
        raise PermissionDenied
    form = _FORMS[kind](strategy, request.POST if request.method == "POST" else None)
    content = {"title": f"{kind.capitalize()} a period of {alias}", "alias": alias, "kind": kind, "form": form}
    if not (form.is_bound and form.is_valid()):
        return content
    given = {**form.cleaned_data, "by": request.user.get_username()}
    make = partial(getattr(changes, kind), alias, **{name: told for name, told in given.items() if told is not None})
    confirmed = "confirmed" in request.POST
    try:
        with dynamodb.at_most(MOST_REQUESTS, seconds=MOST_SECONDS):
            made = make(dry_run=not confirmed)
    except (SequenceError, ValueError) as error:
        return {**content, **_failed(form, error, alias, kind)}
    if not confirmed:
        return {**content, **_shown(made)}
    period = given["period"]
    does = "closed" if kind == "close" else "open"
    messages.success(request, f"Done: the books of {period} are {does}. Scopes with numbers: {len(made)}.")
    return redirect(f"{reverse('admin:sequences_sequence_counters', args=[alias])}?{urlencode({'period': period})}")


def _failed(form: forms.Form, error: Exception, alias: str, kind: str) -> dict[str, Any]:
    """What is wrong, in the form, with the status of the page."""
    if isinstance(error, BudgetSpent):
        form.add_error(
            None,
            f"More to do than a page has time for: `manage.py sequences {kind} {alias}` does it. What is done stays.",
        )
    else:
        form.add_error(None, str(error))
    status = status_after(error)
    if status == 503:
        logger.error("the books of %s cannot be changed: %s", alias, error)
    return {"status": status, "unknown": getattr(error, "outcome_unknown", False)}


def _shown(made: Sequence[Change]) -> dict[str, Any]:
    """Which scopes a change is about."""
    return {"changes": made[:NAMED], "more": max(len(made) - NAMED, 0), "asks": True}
