"""What an application's own pages of the administration take for its numbered rows."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from django.http import HttpRequest

from ..exceptions import InvalidText

__all__ = ["SearchByText"]


class SearchByText:
    """Finds a row by what people type for its number, too: put it before ModelAdmin, with `search_fields`.

    The model's manager is built from `SequenceQuerySet`. Cost: one SQL query beside the search.
    """

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """What Django finds, and the row with this number."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)  # type: ignore[misc]
        try:
            row = queryset.get_by_text(search_term)  # type: ignore[attr-defined]
        except (InvalidText, ObjectDoesNotExist):
            return found, may_repeat
        return found | queryset.filter(pk=row.pk), may_repeat
