"""The administration's pages about sequences: which there are, what they guarantee, and how far they have counted.

The pages here only read; those about one scope are in `scope`. The facts about a strategy come from
`capabilities`, and a page shows what went wrong.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from sequences import dynamodb
from sequences.admin import dialogs, scope
from sequences.admin.forms import ScopeForm
from sequences.admin.overview import may, overview_content, scopes_content
from sequences.capabilities import capabilities
from sequences.exceptions import InvalidSequence
from sequences.ops.doctor import Verdict, diagnose
from sequences.ops.scope_report import settings_of
from sequences.registry import strategies

Page = Callable[..., dict[str, Any] | HttpResponseBase]
"""What a template shows, with a `status` that is not 200; or an answer by itself."""

MOST_REQUESTS = 100  # for the health of about 25 tables
MOST_SECONDS = 4.0

SAFE = ("GET", "HEAD")
FORM = (*SAFE, "POST")


def urls(entry: ModelAdmin) -> list[URLPattern]:  # type: ignore[type-arg]  # takes no argument when it runs
    """The addresses of the pages, each with its name, its template, and the methods that it takes."""
    about, one, scoped = scope.about_scope, "<str:alias>/", "<str:alias>/scope/"
    rules_of_one = about("Rules of a scope of {alias}", dialogs.line_page, by_rules=True)
    pages: Sequence[tuple[str, str, str, Page, Sequence[str]]] = [
        ("", "changelist", "overview", _overview_page, SAFE),
        ("health/", "health", "health", _health_page, SAFE),
        (scoped, "scope", "scope", about("Scope of {alias}", scope.scope_page), SAFE),
        (f"{scoped}request/", "request", "request", about("A request of {alias}", scope.request_page), FORM),
        (f"{scoped}audit/", "audit", "audit", about("Audit of a scope of {alias}", scope.audit_page), FORM),
        (f"{scoped}export/", "export", "scope_base", about("Export of a scope of {alias}", scope.export_page), SAFE),
        (f"{one}rules/", "rules", "rules", dialogs.rules_page, SAFE),
        *((f"{one}{kind}/", kind, "books", partial(dialogs.books_page, kind=kind), FORM) for kind in dialogs.BOOKS),
        (f"{scoped}rules/", "line", "line", rules_of_one, FORM),
        (f"{scoped}<str:kind>/", "change_scope", "change", about("{kind} a scope of {alias}", scope.change_page), FORM),
        (one, "counters", "sequence", _sequence_page, SAFE),
    ]
    return [
        path(where, _view(entry, page, template, methods), name=f"sequences_sequence_{name}")
        for where, name, template, page, methods in pages
    ]


def _view(entry: ModelAdmin, page: Page, template: str, methods: Sequence[str]) -> Callable[..., Any]:  # type: ignore[type-arg]
    """The view of a page, for who may see sequences."""

    @require_http_methods(list(methods))
    def view(request: HttpRequest, **given: str) -> HttpResponseBase:
        if not entry.has_view_permission(request):
            raise PermissionDenied
        content = page(request, **given)
        if isinstance(content, HttpResponseBase):
            return content
        status = content.pop("status", 200)
        context = {**entry.admin_site.each_context(request), "opts": entry.opts, "now": timezone.now(), **content}
        return TemplateResponse(request, f"sequences/admin/{template}.html", context, status=status)

    return entry.admin_site.admin_view(view)


def _overview_page(request: HttpRequest) -> dict[str, Any] | HttpResponseBase:
    """What needs a hand, and how every sequence stands. A search goes on to the page of its sequence."""
    with suppress(InvalidSequence):  # the content says what is wrong
        if alias := request.GET.get("sequence"):
            scope.require_configured(alias)
            query = urlencode({"q": q} if (q := request.GET.get("q")) else {})
            return redirect(reverse("admin:sequences_sequence_counters", args=[alias]) + f"?{query}")
    return {"title": "Sequences", **overview_content(request)}


def _health_page(request: HttpRequest) -> dict[str, Any]:
    """What is good and what is not about the tables of all sequences: the findings of the doctor, by subject.

    Sends at most MOST_REQUESTS requests, and none after MOST_SECONDS. Its status is 503 if DynamoDB is away.
    """
    title = "Health of the tables"
    with dynamodb.at_most(MOST_REQUESTS, seconds=MOST_SECONDS) as budget:
        try:
            found = diagnose()
        except InvalidSequence as error:
            return {"title": title, "trouble": str(error)}
    counts = Counter(finding.verdict for finding in found.findings)
    uses = {table.name: list(table.uses.items()) for table in found.tables}
    return {
        "title": title,
        "subjects": [
            {"name": name, "uses": uses.get(name, ()), "findings": list(of_one)}
            for name, of_one in groupby(found.findings, key=lambda finding: finding.subject)
        ],
        "counts": [(verdict.value, counts[verdict]) for verdict in Verdict],
        "away": found.away,
        "budget": budget,
        "status": 503 if found.away else 200,
    }


def _sequence_page(request: HttpRequest, alias: str) -> dict[str, Any]:
    """One sequence: its scopes, what needs a hand there, its changes and audits, and what it guarantees."""
    try:
        scope.require_configured(alias)
        strategy = strategies[alias]
    except InvalidSequence as error:
        return {"title": alias, "alias": alias, "trouble": str(error)}
    return {
        "title": alias,
        "alias": alias,
        "strategy": type(strategy).__name__,
        "promise": (type(strategy).__doc__ or "").partition("\n")[0],
        "answers": [(one, one.answer(type(strategy))) for one in capabilities()],
        "settings": settings_of(strategy),
        "scope_form": ScopeForm(strategy),
        "has_rules": bool(strategy.config.series),
        "books": [kind for kind in dialogs.BOOKS if dialogs.can_close(strategy) and may(request, kind)],
        **scopes_content(request, alias),
    }
