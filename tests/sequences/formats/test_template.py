"""What makes a text unusable that has a value in it, and which templates say in letters what they number."""

from __future__ import annotations

from typing import Any

import pytest

from sequences.formats.template import FIELDS, has_letters, text_problems


@pytest.mark.parametrize(
    "text", ["{value}", "<{text}>", "{text} of {year}", "{value:03d}{check:luhn}", "{value}{check:luhn}{text}/{scope}"]
)
def test_texts_that_can_be_used(text: str) -> None:
    """The value or its text, and any field of FORMAT."""
    assert list(text_problems(text)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no number", "it must have {value} or {text}"),
        ("{year}", "it must have {value} or {text}"),
        ("{value", "it must be a text with a field in each pair of braces; a brace itself is written twice, as '{{'"),
        (None, "it must be a text with a field in each pair of braces; a brace itself is written twice, as '{{'"),
        ("{value}{hour}", f"it has the unknown field {{hour}}; known are {', '.join(FIELDS)}, text"),
        ("{value}{text:3}", "{text:3} must be {text}"),
        ("{check:luhn}{value}", "{check} must stand after the value and the parts of the date, which it covers"),
        ("{text}{check:luhn}", "{check} must stand after the value and the parts of the date, which it covers"),
    ],
)
def test_what_is_wrong(text: Any, problem: str) -> None:
    """The first problem says what the text must be."""
    assert next(text_problems(text)) == problem


@pytest.mark.parametrize(
    ("template", "letters"),
    [("INV-{value}", True), ("{value}\u00e4", True), ("{scope}/{value}", False), ("2026_{value}", False)],
)
def test_letters(template: str, letters: bool) -> None:
    """Letters count that stand outside of the fields."""
    assert has_letters(template) is letters
