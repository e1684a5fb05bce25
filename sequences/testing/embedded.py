"""The embedded engine: a DynamoDB that runs as a child process, for development and tests.

This module finds, starts, stops and kills that process. Requests to it go through `sequences.dynamodb`, as to any other
endpoint. Production uses nothing of this.

    with Engine(Path(".local/data/engine.db")) as engine:
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.endpoint

The engine is dynoxide, one binary that npm installs. Where it is missing, moto's server replaces it. That server gives
the same answers, but is slow and forgets everything when it stops, and a warning says so.
"""

import fcntl
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Self

from . import moto_server
from .processes import HOST, ChildProcess, answers, port_is_free

HOME = Path(__file__).resolve().parent.parent.parent  # in its .local/engine npm installs
# Below the ports of outgoing connections on Linux and macOS. Otherwise a client that keeps calling a stopped engine
# could get the engine's own port, connect to itself, and keep the engine from starting again.
PORTS = range(20_000, 32_000)
START_SECONDS = 60.0  # moto's server imports for seconds, and longer where others compute
STOP_SECONDS = 5.0
PORT_SECONDS = 5.0
LOCK_SECONDS = 1.0
PORT_TAKEN = "in use"
MOTO = "moto"
FALLBACK_WARNING = (
    "The embedded engine is not installed (npm installs it). moto's server replaces it: it is slow, and "
    "FORGETS EVERYTHING when it stops."
)


class EngineError(Exception):
    """The embedded engine cannot run: why, and what to do."""


class Engine:
    """An engine of our own on a loopback port. As a context manager it runs inside the `with` block.

    Guarantees: it answers once `start` has returned; two engines never use the same file; its process ends when ours
    ends, even by SIGKILL; an acknowledged write to a file survives `kill`.

    `path` is the file that keeps the data; without one they are in memory. `port` 0 takes a free port. `fallback` is
    true when moto's server replaces the engine. Every method that starts the engine raises `EngineError`.
    """

    def __init__(self, path: Path | None = None, port: int = 0) -> None:
        self.path = path
        self.port = port
        self.binary = find_binary()
        self.fallback = self.binary is None
        self._child: ChildProcess | None = None
        self._locks: list[int] = []
        """The descriptor of the file's lock, while it is held. The engine inherits it and keeps it until it ends."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        """The address for `AWS_ENDPOINT_URL_DYNAMODB`. It stays the same after every restart."""
        return f"http://{HOST}:{self.port}"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The engine's process, running or ended."""
        if self._child is None:
            raise EngineError("The embedded engine was never started. Call start() first.")
        return self._child.process

    @property
    def is_running(self) -> bool:
        """Whether the engine's process is running."""
        return self._child is not None and self._child.is_running

    def start(self) -> Self:
        """Start the engine and return when it answers, at most a minute later."""
        if self.is_running:
            return self
        if self.fallback and os.environ.get("DYNOXIDE") != MOTO:
            warnings.warn(FALLBACK_WARNING, RuntimeWarning, stacklevel=2)
        if self.path and not self._locks:
            self._locks.append(_locked(self.path))
        try:
            self._launch()
        except BaseException:
            self.kill()
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ask the engine to end, kill it after 5 seconds, and release its file. Safe to call again."""
        if self._child is not None:
            self._child.stop(STOP_SECONDS)
        while self._locks:
            os.close(self._locks.pop())

    def kill(self) -> None:
        """Kill the engine at once (SIGKILL), as in a crash. Its file stays locked until `stop`."""
        if self._child is not None:
            self._child.kill()

    def restart(self) -> Self:
        """Kill the engine if it is running, then start it on the same port and file."""
        self.kill()
        return self.start()

    def _launch(self) -> None:
        """Start the process. Retries while the port is taken: after a crash it needs a moment to become free."""
        chosen_here = self.port == 0
        deadline = time.monotonic() + START_SECONDS
        patience = time.monotonic() + PORT_SECONDS
        while True:
            with _free_port() if chosen_here else nullcontext(self.port) as self.port:
                said = self._try_to_launch(deadline)
            if said is None:
                return
            if PORT_TAKEN not in said or time.monotonic() > patience:
                raise self._failure(said)
            time.sleep(0.1)

    def _try_to_launch(self, deadline: float) -> str | None:
        """Start the process once; None when it answers, otherwise the end of its output."""
        if not port_is_free(self.port):  # otherwise the answers of another server look like our engine's
            return PORT_TAKEN
        with tempfile.TemporaryFile() as output:
            self._child = ChildProcess(self._command(), output=output, pass_fds=self._locks)
            if self._comes_up(deadline):
                return None
            self.kill()
            output.seek(0)
            return output.read().decode(errors="replace").strip()[-500:]

    def _command(self) -> list[str]:
        if self.binary is None:
            return [sys.executable, "-P", moto_server.__file__, HOST, str(self.port)]
        file = ["--db-path", str(self.path)] if self.path else []
        return [str(self.binary), "--host", HOST, "--port", str(self.port), *file]

    def _comes_up(self, deadline: float) -> bool:
        while self.is_running and time.monotonic() < deadline:
            if answers(self.port) and self.is_running:
                return True
            time.sleep(0.02)
        return False

    def _failure(self, said: str) -> EngineError:
        if PORT_TAKEN in said:
            return EngineError(f"Port {self.port} is in use. Choose another port, or stop the program on it.")
        if "No module named 'moto'" in said:
            return EngineError(
                "Neither the embedded engine nor moto is installed. "
                "Install npm and run `make run`, set DYNOXIDE to a dynoxide binary, or install the extra `test`."
            )
        return EngineError(
            f"The embedded engine did not start ({said or 'it said nothing'}). "
            f"Check that {self.path or 'its binary'} can be used, or set AWS_ENDPOINT_URL_DYNAMODB to another."
        )


def find_binary() -> Path | None:
    """The dynoxide binary: the one in `DYNOXIDE`, otherwise npm's, otherwise one on the PATH.

    `DYNOXIDE` may name any program that takes the same arguments. It may also be "moto": then there is none.
    """
    named = os.environ.get("DYNOXIDE")
    if named == MOTO:
        return None
    if named and not os.access(named, os.X_OK):
        raise EngineError(f"DYNOXIDE is {named}, which cannot be run. Correct it, or unset it.")
    installed = sorted(HOME.glob(".local/engine/node_modules/@dynoxide/*/dynoxide"))
    found = named or (str(installed[0]) if installed else shutil.which("dynoxide"))
    return Path(found) if found else None


def _locked(path: Path) -> int:
    """Lock an engine's data, so that no other engine uses the file meanwhile; the lock. Raises EngineError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise EngineError(f"{path} cannot be used ({error.strerror}). Choose another file.") from error
    if _comes_free(lock):
        return lock
    os.close(lock)
    raise EngineError(
        f"The engine's data {path} is in use by another run. "
        "Stop that run first, or set AWS_ENDPOINT_URL_DYNAMODB to its engine's address to share it."
    )


def _comes_free(lock: int) -> bool:
    """Take a file lock; return whether that succeeded. The engine of a killed process needs a moment to end."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True


@contextmanager
def _free_port() -> Iterator[int]:
    """A free port, which no other engine chooses during the block: a UDP socket has its number.

    Engines that start at once may draw alike: pytest-randomly seeds `random` in each worker with the same number.
    """
    for port in random.sample(PORTS, 200):
        with socket.socket(type=socket.SOCK_DGRAM) as claim:
            if _is_bound(claim, port) and port_is_free(port):
                yield port
                return
    raise EngineError("No free port was found for the embedded engine. Choose one, or stop some programs.")


def _is_bound(claim: socket.socket, port: int) -> bool:
    with suppress(OSError):  # another engine has it
        claim.bind((HOST, port))
        return True
    return False
