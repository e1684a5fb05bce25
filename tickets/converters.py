"""How the keys of projects and tickets stand in addresses; other spellings lead nowhere.

What an address has matched is not matched again.
"""

from django.urls import register_converter

from tickets.types import PROJECT_KEY, TICKET_KEY, ProjectKey, TicketKey


class ProjectKeyConverter:
    """ABC."""

    regex = PROJECT_KEY

    def to_python(self, value: str) -> ProjectKey:
        """The key as it stands."""
        return ProjectKey(value)

    def to_url(self, value: str) -> str:
        """The key as it stands."""
        return value


class TicketKeyConverter:
    """ABC-42."""

    regex = TICKET_KEY

    def to_python(self, value: str) -> TicketKey:
        """The key in its parts."""
        return TicketKey.matched(value)

    def to_url(self, value: TicketKey) -> str:
        """The key as people write it."""
        return str(value)


register_converter(ProjectKeyConverter, "project_key")
register_converter(TicketKeyConverter, "ticket_key")
