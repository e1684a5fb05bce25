"""Serializer fields for the numbers of sequences, and for texts and dates in one form."""

import datetime
from typing import Any

from rest_framework import serializers

from .problems import NumberTooLarge

__all__ = ["LARGEST_NUMBER", "DayField", "NumberField", "TextField"]

LARGEST_NUMBER = 2**53 - 1


class NumberField(serializers.IntegerField):
    """A whole number that every reader of JSON reads exactly: up to 2^53 - 1.

    A larger one is refused: with a message in a request, by NumberTooLarge in an answer.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_value": LARGEST_NUMBER, **options})

    def to_internal_value(self, value: Any) -> int:
        """The number, as JSON writes numbers: a text of digits is none."""
        if type(value) not in (int, float):
            self.fail("invalid")
        return super().to_internal_value(value)

    def to_representation(self, value: Any) -> int:
        """The number. Raises NumberTooLarge."""
        number = int(value)
        if abs(number) > LARGEST_NUMBER:
            raise NumberTooLarge(
                f"{number} is larger than {LARGEST_NUMBER}, the largest number that can be sent, and is lost."
            )
        return number


class TextField(serializers.CharField):
    """A text as it was sent. A number is none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"trim_whitespace": False, **options})

    def to_internal_value(self, value: Any) -> str:
        if not isinstance(value, str):
            self.fail("invalid")
        return super().to_internal_value(value)


class DayField(serializers.DateField):
    """A day in one form, such as "2026-03-05": ISO 8601 has more than one."""

    def to_internal_value(self, value: Any) -> datetime.date:
        day = super().to_internal_value(value)
        if day.isoformat() != value:
            self.fail("invalid", format="YYYY-MM-DD")
        return day
