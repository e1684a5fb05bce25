"""What the tuned peer exchanges of the REST framework: who looks up tokens, and who reads and writes JSON."""

import time
from typing import Any

import orjson
from rest_framework.authentication import TokenAuthentication
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

TOKEN_SECONDS = 10.0  # as ours


class KnownTokens(TokenAuthentication):
    """Tokens and their users are looked up once in TOKEN_SECONDS by each process."""

    known: dict[str, tuple[Any, float]] = {}

    def authenticate_credentials(self, key: str) -> Any:
        """The user of a token, and the token."""
        found, until = self.known.get(key, (None, 0.0))
        if time.monotonic() >= until:
            found = super().authenticate_credentials(key)
            self.known[key] = (found, time.monotonic() + TOKEN_SECONDS)
        return found


class OrjsonRenderer(BaseRenderer):
    """JSON by orjson."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, *_: Any) -> bytes:
        """The bytes of an answer."""
        return orjson.dumps(data, option=orjson.OPT_UTC_Z)


class OrjsonParser(BaseParser):
    """JSON by orjson."""

    media_type = "application/json"

    def parse(self, stream: Any, *_: Any) -> Any:
        """The content of a request."""
        try:
            return orjson.loads(stream.read())
        except ValueError as error:
            raise ParseError(str(error)) from error
