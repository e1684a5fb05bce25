"""TLS: a certificate that is not trusted is told at once and for certain; what breaks after the request is not."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from sequences import dynamodb, get_next_value, put_next
from sequences.exceptions import NotConfigured, NotWritten, OutcomeUnknown
from sequences.registry import strategies
from tests.sequences.dynamodb.test_connections import CERTIFICATE

PUT = {"TableName": "items", "Item": {}}


class Server:
    """Takes connections of TLS. It notes the requests that it gets, and does with each connection what a test says."""

    def __init__(self, certificate: str) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.connections = 0
        self.requests: list[bytes] = []
        self.before: Callable[[socket.socket], None] = lambda sock: None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            try:
                self.before(sock)
                with self.context.wrap_socket(sock, server_side=True) as secure:
                    if request := secure.recv(65536):
                        self.requests.append(request)
                    # A record that does not fit the keys: what comes after it cannot be read.
                    socket.socket(fileno=secure.detach()).send(b"\x17\x03\x03\x00\x20" + bytes(32))
            except (OSError, ValueError):
                sock.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with a certificate for 127.0.0.1 and localhost, which signs itself."""
    path = tmp_path / "certificate.pem"
    path.write_text(CERTIFICATE)
    server = Server(str(path))
    yield server
    server.listening.close()


@pytest.fixture(autouse=True, params=[True, False], ids=["lean", "boto3"])
def _client(request: pytest.FixtureRequest, settings: Settings) -> Iterator[None]:
    """Each client in turn."""
    settings.SEQUENCES_CLIENTS = {"default": {"LEAN": request.param}}
    yield
    dynamodb.reset()


def reach(monkeypatch: pytest.MonkeyPatch, host: str, server: Server, bundle: str = "") -> None:
    """Have the client of this process reach the server by this name, and trust the certificates in a file."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"https://{host}:{server.port}")
    if bundle:
        monkeypatch.setenv("AWS_CA_BUNDLE", bundle)
    dynamodb.reset()


class TestCertificates:
    def refused(self, server: Server, words: str) -> None:
        """A put, an item and a value are refused at once, and the server sees no request."""
        uses: list[Callable[[], object]] = [
            lambda: dynamodb.call("put_item", PUT),
            lambda: put_next("sort-key", {}),
            lambda: get_next_value("atomic"),
        ]
        for use in uses:
            before = server.connections
            with pytest.raises(NotConfigured, match=f"(?s)nothing was sent: .*{words}.* AWS_CA_BUNDLE"):
                use()
            assert server.connections == before + 1
        assert server.requests == []

    def test_of_an_unknown_authority(self, configured: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        """A certificate that nobody known has signed is refused for certain, after one connection."""
        strategies.reset()
        reach(monkeypatch, "127.0.0.1", server)
        self.refused(server, "self.signed certificate")

    def test_for_another_name(
        self, configured: str, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A certificate for another name is refused for certain, after one connection."""
        strategies.reset()
        reach(monkeypatch, "127.0.0.2", server, str(tmp_path / "certificate.pem"))
        server.listening.close()
        server.listening = socket.create_server(("127.0.0.2", server.port))
        threading.Thread(target=server._serve, daemon=True).start()
        self.refused(server, "doesn.t match")


def test_a_handshake_that_fails(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A connection that never becomes secure is certain, and may heal."""
    reach(monkeypatch, "127.0.0.1", server, str(tmp_path / "certificate.pem"))
    server.before = lambda sock: sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(NotWritten, match="no secure connection"):
        dynamodb.call("put_item", PUT)
    assert server.requests == []


def test_a_record_that_is_damaged(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An answer whose record cannot be read leaves the outcome unknown."""
    reach(monkeypatch, "127.0.0.1", server, str(tmp_path / "certificate.pem"))
    with pytest.raises(OutcomeUnknown):
        dynamodb.call("put_item", PUT)
    assert server.requests[0].startswith(b"POST /")
