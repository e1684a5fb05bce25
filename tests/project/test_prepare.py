"""The preparation of the databases, as several containers run it at the same moment."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from project import environment
from project.paths import ROOT
from project.proof.peers.environment import BenchError
from project.proof.peers.postgresql import find_postgresql, postgresql
from sequences.testing.embedded import Engine

pytestmark = pytest.mark.needs_engine

RUNS = 4


def has_postgresql() -> bool:
    """Whether this machine has PostgreSQL's server."""
    try:
        find_postgresql()
    except BenchError:
        return False
    return True


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an empty database, in a folder that PostgreSQL's own user reaches."""
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    with postgresql() as folder:
        yield f"postgres://postgres@{folder.replace('/', '%2F')}/postgres"


@pytest.mark.skipif(not has_postgresql(), reason="PostgreSQL's server is not installed")
def test_several_at_once(database: str) -> None:
    """Of several runs at the same moment, on nothing, each ends well; what they prepare is there once."""
    with Engine() as engine:
        own = {
            environment.ENDPOINT: engine.endpoint,
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "ALLOWED_HOSTS": "example.com",
            "DATABASE_URL": database,
            "DJANGO_SETTINGS_MODULE": environment.PRODUCTION,
            "SECRET_KEY": "the key of one run" * 4,
        }
        command = [sys.executable, "-m", "project.commands.prepare"]
        runs = [
            subprocess.Popen(command, cwd=ROOT, env={**os.environ, **own}, stderr=subprocess.PIPE) for _ in range(RUNS)
        ]
        said = [run.communicate(timeout=120)[1] for run in runs]
        assert said == [b""] * RUNS
        assert [run.returncode for run in runs] == [0] * RUNS
        pending = [sys.executable, "manage.py", "migrate", "--check"]
        assert subprocess.run(pending, cwd=ROOT, env={**os.environ, **own}, check=False).returncode == 0
