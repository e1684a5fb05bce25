"""`make run`: starts the embedded engine and the web server as child processes, and watches them.

If the engine dies, it is started again. So is the web server if something kills it. If it ends by itself, as it does
where it must not serve, the run ends. Both end with this process.
"""

import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from project import environment
from project.commands import web
from project.commands.bootstrap import fail
from project.commands.prepare import ANN, BEN, DEMO, STATIC
from project.paths import DEMO_PASSWORD, ENGINE_DATA, ENGINE_ENDPOINT
from project.secret_files import stored_secret
from sequences.testing.embedded import FALLBACK_WARNING, Engine, EngineError
from sequences.testing.processes import HOST, ChildProcess, answers, port_is_free

WEB_START_SECONDS = 60.0
WEB_STOP_SECONDS = 2.0  # beyond those that the web server takes itself
LEFT_SECONDS = 10.0  # in which the workers of a killed web server have left the port
WATCH_SECONDS = 0.1

logger = logging.getLogger("project.serve")


class ServerError(Exception):
    """The run cannot start or go on. The message is one line."""


def main() -> int:
    """Run until Ctrl-C, SIGTERM, SIGHUP or a failure. Returns 0 if it was asked to stop."""
    logging.basicConfig(format="{asctime} {levelname} {name}: {message}", style="{", level=logging.INFO)
    warnings.simplefilter("ignore", RuntimeWarning)  # the warning about the fallback is printed by `say_where`
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())
    try:
        return run(stopping)
    except (EngineError, ServerError, environment.WrongEnvironment) as error:
        return fail(error)


def run(stopping: threading.Event) -> int:
    """Start the engine if it is needed, then the web server. Stop them in the opposite order."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", environment.DEVELOPMENT)
    command = web.program()  # a wrong environment is refused before anything starts
    password = stored_secret(DEMO_PASSWORD, 12) if environment.has_own_database() else ""
    with ExitStack() as stack:
        engine = stack.enter_context(running_engine()) if environment.needs_own_engine() else None
        prepare(password)
        server = stack.enter_context(WebServer(command, stopping))
        if not stopping.is_set():
            say_where(password, engine)
        watch(server, engine, password, stopping)
    return 0


@contextmanager
def running_engine() -> Iterator[Engine]:
    """The engine with the data of this folder. Its address is published to child processes and other commands."""
    with Engine(ENGINE_DATA) as engine:
        os.environ[environment.ENDPOINT] = engine.endpoint
        ENGINE_ENDPOINT.parent.mkdir(parents=True, exist_ok=True)
        ENGINE_ENDPOINT.write_text(engine.endpoint)
        try:
            yield engine
        finally:
            ENGINE_ENDPOINT.unlink(missing_ok=True)


def prepare(password: str) -> None:
    """Bring the databases up to date."""
    os.environ["DEMO_PASSWORD"], os.environ["COLLECTED"] = password, "1"
    child = ChildProcess([sys.executable, "-m", "project.commands.prepare", STATIC])
    del os.environ["DEMO_PASSWORD"]  # the web server does not need it
    code = child.process.wait()
    child.kill()  # its own children, if any are left
    if code != 0:
        raise ServerError("the databases could not be prepared (see above).")


class WebServer:
    """gunicorn, from the begin of a `with` block to its end. Raises ServerError if it does not start."""

    def __init__(self, command: list[str], stopping: threading.Event) -> None:
        self._command, self._stopping = command, stopping

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(environment.stop_seconds() + WEB_STOP_SECONDS)

    def start(self) -> None:
        """Start it and wait until it answers."""
        port, self._server = environment.port(), ChildProcess(self._command)
        deadline = time.monotonic() + WEB_START_SECONDS
        while not self._stopping.is_set() and not answers(port, _reached_at()):
            if not self._server.is_running or time.monotonic() > deadline:
                self._server.kill()
                raise ServerError(f"the web server did not start on port {port} (see above).")
            time.sleep(WATCH_SECONDS)

    def heal(self) -> None:
        """Start it again if it was killed. Raises ServerError if it ended by itself: it would do so again.

        Its workers leave the port by themselves, as their parent is gone.
        """
        if self._server.is_running:
            return
        code = self._server.process.returncode
        self._server.kill()
        if code >= 0:
            raise ServerError(f"the web server ended by itself, with code {code}.")
        logger.warning("The web server was killed by signal %d. It is started again.", -code)
        until = time.monotonic() + LEFT_SECONDS
        while not port_is_free(environment.port()) and time.monotonic() < until:
            time.sleep(WATCH_SECONDS)
        self.start()


def _reached_at() -> str:
    """The address at which this machine reaches the web server."""
    return {"0.0.0.0": HOST, "::": "::1"}.get(environment.bind(), environment.bind())  # noqa: S104 - as it was asked


def say_where(password: str, engine: Engine | None) -> None:
    """Print the address, how to sign in, and where the data is kept."""
    print(f"\n  Tickets are at http://{web.authority()}/")
    if password:
        print(f"  Sign in as {DEMO} with the password {password} (it is in {DEMO_PASSWORD})")
        print(f"  {ANN}, an owner of project SHOP, and {BEN}, a reporter in it, have the same password")
    elif not environment.in_production():
        print("  Sign in with an account of DATABASE_URL. Make the first one: manage.py createsuperuser")
    if engine:
        print(f"  {FALLBACK_WARNING if engine.fallback else f'The data is kept in {ENGINE_DATA.parent}'}")
    print("  Ctrl-C stops.\n", flush=True)


def watch(server: WebServer, engine: Engine | None, password: str, stopping: threading.Event) -> None:
    """Keep engine and web server running until the run stops. Raises ServerError if the web server ends by itself."""
    while not stopping.wait(WATCH_SECONDS):
        server.heal()
        if engine and not engine.is_running:
            logger.warning("The engine ended by itself. It is started again at %s.", engine.endpoint)
            engine.restart()
            if engine.fallback:
                prepare(password)


if __name__ == "__main__":
    sys.exit(main())
