"""The app as Django finds it."""

from django.apps import AppConfig


class TicketsConfig(AppConfig):
    """The tickets app. Django's database holds its permissions, and which tables in DynamoDB belong to them."""

    name = "tickets"
    default_auto_field = "django.db.models.BigAutoField"
