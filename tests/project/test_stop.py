"""A web server that is asked to stop: what it has read it answers, what it does not answer it has not read."""

import http.client
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from project.proof.faults.api import stored_tickets
from project.proof.faults.plans import Rule
from project.proof.faults.stack import Stack, prepared_stack

pytestmark = pytest.mark.needs_engine

CLIENTS = 32


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The product, to be started by each test as a container starts it."""
    with prepared_stack(tmp_path_factory.mktemp("stack")) as stack:
        stack.command = [sys.executable, "-m", "project.commands.web"]
        yield stack


@pytest.fixture
def stack(product: Stack, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """The running product with these variables, and without tickets of another test."""
    own = {"PORT": str(urlsplit(product.address).port), "WEB_THREADS": "16", **getattr(request, "param", {})}
    monkeypatch.setattr(product, "environment", {**product.environment, **own})
    product.start_web()
    if not product.token:
        product.sign_in()
    yield product
    product.proxy.calm()
    product.stop_web()


@pytest.fixture
def project(stack: Stack) -> str:
    """The key of an empty project."""
    key = f"STOP{uuid4().hex[:5].upper()}"
    assert stack.ask("POST", "/api/projects/", {"key": key, "name": "Stop"}).status == 201
    return key


@dataclass
class Clients:
    """Clients that file tickets until their site is gone. Every second one keeps its connection."""

    stack: Stack
    project: str
    answered: list[tuple[str, int, int]] = field(default_factory=list)
    """Title, status and number of each answer."""
    unanswered: list[str] = field(default_factory=list)
    """The titles of requests without an answer."""

    def __post_init__(self) -> None:
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def wait_for(self, count: int) -> None:
        """Return when so many requests are answered."""
        deadline = time.monotonic() + 60
        while len(self.answered) < count:
            assert time.monotonic() < deadline, f"{len(self.answered)} of {count} were answered"
            time.sleep(0.01)

    def join(self) -> None:
        """Wait until the last one has found out that the site is gone."""
        for thread in self._threads:
            thread.join()

    def _work(self, client: int) -> None:
        keeps, connection = client % 2 == 0, connected(self.stack)
        for number in range(10_000):
            if not keeps:
                connection = connected(self.stack)
            title = f"Client {client}, ticket {number}"
            try:
                connection.request("POST", path(self.project), json.dumps({"title": title}), self._headers)
                answer = connection.getresponse()
                content = json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                self.unanswered.append(title)
                connection.close()
                if is_closed(self.stack):
                    return
                connection = connected(self.stack)
            else:
                self.answered.append((title, answer.status, content.get("number", 0)))

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Token {self.stack.token}", "Content-Type": "application/json"}


def path(project: str) -> str:
    """Where the tickets of a project are."""
    return f"/api/projects/{project}/tickets/"


def connected(stack: Stack) -> HTTPConnection:
    """A connection of its own, which begins with its first request."""
    return HTTPConnection(stack.address.removeprefix("http://"), timeout=60)


def wait_for_a_fault(stack: Stack) -> None:
    """Return when a request to the engine is under way."""
    deadline = time.monotonic() + 30
    while not stack.proxy.log.faults:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_closed(stack: Stack) -> bool:
    """Whether the site takes no connections."""
    try:
        connected(stack).connect()
    except OSError:
        return True
    return False


def get(stack: Stack, path: str) -> tuple[int, str]:
    """The status and the body of an answer over a new connection."""
    connection = connected(stack)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())["status"]


def stored(stack: Stack, project: str) -> dict[int, str]:
    """The titles of all tickets by their numbers, after late requests have arrived at the engine."""
    stack.proxy.settle()
    rows = stored_tickets(stack.engine.endpoint, project)
    return {row["number"]: row["content"] for row in rows}


def test_a_stop_under_load_loses_nothing(stack: Stack, project: str) -> None:
    """SIGTERM under the load of 32 clients: what was read is answered, without an error, and nothing else is stored."""
    stack.proxy.follow(
        *(Rule(fault="delay", operation=write, seconds=0.1) for write in ("PutItem", "TransactWriteItems"))
    )
    clients = Clients(stack, project)
    clients.wait_for(50)
    stack.web.terminate()
    clients.join()
    assert stack.web.wait(60) == 0

    assert {status for _, status, _ in clients.answered} == {201}
    tickets = stored(stack, project)
    assert sorted(tickets) == list(range(1, len(tickets) + 1))
    assert all(count == 1 for count in Counter(tickets.values()).values())
    assert {number: title for title, _, number in clients.answered} == tickets
    assert not set(clients.unanswered) & set(tickets.values())


@pytest.mark.parametrize("stack", [{"STOP_DELAY": "6", "STOP_SECONDS": "30", "WEB_WORKERS": "1"}], indirect=True)
def test_it_says_so_before_it_closes(stack: Stack, project: str) -> None:
    """For STOP_DELAY seconds /readyz is 503 while new connections are served; /healthz says that it lives.

    Then, while it answers what is under way, it refuses new connections, so that clients go elsewhere at once.
    """
    stack.proxy.follow(Rule(fault="drop-hang", operation="PutItem", seconds=60))  # each send, until it is calm
    stack.web.terminate()
    seen = [(0, "")]
    while seen[-10:] != [(503, "stopping")] * 10:
        seen.append(get(stack, "/readyz"))
    assert set(seen) <= {(0, ""), (200, "ok"), (503, "stopping")}
    assert get(stack, "/healthz") == (200, "ok")
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(stack.ask, "POST", path(project), {"title": "Under way"})
        wait_for_a_fault(stack)
        assert not is_closed(stack)
        while not is_closed(stack):
            time.sleep(0.01)
        assert not answer.done()
        stack.proxy.calm()
        assert answer.result().status == 201
    assert stack.web.wait(60) == 0


@pytest.mark.parametrize("stack", [{"STOP_SECONDS": "3", "WEB_WORKERS": "1"}], indirect=True)
def test_it_ends_though_the_engine_hangs(stack: Stack, project: str) -> None:
    """After STOP_SECONDS it ends, whatever is under way; a repeat of that request tells what became of it."""
    stack.proxy.follow(Rule(fault="lose-hang", operation="TransactWriteItems", seconds=60))
    asked, token = {"title": "Once"}, {"Idempotency-Key": "one-request"}
    with ThreadPoolExecutor(1) as client:
        answer = client.submit(stack.ask, "POST", path(project), asked, token)
        wait_for_a_fault(stack)
        stack.web.terminate()
        assert stack.web.wait(60) == 0
        with pytest.raises(Exception, match="onnection"):
            answer.result()

    stack.proxy.calm()
    stack.start_web()
    again = stack.ask("POST", path(project), asked, token)
    assert (again.status, again.content["number"]) == (201, 1)
    assert stored(stack, project) == {1: "Once"}
