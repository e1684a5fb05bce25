"""A small proxy in front of the engine that loses some answers on purpose.

The engine carries out the request, but the client only sees its connection close, as with any lost answer. Recipes and
strategies use the same proxy, and `comparison` measures the effect.
"""

from __future__ import annotations

import http.client
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar
from urllib.parse import urlsplit

from project.lab.meter import WRITES

__all__ = ["LosingProxy", "losing_proxy", "serving"]

P = TypeVar("P", bound="LosingProxy")


class LosingProxy(ThreadingHTTPServer):
    """Passes requests on to `upstream`, and loses answers to writes with `probability`, drawn from `seed`.

    It loses nothing until `active` is set.
    """

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, upstream: str, probability: float, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.active = threading.Event()
        self._probability = probability
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        """The address to use instead of the engine's."""
        return f"http://127.0.0.1:{self.server_port}"

    def pause(self) -> None:
        """What each request and each answer waits for on its way: nothing here."""

    def loses(self, operation: str, status: int) -> bool:
        """Decide whether to lose this answer to this request."""
        if not self.active.is_set() or operation not in WRITES:
            return False
        with self._lock:
            return self._random.random() < self._probability


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client, with its own connection to the engine."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: LosingProxy

    def setup(self) -> None:
        super().setup()
        self.engine = http.client.HTTPConnection(self.server.upstream)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.pause()
        self.engine.request("POST", self.path, body, dict(self.headers))
        response = self.engine.getresponse()
        answer = response.read()
        self.server.pause()
        if self.server.loses(self.headers["X-Amz-Target"].rpartition(".")[2], response.status):
            self.close_connection = True
            return
        kept = [(name, value) for name, value in response.getheaders() if name.lower() in PASSED_ON]
        self._answer(response.status, [*kept, ("Content-Length", str(len(answer)))], answer)

    def finish(self) -> None:
        self.engine.close()
        super().finish()

    def log_message(self, *message: object) -> None:
        """Log nothing."""

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


PASSED_ON = frozenset({"content-type", "x-amz-crc32", "x-amzn-requestid"})


@contextmanager
def losing_proxy(upstream: str, probability: float, seed: int) -> Iterator[LosingProxy]:
    """Run a proxy inside the `with` block; `upstream` is a plain HTTP address."""
    with serving(LosingProxy(upstream, probability, seed)) as proxy:
        yield proxy


@contextmanager
def serving(proxy: P) -> Iterator[P]:
    """Let a proxy answer inside the `with` block."""
    with proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
