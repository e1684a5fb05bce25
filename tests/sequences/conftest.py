"""What tests of this room share: every configuration on the engine, other processes, and a look at the wire."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from importlib import import_module
from types import ModuleType

import pytest
from django.core.management import call_command
from django.test import modify_settings
from pytest_django import DjangoDbBlocker

from sequences import start
from sequences.commit import host_memory
from sequences.dynamodb.client import EngineClock
from sequences.ops import doctor, overview
from sequences.ops.doctor import judging
from sequences.rows import host_queue
from sequences.strategies import sort_key
from sequences.testing import engine_at
from sequences.testing.embedded import Engine
from tests import shop as shop_app
from tests.kept_tables import emptied_tables
from tests.sequences.support import Clock, Impostor, Processes, Wire, tapped

PROCESSES = 4


@pytest.fixture
def own_sequences(engine: Engine, request: pytest.FixtureRequest) -> Iterator[str]:
    """Empty tables for the SEQUENCES of the test's module. The value is their prefix."""
    with emptied_tables(request.module.SEQUENCES, engine.endpoint) as prefix:
        yield prefix


@pytest.fixture
def wire(configured: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """The requests of this process during the test, without those that look at the queue of hosts each second."""
    monkeypatch.setattr(host_queue, "LOOK_SECONDS", math.inf)
    with tapped() as wire:
        yield wire


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The log of this thread: what an earlier test has left may log meanwhile."""
    here = threading.get_ident()

    def is_here(_: logging.LogRecord) -> bool:
        return threading.get_ident() == here

    caplog.handler.addFilter(is_here)
    yield caplog
    caplog.handler.removeFilter(is_here)


@pytest.fixture
def clock() -> Clock:
    """A clock that only the test moves."""
    return Clock()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine forgets no last number between two calls, and looks at no line of hosts: tests count requests."""
    monkeypatch.setattr(sort_key, "TAIL_SECONDS", math.inf)
    monkeypatch.setattr(host_queue, "LOOK_SECONDS", math.inf)


@pytest.fixture
def alone_on_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process leaves anything for those of the same host: each that begins is as on a fresh one."""
    monkeypatch.setattr(host_memory, "SUPPORTED", False)


@pytest.fixture
def steady_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's clock is not set by more Dates: they have whole seconds, and each may put it back by one."""
    monkeypatch.setattr(EngineClock, "set", lambda *_: None)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that answers is not taken for slow or away, however slow the machine is."""
    for module in (doctor, start):
        monkeypatch.setattr(module, "PATIENCE_SECONDS", 30.0)
    monkeypatch.setattr(overview, "SECONDS_A_SEQUENCE", 30.0)
    monkeypatch.setattr(judging, "SLOW_SECONDS", 30.0)


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


@pytest.fixture(scope="session")
def _impostors() -> Iterator[ThreadingHTTPServer]:
    """The server of all impostors: its address stays, so that the clients that lead to it are made once."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Impostor) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def impostor(_impostors: ThreadingHTTPServer) -> Iterator[type[Impostor]]:
    """An impostor in the engine's place; set its class attributes."""
    handler = type("Handler", (Impostor,), {})
    _impostors.RequestHandlerClass = handler
    with engine_at(f"http://127.0.0.1:{_impostors.server_port}"):
        yield handler


@pytest.fixture(scope="module")
def _installed_shop(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The app `tests.shop`, with its tables in Django's database."""
    with modify_settings(INSTALLED_APPS={"append": shop_app.__name__}):
        with django_db_blocker.unblock():
            call_command("migrate", "shop", verbosity=0)
        yield
        with django_db_blocker.unblock():
            call_command("migrate", "shop", "zero", verbosity=0)


@pytest.fixture
def shop(_installed_shop: None, engine: Engine, transactional_db: None) -> Iterator[ModuleType]:
    """The models of `tests.shop`, without rows, and with sequences that have counted nothing."""
    with emptied_tables(shop_app.SEQUENCES, engine.endpoint):
        yield import_module("tests.shop.models")
