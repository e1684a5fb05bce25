"""What the page of the API shows, made of a document."""

from typing import Any
from unittest import mock

import pytest
from drf_spectacular.settings import spectacular_settings

from tickets.api.reference import in_words, kind, reference

SHAPES: dict[str, Any] = {
    "Thing": {
        "description": "A `thing`.",
        "properties": {
            "key": {"type": "string", "description": "Its `key`."},
            "size": {"type": "integer"},
        },
        "required": ["key"],
        "examples": [{"key": "it's"}, {"key": "other"}],
    },
    "Bare": {"properties": {}},
    "Choice": {"oneOf": [{"$ref": "#/components/schemas/Thing"}, {"$ref": "#/components/schemas/Bare"}]},
    "Word": {"type": "string", "enum": ["a", "<"]},
}
THING = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}
READ = {
    "operationId": "thing",
    "tags": ["things", "others"],
    "description": "Reads `it`.",
    "parameters": [
        {"name": "key", "in": "path", "schema": {"type": "string"}, "example": 42},
        {"name": "order", "in": "query", "schema": {"enum": ["up", "down"]}, "description": "* `up` - Up"},
        {"name": "If-Match", "in": "header", "schema": {"type": "string"}, "description": "The `tag`."},
    ],
    "responses": {"404": {}, "304": {"description": "As `before`."}, "200": THING, "400": {}},
    "security": [{"token": []}],
}
CHANGE = {
    "operationId": "change",
    "tags": ["things"],
    "description": "Changes it.",
    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Choice"}}}},
    "responses": {"399": {}, "500": {}},
}
DOCUMENT = {
    "paths": {
        "/api/things/{key}/": {"get": READ},
        "/api/things/": {"put": CHANGE},
        "/api/": {
            method: {"operationId": method, "tags": ["index"], "description": "", "responses": {}}
            for method in ("get", "delete")
        }
        | {"post": {**CHANGE, "tags": ["index"]}},
    },
    "components": {"schemas": SHAPES},
}


@pytest.fixture
def made() -> dict[str, Any]:
    """What is made of the document."""
    with mock.patch.object(spectacular_settings, "DEFAULT_GENERATOR_CLASS") as generator:
        generator.return_value.get_schema.return_value = DOCUMENT
        found = reference.__wrapped__()
    generator.return_value.get_schema.assert_called_once_with(request=None, public=True)
    return {**found}


def test_what_is_said_of_an_operation(made: dict[str, Any]) -> None:
    """Its place, what it takes beside its path, and its answers in their order, in words and with links."""
    assert made["groups"]["things"][0] == {
        "id": "thing",
        "method": "GET",
        "path": "/api/things/{key}/",
        "about": "Reads <code>it</code>.",
        "parameters": [
            {"name": "order", "kind": "<code>up</code>, <code>down</code>", "about": "", "place": "query"},
            {"name": "If-Match", "kind": "text", "about": "The <code>tag</code>.", "place": "header"},
        ],
        "body": "",
        "answers": [
            {"status": "200", "kind": '<a href="#Thing">Thing</a>', "about": ""},
            {"status": "304", "kind": "", "about": "As <code>before</code>."},
        ],
        "refusals": ["400", "404"],
        "call": 'curl -H "$AUTH" $API/things/42/',
    }


def test_operations_are_grouped_by_their_first_tag(made: dict[str, Any]) -> None:
    """The groups are in the order of the alphabet, and those of a group in the order of the document."""
    ids = [(group, [one["id"] for one in operations]) for group, operations in made["groups"].items()]
    assert ids == [("index", ["get", "delete", "change"]), ("things", ["thing", "change"])]


def test_a_call_to_copy(made: dict[str, Any]) -> None:
    """It has the method where curl would take another one, and the example of the first shape that its body may have.

    An answer below 400 is no refusal.
    """
    index = {one["method"]: one for one in made["groups"]["index"]}
    assert (index["GET"]["call"], index["DELETE"]["call"]) == ("curl $API/", "curl -X DELETE $API/")
    assert index["POST"]["call"] == """curl --json '{"key": "it'"'"'s"}' $API/"""
    assert index["POST"]["body"] == '<a href="#Thing">Thing</a> or <a href="#Bare">Bare</a>'
    assert [answer["status"] for answer in index["POST"]["answers"]] == ["399"]
    assert index["POST"]["refusals"] == ["500"]


def test_what_is_said_of_a_shape(made: dict[str, Any]) -> None:
    """Each shape with fields has its words and theirs, and says which of them may be left out."""
    assert made["shapes"] == [
        {
            "name": "Thing",
            "about": "A <code>thing</code>.",
            "fields": [
                {"name": "key", "kind": "text", "about": "Its <code>key</code>.", "optional": False},
                {"name": "size", "kind": "whole number", "about": "", "optional": True},
            ],
        },
        {"name": "Bare", "about": "", "fields": []},
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": ["string", "null"], "format": "date-time"}, "time or null"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "uri"}, "address"),
        ({"type": ["integer", "string"], "format": "date"}, "whole number or date"),
        ({"type": "boolean"}, "true or false"),
        ({"type": "object"}, "object"),
        (
            {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
            "whole number from 1 to 200, 50 if left out",
        ),
        ({"type": "integer", "minimum": 0, "maximum": 10**6}, "whole number from 0 to 1000000"),
        ({"type": "integer", "minimum": 0, "maximum": 10**6 + 1}, "whole number"),
        ({"type": "array", "items": {"$ref": "#/x/Thing"}}, 'list of <a href="#Thing">Thing</a>'),
        ({"type": "array", "items": {}}, "list"),
        ({"anyOf": [{"type": "string"}, {"$ref": "#/x/Word"}]}, "text or <code>a</code>, <code>&lt;</code>"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "text or null"),
        ({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}, "text"),
        ({"allOf": [{"$ref": "#/x/Word"}]}, "<code>a</code>, <code>&lt;</code>"),
        ({"type": "string", "allOf": [{"$ref": "#/x/Word"}]}, "text"),
        ({}, ""),
    ],
)
def test_kinds_in_words(schema: dict[str, Any], words: str) -> None:
    """A value is said in words, with links to shapes of several fields; nothing in it is HTML."""
    assert kind(schema, SHAPES) == words


def test_a_description_is_no_html() -> None:
    """Only what stands in backquotes is made code."""
    assert in_words("`a` <b> & c") == "<code>a</code> &lt;b&gt; &amp; c"
