"""The tickets in the administration: a list of projects, and a list of the tickets of one. Both are read-only."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from tickets import models, selectors


@admin.register(models.Ticket)
class TicketAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # no generic when it runs
    """One page without querysets. Django's other pages would query a table that does not exist."""

    def get_urls(self) -> list[URLPattern]:
        """The address of the list."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name=f"{self.opts.app_label}_{self.opts.model_name}_changelist")]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """A page of the projects or, with `?project=ABC`, of the tickets of one project."""
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
        """Always False: tickets are filed on the pages of the site."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Ticket | None = None) -> bool:
        """Always False: tickets are changed on the pages of the site."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Ticket | None = None) -> bool:
        """Always False: tickets are voided on the pages of the site."""
        return False


def _listed(key: str | None, cursor: str | None) -> dict[str, Any]:
    if key is None:
        return {"page": selectors.list_projects(cursor=cursor)}
    project = selectors.get_project(key)
    return {"project": project, "page": selectors.list_tickets(project.key, cursor=cursor, whole=False)}
