"""The web server: a request gets a thread only when it has arrived whole, so that slow clients stop nobody."""

import json
import logging
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from gunicorn.arbiter import Arbiter
from gunicorn.workers.gthread import ThreadWorker
from hypothesis import given
from hypothesis import strategies as st

import project.worker
from project.proof.faults.stack import Stack, running_stack
from project.worker import LARGEST_HEAD, LARGEST_LINE, BufferingWorker, Incoming
from sequences.exceptions import SequenceUnsound

MOST = 1000
SLOW_CLIENTS = 64


def post(*headers: str, body: bytes = b"", path: str = "/x") -> bytes:
    """A request."""
    head = "\r\n".join((f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *headers))
    return f"{head}\r\n\r\n".encode() + body


def chunked(content: bytes, size: int, *, trailer: bytes = b"", extension: bytes = b"") -> bytes:
    """A body in chunks."""
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    return (
        b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces) + b"0\r\n" + trailer + b"\r\n"
    )


def whole_after(request: bytes, cuts: list[int]) -> int:
    """After how many bytes the request is whole, if it arrives in pieces with these ends. -1: never."""
    incoming, before = Incoming(MOST), 0
    for end in sorted({*(cut for cut in cuts if cut < len(request)), len(request)}):
        incoming.add(request[before:end])
        before = end
        if incoming.whole:
            return end
    return -1


REQUESTS = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    post("Content-Length: 5", body=b"abcde"),
    post("content-length:0"),
    post(f"Content-Length: {MOST}", body=b"x" * MOST),
    post("Transfer-Encoding: chunked", body=chunked(b"abc" * 50, 7)),
    post("transfer-encoding:CHUNKED", body=chunked(b"\r\n0\r\n\r\n" * 9, 4)),
    post("Transfer-Encoding: chunked", body=chunked(b"abc", 1, trailer=b"X: 1\r\nY: 2\r\n", extension=b";a=b")),
    post("Transfer-Encoding: chunked", body=chunked(b"x" * MOST, 100)),
]


class TestIncoming:
    @given(st.sampled_from(REQUESTS), st.lists(st.integers(1, 1300)))
    def test_a_request_is_whole_with_its_last_byte(self, request_: bytes, cuts: list[int]) -> None:
        """However it is cut into pieces, a request is whole when its last byte has come, and not before."""
        assert whole_after(request_, cuts) == len(request_)
        assert whole_after(request_[:-1], cuts) == -1

    @given(st.sampled_from(REQUESTS), st.binary(max_size=20))
    def test_what_follows_is_kept(self, request_: bytes, following: bytes) -> None:
        """Bytes of the next request do not disturb, and are not lost."""
        incoming = Incoming(MOST)
        incoming.add(request_ + following)
        assert incoming.whole
        assert bytes(incoming.data) == request_ + following

    @given(st.binary(max_size=300), st.lists(st.integers(1, 400)))
    def test_nonsense_is_left_to_the_parser(self, noise: bytes, cuts: list[int]) -> None:
        """Whatever comes, nothing is raised, and no byte is lost."""
        for request in (noise, post("Transfer-Encoding: chunked", body=noise), post("Content-Length: x", body=noise)):
            incoming, before = Incoming(10**6), 0
            for end in sorted({*(cut for cut in cuts if cut < len(request)), len(request)}):
                incoming.add(request[before:end])
                before = end
            if not incoming.too_large:
                assert bytes(incoming.data) == request

    @pytest.mark.parametrize(
        "request_",
        [
            post(f"Content-Length: {MOST + 1}"),
            post(f"Content-Length: {'9' * 5000}"),
            post("Transfer-Encoding: chunked", body=b"%x\r\n" % (MOST + 1)),
            post("Transfer-Encoding: chunked", body=chunked(b"x" * MOST, 100)[:-5] + b"1\r\n"),
            post("Transfer-Encoding: chunked", body=chunked(b"x" * 300, 1)),
        ],
    )
    def test_a_large_body_is_refused_before_it_comes(self, request_: bytes) -> None:
        """As soon as a body is said to be too large, or the framing of its chunks is, nothing is awaited."""
        incoming = Incoming(MOST)
        incoming.add(request_)
        assert incoming.whole
        assert incoming.too_large
        assert b"Transfer-Encoding" not in incoming.data
        assert b"Content-Length" in incoming.data

    def test_a_client_that_waits_is_told_to_go_on(self) -> None:
        """A client that expects 100 is to get it; the header is taken out, since it is answered."""
        incoming = Incoming(MOST)
        incoming.add(post("Expect: 100-continue", "Content-Length: 3"))
        assert incoming.awaits_100
        assert not incoming.whole
        incoming.add(b"abc")
        assert incoming.whole
        assert bytes(incoming.data) == post("Content-Length: 3", body=b"abc")

    def test_a_client_whose_body_is_too_large_is_not(self) -> None:
        """A client that waits before it sends too much is refused without it."""
        incoming = Incoming(MOST)
        incoming.add(post("Expect: 100-continue", f"Content-Length: {MOST + 1}"))
        assert (incoming.awaits_100, incoming.whole) == (False, True)

    def test_an_endless_head_is_noticed(self) -> None:
        """A head that goes on and on is too large."""
        incoming = Incoming(MOST)
        incoming.add(b"GET / HTTP/1.1\r\nX: ")
        incoming.add(b"x" * LARGEST_HEAD)
        assert incoming.head_too_large

    def test_an_endless_size_is_left_to_the_parser(self) -> None:
        """The line with a chunk's size, and the trailers, cannot go on for ever either."""
        for endless in (b"1;" + b"x" * LARGEST_LINE, b"0\r\nX: " + b"x" * LARGEST_HEAD):
            incoming = Incoming(10**6)
            incoming.add(post("Transfer-Encoding: chunked", body=endless))
            assert incoming.whole


class Connection:
    """A connection to the web server."""

    def __init__(self, stack: Stack) -> None:
        host, _, port = stack.address.removeprefix("http://").partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self._signed = f"Authorization: Bearer {stack.token}"

    def send(self, *headers: str, body: bytes = b"", path: str = "/api/projects/") -> None:
        """Send a request with JSON."""
        self.socket.sendall(post(self._signed, "Content-Type: application/json", *headers, body=body, path=path))

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of the next answer."""
        with self.socket.makefile("rb") as file:
            status = int(file.readline().split()[1])
            headers = {}
            while (line := file.readline().decode()).strip():
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            if headers.get("transfer-encoding") == "chunked":
                body = b""
                while size := int(file.readline(), 16):
                    body += file.read(size)
                    file.readline()
                file.readline()
            else:
                body = file.read(int(headers.get("content-length", 0)))
        return status, headers, body

    @property
    def closed(self) -> bool:
        """Whether the server closes the connection."""
        return self.socket.recv(1) == b""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The running product: 2 processes of 16 threads."""
    with running_stack(tmp_path_factory.mktemp("stack"), through_proxy=False) as stack:
        yield stack


@pytest.mark.needs_engine
class TestServer:
    @pytest.fixture
    def connection(self, stack: Stack) -> Iterator[Connection]:
        """A connection."""
        connection = Connection(stack)
        yield connection
        connection.socket.close()

    @pytest.mark.parametrize(
        "begin",
        [
            post("Content-Length: 1000", body=b"{", path="/api/projects/"),
            post("Content-Length: 1000", body=b"username=", path="/login/"),
            post("Transfer-Encoding: chunked", body=b"5\r\nab", path="/api/projects/"),
            b"POST /api/projects/ HTT",
            b"",
            b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",  # and does not close its side
        ],
    )
    def test_slow_clients_stop_nobody(self, stack: Stack, begin: bytes) -> None:
        """While 64 clients send a byte now and then, or never end, another one is answered, again and again."""
        slow = [Connection(stack) for _ in range(SLOW_CLIENTS)]
        try:
            for connection in slow:
                connection.socket.sendall(begin)
            for _ in range(5):
                for connection in slow:
                    if begin.startswith(b"POST"):
                        connection.socket.sendall(b"x")
                for path in ("/login/", "/api/projects/"):
                    assert stack.ask("GET", path, patience=5).status == 200
        finally:
            for connection in slow:
                connection.socket.close()

    def test_a_slow_request_is_answered_when_it_is_whole(self, connection: Connection) -> None:
        """A body that comes byte by byte is served like any other."""
        body = json.dumps({"key": "SLOW", "name": "Slow"}).encode()
        connection.send(f"Content-Length: {len(body)}")
        for byte in body:
            connection.socket.sendall(bytes([byte]))
            time.sleep(0.001)
        assert connection.answer()[0] == 201

    def test_a_chunked_body_is_read(self, connection: Connection) -> None:
        """A body in chunks, without a length, is a body."""
        body = chunked(json.dumps({"key": "CHUNKS", "name": "Chunks"}).encode(), 5)
        connection.send("Transfer-Encoding: chunked", body=body)
        status, _, answer = connection.answer()
        assert (status, json.loads(answer)["key"]) == (201, "CHUNKS")

    @pytest.mark.parametrize("path", ["/api/projects/", "/login/"])
    @pytest.mark.parametrize(
        ("headers", "body"),
        [
            (["Content-Length: 1000001"], b"x" * 1_000_001),
            (["Content-Length: 1000000000000"], b"x"),
            (["Transfer-Encoding: chunked"], chunked(b"x" * 1_000_001, 8192)),
            (["Transfer-Encoding: chunked"], b"fffffff\r\nx"),
            (["Expect: 100-continue", "Content-Length: 1000001"], b""),
        ],
    )
    def test_a_large_body_is_413(self, connection: Connection, path: str, headers: list[str], body: bytes) -> None:
        """A body over 1 MB is refused in words that name the limit, and the connection is closed."""
        connection.send(*headers, body=body, path=path)
        status, answered, content = connection.answer()
        assert (status, answered["connection"]) == (413, "close")
        assert b"1,000,000 bytes" in content
        assert connection.closed

    def test_a_connection_goes_on(self, connection: Connection) -> None:
        """Requests one after the other, and several at once, are all answered on one connection."""
        get = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for requests in (1, 1, 3):
            connection.socket.sendall(get * requests)
            with connection.socket.makefile("rb") as file:
                seen = b""
                while seen.count(b'{"status": "ok"}') < requests:
                    seen += file.readline()

    def test_a_client_that_waits_is_told_to_go_on(self, connection: Connection) -> None:
        """A client that expects 100 gets it before it has sent its body, and once."""
        connection.send("Expect: 100-continue", "Content-Length: 2")
        assert connection.answer()[0] == 100
        connection.socket.sendall(b"{}")
        assert connection.answer()[0] == 400

    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            (b"nonsense\r\n\r\n", 400),
            (b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
            (b"GET / HTTP/1.1\r\nX: " + b"x" * 2 * LARGEST_HEAD, 431),
            (post("Transfer-Encoding: chunked", body=b"zz\r\n"), 400),
            (post("Transfer-Encoding: chunked", "Content-Length: 3", body=b"abc"), 400),
            (post("Content-Length: 3", "Content-Length: 4", body=b"abcd"), 400),
        ],
    )
    def test_what_is_no_request_is_refused(self, connection: Connection, sent: bytes, status: int) -> None:
        """What gunicorn's parser refuses is refused, at once, and the connection is closed."""
        connection.socket.sendall(sent)
        answered, headers, content = connection.answer()
        assert (answered, headers["content-type"]) == (status, "application/problem+json")
        assert json.loads(content)["status"] == status
        assert connection.closed

    def test_it_stops_beside_slow_clients(self, tmp_path: Path) -> None:
        """Unfinished requests do not keep a server from stopping."""
        with running_stack(tmp_path, workers=1, threads=2, through_proxy=False) as stack:
            slow = [Connection(stack) for _ in range(8)]
            for connection in slow:
                connection.send("Content-Length: 1000")
            stack.stop_web()
            assert stack.web.returncode == 0


def test_a_large_body_is_refused_on_any_server(client: Client, db: None) -> None:
    """The site itself refuses a body by its length."""
    answer: Any = client.post("/api/projects/", b"x" * 1_000_001, content_type="application/json")
    assert answer.status_code == 413
    assert client.post("/login/", b"x" * 1_000_000, content_type="text/plain").status_code != 413


class TestDeadlines:
    @pytest.fixture
    def worker(self, monkeypatch: pytest.MonkeyPatch) -> BufferingWorker:
        """A worker without a process around it."""
        worker = BufferingWorker.__new__(BufferingWorker)
        worker.pending_conns, worker.closing_conns = deque(), deque()
        worker.poller, worker.nr_conns, worker._look_at = selectors.DefaultSelector(), 0, 0.0
        return worker

    def connect(self, worker: BufferingWorker, *, received: bytes, timeout: float) -> socket.socket:
        """A client whose request is pending until this time. The value is the client's end."""
        ours, theirs = socket.socketpair()
        conn = SimpleNamespace(sock=ours, incoming=Incoming(MOST), timeout=timeout, close=ours.close)
        conn.incoming.add(received)
        worker.pending_conns.append(conn)
        worker.poller.register(ours, selectors.EVENT_READ)
        worker.nr_conns += 1
        theirs.settimeout(5)
        return theirs

    def test_a_connection_ends_when_its_client_has_closed_it(self, worker: BufferingWorker) -> None:
        """What a client still sends after its answer is dropped; when it closes the connection, that ends."""
        ours, theirs = socket.socketpair()
        conn = SimpleNamespace(sock=ours)
        worker._close(conn, graceful=True)
        theirs.sendall(b"more")
        worker._drop(conn, ours)
        assert list(worker.closing_conns) == [conn]
        theirs.close()
        worker._drop(conn, ours)
        assert (list(worker.closing_conns), worker.nr_conns) == ([], 0)

    def test_a_worker_that_stops_shortens_the_waiting(
        self, worker: BufferingWorker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No unfinished request is awaited beyond the deadline, and none for longer than before."""
        monkeypatch.setattr(ThreadWorker, "_cap_keepalive", lambda worker, deadline: None)
        worker.pending_conns.extend(SimpleNamespace(timeout=timeout) for timeout in (5.0, 50.0))
        worker._cap_keepalive(10.0)
        assert [conn.timeout for conn in worker.pending_conns] == [5.0, 10.0]

    def test_a_request_that_is_not_whole_in_time_is_408(self, worker: BufferingWorker) -> None:
        """Late clients are told, those who sent nothing are closed, others are left alone, whatever their order."""
        now = time.monotonic()
        early = self.connect(worker, received=b"GE", timeout=now + 3600)
        late = self.connect(worker, received=b"GE", timeout=now - 1)
        silent = self.connect(worker, received=b"", timeout=now - 1)
        worker.murder_pending()
        assert late.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert silent.recv(100) == b""
        assert worker.nr_conns == len(worker.pending_conns) == 1
        early.setblocking(False)
        with pytest.raises(BlockingIOError):
            early.recv(1)

    def test_a_slow_reader_does_not_keep_a_thread(
        self, worker: BufferingWorker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An answer that nobody reads is given up, and the connection is closed."""
        theirs = self.connect(worker, received=b"", timeout=0)
        [conn] = worker.pending_conns
        conn.client, worker.log = ("127.0.0.1", 1), logging.getLogger("worker")
        monkeypatch.setattr(project.worker, "SEND_SECONDS", 0.05)
        monkeypatch.setattr(ThreadWorker, "handle_request", lambda *_: conn.sock.sendall(b"x" * 10_000_000))
        assert worker.handle_request(None, conn) is False
        assert theirs.recv(1) == b"x"


class TestStart:
    def test_a_site_whose_sequences_are_unsound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """gunicorn ends with the code by which it starts no worker again, after one line that says why."""

        def unsound() -> None:
            raise SequenceUnsound("The sequence 'tickets': two Regions give the same number.")

        said: list[str] = []
        monkeypatch.setattr(ThreadWorker, "load_wsgi", lambda self: None)
        monkeypatch.setattr(project.worker, "require_sound", unsound)
        worker = object.__new__(BufferingWorker)
        worker.log = SimpleNamespace(critical=lambda text, *values: said.append(text % values))
        with pytest.raises(SystemExit) as ended:
            worker.load_wsgi()
        assert ended.value.code == Arbiter.WORKER_BOOT_ERROR
        assert said == ["Not started. The sequence 'tickets': two Regions give the same number."]
