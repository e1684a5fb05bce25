"""What tests of this room share: every configuration on the engine, other processes, and a look at the wire."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from sequences import dynamodb
from sequences.lab.engine import Engine
from tests.sequences.support import Clock, Impostor, Processes, Wire, tapped

PROCESSES = 4


@pytest.fixture
def wire(configured: str) -> Iterator[Wire]:
    """The requests of this process during the test."""
    with tapped() as wire:
        yield wire


@pytest.fixture
def clock() -> Clock:
    """A clock that only the test moves."""
    return Clock()


@pytest.fixture(scope="module")
def spawned(configured: str, engine: Engine) -> Iterator[Processes]:
    """Processes that share nothing with this one, not even turns: as on other machines."""
    processes = Processes("spawn", PROCESSES, engine.endpoint, configured)
    yield processes
    processes.stop()


@pytest.fixture
def forked(configured: str, engine: Engine) -> Iterator[Processes]:
    """Processes that are forked from this one at their first task, with all that it has in memory then."""
    processes = Processes("fork", PROCESSES, engine.endpoint, configured)
    yield processes
    processes.stop()


@pytest.fixture
def impostor(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Impostor]]:
    """An impostor in the engine's place; set its class attributes."""
    handler = type("Handler", (Impostor,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{server.server_port}")
    dynamodb.reset()
    yield handler
    dynamodb.reset()
    server.shutdown()
    thread.join()
    server.server_close()
