"""System checks of the setting SEQUENCES. They read settings and import classes, and never use the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register

from . import dynamodb
from .exceptions import InvalidSequence
from .registry import configured, strategies

__all__ = ["check_sequences"]


@register(Tags.compatibility)
def check_sequences(app_configs: Sequence[Any] | None = None, **_: Any) -> list[CheckMessage]:
    """Return one error (sequences.E001) for each sequence that cannot be used, with the remedy.

    sequences.E002 is about SEQUENCES_CLIENTS.
    """
    errors: list[CheckMessage] = []
    try:
        for alias in dynamodb.clients():
            dynamodb.client_options(alias)
    except InvalidSequence as error:
        errors.append(Error(str(error), hint="See docs/settings.md.", id="sequences.E002"))
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
