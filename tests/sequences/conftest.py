"""What tests of this room share: every configuration on the engine, other processes, and a look at the wire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import override_settings

from sequences import dynamodb
from sequences.engine import Engine
from sequences.registry import strategies
from sequences.strategies import Strategy
from tests.sequences.support import SEQUENCES, Clock, Impostor, Processes, Wire, make, tapped

PROCESSES = 4


@pytest.fixture(scope="module")
def configured(engine: Engine) -> Iterator[str]:
    """Every configuration on the engine, once a module, as a client costs more to make than most tests to run.

    Its value is the prefix of the tables, which tests of the module share: they keep apart by their scopes.
    """
    prefix = f"t{uuid4().hex[:12]}_"
    with pytest.MonkeyPatch.context() as patch, override_settings(SEQUENCES=SEQUENCES, TABLE_PREFIX=prefix):
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.endpoint)
        strategies.reset()
        call_command("create_tables", verbosity=0)
        yield prefix
    strategies.reset()


@pytest.fixture
def scope() -> str:
    """A scope that no other test uses."""
    return uuid4().hex[:12]


@pytest.fixture
def wire(configured: str) -> Iterator[Wire]:
    """The requests of this process during the test."""
    with tapped() as wire:
        yield wire


@pytest.fixture
def clock() -> Clock:
    """A clock that only the test moves."""
    return Clock()


@pytest.fixture
def install(configured: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Strategy]:
    """Put a strategy with other clocks or options in the place of a configured one, for this test."""

    def install(name: str, **changes: Any) -> Strategy:
        strategy = make(name, **changes)
        monkeypatch.setitem(strategies._made, name, strategy)
        return strategy

    return install


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
