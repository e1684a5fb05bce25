"""The fixture that the tests of all pages share: their patience."""

import pytest

from sequences.admin import overview, pages


@pytest.fixture(autouse=True)
def _patient_pages(patience: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages wait for the engine of a busy machine. Tests of an engine that is away set their own times."""
    for module in (overview, pages):
        monkeypatch.setattr(module, "MOST_SECONDS", 30.0)
