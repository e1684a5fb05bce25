"""The numbers of orders and the years of invoices in addresses."""

from django.urls import register_converter
from django.urls.converters import IntConverter


class OrderNumberConverter(IntConverter):
    """The number of an order, up to the MAXIMUM of the sequence, without zeros before it."""

    regex = "[1-9][0-9]{0,14}"


class YearConverter(IntConverter):
    """A year."""

    regex = "[1-9][0-9]{3}"


register_converter(OrderNumberConverter, "order_number")
register_converter(YearConverter, "year")
