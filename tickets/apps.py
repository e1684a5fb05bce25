"""How Django finds the app."""

from django.apps import AppConfig


class TicketsConfig(AppConfig):
    """The tickets app; nothing of it lives in the database that Django knows, but permissions do."""

    name = "tickets"
    default_auto_field = "django.db.models.BigAutoField"
