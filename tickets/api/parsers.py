"""How bodies are read: JSON in which each field stands once, also as a merge patch."""

import codecs
from collections.abc import Mapping, Sequence
from typing import IO, Any

from django.conf import settings
from rest_framework import parsers
from rest_framework.exceptions import ParseError
from rest_framework.utils import json

from tickets.validators import readable


class JSONParser(parsers.JSONParser):
    """The REST framework's parser. It refuses an object with a field that is sent twice: which one is meant?"""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The content of a body. Raises ParseError."""
        encoding = (parser_context or {}).get("encoding", settings.DEFAULT_CHARSET)
        try:
            text = codecs.getreader(encoding)(stream)
            return json.loads(text.read(), object_pairs_hook=_each_once)
        except ValueError as error:
            raise ParseError(f"The body is not JSON: {error}") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ParseError(f"The field {readable(twice)!r} is sent more than once in one object. Send it once.")
    return fields


class MergePatchParser(JSONParser):
    """A change as RFC 7396 writes it: fields that are null are removed."""

    media_type = "application/merge-patch+json"


CHANGE_PARSERS: Sequence[type[parsers.BaseParser]] = [JSONParser, MergePatchParser]
