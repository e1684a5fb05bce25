"""The characters that texts may not have, as parts of regular expressions in the form that all languages read, and
those that a search takes for each other.
"""

import re
from unicodedata import normalize

# Control characters, line and paragraph separators, and what never is a character.
CONTROLS = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufdd0-\ufdef\ufffe\uffff"
LINES = r"\t\n\r"
# They turn the text around them: what is read is not what is stored. The marks that Arabic and Hebrew need stay.
DIRECTIONS = r"\u202a-\u202e\u2066-\u2069"
# Nothing is seen of spaces, marks on nothing, fillers, and what only joins others, such as the joiner of emoji.
UNSEEN = (
    r" \u00a0\u00ad\u0300-\u036f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u1ab0-\u1aff\u1dc0-\u1dff"
    r"\u2000-\u200f\u202f\u205f-\u2065\u206a-\u206f\u20d0-\u20ff\u2800\u3000\u3164\ufe00-\ufe0f\ufe20-\ufe2f"
    r"\ufeff\uffa0\ufff0-\ufffb"
)
SEEN = f"[^{UNSEEN}{CONTROLS}{LINES}{DIRECTIONS}]"
# Of characters that UTF-8 cannot encode, and of unseen ones that not all languages can write in a regular expression.
SURROGATES, TAGS = r"\ud800-\udfff", r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"

DASHES = re.compile(r"[\u2010\u2012-\u2015\u2212]")  # what NFKC leaves of those that are no "-"


def folded(text: str) -> str:
    """A text as searches compare it: in any case, with any dash, in the wide and other forms that NFKC makes equal."""
    if text.isascii():  # as most are, which have one form
        return text.casefold()
    return DASHES.sub("-", normalize("NFKC", text).casefold())


def named(character: str) -> str:
    """A character as people know it: a comma, or U+200B."""
    return f"{character!r}" if character.isprintable() else f"U+{ord(character):04X}"
