"""Copies of the project, to run or to break without changing the original."""

import shutil
import sys
from pathlib import Path

from project.paths import ENGINE, ROOT


def copy_project(folder: Path) -> Path:
    """A copy of the project without its data. It shares the installed packages and engine: its set-up is quick."""
    ignored = shutil.ignore_patterns(".git", ".local")
    shutil.copytree(ROOT, folder, ignore=ignored)
    (folder / ".local" / "engine").mkdir(parents=True)
    (folder / ".local" / "venv").symlink_to(sys.prefix)
    for installed in ("node_modules", "package.json"):
        if (ENGINE / installed).exists():
            (folder / ".local" / "engine" / installed).symlink_to(ENGINE / installed)
    return folder
