"""The shapes of JSON, in and out. The limits of the fields are in `tickets.validators`, for all rooms.

A request with an unknown field is refused. Otherwise a change with a misspelt name would seem to succeed.
"""

from datetime import UTC, datetime
from functools import cache, singledispatch
from typing import Any, TypeVar

from django.utils.functional import cached_property
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import BindingDict

from sequences import get_last_value
from sequences.capabilities import flags
from sequences.registry import strategies
from tickets import validators
from tickets.types import Moved, Project, Status, Ticket, Void

LARGEST_NUMBER = 2**53 - 1  # many JSON readers round larger numbers

T = TypeVar("T")


class Shape(serializers.Serializer[T]):
    """A serializer whose fields are built once, not for each request. They keep nothing of a request."""

    @cached_property
    def fields(self) -> BindingDict:
        return _fields(type(self))


@cache
def _fields(shape: type[Shape[Any]]) -> BindingDict:
    return super(Shape, shape()).fields


class Request(Shape[Any]):
    """The body of a request. Only declared fields are allowed."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The values of the fields. Each unknown field is an error."""
        if isinstance(data, dict) and (unknown := data.keys() - self.fields.keys()):
            message = "This field does not exist, or cannot be set here."
            raise serializers.ValidationError({validators.readable(name): [message] for name in sorted(unknown)})
        return dict(super().to_internal_value(data))


class Text(serializers.CharField):
    """A text whose characters are left to the services: they refuse more than the REST framework does."""

    def run_validators(self, value: str) -> None:
        """Nothing is refused here."""


def text(validator: validators.Validator, **options: Any) -> Text:
    """A text field. Its limits are left to the validator. An optional field may be null, which means an empty text."""
    optional = not options.get("required", True)
    return Text(allow_blank=True, allow_null=optional, trim_whitespace=False, help_text=validator.hint, **options)


def label_list(**options: Any) -> serializers.ListField:
    """A list of texts. Its limits are left to the validator."""
    validator = validators.TICKET["labels"]
    return serializers.ListField(child=Text(allow_blank=True), help_text=validator.hint, **options)


class NewProject(Request):
    """A new project."""

    key = text(validators.PROJECT["key"])
    name = text(validators.PROJECT["name"])
    description = text(validators.PROJECT["description"], required=False)


class ProjectChange(Request):
    """The fields to change. The old key keeps leading to the project."""

    key = text(validators.PROJECT["key"], required=False)
    name = text(validators.PROJECT["name"], required=False)
    description = text(validators.PROJECT["description"], required=False)


class NewTicket(Request):
    """A new ticket."""

    title = text(validators.TICKET["title"])
    description = text(validators.TICKET["description"], required=False)
    status = text(validators.TICKET["status"], required=False)
    assignee = text(validators.TICKET["assignee"], required=False)
    labels = label_list(required=False)


class TicketChange(Request):
    """The fields to change, and the version of the ticket that the change is based on."""

    version = serializers.IntegerField(min_value=1, max_value=LARGEST_NUMBER)
    title = text(validators.TICKET["title"], required=False)
    description = text(validators.TICKET["description"], required=False)
    status = text(validators.TICKET["status"], required=False)
    assignee = text(validators.TICKET["assignee"], required=False)
    labels = label_list(required=False)


class TicketVoiding(Request):
    """The reason for voiding a ticket, and optionally the version that the caller has read."""

    reason = text(validators.VOID["reason"], required=False)
    version = serializers.IntegerField(min_value=1, max_value=LARGEST_NUMBER, required=False)


class TicketMove(Request):
    """The project to move a ticket to, and optionally the version that the caller has read."""

    project = text(validators.MOVE["to"])
    version = serializers.IntegerField(min_value=1, max_value=LARGEST_NUMBER, required=False)


class NextValues(Request):
    """How many values to take, in which scope, and for which date, if the sequence counts periods."""

    count = serializers.IntegerField(min_value=1, max_value=1000, default=1)
    scope = serializers.CharField(allow_null=True, trim_whitespace=False, default=None)
    date = serializers.DateField(allow_null=True, default=None)


class ProjectSerializer(Shape[Project]):
    """A project."""

    key = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()


class VoidSerializer(Shape[Void]):
    """Who withdrew a ticket, when and why."""

    by = serializers.CharField()
    at = serializers.DateTimeField()
    reason = serializers.CharField()


class MovedSerializer(Shape[Moved]):
    """The key to which a ticket has gone, by whom and when."""

    to = serializers.CharField()
    by = serializers.CharField()
    at = serializers.DateTimeField()


class TicketSerializer(Shape[Ticket]):
    """A ticket. A void ticket has no content; its `void` says by whom it was withdrawn, when and why.

    A list has an entry without content for the number that a ticket has left; its `moved` says where it went.
    """

    key = serializers.CharField()
    project = serializers.CharField()
    number = serializers.IntegerField()
    title = serializers.CharField()
    description = serializers.CharField()
    status = serializers.ChoiceField([(status.value, status.label) for status in Status])
    assignee = serializers.CharField()
    labels = serializers.ListField(child=serializers.CharField())
    reporter = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    version = serializers.IntegerField()
    void = VoidSerializer(required=False)
    moved = MovedSerializer(required=False)

    def to_representation(self, ticket: Ticket) -> dict[str, Any]:
        """The fields above, without asking each of them: a list has hundreds. `void` and `moved` only if it is that."""
        shown = {
            "key": str(ticket.key),
            "project": ticket.project,
            "number": ticket.number,
            "title": ticket.title,
            "description": ticket.description,
            "status": ticket.status.value,
            "assignee": ticket.assignee,
            "labels": list(ticket.labels),
            "reporter": ticket.reporter,
            "created_at": moment(ticket.created_at),
            "updated_at": moment(ticket.updated_at),
            "version": ticket.version,
        }
        if ticket.void:
            shown["void"] = {"by": ticket.void.by, "at": moment(ticket.void.at), "reason": ticket.void.reason}
        if ticket.moved:
            shown["moved"] = {"to": str(ticket.moved.to), "by": ticket.moved.by, "at": moment(ticket.moved.at)}
        return shown


@singledispatch
def as_json(current: Any) -> Any:
    """What was changed meanwhile, as JSON. Every kind of thing registers its own function."""
    raise NotImplementedError(f"{type(current).__name__} has no form in JSON.")


@as_json.register
def _(ticket: Ticket) -> Any:
    return TicketSerializer(ticket).data


def moment(at: datetime) -> str:
    """A moment as the API writes it: in UTC."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"


class SequenceSerializer(Shape[Any]):
    """A sequence, given by its name: its strategy, the guarantees of the strategy, and the last value of one scope."""

    name = serializers.CharField()
    strategy = serializers.CharField()
    gapless = serializers.BooleanField()
    supports_reserve = serializers.BooleanField()
    needs_transactions = serializers.BooleanField()
    ordered_across_processes = serializers.BooleanField()
    exactly_once = serializers.BooleanField()
    takes_own_keys = serializers.BooleanField()
    writes_together = serializers.BooleanField()
    scope = serializers.CharField(allow_null=True)
    last_value = serializers.IntegerField(allow_null=True)

    def to_representation(self, name: str) -> dict[str, Any]:
        """The strategy's flags, and the last value of the scope in the context (None if the context has no scope)."""
        strategy, scope = type(strategies[name]), self.context.get("scope")
        place = {"scope": scope, "last_value": get_last_value(name, scope=scope)}
        return {"name": name, "strategy": strategy.__name__, **flags(strategy), **place}


class ValuesSerializer(Shape[Any]):
    """Values that were handed out, in increasing order, and the text of each as the sequence's FORMAT writes it."""

    values = serializers.ListField(child=serializers.IntegerField())
    texts = serializers.ListField(child=serializers.CharField())
