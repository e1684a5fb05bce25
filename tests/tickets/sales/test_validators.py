"""The limits of orders and invoices: what is taken, and what programs and people read of it."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from tickets.sales.types import Line
from tickets.sales.validators import COMPANY, ISSUE, LINE, ORDER, VOID, YEAR, is_whole, today, typed_number
from tickets.validators import Validator

PRICE = r"^([0-9]{1,6}([.,][0-9]{1,2})?|1000000([.,]00?)?)$"
EVERY = {
    **{f"line {name}": validator for name, validator in LINE.items()},
    **{f"order {name}": validator for name, validator in ORDER.items()},
    **{f"company {name}": validator for name, validator in COMPANY.items()},
    **{f"issue {name}": validator for name, validator in ISSUE.items()},
    "void reason": VOID["reason"],
    "year": YEAR["year"],
}
HINTS = {
    "line text": "1 to 200 characters.",
    "line quantity": "A whole number from 1 to 10,000.",
    "line price": 'Euros with up to two decimals, like "12.50", at most 1,000,000.',
    "order customer": "1 to 200 characters.",
    "order lines": "1 to 50 lines.",
    "company key": "2 to 10 capital letters and digits, the first a letter, like NORD.",
    "company name": "1 to 100 characters.",
    "company format": "1 to 100 characters.",
    "company start": "A whole number from 1 to 1,000,000,000.",
    "issue date": "A day from 2000-01-01 to today; its year says which number comes next.",
    "issue company": "2 to 10 capital letters and digits, the first a letter, like NORD. Empty for the main company.",
    "void reason": "1 to 500 characters.",
    "year": "A whole number from 1000 to 9,999.",
}


def test_the_limits_in_words() -> None:
    """Beside each field stands what it takes."""
    assert {name: validator.hint for name, validator in EVERY.items()} == HINTS


def test_the_limits_for_programs() -> None:
    """The document of the API has them as JSON Schema."""
    assert LINE["quantity"].schema == {"type": "integer", "minimum": 1, "maximum": 10_000}
    assert LINE["price"].schema == {"type": ["string", "integer"], "pattern": PRICE, "minimum": 0, "maximum": 1_000_000}
    assert ISSUE["date"].schema == {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
    fields = {name: {**one.schema, "description": one.hint} for name, one in LINE.items()}
    assert ORDER["lines"].schema == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": fields,
            "required": ["text", "quantity", "price"],
            "additionalProperties": False,
        },
        "minItems": 1,
        "maxItems": 50,
    }


@pytest.mark.parametrize(
    ("validator", "value", "cleaned"),
    [
        (LINE["quantity"], 1, 1),
        (LINE["quantity"], 10_000, 10_000),
        (LINE["quantity"], 2.0, 2),
        (LINE["price"], "0", Decimal("0.00")),
        (LINE["price"], "12,5", Decimal("12.50")),
        (LINE["price"], "999999.99", Decimal("999999.99")),
        (LINE["price"], "1000000.0", Decimal("1000000.00")),
        (LINE["price"], 7, Decimal("7.00")),
        (LINE["price"], 7.0, Decimal("7.00")),
        (LINE["price"], Decimal("7.5"), Decimal("7.50")),
        (ISSUE["date"], "2000-01-01", date(2000, 1, 1)),
        (ISSUE["company"], "", ""),
        (ISSUE["company"], "NORD", "NORD"),
        (YEAR["year"], 1000, 1000),
        (YEAR["year"], 9999, 9999),
        (COMPANY["start"], 10**9, 10**9),
        (VOID["reason"], "a\nb", "a\nb"),
    ],
)
def test_what_is_taken(validator: Validator, value: object, cleaned: object) -> None:
    """A value within its limits is cleaned, also at both ends; an amount has two decimals."""
    found = validator.clean(value)
    assert (found, str(found)) == (cleaned, str(cleaned))


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        (LINE["quantity"], 0),
        (LINE["quantity"], 10_001),
        (LINE["quantity"], 1.5),
        (LINE["quantity"], True),
        (LINE["quantity"], "1"),
        *[(LINE["price"], wrong) for wrong in ("1000000.01", "1000001", "1000000000", 10**6 + 1, 1.5, "1.234", "-1")],
        *[(LINE["price"], wrong) for wrong in ("", "x", "1.", None, True)],
        (ISSUE["date"], "1999-12-31"),
        (ISSUE["date"], "20260305"),
        (ISSUE["date"], 5),
        (COMPANY["key"], ""),
        (COMPANY["key"], "nord"),
        (COMPANY["start"], 10**9 + 1),
        (YEAR["year"], 999),
        (YEAR["year"], 10_000),
        (ORDER["lines"], "x"),
        (ORDER["lines"], {"text": "x"}),
        (ORDER["lines"], 5),
        (ORDER["lines"], []),
    ],
)
def test_what_is_refused(validator: Validator, value: object) -> None:
    """A value beyond its limits, or of another kind, is refused."""
    with pytest.raises(ValidationError):
        validator.clean(value)


def test_the_date_of_a_document() -> None:
    """It is today if none is given, and never later."""
    assert ISSUE["date"].clean(None) == ISSUE["date"].clean(today()) == today()
    with pytest.raises(ValidationError, match=f"from 2000-01-01 to {today()}"):
        ISSUE["date"].clean(today() + timedelta(days=1))


def test_each_wrong_line_is_named() -> None:
    """What is wrong is said with its line and its field, for all lines; a line without fields lacks them all."""
    good = {"text": "Paper", "quantity": 3, "price": "4.50"}
    assert ORDER["lines"].clean(iter([good])) == (Line(text="Paper", quantity=3, price=Decimal("4.50")),)
    with pytest.raises(ValidationError) as caught:
        ORDER["lines"].clean([good, {**good, "quantity": 0, "colour": "red"}, "x"])
    wrong: list[Any] = caught.value.error_list
    assert [(part.message.partition(":")[0], part.path) for part in wrong] == [
        ("Line 2, quantity", (1, "quantity")),
        ("Line 2, colour", (1, "colour")),
        ("Line 3, text", (2, "text")),
        ("Line 3, quantity", (2, "quantity")),
        ("Line 3, price", (2, "price")),
    ]


@pytest.mark.parametrize(("value", "whole"), [(2, True), (2.0, True), (2.5, False), (True, False), ("2", False)])
def test_whole_numbers(value: object, whole: bool) -> None:
    """JSON has one kind of numbers: 2.0 is a whole one."""
    assert is_whole(value) is whole


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), (" 7 ", 7), ("9" * 15, 10**15 - 1), ("9" * 16, "9" * 16), ("-7", "-7"), ("\u0667", "\u0667"), (7, 7)],
)
def test_typed_numbers(text: object, number: object) -> None:
    """Digits alone are a number, with spaces around them; what is none stays as it was typed."""
    assert typed_number(text) == number
