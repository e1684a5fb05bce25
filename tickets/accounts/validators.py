"""The limits of the fields of a token and of a sign-in."""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from tickets.characters import SURROGATES, named
from tickets.validators import Key, Schema, Text, Validator, or_null


class Days:
    """For how many days a token opens the API. None means for ever, if API_TOKEN_MOST_DAYS is None."""

    @property
    def hint(self) -> str:
        """The limits in words."""
        most = settings.API_TOKEN_MOST_DAYS
        return "1 day or more; null for ever." if most is None else f"1 to {most} days."

    @property
    def schema(self) -> Schema:
        limited = {"type": "integer", "minimum": 1, "maximum": self.most}
        return or_null(limited) if settings.API_TOKEN_MOST_DAYS is None else limited

    def clean(self, value: Any) -> int | None:
        """The days as they were sent."""
        if value is None and settings.API_TOKEN_MOST_DAYS is None:
            return None
        if type(value) is not int or not 1 <= value <= self.most:
            raise ValidationError(f"This must be a number of days: {self.hint}")
        return value

    @property
    def most(self) -> int:
        """So many days can be asked for."""
        return settings.API_TOKEN_MOST_DAYS or 36_500


def usual_days() -> int | None:
    """For how many days a token lasts unless its person chooses: API_TOKEN_DAYS, within API_TOKEN_MOST_DAYS."""
    usual, most = settings.API_TOKEN_DAYS, settings.API_TOKEN_MOST_DAYS
    return usual if most is None or (usual is not None and usual <= most) else most


class YesOrNo:
    """True or false."""

    hint = "True or false; false if left out."
    schema: Schema = {"type": "boolean"}

    def clean(self, value: Any) -> bool:
        """The value as it was sent."""
        if not isinstance(value, bool):
            raise ValidationError("This must be true or false.")
        return value


class Password:
    """A password that somebody types. Whether it is the right one is checked elsewhere."""

    most = 4096
    hint = f"Up to {most:,} characters."
    schema: Schema = {"type": "string", "format": "password", "minLength": 1, "maxLength": most}

    def clean(self, value: Any) -> str:
        """The password as it was sent."""
        if not isinstance(value, str) or not 1 <= len(value) <= self.most:
            raise ValidationError(f"This must be text of 1 to {self.most:,} characters.")
        if bad := re.search(f"[{SURROGATES}]", value):  # no password has them: they cannot be encoded
            raise ValidationError(f"The character {named(bad[0])} cannot be used here. Remove it.")
        return value


CREDENTIALS: Mapping[str, Validator] = {"username": Text(least=1, most=150), "password": Password()}
TOKEN: Mapping[str, Validator] = {
    "name": Text(least=1, most=100),
    "days": Days(),
    "read_only": YesOrNo(),
    "project": Key(empty=" The token opens this project alone; empty for all."),
}
