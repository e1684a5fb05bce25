"""How answers leave a web process: no thread waits for a client, and what is not read is bounded."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

import project.sending
import project.worker
from project.sending import ENOUGH, SendingConnection
from project.turns import Turns
from tests.project.test_worker import CLOSE, GET, Running, read, read_until
from tests.sequences.support import wait_until
from tickets import health

PART = b"x" * 1_000_000
PARTS = 10


class Book:
    """An answer in parts, which knows how many were made, and whether it was closed."""

    def __init__(self) -> None:
        self.made = 0
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(PARTS):
            self.made += 1
            yield PART

    def close(self) -> None:
        """The web server wants no more."""
        self.closed.set()


def broken() -> Iterator[bytes]:
    """An answer whose end cannot be made."""
    yield b"the first part"
    raise OSError("The rest is gone.")


class Library:
    """A site that answers /book with a new book, /broken with one that breaks, /nothing so, and / in a word.

    It answers HEAD without a body, and names a length of /book and / alone.
    """

    def __init__(self) -> None:
        self.books: list[Book] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if environ["REQUEST_METHOD"] == "HEAD":
            start_response("200 OK", [("Content-Length", "6")] if path == "/" else [])
            return []
        if path == "/":
            start_response("200 OK", [("Content-Length", "6")])
            return [b"served"]
        if path == "/nothing":
            start_response("204 No Content", [])
            return []
        if path == "/broken":
            start_response("200 OK", [])
            return broken()
        start_response("200 OK", [("Content-Length", str(PARTS * len(PART)))])
        self.books.append(Book())
        return self.books[-1]


@pytest.fixture
def library() -> Library:
    """A site."""
    return Library()


@pytest.fixture
def running(library: Library, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A worker with one thread, which serves the library."""
    monkeypatch.setattr(health, "STOPPING", threading.Event())
    monkeypatch.setattr(project.worker, "IDLE_SECONDS", 0.2)
    running = Running(library)
    yield running
    assert running.stop()


def test_one_piece(running: Running) -> None:
    """The headers and the first part of an answer are sent at once."""
    send = mock.patch.object(SendingConnection, "send", autospec=True, side_effect=SendingConnection.send)
    with send as sent:
        assert read(running.connect(CLOSE)).endswith(b"served")
    assert sent.call_count == 1


def test_without_a_body(running: Running) -> None:
    """An answer that has headers alone is sent, too."""
    assert read(running.connect(CLOSE.replace(b"/", b"/nothing", 1))).startswith(b"HTTP/1.1 204 No Content\r\n")


HEAD = GET.replace(b"GET", b"HEAD")


def test_head_without_a_length(running: Running) -> None:
    """The answer ends with its headers, which say that the connection closes."""
    answer = read(running.connect(HEAD.replace(b"/", b"/broken", 1)))
    assert answer.endswith(b"\r\n\r\n")
    assert (answer.count(b"\r\n\r\n"), b"\r\nConnection: close\r\n" in answer) == (1, True)


def test_head_with_a_length(running: Running) -> None:
    """The next answer follows the headers."""
    head, answer = read(running.connect(HEAD + CLOSE)).split(b"\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert b"\r\nContent-Length: 6\r\n" in head
    assert answer.endswith(b"served")


BOOK = GET.replace(b"/", b"/book", 1)
LAST_BOOK = CLOSE.replace(b"/", b"/book", 1)


class TestParts:
    def test_an_answer_in_parts_keeps_no_thread(self, running: Running, library: Library) -> None:
        """Others are served by the only thread while clients read nothing; then their answers are whole."""
        slow = [running.connect(LAST_BOOK) for _ in range(3)]
        assert read(running.connect(CLOSE)).endswith(b"served")
        for client in slow:
            assert read(client).endswith(b"\r\n\r\n" + PART * PARTS)
        assert [book.made for book in library.books] == [PARTS] * 3

    def test_it_is_made_as_it_is_read(self, running: Running, library: Library) -> None:
        """Of an answer that nobody reads, the process holds `ENOUGH` and a part. It is not closed until it is sent."""
        client = running.connect(LAST_BOOK)
        (connection,) = wait_for(lambda: [each for each in channels(running) if each.paused])
        assert ENOUGH < connection.total_outbufs_len <= ENOUGH + len(PART) + 100
        (book,) = library.books
        assert book.made < 5
        assert not book.closed.is_set()
        read(client)
        assert book.closed.wait(60)

    def test_one_that_is_read_before_it_pauses(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        """It goes on, though nothing more is sent that could say so."""
        pause, pausing = project.worker.Connection._pause, threading.Event()

        def late(connection: Any, answer: Any) -> None:
            pausing.set()
            wait_for(lambda: not connection.total_outbufs_len)
            pause(connection, answer)

        monkeypatch.setattr(project.worker.Connection, "_pause", late)
        client = running.connect(LAST_BOOK)
        assert pausing.wait(60)
        assert read(client).endswith(PART * PARTS)

    def test_a_client_that_leaves(self, running: Running, library: Library) -> None:
        """The answer that it did not read is closed: nothing of it stays."""
        client = running.connect(BOOK)
        wait_for(lambda: [each for each in channels(running) if each.paused])
        client.close()
        (book,) = library.books
        assert book.closed.wait(60)
        assert book.made < PARTS

    def test_requests_after_it_wait(self, running: Running) -> None:
        """A client that sends several requests at once gets whole answers in their order."""
        client = running.connect(BOOK + GET + LAST_BOOK)
        answers = read(client)
        assert answers.count(PART * PARTS) == 2
        assert PART + b"HTTP/1.1 200 OK" in answers
        assert b"served" + b"HTTP/1.1 200 OK" in answers

    def test_one_that_breaks(self, running: Running) -> None:
        """What was made is sent, and the connection is closed without the mark of a complete answer."""
        answer = read(running.connect(GET.replace(b"/", b"/broken", 1)))
        assert b"\r\nTransfer-Encoding: chunked\r\n" in answer
        assert answer.endswith(b"\r\nE\r\nthe first part\r\n")

    def test_a_worker_that_stops_finishes_it(self, running: Running, library: Library) -> None:
        """The parts that are not made yet are made and sent."""
        client = running.connect(LAST_BOOK)
        wait_for(lambda: [each for each in channels(running) if each.paused])
        stopping = threading.Thread(target=running.stop)
        stopping.start()
        assert read(client).endswith(PART * PARTS)
        stopping.join()


class TestLimits:
    def test_a_client_that_reads_too_slowly(
        self, running: Running, library: Library, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It loses its connection, even if it reads a little; its answer is closed."""
        monkeypatch.setattr(project.sending, "SEND_SECONDS", 0.3)
        monkeypatch.setattr(project.sending, "SLOWEST", 10**9)
        client = running.connect(BOOK)
        (book,) = wait_for(lambda: library.books)

        def is_closed() -> bool:
            client.recv(1000)
            return bool(book.closed.is_set())

        wait_until(is_closed)
        wait_until(lambda: not channels(running))

    def test_one_that_reads_fast_enough(
        self, running: Running, library: Library, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It gets all, however long that takes: here 100 KB in a second."""
        arrived, began = 0, time.monotonic()
        clock = SimpleNamespace(monotonic=lambda: began + arrived / 100_000, time=time.time)
        for module in (project.sending, project.worker):
            monkeypatch.setattr(module, "time", clock)
        client = running.connect(LAST_BOOK)
        while piece := client.recv(1_000_000):
            arrived += len(piece)
        assert arrived > PARTS * len(PART)
        client.close()

    def test_what_is_not_read_is_bounded(
        self, running: Running, library: Library, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of those who read nothing, the first lose their connections: the process holds no more than it may."""
        monkeypatch.setattr(project.sending, "MOST_UNREAD", 3 * (ENOUGH + len(PART)))
        clients = [running.connect(BOOK) for _ in range(8)]
        wait_for(lambda: len(library.books) == 8 and library.books[4].closed.is_set())
        assert wait_for(lambda: read(running.connect(CLOSE))).endswith(b"served")
        assert sum(each.total_outbufs_len for each in channels(running)) <= project.sending.MOST_UNREAD
        assert not library.books[-1].closed.is_set()
        for client in clients:
            client.close()

    def test_connections_without_progress_make_room(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        """When nearly all connections are taken, those close that have done nothing for longest."""
        monkeypatch.setattr(project.worker, "MOST_CONNECTIONS", project.sending.SPARE + 3)
        idle = [running.connect(b"") for _ in range(10)]
        wait_for(lambda: len(channels(running)) <= 3)
        assert idle[0].recv(1) == b""
        assert read(running.connect(CLOSE)).endswith(b"served")
        idle[-1].sendall(GET)
        read_until(idle[-1], b"served")

    def test_who_waits_for_an_answer_keeps_the_connection(self) -> None:
        """A request that a thread works on is progress that only the server can make."""
        closed: list[int] = []

        class Each:
            def __init__(self, number: int, unread: int, requests: list[object]) -> None:
                self.last_activity, self.total_outbufs_len, self.requests = number, unread, requests

            def handle_close(self) -> None:
                closed.append(int(self.last_activity))

        all_of_them: Any = [Each(1, 0, [object()]), Each(2, 0, []), Each(3, 10, [object()]), Each(4, 0, [])]
        project.sending.shed(all_of_them, project.sending.SPARE + 2)
        assert closed == [2, 3]


class Asked:
    """A connection with one request."""

    def __init__(self, who: str, command: str = "GET", **headers: str) -> None:
        self.requests = [self]
        self.command, self.addr, self.headers = command, (who, 1), headers


class TestTurns:
    def served(self, turns: Turns) -> list[Any]:
        """The connections that get a thread now, in their order."""
        found = []
        while turns:
            found.append(turns.popleft())
        return found

    def test_callers_take_turns(self) -> None:
        """One with many requests, by token, cookies or address, is served once before the next one."""
        turns = Turns(most=9)
        many = [Asked("1.1.1.1", AUTHORIZATION="Bearer a") for _ in range(3)]
        others = [Asked("1.1.1.1", COOKIE="a=b"), Asked("1.1.1.1"), Asked("2.2.2.2")]
        for connection in (*many, *others):
            turns.append(connection)
        assert len(turns) == 6
        assert [turn.connection for turn in self.served(turns)] == [many[0], *others, *many[1:]]
        assert len(turns) == 0

    def test_reads_of_a_caller_leave_threads_free(self) -> None:
        """So many reads of one caller are served at once, and the next when one has ended; writes all."""
        turns = Turns(most=2)
        reads, writes = [Asked("1.1.1.1") for _ in range(4)], [Asked("1.1.1.1", "POST") for _ in range(4)]
        for connection in (*reads, *writes):
            turns.append(connection)
        served = self.served(turns)
        assert [turn.connection for turn in served if turn.caller.reads] == reads[:2]
        assert len(served) == 6
        assert (len(turns), bool(turns)) == (2, False)
        turns.end(served[0].caller)
        (turn,) = self.served(turns)
        assert turn.connection is reads[2]

    def test_nothing_is_kept_of_those_who_are_served(self) -> None:
        """A caller who has come and gone leaves nothing."""
        turns = Turns(most=2)
        turns.append(Asked("1.1.1.1"))
        turns.end(turns.popleft().caller)
        assert not turns._served
        assert not turns._waiting


def channels(running: Running) -> list[Any]:
    """The open connections of a worker."""
    server = running.worker._server  # None until it serves
    return list(server.active_channels.values()) if server else []


def wait_for(find: Callable[[], Any]) -> Any:
    """What is found, as soon as there is something."""
    found: list[Any] = []

    def is_there() -> bool:
        found[:] = [find()]
        return bool(found[0])

    wait_until(is_there)
    return found[0]
