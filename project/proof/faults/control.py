"""Starts and controls a fault proxy. The proxy is a process of its own (`proxy`)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from project.paths import ROOT
from project.proof.faults.plans import Limits, Plan, Rule

__all__ = ["Proxy", "ProxyLog", "proxy_before"]


@dataclass(frozen=True)
class ProxyLog:
    """What a proxy did since its plan began.

    `faults` lists the last 10,000 faults as (number of the request, operation, fault). `counts` counts all faults by
    name, and `requests` all requests by operation. `late` counts the requests that the engine has not answered yet.
    `units` counts write units by what became of their writes, if the plan has limits.
    """

    seed: int
    faults: list[tuple[int, str, str]]
    counts: dict[str, int]
    requests: dict[str, int]
    late: int
    units: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the faults, in the order in which they happened."""
        return [fault for _, _, fault in self.faults]


class Proxy:
    """A running proxy. The application uses `endpoint` instead of the engine's address."""

    def __init__(self, endpoint: str, control: str) -> None:
        self.endpoint = endpoint
        self._control = HTTPConnection(urlsplit(control).netloc, timeout=10)
        self._one_at_a_time = Lock()

    def follow(self, *rules: Rule, seed: int = 0, limits: Limits | None = None) -> None:
        """Begin a plan with these rules and limits. The log and the counts start again."""
        self._command("/plan", Plan(list(rules), seed, limits).to_json())

    def calm(self) -> None:
        """Inject no more faults."""
        self.follow()

    def settle(self) -> None:
        """Return when the engine has served every request, including the late ones."""
        while self.log.late:
            time.sleep(0.02)

    def partition(self) -> None:
        """Refuse connections and reset the open ones, until `heal`."""
        self._command("/partition")

    def heal(self) -> None:
        """End the partition. The plan goes on."""
        self._command("/heal")

    @property
    def log(self) -> ProxyLog:
        """What the proxy did since its plan began."""
        content = self._command("/log")
        return ProxyLog(**{**content, "faults": [tuple(fault) for fault in content["faults"]]})

    def _command(self, path: str, body: str = "") -> dict[str, Any]:
        with self._one_at_a_time:
            try:
                self._control.request("POST", path, body.encode())
                reply = self._control.getresponse()
                content = reply.read()
            except BaseException:
                self._control.close()  # the next command would take the late answer for its own
                raise
        if reply.status != HTTPStatus.OK:
            raise ValueError(content.decode())
        told: dict[str, Any] = json.loads(content)
        return told


@contextmanager
def proxy_before(upstream: str, *rules: Rule, seed: int = 0, limits: Limits | None = None) -> Iterator[Proxy]:
    """A proxy before the engine at `upstream`, in a process of its own. It is stopped at the end."""
    plan = Plan(list(rules), seed, limits).to_json()
    command = [sys.executable, "-m", "project.proof.faults.proxy", "--upstream", upstream, "--plan", plan]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            started = json.loads(process.stdout.readline())
            yield Proxy(started["endpoint"], started["control"])
        finally:
            process.terminate()
