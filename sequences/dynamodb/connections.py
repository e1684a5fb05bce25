"""Connections that limit the total time of a request.

A socket's time-out only limits the pause between two bytes. An engine that sends one byte now and then could hold its
caller for ever. Here every step of a request (connect, encrypt, send, each read) gets the time that is left of the
total, and one address no more than the time to connect. Name resolution belongs to the system and has its own
time-outs.
"""

import http.client
import io
import queue
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import urllib3.exceptions
from botocore.awsrequest import AWSHTTPConnection, AWSHTTPConnectionPool, AWSHTTPSConnection, AWSHTTPSConnectionPool
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from urllib3 import Timeout
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.util.ssl_match_hostname import CertificateError
from urllib3.util.wait import wait_for_read, wait_for_write

from .http1 import Answer, take_answer
from .limits import left, mark_sent

T = TypeVar("T")
_Wait = Callable[[socket.socket, float | None], bool]
_AS_NUMBERS = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV


class _Reader(io.RawIOBase):
    """Reads what was received already, and then from a socket within the time left."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, received: bytes) -> None:
        self._raw = raw
        self._socket = sock
        self._received = received

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._received:
            count = min(len(buffer), len(self._received))
            buffer[:count], self._received = self._received[:count], self._received[count:]
            return count
        self._socket.settimeout(left(self._socket.gettimeout()))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """An answer that is read within the time left."""

    def __init__(self, sock: socket.socket, *args: Any, received: bytes = b"", **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_Reader(self.fp.detach(), sock, received))


class _Bounded:
    """Connects and sends within the time left."""

    response_class = _Response
    sock: socket.socket | None
    timeout: Any
    host: Any
    port: Any

    def _new_conn(self) -> socket.socket:
        """Connect to the first address of the host that answers. urllib3 gives each one the whole time.

        Afterwards the socket has the time left, which is for TLS.
        """
        host, seconds = getattr(self, "_dns_host", self.host), self.timeout  # also the last dot of a name
        try:
            *others, last = self._addresses(host)
            for address in others:
                with suppress(HTTPError):
                    return self._reach(address, seconds)
            return self._reach(last, seconds)
        finally:
            self.host, self.timeout = host, seconds

    def _addresses(self, host: str) -> list[str]:
        try:
            found = socket.getaddrinfo(host.strip("[]"), self.port, type=socket.SOCK_STREAM)
            return [socket.getnameinfo(address, _AS_NUMBERS)[0] for *_, address in found]
        except (OSError, UnicodeError) as error:
            raise NewConnectionError(self, f"The host is not known: {error}") from error  # type: ignore[arg-type]

    def _reach(self, address: str, seconds: float | None) -> socket.socket:
        self.host, self.timeout = address, left(seconds) if seconds is None else min(seconds, left(seconds))
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        sock.settimeout(left(seconds))
        return sock

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        assert self.sock is not None
        mark_sent()
        unsent = memoryview(data)
        while unsent:
            self.sock.settimeout(left(self.timeout))
            unsent = unsent[self.sock.send(unsent) :]

    def exchange(self, request: bytes, *, read_seconds: float | None) -> Answer:
        """Send a request as it is, and read the answer. Without a limit each step may take its own time-out.

        The socket does not block, and is waited for only if it is not ready: each further call of the system would let
        another thread run first.
        """
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        sock = self.sock
        assert sock is not None
        if sock.gettimeout() != 0:
            sock.setblocking(False)
        mark_sent()
        unsent = memoryview(request)
        while unsent:
            unsent = unsent[_once_ready(sock, partial(sock.send, unsent), wait_for_write, self.timeout) :]

        def receive(most: int) -> bytes:
            _wait(wait_for_read, sock, read_seconds)  # TLS keeps nothing back: `most` is more than a record of 16 KB
            return _once_ready(sock, partial(sock.recv, most), wait_for_read, read_seconds)

        def rest(received: bytes) -> _Response:
            sock.settimeout(read_seconds)
            return _Response(sock, received=received)

        return take_answer(receive, rest)


def _once_ready(sock: socket.socket, step: Callable[[], T], wait: _Wait, seconds: float | None) -> T:
    """Do a step with a socket that does not block, as soon as that is possible."""
    while True:
        try:
            return step()
        except BlockingIOError:
            pass
        except ssl.SSLWantReadError:
            wait = wait_for_read
        except ssl.SSLWantWriteError:
            wait = wait_for_write
        _wait(wait, sock, seconds)


def _wait(wait: _Wait, sock: socket.socket, seconds: float | None) -> None:
    if not wait(sock, left(seconds)):
        raise TimeoutError("The time for the request is over.")


class _Connection(_Bounded, AWSHTTPConnection):  # type: ignore[misc]
    """Over HTTP."""


class _TlsConnection(_Bounded, AWSHTTPSConnection):  # type: ignore[misc]
    """Over HTTPS."""


class _Idle:
    """The unused connections of a pool, the last one first, in place of `queue.LifoQueue`.

    A signal handler that sends a request could wait in vain for the lock of a `LifoQueue`. Here each step is one atomic
    operation of a deque, and `get` and `put` never wait.
    """

    def __init__(self, maxsize: int) -> None:
        self._most = maxsize
        self._connections: deque[Any] = deque()

    def get(self, **_: object) -> Any:
        try:
            return self._connections.pop()
        except IndexError:
            raise queue.Empty from None

    def put(self, connection: Any, **_: object) -> None:
        if len(self._connections) >= self._most:
            raise queue.Full
        self._connections.append(connection)

    def qsize(self) -> int:
        return len(self._connections)


class _Pool(AWSHTTPConnectionPool):
    ConnectionCls = _Connection
    QueueCls = _Idle  # type: ignore[assignment]


class _TlsPool(AWSHTTPSConnectionPool):
    ConnectionCls = _TlsConnection
    QueueCls = _Idle  # type: ignore[assignment]


POOLS = {"http": _Pool, "https": _TlsPool}
# What botocore raises for each kind of error; the first kind that fits.
_MEANINGS: Sequence[tuple[Any, Any]] = (
    (TimeoutError, ReadTimeoutError),
    ((ssl.SSLError, urllib3.exceptions.SSLError, CertificateError), SSLError),
    (urllib3.exceptions.NewConnectionError, EndpointConnectionError),
    (urllib3.exceptions.ConnectTimeoutError, ConnectTimeoutError),
    (Exception, ConnectionClosedError),
)


def exchange(pool: Any, request: bytes, url: str) -> Answer:
    """Send a request over a connection of the pool, without urllib3's and http.client's layers, and read the answer.

    Raises what botocore's session raises, which names the address.
    """
    try:
        connection = pool._get_conn()  # an exception leaves it out of the pool, which makes new ones
        connection.timeout = Timeout.resolve_default_timeout(pool.timeout.connect_timeout)
        read_seconds = Timeout.resolve_default_timeout(pool.timeout.read_timeout)
        answer: Answer = connection.exchange(request, read_seconds=read_seconds)
    except (OSError, http.client.HTTPException, urllib3.exceptions.HTTPError, CertificateError) as error:
        meaning = next(meaning for kind, meaning in _MEANINGS if isinstance(error, kind))
        raise meaning(endpoint_url=url, error=error) from error
    if not answer.reusable:
        connection.close()
    pool._put_conn(connection)
    return answer
