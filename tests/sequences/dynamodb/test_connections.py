"""The parts of a connection on which a request has so many seconds in all; what they make together is in
`test_deadlines`."""

from __future__ import annotations

import io
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import botocore.httpsession
import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError, SSLError
from urllib3 import Timeout
from urllib3.util.wait import wait_for_read

from sequences.dynamodb import connections, limits
from sequences.dynamodb.connections import POOLS, exchange
from sequences.dynamodb.limits import LEAST_SECONDS, within
from tests.sequences.support import Clock, bound_port

SOCKET = mock.Mock(spec=socket.socket)
CONNECT = "urllib3.util.connection.create_connection"


class TestIdle:
    def test_the_last_first(self) -> None:
        """The connection that was used last is used next; it is the least likely to be closed by the engine."""
        idle = connections._Idle(3)
        for connection in ("a", "b"):
            idle.put(connection, block=False)
        assert idle.qsize() == 2
        assert [idle.get(block=False, timeout=None) for _ in range(2)] == ["b", "a"]

    def test_bounds(self) -> None:
        """A pool that is full or empty says so, as `queue.LifoQueue` does."""
        idle = connections._Idle(1)
        idle.put("a")
        with pytest.raises(queue.Full):
            idle.put("b")
        assert idle.get() == "a"
        with pytest.raises(queue.Empty):
            idle.get()


def test_both_schemes() -> None:
    """Requests have limits over HTTP and over HTTPS."""
    pools = vars(botocore.httpsession.URLLib3Session())["_pool_classes_by_scheme"]
    assert set(connections.POOLS) == set(pools)


def test_a_closed_answer_lets_go_of_its_socket() -> None:
    """Closing an answer closes what it reads from."""
    raw = io.FileIO("/dev/null")
    connections._Reader(raw, SOCKET, b"").close()
    assert raw.closed


# A certificate for 127.0.0.1 that signs itself, and its key.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgU5zJlS4niBD72hgQ
VdscTaIZwJZ9qhwJb3S5R775TbihRANCAATMvte6cxJCmg/H8yfC9WQuYEwAZWW8
DEvKhyvjlXvOaqUS0/r2SHvwUX1bk+YzSzcEhk+SvNys5T7/7aWic3Uh
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUff4CLA/EsVKPkeWiyvxY3aF3RR8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjAzMTQ1NloYDzIxMjYxMDI5
MDMxNDU2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATMvte6cxJCmg/H8yfC9WQuYEwAZWW8DEvKhyvjlXvOaqUS0/r2SHvw
UX1bk+YzSzcEhk+SvNys5T7/7aWic3Uho28wbTAdBgNVHQ4EFgQUfAiCOCZjtVlE
JNggfr+0vaY26EUwHwYDVR0jBBgwFoAUfAiCOCZjtVlEJNggfr+0vaY26EUwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDSAAwRQIgGKLSqzV+eF3O+iBKvh+C7GsRYmVjlbaqvtly0Wi3EdACIQD0
kpIiHwYZKbQ6Uy0UutTxvLkCm0P+GMPAqjoi4MGouA==
-----END CERTIFICATE-----
"""


LARGE = b"0123456789" * 400_000  # more than the system takes at once


class _Server(BaseHTTPRequestHandler):
    """Answers with what it was asked, and notes from which port each request came."""

    protocol_version = "HTTP/1.1"
    closes = False
    extra = b""
    in_chunks = False
    may_read = threading.Event()
    may_read.set()
    ports: list[int]
    paths: list[str]

    def do_POST(self) -> None:
        if not self.may_read.wait(30):
            self.ports.append(0)  # nobody gave up
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.ports.append(self.client_address[1])
        self.paths.append(self.path)
        with suppress(OSError):  # the client has hung up
            self.send_response(200)
            if self.in_chunks:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                time.sleep(0.05)
                self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            else:
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body + self.extra)
        self.close_connection = self.closes

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    """A server on this machine."""
    handler = type("Handler", (_Server,), {"ports": [], "paths": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield server
        server.shutdown()


@pytest.fixture
def certificate(tmp_path: Path) -> str:
    """The path of the certificate."""
    path = tmp_path / "certificate.pem"
    path.write_text(CERTIFICATE)
    return str(path)


class TestPool:
    def ask(self, pool: Any, body: bytes = b"hello") -> Any:
        return exchange(pool, b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body, "http://engine/")

    def test_one_connection(self, server: ThreadingHTTPServer) -> None:
        """Requests one after the other go over one connection."""
        with POOLS["http"]("127.0.0.1", server.server_port) as pool:
            assert [self.ask(pool, body).body for body in (b"a", LARGE, b"")] == [b"a", LARGE, b""]
        assert len(set(server.RequestHandlerClass.ports)) == 1  # type: ignore[attr-defined]

    def test_a_connection_that_the_server_closed(self, server: ThreadingHTTPServer) -> None:
        """A connection that was closed while it was unused is replaced, without an error."""
        handler: Any = server.RequestHandlerClass
        with POOLS["http"]("127.0.0.1", server.server_port) as pool:
            handler.closes = True
            self.ask(pool)
            idle = pool.pool.get()
            assert wait_for_read(idle.sock, 30.0)
            assert idle.sock.recv(1) == b""  # the end has arrived
            pool.pool.put(idle)
            self.ask(pool)
        assert len(set(handler.ports)) == 2

    def test_more_than_the_answer(self, server: ThreadingHTTPServer) -> None:
        """What follows an answer is not taken for the next answer: the connection is closed."""
        server.RequestHandlerClass.extra = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!"  # type: ignore[attr-defined]
        with POOLS["http"]("127.0.0.1", server.server_port) as pool:
            assert [self.ask(pool, body).body for body in (b"a", b"b")] == [b"a", b"b"]
        assert len(set(server.RequestHandlerClass.ports)) == 2  # type: ignore[attr-defined]

    def test_encrypted(self, server: ThreadingHTTPServer, certificate: str) -> None:
        """Over TLS a request goes only to a server whose certificate is trusted."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with POOLS["https"]("127.0.0.1", server.server_port, ca_certs=certificate) as pool:
            assert [self.ask(pool, body).body for body in (b"a", LARGE)] == [b"a", LARGE]
        with POOLS["https"]("127.0.0.1", server.server_port) as pool, pytest.raises(SSLError):
            self.ask(pool)
        assert len(set(server.RequestHandlerClass.ports)) == 1  # type: ignore[attr-defined]

    def test_a_server_that_is_silent(self, server: ThreadingHTTPServer) -> None:
        """A read takes no longer than the pool's time-out for reading."""
        handler: Any = server.RequestHandlerClass
        handler.may_read = threading.Event()
        with POOLS["http"]("127.0.0.1", server.server_port, timeout=Timeout(connect=30, read=0.05)) as pool:
            with pytest.raises(ReadTimeoutError, match="http://engine/"):
                self.ask(pool)
            handler.may_read.set()

    def test_a_server_that_does_not_read(self, server: ThreadingHTTPServer) -> None:
        """Sending, too, takes no longer than the time of the request."""
        handler: Any = server.RequestHandlerClass
        with POOLS["http"]("127.0.0.1", server.server_port) as pool:
            self.ask(pool)
            handler.may_read = threading.Event()
            with within(0.05), pytest.raises(ReadTimeoutError):
                self.ask(pool, LARGE * 3)
            assert 0 not in handler.ports
            handler.may_read.set()

    def test_in_chunks(self, server: ThreadingHTTPServer) -> None:
        """An answer in chunks is waited for, and read by http.client."""
        server.RequestHandlerClass.in_chunks = True  # type: ignore[attr-defined]
        with POOLS["http"]("127.0.0.1", server.server_port) as pool:
            assert self.ask(pool, LARGE).body == LARGE

    def test_by_turns_with_urllib3(self, server: ThreadingHTTPServer) -> None:
        """A request that urllib3 sends may follow a lean one on its connection, and the other way round."""
        with POOLS["http"]("127.0.0.1", server.server_port) as pool:
            for _ in range(2):
                assert self.ask(pool, LARGE).body == LARGE
                reply = pool.urlopen("POST", "/", body=LARGE, headers={}, timeout=30.0)
                assert reply.data == LARGE
        assert len(set(server.RequestHandlerClass.ports)) == 1  # type: ignore[attr-defined]

    def test_a_time_out_of_one_request(self, server: ThreadingHTTPServer) -> None:
        """The next request on its connection has the pool's again."""
        with POOLS["http"]("127.0.0.1", server.server_port, timeout=Timeout(connect=30, read=40)) as pool:
            pool.urlopen("POST", "/", body=b"a", headers={}, timeout=5.0)
            self.ask(pool)
            assert pool.pool.get().timeout == 30

    def test_nobody_answers(self) -> None:
        """A server that cannot be reached in time is an error of connecting, too."""
        slow = mock.patch(CONNECT, side_effect=TimeoutError)
        with POOLS["http"]("127.0.0.1", 9) as pool, slow, pytest.raises(ConnectTimeoutError, match="http://engine/"):
            self.ask(pool)

    def test_nobody_listens(self) -> None:
        """A server that is away is an error of connecting: nothing was sent."""
        with bound_port() as port, POOLS["http"]("127.0.0.1", port) as pool, pytest.raises(EndpointConnectionError):
            self.ask(pool)


def named(*addresses: str) -> Any:
    """Let the name `engine` have these addresses."""
    look_up = socket.getaddrinfo

    def found(host: str, port: int, *args: Any, **given: Any) -> Any:
        hosts = addresses if host.startswith("engine") else [host]
        return [one for each in hosts for one in look_up(each, port, *args, **given)]

    return mock.patch("socket.getaddrinfo", found)


class TestConnecting:
    @pytest.fixture(autouse=True)
    def time(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """A time that passes only where a test says so."""
        monkeypatch.setattr(limits, "time", mock.Mock(monotonic=clock))

    @pytest.mark.parametrize(
        ("seconds", "most", "given"),
        [(3, 1.0, [1.0, 1.0, 1.0]), (0.3, 0.2, [0.2, 0.1, LEAST_SECONDS]), (0.3, None, [0.3, *[LEAST_SECONDS] * 2])],
    )
    def test_addresses_that_do_not_answer(
        self, clock: Clock, seconds: float, most: float | None, given: list[float]
    ) -> None:
        """Each address of a host has the seconds to connect, and all together have the time of the request."""
        asked: list[tuple[str, float]] = []

        def connect(address: tuple[str, int], timeout: float, **_: Any) -> socket.socket:
            asked.append((address[0], timeout))
            clock.now += timeout
            raise TimeoutError

        hosts, pool = ["127.0.0.1", "127.0.0.2", "127.0.0.3"], POOLS["http"]("engine", 9, timeout=Timeout(connect=most))
        with named(*hosts), mock.patch(CONNECT, connect), within(seconds), pytest.raises(ConnectTimeoutError):
            exchange(pool, b"", "http://engine/")
        assert [host for host, _ in asked] == hosts
        assert [timeout for _, timeout in asked] == pytest.approx(given)

    def test_the_next_address(self, server: ThreadingHTTPServer) -> None:
        """Where one address of a host is away, the next one is asked. The connection keeps the host's name."""
        request = b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na"
        with POOLS["http"]("engine.", server.server_port, timeout=Timeout(connect=20, read=30)) as pool:
            with named("127.0.0.2", "127.0.0.1"):
                assert exchange(pool, request, "http://engine/").body == b"a"
            connection = pool.pool.get()
            assert (connection._dns_host, connection.timeout) == ("engine.", 20)

    def test_a_name_without_addresses(self) -> None:
        """A host that the system does not know is an error of connecting: nothing was sent."""
        unknown = mock.patch("socket.getaddrinfo", side_effect=socket.gaierror)
        with POOLS["http"]("engine", 9) as pool, unknown, pytest.raises(EndpointConnectionError):
            exchange(pool, b"", "http://engine/")

    def test_encryption(self, clock: Clock) -> None:
        """What connecting has left of the request's time is for TLS."""
        seen: list[float | None] = []

        def connect(address: tuple[str, int], timeout: float, **_: Any) -> socket.socket:
            clock.now += 0.5
            connected = socket.socket()
            connected.settimeout(timeout)
            return connected

        def wrap(sock: socket.socket, **_: Any) -> None:
            seen.append(sock.gettimeout())
            sock.close()
            raise ssl.SSLError

        pool, encrypt = POOLS["https"]("127.0.0.1", 9, timeout=Timeout(connect=1)), "ssl.SSLContext.wrap_socket"
        with mock.patch(CONNECT, connect), mock.patch(encrypt, side_effect=wrap), within(3), pytest.raises(SSLError):
            exchange(pool, b"", "https://engine/")
        assert seen == pytest.approx([2.5])
