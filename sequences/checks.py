"""System checks of the setting SEQUENCES. They read settings and import classes, and never use the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register

from .exceptions import InvalidSequence
from .registry import configured, strategies

__all__ = ["check_sequences"]


@register(Tags.compatibility)
def check_sequences(app_configs: Sequence[Any] | None = None, **_: Any) -> list[CheckMessage]:
    """Return one error (sequences.E001) for each sequence that cannot be used, with the remedy."""
    try:
        aliases = list(configured())
    except InvalidSequence as error:
        return [Error(str(error), id="sequences.E001")]
    errors: list[CheckMessage] = []
    for alias in aliases:
        try:
            strategies[alias]
        except InvalidSequence as error:
            errors.append(Error(str(error), hint="See docs/settings.md.", id="sequences.E001"))
    return errors
