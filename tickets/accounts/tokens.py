"""The texts of API tokens: `tkt_`, a secret of 43 letters and digits, and 6 more that check the others.

The prefix tells scanners for secrets, and people, what they have found. The check (CRC-32) tells a mistyped or invented
token from a real one without a look into the database.

What is stored is the SHA-256 of the whole text. Slow hashes, such as those of passwords, make it dear to try out what
people might have chosen. Nobody chooses a token: its secret has 256 random bits, which cannot be tried out however fast
the hash is.
"""

import hashlib
import re
import secrets
import zlib

from django.core.signing import b62_encode

PREFIX = "tkt_"
SECRET_LENGTH = 43  # 62**43 > 2**256
CHECK_LENGTH = 6  # 62**6 > 2**32
FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{SECRET_LENGTH + CHECK_LENGTH}}}")
# Tokens that were made by the REST framework's app, before there were these.
OLD_FORM = re.compile(r"[0-9a-f]{40}")


def new_token() -> str:
    """A text that nobody can guess."""
    secret = PREFIX + b62_encode(secrets.randbits(256)).rjust(SECRET_LENGTH, "0")
    return secret + check_of(secret)


def may_be_token(text: str) -> bool:
    """Whether a text has the form of a token. Only then it is worth a look-up."""
    if FORM.fullmatch(text):
        return check_of(text[:-CHECK_LENGTH]) == text[-CHECK_LENGTH:]
    return bool(OLD_FORM.fullmatch(text))


def digest_of(text: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(text.encode()).hexdigest()


def check_of(secret: str) -> str:
    """The characters that check a secret with its prefix."""
    return b62_encode(zlib.crc32(secret.encode())).rjust(CHECK_LENGTH, "0")
