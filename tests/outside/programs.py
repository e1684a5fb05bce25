"""Programs that run as those of a stranger: without what the environment says to ours."""

import os
import re
import subprocess
from pathlib import Path

from project.paths import ROOT

__all__ = ["EPOCH", "inherited", "run"]

NOT_INHERITED = re.compile(r"AWS_|DJANGO_|PYTHON|SEQUENCES_|SOURCE_DATE_EPOCH|TABLE_PREFIX")
EPOCH = {"SOURCE_DATE_EPOCH": "1764028800"}
"""The moment that files in a wheel and an sdist have, whenever they are built; any moment will do."""


def inherited() -> dict[str, str]:
    """The variables of the environment that say nothing to our programs."""
    return {name: value for name, value in os.environ.items() if not NOT_INHERITED.match(name)}


def run(*command: str, folder: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    """What a program prints to standard output. It must succeed."""
    done = subprocess.run(
        command, cwd=folder, env=inherited() | (environment or {}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
