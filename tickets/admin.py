"""The tickets in the administration: the projects, and the tickets of one. Nothing is changed here."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from tickets import models, selectors


@admin.register(models.Ticket)
class TicketAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # no generic when it runs
    """One address and no querysets: Django's other addresses would ask a table that does not exist."""

    def get_urls(self) -> list[URLPattern]:
        """The list."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name=f"{self.opts.app_label}_{self.opts.model_name}_changelist")]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The projects or, with `?project=ABC`, the tickets of one; by cursor."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Tickets",
            **_listed(request.GET.get("project"), request.GET.get("cursor")),
        }
        return TemplateResponse(request, "admin/tickets/ticket/change_list.html", context)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Tickets are filed on their pages."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Ticket | None = None) -> bool:
        """Tickets are changed on their pages."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Ticket | None = None) -> bool:
        """Tickets are voided on their pages."""
        return False


def _listed(key: str | None, cursor: str | None) -> dict[str, Any]:
    if key is None:
        return {"page": selectors.list_projects(cursor=cursor)}
    return {
        "project": selectors.get_project(key),
        "page": selectors.list_tickets(key, cursor=cursor, whole=False),
    }
