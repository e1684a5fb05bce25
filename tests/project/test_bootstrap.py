"""The set-up of `make`: one clear line if something is missing, and no work twice."""

import hashlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from project.commands import bootstrap
from project.environment import PRODUCTION
from project.paths import ROOT


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `make` in the project's folder."""
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on standard error, without the last line of `make` itself."""
    return [line for line in done.stderr.splitlines() if not line.startswith("make")]


def test_it_needs_nothing_that_is_installed() -> None:
    """The bootstrap can be imported by a Python that knows no package but its own."""
    program = [sys.executable, "-S", "-c", "import project.commands.bootstrap"]
    assert subprocess.run(program, cwd=ROOT, check=False).returncode == 0


def test_a_busy_port_is_one_line() -> None:
    """A port that somebody listens on is named, with the remedy, before any set-up."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        done = make("run", PORT=str(port))
    assert done.returncode == 2
    assert complaints(done) == [
        f"error: port {port} is in use. Stop what listens there, or choose another: PORT=8001 make run"
    ]


@pytest.mark.parametrize("port", ["abc", "0", "65536", "-1", "8000.5", "²"])
def test_a_port_that_is_none_is_one_line(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A PORT that is not a port number is refused by name, before any set-up."""
    monkeypatch.setenv("PORT", port)
    with pytest.raises(SystemExit, match="2"):
        bootstrap.main("run", [])
    assert capsys.readouterr().err == f"error: PORT is {port!r}: set it to a whole number from 1 to 65535.\n"


def test_a_missing_browser_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make browser` names the package that it lacks; other commands need none, and any Chromium will do."""
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(bootstrap.SetupError, match="apt-get install chromium"):
        bootstrap.check_browser("browser")
    bootstrap.check_browser("test")
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/google-chrome" if name == "google-chrome" else None)
    bootstrap.check_browser("browser")


def test_an_old_python_is_one_line(tmp_path: Path) -> None:
    """A Python before 3.11 is told so, with its version and the remedy."""
    old = tmp_path / "python3"
    program = "import sys; sys.version_info = (3, 9, 2); exec(sys.argv[2]); print('it went on')"
    old.write_text(f"#!{sys.executable}\n{program}\n")
    old.chmod(0o755)
    done = make("run", f"PYTHON={old}")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(complaints(done)) == 1
    assert "Python 3.11 or newer is needed, this is 3.9." in complaints(done)[0]


def test_a_python_without_venv_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Debian's python3-venv is missing, the package to install is named."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(bootstrap.SetupError, match="apt-get install python3-venv"):
        bootstrap.check_python()


def test_a_missing_npm_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without npm the set-up goes on, and says in one line what that means and what to do."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("DYNOXIDE", raising=False)
    bootstrap.install_engine(ROOT / "package.json", tmp_path / "engine")
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "npm is missing, so the engine will forget all data" in said


def test_an_npm_that_fails_is_tried_again_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failed installation leaves nothing that looks like a finished one."""
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.delenv("DYNOXIDE", raising=False)
    bootstrap.install_engine(ROOT / "package.json", tmp_path / "engine")
    assert "npm could not install the engine" in capsys.readouterr().out
    assert not (tmp_path / "engine" / "package.json").exists()


def test_requirements_that_are_installed_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While requirements.txt is the same no program is started; when it changes, pip is."""
    requirements, venv = tmp_path / "requirements.txt", tmp_path / "venv"
    requirements.write_text("django==5.2\n")
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").write_text("")
    installed = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    (venv / "installed-requirements").write_text(installed)
    started: list[list[str | Path]] = []

    def record(command: list[str | Path], quiet: bool = True) -> bool:
        started.append(command)
        return True

    monkeypatch.setattr(bootstrap, "succeeds", record)
    bootstrap.install_requirements(requirements, venv)
    assert started == []
    requirements.write_text("django==5.3\n")
    bootstrap.install_requirements(requirements, venv)
    assert "install" in started[-1]
    started.clear()
    bootstrap.install_requirements(requirements, venv)
    assert started == []


def test_requirements_that_fail_are_one_line_and_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed installation the next set-up tries again."""
    (tmp_path / "requirements.txt").write_text("")
    monkeypatch.setattr(bootstrap, "succeeds", lambda command, quiet=True: False)
    with pytest.raises(bootstrap.SetupError):
        bootstrap.install_requirements(tmp_path / "requirements.txt", tmp_path / "venv")
    assert not (tmp_path / "venv" / "installed-requirements").exists()


@pytest.mark.parametrize(
    ("command", "environment", "needed"),
    [
        ("run", {}, True),
        ("run", {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8001"}, False),
        ("run", {"DJANGO_SETTINGS_MODULE": PRODUCTION}, False),
        ("bench", {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8001"}, False),
        ("test", {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8001"}, True),
    ],
)
def test_the_engine_is_installed_for_those_who_start_one(
    command: str, environment: dict[str, str], needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another endpoint, or in production, no engine is installed for a run."""
    for name in ("AWS_ENDPOINT_URL_DYNAMODB", "DJANGO_SETTINGS_MODULE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert bootstrap.needs_engine(command) is needed
