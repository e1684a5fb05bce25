"""The document of the API: it can be checked, and its examples are right."""

import json
import re
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import jsonschema_rs
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from rest_framework.test import APIClient

import tickets.sales.api.serializers  # noqa: F401 - registers the limits of money
from tests.tickets.sales.support import LINES, issued
from tests.tickets.support import OUTLINE, outlined
from tickets.api.examples import OF_SHAPES
from tickets.api.shapes import Limited, Limits
from tickets.sales.types import Invoice
from tickets.sales.validators import Money
from tickets.validators import PROJECT, or_null

Document = dict[str, Any]
PROBLEM = "application/problem+json"
MODES = ("all_or_nothing", "each")


@pytest.fixture(scope="module")
def schema_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the document. Making it fails if something in it cannot be known."""
    file = tmp_path_factory.mktemp("schema") / "schema.json"
    quick = SimpleNamespace(validate=lambda instance, schema: jsonschema_rs.validate(schema, instance))
    with mock.patch("drf_spectacular.validation.jsonschema", quick):
        call_command("spectacular", file=str(file), format="openapi-json", validate=True, fail_on_warn=True)
    return file


@pytest.fixture(scope="module")
def document(schema_file: Path) -> Document:
    """The document."""
    content: Document = json.loads(schema_file.read_text())
    return content


@pytest.fixture
def invoice(tables: str) -> Invoice:
    """The invoice of ORD-1001."""
    return issued()


def operations(document: Document) -> list[tuple[str, Document]]:
    """Every operation, with its name."""
    found = [one for path in document["paths"].values() for one in path.values()]
    return [(one["operationId"], one) for one in found]


def test_the_outline_is_the_recorded_one(document: Document, tmp_path: Path) -> None:
    """The document says what it said, but for its words: programs of others depend on every part of it."""
    found = tmp_path / OUTLINE.name
    found.write_text(outlined(document))
    assert found.read_text() == OUTLINE.read_text(), f"If the API shall change: cp {found} {OUTLINE}"


@pytest.mark.parametrize("shape", OF_SHAPES)
def test_examples_are_what_their_shapes_say(document: Document, shape: str) -> None:
    """Every example keeps to all limits of its shape."""
    schema = {"$ref": f"#/components/schemas/{shape}", "components": document["components"]}
    jsonschema_rs.validate(schema, OF_SHAPES[shape])


def test_who_takes_null() -> None:
    """Null is in the schema of a field alone in which it stands for something."""

    def shape(field: Limited) -> Any:
        return cast("Any", Limits)(field).map_serializer_field(mock.Mock(), "request")

    key = Limited(PROJECT["key"])
    assert shape(key) == PROJECT["key"].schema
    empty = Limited(PROJECT["key"], null="")
    assert shape(empty) == or_null(PROJECT["key"].schema)


def test_limits_of_money() -> None:
    """A price may be nothing, as the validator has it."""
    assert Money(most=Decimal(100)).schema["minimum"] == 0
    assert Money(most=Decimal(100)).clean("0") == 0


def test_examples_of_problems(document: Document) -> None:
    """Every answer that is a problem has an example, which keeps to the schema of problems."""
    answers = [answer for _, one in operations(document) for answer in one["responses"].values()]
    problems = [answer["content"][PROBLEM] for answer in answers if PROBLEM in answer.get("content", {})]
    assert problems
    for problem in problems:
        jsonschema_rs.validate({**problem["schema"], "components": document["components"]}, problem["example"])


def test_every_body_has_an_example(document: Document) -> None:
    """Every shape that an operation sends or answers with has an example; a choice of shapes has theirs."""
    bodies = [one.get("requestBody", {}) for _, one in operations(document)]
    answers = [answer for _, one in operations(document) for answer in one["responses"].values()]
    content = [kind for one in bodies + answers for kind in one.get("content", {}).values() if "example" not in kind]
    named = {kind["schema"]["$ref"].rpartition("/")[2] for kind in content if "$ref" in kind["schema"]}
    assert {name for name in named - {*OF_SHAPES} if "oneOf" not in document["components"]["schemas"][name]} == set()


def test_every_operation_says_its_refusals(document: Document) -> None:
    """Every operation has an answer that is no error, and says what its problems look like."""
    for name, operation in operations(document):
        answers = operation["responses"]
        assert any(status.startswith("2") for status in answers), name
        for status in ("400", "401", "429", "503"):
            assert "application/problem+json" in answers[status]["content"], (name, status)
        assert all("X-Request-Id" in answer["headers"] for answer in answers.values()), name


def test_an_address_is_said_where_it_is_sent(document: Document, api: APIClient, invoice: Invoice) -> None:
    """The document promises `Location` for the answers that have it, and for no other."""
    User.objects.create_user("bob")
    tickets, member = "/api/projects/ABC/tickets/", "/api/projects/ABC/members/bob/"
    sent: list[tuple[str, str, dict[str, Any]]] = [
        *(("post", "/api/projects/", {"key": key, "name": key}) for key in ("ABC", "XYZ")),
        *(("put", member, {"role": role}) for role in ("reader", "member")),
        *(("post", f"{tickets}bulk/", {"mode": mode, "tickets": [{"title": "x"}]}) for mode in MODES),
        ("post", tickets, {"title": "x"}),
        ("patch", "/api/tickets/ABC-1/", {"title": "y", "version": 1}),
        ("post", "/api/tickets/ABC-1/comments/", {"text": "x"}),
        ("post", "/api/tickets/ABC-1/move/", {"project": "XYZ"}),
        ("delete", "/api/tickets/ABC-2/", {"version": 1}),
        ("post", "/api/tickets/ABC-2/restore/", {}),
        ("post", f"/api/invoices/{invoice.key.text}/void/", {"reason": "x"}),
        ("post", "/api/orders/", {"customer": "Ada", "lines": LINES}),
        *(("post", f"/api/orders/1001/invoice/{rest}", {}) for rest in ("", "issue/")),
        ("post", "/api/companies/", {"key": "NORD", "name": "Nord", "format": "{scope}-{period}-{value}", "start": 1}),
    ]
    for method, address, body in sent:
        answer = getattr(api, method)(address, body)
        path = re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{answer.resolver_match.route}")
        promised = document["paths"][path][method]["responses"][str(answer.status_code)]["headers"]
        assert answer.status_code in (200, 201), path
        assert answer.has_header("Location") is ("Location" in promised), (method, path)


def test_a_pattern_is_about_the_whole_text(document: Document) -> None:
    """What is in an address keeps to all of its pattern, and not to one end of it."""
    places = [one for _, each in operations(document) for one in each.get("parameters", ()) if one["in"] == "path"]
    patterns = {one["schema"]["pattern"] for one in places if "pattern" in one["schema"]}
    assert patterns
    for pattern in patterns:
        schema = jsonschema_rs.validator_for({"pattern": pattern})
        assert not any(map(schema.is_valid, ("7/", "/ord-7", "ABC-1/", "/ABC")))


def test_a_read_changes_nothing(document: Document) -> None:
    """No read is in conflict with anything, and none has a body that could be too large or of a wrong kind."""
    reads = [path["get"] for path in document["paths"].values() if "get" in path]
    assert reads
    for read in reads:
        assert not {"409", "413", "415", "422", "428"} & read["responses"].keys(), read["operationId"]
