"""A site whose engine hangs for a while: no process dies, no caller is lied to, and nothing is lost."""

from pathlib import Path

import pytest

from project.proof.stall import SETTLED_SECONDS, Settings, stall


@pytest.mark.needs_engine
def test_an_engine_that_hangs_under_load(tmp_path: Path) -> None:
    """It lives, refuses at once what it cannot do, and files again when the engine answers: see `project.proof.stall`.

    The stop is as short as it can be: the first callers wait for `SETTLED_SECONDS`.
    """
    verdict = stall(Settings(seconds=SETTLED_SECONDS + 2, around=2), tmp_path)
    assert verdict.violations == []
