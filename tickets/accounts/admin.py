"""API tokens in the administration: who has which, until when. Their secrets are stored nowhere."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from tickets.accounts.models import ApiToken


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # no generic when it runs
    """The list. Deleting a token revokes it; people make their own."""

    list_display = ("name", "user", "read_only", "project", "created_at", "expires_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    fields = list_display

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Always False: a token is shown to its person only."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: what a token is was decided when it was made."""
        return False
