"""The app without the lab: production may delete the folder `sequences/lab`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sequences

PREPARE = """
import django
from django.conf import settings

CONTRIB = ["admin", "auth", "contenttypes", "messages", "sessions"]
settings.configure(INSTALLED_APPS=[*(f"django.contrib.{name}" for name in CONTRIB), "sequences"], SEQUENCES={})
django.setup()
"""
IMPORT_ALL = """
import importlib, pkgutil, sequences

for module in pkgutil.walk_packages(sequences.__path__, "sequences."):
    importlib.import_module(module.name)
    print(module.name)
"""
COMPARE = """
from django.core.management import execute_from_command_line

execute_from_command_line(["manage.py", "compare_strategies"])
"""


@pytest.fixture
def without_lab(tmp_path: Path) -> Path:
    """A folder with the app without its lab, and nothing else."""
    shutil.copytree(Path(sequences.__file__).parent, tmp_path / "sequences", ignore=shutil.ignore_patterns("lab"))
    return tmp_path


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that imports the app from this folder."""
    command = [sys.executable, "-c", PREPARE + program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_every_other_module_can_be_imported(without_lab: Path) -> None:
    """Services, strategies, admin and commands need nothing of the lab."""
    done = run(IMPORT_ALL, without_lab)
    assert done.stderr == ""
    assert {"sequences.admin", "sequences.management.commands.compare_strategies"} <= set(done.stdout.split())


def test_the_comparison_says_what_is_missing(without_lab: Path) -> None:
    """The one command that needs the lab ends with an error that names it."""
    done = run(COMPARE, without_lab)
    assert done.returncode == 2
    assert "The comparison needs the folder sequences/lab" in done.stderr
    assert "Traceback" not in done.stderr
