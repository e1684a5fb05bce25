"""The app as Django finds it."""

import sys

from django.apps import AppConfig

UNUSED = ("psycopg", "pygments", "requests")
"""What Django REST framework loads wherever it is installed, and the app does not use."""


class TicketsConfig(AppConfig):
    """The tickets app. Django's database holds its permissions, and which tables in DynamoDB belong to them."""

    name = "tickets"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to what operators do to the sequences."""
        from sequences.signals import value_voided
        from tickets.sales.services import open_order_of

        value_voided.connect(open_order_of)


def _load_rest_framework() -> None:
    """Load it without them: they take a fifth of the start of each process, and 16 MB. Who uses one loads it later."""
    hidden = {name: None for name in UNUSED if name not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]  # None: it is not found
    try:
        import rest_framework.compat  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]


_load_rest_framework()
