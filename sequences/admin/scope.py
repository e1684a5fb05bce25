"""The administration's pages about one scope: what it holds, what became of a request, changes, audits, an export.

The scope and the period are in the query of the address, as a scope may have any characters. What is read comes from
`scope_report`, `request_trace` and `audit`, and what is changed from `changes`. A page whose reads fail says why, with
a status that fits.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_http_methods, require_safe

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
from ..ops.audit.results import KeptAudits
from ..ops.doctor import of_scope
from ..ops.overview import scope_figures
from ..ops.request_trace import REQUESTS_OF_A_REQUEST, trace
from ..ops.scope_report import REQUESTS_OF_A_SCOPE, look_at, settings_of
from ..registry import configured, strategies
from ..strategies import Strategy
from ..types import Scope, parted
from .charts import by_day, by_hour
from .forms import CHANGES, ChangeForm, Kind, RequestForm, ScopeForm
from .needs import address_of, may, with_buttons
from .overview import shown_scope

__all__ = ["ScopePages"]

SECONDS = 10.0  # for all requests of a page
REPEATS = 4  # of requests that failed, which a page may send besides

logger = logging.getLogger(__name__)


class _Place:
    """The scope that a page is about, and what all its pages show of it."""

    def __init__(self, request: HttpRequest, alias: str) -> None:
        self.alias = alias
        self.strategy = _strategy_or_404(alias)
        self.form = ScopeForm(self.strategy, request.GET)
        self.problem = (
            "" if self.form.is_valid() else " ".join(map(str, chain.from_iterable(self.form.errors.values())))
        )
        self.counted: Scope = self.form.cleaned_data.get("counted")
        self.scope, self.period = parted(self.counted)

    def address(self, page: str, *more: str) -> str:
        """The address of one of the pages about the scope."""
        return address_of(page, self.alias, self.counted, *more)

    @property
    def name(self) -> str:
        """How people call it."""
        return " ".join(filter(None, ["without scope" if self.scope is None else self.scope, self.period]))

    def shown(self, title: str) -> dict[str, Any]:
        """What every page about it shows."""
        pages = {name: self.address(name) for name in ("scope", "audit", "export", "request")}
        return {"title": title, "alias": self.alias, "name": self.name, "pages": pages, "repeats": REPEATS}


def _strategy_or_404(alias: str) -> Strategy:
    """The strategy of a sequence. Raises Http404, also for one whose settings are wrong: its own page says how."""
    try:
        if alias in configured():
            return strategies[alias]
    except InvalidSequence as error:
        raise Http404(str(error)) from error
    raise Http404(f"There is no sequence {alias!r} in the setting SEQUENCES.")


@contextmanager
def _told(content: dict[str, Any]) -> Iterator[None]:
    """What goes wrong in the body becomes the `trouble` of a page, with its status."""
    try:
        yield
    except ScopeNotFound as error:
        content |= {"trouble": str(error), "status": 404}
    except (GaveUp, StorageError) as error:
        logger.error("a page of %s cannot be shown: %s", content.get("alias"), error)
        content |= {"trouble": f"DynamoDB did not serve this. {error}", "status": 503}
    except SequenceError as error:
        content |= {"trouble": str(error), "status": 400}


class ScopePages:
    """The pages about one scope, for the administration of sequences, which has `_page` and `_require_permission`."""

    admin_site: AdminSite

    def _require_permission(self, request: HttpRequest) -> None:
        """Raise PermissionDenied for somebody who may not see sequences."""
        raise NotImplementedError

    def _page(self, request: HttpRequest, name: str, content: dict[str, Any]) -> TemplateResponse:
        """The page that a template makes of this."""
        raise NotImplementedError

    def scope_urls(self) -> Iterator[URLPattern]:
        """The addresses of the pages."""
        view: Callable[..., Any] = self.admin_site.admin_view
        pages = {"scope": self.scope_view, "request": self.request_view, "audit": self.audit_view}
        for name, page in {**pages, "export": self.export_view}.items():
            where = "scope/" if name == "scope" else f"scope/{name}/"
            yield path(f"<str:alias>/{where}", view(page), name=f"sequences_sequence_{name}")
        yield path(
            "<str:alias>/scope/<str:kind>/", view(self.change_scope_view), name="sequences_sequence_change_scope"
        )

    @method_decorator(require_safe)
    def scope_view(self, request: HttpRequest, alias: str) -> HttpResponse:
        """One scope: its state, its last numbers, its history, its settings, and what can be done."""
        self._require_permission(request)
        place = _Place(request, alias)
        content = {**place.shown(f"Scope of {alias}"), "request_form": RequestForm()}
        if place.problem:
            return self._page(request, "scope", {**content, "trouble": place.problem, "status": 400})
        with _told(content), dynamodb.at_most(REQUESTS_OF_A_SCOPE + REPEATS, seconds=SECONDS) as budget:
            report = look_at(place.strategy, place.counted)
            (figures,) = scope_figures(place.strategy, [report.counter], by_hour=True)
            content |= {
                "report": report,
                "scope": shown_scope(figures),
                "charts": [("Hour", by_hour(figures.rates)), ("Day", by_day(figures.rates))],
                "needs": with_buttons(request, of_scope(report.seen, lambda: figures.usage.ends_on)),
                "settings": settings_of(place.strategy),
                "actions": list(_actions(request, place, frozen=bool(report.frozen))),
                "may_audit": may(request, "audit"),
                "may_export": may(request, "export"),
                "unlisted": _unlisted(place.strategy),
                "budget": budget,
            }
        return self._page(request, "scope", content)

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def request_view(self, request: HttpRequest, alias: str) -> HttpResponse:
        """What became of a request, by its idempotency token. It comes by POST, so that it is in no log and address."""
        self._require_permission(request)
        place = _Place(request, alias)
        form = RequestForm(request.POST if request.method == "POST" else None)
        content = {**place.shown(f"A request of {alias}"), "request_form": form}
        if place.problem:
            content |= {"trouble": place.problem, "status": 400}
        elif form.is_bound and not form.is_valid():
            content["status"] = 400
        elif form.is_bound:
            with _told(content), dynamodb.at_most(REQUESTS_OF_A_REQUEST + REPEATS, seconds=SECONDS) as budget:
                content |= {
                    "trace": trace(place.strategy, place.scope, form.cleaned_data["stored"]),
                    "marker_days": place.strategy.option["marker_seconds"] / 86_400,
                    "budget": budget,
                }
        return self._page(request, "request", content)

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def change_scope_view(self, request: HttpRequest, alias: str, kind: str) -> HttpResponse:
        """Ask for a guarded change, show what it would do, and make it when exactly that is confirmed."""
        chosen = _allowed(request, kind)
        self._require_permission(request)
        place = _Place(request, alias)
        content = {**place.shown(f"{kind.capitalize()} a scope of {alias}"), "kind": chosen}
        if place.problem:
            return self._page(request, "change", {**content, "trouble": place.problem, "status": 400})
        by = request.user.get_username()
        form = ChangeForm(chosen, alias, place.counted, by, request.POST if request.method == "POST" else None)
        if form.is_bound and form.is_valid() and (change := form.preview()):
            confirmed = "confirmed" in request.POST
            if confirmed and form.confirms(change) and (made := form.make()):
                messages.success(request, f"Done: {kind}, from {_value(made.before)} to {_value(made.after)}.")
                return redirect(place.address("scope"))
            if not form.failure:
                asked = form.asked(change)
                return self._page(request, "change", {**content, "form": asked, "change": change, "moved": confirmed})
        away = isinstance(form.failure, GaveUp | StorageError)
        unknown = getattr(form.failure, "outcome_unknown", False)
        return self._page(
            request, "change", {**content, "form": form, "unknown": unknown, "status": 503 if away else 200}
        )

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def audit_view(self, request: HttpRequest, alias: str) -> HttpResponse:
        """The audit of a scope that began last, and the last result. A POST begins one in the background."""
        self._require_permission(request)
        if request.method == "POST" and not may(request, "audit"):
            raise PermissionDenied
        place = _Place(request, alias)
        content = {**place.shown(f"Audit of a scope of {alias}"), "may_audit": may(request, "audit")}
        content |= {"unlisted": _unlisted(place.strategy)}
        if place.problem:
            return self._page(request, "audit", {**content, "trouble": place.problem, "status": 400})
        if request.method == "POST":
            return self._begin_audit(request, place, content)
        with _told(content), dynamodb.at_most(1 + REPEATS, seconds=SECONDS) as budget:
            run, result = KeptAudits(place.strategy).look(place.counted)
            content |= {"run": run, "result": result, "budget": budget}
        return self._page(request, "audit", content)

    def _begin_audit(self, request: HttpRequest, place: _Place, content: dict[str, Any]) -> HttpResponse:
        with _told(content):
            try:
                start_audit(place.strategy, place.counted, request.user.get_username())
            except AuditRefused as refused:
                messages.warning(request, str(refused))
            return redirect(place.address("audit"))
        return self._page(request, "audit", content)

    @method_decorator(require_safe)
    def export_view(self, request: HttpRequest, alias: str) -> HttpResponseBase:
        """Every number of a scope as CSV, page by page as it is read."""
        self._require_permission(request)
        if not may(request, "export"):
            raise PermissionDenied
        place = _Place(request, alias)
        content = place.shown(f"Export of a scope of {alias}")
        if place.problem:
            return self._page(request, "trouble", {**content, "trouble": place.problem, "status": 400})
        with _told(content):
            parts = export_numbers(place.strategy, place.counted)
            named = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{alias} {place.name}")[:100].strip("-")
            headers = {"Content-Disposition": content_disposition_header(True, f"{named}.csv") or "attachment"}
            return StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8", headers=headers)
        return self._page(request, "trouble", content)


def _allowed(request: HttpRequest, kind: str) -> Kind:
    """The kind of a change. Raises Http404 for another one, and PermissionDenied for who may not make it."""
    if kind not in CHANGES:
        raise Http404(f"There is no change {kind!r}.")
    if not may(request, kind):
        raise PermissionDenied
    return CHANGES[kind]


def _actions(request: HttpRequest, place: _Place, *, frozen: bool) -> Iterator[Mapping[str, Any]]:
    """The changes that somebody may make, each with its address, or with why it cannot be made now."""
    for name, kind in CHANGES.items():
        if may(request, name):
            why = kind.unavailable(place.strategy, frozen=frozen)
            yield {"kind": kind, "why": why, "address": place.address("change_scope", name)}


def _unlisted(strategy: Strategy) -> str:
    """Why the numbers of a sequence can neither be audited nor exported; empty if they can."""
    try:
        require_collections(strategy)
    except OperationNotSupported as error:
        return str(error)
    return ""


def _value(value: int | None) -> str:
    return "nothing" if value is None else str(value)
