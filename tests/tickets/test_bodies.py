"""How bodies are read and written: JSON in which each field stands once, and which media types are answered with."""

from io import BytesIO
from typing import Any

import pytest
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from tickets.api.bodies import (
    CHANGE_PARSERS,
    PROBLEM,
    JSONParser,
    JSONRenderer,
    MergePatchParser,
    Negotiation,
    _each_once,
)


@pytest.mark.parametrize(
    ("body", "context", "content"),
    [
        (b'{"a": [1, {"b": null}]}', None, {"a": [1, {"b": None}]}),
        ('{"a": "ä"}'.encode(), {}, {"a": "ä"}),
        ('{"a": "ä"}'.encode("latin-1"), {"encoding": "latin-1"}, {"a": "ä"}),
        (b'[{"a": 1}, {"a": 2}]', None, [{"a": 1}, {"a": 2}]),
    ],
)
def test_json_is_read(body: bytes, context: dict[str, str] | None, content: Any) -> None:
    """It is UTF-8 if the request names no other encoding; different objects may have the same field."""
    assert JSONParser().parse(BytesIO(body), None, context) == content


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a": 1, "b": 2, "b": 3}', "The field 'b' is sent more than once in one object. Send it once."),
        (b'{"a": {"b": 1, "b": 1}}', "The field 'b' is sent more than once"),
        (rb'{"\ud800": 1, "\ud800": 1}', r"The field '\\ud800' is sent"),
        (b'{"a": ', "The body is not JSON: "),
        (b"\xff", "The body is not JSON: "),
        (b"[NaN]", "The body is not JSON: "),
    ],
)
def test_what_is_no_json_is_refused(body: bytes, said: str) -> None:
    """So is a field that stands twice: which one is meant?"""
    with pytest.raises(ParseError) as caught:
        JSONParser().parse(BytesIO(body))
    assert str(caught.value).startswith(said)


class Name(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


def test_a_field_among_very_many() -> None:
    """To find the field that is sent twice takes as long as to read them."""
    names = [Name(number) for number in [*range(2000), 1999]]
    with pytest.raises(ParseError, match="The field '1999' is sent more than once"):
        _each_once([(name, 0) for name in names])
    assert Name.compared < 2 * len(names)


def test_a_change_may_be_a_merge_patch() -> None:
    """A change is JSON, under the name of RFC 7396, too."""
    assert [parser.media_type for parser in CHANGE_PARSERS] == ["application/json", "application/merge-patch+json"]
    assert MergePatchParser().parse(BytesIO(b"{}")) == {}


def test_line_ends_of_scripts_are_escaped() -> None:
    """What ends a line in older scripts ends none in an answer."""
    assert JSONRenderer().render("a\u2028b\u2029c") == rb'"a\u2028b\u2029c"'


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (None, ["*/*"]),
        ("", ["*/*"]),
        (" ;q=1", ["*/*"]),
        (PROBLEM, ["*/*"]),
        (f"{PROBLEM};q=0.5", ["*/*"]),
        (f"{PROBLEM}, text/html", ["text/html"]),
        ("text/csv;q=0.5, application/json;q=0", ["text/csv;q=0.5"]),
        ("application/json;q=0", []),
        ("application/problem+xml", ["application/problem+xml"]),
    ],
)
def test_what_a_caller_accepts(accept: str | None, wanted: list[str]) -> None:
    """Who accepts problems alone, or says nothing, gets anything; a quality of 0 refuses a media type."""
    headers = {} if accept is None else {"Accept": accept}
    request = Request(APIRequestFactory().get("/", headers=headers))
    assert Negotiation().get_accept_list(request) == wanted
