"""`make matrix`: the wheel on each Python, Django and boto3 that it says it supports, and with each of its extras.

    python -m nox -f project/proof/matrix.py [-s versions|extras] [-k 'python3.13 or floor']

In an environment for each, a stranger's project follows the pages word for word, and every strategy is held to the
contract. A Python that the machine lacks is left out, and said so. docs/proof.md has the result.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nox

from project.paths import LOCAL, ROOT
from sequences.testing.embedded import find_binary

OUTSIDE = ROOT / "tests" / "outside"
PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
DJANGOS = ("5.2", "6.0", "6.1")
FIRST_OF_DJANGO_6 = "3.12"
EXTRAS = {
    "check": "stdnum",
    "fast": "orjson",
    "metrics": "sequences.metrics.prometheus",
    "otel": "sequences.metrics.opentelemetry",
    "rest": "sequences.rest.problems",
    "test": "sequences.testing.contract",
}
"""What can be imported with each extra."""

nox.options.envdir = LOCAL / "matrix"
nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False


def _let_pyenv_show_all() -> None:
    """pyenv, where there is one, shows only the versions that somebody has chosen."""
    if pyenv := shutil.which("pyenv"):
        listed = subprocess.run([pyenv, "versions", "--bare"], capture_output=True, text=True, check=False)
        os.environ["PYENV_VERSION"] = ":".join(listed.stdout.split())


def _floor(name: str) -> str:
    """The lowest version of a requirement that the package says it works with."""
    (version,) = (line.partition(">=")[2] for line in PACKAGE["dependencies"] if line.startswith(f"{name}>="))
    return f"{name}=={version}.0" if name == "boto3" else f"{name}=={version}"


def _cells() -> Iterator[nox.param]:
    """Every Python with every Django that runs on it, each with the newest boto3 and with the lowest."""
    for python in PYTHONS:
        for django in DJANGOS[:1] if python < FIRST_OF_DJANGO_6 else DJANGOS:
            yield nox.param(python, f"Django~={django}.0", "boto3", id=f"{python}, Django {django}, newest boto3")
            yield nox.param(
                python, f"Django=={django}", _floor("boto3"), id=f"{python}, Django {django}.0, lowest boto3"
            )


_let_pyenv_show_all()


@nox.session
@nox.parametrize(("python", "django", "boto3"), [*_cells()])
def versions(session: nox.Session, django: str, boto3: str) -> None:
    """The pages without any extra, and then the contract, for which pytest and moto are needed."""
    session.install(_wheel(session), django, boto3)
    _follow_the_pages(session)
    session.install(f"{_wheel(session)}[test]", django, boto3)
    _hold_to_the_contract(session)


@nox.session
@nox.parametrize("extra", [*EXTRAS])
def extras(session: nox.Session, extra: str) -> None:
    """The pages with one extra and no other; and what the extra is for can be imported."""
    session.install(f"{_wheel(session)}[{extra}]")
    with session.chdir(_project(session)):
        session.run("python", "manage.py", "shell", "-c", f"import {EXTRAS[extra]}")
    _follow_the_pages(session)


@cache
def _built(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(pip, check=True)
    return next(folder.iterdir())


def _wheel(session: nox.Session) -> str:
    """The wheel, built once."""
    return str(_built(Path(session.cache_dir) / "wheel"))


def _project(session: nox.Session) -> Path:
    """A project of somebody else, in which the repository cannot be imported."""
    folder = Path(session.create_tmp())
    shutil.copytree(
        OUTSIDE,
        folder,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("test_*", "conftest.py", "*.xz", "__pycache__"),
    )
    return folder


def _follow_the_pages(session: nox.Session) -> None:
    """Do what docs/install.md and the README show, with the Python of this session."""
    tests = [sys.executable, "-m", "pytest", "-q", "-k", "page or readme or commands", str(OUTSIDE / "test_package.py")]
    with session.chdir(ROOT):
        session.run(*tests, env={"PACKAGE_PYTHON": f"{session.bin}/python"}, external=True)


def _hold_to_the_contract(session: nox.Session) -> None:
    with session.chdir(_project(session)):
        apart = ["--config-file", os.devnull, "--rootdir", ".", "--ds", "shop.settings"]
        engine = {"DYNOXIDE": str(find_binary())}
        session.run("pytest", "-q", *apart, "-p", "sequences.testing.plugin", "contract.py", env=engine)
