"""API tokens in the administration: who has which, until when. Their secrets are stored nowhere."""

from django.contrib import admin

from tickets.accounts.models import ApiToken
from tickets.admin import MadeElsewhere


@admin.register(ApiToken)
class ApiTokenAdmin(MadeElsewhere):
    """The list. Deleting a token revokes it; people make their own, which are shown to them alone."""

    list_display = ("name", "user", "read_only", "project", "created_at", "expires_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    fields = list_display
