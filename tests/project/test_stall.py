"""A site whose engine hangs for a while: no process dies, no caller is lied to, and nothing is lost."""

from pathlib import Path

import pytest

from project.proof.stall import AGAIN_SECONDS, SETTLED_SECONDS, Settings, stall


@pytest.mark.needs_engine
def test_an_engine_that_hangs_under_load(tmp_path: Path) -> None:
    """It lives, refuses at once what it cannot do, and files again when the engine answers: see `project.proof.stall`.

    The stop is as short as it can be: callers wait for `SETTLED_SECONDS`. There are more clients than threads, and so
    many requests that all threads have one at once when the engine hangs.
    """
    settings = Settings(seconds=SETTLED_SECONDS + 2, around=AGAIN_SECONDS + 0.3, clients=20, workers=1, rest=0.25)
    verdict = stall(settings, tmp_path)
    assert verdict.violations == []
