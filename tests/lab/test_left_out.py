"""The app without the lab: production may delete the folder `sequences/lab`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from project.paths import ROOT

IMPORT_ALL = """
import importlib, pkgutil, sequences

for module in pkgutil.walk_packages(sequences.__path__, "sequences."):
    importlib.import_module(module.name)
    print(module.name)
"""
IMPORT_WHAT_IS_PUBLIC = """
import sys, sequences.admin, sequences.storage, sequences.strategies

print([name for name in sys.modules if name.startswith(("moto", "rich", "sequences.lab"))])
"""
SEQUENCES = {
    "tickets": {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum", "TABLE": "tickets"},
    "orders": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "START": 1001},
}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A Django project beside a copy of the app."""
    shutil.copytree(ROOT / "tests" / "outside", tmp_path, dirs_exist_ok=True)
    shutil.copytree(ROOT / "sequences", tmp_path / "sequences")
    with (tmp_path / "shop" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(f"INSTALLED_APPS += ['sequences']\nSEQUENCES = {SEQUENCES}\n")
    return tmp_path


@pytest.fixture
def without_lab(whole: Path) -> Path:
    """The same, with the lab deleted."""
    shutil.rmtree(whole / "sequences" / "lab")
    return whole


def manage(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a management command of the project in this folder."""
    command = [sys.executable, "manage.py", *arguments]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "shop.settings"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_other_module_can_be_imported(without_lab: Path) -> None:
    """Services, strategies, admin and commands need nothing of the lab."""
    done = manage(without_lab, "shell", "-v0", "-c", IMPORT_ALL)
    assert done.stderr == ""
    assert {"sequences.admin", "sequences.management.commands.compare_strategies"} <= set(done.stdout.split())


def test_the_system_checks_pass(without_lab: Path) -> None:
    """`manage.py check` has nothing to say."""
    done = manage(without_lab, "check", "--fail-level", "INFO")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        ("the comparison needs", ["compare_strategies"]),
        ("the comparison needs", ["compare_strategies", "--format", "json"]),
        ("the races need", ["record_races"]),
    ],
)
def test_a_command_says_what_is_missing(without_lab: Path, what: str, arguments: list[str]) -> None:
    """The commands that need the lab say so in one line."""
    done = manage(without_lab, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"{what} the folder sequences/lab, which is left out here" in line


def test_the_app_imports_nothing_of_it(whole: Path) -> None:
    """Where the lab is there, importing the app and its admin imports neither the lab nor moto nor rich."""
    done = manage(whole, "shell", "-v0", "-c", IMPORT_WHAT_IS_PUBLIC)
    assert (done.stdout, done.stderr) == ("[]\n", "")
