"""What `make bench-peers` makes of its measurements, and the clients with which it measures sites."""

import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from project.paths import ROOT
from project.proof.peers.environment import requirements
from project.proof.peers.figures import LastNumbers, Run, count_faults, in_cells, in_turns, over, percentile, summary
from project.proof.peers.load import Job, carry_out
from project.proof.peers.web import carried_out, shape


def runs(*rates: float) -> list[Run]:
    """Runs with these speeds, without faults."""
    return [Run(per_second=rate, faults=0) for rate in rates]


class TestFigures:
    def test_every_second_round_has_the_opposite_order(self) -> None:
        """Each side comes once in every round, and none is always the first."""
        assert list(in_turns(["a", "b"], 3)) == [(0, "a"), (0, "b"), (1, "b"), (1, "a"), (2, "a"), (2, "b")]

    def test_the_ratio_is_the_median_of_the_rounds(self) -> None:
        """Speeds of one round are divided first: a round in which the machine was slow for both does not count more."""
        found = over(runs(300, 30, 200), runs(100, 20, 100), bar=2.0)
        assert found == {"ratio": 2.0, "bar": 2.0, "reached": True, "runs": [3.0, 1.5, 2.0]}

    @pytest.mark.parametrize(("bar", "verdict"), [(1.5, ""), (1.51, " MISSED")])
    def test_a_missed_bar_is_said(self, bar: float, verdict: str) -> None:
        """The cells have the bar, the ratio with its lowest and highest round, and a word if the bar is missed."""
        cells = in_cells(over(runs(1, 3, 6), runs(2, 2, 2), bar))
        assert cells == f"at least {bar:g} | 1.50 [0.50..3.00]{verdict}"

    def test_a_summary_has_medians_and_every_run(self) -> None:
        """Speeds and latencies are medians, faults are added up, and the runs are kept."""
        found = [
            Run(per_second=rate, faults=1, p50_ms=rate / 10, p99_ms=rate / 5, cpu_ms=rate / 20) for rate in (10, 50, 20)
        ]
        told = summary(found)
        assert [run["per_second"] for run in told.pop("runs")] == [10, 50, 20]
        assert told == {"per_second": 20, "p50_ms": 2.0, "p99_ms": 4.0, "cpu_ms": 1.0, "faults": 3}

    def test_a_percentile_is_one_of_the_values(self) -> None:
        """Of a hundred values in any order the median and the 99th percentile are found, of one value the value."""
        values = [float(value) for value in range(99, -1, -1)]
        assert [percentile(values, share) for share in (0.5, 0.99)] == [50.0, 99.0]
        assert percentile([7.0], 0.99) == 7.0

    @pytest.mark.parametrize(
        ("numbers", "faults"),
        [([5, 4, 6], 0), ([], 0), ([5, 6], 1), ([4, 7], 2), ([4, 4, 5], 1), ([3, 4], 1), ([1, 4, 4, 7], 4)],
        ids=["all", "none", "the first missing", "a gap", "a duplicate", "one of before", "everything"],
    )
    def test_numbers_go_on_without_gaps_and_duplicates(self, numbers: Sequence[int], faults: int) -> None:
        """After number 3 come 4, 5 and so on, in any order; each number that is missing or comes again is a fault."""
        assert count_faults(numbers, after=3) == faults

    def test_numbers_go_on_in_every_project(self) -> None:
        """Each project has its own numbers from 1, and later tickets go on after those that were seen."""
        numbers = LastNumbers()
        assert numbers.go_on([("A", 2), ("B", 1), ("A", 1)]) == 0
        assert numbers.go_on([("A", 3), ("B", 2), ("C", 1)]) == 0
        assert numbers.go_on([("A", 1)]) == 1
        assert numbers.go_on([("A", 4), ("C", 3)]) == 1

    def test_the_shape_of_json_is_its_names_and_types(self) -> None:
        """Two answers with other values have one shape; another name, type or length makes another shape."""
        ticket = {"number": 1, "labels": ["a"]}
        assert shape([ticket]) == shape([{"number": 2, "labels": ["b"]}])
        others: list[Any] = [[], [ticket, ticket], [{"number": "1", "labels": ["a"]}], [{"number": 1}]]
        assert [other for other in others if shape(other) == shape([ticket])] == []


def test_the_peers_have_our_versions() -> None:
    """Django, Django REST framework, gunicorn, orjson and psycopg are those of the application; all are pinned."""
    ours, peers = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines(), requirements()
    shared = {requirement.partition("==")[0] for requirement in peers if requirement in ours}
    assert shared == {"Django", "djangorestframework", "gunicorn", "orjson", "psycopg[binary]"}
    assert [requirement for requirement in peers if "==" not in requirement] == []


class Answers(BaseHTTPRequestHandler):
    """Answers with the status in the address, or not at all: it closes the connection after /0/."""

    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, str, str, str]] = []  # method, path, token, body
    connections: set[Any] = set()

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        """Remember the request, and answer its path."""
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.seen.append((self.command, self.path, self.headers["Authorization"], sent))
        self.connections.add(self.client_address)
        status = int(self.path.strip("/"))
        if not status:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(self.path)))
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server that has seen nothing yet."""
    Answers.seen.clear()
    Answers.connections.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def job(port: int, paths: list[str], *, method: str = "POST", clients: int = 1, count: int) -> Job:
    """A job that wants answers with status 201."""
    return Job(
        host="127.0.0.1",
        port=port,
        token="abc",
        method=method,
        paths=paths,
        body='{"title": "ä"}' if method == "POST" else "",
        clients=clients,
        count=count,
        status=201,
    )


class TestLoad:
    def test_every_request_is_sent_once(self, port: int) -> None:
        """All clients together send `count` requests, signed and with the body, and keep every answer."""
        result = carry_out(job(port, ["/201/"], clients=4, count=50))
        assert Answers.seen == [("POST", "/201/", "Token abc", '{"title": "ä"}')] * 50
        assert result.bodies == ["/201/"] * 50
        assert len(result.milliseconds) == 50
        assert result.failures == {}

    def test_a_client_keeps_its_connection(self, port: int) -> None:
        """Each client opens one connection for all its requests."""
        carry_out(job(port, ["/201/"], clients=1, count=20))
        assert len(Answers.connections) == 1

    def test_addresses_take_turns(self, port: int) -> None:
        """The requests go to the addresses one after the other; a GET has no body."""
        carry_out(job(port, ["/201/", "/200/"], method="GET", count=3))
        assert [(method, path, body) for method, path, _, body in Answers.seen] == [
            ("GET", "/201/", ""),
            ("GET", "/200/", ""),
            ("GET", "/201/", ""),
        ]

    def test_other_answers_are_failures(self, port: int) -> None:
        """An answer with another status, or none, is counted by its kind, has no latency, and is not sent again."""
        result = carry_out(job(port, ["/201/", "/404/", "/0/"], count=9))
        assert result.failures == {"404": 3, "RemoteDisconnected": 3}
        assert result.bodies == ["/201/"] * 3
        assert len(result.milliseconds) == 3
        assert len(Answers.seen) == 9

    def test_the_clients_have_a_process_of_their_own(self, port: int) -> None:
        """The job and its result pass between the processes as they are."""
        result = carried_out(job(port, ["/201/", "/404/"], clients=2, count=4))
        assert result.bodies == ["/201/"] * 2
        assert result.failures == {"404": 2}
        assert Answers.seen.count(("POST", "/201/", "Token abc", '{"title": "ä"}')) == 2
