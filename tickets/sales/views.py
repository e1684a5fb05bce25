"""The pages of orders and invoices. What all pages have in common is in `tickets.pages`."""

from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from sequences.exceptions import SequenceError
from tickets.access.checks import has_permission
from tickets.accounts.sign_in import author
from tickets.addresses import with_query
from tickets.markdown import Marked
from tickets.pages import FORM, door, form_page, measured, tell
from tickets.sales import companies, permissions, selectors, services
from tickets.sales.filters import EVERY_ONE, INVOICE_STATES, ORDER_STATES, SalesFilter
from tickets.sales.forms import CompanyForm, InvoiceVoidForm, IssueForm, OrderForm
from tickets.sales.types import State, sum_of
from tickets.sales.validators import EARLIEST, today


@door(permissions.VIEW_ORDER)
def order_list(request: HttpRequest) -> HttpResponse:
    """The orders, newest first; or those that its address asks for. One read."""
    where = SalesFilter.of(request.GET, ORDER_STATES)
    page = selectors.list_orders(where=where, cursor=request.GET.get("cursor"), whole=False)
    content = {"page": page, "sum": sum_of(page.results), "where": where, "states": ORDER_STATES}
    content["filtered"] = where != EVERY_ONE
    return render(request, "tickets/sales/order_list.html", content)


@door(permissions.ADD_ORDER, FORM)
def order_new(request: HttpRequest) -> HttpResponse:
    """The form for a new order. "More lines" shows it again with more rows."""
    form = OrderForm.typed(request) or OrderForm()
    if form.is_valid() and "more" not in request.POST:
        with form.refusals():
            by, token = author(request), form.one_time_token
            with measured() as cost:
                stored = services.create_order(**form.content, by=by, idempotency_token=token)
            tell(request, f"{stored.value.text} is stored.", stored.allocation, cost)
            return redirect("sales:order", stored.value.number)
    return form_page(request, "tickets/sales/order_new.html", form)


@door(permissions.VIEW_ORDER)
def order(request: HttpRequest, number: int) -> HttpResponse:
    """An order, and how far its invoice is. One that is drafted has the form that issues it."""
    found = selectors.get_order(number)
    may_issue = (
        found.state is State.DRAFT and not found.void and has_permission(request.user, permissions.ISSUE_INVOICE)
    )
    form = _offered(IssueForm.for_draft(found)) if may_issue else None
    return render(request, "tickets/sales/order.html", {"order": found, "form": form})


@door(permissions.VIEW_ORDER)
def order_by_text(request: HttpRequest, text: str) -> HttpResponse:
    """The way to an order by its text, in any spelling that people use."""
    return redirect("sales:order", selectors.order_number(text))


@door(permissions.ADD_INVOICE, FORM)
def order_draft(request: HttpRequest, number: int) -> HttpResponse:
    """Draft the invoice of an order. Who only opens the address, as after signing in anew, comes to the order."""
    if request.method == "POST":
        services.draft_invoice(number, by=author(request))
        messages.success(request, "The invoice is drafted. It gets its number when it is issued.")
    return redirect("sales:order", number)


@door(permissions.ISSUE_INVOICE, FORM)
def order_issue(request: HttpRequest, number: int) -> HttpResponse:
    """The form that issues the drafted invoice of an order."""
    form = IssueForm.typed(request) or IssueForm.for_draft(selectors.get_draft(number))
    if form.is_valid():
        with form.refusals():
            with measured() as cost:
                issued = services.issue_invoice(
                    number,
                    **form.content,
                    version=form.version_read,
                    by=author(request),
                    idempotency_token=form.one_time_token,
                )
            text = issued.value.key.text
            tell(request, f"{text} is issued.", issued.allocation, cost)
            return redirect("sales:invoice", text)
    return form_page(request, "tickets/sales/order_issue.html", _offered(form), number=number)


def _offered(form: IssueForm) -> IssueForm:
    """The form with the companies; where these cannot be read, it keeps what was typed. One query."""
    with suppress(SequenceError):
        form.offer(companies.list_companies())
    return form


@door(permissions.VIEW_INVOICE)
def invoices(request: HttpRequest) -> HttpResponse:
    """The way to the invoices of this year."""
    return redirect(with_query(request, reverse("sales:invoice_year", args=[today().year])))


@door(permissions.VIEW_INVOICE)
def invoice_year(request: HttpRequest, year: int) -> HttpResponse:
    """The invoices of a company in a year, newest first, with what is known of their numbers; or those asked for."""
    where, cursor = SalesFilter.of(request.GET, INVOICE_STATES), request.GET.get("cursor")
    company = request.GET.get("company", "")
    years = [beside for beside in (year - 1, year + 1) if EARLIEST.year <= beside <= today().year]
    content: dict[str, Any] = {"year": year, "years": years, "where": where, "states": INVOICE_STATES}
    content["company"] = company
    if where == EVERY_ONE:
        page = selectors.list_invoices(year, company=company, cursor=cursor, whole=False)
        content |= {"page": page, "entries": page.entries}
    else:
        found = selectors.search_invoices(year, where=where, company=company, cursor=cursor)
        content |= {"page": found, "entries": found.results, "filtered": True}
    content["sum"] = sum_of(content["page"].results)
    return render(request, "tickets/sales/invoice_year.html", content)


@door(permissions.VIEW_INVOICE)
def invoice(request: HttpRequest, text: str) -> HttpResponse:
    """An invoice, by its text in any spelling that people use. A void one is struck out."""
    found = selectors.get_invoice(text)
    if text != found.key.text:
        return redirect("sales:invoice", found.key.text)
    why = found.void.reason if found.void else ""
    reason = Marked([why]).html(why, {})
    return render(request, "tickets/sales/invoice.html", {"invoice": found, "reason": reason})


@door(permissions.VOID_INVOICE, FORM)
def invoice_void(request: HttpRequest, text: str) -> HttpResponse:
    """The form that voids an invoice. One that is void leads to its page."""
    form = InvoiceVoidForm.typed(request) or InvoiceVoidForm()
    if not form.is_bound:  # otherwise, if this read failed, what was typed would be lost
        found = selectors.get_invoice(text)
        if found.void:
            return redirect("sales:invoice", found.key.text)
        text = found.key.text
    if form.is_valid():
        with form.refusals():
            stored = services.void_invoice(text, **form.content, by=author(request))
            text = stored.value.key.text
            told = "was void already, for the reason below" if stored.replayed else "is void"
            messages.success(request, f"{text} {told}.")
            return redirect("sales:invoice", text)
    return form_page(request, "tickets/sales/invoice_void.html", form, text=text)


@door(permissions.VIEW_INVOICE)
def company_list(request: HttpRequest) -> HttpResponse:
    """The companies with their series. One query."""
    page = companies.list_companies(cursor=request.GET.get("cursor"))
    return render(request, "tickets/sales/company_list.html", {"page": page, "year": today().year})


@door(permissions.ADD_COMPANY, FORM)
def company_new(request: HttpRequest) -> HttpResponse:
    """The form for a new company. "Show its texts" shows it again with the texts of the first invoices."""
    form, texts = CompanyForm.typed(request) or CompanyForm(), list[str]()
    if form.is_valid():
        with form.refusals():
            if "preview" not in request.POST:
                made = companies.create_company(**form.content, by=author(request)).value
                messages.success(request, f"{made.name} issues invoices as {made.key}.")
                return redirect("sales:company_list")
            texts = companies.preview_company(**form.content)
    return form_page(request, "tickets/sales/company_new.html", form, texts=texts)
