"""The app as Django finds it."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Accounts: sign-ins and API tokens."""

    name = "tickets.accounts"
    label = "accounts"
    verbose_name = "Accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect the log of failed sign-ins."""
        from tickets.accounts import sign_in  # noqa: F401 - the import connects it
