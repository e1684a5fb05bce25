"""The shapes of JSON for comments and histories. How shapes are made is described in `tickets.api.serializers`."""

from rest_framework import serializers

from sequences.rest.fields import NumberField
from tickets import validators
from tickets.api.requests import PageQuery
from tickets.api.serializers import VoidSerializer
from tickets.api.shapes import Limited, RequestBody, Shape
from tickets.timeline.types import Event, Kind


class NewComment(RequestBody):
    """A new comment."""

    text = Limited(validators.COMMENT["text"])


class CommentChange(RequestBody):
    """The new text, and the version of the comment that the change is based on, unless `If-Match` says it."""

    text = Limited(validators.COMMENT["text"])
    version = NumberField(min_value=1, required=False)


class CommentWithdrawal(RequestBody):
    """The version of the comment that the caller has read, unless `If-Match` says it."""

    version = NumberField(min_value=1, required=False)


class HistoryQuery(PageQuery):
    """The parameters of an address that choose a page of a history."""

    order = serializers.ChoiceField(["oldest", "newest"], default="oldest", help_text="Which come first.")


class CommentSerializer(Shape[Event]):
    """A comment. `edited_at` is null until its author changes it. One that was withdrawn has no text, but `void`."""

    number = serializers.IntegerField()
    by = serializers.CharField()
    at = serializers.DateTimeField()
    text = serializers.CharField()
    version = serializers.IntegerField()
    edited_at = serializers.DateTimeField(allow_null=True)
    void = VoidSerializer(allow_null=True)


class EventSerializer(CommentSerializer):
    """A comment or a change. `changes` has the values of each field before and after; null for a long text.

    While a ticket has no content, the values are null; so is the key of a project that the caller may not see. `text`
    is the text of the comment, or the reason of a voiding.
    """

    kind = serializers.ChoiceField([kind.value for kind in Kind])
    changes = serializers.DictField(child=serializers.ListField(min_length=2, max_length=2, allow_null=True))
