"""Copies of the project, to run or to break without changing the original."""

import shutil
import sys
from pathlib import Path

from project.paths import ENGINE, ROOT

LEFT_OUT = shutil.ignore_patterns(".git", ".local", ".hypothesis", "*.pyc.*")
"""What a copy of code has not: data, and files that other processes make and remove meanwhile, as compiled ones."""


def copy_project(folder: Path) -> Path:
    """A copy of the project without its data. It shares the installed packages and engine: its set-up is quick."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    (folder / ".local" / "engine").mkdir(parents=True)
    (folder / ".local" / "venv").symlink_to(sys.prefix)
    for installed in ("node_modules", "package.json"):
        if (ENGINE / installed).exists():
            (folder / ".local" / "engine" / installed).symlink_to(ENGINE / installed)
    return folder
