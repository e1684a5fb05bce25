"""The preparation of a run: by several containers at the same moment, and again when all is there."""

import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db.migrations.loader import MigrationLoader
from pytest_django import Settings

from project import environment
from project.commands.prepare import ANN, BEN, DEMO, collect_static, make_demo_administrator, make_sample_people
from project.paths import ROOT
from project.proof.peers.environment import BenchError
from project.proof.peers.postgresql import find_postgresql, postgresql
from sequences.testing.embedded import Engine

RUNS = 2


def test_a_file_that_is_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the SQL database refuses is said in one line."""
    (tmp_path / "notes.txt").write_text("These are some notes, and no database at all. " * 20)
    own = {"DATABASE_URL": f"sqlite:///{tmp_path}/notes.txt", "DJANGO_SETTINGS_MODULE": environment.DEVELOPMENT}
    command = [sys.executable, "-m", "project.commands.prepare"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: file is not a database\n")


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


@pytest.mark.needs_engine
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
        said = b"".join(run.communicate(timeout=120)[1] for run in runs)
        assert [line for line in said.splitlines() if b"because the deadline has passed" not in line] == []
        assert [run.returncode for run in runs] == [0] * RUNS
    with psycopg.connect(database) as connection:
        (applied,) = connection.execute("SELECT array_agg(app || name) FROM django_migrations").fetchone() or ((),)
    assert sorted(applied) == sorted(f"{app}{name}" for app, name in MigrationLoader(None).disk_migrations)


@pytest.mark.django_db
def test_accounts_are_left_alone(tables: str, settings: Settings) -> None:
    """All sample people have the password of the run, and the same hash of it again: a new one would end sessions."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

    def made() -> list[User]:
        make_sample_people(make_demo_administrator("a password"))
        return [User.objects.get(username=name) for name in (DEMO, ANN, BEN)]

    people = made()
    assert all(person.check_password("a password") for person in people)
    assert [person.password for person in made()] == [person.password for person in people]


class TestStatic:
    @pytest.fixture
    def source(self, tmp_path: Path, settings: Settings) -> Path:
        """The only static file."""
        settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
        settings.STATICFILES_DIRS, settings.STATIC_ROOT = [tmp_path / "source"], tmp_path / "static"
        file = tmp_path / "source" / "style.css"
        file.parent.mkdir()
        file.write_text("p { color: red }" * 100)
        return file

    @pytest.fixture
    def compressed(self, source: Path, settings: Settings) -> Path:
        """What has been made of it."""
        collect_static(settings.STATIC_ROOT)
        return Path(settings.STATIC_ROOT) / "style.css.gz"

    def test_what_is_there_is_left_alone(self, compressed: Path, settings: Settings) -> None:
        """The second run of the same files compresses nothing."""
        made = compressed.stat().st_ino, compressed.stat().st_ctime_ns
        collect_static(settings.STATIC_ROOT)
        assert (compressed.stat().st_ino, compressed.stat().st_ctime_ns) == made

    def test_a_change_is_collected(self, source: Path, compressed: Path, settings: Settings) -> None:
        """A file that has changed is compressed anew."""
        source.write_text("p { color: blue }" * 100)
        os.utime(source, (time.time() + 10, time.time() + 10))
        collect_static(settings.STATIC_ROOT)
        assert gzip.decompress(compressed.read_bytes()) == source.read_bytes()

    def test_what_was_interrupted_is_done_again(self, compressed: Path, settings: Settings) -> None:
        """After a run that ended between the copies and their compression, the next one makes up for it."""
        compressed.parent.with_suffix(".complete").unlink()
        compressed.unlink()
        collect_static(settings.STATIC_ROOT)
        assert compressed.exists()

    def test_another_kind_of_files(self, compressed: Path, settings: Settings) -> None:
        """Settings that want other names of files get them, though no file has changed."""
        kind = "whitenoise.storage.CompressedManifestStaticFilesStorage"
        settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": kind}}
        collect_static(settings.STATIC_ROOT)
        assert (compressed.parent / "staticfiles.json").exists()
