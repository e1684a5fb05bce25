"""The limits of what makes a token and of a sign-in, as programs and people read them."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from tickets.accounts.validators import CREDENTIALS, TOKEN, Days, Password, YesOrNo

DAYS = {"type": "integer", "minimum": 1}


def test_what_a_token_may_be() -> None:
    """A token has a name, perhaps days, and perhaps opens less than its person may do."""
    assert set(TOKEN) == {"name", "days", "read_only", "project"}
    assert TOKEN["name"].hint == "1 to 100 characters."
    assert TOKEN["read_only"].schema == {"type": "boolean"}
    assert TOKEN["project"].schema == {"type": "string", "pattern": "^(?:[A-Z][A-Z0-9]{1,9})?$"}
    assert TOKEN["project"].hint.endswith(", like ABC. The token opens this project alone; empty for all.")


def test_what_signs_in() -> None:
    """A name as long as any, and a password."""
    assert set(CREDENTIALS) == {"username", "password"}
    assert CREDENTIALS["username"].hint == "1 to 150 characters."
    password = {"type": "string", "format": "password", "minLength": 1, "maxLength": 4096}
    assert CREDENTIALS["password"].schema == password


@pytest.mark.parametrize(
    ("most", "schema", "hint"),
    [
        (365, {**DAYS, "maximum": 365}, "1 to 365 days."),
        (None, {"anyOf": [{**DAYS, "maximum": 36_500}, {"type": "null"}]}, "1 day or more; null for ever."),
    ],
)
def test_how_long_a_token_may_last(settings: Settings, most: int | None, schema: dict[str, Any], hint: str) -> None:
    """As many days as the settings say; where they say nothing, up to a hundred years, and for ever."""
    settings.API_TOKEN_MOST_DAYS = most
    days = Days()
    assert (days.schema, days.hint) == (schema, hint)
    longest = most or 36_500
    assert [days.clean(1), days.clean(longest)] == [1, longest]
    for wrong in (0, longest + 1, True, "1"):
        with pytest.raises(ValidationError):
            days.clean(wrong)


@pytest.mark.parametrize("wrong", [None, 0, 1, "true"])
def test_yes_and_no_are_said_alone(wrong: object) -> None:
    """Only true and false are."""
    assert (YesOrNo().clean(True), YesOrNo().clean(False)) == (True, False)
    with pytest.raises(ValidationError):
        YesOrNo().clean(wrong)


@pytest.mark.parametrize("wrong", ["", "x" * 4097, None, 5])
def test_what_is_no_password(wrong: object) -> None:
    """A password is a text of 1 to 4,096 characters, and stays as it was typed."""
    assert [Password().clean(text) for text in ("x", " x ", "x" * 4096)] == ["x", " x ", "x" * 4096]
    with pytest.raises(ValidationError):
        Password().clean(wrong)
