"""The arguments of every public function: what is taken, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sequences.exceptions import InvalidScope, InvalidToken, OperationNotSupported
from sequences.services.arguments import check_count, check_scope, check_token, has_controls, reserving


@pytest.mark.parametrize("count", [1, 1_000_000])
def test_counts(count: int) -> None:
    """A call takes from one value to a million."""
    check_count(count)


@pytest.mark.parametrize("count", [0, 1_000_001, True, 1.0, "1", None])
def test_wrong_counts(count: Any) -> None:
    """Any other count is refused with what it is."""
    with pytest.raises(ValueError, match=f"count is {count!r}; it must be"):
        check_count(count)


@pytest.mark.parametrize("scope", [None, "x", "x" * 255, "a#", "no\u00a0break", "zero\u200dwidth"])
def test_scopes(scope: str | None) -> None:
    """A scope has 1 to 255 characters that control nothing, or is None."""
    check_scope(scope)


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (b"a", "must be a text or None"),
        ("", "has 0 characters"),
        ("x" * 256, "has 256 characters"),
        ("#", "begins with '#'"),
        ("a\n", "contains control characters"),
    ],
)
def test_wrong_scopes(scope: Any, said: str) -> None:
    """Any other one is refused by what is wrong with it."""
    with pytest.raises(InvalidScope, match=said):
        check_scope(scope)


@pytest.mark.parametrize(
    ("text", "has"), [("plain", False), ("no\u00a0break", False), ("\ue000", False), ("a\x7f", True), ("\ud800", True)]
)
def test_control_characters(text: str, has: bool) -> None:
    """They are those that Unicode calls so, and halves of characters; not all that cannot be seen."""
    assert has_controls(text) is has


@pytest.mark.parametrize("token", [None, " ", "x" * 255])
def test_tokens(token: str | None) -> None:
    """A token has 1 to 255 printable characters, or is None."""
    check_token(token)


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (7, "is of type int: give its str"),
        ("", "has 0: give None"),
        ("x" * 256, "has 256: give None"),
        ("secret\n", "has others: give a digest"),
    ],
)
@pytest.mark.parametrize(("sequence", "of"), [("", "token is 1"), ("stub", "token for 'stub' is 1")])
def test_wrong_tokens(token: Any, said: str, sequence: str, of: str) -> None:
    """Any other one is refused by what is wrong with it and with its sequence, if that is known, and never shown."""
    with pytest.raises(
        InvalidToken, match=f"^An idempotency {of} to 255 printable characters, and this one {said}"
    ) as error:
        check_token(token, *([sequence] if sequence else []))
    assert "secret" not in f"{error.value}"


def test_who_reserves() -> None:
    """A strategy is taken as it is if it can reserve, and refused by its name otherwise."""
    can: Any = SimpleNamespace(supports_reserve=True)
    cannot: Any = SimpleNamespace(supports_reserve=False, alias="stub")
    assert reserving(can) is can
    with pytest.raises(OperationNotSupported, match=r"sequence 'stub' .* hands out a value only together"):
        reserving(cannot)
