"""The keys of projects and tickets, and numbers, in addresses. Any other spelling is not found.

A key that matched an address is not checked again.
"""

from django.urls import register_converter
from django.urls.converters import IntConverter, StringConverter

from tickets.types import PROJECT_KEY, TICKET_KEY, ProjectKey, TicketKey


class ProjectKeyConverter(StringConverter):
    """A project's key, such as ABC."""

    regex = PROJECT_KEY

    def to_python(self, value: str) -> ProjectKey:
        """The same text, as a project key."""
        return ProjectKey(value)


class TicketKeyConverter:
    """A ticket's key, such as ABC-42."""

    regex = TICKET_KEY

    def to_python(self, value: str) -> TicketKey:
        """The key, split into project and number."""
        return TicketKey.matched(value)

    def to_url(self, value: TicketKey) -> str:
        """The key as text."""
        return str(value)


class NumberConverter(IntConverter):
    """The number of a comment or a change, up to the MAXIMUM of the sequence, without zeros before it."""

    regex = "[1-9][0-9]{0,14}"


register_converter(NumberConverter, "number")
register_converter(ProjectKeyConverter, "project_key")
register_converter(TicketKeyConverter, "ticket_key")
