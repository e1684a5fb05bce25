"""What all shapes of JSON have in common: how they are written, and what a body may have."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from rest_framework import serializers

from tickets.api.bodies import JSONRenderer
from tickets.api.shapes import Limited, Named, RequestBody, Shape
from tickets.types import ProjectKey
from tickets.validators import LABEL, TICKET

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Part(Shape[Any]):
    """A part of a thing."""

    text = serializers.CharField()


class Thing(Shape[Any]):
    """A thing with each kind of field."""

    key = Named()
    name = serializers.CharField(source="about.name")
    day = serializers.DateField(allow_null=True)
    at = serializers.DateTimeField()
    labels = serializers.ListField()
    parts = Part(many=True)
    part = Part(required=False)
    count = serializers.IntegerField(required=False)
    nothing = serializers.IntegerField(allow_null=True)


class Body(RequestBody):
    """A body with two texts and a number."""

    limited, needed = {"title": TICKET["title"], "mark": LABEL}, ("title",)
    mark = Limited(LABEL, required=False, null="")
    version = serializers.IntegerField(required=False)


def thing(**more: Any) -> SimpleNamespace:
    """A thing."""
    about = {"key": ProjectKey("ABC"), "about": SimpleNamespace(name="x"), "day": date(2026, 1, 31), "at": NOON}
    parts = {"labels": (ProjectKey("ABC"), 5), "parts": [SimpleNamespace(text="a")], "part": None}
    return SimpleNamespace(**{**about, **parts, "count": None, "nothing": None, **more})


def answered(thing: Any) -> Any:
    """What a program reads."""
    return json.loads(JSONRenderer().render(Thing.shown(thing)))


def test_how_a_thing_is_written() -> None:
    """Each field is what JSON has for it; what is None is null, or left out if its field is not required."""
    written = {
        "key": "ABC",
        "name": "x",
        "day": "2026-01-31",
        "at": "2026-01-31T12:00:00Z",
        "labels": ["ABC", "5"],
        "parts": [{"text": "a"}],
        "nothing": None,
    }
    assert answered(thing()) == written
    assert type(Thing.shown(thing())["key"]) is str
    more = answered(thing(day=None, part=SimpleNamespace(text="b"), count=0, nothing=0))
    assert more == {**written, "day": None, "part": {"text": "b"}, "count": 0, "nothing": 0}


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(0)), timezone(timedelta(hours=2))])
def test_moments_are_written_in_utc(zone: Any) -> None:
    """A moment of any zone is that of UTC."""
    assert answered(thing(at=NOON.astimezone(zone)))["at"] == "2026-01-31T12:00:00Z"


def test_the_fields_of_a_body() -> None:
    """Those that are limited come after the others; one that is declared, too, is as it is declared."""
    fields = Body().fields
    assert [*fields] == ["version", "title", "mark"]
    assert {name: field.required for name, field in fields.items()} == {"version": False, "title": True, "mark": False}
    assert fields["title"].help_text == "1 to 200 characters."


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ({"title": "x"}, {"title": "x"}),
        ({"title": " ", "mark": None}, {"title": " ", "mark": ""}),
        ({"title": None, "version": "5"}, {"title": None, "version": 5}),
    ],
)
def test_what_a_body_is_taken_for(sent: dict[str, Any], taken: dict[str, Any]) -> None:
    """Values stay as they were sent, for the services to check; null is what it stands for."""
    body = Body(data=sent)
    assert body.is_valid()
    assert body.validated_data == taken


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        ({}, {"title"}),
        ({"title": "x", "tilte": "y", "\ud800": 1}, {"tilte", r"\ud800"}),
        ({f"x{number:04d}": 1 for number in range(1000)}, {f"x{number:04d}" for number in range(20)}),
        ([], {"non_field_errors"}),
    ],
)
def test_what_is_refused(sent: Any, wrong: set[str]) -> None:
    """A missing field and unknown ones are named; what is no object is no body."""
    body = Body(data=sent)
    assert not body.is_valid()
    assert set(body.errors) == wrong
    if wrong == {"non_field_errors"}:
        assert body.errors["non_field_errors"] == ["The body must be a JSON object."]
    else:
        assert all(len(messages) == 1 for messages in body.errors.values())
