"""System checks of the setting SEQUENCES. They read settings and import classes, and never use the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from . import dynamodb
from .exceptions import InvalidSequence
from .registry import configured, strategies

__all__ = ["check_sequences"]


@register(Tags.compatibility)
def check_sequences(app_configs: Sequence[Any] | None = None, **_: Any) -> list[CheckMessage]:
    """Return one error (sequences.E001) for each sequence that cannot be used, with the remedy.

    sequences.E002 is about SEQUENCES_CLIENT.
    """
    errors: list[CheckMessage] = []
    client = getattr(settings, "SEQUENCES_CLIENT", dynamodb.CLIENTS[0])
    if client not in dynamodb.CLIENTS:
        errors.append(Error(f"SEQUENCES_CLIENT is {client!r}; it must be 'lean' or 'boto3'.", id="sequences.E002"))
    try:
        aliases = list(configured())
    except InvalidSequence as error:
        return [*errors, Error(str(error), id="sequences.E001")]
    for alias in aliases:
        try:
            strategies[alias]
        except InvalidSequence as error:
            errors.append(Error(str(error), hint="See docs/settings.md.", id="sequences.E001"))
    return errors
