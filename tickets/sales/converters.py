"""The numbers and texts of orders and the years of invoices in addresses."""

from django.urls import register_converter
from django.urls.converters import IntConverter

from tickets.converters import NumberConverter


class OrderNumberConverter(NumberConverter):
    """The number of an order, in whatever range its rules let it be."""

    regex = "0|[1-9][0-9]{0,37}"


class AnyOrderConverter(OrderNumberConverter):
    """The number of an order, or its text in any spelling that people use, such as ord-1007."""

    regex = f"(?:{OrderNumberConverter.regex}|[A-Za-z][^/]{{1,40}})"

    def to_python(self, value: str) -> int | str:  # type: ignore[override]
        """The number, or the text, which the view reads: rules that are stored may say how."""
        return super().to_python(value) if value.isdecimal() else value


class YearConverter(IntConverter):
    """A year."""

    regex = "[1-9][0-9]{3}"


register_converter(OrderNumberConverter, "order_number")
register_converter(AnyOrderConverter, "any_order")
register_converter(YearConverter, "year")
