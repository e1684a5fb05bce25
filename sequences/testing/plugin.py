"""The pytest plugin: `pytest_plugins = ["sequences.testing.plugin"]` in the outermost conftest.py.

    sequence_tables              empty tables on moto in this process
    sequence_tables_on_engine    empty tables on the embedded engine, which other processes see too

Both are made and forgotten for each test. A request of a test that asks for neither, nor for an engine of this package
otherwise, is refused before it is sent, also by migrations that run before the tests; the mark `real_dynamodb` lets one
test send to the engine of the environment. A test that uses the embedded engine, or has the mark `needs_engine`, does
not run where the engine is not installed. Then the run says so in its last line, and its exit status is 1 unless it was
asked for by `--without-engine`.

It is no entry point: a project that only installs the app does not load it.
"""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, nullcontext
from typing import Any

import pytest

from ..dynamodb import client
from ..dynamodb.making import Made
from ..exceptions import NotConfigured
from . import tables
from .embedded import find_binary
from .engines import ENDPOINT, ENGINE_MISSING, embedded_engine, moto_engine, sending_by
from .moto_server import is_active

pytest.register_assert_rewrite("sequences.testing.contract")


@pytest.fixture
def sequence_tables() -> Iterator[None]:
    """Empty tables of the configured sequences on moto in this process, for one test; threads may use them."""
    with moto_engine(), tables.sequence_tables():
        yield


@pytest.fixture
def sequence_tables_on_engine() -> Iterator[None]:
    """Empty tables of the configured sequences on the embedded engine, for one test; other processes may use them."""
    with embedded_engine(), tables.sequence_tables():
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that accepts a run without the engine."""
    parser.getgroup("sequences").addoption(
        "--without-engine",
        action="store_true",
        help="Succeed although tests did not run because the embedded engine is not installed.",
    )


@pytest.hookimpl(trylast=True)  # settings may change the environment
def pytest_configure(config: pytest.Config) -> None:
    """Make the marks known, and refuse requests until a test asks for an engine."""
    config.addinivalue_line("markers", "needs_engine: needs the embedded engine, because moto cannot serve it")
    config.addinivalue_line("markers", "real_dynamodb: may send requests to the engine of the environment")
    guarded = ExitStack()
    config.add_cleanup(guarded.close)
    guarded.enter_context(sending_by(NoEngine()))


@pytest.fixture(autouse=True)
def _real_dynamodb(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a test with this mark, and its own fixtures, use the engine of the environment."""
    with sending_by(client.Clients()) if request.node.get_closest_marker("real_dynamodb") else nullcontext():
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a test that needs the engine where there is none."""
    needs_it = item.get_closest_marker("needs_engine") or "sequence_tables_on_engine" in getattr(
        item, "fixturenames", ()
    )
    if needs_it and find_binary() is None:
        pytest.skip(ENGINE_MISSING)


_not_run = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the run fail if a test was left out."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    session.config.stash[_not_run] = sum(ENGINE_MISSING in str(report.longrepr) for report in skipped)
    if session.config.stash[_not_run] and session.exitstatus == 0 and not session.config.option.without_engine:
        session.exitstatus = 1


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line how many tests were left out."""
    count = config.stash.get(_not_run, 0)
    if count:
        accepted = "" if config.option.without_engine else " --without-engine accepts that."
        config.get_terminal_writer().line(f"{count} tests DID NOT RUN: {ENGINE_MISSING}.{accepted}", red=True)


class NoEngineAskedFor(pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """A test, or a migration before the tests, uses a sequence and has asked for no engine. Nothing was sent.

    As pytest's own failure it is no Exception: else who answers or logs an error would hide it, such as a view that
    answers with 503, or Django after a commit.
    """


class NoEngine(client.Clients):
    """The clients while no test has asked for an engine: every call of a sequence raises NoEngineAskedFor at once.

    That holds in all threads, until an engine of this package is entered. Two ways stay open: moto's own `mock_aws`,
    and an AWS_ENDPOINT_URL_DYNAMODB that was set since.
    """

    def __init__(self) -> None:
        super().__init__()
        self._before = os.environ.get(ENDPOINT)

    def __missing__(self, alias: str) -> client._Client:
        return self.setdefault(alias, _Guarded(alias, self._before))


class _Guarded(client._Client):
    """A client that sends only to an engine that the running test has named itself."""

    def __init__(self, alias: str, before: str | None) -> None:
        super().__init__(alias)
        self._before = before
        self._unmade = Made(client=None, send=_refuse, account="", read_seconds=1.0)  # type: ignore[arg-type]

    def ready(self, seconds: float) -> tuple[Made, float]:
        return super().ready(seconds) if self._is_named() else (self._unmade, seconds)

    def get(self, seconds: float = math.inf) -> Made:
        """The client, which may be looked at."""
        try:
            made = super().get(seconds)
        except NotConfigured:
            _refuse("connect")
        made.client.meta.events.register_first("provide-client-params.dynamodb", self._watch, unique_id="no engine")
        return made

    def _watch(self, model: Any, **_: object) -> None:
        """Watch what the client itself sends."""
        if not self._is_named():
            _refuse(model.name)

    vars(_watch)["enabled"] = False  # for the lean way, which `ready` watches

    def _is_named(self) -> bool:
        """Whether moto answers in place of AWS, or the address is one that was set after the tests began."""
        named = os.environ.get(ENDPOINT)
        on_moto, is_new = is_active(), named not in (None, self._before)
        if not on_moto and not is_new:
            return False
        account = super().get().account
        return (on_moto and ".amazonaws.com|" in account) or (is_new and account.startswith(f"{named}|"))


def _refuse(operation: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
    table = (request or {}).get("TableName")
    what = f"{operation} for the table {table!r}" if table else operation
    raise NoEngineAskedFor(
        f"{what}: nothing was sent, as no engine was asked for here. A test asks for one by the fixture "
        "`sequence_tables`, as in `@pytest.mark.usefixtures('sequence_tables')`, or by `SequenceTablesMixin` before "
        "its test case; for the engine of the environment it has the mark `real_dynamodb`. A migration, which runs "
        "before all tests, seeds by `SeedSequence`: that sends nothing while the column is empty."
    )
