"""The web server: a request gets a thread only when it has arrived whole, so that slow clients stop nobody."""

import json
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

import project.gunicorn
import project.worker
from project.gunicorn import MEASURED_IN
from project.proof.faults.stack import Stack, running_stack
from project.worker import LARGEST_HEAD, BufferingWorker
from sequences.exceptions import SequenceUnsound
from tests.sequences.support import wait_until
from tickets import health

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
            (["Expect: 100-continue", "Content-Length: 3000000"], b""),
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
        for requests in (1, 1, 3):
            for _ in range(requests):
                connection.send("Content-Length: 2", body=b"{}")
            seen = b""
            while seen.count(b"HTTP/1.1 400") < requests:
                seen += connection.socket.recv(10_000)

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
            (b"GET / HTTP/1.1\r\nX: " + b"x" * 2 * LARGEST_HEAD, 431),
            (post("Transfer-Encoding: chunked", body=b"zz\r\n"), 400),
            (post("Content-Length: 3", "Content-Length: 4", body=b"abcd"), 400),
        ],
    )
    def test_what_is_no_request_is_refused(self, connection: Connection, sent: bytes, status: int) -> None:
        """What waitress's parser refuses is refused, at once, and the connection is closed."""
        connection.socket.sendall(sent)
        answered, headers, content = connection.answer()
        assert (answered, headers["content-type"]) == (status, "application/problem+json")
        problem = json.loads(content)
        assert (problem["type"], problem["status"]) == ("about:blank", status)
        assert connection.closed

    def test_a_hang_up_is_refused(self, stack: Stack) -> None:
        """At SIGHUP the log says what to do, and the workers stay."""
        workers = Path(f"/proc/{stack.web.pid}/task/{stack.web.pid}/children")
        before = workers.read_text()
        stack.web.send_signal(signal.SIGHUP)
        for _ in range(100):
            if "SIGHUP is refused" in (stack.folder / "web.log").read_text():
                break
            time.sleep(0.1)
        else:
            pytest.fail("The log does not say it.")
        assert workers.read_text() == before != ""
        assert stack.ask("GET", "/healthz", patience=5).status == 200

    def test_it_stops_beside_slow_clients(self, stack: Stack) -> None:
        """Unfinished requests, of more clients than there are threads, do not keep a server from stopping."""
        slow = [Connection(stack) for _ in range(SLOW_CLIENTS)]
        for connection in slow:
            connection.send("Content-Length: 1000")
        stack.stop_web()
        ended = stack.web.returncode
        stack.start_web()  # the tests may come in any order
        assert ended == 0


def test_a_large_body_is_refused_on_any_server(client: Client, db: None) -> None:
    """The site itself refuses a body by its length."""
    answer: Any = client.post("/api/projects/", b"x" * 1_000_001, content_type="application/json")
    assert answer.status_code == 413
    assert client.post("/login/", b"x" * 1_000_000, content_type="text/plain").status_code != 413


LARGE = b"x" * 10_000_000
RELEASED = threading.Event()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Answer /large with more than sockets hold, and anything else in a word.

    /hangs waits until it is released.
    """
    assert environ["PATH_INFO"] != "/hangs" or RELEASED.wait(20)
    body = {"/large": [LARGE]}.get(environ["PATH_INFO"], [b"served"])
    start_response("200 OK", [("Content-Length", f"{sum(map(len, body))}")])
    return body


class Running:
    """A worker with one thread for requests, in a thread of this process."""

    def __init__(self, site: Callable[..., Any] = application) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._address = self._socket.getsockname()
        self.worker = object.__new__(BufferingWorker)
        self.worker.wsgi, self.worker.alive, self.worker.ppid = site, True, os.getppid()
        self.worker.notify, self.worker.sockets = (lambda: None), [SimpleNamespace(sock=self._socket)]
        self.worker.cfg = SimpleNamespace(threads=1, keepalive=75, graceful_timeout=20)
        self._thread = threading.Thread(target=self.worker.run)
        self._thread.start()

    def connect(self, sent: bytes) -> socket.socket:
        """A client that has sent this."""
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(20)
        client.connect(self._address)
        client.sendall(sent)
        return client

    def stop(self) -> bool:
        """Ask it to stop, and wait. Whether it has ended."""
        self.worker.handle_exit(15, None)
        self._thread.join(15)
        return not self._thread.is_alive()


def read(client: socket.socket) -> bytes:
    """All that a client gets until the connection is closed."""
    return b"".join(iter(lambda: client.recv(1_000_000), b""))


def read_until(client: socket.socket, end: bytes) -> None:
    """Read until what has arrived ends so: an answer may arrive in pieces."""
    found = b""
    while not found.endswith(end):
        piece = client.recv(1000)
        assert piece, found
        found += piece


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
CLOSE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class TestConnections:
    @pytest.fixture
    def running(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
        """A running worker."""
        monkeypatch.setattr(health, "STOPPING", threading.Event())
        monkeypatch.setattr(project.worker, "IDLE_SECONDS", 0.2)
        running = Running()
        yield running
        assert running.stop()

    def test_a_request_that_is_not_whole_in_time_is_408(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A client whose request does not end in time is told so. One that has sent nothing is left alone."""
        silent = running.connect(b"")
        monkeypatch.setattr(project.worker, "READ_SECONDS", 0.1)
        late = running.connect(b"GET / HT")
        assert b" 408 Request Timeout" in read(late)
        silent.sendall(CLOSE)
        assert read(silent).endswith(b"served")

    @pytest.mark.parametrize("path", sorted(health.OWN_STATE))
    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    def test_its_own_state_needs_no_thread(self, running: Running, path: str, method: str) -> None:
        """While every thread hangs, and others wait for one, the process says that it lives; then all are answered."""
        RELEASED.clear()
        hanging = [running.connect(CLOSE.replace(b"/", b"/hangs", 1)) for _ in range(2)]
        asked = f"{method} {path}".encode()
        try:
            wait_until(lambda: running.worker._server)
            waiting = running.worker._server.task_dispatcher.queue
            wait_until(lambda: len(waiting) == 1 and not waiting)  # one hangs, and the other has no thread
            for _ in range(2):
                assert b" 200 OK" in read(running.connect(CLOSE.replace(b"GET /", asked)))
            assert len(waiting) == 1
        finally:
            RELEASED.set()
        assert all(read(client).endswith(b"served") for client in hanging)

    def test_its_own_state_among_other_requests(self, running: Running) -> None:
        """A client that sends several requests at once gets the answers in their order."""
        own = GET.replace(b"/", b"/healthz", 1)
        answers = read(running.connect(GET + own + GET + own + CLOSE))
        assert answers.count(b" 200 OK") == answers.count(b"served") == 5

    def test_slow_readers_keep_no_thread(self, running: Running) -> None:
        """Others are served while clients do not read large answers, which are then whole."""
        slow = [running.connect(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") for _ in range(3)]
        assert read(running.connect(CLOSE)).endswith(b"served")
        assert all(read(client).endswith(LARGE) for client in slow)

    def test_an_answer_that_took_long(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is sent, though the connection was without progress until then: nobody could read it yet."""
        client = running.connect(GET)
        read_until(client, b"served")
        (connection,) = running.worker._server.active_channels.values()
        connection.last_activity, send = 0.0, connection.send

        def looked_at(data: bytes, do_close: bool) -> int:
            connection.look(time.time())
            sent: int = send(data, do_close)
            return sent

        monkeypatch.setattr(connection, "send", looked_at)
        connection.write_soon(b"late")
        assert client.recv(4) == b"late"
        client.close()

    def test_a_connection_ends_when_its_client_has_closed_it(self, running: Running) -> None:
        """What a client still sends after its last answer is dropped, and resets nothing."""
        client = running.connect(CLOSE)
        assert read(client).endswith(b"served")
        client.sendall(b"more")
        assert len(running.worker._server.active_channels) == 1
        client.close()

    def test_a_connection_that_its_client_does_not_close(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is closed a little later."""
        monkeypatch.setattr(project.worker, "CLOSE_SECONDS", 0.1)
        client = running.connect(CLOSE)
        read(client)
        for _ in range(100):
            if not running.worker._server.active_channels:
                break
            time.sleep(0.1)
        assert not running.worker._server.active_channels
        client.close()

    def test_a_worker_that_stops(self, running: Running) -> None:
        """Whole requests are answered, with the word that the connection closes; unfinished ones are not awaited."""
        kept, unfinished = running.connect(GET), running.connect(b"GET / HTTP")
        read_until(kept, b"served")
        health.STOPPING.set()
        kept.sendall(GET)
        assert b"Connection: close" in read(kept)
        assert running.stop()
        assert unfinished.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            running.connect(b"")

    def test_an_answer_that_is_not_read_yet(self, running: Running) -> None:
        """A worker that stops sends an answer to its end."""
        client = running.connect(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(1) == b"H"
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        time.sleep(0.5)
        assert read(client).endswith(LARGE)
        stopping.join()


class TestStart:
    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
        """gunicorn's first process, with metrics, for which the environment names no folder."""
        monkeypatch.setenv("METRICS_TOKEN", "a token")
        monkeypatch.setenv(MEASURED_IN, "")
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return SimpleNamespace()

    def test_what_workers_measure_begins_anew(self, server: SimpleNamespace) -> None:
        """The first process makes an empty folder for its workers, and removes it at its end."""
        project.gunicorn.on_starting(server)
        folder = Path(os.environ[MEASURED_IN])
        (folder / "counter_1.db").touch()
        project.gunicorn.on_starting(server)
        assert list(folder.iterdir()) == []
        server.made = str(folder)
        project.gunicorn.on_exit(server)
        assert not folder.exists()

    def test_a_stop_before_it_serves(self) -> None:
        """A worker that is asked to stop while it still starts ends at once."""
        worker = object.__new__(BufferingWorker)
        worker.alive = True
        worker._leave()
        assert not worker.alive

    def test_a_site_whose_sequences_are_unsound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """gunicorn ends with the code by which it starts no worker again, after one line that says why."""

        def unsound() -> None:
            raise SequenceUnsound("The sequence 'tickets': two Regions give the same number.")

        said: list[str] = []
        monkeypatch.setattr(Worker, "load_wsgi", lambda self: None)
        monkeypatch.setattr(project.worker, "require_sound", unsound)
        worker = object.__new__(BufferingWorker)
        worker.log = SimpleNamespace(critical=lambda text, *values: said.append(text % values))
        with pytest.raises(SystemExit) as ended:
            worker.load_wsgi()
        assert ended.value.code == Arbiter.WORKER_BOOT_ERROR
        assert said == ["Not started. The sequence 'tickets': two Regions give the same number."]
