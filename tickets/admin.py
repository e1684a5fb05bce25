"""The lists in the administration: projects and their tickets, orders, and the invoices of a year. All read-only.

Each has a box that leads to whatever has a key or a number. A page costs one query, and the box one read.
"""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from tickets import models, selectors
from tickets.accounts.sign_in import signed_in
from tickets.exceptions import NotFound
from tickets.finding import path_of_existing
from tickets.sales import selectors as sales


class MadeElsewhere(admin.ModelAdmin):  # type: ignore[type-arg] # no generic when it runs
    """What the administration neither makes nor changes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Always False: things are made on the pages of the site."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: things are changed on the pages of the site."""
        return False


class StoredAdmin(MadeElsewhere):
    """One page without querysets. Django's other pages would query a table that does not exist."""

    def listed(self, request: HttpRequest) -> dict[str, Any]:
        """What the page shows."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        """The address of the list."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name=f"{self.opts.app_label}_{self.opts.model_name}_changelist")]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, for who may see it; or the way to what was typed into the box, or the list with what is wrong."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        trouble, typed = "", request.GET.get("find", "").strip()
        if typed:
            try:
                return redirect(path_of_existing(typed, signed_in(request)))
            except NotFound as error:
                trouble = str(error)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": str(self.opts.verbose_name_plural).capitalize(),
            "typed": typed,
            "trouble": trouble,
            **self.listed(request),
        }
        template = f"admin/tickets/{self.opts.model_name}/change_list.html"
        return TemplateResponse(request, template, context, status=404 if trouble else 200)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Always False: numbers are voided on the pages of the site."""
        return False


@admin.register(models.Ticket)
class TicketAdmin(StoredAdmin):
    """The projects or, with `?project=ABC`, the tickets of one project."""

    def listed(self, request: HttpRequest) -> dict[str, Any]:
        """One page of projects or tickets. Tickets cost one read more, of their project."""
        key, cursor = request.GET.get("project"), request.GET.get("cursor")
        if key is None:
            return {"page": selectors.list_projects(cursor=cursor)}
        project = selectors.get_project(key)
        page = selectors.list_tickets(project.key, cursor=cursor, whole=False)
        return {"project": project, "title": f"{project.name} ({project.key})", "page": page}


@admin.register(models.Order)
class OrderAdmin(StoredAdmin):
    """The orders."""

    def listed(self, request: HttpRequest) -> dict[str, Any]:
        """One page of orders."""
        return {"page": sales.list_orders(cursor=request.GET.get("cursor"), whole=False)}


@admin.register(models.Invoice)
class InvoiceAdmin(StoredAdmin):
    """The invoices of this year or, with `?year=2025`, of another one; with `?company=NORD` those of a company."""

    def listed(self, request: HttpRequest) -> dict[str, Any]:
        """One page of invoices, and what it shows about their numbers."""
        year, company = request.GET.get("year"), request.GET.get("company", "")
        page = sales.list_invoices(year, company=company, cursor=request.GET.get("cursor"), whole=False)
        return {"page": page, "before": page.year - 1, "after": page.year + 1}
