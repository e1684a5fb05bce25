"""The web server: a request gets a thread only when it has arrived whole, so that slow clients stop nobody."""

import json
import logging
import os
import signal
import socket
import sys
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
from pytest_django import Settings
from waitress.adjustments import Adjustments

import project.gunicorn
import project.worker
from project.gunicorn import MEASURED_IN, folder_of_measures
from project.proof.faults.stack import Stack, running_stack
from project.sending import SOCKET_OPTIONS, SendingConnection
from project.worker import LARGEST_HEAD, LONGEST_LINE, BufferingWorker, Refusal, Request, RequestTimeout
from sequences.exceptions import SequenceUnsound
from tests.sequences.support import wait_until
from tickets import health

SLOW_CLIENTS = 48


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
        self.signed = f"Authorization: Bearer {stack.token}"

    def send(self, *headers: str, body: bytes = b"", path: str = "/api/projects/") -> None:
        """Send a request with JSON."""
        self.socket.sendall(post(self.signed, "Content-Type: application/json", *headers, body=body, path=path))

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
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The product: a process of 16 threads. A test may stop it."""
    with running_stack(tmp_path_factory.mktemp("stack"), workers=1, through_proxy=False) as stack:
        yield stack


@pytest.fixture
def stack(product: Stack) -> Stack:
    """The running product."""
    if product.web.poll() is not None:
        product.start_web()
    return product


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
        """While 48 clients send a byte now and then, or never end, another one is answered, again and again."""
        slow = [Connection(stack) for _ in range(SLOW_CLIENTS)]
        try:
            for connection in slow:
                connection.socket.sendall(begin)
            for _ in range(2):
                for connection in slow:
                    if begin.startswith(b"POST"):
                        connection.socket.sendall(b"x")
                for path in ("/login/", "/api/projects/"):
                    assert stack.ask("GET", path, patience=20).status == 200
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

    @pytest.mark.parametrize("charset", ["hex", "undefined", "idna", "'none'"])
    def test_a_charset_of_no_text_is_left_out(self, connection: Connection, charset: str) -> None:
        """Addresses, forms and JSON are read as UTF-8 then, also before somebody signs in."""
        body = json.dumps({"username": "\u00e4", "password": "x"}, ensure_ascii=False).encode()
        form = b'--x\r\nContent-Disposition: form-data; name="username"\r\n\r\nxn--\\..\r\n--x--\r\n'
        for path, kind, content, status in (
            ("/login/?next=xn--%5C..", "text/plain", b"", 403),  # as no page has sent this form
            ("/login/", "multipart/form-data; boundary=x", form, 403),
            ("/api/auth/token/?x=xn--%5C..", "application/json", body, 401),
        ):
            headers = f"Content-Type: {kind}; CharSet={charset}", f"Content-Length: {len(content)}"
            connection.socket.sendall(post(*headers, body=content, path=path))
            assert connection.answer()[0] == status

    def test_json_in_another_charset_is_read(self, connection: Connection) -> None:
        """Some programs send Latin-1, and say so."""
        body = '{"name": "\u00e4"}'.encode("latin-1")
        headers = "Content-Type: application/json; charset=iso-8859-1", f"Content-Length: {len(body)}"
        connection.socket.sendall(post(connection.signed, *headers, body=body, path="/api/projects/"))
        status, _, answer = connection.answer()
        assert (status, [one["pointer"] for one in json.loads(answer)["errors"]]) == (400, ["/key"])

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
            (b"GET /" + b"x" * LARGEST_HEAD + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
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
        wait_until(lambda: "SIGHUP is refused" in (stack.folder / "web.log").read_text())
        assert workers.read_text() == before != ""
        assert stack.ask("GET", "/healthz").status == 200

    def test_workers_begin_with_the_loaded_site(self, stack: Stack) -> None:
        """The first process has loaded it, and with it the library that writes its JSON."""
        assert "orjson" in Path(f"/proc/{stack.web.pid}/maps").read_text()

    def test_it_stops_beside_slow_clients(self, stack: Stack) -> None:
        """Unfinished requests, of more clients than there are threads, do not keep a server from stopping."""
        slow = [Connection(stack) for _ in range(SLOW_CLIENTS)]
        for connection in slow:
            connection.send("Content-Length: 1000")
        stack.stop_web()
        assert stack.web.returncode == 0


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
    assert environ["PATH_INFO"] != "/hangs" or RELEASED.wait(60)
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
        client.settimeout(60)
        client.connect(self._address)
        client.sendall(sent)
        return client

    def stop(self) -> bool:
        """Ask it to stop, and wait. Whether it has ended."""
        self.worker.handle_exit(15, None)
        self._thread.join(60)
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
        wait_until(lambda: not connection.requests)
        connection.requests.append("under way")  # an idle connection would be closed
        connection.last_activity, send = 0.0, connection.send

        def looked_at(data: bytes, do_close: bool) -> int:
            connection.look(time.monotonic())
            sent: int = send(data, do_close)
            return sent

        monkeypatch.setattr(connection, "send", looked_at)
        connection.write_soon(b"late")
        assert client.recv(4) == b"late"
        connection.requests.clear()
        client.close()

    def test_a_connection_ends_when_its_client_has_closed_it(
        self, running: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What a client still sends after its last answer is dropped, and resets nothing."""
        monkeypatch.setattr(project.worker, "CLOSE_SECONDS", 60.0)
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
        wait_until(lambda: not running.worker._server.active_channels)
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
    def test_what_workers_measure_begins_anew(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """The first process makes an empty folder for its workers, and removes it at its end."""
        monkeypatch.setenv("METRICS_TOKEN", "a token")
        monkeypatch.setenv(MEASURED_IN, "")
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        folder = Path(folder_of_measures())
        (folder / "counter_1.db").touch()
        monkeypatch.setenv(MEASURED_IN, str(folder))
        assert folder_of_measures() == str(folder)
        assert list(folder.iterdir()) == []
        project.gunicorn.on_exit(None)
        assert not folder.exists()

    def test_a_folder_that_the_environment_names(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """It stays."""
        monkeypatch.setattr(project.gunicorn, "_named", str(tmp_path))
        monkeypatch.setenv(MEASURED_IN, str(tmp_path))
        project.gunicorn.on_exit(None)
        assert tmp_path.exists()

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


class TestRequests:
    """What has arrived of one request, whose body may have 10 bytes."""

    @pytest.fixture
    def request_(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """A request that begins to arrive when the clock that never jumps shows 100."""
        monkeypatch.setattr(health, "STOPPING", threading.Event())
        monkeypatch.setattr("project.worker.time", SimpleNamespace(monotonic=lambda: 100.0))
        return Request(Adjustments(max_request_body_size=10))

    def test_it_is_whole_with_its_body(self, request_: Any) -> None:
        """It has half a minute to arrive, and knows when it was whole; its connection stays."""
        assert (request_.deadline, request_.arrived, request_.path) == (130.0, 0.0, "")
        head = post("Content-Length: 2")
        assert request_.received(head) == len(head)
        assert (request_.completed, request_.arrived) == (False, 0.0)
        assert request_.received(b"{}more") == 2
        assert (request_.completed, request_.arrived, request_.error) == (True, 100.0, None)
        assert "CONNECTION" not in request_.headers

    def test_a_worker_that_stops_ends_the_connection(self, request_: Any) -> None:
        """The answer to what arrives then is the last one."""
        health.STOPPING.set()
        request_.received(post("Content-Length: 2"))
        assert request_.headers["CONNECTION"] == "close"

    @pytest.mark.parametrize(
        ("sent", "length"),
        [
            (post("Content-Length: 11"), "11"),
            (post("Content-Length: 11", "Expect: 100-continue"), "11"),
            (post("Transfer-Encoding: chunked", body=b"b\r\n" + b"x" * 11), "10"),
        ],
    )
    def test_a_body_that_is_too_large_is_not_awaited(self, request_: Any, sent: bytes, length: str) -> None:
        """The site refuses it by its length, or by the limit where it has none."""
        while not request_.completed:
            sent = sent[request_.received(sent) :]
        assert (request_.error, request_.body_rcv) == (None, None)
        assert (request_.headers["CONTENT_LENGTH"], request_.headers["CONNECTION"]) == (length, "close")
        assert (request_.expect_continue, request_.arrived) == (False, 100.0)

    @pytest.mark.parametrize(
        ("length", "end", "code"),
        [
            (LONGEST_LINE, "\r\nHost: x\r\n\r\n", None),
            (LONGEST_LINE + 1, "\r\nHost: x\r\n\r\n", 414),
            (LONGEST_LINE + 1, "\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", 414),
            (LONGEST_LINE + 1, "", 414),  # it is not awaited
            (LARGEST_HEAD, "", 414),
        ],
    )
    @pytest.mark.parametrize("piece", [100, 8192])
    def test_an_address_that_is_too_long(
        self, request_: Any, length: int, end: str, code: int | None, piece: int
    ) -> None:
        """It is refused as soon as it is too long, whatever follows."""
        sent = ("GET /" + "x" * (length - 14) + " HTTP/1.1" + end).encode()
        while sent and not request_.completed:
            sent = sent[request_.received(sent[:piece]) :]
        assert (request_.completed, request_.expect_continue) == (True, False)
        assert (request_.error and request_.error.code) == code

    def test_a_refusal_is_a_problem(self) -> None:
        """It says in JSON what is wrong, and that the connection closes."""
        refusal, written = object.__new__(Refusal), list[bytes]()
        refusal.request = SimpleNamespace(error=RequestTimeout("Too late."))
        refusal.response_headers, refusal.close_on_finish = [], False
        refusal.write = written.append
        refusal.execute()
        about = {"type": "about:blank", "title": "Request Timeout", "status": 408, "detail": "Too late."}
        assert json.loads(written[0]) == {**about, "code": "request_timeout"}
        assert (refusal.status, refusal.content_length) == ("408 Request Timeout", len(written[0]))
        assert ("Content-Type", "application/problem+json") in refusal.response_headers
        assert refusal.close_on_finish


class Line:
    """A connection without a socket, and what becomes of it. The clock shows 100."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("project.worker.time", SimpleNamespace(monotonic=lambda: 100.0))
        self.done: list[Any] = []
        monkeypatch.setattr(SendingConnection, "handle_write", lambda _: self.done.append("written"))
        monkeypatch.setattr(SendingConnection, "received", lambda _, data: self._take(data))
        self.connection: Any = object.__new__(project.worker.Connection)
        self.connection.__dict__.update(
            look_at_sending=self.done.append,
            handle_close=lambda: self.done.append("closed"),
            socket=SimpleNamespace(shutdown=self.done.append),
            server=SimpleNamespace(add_task=self.done.append),
            requests=[],
            requests_lock=threading.Lock(),
            request=None,
            connected=True,
            total_outbufs_len=0,
            close_when_flushed=False,
            will_close=False,
        )

    def _take(self, data: bytes) -> bool:
        self.done.append(data)
        return True


class TestLines:
    @pytest.fixture
    def line(self, monkeypatch: pytest.MonkeyPatch) -> Line:
        """A connection."""
        return Line(monkeypatch)

    def test_after_the_last_answer_it_is_shut(self, line: Line) -> None:
        """Then its client is told that there is no more, and for two seconds what it sends is dropped."""
        connection = line.connection
        connection.handle_write()
        assert line.done == ["written"]
        connection.close_when_flushed, connection.total_outbufs_len = True, 5
        connection.handle_write()
        assert (line.done, connection.close_when_flushed) == (["written"] * 2, True)
        assert connection.received(b"more")
        connection.total_outbufs_len = 0
        connection.handle_write()
        assert line.done == ["written", "written", b"more", "written", socket.SHUT_WR]
        assert (connection.close_when_flushed, connection.will_close) == (False, False)
        assert not connection.received(b"more")
        for now in (100.0, 101.9, 102.0):
            connection.look(now)
        assert "closed" not in line.done
        connection.look(102.1)
        assert line.done[-1] == "closed"

    def test_a_client_that_is_away(self, line: Line) -> None:
        """What cannot be shut closes; what is closed is left alone."""

        def away(how: int) -> None:
            raise OSError

        line.connection.socket.shutdown, line.connection.close_when_flushed = away, True
        line.connection.handle_write()
        assert line.connection.will_close
        line.connection.connected, line.connection.close_when_flushed = False, True
        line.connection.socket.shutdown = line.done.append
        line.connection.handle_write()
        assert line.done == ["written", "written"]

    def test_a_request_that_is_late_is_refused(self, line: Line) -> None:
        """Once, and not while another one of the same client is under way; who has sent nothing is left alone."""
        connection, late = line.connection, SimpleNamespace(deadline=100.0, error=None)
        connection.look(1000.0)
        connection.request, connection.requests = late, ["another"]
        connection.look(1000.0)
        connection.requests = []
        connection.look(100.0)
        assert (late.error, connection.requests) == (None, [])
        connection.look(100.1)
        assert (type(late.error), connection.requests, connection.request) == (RequestTimeout, [late], None)
        assert line.done == [1000.0, 1000.0, 100.0, 100.1, connection]

    @pytest.mark.parametrize(
        ("came", "known"),
        [("::ffff:192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"), ("192.0.2.1", "192.0.2.1")],
    )
    def test_ipv4_by_ipv6_is_ipv4(self, came: str, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The address of a client is the same at a socket of IPv6, for the trust in a proxy and for the log."""
        taken = list[Any]()
        monkeypatch.setattr(SendingConnection, "__init__", lambda _, *given, **__: taken.append(given[2]))
        with socket.socket() as sock:
            project.worker.Connection(None, sock, (came, 1234, 0, 0), None)
        assert taken == [(known, 1234, 0, 0)]

    @pytest.mark.parametrize(("requests", "left", "idle"), [([], 0, True), (["one"], 0, False), ([], 1, False)])
    def test_it_is_idle_without_anything_to_do(self, line: Line, requests: list[str], left: int, idle: bool) -> None:
        """No whole request awaits its answer, and no answer its reader."""
        line.connection.requests, line.connection.total_outbufs_len = requests, left
        assert line.connection.idle is idle


class TestEnd:
    """A worker that ends, whose turns take a second each."""

    @pytest.fixture
    def worker(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """A worker with two connections, of which one is busy. `turns` counts the seconds."""
        worker: Any = object.__new__(BufferingWorker)
        worker.turns, worker.ppid = 0, os.getppid()
        worker.cfg = SimpleNamespace(graceful_timeout=20)
        idle, busy = SimpleNamespace(idle=True, closed=[]), SimpleNamespace(idle=False, closed=[])
        for one in (idle, busy):
            one.handle_close = lambda one=one: one.closed.append(worker.turns)
        worker._server = SimpleNamespace(active_channels={1: idle, 2: busy})

        def turn() -> None:
            worker.turns += 1

        worker._turn = turn
        monkeypatch.setattr("project.worker.time", SimpleNamespace(monotonic=lambda: 50.0 + worker.turns))
        monkeypatch.setattr("project.worker.environment.stop_delay", lambda: 5.0)
        return worker

    def test_it_awaits_what_is_under_way(self, worker: Any) -> None:
        """For what gunicorn leaves it, less the time to tell load balancers and to end; idle ones for two seconds."""
        worker._finish()
        idle, busy = worker._server.active_channels.values()
        assert (worker.turns, idle.closed, busy.closed) == (13, [*range(3, 14)], [])

    def test_without_connections_it_ends(self, worker: Any) -> None:
        """At once."""
        worker._server.active_channels = {}
        worker._finish()
        assert worker.turns == 0

    @pytest.mark.parametrize(("timeout", "orphan", "turns"), [(5, False, 1), (20, True, 2), (8, True, 1)])
    def test_it_may_have_less_time(self, worker: Any, timeout: int, orphan: bool, turns: int) -> None:
        """A second at least, and two at most where gunicorn is gone."""
        worker.cfg.graceful_timeout = timeout
        worker.ppid = -1 if orphan else worker.ppid
        worker._finish()
        assert worker.turns == turns

    def test_it_takes_who_waits(self, worker: Any) -> None:
        """Connections are taken until there is no other one."""
        waiting, channels = [3, 4], worker._server.active_channels

        def accept() -> None:
            if waiting:
                channels[waiting.pop()] = None

        worker._server.handle_accept = accept
        worker._take_waiting()
        assert set(channels) == {1, 2, 3, 4}

    def test_it_begins_to_stop(self, worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """It says so at once, and leaves when load balancers have noticed; no thread keeps the process."""
        timers = list[Any]()

        class Timer(SimpleNamespace):
            def start(self) -> None:
                timers.append(self)

        monkeypatch.setattr(health, "STOPPING", threading.Event())
        monkeypatch.setattr(threading, "Timer", lambda seconds, act: Timer(seconds=seconds, act=act))
        worker._server.pull_trigger = lambda: timers.append("pulled")
        worker.alive = True
        worker.handle_exit(15, None)
        assert health.STOPPING.is_set()
        assert (timers[0].seconds, timers[0].daemon, worker.alive) == (5.0, True, True)
        timers[0].act()
        assert (timers[1:], worker.alive) == (["pulled"], False)


def test_how_waitress_is_set(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """It refuses what no request may have, believes the proxies that are named, and takes connections of ours."""
    made = list[Any]()

    def create(application: Any, **options: Any) -> Any:
        made.append(options)
        return SimpleNamespace(adj=SimpleNamespace())

    monkeypatch.setattr(project.worker, "create_server", create)
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    cfg = SimpleNamespace(threads=3, keepalive=75)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    server = project.worker.serving(application, [], cfg)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "10.0.0.1")
    project.worker.serving(application, [], cfg)
    for options in made:
        options.pop("_dispatcher").shutdown()
    common = {
        "sockets": [],
        "channel_timeout": 75,
        "cleanup_interval": 1,
        "connection_limit": 1000,
        "outbuf_high_watermark": sys.maxsize,
        "max_request_header_size": 65_536,
        "trusted_proxy_headers": {"x-forwarded-proto"},
        "clear_untrusted_proxy_headers": False,
        "ident": "",
        "log_socket_errors": False,
    }
    assert made == [
        {**common, "max_request_body_size": 2000, "trusted_proxy": "127.0.0.1"},
        {**common, "max_request_body_size": sys.maxsize, "trusted_proxy": "10.0.0.1"},
    ]
    assert (server.channel_class, server.adj.socket_options) == (project.worker.Connection, SOCKET_OPTIONS)
    assert logging.getLogger("waitress.queue").level == logging.ERROR


def test_the_accounts_are_asked_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of its own asks the SQL database, and nobody waits longer than five seconds."""
    awaited = list[Any]()

    def result(seconds: float) -> None:
        awaited.append(seconds)
        raise TimeoutError

    def begun(ask: Any, name: str) -> Any:
        awaited.extend([ask, name])
        return SimpleNamespace(result=result)

    monkeypatch.setattr(health, "begun", begun)
    project.worker.require_own_tables()
    assert awaited == [project.worker._ask_for_own_tables, "own-tables", 5.0]
