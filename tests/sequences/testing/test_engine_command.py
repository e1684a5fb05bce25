"""`manage.py sequences engine`: the engine in one line."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import pytest
from django.core.management import CommandError, call_command

from project.paths import ROOT
from project.proof.faults.proxy import free_port
from sequences.testing.processes import HOST, port_is_free

COMMAND = [sys.executable, "manage.py", "sequences", "engine", "--port"]


@contextmanager
def running(port: int, *arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command as it runs, with the three lines that it has printed."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [*COMMAND, str(port), *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env={**known, **variables}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        try:
            lines = [process.stdout.readline().strip() for _ in range(3)]
            assert all(lines), said(process)
            yield process, lines
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    """What it has said beside them until its end."""
    assert process.stderr
    return process.stderr.read()


def tables_at(lines: list[str]) -> list[str]:
    """The tables of the engine that the lines lead to, in an environment that has nothing but these lines."""
    words = [word for line in lines for word in shlex.split(line.removeprefix("export "))]
    named = dict(word.split("=", 1) for word in words)
    client = boto3.client(
        "dynamodb",
        endpoint_url=named["AWS_ENDPOINT_URL_DYNAMODB"],
        region_name=named["AWS_DEFAULT_REGION"],
        aws_access_key_id=named["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=named["AWS_SECRET_ACCESS_KEY"],
    )
    names: list[str] = client.list_tables()["TableNames"]
    return names


def end_the_engine_of(process: subprocess.Popen[str], port: int) -> None:
    """Kill its engine, which has the port among its arguments, and not the command."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (engine,) = [pid for pid in children if str(port) in Path(f"/proc/{pid}/cmdline").read_text().split("\0")]
    os.kill(int(engine), signal.SIGKILL)


@pytest.mark.needs_engine
def test_it_has_the_tables_and_ends_with_its_engine(tmp_path: Path) -> None:
    """The lines that it prints lead to an engine with the tables. It does not go on without its engine."""
    port, path = free_port(), tmp_path / "engine.db"
    with running(port, "--path", str(path)) as (process, (about, *lines)):
        assert re.fullmatch(rf"# Tables: .*tickets.*\. Data are kept in {path}\. Ctrl-C ends the engine\.", about)
        assert "tickets" in tables_at(lines)
        end_the_engine_of(process, port)
        assert process.wait(60) == 1
        last_words = said(process)
        assert "The engine ended by itself, with code -9." in last_words
        assert "Traceback" not in last_words
    assert port_is_free(port)


def test_moto_in_its_place() -> None:
    """Where the engine is missing, moto's server has the tables, and the command says that it forgets everything.

    Ctrl-C ends both.
    """
    port = free_port()
    with running(port, DYNOXIDE="moto") as (process, (about, *lines)):
        assert "in memory" in about
        assert "tickets" in tables_at(lines)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        last_words = said(process)
        assert "FORGETS EVERYTHING" in last_words
        assert "Traceback" not in last_words
    assert port_is_free(port)


@pytest.mark.needs_engine
def test_a_port_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that another program has is refused with a remedy."""
    monkeypatch.setattr("sequences.testing.embedded.PORT_SECONDS", 0.2)
    with socket.create_server((HOST, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} is in use. Choose another port"):
            call_command("sequences", "engine", "--port", f"{port}")


@pytest.mark.parametrize("port", ["-1", "65536", "first"])
def test_no_port(port: str) -> None:
    """What is no port is refused with what it must be."""
    with pytest.raises(CommandError, match=rf"--port: '{port}'; give a port from 0 to 65535"):
        call_command("sequences", "engine", f"--port={port}")


def test_a_binary_that_cannot_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says what to correct."""
    monkeypatch.setenv("DYNOXIDE", "/nowhere")
    with pytest.raises(CommandError, match=r"DYNOXIDE is /nowhere, which cannot be run\."):
        call_command("sequences", "engine")
