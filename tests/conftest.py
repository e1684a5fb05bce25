"""What tests of every room share: an engine, and tables of their own on it.

A test asks for ``tables`` and has empty tables that no other test sees, on the embedded engine; or for
``moto_tables`` and has them on moto within the process, which is for tests without threads or transactions; or for
``configured`` and has every configuration of every strategy, in tables that its module shares.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from botocore.loaders import create_loader
from django.core.management import call_command
from django.test import override_settings
from moto import mock_aws
from pytest_django import Settings

from project.proof.faults.control import Proxy, proxy_before
from sequences.lab.engine import Engine, find_binary
from sequences.lab.moto_server import one_call_at_a_time
from sequences.registry import strategies
from sequences.strategies import Strategy
from tests.sequences.support import SEQUENCES, make

# No test may reach a real account, nor the engine of a `make run` in this folder.
os.environ.pop("AWS_PROFILE", None)
os.environ.pop("AWS_ENDPOINT_URL_DYNAMODB", None)
os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "tests"
os.environ["AWS_DEFAULT_REGION"] = "us-east-1"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as fast what needs no embedded engine, in modules that start no programs."""
    for item in items:
        assert isinstance(item, pytest.Function)
        if "installed_engine" not in item.fixturenames and not hasattr(item.module, "subprocess"):
            item.add_marker("fast")


@pytest.fixture(scope="session", autouse=True)
def _own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A temporary folder for this worker's processes alone, as host locks are files there, which scopes share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.getbasetemp()))
        patch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    """What never changes is read once: botocore's model not for every client, static files not for every browser."""
    loader = create_loader()
    with pytest.MonkeyPatch.context() as patch, override_settings(WHITENOISE_AUTOREFRESH=True):
        patch.setattr("botocore.session.create_loader", lambda search_path: loader)
        yield


@pytest.fixture(scope="session")
def installed_engine() -> None:
    """The embedded engine is installed: for tests that start it themselves. Whoever asks for it is not fast."""
    if find_binary() is None:
        pytest.skip("the embedded engine is not installed: npm was missing")


@pytest.fixture(scope="session")
def engine(installed_engine: None) -> Iterator[Engine]:
    """An embedded engine in memory, one for all tests of a worker."""
    with Engine() as engine:
        yield engine


@pytest.fixture
def endpoint(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The engine's address, to which every client made during the test goes."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.endpoint)
    yield from _with_fresh_registry(engine.endpoint)


@pytest.fixture
def table_prefix(settings: Settings) -> str:
    """A prefix that makes the tables of this test its own."""
    prefix = f"t{uuid4().hex[:12]}_"
    settings.TABLE_PREFIX = prefix
    return prefix


@pytest.fixture
def tables(endpoint: str, table_prefix: str) -> str:
    """Empty tables on the engine, for this test alone; their prefix."""
    call_command("create_tables", verbosity=0)
    return table_prefix


@pytest.fixture
def moto_engine() -> Iterator[None]:
    """moto within this process, empty, in place of every engine."""
    with mock_aws(), one_call_at_a_time():
        yield from _with_fresh_registry(None)


@pytest.fixture
def moto_tables(moto_engine: None, table_prefix: str) -> str:
    """Empty tables on moto; their prefix."""
    call_command("create_tables", verbosity=0)
    return table_prefix


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
def install(configured: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Strategy]:
    """Put a strategy with other clocks or options in the place of a configured one, for this test."""

    def install(name: str, **changes: Any) -> Strategy:
        strategy = make(name, **changes)
        monkeypatch.setitem(strategies._made, name, strategy)
        return strategy

    return install


@pytest.fixture(scope="session")
def _proxy(engine: Engine) -> Iterator[Proxy]:
    with proxy_before(engine.endpoint) as proxy:
        yield proxy


@pytest.fixture
def proxy(_proxy: Proxy) -> Iterator[Proxy]:
    """A calm proxy before the engine."""
    yield _proxy
    _proxy.calm()


def _with_fresh_registry(value: str | None) -> Iterator[Any]:
    """Forget strategies and their clients before a test, which would call another engine, and after it."""
    strategies.reset()
    yield value
    strategies.reset()
