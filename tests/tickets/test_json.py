"""The JSON of the API: tickets, the fields of requests, and the bytes."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.utils.translation import gettext_lazy
from rest_framework import renderers, serializers

from tickets.api.bodies import JSONRenderer
from tickets.api.serializers import NewTicket, TicketSerializer
from tickets.types import Moved, Status, Ticket, TicketKey, Void

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ABOUT = {"title": "Printer", "description": "Third floor.", "status": Status.OPEN, "assignee": "bob"}
FILED = {"reporter": "ann", "labels": ("hot", "new"), "created_at": NOON, "updated_at": NOON, "version": 1}
EMPTY = {"title": "", "description": "", "assignee": "", "labels": ()}
CHANGED = {"status": Status.IN_PROGRESS, "updated_at": NOON.replace(microsecond=42), "version": 2}
ELSEWHERE = NOON.astimezone(timezone(timedelta(hours=5.5)))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        CHANGED,
        EMPTY,
        {**EMPTY, "status": Status.VOID, "void": Void(by="bob", at=NOON, reason="A duplicate.")},
        {**EMPTY, "void": Void(by="bob", at=NOON, reason=""), "sealed_until": ELSEWHERE, "comments": 3},
        {"created_at": ELSEWHERE, "void": Void(by="", at=ELSEWHERE, reason="")},
        {"created_at": NOON.replace(tzinfo=None)},
        {
            **EMPTY,
            "status": Status.MOVED,
            "moved": Moved(to=TicketKey(project="XYZ", number=7), by="bob", at=ELSEWHERE),
        },
    ],
)
def test_a_ticket_is_what_its_serializer_declares(fields: dict[str, Any]) -> None:
    """Every kind of ticket has the fields, in their order, and the values that the schema of the API promises."""
    ticket = Ticket(key=TicketKey(project="ABC", number=42), **{**ABOUT, **FILED, **fields})
    declared = serializers.Serializer.to_representation(TicketSerializer(), ticket)
    for name in ("void", "sealed_until", "moved"):
        if getattr(ticket, name) is None:
            assert declared.pop(name) is None
    written, promised = (json.loads(JSONRenderer().render(each)) for each in (TicketSerializer.shown(ticket), declared))
    assert list(written.items()) == list(promised.items())


def test_fields_are_built_once() -> None:
    """All requests of one kind share the fields, and none sees the values or the errors of another."""
    wrong, right = NewTicket(data={}), NewTicket(data={"title": "x"})
    assert (wrong.is_valid(), right.is_valid()) == (False, True)
    assert (set(wrong.errors), right.errors) == ({"title"}, {})
    assert (wrong.validated_data, right.validated_data) == ({}, {"title": "x"})
    assert wrong.fields is right.fields


@pytest.mark.parametrize(
    "data",
    [
        {"results": [{"key": "ABC-1", "labels": ["a", "b"], "number": 1, "void": None, "on": True}], "next": None},
        "".join(map(chr, [*range(0x3000), 0x1F600])),
        {"last_value": 10**37},
        {"detail": [gettext_lazy("Not found."), serializers.ErrorDetail("Wrong.", "invalid")]},
        (Status.OPEN, NOON, NOON.replace(tzinfo=None), ELSEWHERE),
        {1: 0.1},
        [],
        None,
    ],
)
@pytest.mark.parametrize("wanted", ["application/json", "application/json; indent=2", None])
@pytest.mark.parametrize("context", [{}, {"indent": 4}, None])
def test_the_bytes_are_those_of_the_framework(data: Any, wanted: str | None, context: Any) -> None:
    """Texts, numbers of any size, moments, messages and indented answers are as the REST framework writes them."""
    assert JSONRenderer().render(data, wanted, context) == renderers.JSONRenderer().render(data, wanted, context)
