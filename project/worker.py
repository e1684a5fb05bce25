"""gunicorn's processes, each with waitress's server, which gives a request to a thread only when it has arrived whole.

gunicorn starts, watches and ends the processes. In each of them waitress's main thread collects requests and sends
answers, so that neither a client that sends slowly nor one that reads slowly keeps a thread (`project.sending`). What
it adds up to:

- A request that is not whole after `READ_SECONDS` is answered with 408.
- A body that is too large is not awaited: the application refuses it by its length, and the connection closes.
- What is no request is refused here, as `application/problem+json`.
- A connection without progress closes after KEEP_ALIVE seconds.
- `/healthz` and `/readyz` are answered by the main thread, also while all others are busy.
- Callers take turns at the threads (`project.turns`).

A worker that is asked to stop says so at `/readyz`. For STOP_DELAY seconds it still takes connections, until a load
balancer has noticed. Then it takes those that wait already, closes its socket, and answers what is under way. If
gunicorn itself is gone, another one needs the address: then a worker does all this at once, within ORPHAN_SECONDS.
"""

import json
import logging
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker
from waitress import wasyncore
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer, create_server
from waitress.task import ErrorTask
from waitress.utilities import Error, RequestEntityTooLarge

from project import environment, gauges
from project.sending import SOCKET_OPTIONS, SendingConnection, kept, shed
from project.turns import Threads
from sequences.exceptions import SequenceUnsound
from sequences.start import require_sound
from tickets import health

READ_SECONDS = 30.0
EXIT_SECONDS = 2  # what a process needs to end when its last request is answered, so that it is not killed before
CLOSE_SECONDS = 2.0  # for so long, what a client still sends is read and dropped: a reset would hide the answer
ORPHAN_SECONDS = 2.0
IDLE_SECONDS = 2.0  # for so long a worker that stops awaits requests that may be on their way
LARGEST_HEAD = 64 * 1024
LONGEST_LINE = 8_190  # bytes of a request's first line
SQL_SECONDS = 5.0
MOST_CONNECTIONS = 1_000
LOOK_SECONDS = 0.1  # between looks at all connections: one after each request takes a sixth of the main thread


class RequestTimeout(Error):  # type: ignore[misc] # waitress has no types
    """A request did not arrive whole in time."""

    code = 408
    reason = "Request Timeout"


class AddressTooLong(Error):  # type: ignore[misc]
    """The first line of a request has more than LONGEST_LINE bytes."""

    code = 414
    reason = "URI Too Long"


class Request(HTTPRequestParser):  # type: ignore[misc]
    """What has arrived of one request."""

    error: Error | None
    path = ""  # of what is no request, too
    first_line = b""

    def __init__(self, adj: Any) -> None:
        super().__init__(adj)
        self.deadline = time.monotonic() + READ_SECONDS
        self.arrived = 0.0  # when it was whole

    def received(self, data: bytes) -> int:
        """Take in what has arrived. With a line or a body that is too long the request is whole."""
        taken: int = super().received(data)
        if len(self.first_line or self.header_plus.partition(b"\r\n")[0]) > LONGEST_LINE:
            self.error = AddressTooLong(f"The request line has more than {LONGEST_LINE:,} bytes.")
            self.completed, self.expect_continue = True, False
        too_large = isinstance(self.error, RequestEntityTooLarge)
        if too_large:
            self.error, self.body_rcv, self.expect_continue = None, None, False
            self.headers["CONTENT_LENGTH"] = str(max(self.content_length, self.adj.max_request_body_size))
        if self.completed:
            self.arrived = time.monotonic()
        if too_large or health.STOPPING.is_set():
            self.headers["CONNECTION"] = "close"
        return taken


class Refusal(ErrorTask):  # type: ignore[misc]
    """The answer to what the application never sees."""

    def execute(self) -> None:
        """Write the answer."""
        error = self.request.error
        code = error.reason.lower().replace(" ", "_")
        problem = {"type": "about:blank", "title": error.reason, "status": error.code, "detail": error.body}
        body = json.dumps({**problem, "code": code}).encode()
        self.status, self.content_length = f"{error.code} {error.reason}", len(body)
        self.response_headers.append(("Content-Type", "application/problem+json"))
        self.set_close_on_finish()
        self.write(body)


class Connection(SendingConnection):
    """A connection of a client. After the last answer it is closed when the client has closed it, too."""

    parser_class = Request
    error_task_class = Refusal
    request: Request | None
    close_when_flushed: bool
    _drops_until = 0.0

    def __init__(self, server: Any, sock: socket.socket, addr: Any, *given: Any, **named: Any) -> None:
        host = environment.plain_address(addr[0]) if ":" in addr[0] else addr[0]
        super().__init__(server, sock, (host, *addr[1:]), *given, **named)

    @property
    def idle(self) -> bool:
        """Whether no whole request awaits its answer."""
        return not self.requests and not self.total_outbufs_len

    def handle_write(self) -> None:
        """Send what is there. After the last answer, tell the client that there is no more."""
        if not self.close_when_flushed:
            super().handle_write()
            return
        self.close_when_flushed = False  # waitress would close the connection at once
        super().handle_write()
        if self.total_outbufs_len:
            self.close_when_flushed = True
        elif self.connected:
            self._drops_until = time.monotonic() + CLOSE_SECONDS
            self._shut_down()

    def received(self, data: bytes) -> bool:
        """Take in what has arrived, or drop it after the last answer."""
        return not self._drops_until and super().received(data)

    def look(self, now: float) -> None:
        """Refuse a request that is not whole in time, and close a connection whose client does not read or close it."""
        self.look_at_sending(now)
        if self._drops_until and self._drops_until < now:
            self.handle_close()
        elif self.request and now > self.request.deadline and not self.requests:
            with self.requests_lock:
                self.request.error = RequestTimeout("The request did not arrive whole in time.")
                self.requests.append(self.request)
                self.request = None
            self.server.add_task(self)

    def _shut_down(self) -> None:
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:  # the client is away
            self.will_close = True


class BufferingWorker(Worker):  # type: ignore[misc] # gunicorn has no types
    """A process of gunicorn, whose threads work on whole requests only."""

    _server: Any = None
    _looks_at = 0.0

    def load_wsgi(self) -> None:
        """Load the site, unless a sequence is not sound on its tables, or the accounts belong to others.

        Then gunicorn ends, after a line that says why.

        Numbers that are given twice cannot be taken back, while a site that does not start is noticed.
        """
        super().load_wsgi()
        try:
            require_sound()
            if environment.in_production():
                require_own_tables()
        except (SequenceUnsound, ImproperlyConfigured) as error:
            self.log.critical("Not started. %s", error)
            raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from None

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to stop."""
        health.STOPPING.set()
        later = threading.Timer(environment.stop_delay(), self._leave)
        later.daemon = True
        later.start()

    def _leave(self) -> None:
        self.alive = False
        if self._server:  # a process may be asked to stop before it serves
            self._server.pull_trigger()

    def run(self) -> None:
        """Serve until it is asked to stop, then answer what is under way."""
        self._server = serving(self.wsgi, [each.sock for each in self.sockets], self.cfg)
        self._look = gauges.watching(self._server)
        while self.alive and self.ppid == os.getppid():
            self._turn()
        health.STOPPING.set()
        self._take_waiting()
        wasyncore.dispatcher.close(self._server)  # a client that comes now is refused, and does not hang
        self._finish()

    def _turn(self) -> None:
        """Wait for connections, at most a second."""
        wasyncore.loop(timeout=1.0, use_poll=True, map=self._server._map, count=1)
        self._server.task_dispatcher.serve_own()
        if (now := time.monotonic()) >= self._looks_at:
            self._looks_at = now + LOOK_SECONDS
            self._look_at_all(now)

    def _look_at_all(self, now: float) -> None:
        """Tell gunicorn and Prometheus how the process stands, and close what nobody should wait for."""
        self.notify()
        self._look()
        connections = list(self._server.active_channels.values())
        for connection in connections:
            connection.look(now)
        shed(connections, MOST_CONNECTIONS)

    def _take_waiting(self) -> None:
        """Take the connections that wait in the socket's queue."""
        taken = -1
        while taken != len(self._server.active_channels):
            taken = len(self._server.active_channels)
            self._server.handle_accept()

    def _finish(self) -> None:
        """Answer what is under way, and close connections that stay idle."""
        began = time.monotonic()
        seconds = max(1.0, self.cfg.graceful_timeout - environment.stop_delay() - EXIT_SECONDS)
        if self.ppid != os.getppid():
            seconds = min(seconds, ORPHAN_SECONDS)
        while self._server.active_channels and time.monotonic() < began + seconds:
            self._turn()
            if time.monotonic() > began + IDLE_SECONDS:
                for connection in [each for each in self._server.active_channels.values() if each.idle]:
                    connection.handle_close()


def require_own_tables() -> None:
    """Raise ImproperlyConfigured if the accounts belong to other tables.

    An SQL database that hangs keeps no process from starting: nobody waits longer than SQL_SECONDS.
    """
    with suppress(TimeoutError):
        health.begun(_ask_for_own_tables, "own-tables").result(SQL_SECONDS)


def _ask_for_own_tables() -> None:
    from tickets.known_tables import require_known

    try:
        require_known()
    finally:
        connections.close_all()  # it leaves none behind


def serving(application: Any, sockets: list[socket.socket], cfg: Any) -> TcpWSGIServer:
    """waitress's server for some sockets, as gunicorn's settings want it."""
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that requests wait for a thread is no news
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    proxy = environment.trusted_proxy()
    server = create_server(
        kept(application),
        sockets=sockets,
        _dispatcher=Threads(cfg.threads),
        channel_timeout=cfg.keepalive,
        cleanup_interval=1,
        connection_limit=MOST_CONNECTIONS,
        outbuf_high_watermark=sys.maxsize,  # an answer leaves its thread: see `project.sending`
        max_request_header_size=LARGEST_HEAD,
        max_request_body_size=sys.maxsize if most is None else 2 * most,  # a body in chunks has their sizes, too
        trusted_proxy=proxy,
        trusted_proxy_headers={"x-forwarded-proto"},
        clear_untrusted_proxy_headers=False,
        ident="",
        log_socket_errors=False,
    )
    server.adj.socket_options = SOCKET_OPTIONS  # beside those that it was made with
    server.channel_class = Connection
    return server
