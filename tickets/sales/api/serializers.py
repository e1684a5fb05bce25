"""The shapes of JSON for orders and invoices. Amounts are texts, such as "12.50", as readers of JSON round numbers.

How shapes are made is described in `tickets.api.serializers`.
"""

from typing import Any

from rest_framework import serializers

from sequences.rest.fields import NumberField
from tickets.api.requests import PageQuery
from tickets.api.serializers import VoidSerializer
from tickets.api.shapes import Limited, Named, RequestBody, Shape
from tickets.sales import validators
from tickets.sales.types import Company, Draft, Invoice, Line, Missing, Order, Skipped, State


class LineSerializer(Shape[Line]):
    """Some pieces of one thing, and the price of one piece."""

    text = serializers.CharField()
    quantity = serializers.IntegerField()
    price = Named()


class NewOrder(RequestBody):
    """A new order."""

    limited = needed = validators.ORDER


class Drafting(RequestBody):
    """Nothing: a draft has the content of its order."""


class Issuing(RequestBody):
    """The date of an invoice, the company that issues it, and the version of the order that the caller has read."""

    date = Limited(validators.ISSUE["date"], required=False)
    company = Limited(validators.ISSUE["company"], null="", required=False)
    version = NumberField(min_value=1, required=False)


class InvoiceVoiding(RequestBody):
    """The reason for voiding an invoice."""

    reason = Limited(validators.VOID["reason"])


class NewCompany(RequestBody):
    """A new company."""

    limited = needed = validators.COMPANY


class CompanySerializer(Shape[Company]):
    """A company, with the texts and the first number of what it issues today."""

    key = Named()
    name = serializers.CharField()
    format = serializers.CharField()
    start = serializers.IntegerField()


class YearQuery(PageQuery):
    """The parameters of an address that choose a page of a company's year."""

    limited = validators.OF_COMPANY

    year = serializers.IntegerField(min_value=1000, max_value=9999, required=False, help_text="This year if left out.")


class DraftSerializer(Shape[Draft]):
    """Who drafted an invoice, and when."""

    by = serializers.CharField()
    at = serializers.DateTimeField()


class OrderSerializer(Shape[Order]):
    """An order. `invoice` is the text of its invoice, null until it is issued; `voided` has those that were voided.

    One that an operator has made void keeps its content; its `void` says by whom, when and why.
    """

    number = serializers.IntegerField()
    text = serializers.CharField()
    customer = serializers.CharField()
    lines = LineSerializer(many=True)
    total = Named()
    currency = serializers.CharField()
    state = serializers.ChoiceField([(state.value, state.label) for state in State])
    draft = DraftSerializer(allow_null=True)
    invoice = Named(allow_null=True)
    voided = serializers.ListField(child=serializers.CharField())
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    version = serializers.IntegerField()
    void = VoidSerializer(allow_null=True)


class InvoiceSerializer(Shape[Invoice]):
    """An issued invoice. A void one keeps its content; its `void` says by whom it was voided, when and why.

    `company` is empty for the main one. `digest` is the SHA-256 of its row when it was issued; empty for an invoice
    from before there was one.
    """

    text = serializers.CharField(source="key.text")
    year = serializers.IntegerField(source="key.year")
    number = serializers.IntegerField(source="key.number")
    company = serializers.CharField(source="key.company")
    date = serializers.DateField()
    order = serializers.IntegerField()
    customer = serializers.CharField()
    lines = LineSerializer(many=True)
    total = Named()
    currency = serializers.CharField()
    issued_by = serializers.CharField()
    issued_at = serializers.DateTimeField()
    void = VoidSerializer(allow_null=True)
    digest = serializers.CharField()


class MissingSerializer(Shape[Missing]):
    """Numbers without an invoice."""

    first = serializers.IntegerField()
    last = serializers.IntegerField()


class SkippedSerializer(Shape[Skipped]):
    """Numbers that never were invoices, and who skipped them, when and why."""

    first = serializers.IntegerField()
    last = serializers.IntegerField()
    void = VoidSerializer()


class NumbersSerializer(Shape[Any]):
    """Which numbers a page has passed, and which of them have no invoice; it says nothing about others."""

    newest = serializers.IntegerField(allow_null=True)
    oldest = serializers.IntegerField(allow_null=True)
    missing = MissingSerializer(many=True)
    skipped = SkippedSerializer(many=True)


class InvoicePage(Shape[Any]):
    """A page of the invoices of a year."""

    results = InvoiceSerializer(many=True)
    next = serializers.URLField(allow_null=True)
    prev = serializers.URLField(allow_null=True)
    numbers = NumbersSerializer()
