"""The whole product with a fault proxy: the engine, the proxy, and gunicorn with its workers, each in its own process.

It stores everything in the folder that the caller gives. Clients use it over HTTP (`Stack.ask`). Checks read the engine
directly (`Stack.engine`), to compare the answers with what is stored. With `under_fire`, gunicorn uses the module of
this name as its configuration, and the engine survives a full disk.

As a program it prepares the databases of a stack.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django
import urllib3
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import override_settings

from project.commands.web import WORKER
from project.paths import ROOT
from project.proof.faults import clock, worker
from project.proof.faults.control import Proxy, proxy_before
from project.proof.faults.elsewhere import SEQUENCES, patient
from project.proof.faults.proxy import free_port
from sequences.testing.embedded import Engine
from sequences.testing.processes import HOST

__all__ = ["PASSWORD", "READER", "USER", "Reply", "Stack", "living_through_a_full_disk", "running_stack"]

USER = "soak"
READER = "reader"  # an account without any rights
PASSWORD = "a password for one run"
PREFIX = "soak_"
START_SECONDS = 60.0
OF_WRITERS = "--of-writers"
"""The argument that asks for the tables of the writers, too."""


@dataclass(frozen=True)
class Reply:
    """An HTTP answer: the status, the body as JSON ({} if it is not JSON), and the headers."""

    status: int
    content: dict[str, Any]
    headers: Mapping[str, str]


@dataclass
class Stack:
    """A running product. `token`, if set, signs every request. `clock` is the file that the wall clocks follow.

    gunicorn imports the site from the folder `home`. There is a `proxy` if the application uses the engine through it.
    """

    engine: Engine
    folder: Path
    environment: Mapping[str, str]
    address: str
    command: Sequence[str] = ()
    token: str = ""
    home: Path = ROOT
    proxy: Proxy = field(init=False)
    web: subprocess.Popen[bytes] = field(init=False)
    _pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=64, retries=False))

    @property
    def clock(self) -> Path:
        return self.folder / "clock"

    def ask(
        self,
        method: str,
        path: str,
        content: object = None,
        headers: Mapping[str, str] = {},
        *,
        patience: float = 90,
    ) -> Reply:
        """Send one request, without repeats. Raises urllib3's HTTPError if there is no answer."""
        signed = {"Authorization": f"Token {self.token}"} if self.token else {}
        url = path if path.startswith("http") else self.address + path
        reply = self._pool.request(
            method,
            url,
            json=content,
            headers={**signed, **headers},
            timeout=urllib3.Timeout(connect=5, read=patience),
        )
        try:
            return Reply(reply.status, reply.json(), reply.headers)
        except ValueError:
            return Reply(reply.status, {}, reply.headers)

    def sign_in(self) -> None:
        """Sign every request as the administrator."""
        self.token = self.token_of(USER)

    def token_of(self, name: str) -> str:
        """A token of this user, by the password."""
        made = self.ask("POST", "/api/auth/token/", {"username": name, "password": PASSWORD})
        return str(made.content["token"])

    def start_web(self) -> None:
        """Start gunicorn and return when it answers. Raises TimeoutError after a minute."""
        with (self.folder / "web.log").open("ab") as log:
            self.web = subprocess.Popen(self.command, cwd=self.home, env=self.environment, stdout=log, stderr=log)
        self.wait_until_it_answers()

    def stop_web(self) -> None:
        """Ask gunicorn to end, and wait for it. None of its work goes on afterwards."""
        self.web.terminate()
        self.web.wait()

    def wait_until_it_answers(self) -> None:
        """Return when the web server answers. Raises TimeoutError if it ends, or after a minute."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.web.poll() is None:
            try:
                self.ask("GET", "/")
                return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.1)
        raise TimeoutError("the web server does not answer")


@contextmanager
def running_stack(
    folder: Path,
    *,
    workers: int = 2,
    threads: int = 16,
    through_proxy: bool = True,
    under_fire: bool = False,
    config: str = "project.gunicorn",
    more: Mapping[str, str] = {},
) -> Iterator[Stack]:
    """The running product, signed in. Its proxy injects no faults yet. All of it is stopped at the end.

    `config` is the module that gunicorn reads as its configuration. The rest is as in `prepared_stack`.
    """
    config = "project.proof.faults.under_fire" if under_fire else config
    with prepared_stack(folder, through_proxy=through_proxy, under_fire=under_fire, more=more) as stack:
        stack.command = [*_gunicorn(stack.address, workers, threads), f"--config=python:{config}"]
        try:
            stack.start_web()
            stack.sign_in()
            yield stack
        finally:
            stack.stop_web()


@contextmanager
def prepared_stack(
    folder: Path, *, through_proxy: bool = True, under_fire: bool = False, more: Mapping[str, str] = {}
) -> Iterator[Stack]:
    """The product without a web server: the caller says its command, starts it, and stops it.

    Without `through_proxy`, the application uses the engine directly. `more` has further variables of its environment.
    """
    engine = Engine(folder / "engine.db")
    if under_fire and engine.binary:
        engine.binary = living_through_a_full_disk(engine.binary, folder)
    with engine, proxy_before(engine.endpoint) if through_proxy else nullcontext() as proxy:
        environment = {**_environment(folder, (proxy or engine).endpoint), **more}
        more_tables = [OF_WRITERS] if under_fire else []
        subprocess.run([sys.executable, "-m", __name__, *more_tables], cwd=ROOT, env=environment, check=True)
        stack = Stack(engine, folder, environment, f"http://{HOST}:{free_port()}")
        if proxy:
            stack.proxy = proxy
        clock.set_offset(stack.clock, 0)
        yield stack


def living_through_a_full_disk(binary: Path, folder: Path) -> Path:
    """A script that starts the engine with SIGXFSZ ignored: a write beyond the limit fails, but does not end it."""
    script = folder / "engine"
    script.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec '{binary}' \"$@\"\n")
    script.chmod(0o700)
    return script


def prepare() -> None:
    """Make the database of the accounts, the tables, the administrator, and a reader."""
    django.setup()
    with override_settings(SEQUENCES_CLIENTS=patient()):
        for name, *options in (["migrate"], ["create_tables"], ["createsuperuser", "--noinput"]):
            call_command(name, *options, verbosity=0)
        if OF_WRITERS in sys.argv:
            with override_settings(SEQUENCES=SEQUENCES):
                call_command("create_tables", verbosity=0)
    get_user_model().objects.create_user(READER, password=PASSWORD)


def _gunicorn(address: str, workers: int, threads: int) -> list[str]:
    options = {"bind": urlsplit(address).netloc, "worker-class": WORKER, "workers": workers, "threads": threads}
    options["timeout"] = 120
    options["keep-alive"] = 75  # as commands.web
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [
        sys.executable,
        "-m",
        "gunicorn",
        "project.wsgi",
        *flags,
        "--graceful-timeout=2",
        "--log-level=warning",
        "--no-control-socket",
    ]


def _environment(folder: Path, endpoint: str) -> dict[str, str]:
    own = {
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "AWS_ACCESS_KEY_ID": "soak",
        "AWS_SECRET_ACCESS_KEY": "soak",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "DATABASE_URL": f"sqlite:///{folder / 'web.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "project.proof.stack_settings",
        "DJANGO_SUPERUSER_EMAIL": "soak@example.org",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
        "DJANGO_SUPERUSER_USERNAME": USER,
        worker.CLOCK: str(folder / "clock"),
        "SECRET_KEY": "the key of one run" * 4,
        "TABLE_PREFIX": PREFIX,
        "THROTTLE": "off",
    }
    return {**os.environ, **own}


if __name__ == "__main__":
    prepare()
