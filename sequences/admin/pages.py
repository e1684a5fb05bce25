"""The administration's pages about sequences: which there are, what they guarantee, and how far they have counted.

The pages here only read; those about one scope are in `scope`. The facts about a strategy come from
`capabilities`, and a page shows what went wrong.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from sequences.admin.forms import ScopeForm
from sequences.admin.health import health_content
from sequences.admin.overview import overview_content, scopes_content
from sequences.admin.scope import ScopePages
from sequences.capabilities import WORDS, capabilities
from sequences.exceptions import InvalidSequence
from sequences.ops.scope_report import settings_of
from sequences.registry import configured, strategies

__all__ = ["SequencePages"]


class SequencePages(ScopePages):
    """The pages behind the administration's entry for sequences."""

    def __init__(self, entry: ModelAdmin) -> None:  # type: ignore[type-arg]  # takes no argument when it runs
        self.entry = entry
        self.admin_site = entry.admin_site

    def urls(self) -> list[URLPattern]:
        """The overview, the health of the tables, and pages for each sequence and scope."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="sequences_sequence_changelist"),
            path("health/", view(self.health_view), name="sequences_sequence_health"),
            *self.scope_urls(),
            path("<str:alias>/", view(self.counters_view), name="sequences_sequence_counters"),
        ]

    @method_decorator(require_safe)
    def changelist_view(self, request: HttpRequest) -> HttpResponse:
        """What needs a hand, and how every sequence stands. A search goes on to the page of its sequence."""
        self._require_permission(request)
        if alias := request.GET.get("sequence"):
            _require(alias)
            query = urlencode({"q": q} if (q := request.GET.get("q")) else {})
            return HttpResponseRedirect(reverse("admin:sequences_sequence_counters", args=[alias]) + f"?{query}")
        content = overview_content(request)
        return self._page(request, "overview", {"title": "Sequences", "flags": _flags(), **content})

    @method_decorator(require_safe)
    def health_view(self, request: HttpRequest) -> TemplateResponse:
        """What is good and what is not about the tables of all sequences."""
        self._require_permission(request)
        return self._page(request, "health", {"title": "Health of the tables", **health_content()})

    @method_decorator(require_safe)
    def counters_view(self, request: HttpRequest, alias: str) -> TemplateResponse:
        """One sequence: its scopes, what needs a hand there, its changes and audits, and what it guarantees."""
        self._require_permission(request)
        content = {"title": alias, **_described_or_404(alias)}
        if "trouble" not in content:
            content |= scopes_content(request, alias)
            content["scope_form"] = ScopeForm(strategies[alias])
        return self._page(request, "sequence", content)

    def _require_permission(self, request: HttpRequest) -> None:
        if not self.entry.has_view_permission(request):
            raise PermissionDenied

    def _page(self, request: HttpRequest, name: str, content: dict[str, Any]) -> TemplateResponse:
        self._require_permission(request)
        status = content.pop("status", 200)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.entry.opts,
            "now": timezone.now(),
            **content,
        }
        return TemplateResponse(request, f"sequences/admin/{name}.html", context, status=status)


def _flags() -> list[dict[str, str]]:
    """The yes-or-no questions, and what each answer means."""
    return [
        {
            "label": capability.label,
            "question": capability.question,
            "yes": WORDS[capability.name][0],
            "no": WORDS[capability.name][1],
        }
        for capability in capabilities()
        if capability.is_flag
    ]


def _require(alias: str) -> None:
    """Raise Http404 for a sequence that is not configured, and InvalidSequence if the setting is wrong."""
    if alias not in configured():
        raise Http404(f"There is no sequence {alias!r} in the setting SEQUENCES.")


def _described_or_404(alias: str) -> dict[str, Any]:
    try:
        _require(alias)
    except InvalidSequence as error:
        return {"trouble": str(error)}
    return _described(alias)


def _described(alias: str) -> dict[str, Any]:
    """One sequence with its configuration and the answers of its strategy, or with the error in its configuration."""
    try:
        strategy = strategies[alias]
    except InvalidSequence as error:
        return {"alias": alias, "trouble": str(error)}
    answers = [
        {
            "label": capability.label,
            "question": capability.question,
            "answer": capability.answer(type(strategy)),
        }
        for capability in capabilities()
    ]
    return {
        "alias": alias,
        "strategy": type(strategy).__name__,
        "promise": (type(strategy).__doc__ or "").partition("\n")[0],
        "flags": [answer for answer in answers if isinstance(answer["answer"], bool)],
        "settings": settings_of(strategy),
        "costs": [answer for answer in answers if not isinstance(answer["answer"], bool)],
    }
