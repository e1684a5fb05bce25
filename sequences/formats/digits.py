"""The digits that a value is written with, decimal or Crockford's base 32, and the check digit over them."""

import re
from collections.abc import Callable
from dataclasses import dataclass

DECIMAL = "0123456789"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
MOST_DIGITS = 38
DASHES = "-\u2010\u2012\u2013\u2014\u2015\u2212"  # what is left of them after NFKC

_NO_DIGITS = re.compile("[^0-9]")
_LOOK_ALIKES = str.maketrans("OIL", "011")
_AS_BASE_32 = str.maketrans(CROCKFORD, "0123456789ABCDEFGHIJKLMNOPQRSTUV")


@dataclass(frozen=True, slots=True)
class Digits:
    """How a value is written: in the digits of an alphabet, with zeros before it up to a width, 0 for none."""

    alphabet: str = DECIMAL
    width: int = 0

    def write(self, value: int) -> str:
        """The digits of a value."""
        return (str(value) if self.alphabet is DECIMAL else _in_base_32(value)).rjust(self.width, "0")

    def read(self, digits: str) -> int:
        """The value with these digits, whatever zeros stand before it."""
        return int(digits) if self.alphabet is DECIMAL else int(digits.translate(_AS_BASE_32), 32)

    @property
    def pattern(self) -> str:
        """The pattern of one digit as people type it."""
        return "[0-9]" if self.alphabet is DECIMAL else "[0-9A-TV-Za-tv-z]"

    def typed(self, text: str) -> str:
        """The digits that a person has typed, with white space between them and look-alikes among them."""
        digits = re.sub(r"\s", "", text)
        return digits if self.alphabet is DECIMAL else digits.upper().translate(_LOOK_ALIKES)

    def may_read(self, text: str) -> bool:
        """Whether each character, in upper or lower case, may be read as a digit or as white space."""
        read = re.compile(rf"\s|{self.pattern}")
        return all(any(map(read.match, cases(character))) for character in text)

    def check_digit(self, algorithm: str) -> Callable[[str], str]:
        """The function from digits to their check digit. Raises ImportError without python-stdnum."""
        from stdnum import damm, luhn

        return damm.calc_check_digit if algorithm == "damm" else lambda text: luhn.calc_check_digit(text, self.alphabet)


def cases(character: str) -> list[str]:
    """A character in upper and lower case, as far as each is one character."""
    return [case for case in sorted({character, character.lower(), character.upper()}) if len(case) == 1]


def digits_in(text: str) -> str:
    """The decimal digits in a text: "20261" in the period 2026-Q1."""
    return _NO_DIGITS.sub("", text)


def _in_base_32(value: int) -> str:
    digits = ""
    while value:
        value, low = divmod(value, 32)
        digits = CROCKFORD[low] + digits
    return digits or "0"
