"""The shapes of JSON, as `tickets.api.serializers` has them."""

from rest_framework import serializers

from .models import Project, Ticket


class ProjectSerializer(serializers.ModelSerializer[Project]):
    """A project."""

    class Meta:  # noqa: D106 - the serializer's options
        model = Project
        fields = ["key", "name", "description"]


class TicketSerializer(serializers.ModelSerializer[Ticket]):
    """A ticket. The project is a plain text: it is never read from its table."""

    key = serializers.CharField(read_only=True)
    project = serializers.CharField(source="project_id", read_only=True)

    class Meta:  # noqa: D106 - the serializer's options
        model = Ticket
        fields = [
            "key",
            "project",
            "number",
            "title",
            "description",
            "status",
            "assignee",
            "labels",
            "reporter",
            "created_at",
            "updated_at",
            "version",
            "updated_by",
            "comments",
        ]
        read_only_fields = ["number", "reporter", "version", "updated_by", "comments"]
