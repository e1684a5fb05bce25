"""The fixture that the tests of all pages share: their patience."""

import pytest

from sequences.admin import overview as admin_overview
from sequences.admin import pages
from sequences.ops import doctor, overview


@pytest.fixture(autouse=True)
def _patient_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages wait for the engine of a busy machine. Tests of an engine that is away set their own times."""
    monkeypatch.setattr(overview, "SECONDS_A_SEQUENCE", 30.0)
    monkeypatch.setattr(admin_overview, "MOST_SECONDS", 30.0)
    monkeypatch.setattr(pages, "MOST_SECONDS", 30.0)
    monkeypatch.setattr(doctor, "PATIENCE_SECONDS", 30.0)
