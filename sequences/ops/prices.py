"""What units cost, by the setting SEQUENCES_PRICES."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from django.conf import settings

from ..exceptions import InvalidSequence

DEFAULTS = {"WRITE": "0.625", "READ": "0.125", "CURRENCY": "USD"}
"""Of a million units on demand in us-east-1 since 2024-11-01, from https://aws.amazon.com/dynamodb/pricing/on-demand/."""


def prices() -> dict[str, Any]:
    """WRITE and READ, the price of a million units, and CURRENCY. Raises InvalidSequence, which names the wrong key."""
    given = getattr(settings, "SEQUENCES_PRICES", {})
    if not isinstance(given, Mapping):
        raise InvalidSequence(f"The setting SEQUENCES_PRICES must be a dict such as {DEFAULTS!r}.")
    if unknown := given.keys() - DEFAULTS.keys():
        raise InvalidSequence(f"SEQUENCES_PRICES: unknown key {min(unknown)!r}; known are {', '.join(DEFAULTS)}.")
    told = {**DEFAULTS, **given}
    return {name: _price(name, told[name]) for name in ("WRITE", "READ")} | {"CURRENCY": str(told["CURRENCY"])}


def _price(name: str, given: object) -> Decimal:
    try:
        price = Decimal(str(given))
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0:
        raise InvalidSequence(f"SEQUENCES_PRICES[{name!r}] is {given!r}; it must be a number from 0, such as '0.625'.")
    return price


def cost_of_units(write: float, read: float) -> Decimal:
    """The price of so many write and read units. Raises InvalidSequence for wrong prices."""
    price = prices()
    spent: Decimal = Decimal(str(write)) * price["WRITE"] + Decimal(str(read)) * price["READ"]
    return spent / 1_000_000
