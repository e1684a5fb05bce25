"""What an installed app imports: in a project of its own, without the sample, its lab, and what tests need."""

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

print([name for name in sys.modules if name.startswith(("moto", "rich", "pytest", "sequences.testing"))])
"""
SEQUENCES = {
    "tickets": {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum", "TABLE": "tickets"},
    "orders": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "START": 1001},
}


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A Django project beside a copy of the app, and nothing else of ours."""
    shutil.copytree(ROOT / "tests" / "outside", tmp_path, dirs_exist_ok=True)
    shutil.copytree(ROOT / "sequences", tmp_path / "sequences")
    with (tmp_path / "shop" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(f"INSTALLED_APPS += ['sequences']\nSEQUENCES = {SEQUENCES}\n")
    return tmp_path


def manage(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a management command of the project in this folder."""
    command = [sys.executable, "manage.py", *arguments]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "shop.settings"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_module_can_be_imported(alone: Path) -> None:
    """Nothing of the app needs the sample, the project or their lab."""
    done = manage(alone, "shell", "-v0", "-c", IMPORT_ALL)
    assert done.stderr == ""
    assert {"sequences.admin", "sequences.management.commands.sequences"} <= set(done.stdout.split())


def test_the_system_checks_pass(alone: Path) -> None:
    """`manage.py check` has nothing to say."""
    done = manage(alone, "check", "--fail-level", "INFO")
    assert (done.returncode, done.stderr) == (0, "")


def test_production_imports_nothing_of_tests(alone: Path) -> None:
    """Importing the app and its admin imports neither moto, nor pytest, nor rich."""
    done = manage(alone, "shell", "-v0", "-c", IMPORT_WHAT_IS_PUBLIC)
    assert (done.stdout, done.stderr) == ("[]\n", "")
