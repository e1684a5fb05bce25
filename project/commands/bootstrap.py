"""From a fresh clone to a running command: `make` calls this program when nothing is installed yet.

It makes a virtual environment under `.local/`, and installs the pinned requirements and the embedded engine there. Both
are installed only if they have changed. Then it replaces itself with the requested command. It needs only the standard
library.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from project import environment
from project.commands.engines import EngineMissing, choose_engine
from project.paths import ENGINE, LOCAL, ROOT, VENV

PIP = "pip==26.3"  # it takes half the time of the one that Python 3.11 brings

# The module of each command, with its first arguments. The Python of the virtual environment runs it.
COMMANDS = {
    "run": ["project.commands.serve"],
    # More workers than many machines have cores, for tests wait.
    "test": ["pytest", "-n", "5", "--dist", "worksteal", "--cover", "pairs"],
    "browser": ["pytest", "tests/browser", "-n", "2"],
    "package": ["pytest", "tests/outside"],
    "calm": ["project.proof.calm"],
    "check": ["project.commands.check"],
    "docs": ["project.commands.docs"],
    "bench": ["manage", "compare_strategies"],
    "bars": ["project.proof.bars"],
    "bench-peers": ["project.proof.peers.bench"],
    "engines": ["project.proof.engines"],
    "fuzz": ["project.proof.fuzz"],
    "matrix": ["nox", "-f", "project/proof/matrix.py"],
    "mutants": ["project.proof.mutants"],
    "shuffle": ["project.proof.shuffle"],
    "soak": ["project.proof.soak"],
    "stall": ["project.proof.stall"],
    "supply": ["project.commands.supply"],
}

# What a command needs beside the requirements of all.
FOR_MATRIX = ROOT / "project" / "proof" / "matrix-requirements.txt"
MORE = {
    "browser": [ROOT / "tests" / "browser" / "browser-requirements.txt"],
    "check": [ROOT / "deploy" / "deploy-requirements.txt", FOR_MATRIX],  # mypy reads what nox runs
    "docs": [ROOT / "docs" / "docs-requirements.txt"],
    "matrix": [FOR_MATRIX],
    "package": [ROOT / "tests" / "outside" / "package-requirements.txt"],
    "supply": [ROOT / "deploy" / "supply-requirements.txt"],
}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


class SetupError(Exception):
    """The set-up cannot go on. The message is one line with the remedy."""


def main(command: str, arguments: list[str]) -> None:
    """Set everything up and become the command. A SetupError is printed as one line, with exit code 2."""
    try:
        check_python()
        if command == "run":
            check_port(environment.port())
        check_browser(command)
        set_up(with_engine=needs_engine(command), more=MORE.get(command, []))
    except (SetupError, EngineMissing, environment.WrongEnvironment) as error:
        sys.exit(fail(error))
    except KeyboardInterrupt:
        sys.exit(130)
    if command == "bench":  # empty: an engine of its own, not the one of `make run`
        os.environ.setdefault(environment.ENDPOINT, "")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # commands start many programs, which would all compile the project
    os.chdir(ROOT)
    python = VENV / "bin" / "python"
    os.execv(python, [str(python), "-m", *COMMANDS[command], *arguments])  # noqa: S606 - no shell


def fail(error: Exception) -> int:
    """Print what is wrong, each fault on one line, and return the exit code for it."""
    for line in str(error).splitlines():
        print(f"error: {line}", file=sys.stderr)
    return 2


def check_python() -> None:
    """Refuse a Python that cannot make a virtual environment: on Debian, `venv` is a package of its own."""
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        raise SetupError("this Python cannot make a virtual environment. Install it: apt-get install python3-venv")


def check_port(port: int) -> None:
    """Refuse a port in use, before the long set-up."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            raise SetupError(f"port {port} is not allowed here. Choose one above 1023: PORT=8000 make run") from None
        except OSError:
            raise SetupError(
                f"port {port} is in use. Stop what listens there, or choose another: PORT=8001 make run"
            ) from None


def check_browser(command: str) -> None:
    """Refuse to drive a browser that is not installed."""
    if command == "browser" and not any(map(shutil.which, CHROMIUM)):
        raise SetupError("the browser's tests need Chromium. Install it: apt-get install chromium")


def needs_engine(command: str) -> bool:
    """Whether the command may need an embedded engine of its own."""
    return command not in {"run", "bench"} or environment.needs_own_engine()


def set_up(with_engine: bool, more: Iterable[Path] = ()) -> None:
    """Bring `.local/` up to date. If two set-ups run at the same time, the second waits for the first.

    `more` has files of requirements beside those of all commands.
    """
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for requirements in (ROOT / "requirements.txt", *more):
            install_requirements(requirements, VENV)
        if with_engine:
            install_engine(ROOT / "package.json", ENGINE)
            choose_engine(os.environ.get("ENGINE", ""))


def install_requirements(requirements: Path, venv: Path) -> None:
    """Make the virtual environment and install the pinned requirements, unless both are up to date."""
    python, stamp = venv / "bin" / "python", venv / f"installed-{requirements.stem}"
    wanted = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and python.exists():
        return
    if not python.exists() or not succeeds([python, "-m", "pip", "--version"]):
        say("Making a virtual environment ...")
        must([sys.executable, "-m", "venv", "--clear", venv], "the virtual environment could not be made")
        pip_install(python, PIP)
    say("Installing the requirements (this takes a minute) ...")
    pip_install(python, "-r", requirements)
    stamp.write_text(wanted)


def pip_install(python: Path, *wanted: str | Path) -> None:
    """Install by pip."""
    # Python compiles what it imports: to compile all that is installed takes twice as long as to install it.
    command = [python, "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check", *wanted]
    must(command, "the requirements could not be installed. Check the network, then run this again")


def install_engine(package: Path, engine: Path) -> None:
    """Install the embedded engine by npm. A failure is only a warning, because moto can replace the engine."""
    stamp = engine / "package.json"
    installed = any(engine.glob("node_modules/@dynoxide/*/dynoxide*"))
    if installed and stamp.exists() and stamp.read_bytes() == package.read_bytes():
        return
    if os.environ.get("DYNOXIDE") or shutil.which("dynoxide"):
        return
    if shutil.which("npm") is None:
        say("warning: npm is missing, so the engine will forget all data when it stops. apt-get install npm")
        return
    say("Installing the embedded engine ...")
    engine.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(package, stamp)
    npm: list[str | Path] = [
        "npm",
        "install",
        "--prefix",
        engine,
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--silent",
    ]
    if not succeeds(npm, quiet=False) or not any(engine.glob("node_modules/@dynoxide/*/dynoxide*")):
        stamp.unlink()
        say("warning: npm could not install the engine (see above): data will be forgotten. Run this again.")


def succeeds(command: list[str | Path], quiet: bool = True) -> bool:
    """Run a program to its end. Returns whether it succeeded."""
    output = subprocess.DEVNULL if quiet else None
    try:
        return subprocess.run(command, check=False, stdout=output, stderr=output).returncode == 0
    except OSError:
        return False


def must(command: list[str | Path], failure: str) -> None:
    """Run a program. Raises SetupError if it fails."""
    if not succeeds(command, quiet=False):
        raise SetupError(f"{failure}.")


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"usage: bootstrap.py {{{','.join(COMMANDS)}}} [arguments]")
    main(sys.argv[1], sys.argv[2:])
