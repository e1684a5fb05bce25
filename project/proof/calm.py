"""The calm: what one account asks for at once, and how long another person waits for a page meanwhile.

    python -m project.proof.calm [--counts 64,256,1000] [--seconds 5]

An account of the lowest role opens so many connections at once. The `readers` ask for long lists and read nothing. The
`searches` look through a project in vain, and the `exports` take all of it; each second all of them come again. The
exit status is 1 if a page of another person fails, or half of them take longer than `MOST_SECONDS`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import quantiles

import urllib3

from project.proof.faults.stack import PASSWORD, READER, USER, Stack, running_stack

__all__ = ["KINDS", "Visitor", "asking", "filled", "main"]

PROJECT = "CALM"
LIST = f"/api/projects/{PROJECT}/tickets"
KINDS = {"readers": f"{LIST}/?limit=200", "searches": f"{LIST}/?text=nowhere", "exports": f"{LIST}.csv"}
PAGE = f"/{PROJECT}-1/"
TOGETHER, SIZE = 49, 20_000  # a body has at most 1 MB
MOST_SECONDS = 0.1
PAUSE = 0.02  # of the person who asks for pages


@contextmanager
def filled(folder: Path, tickets: int = 490, workers: int = 2) -> Iterator[Stack]:
    """The running product with its limits, and a project of so many tickets of 20 KB."""
    with running_stack(folder, workers=workers, through_proxy=False, more={"THROTTLE": "on"}) as stack:
        stack.ask("POST", "/api/projects/", {"key": PROJECT, "name": "Calm", "open": "read"})
        ticket = {"title": "A long one", "description": "x" * SIZE}
        for _ in range(tickets // TOGETHER):
            stack.ask("POST", f"{LIST}/bulk/", {"mode": "all_or_nothing", "tickets": [ticket] * TOGETHER})
        yield stack


class Visitor:
    """A person with a browser, who is signed in. `waited` has the seconds of each page, `failed` other statuses."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._pool = urllib3.PoolManager(retries=False)
        self.waited: list[float] = []
        self.failed: list[int] = []
        form = self._pool.request("GET", f"{stack.address}/login/")
        cookie = form.headers["Set-Cookie"].partition(";")[0]
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.data.decode())
        assert found
        typed = {"username": USER, "password": PASSWORD, "csrfmiddlewaretoken": found[1]}
        answer = self._pool.request(
            "POST",
            f"{stack.address}/login/",
            fields=typed,
            headers={"Cookie": cookie},
            redirect=False,
            encode_multipart=False,
        )
        self._cookies = "; ".join(one.partition(";")[0] for one in answer.headers.getlist("Set-Cookie"))

    def look(self) -> int:
        """Ask for a page. Returns the status."""
        began = time.monotonic()
        answer = self._pool.request(
            "GET", self._stack.address + PAGE, headers={"Cookie": self._cookies}, redirect=False, timeout=60
        )
        self.waited.append(time.monotonic() - began)
        if answer.status != 200:
            self.failed.append(answer.status)
        return int(answer.status)


@contextmanager
def asking(address: str, path: str, count: int, token: str) -> Iterator[list[socket.socket]]:
    """So many connections that have asked for this, and read nothing, for the body."""
    host, _, port = address.removeprefix("http://").partition(":")
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with ExitStack() as stack_of:
        clients = []
        for _ in range(count):
            client = stack_of.enter_context(closing(socket.socket()))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(60)
            client.connect((host, int(port)))
            client.sendall(request)
            clients.append(client)
        yield clients


def crowd(address: str, kind: str, count: int, token: str, over: Event) -> None:
    """Ask until it is over: once if nothing is read, otherwise again each second."""
    while not over.is_set():
        with asking(address, KINDS.get(kind, ""), count, token):
            over.wait(None if kind == "readers" else 1.0)


def measured(stack: Stack, kind: str, count: int, token: str, seconds: float) -> Visitor:
    """What a person waits beside such a crowd, which is a process of its own."""
    visitor, context = Visitor(stack), multiprocessing.get_context("spawn")
    over = context.Event()
    others = context.Process(target=crowd, args=(stack.address, kind, count, token, over))
    others.start()
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            visitor.look()
            time.sleep(PAUSE)
    finally:
        over.set()
        others.join()
    return visitor


def described(visitor: Visitor) -> str:
    """How long the pages took, in milliseconds."""
    p = quantiles(visitor.waited, n=100)
    figures = f"median {p[49] * 1000:.0f}, p99 {p[98] * 1000:.0f}, longest {max(visitor.waited) * 1000:.0f} ms"
    return f"{len(visitor.waited)} pages: {figures}{f'; failed {visitor.failed}' if visitor.failed else ''}"


@dataclass(frozen=True)
class Asked:
    """The crowds to measure."""

    counts: list[int]
    kinds: list[str]
    seconds: float


def run(asked: Asked, folder: Path) -> bool:
    """Print what each crowd does. Whether all is well."""
    well = True
    with filled(folder) as stack:
        token = stack.token_of(READER)
        for kind, count in [("nobody", 0), *((kind, count) for kind in asked.kinds for count in asked.counts)]:
            visitor = measured(stack, kind, count, token, asked.seconds)
            print(f"{count} {kind}: {described(visitor)}", flush=True)
            well &= not visitor.failed and quantiles(visitor.waited, n=2)[0] <= MOST_SECONDS
    return well


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="64,256,1000", help="connections at once, with commas between them")
    parser.add_argument("--kinds", default=",".join(KINDS), help="what they ask for, with commas between them")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each crowd")
    given = parser.parse_args()
    counts = [int(count) for count in given.counts.split(",")]
    with tempfile.TemporaryDirectory(prefix="calm-") as folder:
        return 0 if run(Asked(counts, given.kinds.split(","), given.seconds), Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
