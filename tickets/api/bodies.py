"""How bodies are read and written: JSON in which each field stands once, also as a merge patch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO, Any

import orjson
from django.conf import settings
from django.http.request import MediaType
from rest_framework import negotiation, parsers, renderers
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.utils import json

from tickets.validators import readable

PROBLEM = "application/problem+json"
# Not a line end in JSON, but one in older JavaScript; the REST framework escapes them, too.
LINE_ENDS = ((b"\xe2\x80\xa8", rb"\u2028"), (b"\xe2\x80\xa9", rb"\u2029"))


class JSONParser(parsers.JSONParser):
    """The REST framework's parser. It refuses an object with a field that is sent twice: which one is meant?"""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The content of a body. Raises ParseError."""
        encoding = (parser_context or {}).get("encoding", settings.DEFAULT_CHARSET)
        try:
            return json.loads(stream.read().decode(encoding), object_pairs_hook=_each_once)
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ParseError(f"The field {readable(twice)!r} is sent more than once in one object. Send it once.")
    return fields


class MergePatchParser(JSONParser):
    """A change as RFC 7396 writes it: fields that are null are removed."""

    media_type = "application/merge-patch+json"


CHANGE_PARSERS: Sequence[type[parsers.BaseParser]] = [JSONParser, MergePatchParser]


class JSONRenderer(renderers.JSONRenderer):
    """JSON by orjson, which writes a list in a tenth of the time.

    The REST framework's renderer writes what orjson refuses, such as numbers of more than 64 bits.
    """

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        """The same bytes as the REST framework's renderer, for all that the API answers."""
        if data is None or self.get_indent(accepted_media_type or "", renderer_context or {}):
            return super().render(data, accepted_media_type, renderer_context)
        try:
            text = orjson.dumps(data, option=orjson.OPT_UTC_Z)
        except TypeError:
            return super().render(data, accepted_media_type, renderer_context)
        for character, escaped in LINE_ENDS:
            text = text.replace(character, escaped)
        return text


class Negotiation(negotiation.DefaultContentNegotiation):
    """The REST framework's. Who accepts problems alone, or says nothing, gets JSON: errors are problems anyhow."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """How to read the body. Nothing reads a coded one, such as gzip."""
        if request.META.get("HTTP_CONTENT_ENCODING", "").lower() not in ("", "identity"):
            raise UnsupportedMediaType("", "The body has a Content-Encoding. Send it without one.")
        return super().select_parser(request, parsers)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """How to answer. Nearly everybody asks for the first way, or for none."""
        accepted = request.META.get("HTTP_ACCEPT", "*/*")
        if accepted in ("*/*", renderers[0].media_type) and "format" not in request.META["QUERY_STRING"]:
            return renderers[0], renderers[0].media_type
        return super().select_renderer(request, renderers, format_suffix)

    def get_accept_list(self, request: Request) -> list[str]:
        """The media types that the caller accepts. A quality of 0 refuses one."""
        sent = [one for one in super().get_accept_list(request) if one.partition(";")[0] not in ("", PROBLEM)]
        return [one for one in sent or ["*/*"] if MediaType(one).quality]
