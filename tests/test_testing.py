"""The test kit under test runners of its own: the examples of docs/testing.md, and runs without the embedded engine."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE

import pytest

from project.paths import ROOT
from project.proof.copies import LEFT_OUT

EXAMPLES = re.findall(
    r"^```python\n(.*?)^```$", (ROOT / "docs/testing.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
CONTRACT = EXAMPLES[3].replace("tests.sequences.one_file", "numbers_of_mine")
SETTINGS = """
INSTALLED_APPS = ["sequences"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
SEQUENCES = {"tickets": {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum", "TABLE": "tickets"}}
USE_TZ = True
"""
WITH_ENGINE = """
import pytest


def test_on_moto(sequence_tables):
    pass


def test_on_the_engine(sequence_tables_on_engine):
    pass


@pytest.mark.needs_engine
def test_that_moto_cannot_serve():
    pass
"""
AT_ONCE = """
import datetime, os

import django
import moto.dynamodb.models.table
from django.core.management import call_command

os.environ |= {"DJANGO_SETTINGS_MODULE": "settings", "AWS_DEFAULT_REGION": "us-east-1"}
del os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
django.setup()

from sequences import put_next
from sequences.strategies import sort_key
from sequences.testing import moto_engine

made_at = datetime.datetime.now(datetime.UTC)
moto.dynamodb.models.table.utcnow = lambda: made_at  # both processes make their tables in the same millisecond
sort_key.TAIL_SECONDS = 600.0  # and put one right after the other
for engine in (moto_engine, moto.mock_aws):
    for _ in range(2):
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        with engine():
            call_command("create_tables", verbosity=0)
            print([put_next("tickets", {"title": title}, scope="ABC").value for title in "ab"], flush=True)
        os._exit(0)
"""
# Runs Python again and again, each time in a process of its own, as `python -m module` or `python file.py` does. Such a
# process begins with libraries that take a second to load, and with botocore's model of the service, but not with the
# app, nor with moto, which patches botocore.
RUNNER = """
import gc, json, os, runpy, sys

import boto3, botocore.loaders, botocore.session
import cryptography.x509, flask_cors, orjson, pytest, responses, statistics, xmltodict
import django.contrib.messages, django.contrib.staticfiles.storage, django.core.management.commands.migrate
import django.db.backends.sqlite3.base, django.db.models, django.forms, django.http, django.test, django.urls

def become(folder, arguments, environment, streams):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in enumerate((os.devnull, *streams)):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND), number)
    sys.stdout.reconfigure(line_buffering=True)
    is_module = arguments[0] == "-m"
    sys.argv, sys.path[0] = arguments[is_module:], folder
    sys.path += filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    if is_module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")

loader = botocore.loaders.create_loader()
botocore.session.create_loader = lambda search_path: loader
boto3.client("dynamodb", "us-east-1", aws_access_key_id="tests", aws_secret_access_key="tests")  # reads the model
boto3.DEFAULT_SESSION = None

gc.collect()
gc.freeze()
for line in sys.stdin:
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    else:
        become(*json.loads(line))
        break
"""
WITHOUT = "-p no:anyio -p no:cacheprovider -p no:hypothesispytest -p no:schemathesis"
PYTEST = ["-m", "pytest", "--ds=settings", *WITHOUT.split()]
DJANGO = ["-m", "django", "test", "--settings=settings", "--verbosity=2"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@contextmanager
def runner() -> Iterator[Run]:
    """Runs Python in a folder, with an environment. Its errors have a file of their own, or the one of its output."""
    known = {name: value for name, value in os.environ.items() if not re.match("AWS_|DJANGO_|PYTEST_|PYTHON", name)}
    command = [sys.executable, "-c", RUNNER]
    with subprocess.Popen(command, env=known, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as process:

        def run(
            folder: Path, *arguments: str, environment: Mapping[str, str], errors: str = "stderr"
        ) -> subprocess.CompletedProcess[str]:
            streams = ("stdout", errors)
            print(json.dumps([str(folder), arguments, dict(environment), streams]), file=process.stdin)
            assert process.stdout
            code = int(process.stdout.readline())
            told = [(folder / name).read_text() for name in streams]
            return subprocess.CompletedProcess(arguments, code, *told)

        yield run


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs Python in a folder, where no engine is found and every request to a real one would fail."""
    known = {name: value for name, value in os.environ.items() if not re.match("AWS_|DJANGO_|PYTEST_|DYNOXIDE", name)}
    environment = {**known, "PATH": "/usr/bin:/bin", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9"}
    with runner() as run:
        yield partial(run, environment=environment)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A project with the app in it, its settings, and the tests that docs/testing.md shows."""
    case, plugin, fixture, _ = EXAMPLES
    shutil.copytree(ROOT / "sequences", tmp_path / "sequences", ignore=LEFT_OUT)
    for name, text in {"settings": SETTINGS, "test_case": case, "conftest": plugin, "test_fixture": fixture}.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that a run printed."""
    return done.stdout.strip().splitlines()[-1]


class TestExamples:
    def test_under_django(self, run: Run, site: Path) -> None:
        """The test case passes under Django's runner, in parallel. `test_tutorial.py` has one alone."""
        (site / "test_other.py").write_text((site / "test_case.py").read_text())  # a process for each test case
        (site / "test_fixture.py").unlink()
        done = run(site, *DJANGO, "--parallel=2")
        assert done.returncode == 0, done.stderr
        assert "Ran 6 tests" in done.stderr

    def test_processes_at_the_same_time(self, run: Run, site: Path) -> None:
        """Processes that test at the same time, each on its own moto, get the same numbers: 1, 2."""
        (site / "at_once.py").write_text(AT_ONCE)
        done = run(site, "at_once.py")
        assert done.stdout == "[1, 2]\n" * 4, done.stderr

    def test_the_contract(self, run: Run, site: Path) -> None:
        """A strategy of one's own is held to the contract by the example. As nothing is left out, nothing is said."""
        (site / "numbers_of_mine.py").write_text((ROOT / "tests/sequences/one_file.py").read_text())
        (site / "test_contract.py").write_text(CONTRACT)
        done = run(site, *PYTEST, "test_contract.py", "-k", "test_the_first_values or test_threads")
        assert done.returncode == 0, done.stdout
        assert "2 passed" in last_line(done)
        assert "DID NOT RUN" not in done.stdout

    def test_a_strategy_that_breaks_the_contract(self, run: Run, site: Path) -> None:
        """A strategy that remembers a value, and never looks again, does not pass."""
        broken = (ROOT / "tests/sequences/one_file.py").read_text()
        broken = broken.replace("highest, read_units =", "highest, read_units = self.__dict__.setdefault(scope, ")
        broken = broken.replace("deadline.send)\n", "deadline.send))\n", 1)
        (site / "numbers_of_mine.py").write_text(broken)
        hasty = CONTRACT.replace('ReadThenPut"}', 'ReadThenPut", "OPTIONS": {"deadline": 0.5}}')
        (site / "test_contract.py").write_text(hasty)
        done = run(site, *PYTEST, "test_contract.py", "-k", "test_the_first_values")
        assert done.returncode == 1, done.stdout
        assert "1 failed" in last_line(done)


class TestWithoutEngine:
    @pytest.fixture
    def needing(self, site: Path) -> Path:
        """A project with one test for moto, and two that need the engine."""
        (site / "test_engine.py").write_text(WITH_ENGINE)
        return site

    @pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
    def test_what_did_not_run_fails_the_run(self, run: Run, needing: Path, workers: tuple[str, ...]) -> None:
        """The examples pass. The last line says how many tests did not run and why, and the exit status is 1."""
        done = run(needing, *PYTEST, *workers)
        assert done.returncode == 1
        assert "5 passed, 2 skipped" in done.stdout
        assert last_line(done) == (
            "2 tests DID NOT RUN: the embedded engine is not installed (see docs/testing.md). "
            "--without-engine accepts that."
        )

    def test_it_can_be_accepted(self, run: Run, needing: Path) -> None:
        """With `--without-engine` the last line is there too, and the exit status is 0."""
        done = run(needing, *PYTEST, "--without-engine", "test_engine.py", "-k", "not on_moto")
        assert done.returncode == 0
        assert last_line(done) == ("2 tests DID NOT RUN: the embedded engine is not installed (see docs/testing.md).")

    def test_failures_keep_their_status(self, run: Run, needing: Path) -> None:
        """A run without tests keeps its exit status, and tests that are left out are no tests that did not run."""
        done = run(needing, *PYTEST, "test_engine.py", "-k", "nothing")
        assert done.returncode == 5
        assert "DID NOT RUN" not in done.stdout

    def test_ours_run_on_moto(self, run: Run, tmp_path: Path) -> None:
        """Where the engine is missing, tests of ours run on moto's server, and those that need it are counted."""
        for name in ("project", "sequences"):  # they look for the engine beside themselves
            shutil.copytree(ROOT / name, tmp_path / name, ignore=LEFT_OUT)
        for name in ("templates", "tests", "tickets"):
            (tmp_path / name).symlink_to(ROOT / name)
        shutil.copy(ROOT / "pyproject.toml", tmp_path)
        writing = "tests/tickets/test_samples.py::test_nothing_is_loaded_beside_other_projects"
        done = run(tmp_path, "-m", "pytest", writing, "tests/sequences/testing/test_embedded.py", "-k", "not stands")
        assert done.returncode == 1
        assert re.search(r"=+ 4 passed, 8 skipped, 1 deselected in", done.stdout)
        assert last_line(done).startswith("8 tests DID NOT RUN: ")
