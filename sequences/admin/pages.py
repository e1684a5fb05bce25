"""The administration's pages about sequences: which there are, what they guarantee, and how far they have counted.

The pages here only read; those about one scope are in `scope`. The facts about a strategy come from
`capabilities`, and a page shows what went wrong.
"""

from __future__ import annotations

import logging
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.signing import BadSignature, Signer
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from sequences import changes
from sequences.admin.forms import ScopeForm
from sequences.admin.health import health_content
from sequences.admin.overview import REFRESHES, overview_content, refresh_of
from sequences.admin.scope import ScopePages
from sequences.capabilities import WORDS, capabilities
from sequences.exceptions import GaveUp, InvalidSequence, OperationNotSupported, SequenceError, StorageError
from sequences.models import Sequence
from sequences.ops.audit.results import latest_audits
from sequences.registry import configured, strategies

__all__ = ["SequenceAdmin"]

COUNTERS_A_PAGE = 25
LATEST_AUDITS = 5

logger = logging.getLogger(__name__)


@admin.register(Sequence)
class SequenceAdmin(ScopePages, admin.ModelAdmin):  # type: ignore[type-arg]  # takes no argument when it runs
    """Pages for sequences, in place of those that Django makes for a model with rows."""

    def get_urls(self) -> list[URLPattern]:
        """The overview, the health of the tables, and pages for each sequence and scope. Every other one is a 404."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="sequences_sequence_changelist"),
            path("health/", view(self.health_view), name="sequences_sequence_health"),
            *self.scope_urls(),
            path("<str:alias>/", view(self.counters_view), name="sequences_sequence_counters"),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Always False: sequences are added in the settings."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Sequence | None = None) -> bool:
        """Always False: sequences are changed in the settings. Guarded changes have permissions of their own."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Sequence | None = None) -> bool:
        """Always False: sequences are removed in the settings."""
        return False

    @method_decorator(require_safe)
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """How every sequence stands: its first scopes with their figures, or the scopes of one that are searched."""
        self._require_permission(request)
        content = overview_content(request.GET.dict())
        return self._page(request, "overview", {"title": "Sequences", "flags": _flags(), **content})

    @method_decorator(require_safe)
    def health_view(self, request: HttpRequest) -> TemplateResponse:
        """What is good and what is not about the tables of all sequences."""
        self._require_permission(request)
        return self._page(request, "health", {"title": "Health of the tables", **health_content()})

    @method_decorator(require_safe)
    def counters_view(self, request: HttpRequest, alias: str) -> TemplateResponse:
        """One sequence with what it guarantees, and a page of its counters."""
        self._require_permission(request)
        content = {"title": alias, **_described_or_404(alias)}
        if "trouble" not in content:
            content |= _counters(alias, request.GET.get("cursor"), COUNTERS_A_PAGE)
            content |= _history(alias) | _audits(alias)
            content["scope_form"] = ScopeForm(strategies[alias])
        return self._page(request, "counters", content)

    def _require_permission(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def _page(self, request: HttpRequest, name: str, content: dict[str, Any]) -> TemplateResponse:
        self._require_permission(request)
        status = content.pop("status", 200)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "refreshes": REFRESHES,
            "refresh": (refresh := refresh_of(request.GET.dict())),
            **content,
        }
        response = TemplateResponse(request, f"sequences/admin/{name}.html", context, status=status)
        if refresh and name in ("overview", "health"):
            response["Refresh"] = refresh
        return response


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


def _described_or_404(alias: str) -> dict[str, Any]:
    try:
        if alias not in configured():
            raise Http404(f"There is no sequence {alias!r} in the setting SEQUENCES.")
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
        "costs": [answer for answer in answers if not isinstance(answer["answer"], bool)],
        "config": strategy.config,
    }


def _counters(alias: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of counters, or the reason why it cannot be shown. Here errors become words on a page."""
    signer = Signer(salt=f"sequences.counters.{alias}")
    try:
        counters, following = strategies[alias].scopes.page(cursor and signer.unsign(cursor), limit)
    except BadSignature:
        return {"trouble": "This is not a cursor of this list. Start again without one.", "status": 400}
    except OperationNotSupported as error:
        return {"unlisted": str(error)}
    except ValidationError as error:  # the function of the option "scopes" does not know the cursor
        return {"trouble": " ".join(error.messages), "status": 400}
    except (GaveUp, StorageError) as error:
        logger.error("the counters of %s cannot be read: %s", alias, error)
        return {"trouble": f"The counters cannot be read. {error} Solve this, then reload the page.", "status": 503}
    except (SequenceError, ImportError) as error:
        return {"trouble": str(error)}
    return {"counters": counters, "next_cursor": following and signer.sign(following), "cursor": cursor}


def _history(alias: str) -> dict[str, Any]:
    """The latest guarded changes; none where the table of the history is missing or away."""
    try:
        return {"history": changes.history(alias, limit=COUNTERS_A_PAGE)[0]}
    except SequenceError:
        return {}


def _audits(alias: str) -> dict[str, Any]:
    """The latest results of audits; none where the table of the history is missing or away."""
    try:
        return {"audits": latest_audits(alias, LATEST_AUDITS)}
    except SequenceError:
        return {}
