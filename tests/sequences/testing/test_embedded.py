"""The embedded engine as a process: its file, its port, its end."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest

from sequences.testing import embedded
from sequences.testing.embedded import Engine, EngineError, find_binary
from tests.sequences.support import wait_until

# Starts an engine with the given file, prints its process id, and waits to be killed.
ORPHAN_MAKER = """
import sys, time, pathlib
from sequences.testing.embedded import Engine
engine = Engine(pathlib.Path(sys.argv[1])).start()
print(engine.process.pid, flush=True)
time.sleep(60)
"""


def client(engine: Engine) -> Any:
    """A client of this engine, without the application."""
    return boto3.client("dynamodb", endpoint_url=engine.endpoint)


def make_table(engine: Engine, name: str) -> None:
    """Make a table with one key attribute."""
    client(engine).create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


def is_gone(pid: int) -> bool:
    """Whether no process has this id, or only a dead one that its parent has not collected yet."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


@pytest.mark.needs_engine
class TestEngine:
    def test_it_answers_as_soon_as_it_is_started(self) -> None:
        """The first call after start finds an engine, in memory and empty."""
        with Engine() as engine:
            assert client(engine).list_tables()["TableNames"] == []
            assert not engine.fallback

    def test_it_keeps_its_data_over_a_crash(self, tmp_path: Path) -> None:
        """After kill and restart the same address serves what was acknowledged before."""
        with Engine(tmp_path / "engine.db") as engine:
            make_table(engine, "kept")
            before = engine.endpoint
            engine.kill()
            assert not engine.is_running
            engine.restart()
            assert engine.endpoint == before
            assert client(engine).list_tables()["TableNames"] == ["kept"]

    def test_it_keeps_its_data_over_a_stop(self, tmp_path: Path) -> None:
        """Another engine on the file of a stopped one has the same data."""
        with Engine(tmp_path / "engine.db") as engine:
            make_table(engine, "kept")
        with Engine(tmp_path / "engine.db") as engine:
            assert client(engine).list_tables()["TableNames"] == ["kept"]

    def test_two_engines_never_share_a_file(self, tmp_path: Path) -> None:
        """The second engine on a file is refused, and the first one goes on."""
        with Engine(tmp_path / "engine.db") as engine:
            with pytest.raises(EngineError, match=r"in use by another run.*AWS_ENDPOINT_URL_DYNAMODB"):
                Engine(tmp_path / "engine.db").start()
            assert client(engine).list_tables()["TableNames"] == []

    def test_it_refuses_a_port_that_another_program_has(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The answers of another program on the port are not taken for the engine's."""
        monkeypatch.setattr("sequences.testing.embedded.PORT_SECONDS", 0.2)
        with Engine() as first, pytest.raises(EngineError, match=f"Port {first.port} is in use"):
            Engine(port=first.port).start()

    def test_it_names_a_file_that_cannot_be_made(self, tmp_path: Path) -> None:
        """A path below a plain file is refused with its name."""
        (tmp_path / "plain").write_text("")
        with pytest.raises(EngineError, match="plain"):
            Engine(tmp_path / "plain" / "engine.db").start()

    def test_it_says_what_a_broken_binary_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An engine that ends at once is reported with its last words."""
        broken = tmp_path / "dynoxide"
        broken.write_text("#!/bin/sh\necho no luck today\nexit 1\n")
        broken.chmod(0o755)
        monkeypatch.setenv("DYNOXIDE", str(broken))
        with pytest.raises(EngineError, match="no luck today"):
            Engine().start()

    def test_it_dies_with_its_parent_and_its_file_is_free_again(self, tmp_path: Path) -> None:
        """SIGKILL of the process that started an engine ends the engine too."""
        path = tmp_path / "engine.db"
        command = [sys.executable, "-c", ORPHAN_MAKER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout
            pid = int(parent.stdout.readline())
            assert not is_gone(pid)
            parent.send_signal(signal.SIGKILL)
        wait_until(lambda: is_gone(pid))
        with Engine(path) as engine:
            assert engine.is_running


def test_a_binary_that_is_not_there_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """DYNOXIDE that names nothing is an error, not a silent fallback."""
    monkeypatch.setenv("DYNOXIDE", "/nowhere/dynoxide")
    with pytest.raises(EngineError, match="/nowhere/dynoxide"):
        find_binary()


def test_moto_stands_in_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a binary moto's server answers, after a warning that it forgets everything."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("DYNOXIDE", raising=False)
    monkeypatch.setattr("sequences.testing.embedded.HOME", tmp_path)
    monkeypatch.setattr("sequences.testing.embedded.START_SECONDS", 120.0)  # it imports much
    engine = Engine()
    assert engine.fallback
    with pytest.warns(RuntimeWarning, match="FORGETS EVERYTHING"):
        engine.start()
    with engine:
        make_table(engine, "shortlived")
        assert client(engine).list_tables()["TableNames"] == ["shortlived"]


def test_engines_that_draw_the_same_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a port of its own, although neither listens yet: otherwise one serves both, and stops for both."""
    draws = random.sample(embedded.PORTS, 200)
    monkeypatch.setattr(random, "sample", lambda *_: draws)
    with embedded._free_port() as one, embedded._free_port() as other:
        assert one != other
    with embedded._free_port() as again:
        assert again == one


def test_an_engine_that_never_ran_can_be_stopped() -> None:
    """Stopping and killing what was never started does nothing."""
    engine = Engine()
    engine.kill()
    engine.stop()
    assert not engine.is_running
