"""Characters are named so that people find them."""

import pytest

from tickets.characters import named


@pytest.mark.parametrize(("character", "name"), [(",", "','"), ("\u200b", "U+200B"), ("\x07", "U+0007")])
def test_a_character_has_a_name(character: str, name: str) -> None:
    """One that is seen is shown, and of another its number is said."""
    assert named(character) == name
