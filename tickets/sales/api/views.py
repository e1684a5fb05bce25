"""The views of orders and invoices: validate, call, serialize, respond. What all views share is in `tickets.api`."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from sequences.rest.idempotency import replay_headers
from tickets.accounts.sign_in import author
from tickets.api.requests import DONE_BEFORE, REPEATABLE, PageQuery, asked, key_of, page_of, page_response, sent
from tickets.api.versions import IF_MATCH, expected_version, tagged
from tickets.sales import companies, permissions, selectors, services
from tickets.sales.api import serializers as shapes
from tickets.types import Stored


class OrderList(APIView):
    """The orders."""

    needs = {"GET": permissions.VIEW_ORDER, "POST": permissions.ADD_ORDER}

    @extend_schema("orders_list", parameters=[PageQuery], responses=page_of(shapes.OrderSerializer))
    def get(self, request: Request) -> Response:
        """One page of orders, newest first."""
        return page_response(request, selectors.list_orders(**asked(request)), shapes.OrderSerializer)

    @extend_schema(parameters=REPEATABLE, request=shapes.NewOrder, responses={201: shapes.OrderSerializer})
    def post(self, request: Request) -> Response:
        """Store an order under the next number."""
        made = services.create_order(
            **sent(request, shapes.NewOrder), by=author(request), idempotency_token=key_of(request)
        )
        return order_response(request, made)


class OrderDetail(APIView):
    """One order."""

    needs = {"GET": permissions.VIEW_ORDER}

    @extend_schema(responses=shapes.OrderSerializer)
    def get(self, request: Request, number: int | str) -> Response:
        """The order, and how far its invoice is."""
        order = selectors.get_order(selectors.order_number(number))
        return tagged(shapes.OrderSerializer.shown(order), order.version)


class OrderInvoice(APIView):
    """The draft of an order's invoice."""

    needs = {"POST": permissions.ADD_INVOICE}

    @extend_schema(parameters=REPEATABLE, request=None, responses={201: shapes.OrderSerializer})
    def post(self, request: Request, number: int | str) -> Response:
        """Draft the invoice of the order. A draft has no number. An order that has a draft keeps it."""
        nothing, order = sent(request, shapes.Drafting), selectors.order_number(number)
        drafted = services.draft_invoice(order, **nothing, by=author(request), idempotency_token=key_of(request))
        return order_response(request, drafted)


class OrderInvoiceIssue(APIView):
    """The issuing of an order's invoice."""

    needs = {"POST": permissions.ISSUE_INVOICE}

    @extend_schema(
        parameters=[IF_MATCH, *REPEATABLE], request=shapes.Issuing, responses={201: shapes.InvoiceSerializer}
    )
    def post(self, request: Request, number: int | str) -> Response:
        """Issue the drafted invoice, under the next number of the year of its date. A draft is issued once.

        A repeat with the same key returns the same invoice, also years later. Another request for the same draft is
        refused with 409, which names the invoice. With the version of the order that you read, another draft is
        refused.
        """
        content, order = sent(request, shapes.Issuing), selectors.order_number(number)
        with expected_version(request, content, required=False) as version:
            issued = services.issue_invoice(
                order, **{**content, "version": version}, by=author(request), idempotency_token=key_of(request)
            )
        return invoice_response(request, issued, status=201)


class CompanyList(APIView):
    """The companies that issue invoices."""

    needs = {"GET": permissions.VIEW_INVOICE, "POST": permissions.ADD_COMPANY}

    @extend_schema("companies_list", parameters=[PageQuery], responses=page_of(shapes.CompanySerializer))
    def get(self, request: Request) -> Response:
        """One page of companies, sorted by their keys, without the main one."""
        return page_response(request, companies.list_companies(**asked(request)), shapes.CompanySerializer)

    @extend_schema(parameters=[DONE_BEFORE], request=shapes.NewCompany, responses={201: shapes.CompanySerializer})
    def post(self, request: Request) -> Response:
        """Let a company issue invoices in a series of its own. The key is your name for this request, too: a repeat
        with the same content makes nothing.

        `Location` is the list of its invoices.
        """
        made = companies.create_company(**sent(request, shapes.NewCompany), by=author(request))
        invoices = f"{reverse('api:invoice_list', request=request)}?company={made.value.key}"
        return Response(shapes.CompanySerializer.shown(made.value), status=201, headers=_headers(made, invoices))


class InvoiceList(APIView):
    """The invoices of a year."""

    needs = {"GET": permissions.VIEW_INVOICE}

    @extend_schema("invoices_list", parameters=[shapes.YearQuery], responses=shapes.InvoicePage)
    def get(self, request: Request) -> Response:
        """One page of a year's invoices, newest first, and which of the numbers that it passed have no invoice."""
        page = selectors.list_invoices(**asked(request, shapes.YearQuery))
        response = page_response(request, page, shapes.InvoiceSerializer)
        response.data["numbers"] = shapes.NumbersSerializer.shown(page)
        return response


class InvoiceDetail(APIView):
    """One invoice."""

    needs = {"GET": permissions.VIEW_INVOICE}

    @extend_schema(responses=shapes.InvoiceSerializer)
    def get(self, request: Request, text: str) -> Response:
        """The invoice, by its text in any spelling that people use. A wrong check digit is refused."""
        return Response(shapes.InvoiceSerializer.shown(selectors.get_invoice(text)))


class InvoiceVoid(APIView):
    """The voiding of an invoice."""

    needs = {"POST": permissions.VOID_INVOICE}

    @extend_schema(parameters=[DONE_BEFORE], request=shapes.InvoiceVoiding, responses=shapes.InvoiceSerializer)
    def post(self, request: Request, text: str) -> Response:
        """Make the invoice void. It keeps its number and its content, and its order can have another one.

        An invoice that is void already stays as it is.
        """
        voided = services.void_invoice(text, **sent(request, shapes.InvoiceVoiding), by=author(request))
        return invoice_response(request, voided, status=200)


def order_response(request: Request, made: Stored[Any]) -> Response:
    """An order with its address, and whether it was stored before."""
    location = reverse("api:order", [made.value.number], request=request)
    return Response(shapes.OrderSerializer.shown(made.value), status=201, headers=_headers(made, location))


def invoice_response(request: Request, made: Stored[Any], *, status: int) -> Response:
    """An invoice with its address, and whether it was stored before."""
    location = reverse("api:invoice", [made.value.key.text], request=request)
    return Response(shapes.InvoiceSerializer.shown(made.value), status=status, headers=_headers(made, location))


def _headers(made: Stored[Any], location: str) -> dict[str, str]:
    return {"Location": location, **replay_headers(made.replayed)}
