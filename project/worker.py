"""gunicorn's threaded worker, but a request gets a thread only when it has arrived whole.

gunicorn's own worker gives each connection a thread at once, which waits for the rest of the request: as many slow
clients as there are threads stop the site. Here the main thread, which waits for all connections anyway, collects what
arrives, and nobody waits for a slow client. A request that is not whole after `READ_SECONDS` is answered with 408. A
body that is too large is not awaited: the application refuses it by its length, and the connection closes.

The end of a connection is not awaited either: gunicorn's main thread would wait up to 2 s for each. A client that reads
its answer slowly has `SEND_SECONDS` for each piece of it, then the connection closes and the thread is free.

A worker that is asked to stop says so at `/readyz`. For STOP_DELAY seconds it still takes connections, until a load
balancer has noticed. Then it takes those that wait already, closes its door, and answers what is under way.

This worker only finds out where a request ends. gunicorn's parser reads what was collected, as always. What the parser
refuses never reaches the application: it is answered here, as `application/problem+json`.
"""

import json
import re
import socket
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from selectors import EVENT_READ
from typing import Any

from django.conf import settings
from gunicorn import util
from gunicorn.arbiter import Arbiter
from gunicorn.workers.gthread import _DEFER, STOP_KEEPALIVE_LINGER, ThreadWorker

from project import environment
from sequences.exceptions import SequenceUnsound
from sequences.start import require_sound
from tickets import health

READ_SECONDS = 30.0
SEND_SECONDS = 60.0
EXIT_SECONDS = 2  # what a process needs to end when its last request is answered, so that nobody kills it before
CLOSE_SECONDS = 2.0  # for so long, what a client still sends is read and dropped: a reset would hide the answer
LARGEST_HEAD = 64 * 1024
LARGEST_LINE = 8192  # of a chunk's size; gunicorn's parser refuses longer ones
LARGEST_PIECE = 256 * 1024  # read at once of a body
USUAL_PIECE = 8 * 1024  # most requests fit; reading takes memory for the whole piece first

END_OF_HEAD = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*(?=\r\n)", re.IGNORECASE)
TRANSFER = re.compile(rb"\r\ntransfer-encoding:[^\r\n]*", re.IGNORECASE)
EXPECT = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)
CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")


@dataclass(slots=True)
class Incoming:
    """What has arrived of one request. Its body may have `most` bytes."""

    most: int
    data: bytearray = field(default_factory=bytearray)
    awaits_100: bool = False
    """Whether the client waits for "100 Continue" before it sends the body."""
    too_large: bool = False
    _looked: int = 0
    """Up to here, there is no end of the head; in a chunked body, the place of the next chunk."""
    _body: int = 0
    """The place where the body begins; 0 if the head is not whole yet."""
    _end: int | None = None
    """The place where the request ends; None if that is not known yet."""
    _content: int = 0
    """The bytes that the chunks so far announce."""

    @property
    def whole(self) -> bool:
        """Whether nothing more has to arrive."""
        return self._end is not None and len(self.data) >= self._end

    @property
    def head_too_large(self) -> bool:
        """Whether the end of the head does not come."""
        return not self._body and len(self.data) > LARGEST_HEAD

    def add(self, data: bytes) -> None:
        """Take in what has arrived."""
        self.data += data
        if not self._body:
            self._read_head()
        if self._body and self._end is None:
            self._read_chunks()

    def _read_head(self) -> None:
        end = self.data.find(END_OF_HEAD, max(0, self._looked - len(END_OF_HEAD)))
        if end < 0:
            self._looked = len(self.data)
            return
        head = bytes(self.data[: end + 2])
        self._body = self._looked = end + len(END_OF_HEAD)
        length, chunked = LENGTH.search(head), TRANSFER.search(head)
        if length or not chunked:  # with both, the parser refuses it
            size = int(length[1]) if length and len(length[1]) <= 15 else 0
            self.too_large = size > self.most or bool(length and len(length[1]) > 15)
            self._end = self._body + (0 if self.too_large or chunked else size)
        if EXPECT.search(head):  # which is answered here
            self.awaits_100 = not self.too_large
            self._replace_head(EXPECT.sub(b"", head))

    def _read_chunks(self) -> None:
        while self._end is None and self._looked < len(self.data):
            line_end = self.data.find(b"\r\n", self._looked, self._looked + LARGEST_LINE)
            if line_end < 0:
                if len(self.data) - self._looked > LARGEST_LINE:
                    self._end = len(self.data)  # the parser refuses it
                return
            size = CHUNK_SIZE.match(self.data, self._looked, line_end)
            if size is None:
                self._end = len(self.data)  # the parser refuses it
            elif int(size[0], 16) == 0:
                self._read_trailers(line_end)
                return
            else:
                self._content += int(size[0], 16)
                self._looked = line_end + 2 + int(size[0], 16) + 2
                framing = len(self.data) - self._body - self._content
                if self._content > self.most or framing > self.most:
                    self._refuse_chunks()

    def _read_trailers(self, line_end: int) -> None:
        """The trailers after the last chunk are mostly none."""
        end = self.data.find(END_OF_HEAD, line_end)
        if end >= 0:
            self._end = end + len(END_OF_HEAD)
        elif len(self.data) - line_end > LARGEST_HEAD:
            self._end = len(self.data)  # the parser refuses it

    def _refuse_chunks(self) -> None:
        """Announce the body by a length that is refused, and leave it unread."""
        head = TRANSFER.sub(b"", bytes(self.data[: self._body - 2]))
        del self.data[self._body :]
        self._replace_head(b"%sContent-Length: %d\r\n" % (head, self.most + 1))
        self.too_large, self._end = True, self._body

    def _replace_head(self, head: bytes) -> None:
        shift = len(head) + 2 - self._body
        self.data[: self._body - 2] = head
        self._body += shift
        self._looked += shift
        if self._end is not None:
            self._end += shift


def refusal(status: int, reason: str, detail: str) -> bytes:
    """The answer to what the application never sees."""
    code = reason.lower().replace(" ", "_")
    problem = {"type": "about:blank", "title": reason, "status": status, "detail": detail, "code": code}
    body = json.dumps(problem)
    head = f"HTTP/1.1 {status} {reason}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def write_error(sock: Any, status_int: int, reason: str, mesg: str) -> None:
    """In the place of gunicorn's function, which answers with a page."""
    util.write_nonblock(sock, refusal(status_int, reason, mesg))


util.write_error = write_error


class BufferingWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """Its threads work on whole requests only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.closing_conns: deque[Any] = deque()
        self._look_at = 0.0

    def load_wsgi(self) -> None:
        """Load the site, unless a sequence is not sound on its tables: then gunicorn ends, after a line that says why.

        Numbers that are given twice cannot be taken back, while a site that does not start is noticed.
        """
        super().load_wsgi()
        try:
            require_sound()
        except SequenceUnsound as error:
            self.log.critical("Not started. %s", error)
            raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from None

    def init_process(self) -> None:
        """Give the end of the process its share of the time in which the web server stops."""
        self._stop_delay = environment.count("STOP_DELAY")
        self.cfg.set("graceful_timeout", max(1, self.cfg.graceful_timeout - self._stop_delay - EXIT_SECONDS))
        super().init_process()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to stop."""
        health.STOPPING.set()
        if self._stop_delay and self.alive:
            later = threading.Timer(self._stop_delay, super().handle_exit, (sig, frame))
            later.daemon = True
            later.start()
        else:
            super().handle_exit(sig, frame)

    def set_accept_enabled(self, enabled: bool) -> None:
        """Take connections, or leave them to wait; a worker that stops takes those that wait, and closes its door.

        gunicorn would let clients connect to a door behind which nobody is any more.
        """
        taken = -1
        while self._accepting and not self.alive and taken != self.nr_conns:
            taken = self.nr_conns
            for listener in self.sockets:
                self.accept(listener)
        super().set_accept_enabled(enabled and self.alive)
        if not self.alive:
            for listener in self.sockets:
                listener.close()

    def enqueue_req(self, conn: Any) -> None:
        """Let a thread take the next request of a connection."""
        conn.incoming = Incoming(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or sys.maxsize)
        conn.close = partial(self._close, conn)
        conn.deadline = time.monotonic() + READ_SECONDS
        if conn.parser is not None:
            conn.incoming.add(conn.parser.unreader.take_buffered())
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        """Answer the request, if it has arrived whole. Runs in a thread."""
        arrived = self._receive(conn)
        if not arrived:
            return _DEFER if arrived is None else False
        conn.data_ready = True
        conn.init()
        conn.parser.unreader.unread(bytes(conn.incoming.data))
        conn.incoming.data.clear()
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request. The connection of one that was not read to its end cannot be used again."""
        if conn.incoming.too_large:
            req.force_close()
        conn.sock.settimeout(SEND_SECONDS)
        try:
            return super().handle_request(req, conn)
        except TimeoutError:
            self.log.warning("%s did not read the answer in time.", conn.client)
            return False

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Wait for the rest of a request, or for the next one."""
        if fs.cancelled() or fs.exception() or fs.result() is not _DEFER:
            super().finish_request(conn, fs)
            return
        conn.timeout = conn.deadline if self.alive else min(conn.deadline, time.monotonic() + STOP_KEEPALIVE_LINGER)
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def on_pending_socket_readable(self, conn: Any, client: Any) -> None:
        """Let a thread take more of a request."""
        self.poller.unregister(client)
        self.pending_conns.remove(conn)
        super().enqueue_req(conn)

    def murder_pending(self) -> None:
        """Answer requests that are not whole in time, and close their connections. Looks once a second."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + 1
        for conn in [conn for conn in self.pending_conns if conn.timeout <= now]:
            if conn.incoming.data:
                self._send(conn, refusal(408, "Request Timeout", "The request did not arrive whole in time."))
            self.poller.unregister(conn.sock)
            self.pending_conns.remove(conn)
            self.nr_conns -= 1
            conn.close()
        while self.closing_conns and self.closing_conns[0].timeout <= now:
            self._end(self.closing_conns[0])

    def _receive(self, conn: Any) -> bool | None:
        """True if the request is whole, False if it never will be, None if more has to arrive."""
        incoming = conn.incoming
        while not incoming.whole:
            try:
                data = conn.sock.recv(LARGEST_PIECE if incoming.data else USUAL_PIECE, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            except OSError:
                return False
            if not data:
                return False
            incoming.add(data)
            if incoming.head_too_large:
                self._send(conn, refusal(431, "Request Header Fields Too Large", "The headers are too long."))
                return False
            if incoming.awaits_100 and not incoming.whole:
                incoming.awaits_100 = False
                self._send(conn, b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _send(self, conn: Any, line: bytes) -> None:
        try:
            conn.sock.send(line, socket.MSG_DONTWAIT)
        except OSError:  # nobody listens
            pass

    def _close(self, conn: Any, graceful: bool = False) -> None:
        """Close a connection; if graceful, after its client has read the answer and closed it, too."""
        if graceful:
            try:
                conn.sock.setblocking(False)
                conn.sock.shutdown(socket.SHUT_WR)
            except OSError:  # it is closed already
                graceful = False
        if not graceful:
            util.close(conn.sock)
            return
        self.nr_conns += 1
        conn.timeout = time.monotonic() + CLOSE_SECONDS
        self.closing_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self._drop, conn))

    def _drop(self, conn: Any, client: Any) -> None:
        try:
            ended = not client.recv(LARGEST_PIECE)
        except BlockingIOError:
            ended = False
        except OSError:
            ended = True
        if ended:
            self._end(conn)

    def _end(self, conn: Any) -> None:
        self.poller.unregister(conn.sock)
        self.closing_conns.remove(conn)
        self.nr_conns -= 1
        util.close(conn.sock)

    def _cap_keepalive(self, deadline: float) -> None:
        """A worker that stops waits no longer for unfinished requests than for idle connections."""
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)
