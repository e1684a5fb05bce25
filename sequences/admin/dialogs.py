"""The administration's pages that show what they would do before they do it, for the books of a period and for rules.

Books are closed over every scope, and opened again. Rules are those of single scopes: which there are, and a form that
shows the next texts.
"""

import logging
import shlex
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from .. import changes, dynamodb, series
from ..changes.arguments import LONGEST_REASON
from ..exceptions import BudgetSpent, OperationNotSupported, SequenceError
from ..formats.periods import KINDS
from ..rows.numbers import LARGEST
from ..series import Line
from ..services.arguments import LONGEST_SCOPE
from ..strategies import Strategy
from ..types import named_scope
from .forms import NUMBER, REASON
from .overview import address_of, may
from .scope import Place, status_after, strategy_or_404

MOST_REQUESTS = 2000
MOST_SECONDS = 20.0
NAMED = 20
"""So many scopes are named on the page; of the others it says how many there are."""
SCOPES_A_PAGE = 50
SECONDS = 10.0
REQUESTS = 3  # a page of scopes, and repeats

BOOKS = ("close", "reopen")
"""What is done with the books of a period: `changes` has a function for each."""

logger = logging.getLogger("sequences.admin.closings")  # a name in the log, which people may filter by

_TEXT = forms.TextInput(attrs={"autocomplete": "off", "class": "vTextField"})
_DAY = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class _BooksForm(forms.Form):
    """Which period is closed or opened, and why; also from when on it is closed, or for which scope it is opened."""

    period = forms.CharField(max_length=20, help_text="Such as 2026.", widget=forms.TextInput({"autocomplete": "off"}))
    at = forms.DateTimeField(
        required=False,
        label="From when on",
        help_text="A moment in the future, as 2027-02-01 00:00. Leave it empty to close at once.",
        widget=forms.DateTimeInput({"type": "datetime-local"}),
    )
    scope = forms.CharField(
        required=False, strip=False, max_length=LONGEST_SCOPE, help_text="Leave it empty for every scope."
    )
    reason = forms.CharField(max_length=LONGEST_REASON, help_text="It is kept with your name.", widget=REASON)

    def __init__(self, kind: str, strategy: Strategy, *given: Any) -> None:
        super().__init__(*given)
        if kind == "close":
            del self.fields["scope"]
        if kind == "reopen" or not strategy.gapless:
            del self.fields["at"]

    def clean_at(self) -> datetime | None:
        """The moment in Django's time zone, also where the project has no USE_TZ."""
        at: datetime | None = self.cleaned_data["at"]
        return timezone.make_aware(at) if at and timezone.is_naive(at) else at

    def clean_scope(self) -> Any:
        """The scope that is meant, or all of them."""
        text = self.cleaned_data["scope"]
        return named_scope(text) if text else changes.EVERY_SCOPE


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
    form = _BooksForm(kind, strategy, request.POST if request.method == "POST" else None)
    content = {"title": f"{kind.capitalize()} a period of {alias}", "alias": alias, "kind": kind, "form": form}
    if not (form.is_bound and form.is_valid()):
        return content
    given = {**form.cleaned_data, "by": request.user.get_username()}
    named = {name: value for name, value in given.items() if value is not None or name == "scope"}  # without a scope
    make = partial(getattr(changes, kind), alias, **named)
    confirmed = "confirmed" in request.POST
    try:
        with dynamodb.at_most(MOST_REQUESTS, seconds=MOST_SECONDS):
            made = make(dry_run=not confirmed)
    except (SequenceError, ValueError) as error:
        said, status = str(error), status_after(error)
        if isinstance(error, BudgetSpent):
            period = shlex.join(["--period", given["period"]])
            command = f"`manage.py sequences {kind} {alias} {period} --reason ...`"
            said = f"More to do than a page has time for: {command} does it. What is done stays."
        form.add_error(None, said)
        if status == 503:
            logger.error("the books of %s cannot be changed: %s", alias, error)
        return {**content, "status": status, "unknown": getattr(error, "outcome_unknown", False)}
    if not confirmed:
        return {**content, "changes": made[:NAMED], "more": max(len(made) - NAMED, 0), "asks": True}
    period = given["period"]
    does = "closed" if kind == "close" else "open"
    messages.success(request, f"Done: the books of {period} are {does}. Scopes with numbers: {len(made)}.")
    return redirect(f"{reverse('admin:sequences_sequence_counters', args=[alias])}?{urlencode({'period': period})}")


class _LineForm(forms.Form):
    """A line, and why it is made or changed. What is left empty is as the settings say."""

    format = forms.CharField(required=False, widget=_TEXT, help_text="As B7-{period}-{value:05d}.")
    start = forms.IntegerField(required=False, min_value=0, max_value=LARGEST, widget=NUMBER, label="First number")
    maximum = forms.IntegerField(required=False, min_value=1, max_value=LARGEST, widget=NUMBER, label="Last number")
    step = forms.IntegerField(required=False, min_value=1, max_value=LARGEST, widget=NUMBER)
    period = forms.ChoiceField(required=False, choices=[("", "as the settings say"), *((one, one) for one in KINDS)])
    valid_from = forms.DateField(required=False, widget=_DAY, help_text="Empty: when the line before is used up.")
    valid_to = forms.DateField(required=False, widget=_DAY)
    warn_at = forms.IntegerField(required=False, min_value=1, max_value=LARGEST, widget=NUMBER, label="Warn at number")
    warn_on = forms.DateField(required=False, widget=_DAY)
    code = forms.CharField(required=False, widget=_TEXT, help_text="A text that must stand beside the number.")
    reason = forms.CharField(max_length=LONGEST_REASON, widget=_TEXT, help_text="It is kept with your name.")
    shown = forms.CharField(required=False, widget=forms.HiddenInput)

    @property
    def line(self) -> Line:
        """The line that the form says. Only for a valid form."""
        return Line(**{name: told for name, told in self.cleaned_data.items() if name in _NAMES and told != ""})


_NAMES = {field.name for field in fields(Line)}


def rules_page(request: HttpRequest, alias: str) -> dict[str, Any]:
    """The scopes of a sequence with rules of their own, each with its lines. One query."""
    strategy_or_404(alias)
    content = {"title": f"Rules of scopes of {alias}", "alias": alias, "may_change": may(request, "series")}
    signer = Signer(salt=f"sequences.admin.rules.{alias}")
    with dynamodb.at_most(REQUESTS, seconds=SECONDS) as budget:
        try:
            cursor = request.GET.get("cursor")
            found, following = series.page(alias, cursor and signer.unsign(cursor), SCOPES_A_PAGE)
        except BadSignature:
            return {**content, "trouble": "This is not a cursor of this list. Start again without one.", "status": 400}
        except OperationNotSupported as error:
            return {**content, "trouble": str(error), "status": 404}
        except SequenceError as error:
            return {**content, "trouble": f"The rules cannot be read. {error}", "status": 503}
    return {
        **content,
        "scopes": [(scope, address_of("line", alias, scope), lines) for scope, lines in found],
        "next_cursor": following and signer.sign(following),
        "budget": budget,
    }


def line_page(request: HttpRequest, place: Place, content: dict[str, Any]) -> HttpResponseBase | None:
    """The lines of a scope, and a form for one more, or in the place of `line`. It shows the next texts first."""
    if not may(request, "series"):
        raise PermissionDenied
    lines = series.lines_of(place.alias, place.scope).lines
    number = request.GET.get("line", "")
    index = next((index for index in range(len(lines)) if number == str(index + 1)), None)
    first = {} if index is None else {name: getattr(lines[index], name) for name in _NAMES}
    form = _LineForm(request.POST if request.method == "POST" else None, initial=first)
    here = place.address("line")
    content |= {"lines": lines, "form": form, "index": index, "line": number, "here": here}
    content["each"] = f"{here}{'&' if '?' in here else '?'}line="
    content["confirmed"] = "add this line" if index is None else f"change line {number}"
    content["name"] = "the sequence without scope" if place.scope is None else place.scope
    if not (form.is_bound and form.is_valid()):
        return None
    strategy = lines[-1 if index is None else index].strategy if lines else None  # a scope counts in one way
    line = replace(form.line, strategy=strategy)
    try:
        texts = series.preview(place.alias, place.scope, line, place=index)
        if "confirmed" in request.POST and form.cleaned_data["shown"] == repr((line, texts)):
            change = series.add_line if index is None else partial(series.change_line, place=index)
            why = form.cleaned_data["reason"]
            change(place.alias, place.scope, line, by=request.user.get_username(), reason=why)
            messages.success(request, f"Done. The next numbers are {', '.join(texts)}.")
            return redirect(place.address("line"))
    except (SequenceError, ValueError) as error:
        form.add_error(None, str(error))
        content["status"] = status_after(error)
        return None
    given = {**{name: form.data.get(name, "") for name in form.fields}, "shown": repr((line, texts))}
    content |= {"form": _LineForm(given), "texts": texts, "moved": "confirmed" in request.POST}
    return None
