"""What a web process asks before it serves, where the settings are wrong."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from sequences.start import require_sound


@pytest.mark.parametrize("setting", [["a"], {"a": {"STRATEGY": "nothing"}}, {"a": {"UNKNOWN": 1}}], ids=repr)
def test_wrong_settings(settings: Settings, setting: Any) -> None:
    """A process begins with settings that cannot be read: Django's checks name what is wrong."""
    settings.SEQUENCES = setting
    require_sound()
