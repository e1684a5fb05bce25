"""The app's configuration for Django: its name, its system checks, and its recorders of metrics."""

from django.apps import AppConfig


class SequencesConfig(AppConfig):
    """The reusable app `sequences`."""

    name = "sequences"
    verbose_name = "Sequences"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .metrics import metrics
        from .ops import checks  # noqa: F401  # registers the system checks

        metrics.configure()
