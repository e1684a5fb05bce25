"""The shapes of JSON, in and out. The limits of the fields are in `tickets.validators`, for all rooms."""

from typing import Any

from rest_framework import serializers

from sequences import get_last_value
from sequences.capabilities import flags
from sequences.registry import strategies
from sequences.rest.fields import NumberField
from sequences.rest.views import NextValues
from tickets import validators
from tickets.api.shapes import Limited, Named, RequestBody, Sent, Shape
from tickets.bulk import MOST_EACH, MOST_TOGETHER
from tickets.types import Member, Moved, Opening, Project, Role, Status, Ticket, Void


class NewProject(RequestBody):
    """A new project."""

    limited, needed = validators.PROJECT, ("key", "name")


class ProjectChange(RequestBody):
    """The fields to change, and the version that the change is based on, unless `If-Match` says it.

    The old key keeps leading to the project.
    """

    limited = validators.PROJECT
    version = NumberField(min_value=1, required=False)


class ProjectArchiving(RequestBody):
    """Optionally the version of the project that the caller has read; `If-Match` may say it."""

    version = NumberField(min_value=1, required=False)


class MemberRole(RequestBody):
    """The role of a member."""

    role = Limited(validators.MEMBER["role"])


class NewTicket(RequestBody):
    """A new ticket."""

    limited, needed = validators.TICKET, ("title",)


class NewTickets(RequestBody):
    """Many new tickets: all or nothing, or each on its own."""

    mode = serializers.ChoiceField(["all_or_nothing", "each"])
    tickets = Sent()


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

    limited = validators.TICKET
    version = NumberField(min_value=1, required=False)
    labels = Limited(validators.TICKET["labels"], required=False, null=())


class TicketVoiding(RequestBody):
    """The reason for voiding a ticket, and the version that the caller has read, unless `If-Match` says it."""

    reason = Limited(validators.VOID["reason"], required=False)
    version = NumberField(min_value=1, required=False)


class TicketRestoring(TicketVoiding):
    """The reason for restoring a ticket, and optionally the version that the caller has read."""


class TicketMove(RequestBody):
    """The project to move a ticket to, and optionally the version that the caller has read; `If-Match` may say it."""

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

    to = Named(allow_null=True)
    by = serializers.CharField()
    at = serializers.DateTimeField()


class TicketSerializer(Shape[Ticket]):
    """A ticket. A void ticket has no content; its `void` says by whom it was withdrawn, when and why.

    Its content can be restored until `sealed_until`. One that an operator has made void keeps its content, and has no
    `sealed_until`. `comments` counts withdrawn ones, too.

    A list has an entry without content for the number that a ticket has left; its `moved` says where it went.
    """

    key = Named()
    project = serializers.CharField(source="key.project")
    number = serializers.IntegerField(source="key.number")
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
