"""What the tests of the package share: its wheel, built once."""

import shutil
import sys
from pathlib import Path

import pytest

from project.paths import LOCAL, ROOT
from tests.outside.programs import EPOCH, run


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel, built as pip builds it."""
    folder = LOCAL / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder))
    run(*pip, str(ROOT), environment=EPOCH)
    (wheel,) = folder.iterdir()
    return wheel
