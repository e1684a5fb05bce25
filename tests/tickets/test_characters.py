"""Characters are named so that people find them, and each is of one kind."""

import re

import pytest

from tickets.characters import CONTROLS, DIRECTIONS, LINES, SEEN, SURROGATES, TAGS, folded, named
from tickets.validators import TICKET, Text


@pytest.mark.parametrize(("character", "name"), [(",", "','"), ("\u200b", "U+200B"), ("\x07", "U+0007")])
def test_a_character_has_a_name(character: str, name: str) -> None:
    """One that is seen is shown, and of another its number is said."""
    assert named(character) == name


@pytest.mark.parametrize("typed", ["Straße\u20131", "STRASSE\u20111", "\uff33traße\u2212\uff11", "strasse-1"])
def test_what_a_search_takes_for_the_same(typed: str) -> None:
    """Capital and wide letters and digits, and each dash that a keyboard has."""
    assert folded(typed) == "strasse-1"


@pytest.mark.parametrize("field", [TICKET["title"], TICKET["description"], TICKET["assignee"]])
def test_what_a_keyboard_has_may_be_used(field: Text) -> None:
    """Each character of ASCII that is seen is a text by itself."""
    for code in range(0x21, 0x7F):
        assert field.clean(chr(code)) == chr(code)


def kinds(character: str) -> list[str]:
    """The kinds that a character is of."""
    named = {"control": CONTROLS, "line": LINES, "direction": DIRECTIONS, "surrogate": SURROGATES, "tag": TAGS}
    return [
        *(name for name, part in named.items() if re.match(f"[{part}]", character)),
        *["seen"] * bool(re.match(SEEN, character)),
    ]


@pytest.mark.parametrize(
    ("character", "kind"),
    [
        *[
            (character, ["control"])
            for character in "\x00\x08\x0b\x0c\x0e\x1f\x7f\x9f\u2028\u2029\ufdd0\ufdef\ufffe\uffff"
        ],
        *[(character, ["line"]) for character in "\t\n\r"],
        *[(character, ["direction"]) for character in "\u202a\u202e\u2066\u2069"],
        *[
            (character, [])
            for character in " \u00a0\u00ad\u0300\u036f\u061c\u200f\u2060\u2800\u3000\ufe0f\ufeff\uffa0\ufffb"
        ],
        *[(character, ["seen"]) for character in "~aä中🎫\u2010\ufffd"],
        *[(character, ["surrogate", "seen"]) for character in "\ud800\udfff"],
        *[(character, ["tag", "seen"]) for character in "\U000e0041\U0001bca0\U0001d173"],
    ],
)
def test_the_kind_of_a_character(character: str, kind: list[str]) -> None:
    """Controls, line ends and what turns a text are told apart from what is seen, and from what is not."""
    assert kinds(character) == kind
