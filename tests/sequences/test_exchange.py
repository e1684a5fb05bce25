"""One request and its answer over an open connection: what is sent, and how each kind of answer is read."""

from __future__ import annotations

import http.client
import io
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore import auth
from urllib3 import PoolManager, ProxyManager, Timeout
from urllib3.exceptions import HTTPError, NewConnectionError, ProtocolError, ReadTimeoutError, SSLError

from project.proof.faults.proxy import free_port
from sequences.dynamodb.connections import LEAN_POOLS, _host
from sequences.dynamodb.exchange import MOST_HEADERS, Answer, request_text, take_answer

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Amz-Crc32:  7 \r\n\r\nhello"
IN_CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
UP_TO_THE_END = b"HTTP/1.0 502 Bad Gateway\r\nServer: a gateway\r\n\r\nhello"


class _Socket:
    """What http.client reads from: the rest of an answer."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self.data)


def read(*parts: bytes) -> Answer:
    """The answer that comes in these parts, and then ends."""
    coming = list(parts)

    def receive(most: int) -> bytes:
        part = coming.pop(0) if coming else b""
        coming[:0] = [part[most:]] if part[most:] else []
        return part[:most]

    def rest(received: bytes) -> http.client.HTTPResponse:
        return http.client.HTTPResponse(_Socket(received + b"".join(coming)))  # type: ignore[arg-type]

    return take_answer(receive, rest)


class TestReading:
    @pytest.mark.parametrize("size", [1, 7, 1000])
    def test_a_plain_answer(self, size: int) -> None:
        """The status, the headers in lower case and the body, in however many parts they come."""
        parts = [PLAIN[at : at + size] for at in range(0, len(PLAIN), size)]
        assert read(*parts) == Answer(200, {"content-length": "5", "x-amz-crc32": "7"}, b"hello", reusable=True)

    def test_the_body_is_a_stream_for_botocore(self) -> None:
        """botocore reads the body by `stream`."""
        assert b"".join(read(PLAIN).stream()) == b"hello"

    @pytest.mark.parametrize("answer", [IN_CHUNKS, UP_TO_THE_END], ids=["in chunks", "up to the end"])
    @pytest.mark.parametrize("size", [1, 1000])
    def test_other_answers(self, answer: bytes, size: int) -> None:
        """An answer without a length is read by http.client; its connection is not used again."""
        found = read(*[answer[at : at + size] for at in range(0, len(answer), size)])
        assert (found.status, found.body, found.reusable) == (int(answer[9:12]), b"hello", False)

    def test_the_end_of_the_connection(self) -> None:
        """A connection that the other side closes after the answer is not used again."""
        assert not read(PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n")).reusable

    def test_more_than_the_answer(self) -> None:
        """What follows the answer is not part of it, and makes the connection unusable."""
        found = read(PLAIN + b"HTTP/1.1 200 OK")
        assert (found.body, found.reusable) == (b"hello", False)

    @pytest.mark.parametrize("end", [0, 1, 20, len(PLAIN) - 1])
    def test_an_end_too_early(self, end: int) -> None:
        """An answer that ends too early is an error."""
        with pytest.raises(ProtocolError):
            read(PLAIN[:end])

    @pytest.mark.parametrize(
        "answer",
        [
            b"\x00" * 100 + b"\r\n\r\n",
            b"HTTP/1.1 abc OK\r\nContent-Length: 5\r\n\r\nhello",
            b"\r\n\r\n",
            b"SIP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * MOST_HEADERS + b"\r\n",
        ],
    )
    def test_what_is_no_answer(self, answer: bytes) -> None:
        """What http.client refuses is refused."""
        with pytest.raises((http.client.HTTPException, ProtocolError)):
            read(answer)

    def test_a_first_answer_that_is_none(self) -> None:
        """An interim answer (100 Continue) is skipped, as http.client does."""
        assert read(b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN).body == b"hello"


class TestRequest:
    def test_its_text(self) -> None:
        """The request line, the host, no compression, the headers as given, an empty line, and the body."""
        text = request_text("POST", "/", "localhost:8000", {"X-Amz-Target": "a", "Authorization": b"b"}, b"{}")
        assert text == (
            b"POST / HTTP/1.1\r\nHost: localhost:8000\r\nAccept-Encoding: identity\r\n"
            b"X-Amz-Target: a\r\nAuthorization: b\r\n\r\n{}"
        )

    @pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\r"])
    def test_a_line_break_in_a_header(self, value: str) -> None:
        """A header with a line break is not sent, as it would begin another header."""
        assert request_text("POST", "/", "localhost", {"A": value}, b"") is None


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


class _Server(BaseHTTPRequestHandler):
    """Answers with what it was asked, and notes from which port each request came."""

    protocol_version = "HTTP/1.1"
    closes = False
    pause = 0.0
    ports: list[int]
    paths: list[str]

    def do_POST(self) -> None:
        self.ports.append(self.client_address[1])
        self.paths.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.pause)
        with suppress(OSError):  # the client has hung up
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
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
        return pool.urlopen("POST", "/", body=body, headers={"Content-Length": str(len(body))}, retries=False)

    def test_one_connection(self, server: ThreadingHTTPServer) -> None:
        """Requests one after the other go over one connection."""
        with LEAN_POOLS["http"]("127.0.0.1", server.server_port) as pool:
            assert [self.ask(pool, body).body for body in (b"a", b"b" * 100_000, b"")] == [b"a", b"b" * 100_000, b""]
        assert len(set(server.RequestHandlerClass.ports)) == 1  # type: ignore[attr-defined]

    def test_a_connection_that_the_server_closed(self, server: ThreadingHTTPServer) -> None:
        """A connection that was closed while it was unused is replaced, without an error."""
        handler: Any = server.RequestHandlerClass
        with LEAN_POOLS["http"]("127.0.0.1", server.server_port) as pool:
            handler.closes = True
            self.ask(pool)
            idle = pool.pool.get()
            assert idle.sock.recv(1) == b""  # the end has arrived
            pool.pool.put(idle)
            self.ask(pool)
        assert len(set(handler.ports)) == 2

    def test_encrypted(self, server: ThreadingHTTPServer, certificate: str) -> None:
        """Over TLS a request goes only to a server whose certificate is trusted."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        with LEAN_POOLS["https"]("127.0.0.1", server.server_port, ca_certs=certificate) as pool:
            assert [self.ask(pool, body).body for body in (b"a", b"b" * 100_000)] == [b"a", b"b" * 100_000]
        with LEAN_POOLS["https"]("127.0.0.1", server.server_port) as pool, pytest.raises(SSLError):
            self.ask(pool)
        assert len(set(server.RequestHandlerClass.ports)) == 1  # type: ignore[attr-defined]

    def test_through_a_proxy(self, server: ThreadingHTTPServer) -> None:
        """Through a proxy requests go by urllib3, with the whole address."""
        with ProxyManager(f"http://127.0.0.1:{server.server_port}") as manager:
            manager.pool_classes_by_scheme = LEAN_POOLS
            reply = manager.request("POST", "http://elsewhere.example/x", body=b"hello", retries=False)
        assert reply.data == b"hello"
        assert server.RequestHandlerClass.paths == ["http://elsewhere.example/x"]  # type: ignore[attr-defined]

    @pytest.mark.parametrize("own", [False, True])
    def test_a_server_that_is_silent(self, server: ThreadingHTTPServer, own: bool) -> None:
        """A read takes no longer than the pool's time-out for reading, or than that of the request."""
        handler: Any = server.RequestHandlerClass
        handler.pause = 0.5
        seconds, options = (30.0, {"timeout": 0.05}) if own else (0.05, {})
        with LEAN_POOLS["http"]("127.0.0.1", server.server_port, timeout=Timeout(connect=30, read=seconds)) as pool:
            with pytest.raises(ReadTimeoutError):
                pool.urlopen("POST", "/", body=b"hello", headers={"Content-Length": "5"}, retries=False, **options)
            handler.pause = 0.0

    def test_nobody_listens(self) -> None:
        """A server that is away is an error of connecting, after which botocore says that nothing was sent."""
        with LEAN_POOLS["http"]("127.0.0.1", free_port()) as pool, pytest.raises(NewConnectionError):
            self.ask(pool)

    @pytest.mark.parametrize("headers", [{"A": "b\r\nc: d"}])
    def test_a_header_that_is_none(self, server: ThreadingHTTPServer, headers: dict[str, str]) -> None:
        """A header with a line break is refused by http.client, and nothing is sent."""
        with LEAN_POOLS["http"]("127.0.0.1", server.server_port) as pool, pytest.raises((ValueError, HTTPError)):
            pool.urlopen("POST", "/", body=b"", headers=headers, retries=False)
        assert server.RequestHandlerClass.ports == []  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        "url",
        [
            "http://localhost:8000/",
            "http://localhost:80/",
            "https://dynamodb.eu-central-1.amazonaws.com/",
            "https://localhost:8443/",
            "http://[::1]:8000/",
        ],
    )
    def test_the_host(self, url: str) -> None:
        """The host of a request is the one that botocore signs."""
        manager = PoolManager()
        manager.pool_classes_by_scheme = LEAN_POOLS
        assert _host(manager.connection_from_url(url)) == auth._host_from_url(url)  # type: ignore[attr-defined]
