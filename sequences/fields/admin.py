"""What an application's own pages of the administration take for its numbered rows."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist
from django.db import models, transaction
from django.http import HttpRequest

from ..exceptions import InvalidText, SequenceError


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


def issue_numbers(page: Any, request: HttpRequest, rows: models.QuerySet[Any]) -> None:
    """An action for ModelAdmin: issue the numbers of the chosen drafts, for people who may change them.

    The model's manager is built from `SequenceQuerySet`. Rows that have numbers keep them. An error is shown.
    """
    try:
        found = rows.issue_numbers()  # type: ignore[attr-defined]
    except SequenceError as error:
        page.message_user(request, str(error), messages.ERROR)
        return
    waiting = transaction.get_connection(rows.db).in_atomic_block
    said = "The numbers follow when this request is committed." if waiting else f"{len(found)} numbers issued."
    page.message_user(request, said, messages.SUCCESS)


vars(issue_numbers).update(short_description="Issue numbers", allowed_permissions=["change"])
