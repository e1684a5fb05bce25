"""The headers of repeated requests: `Idempotency-Key` names one request, `Idempotent-Replayed` tells a repeat."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.request import HttpHeaders
from rest_framework.request import Request

__all__ = ["IDEMPOTENCY_KEY", "LONGEST_KEY", "REPLAYED", "idempotency_key", "replay_headers"]

IDEMPOTENCY_KEY = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
LONGEST_KEY = 255
_SENT = HttpHeaders.to_wsgi_name(IDEMPOTENCY_KEY)


def idempotency_key(request: HttpRequest | Request) -> str | None:
    """The caller's name for this request: 1 to 255 printable characters but commas; None without the header.

    Raises Django's ValidationError about `idempotency_token` for any other text.
    """
    sent = request.META.get(_SENT)
    if sent is None:
        return None
    key = _as_sent(sent)
    if bad := next((character for character in key if not character.isprintable()), None):
        raise _refused(f"{key!r} has the character U+{ord(bad):04X}, which is not printable. Use another key.")
    if "," in key:  # which servers put between headers of one name
        raise _refused("Send one Idempotency-Key, without a comma in it.")
    if not 1 <= len(key) <= LONGEST_KEY:
        raise _refused(f"A key has 1 to {LONGEST_KEY} printable characters; this one has {len(key)}.")
    return key


def replay_headers(replayed: bool) -> dict[str, str]:
    """The header of an answer that tells a repeat; none for a first request."""
    return {REPLAYED: "true"} if replayed else {}


def _as_sent(header: str) -> str:
    """A header in the caller's own characters. WSGI reads its bytes as Latin-1; nearly everybody sends UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _refused(message: str) -> ValidationError:
    return ValidationError({"idempotency_token": message})
