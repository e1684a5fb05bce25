"""How answers leave a web process: no thread waits for a client that reads, and what is not read is bounded.

A thread writes what the socket takes. The main thread sends the rest as the client reads it. An answer in parts, such
as an export, leaves its thread when more than `ENOUGH` bytes are not read; a thread makes the next part when less is.
So an answer holds `ENOUGH` and one part. It is closed when it is sent, not before: who counts the answers under way, as
`tickets.accounts.heavy` does, counts those that nobody reads, too.

- A connection whose client reads less than `SLOWEST` bytes a second, over `SEND_SECONDS`, closes.
- If all clients together leave more than `MOST_UNREAD` bytes, or nearly all connections of the process are taken, those
  close that have been without progress for longest.
"""

import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from threading import Lock
from typing import Any

from waitress.buffers import ReadOnlyFileBasedBuffer
from waitress.channel import HTTPChannel
from waitress.task import WSGITask

ENOUGH = 1_000_000  # bytes: waitress keeps more in a file
SEND_SECONDS = 30.0
SLOWEST = 4_000
MOST_UNREAD = 64_000_000  # bytes of a process
SPARE = 50  # connections that stay free for clients who come
KEEP = "project.sending.keep"
# The system's own buffer grows to megabytes for a client that reads nothing; it is doubled.
SOCKET_OPTIONS = [(socket.SOL_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_SNDBUF, 256 * 1024)]

_pausing = Lock()

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Paused(BaseException):
    """The thread of an answer is free until the client has read more. Nothing on the way may take it for an error."""


class Answer(WSGITask):  # type: ignore[misc] # waitress has no types
    """The answer of the site to one request. It goes on where it paused."""

    _body: Iterable[bytes] | None = None
    _parts: Iterator[bytes] = iter(())
    wrote_header: bool
    chunked_response: bool

    def get_environment(self) -> dict[str, Any]:
        """What the site reads, and how the body of its answer is kept between two parts."""
        return {**super().get_environment(), KEEP: self._keep}

    def execute(self) -> None:
        """Write all parts. Raises Paused."""
        if self._body is None:
            super().execute()
        else:
            for part in self._parts:
                self.write(part)

    def write(self, data: bytes) -> None:
        """Write a part, the first one with the headers at once. Raises Paused if the client has enough to read."""
        if self.complete and not self.wrote_header:
            self.channel.first = self.build_response_header()
            self.wrote_header = True
            self.chunked_response &= self.request.command != "HEAD"  # no last chunk after headers alone
        super().write(data)
        if self.channel.first:  # nothing else was to be written
            self.channel.write_soon(b"")
        if data and self.channel.total_outbufs_len > ENOUGH:
            raise Paused

    def close(self) -> None:
        """The answer is sent, or nobody wants it any more: the site may forget it."""
        body, self._body, self._parts = self._body, None, iter(())
        if close := getattr(body, "close", None):
            close()

    def _keep(self, body: Iterable[bytes]) -> Iterator[bytes]:
        self._body, self._parts = body, chain(body)  # which waitress cannot close
        return self._parts


def kept(application: Application) -> Application:
    """The site, whose answers are closed when they are sent. waitress itself sends files, without a thread."""

    def answered(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = application(environ, start_response)
        is_file = isinstance(body, ReadOnlyFileBasedBuffer)
        return body if is_file else environ[KEEP](body)

    return answered


class SendingConnection(HTTPChannel):  # type: ignore[misc]
    """A connection, as far as it sends answers."""

    paused = False  # an answer waits for the client to read more
    first = b""  # what goes before the next part
    _answer: Answer | None = None  # which goes on
    _sent, _since = 0, 0.0  # bytes since a moment

    def service(self) -> None:
        """Work on the next request, or go on with its answer. One thread at a time does."""
        answer = self._answer or Answer(self, self.requests[0])
        self._answer, self.task_class = None, lambda *_: answer
        try:
            super().service()
        except Paused:
            self._pause(answer)
        else:
            answer.close()

    def _pause(self, answer: Answer) -> None:
        self._answer = answer
        with _pausing:  # either this thread sees that the connection is closed, or who closes it, the pause
            self.paused = self.connected
        if not self.paused:
            self.server.add_task(self)
        elif self.total_outbufs_len > ENOUGH:
            self.server.pull_trigger()
        else:  # either this thread sees that all is sent, or who sends it, the pause
            self._go_on()

    def handle_write(self) -> None:
        """Send what is there, and go on with an answer that waits for it."""
        super().handle_write()
        if self.paused and self.total_outbufs_len <= ENOUGH:
            self._go_on()

    def write_soon(self, data: Any) -> int:
        """Take a part of an answer. If all before it is sent, only now the client has something to read."""
        if not self.total_outbufs_len:
            self.last_activity, self._since = time.time(), time.monotonic()
            self._sent = 0
        if self.first:
            data, self.first = self.first + data, b""
        written: int = super().write_soon(data)
        return written

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send what the socket takes now."""
        sent: int = super().send(data, do_close)
        self._sent += sent
        return sent

    def handle_close(self) -> None:
        """Close the connection, and let a thread end an answer that waits for its client."""
        super().handle_close()
        self._go_on()

    def look_at_sending(self, now: float) -> None:
        """Close the connection of a client who reads too slowly."""
        if not self.total_outbufs_len or now <= self._since + SEND_SECONDS:
            return
        if self._sent < SLOWEST * SEND_SECONDS:
            self.handle_close()  # a thread may wait to write more
        self._sent, self._since = 0, now

    def _go_on(self) -> None:
        with _pausing:
            paused, self.paused = self.paused, False
        if paused:
            self.server.add_task(self)


def shed(connections: Collection[SendingConnection], most: int) -> None:
    """Close those without progress for longest, while they are nearly `most`, or hold more than MOST_UNREAD bytes."""
    surplus = len(connections) - (most - SPARE)
    unread = sum(connection.total_outbufs_len for connection in connections) - MOST_UNREAD
    if surplus <= 0 and unread <= 0:
        return
    for connection in sorted(connections, key=lambda each: each.last_activity):
        held = connection.total_outbufs_len
        if (held and unread > 0) or (surplus > 0 and (held or not connection.requests)):
            connection.handle_close()
            surplus, unread = surplus - 1, unread - held
