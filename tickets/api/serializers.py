"""The shapes of JSON, in and out. The limits of the fields are in `tickets.validators`, for all rooms."""

from datetime import UTC, datetime
from functools import singledispatch
from typing import Any

from rest_framework import serializers

from sequences import get_last_value
from sequences.capabilities import flags
from sequences.registry import strategies
from sequences.rest.fields import NumberField
from sequences.rest.views import NextValues
from tickets import validators
from tickets.api.limits import Limited
from tickets.api.shapes import RequestBody, Shape
from tickets.bulk import MOST_EACH, MOST_TOGETHER
from tickets.types import Member, Moved, Opening, Project, Role, Status, Ticket, Void


class NewProject(RequestBody):
    """A new project."""

    key = Limited(validators.PROJECT["key"])
    name = Limited(validators.PROJECT["name"])
    description = Limited(validators.PROJECT["description"], required=False)
    open = Limited(validators.PROJECT["open"], required=False)


class ProjectChange(RequestBody):
    """The fields to change, and the version that the change is based on, unless `If-Match` says it.

    The old key keeps leading to the project.
    """

    version = NumberField(min_value=1, required=False)
    key = Limited(validators.PROJECT["key"], required=False)
    name = Limited(validators.PROJECT["name"], required=False)
    description = Limited(validators.PROJECT["description"], required=False)
    open = Limited(validators.PROJECT["open"], required=False)


class MemberRole(RequestBody):
    """The role of a member."""

    role = Limited(validators.MEMBER["role"])


class NewTicket(RequestBody):
    """A new ticket."""

    title = Limited(validators.TICKET["title"])
    description = Limited(validators.TICKET["description"], required=False)
    status = Limited(validators.TICKET["status"], required=False)
    assignee = Limited(validators.TICKET["assignee"], required=False)
    labels = Limited(validators.TICKET["labels"], required=False)


class Tickets(serializers.Field[Any, Any, Any, Any]):
    """Tickets as they were sent. Their fields are left to the service, which tells the good from the wrong ones."""

    def to_internal_value(self, data: Any) -> Any:
        """The same."""
        return data


class NewTickets(RequestBody):
    """Many new tickets: all or nothing, or each on its own."""

    mode = serializers.ChoiceField(["all_or_nothing", "each"])
    tickets = Tickets()


class NewTicketsTogether(RequestBody):
    """Up to 99 new tickets: all of them or nothing."""

    mode = serializers.ChoiceField(["all_or_nothing"])
    tickets = serializers.ListField(child=NewTicket(), min_length=1, max_length=MOST_TOGETHER)


class NewTicketsEach(RequestBody):
    """Up to 500 new tickets, each on its own. One that breaks a limit gets a problem in its place."""

    mode = serializers.ChoiceField(["each"])
    tickets = serializers.ListField(child=serializers.JSONField(), min_length=1, max_length=MOST_EACH)


class TicketChange(RequestBody):
    """The fields to change, and the version that the change is based on, unless `If-Match` says it. Null removes."""

    version = NumberField(min_value=1, required=False)
    title = Limited(validators.TICKET["title"], required=False)
    description = Limited(validators.TICKET["description"], required=False)
    status = Limited(validators.TICKET["status"], required=False)
    assignee = Limited(validators.TICKET["assignee"], required=False)
    labels = Limited(validators.TICKET["labels"], required=False, null=())


class TicketVoiding(RequestBody):
    """The reason for voiding a ticket, and the version that the caller has read, unless `If-Match` says it."""

    reason = Limited(validators.VOID["reason"], required=False)
    version = NumberField(min_value=1, required=False)


class TicketRestoring(TicketVoiding):
    """The reason for restoring a ticket, and optionally the version that the caller has read."""


class TicketMove(RequestBody):
    """The project to move a ticket to, and optionally the version that the caller has read."""

    project = Limited(validators.MOVE["to"])
    version = NumberField(min_value=1, required=False)


class TakeValues(NextValues, RequestBody):
    """How many values to take, in which scope, and for which date, if the sequence counts periods."""


class ProjectSerializer(Shape[Project]):
    """A project."""

    key = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    open = serializers.ChoiceField([choice.value for choice in Opening])
    archived = serializers.BooleanField()
    version = serializers.IntegerField()


class MemberSerializer(Shape[Member]):
    """A member of a project."""

    user = serializers.CharField()
    role = serializers.ChoiceField([role.value for role in Role])


class VoidSerializer(Shape[Void]):
    """Who withdrew a ticket, when and why."""

    by = serializers.CharField()
    at = serializers.DateTimeField()
    reason = serializers.CharField()


class MovedSerializer(Shape[Moved]):
    """The key to which a ticket has gone, by whom and when."""

    to = serializers.CharField(allow_null=True)
    by = serializers.CharField()
    at = serializers.DateTimeField()


class TicketSerializer(Shape[Ticket]):
    """A ticket. A void ticket has no content; its `void` says by whom it was withdrawn, when and why.

    Its content can be restored until `sealed_until`. One that an operator has made void keeps its content, and has no
    `sealed_until`. `comments` counts withdrawn ones, too.

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
    updated_by = serializers.CharField()
    comments = serializers.IntegerField()
    void = VoidSerializer(required=False)
    sealed_until = serializers.DateTimeField(required=False)
    moved = MovedSerializer(required=False)

    def to_representation(self, ticket: Ticket) -> dict[str, Any]:
        """The fields above, without asking each of them: a list has hundreds. The last ones only if there are such."""
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
            "updated_by": ticket.updated_by,
            "comments": ticket.comments,
        }
        if ticket.void:
            shown["void"] = {"by": ticket.void.by, "at": moment(ticket.void.at), "reason": ticket.void.reason}
        if ticket.sealed_until:
            shown["sealed_until"] = moment(ticket.sealed_until)
        if ticket.moved:
            to = str(ticket.moved.to) if ticket.moved.to else None
            shown["moved"] = {"to": to, "by": ticket.moved.by, "at": moment(ticket.moved.at)}
        return shown


@singledispatch
def as_json(current: Any) -> Any:
    """What was changed meanwhile, as JSON. Every kind of thing registers its own function."""
    raise NotImplementedError(f"{type(current).__name__} has no form in JSON.")


@as_json.register
def _(ticket: Ticket) -> Any:
    return TicketSerializer(ticket).data


@as_json.register
def _(project: Project) -> Any:
    return ProjectSerializer(project).data


def moment(at: datetime) -> str:
    """A moment as the API writes it: in UTC."""
    return f"{(at if at.tzinfo is UTC else at.astimezone(UTC)).isoformat().removesuffix('+00:00')}Z"


class BulkResult(Shape[Any]):
    """What became of one of many tickets: its status as if it came alone, and the ticket or the problem."""

    status = serializers.IntegerField()
    ticket = TicketSerializer(required=False)
    replayed = serializers.BooleanField(required=False)
    problem = serializers.DictField(required=False)


class BulkSerializer(Shape[Any]):
    """What became of many tickets, in their order."""

    results = BulkResult(many=True)


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
    last_value = serializers.IntegerField(
        allow_null=True,
        help_text="It has up to 38 digits and is exact; readers whose numbers are all floating-point, such as those of "
        "JavaScript, round it above 2^53 - 1.",
    )

    def to_representation(self, name: str) -> dict[str, Any]:
        """The strategy's flags, and the last value of the scope in the context (None if the context has no scope)."""
        strategy, scope = type(strategies[name]), self.context.get("scope")
        place = {"scope": scope, "last_value": get_last_value(name, scope=scope)}
        return {"name": name, "strategy": strategy.__name__, **flags(strategy), **place}
