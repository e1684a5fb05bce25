"""Child processes, and the loopback ports on which they answer."""

import http.client
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from typing import IO

HOST = "127.0.0.1"
# Waits until its input closes, which happens when our process ends in any way. Then kills the child and everything that
# the child has started.
WATCHER = 'read -r _; kill -s KILL -- "-$0"'


class ChildProcess:
    """A program that runs beside us and never outlives us, however we end.

    It has its own session, so that Ctrl-C in a terminal does not reach it: its owner decides when it stops.
    `output` takes what it prints; without it, that goes to our own output. It inherits the descriptors in `pass_fds`.
    """

    def __init__(
        self, command: Sequence[str], *, output: IO[bytes] | None = None, pass_fds: Sequence[int] = ()
    ) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=pass_fds,
        )
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", WATCHER, str(self.process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        """Whether the process is running."""
        return self.process.poll() is None

    def stop(self, patience: float) -> None:
        """Ask the process to end, and kill it after `patience` seconds. Safe to call again."""
        if self.is_running:
            self.process.terminate()
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
        self.kill()

    def kill(self) -> None:
        """Kill the process and everything that it started, at once (SIGKILL). Safe to call again."""
        self._watcher.kill()
        self._watcher.communicate()
        if self.is_running:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def port_is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def answers(port: int, host: str = HOST) -> bool:
    """Whether an HTTP server answers on this port of this machine, with any answer."""
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
