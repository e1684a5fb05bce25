"""The app as Django finds it."""

from django.apps import AppConfig


class TicketsConfig(AppConfig):
    """The tickets app. Django's database holds its permissions, and which tables in DynamoDB belong to them."""

    name = "tickets"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to what operators do to the sequences."""
        from sequences.signals import value_voided
        from tickets.sales.services import open_order_of

        value_voided.connect(open_order_of)
