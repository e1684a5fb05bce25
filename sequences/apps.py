"""The app's configuration for Django: its name, its system checks, and its recorders of metrics."""

from importlib.util import find_spec
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Tags, register


class SequencesConfig(AppConfig):
    """The reusable app `sequences`."""

    name = "sequences"
    verbose_name = "Sequences"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        if not find_spec("boto3"):  # it is imported with the first request
            raise ModuleNotFoundError("sequences needs boto3: pip install boto3", name="boto3")
        from .metrics import metrics

        register(_check, Tags.compatibility)
        metrics.configure()


def _check(app_configs: object = None, **_: Any) -> list[CheckMessage]:
    """Run the system checks. They need most of the app, and a process starts faster without it."""
    from .ops.checks import CHECKS

    return [message for check in CHECKS for message in check()]
