"""The whole product with a fault proxy inside: engine, proxy, gunicorn with its workers, each a process.

Everything it stores lies in the folder that the caller gives. Clients speak to it over HTTP (`Stack.ask`),
a verifier reads the engine directly (`Stack.engine`), and both are needed: what the application tells is to
be checked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3

from sequences.engine import HOST, Engine
from tests.faults.control import ROOT, Proxy, proxy_before
from tests.faults.proxy import free_port

__all__ = ["Reply", "Stack", "running_stack"]

USER = "soak"
PASSWORD = "a password for one run"
PREFIX = "soak_"
START_SECONDS = 60.0


@dataclass(frozen=True)
class Reply:
    """An HTTP answer: status, and the body as JSON ({} when it is none)."""

    status: int
    content: dict[str, Any]


@dataclass
class Stack:
    """A running product; `token` signs every request when it is set."""

    engine: Engine
    proxy: Proxy
    web: subprocess.Popen[bytes]
    address: str
    token: str = ""
    _pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=64, retries=False))

    def ask(self, method: str, path: str, content: object = None, headers: Mapping[str, str] = {}) -> Reply:
        """One request, never repeated here. Raises urllib3's HTTPError when there is no answer."""
        signed = {"Authorization": f"Token {self.token}"} if self.token else {}
        url = path if path.startswith("http") else self.address + path
        reply = self._pool.request(
            method,
            url,
            json=content,
            headers={**signed, **headers},
            timeout=urllib3.Timeout(connect=5, read=90),
        )
        try:
            return Reply(reply.status, reply.json())
        except ValueError:
            return Reply(reply.status, {})

    def sign_in(self) -> None:
        """Get a token with the name and password of the one user."""
        self.token = self.ask("POST", "/api/auth/token/", {"username": USER, "password": PASSWORD}).content["token"]

    def wait_until_it_answers(self) -> None:
        """Return when the web server answers; TimeoutError after a minute."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.web.poll() is None:
            try:
                self.ask("GET", "/")
                return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.1)
        raise TimeoutError("the web server does not answer")


@contextmanager
def running_stack(folder: Path, *, workers: int = 2, threads: int = 16, through_proxy: bool = True) -> Iterator[Stack]:
    """The product, signed in, with a calm proxy, or past it; all of it is stopped at the end."""
    with Engine(folder / "engine.db") as engine, proxy_before(engine.endpoint) as proxy:
        environment = _environment(folder, proxy.endpoint if through_proxy else engine.endpoint)
        for command in (["migrate", "-v0"], ["create_tables"], ["createsuperuser", "--noinput"]):
            subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=environment, check=True)
        port = free_port()
        with (folder / "web.log").open("wb") as log:
            web = subprocess.Popen(_gunicorn(port, workers, threads), cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            stack = Stack(engine, proxy, web, f"http://{HOST}:{port}")
            stack.wait_until_it_answers()
            stack.sign_in()
            yield stack
        finally:
            web.terminate()
            web.wait()


def _gunicorn(port: int, workers: int, threads: int) -> list[str]:
    options = {"bind": f"{HOST}:{port}", "workers": workers, "threads": threads, "timeout": 120}
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [
        sys.executable,
        "-m",
        "gunicorn",
        "project.wsgi",
        *flags,
        "--graceful-timeout=2",
        "--log-level=warning",
    ]


def _environment(folder: Path, endpoint: str) -> dict[str, str]:
    own = {
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "AWS_ACCESS_KEY_ID": "soak",
        "AWS_SECRET_ACCESS_KEY": "soak",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "DATABASE_URL": f"sqlite:///{folder / 'web.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "project.settings",
        "DJANGO_SUPERUSER_EMAIL": "soak@example.org",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
        "DJANGO_SUPERUSER_USERNAME": USER,
        "SECRET_KEY": "the key of one run" * 4,
        "TABLE_PREFIX": PREFIX,
    }
    return {**os.environ, **own}
