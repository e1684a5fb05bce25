"""The administration's pages about one scope: what it holds, what became of a request, changes, audits, an export.

The scope and the period are in the query of the address, as a scope may have any characters. What is read comes from
`scope_report` and `audit`, and what is changed from `changes`. A page whose reads fail says why, with a status that
fits.
"""

import logging
import re
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import content_disposition_header

from .. import dynamodb
from ..exceptions import (
    AuditRefused,
    GaveUp,
    InvalidSequence,
    OperationNotSupported,
    ScopeNotFound,
    SequenceError,
    StorageError,
)
from ..ops.audit.background import start_audit
from ..ops.audit.check import require_collections
from ..ops.audit.listing import export_numbers
from ..ops.audit.report import scope_in_words
from ..ops.audit.results import KeptAudits
from ..ops.doctor.scopes import of_scope
from ..ops.overview import scope_figures
from ..ops.scope_report import REQUESTS_OF_A_REQUEST, REQUESTS_OF_A_SCOPE, look_at, settings_of, trace
from ..registry import configured, strategies
from ..strategies import Strategy
from ..types import Scope, parted
from .forms import CHANGES, ChangeForm, RequestForm, ScopeForm
from .overview import address_of, by_day, by_hour, may, shown_scope, with_buttons

SECONDS = 10.0  # for all requests of a page
REPEATS = 4  # of requests that failed, which a page may send besides

logger = logging.getLogger(__name__)

Content = dict[str, Any]


class Place:
    """The scope that a page is about, and what all its pages show of it."""

    def __init__(self, request: HttpRequest, alias: str, *, by_rules: bool = False) -> None:
        self.alias = alias
        self.strategy = strategy_or_404(alias)
        self.form = ScopeForm(self.strategy, request.GET, by_rules=by_rules)
        self.problem = (
            "" if self.form.is_valid() else " ".join(map(str, chain.from_iterable(self.form.errors.values())))
        )
        self.counted: Scope = self.form.cleaned_data.get("counted")
        self.scope, self.period = parted(self.counted)
        if not self.problem:
            self.strategy = strategies.by_lines(self.strategy, self.counted)

    def address(self, page: str, *more: str) -> str:
        """The address of one of the pages about the scope."""
        return address_of(page, self.alias, self.counted, *more)

    @property
    def name(self) -> str:
        """How people call it, beside its own name."""
        book = strategies.lines(self.alias)
        return scope_in_words(self.scope, self.period, book.of(self.scope).name if book else "")


def strategy_or_404(alias: str) -> Strategy:
    """The strategy of a sequence. Raises Http404, also for one whose settings are wrong: its own page says how."""
    try:
        require_configured(alias)
        return strategies[alias]
    except InvalidSequence as error:
        raise Http404(str(error)) from error


def require_configured(alias: str) -> None:
    """Raise Http404 for a sequence that is not configured, and InvalidSequence if the setting is wrong."""
    if alias not in configured():
        raise Http404(f"There is no sequence {alias!r} in the setting SEQUENCES.")


def about_scope(
    title: str, page: Callable[..., HttpResponseBase | None], *, by_rules: bool = False
) -> Callable[..., Content | HttpResponseBase]:
    """A view of a page about one scope, which adds to the content, or answers by itself.

    What goes wrong becomes the `trouble` of the content, with its status. `title` may name the alias and the kind.
    `by_rules` is as in `ScopeForm`.
    """

    def view(request: HttpRequest, alias: str, **given: Any) -> Content | HttpResponseBase:
        named = title.format(alias=alias, **given)
        content: Content = {"title": named[0].upper() + named[1:], "alias": alias}
        try:
            place = Place(request, alias, by_rules=by_rules)
            content |= {
                "name": place.name,
                "pages": {name: place.address(name) for name in ("scope", "audit", "export", "request")},
                "repeats": REPEATS,
                "request_form": RequestForm(),
            }
            if place.problem:
                return {**content, "trouble": place.problem, "status": 400}
            return page(request, place, content, **given) or content
        except ScopeNotFound as error:
            return {**content, "trouble": str(error), "status": 404}
        except (GaveUp, StorageError) as error:
            logger.error("a page of %s cannot be shown: %s", alias, error)
            return {**content, "trouble": f"DynamoDB did not serve this. {error}", "status": 503}
        except SequenceError as error:
            return {**content, "trouble": str(error), "status": 400}

    return view


def scope_page(request: HttpRequest, place: Place, content: Content) -> None:
    """One scope: its state, its last numbers, its history, its settings, and what can be done."""
    with dynamodb.at_most(REQUESTS_OF_A_SCOPE + REPEATS, seconds=SECONDS) as budget:
        report = look_at(place.strategy, place.counted)
        (figures,) = scope_figures(place.strategy, [report["counter"]], by_hour=True)
        needs = with_buttons(request, of_scope(report["seen"], lambda: figures.usage.ends_on))
    frozen, address = bool(report["frozen"]), partial(place.address, "change_scope")
    content |= {
        "report": report,
        "scope": shown_scope(figures),
        "charts": [("Hour", by_hour(figures.rates)), ("Day", by_day(figures.rates))],
        "needs": needs,
        "settings": settings_of(place.strategy),
        "actions": [
            {"kind": kind, "why": kind.unavailable(place.strategy, frozen=frozen), "address": address(name)}
            for name, kind in CHANGES.items()
            if may(request, name)
        ],
        "may_audit": may(request, "audit"),
        "may_export": may(request, "export"),
        "unlisted": _unlisted(place.strategy),
        "budget": budget,
    }


def request_page(request: HttpRequest, place: Place, content: Content) -> None:
    """What became of a request, by its idempotency token. It comes by POST, so that it is in no log and address."""
    form = RequestForm(request.POST if request.method == "POST" else None)
    content["request_form"] = form
    if not form.is_bound:
        return
    if not form.is_valid():
        content["status"] = 400
        return
    with dynamodb.at_most(REQUESTS_OF_A_REQUEST + REPEATS, seconds=SECONDS) as budget:
        content |= {
            "trace": trace(place.strategy, place.scope, form.cleaned_data["stored"]),
            "marker_days": place.strategy.option["marker_seconds"] / 86_400,
            "budget": budget,
        }


def change_page(request: HttpRequest, place: Place, content: Content, kind: str) -> HttpResponseBase | None:
    """Ask for a guarded change, show what it would do, and make it when exactly that is confirmed."""
    if kind not in CHANGES:
        raise Http404(f"There is no change {kind!r}.")
    if not may(request, kind):
        raise PermissionDenied
    by = request.user.get_username()
    form = ChangeForm(CHANGES[kind], place.alias, place.counted, by, request.POST if request.method == "POST" else None)
    content |= {"kind": CHANGES[kind], "form": form}
    if form.is_bound and form.is_valid() and (change := form.make(dry_run=True)):
        confirmed = "confirmed" in request.POST
        if confirmed and form.confirms(change) and (made := form.make(dry_run=False)):
            messages.success(request, f"Done: {kind}, from {_value(made.before)} to {_value(made.after)}.")
            return redirect(place.address("scope"))
        if not form.failure:
            content |= {"form": form.asked(change), "change": change, "moved": confirmed}
    content["unknown"] = getattr(form.failure, "outcome_unknown", False)
    content["status"] = status_after(form.failure)
    return None


def status_after(error: Exception | None) -> int:
    """The status of a form's page after an attempt: 503 if DynamoDB did not serve it."""
    return 503 if isinstance(error, GaveUp | StorageError) else 200


def audit_page(request: HttpRequest, place: Place, content: Content) -> HttpResponseBase | None:
    """The audit of a scope that began last, and the last result. A POST begins one in the background."""
    content |= {"may_audit": may(request, "audit"), "unlisted": _unlisted(place.strategy)}
    if request.method == "POST":
        if not content["may_audit"]:
            raise PermissionDenied
        try:
            start_audit(place.strategy, place.counted, request.user.get_username())
        except AuditRefused as refused:
            messages.warning(request, str(refused))
        return redirect(place.address("audit"))
    with dynamodb.at_most(1 + REPEATS, seconds=SECONDS) as budget:
        run, result = KeptAudits(place.strategy).look(place.counted)
    content |= {"run": run, "result": result, "budget": budget}
    return None


def export_page(request: HttpRequest, place: Place, content: Content) -> HttpResponseBase:
    """Every number of a scope as CSV, page by page as it is read."""
    if not may(request, "export"):
        raise PermissionDenied
    parts = export_numbers(place.strategy, place.counted)
    named = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{place.alias} {place.name}")[:100].strip("-")
    headers = {"Content-Disposition": content_disposition_header(True, f"{named}.csv") or "attachment"}
    return StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8", headers=headers)


def _unlisted(strategy: Strategy) -> str:
    """Why the numbers of a sequence can neither be audited nor exported; empty if they can."""
    try:
        require_collections(strategy)
    except OperationNotSupported as error:
        return str(error)
    return ""


def _value(value: int | None) -> str:
    return "nothing" if value is None else str(value)
