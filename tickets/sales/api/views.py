"""The views of orders and invoices: validate, call, serialize, respond. What all views share is in `tickets.api`."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from sequences.rest.idempotency import replay_headers
from tickets.api.pagination import PageQuery, asked, page_response
from tickets.api.requests import DONE_BEFORE, REPEATABLE, author, key_of, page_of, sent
from tickets.api.versions import tagged
from tickets.sales import selectors, services
from tickets.sales.api.serializers import (
    Drafting,
    InvoicePage,
    InvoiceSerializer,
    InvoiceVoiding,
    Issuing,
    NewOrder,
    NumbersSerializer,
    OrderSerializer,
    YearQuery,
)
from tickets.sales.permissions import ADD_INVOICE, ADD_ORDER, ISSUE_INVOICE, VIEW_INVOICE, VIEW_ORDER, VOID_INVOICE
from tickets.types import Stored


class OrderList(APIView):
    """The orders."""

    needs = {"GET": VIEW_ORDER, "POST": ADD_ORDER}

    @extend_schema("orders_list", parameters=[PageQuery], responses=page_of(OrderSerializer))
    def get(self, request: Request) -> Response:
        """One page of orders, newest first."""
        return page_response(request, selectors.list_orders(**asked(request)), OrderSerializer)

    @extend_schema(parameters=REPEATABLE, request=NewOrder, responses={201: OrderSerializer})
    def post(self, request: Request) -> Response:
        """Store an order under the next number."""
        made = services.create_order(**sent(request, NewOrder), by=author(request), idempotency_token=key_of(request))
        return order_response(request, made)


class OrderDetail(APIView):
    """One order."""

    needs = {"GET": VIEW_ORDER}

    @extend_schema(responses=OrderSerializer)
    def get(self, request: Request, number: int) -> Response:
        """The order, and how far its invoice is."""
        order = selectors.get_order(number)
        return tagged(OrderSerializer(order).data, order.version)


class OrderInvoice(APIView):
    """The draft of an order's invoice."""

    needs = {"POST": ADD_INVOICE}

    @extend_schema(parameters=REPEATABLE, request=None, responses={201: OrderSerializer})
    def post(self, request: Request, number: int) -> Response:
        """Draft the invoice of the order. A draft has no number. An order that has a draft keeps it."""
        nothing = sent(request, Drafting)
        drafted = services.draft_invoice(number, **nothing, by=author(request), idempotency_token=key_of(request))
        return order_response(request, drafted)


class OrderInvoiceIssue(APIView):
    """The issuing of an order's invoice."""

    needs = {"POST": ISSUE_INVOICE}

    @extend_schema(parameters=REPEATABLE, request=Issuing, responses={201: InvoiceSerializer})
    def post(self, request: Request, number: int) -> Response:
        """Issue the drafted invoice, under the next number of the year of its date. A draft is issued once.

        A repeat with the same key returns the same invoice, also years later. Another request for the same draft is
        refused with 409, which names the invoice. With a `version`, another draft than this one is refused.
        """
        content = sent(request, Issuing)
        issued = services.issue_invoice(number, **content, by=author(request), idempotency_token=key_of(request))
        return invoice_response(request, issued, status=201)


class InvoiceList(APIView):
    """The invoices of a year."""

    needs = {"GET": VIEW_INVOICE}

    @extend_schema("invoices_list", parameters=[YearQuery], responses=InvoicePage)
    def get(self, request: Request) -> Response:
        """One page of a year's invoices, newest first, and which of the numbers that it passed have no invoice."""
        page = selectors.list_invoices(**asked(request, YearQuery))
        response = page_response(request, page, InvoiceSerializer)
        response.data["numbers"] = NumbersSerializer(page).data
        return response


class InvoiceDetail(APIView):
    """One invoice."""

    needs = {"GET": VIEW_INVOICE}

    @extend_schema(responses=InvoiceSerializer)
    def get(self, request: Request, text: str) -> Response:
        """The invoice, by its text in any spelling that people use. A wrong check digit is refused."""
        return Response(InvoiceSerializer(selectors.get_invoice(text)).data)


class InvoiceVoid(APIView):
    """The voiding of an invoice."""

    needs = {"POST": VOID_INVOICE}

    @extend_schema(parameters=[DONE_BEFORE], request=InvoiceVoiding, responses=InvoiceSerializer)
    def post(self, request: Request, text: str) -> Response:
        """Make the invoice void. It keeps its number and its content, and its order can have another one.

        An invoice that is void already stays as it is.
        """
        voided = services.void_invoice(text, **sent(request, InvoiceVoiding), by=author(request))
        return invoice_response(request, voided, status=200)


def order_response(request: Request, made: Stored[Any]) -> Response:
    """An order with its address, and whether it was stored before."""
    location = reverse("api:order", [made.value.number], request=request)
    return Response(OrderSerializer(made.value).data, status=201, headers=_headers(made, location))


def invoice_response(request: Request, made: Stored[Any], *, status: int) -> Response:
    """An invoice with its address, and whether it was stored before."""
    location = reverse("api:invoice", [made.value.key.text], request=request)
    return Response(InvoiceSerializer(made.value).data, status=status, headers=_headers(made, location))


def _headers(made: Stored[Any], location: str) -> dict[str, str]:
    return {"Location": location, **replay_headers(made.replayed)}
