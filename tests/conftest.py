"""The fixtures that all rooms share: an engine, and tables on it.

    tables         empty tables on the engine, for one test alone
    configured     every configuration of every strategy, in tables that the tests of a module share

Tests that share tables use different scopes. Where the embedded engine is not installed, moto's server replaces it for
all tests but those with the mark `needs_engine`.
"""

import gc
import os
import re
import signal
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any
from uuid import uuid4
from zlib import crc32

import hypothesis
import pytest
from botocore import hooks
from botocore.loaders import create_loader
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.management.color import no_style
from django.db import connections
from django.test import TransactionTestCase, override_settings
from pytest_django import Settings

from project.paths import ROOT
from project.proof.faults.control import Proxy, proxy_before
from project.proof.faults.elsewhere import patient
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.testing import engine_at
from sequences.testing.embedded import FALLBACK_WARNING, Engine
from sequences.testing.tables import tables_of_later_settings
from tests.fewer import COVER, fewer
from tests.kept_tables import emptied_tables
from tests.sequences.support import SEQUENCES, make, tables_of

pytest_plugins = ["sequences.testing.plugin", "tests.quicker"]

# No test may reach a real account, or the engine of a `make run` in this folder.
os.environ.pop("AWS_PROFILE", None)
os.environ.pop("AWS_ENDPOINT_URL_DYNAMODB", None)
os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "tests"
os.environ["AWS_DEFAULT_REGION"] = "us-east-1"

# A shell lets what it runs in the background ignore Ctrl-C, and the programs that tests start would ignore it, too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Properties are judged by what they find, and not by their seconds, which are the machine's.
hypothesis.settings.register_profile(
    "patient", hypothesis.settings(), deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

SETTINGS: Mapping[str, Any] = {
    # A request waits for an engine on a busy machine. The sample's processes, which tests start, do not.
    "SEQUENCES_CLIENTS": patient(),
    # Tests ask for heavy things at once. Those about that limit set their own.
    "HEAVY_AT_ONCE": None,
    # Tests send more requests than people. Those about throttles set their own.
    "THROTTLES": {},
    # The list of static files is read once, instead of for every browser.
    "WHITENOISE_AUTOREFRESH": True,
}
MADE_BY_DJANGO = {"auth_permission", "django_content_type"}  # after each migration


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run leave out combinations of parameters."""
    parser.addoption("--cover", choices=[*COVER], help="run each test with fewer of its parameters (tests/fewer.py)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark a test as fast if it uses no engine, and its module starts no programs.

    Faults on the wire need the engine: moto ignores the ClientRequestToken, which guarded changes are sent with.
    """
    for item in items:
        assert isinstance(item, pytest.Function)
        if "_proxy" in item.fixturenames:
            item.add_marker("needs_engine")
        with_engine = "engine" in item.fixturenames or item.get_closest_marker("needs_engine")
        if not with_engine and not hasattr(item.module, "subprocess"):
            item.add_marker("fast")
    if config.option.cover:
        items[:] = sorted(fewer(items, config.option.cover), key=_turn)


def _turn(item: pytest.Item) -> tuple[bool, int]:
    """Files are mixed, so that those that mostly wait run beside those that compute. The longest test is the first."""
    return "longest" not in item.keywords, crc32(item.nodeid.partition("::")[0].encode())


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Let the garbage collector leave alone what is collected, and look seldom at the rest: it took a fifth."""
    gc.disable()
    if hasattr(session.config, "workerinput") and session.config.args == session.config.getini("testpaths"):
        _compile_a_part(session.config)
    collected = yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
    return collected


def _compile_a_part(config: Any) -> None:
    """Import the tests, each process from another one on: so in a fresh clone each test is compiled only once."""
    process, apart = config.workerinput, config.getini("norecursedirs")
    tests = sorted(path.relative_to(ROOT) for path in ROOT.glob("tests/**/test_*.py"))
    begin = len(tests) * int(process["workerid"][2:]) // process["workercount"]
    for path in tests[begin:] + tests[:begin]:
        if not {*apart}.intersection(path.parts):
            with suppress(Exception):  # pytest says it, when it collects the file
                import_module(".".join(path.with_suffix("").parts))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Look once at what the tests have left. pytest looks five times, at what is not frozen."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _for_all_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What all tests have in common. It is one fixture, as each takes time before each test."""
    folder = str(tmp_path_factory.getbasetemp())
    with pytest.MonkeyPatch.context() as patch, override_settings(**SETTINGS):
        _keep_to_a_folder(patch, folder)
        _hash_in_one_round(patch)
        _keep_permissions(patch)
        _read_once(patch)
        yield


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The settings, for changes that end with the test.

    The first change is taken back last. So no other one stays, in whatever order they end.
    """
    settings.THROTTLES = SETTINGS["THROTTLES"]
    return settings


def _keep_to_a_folder(patch: pytest.MonkeyPatch, folder: str) -> None:
    """A temporary folder for the processes of this worker. Host locks are files in it, which workers must not share."""
    patch.setenv("TMPDIR", folder)
    patch.setattr(tempfile, "tempdir", None)


def _hash_in_one_round(patch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed as on the site, but in one round: a million of them take most of a second."""
    patch.setattr(PBKDF2PasswordHasher, "iterations", 1)


def _keep_permissions(patch: pytest.MonkeyPatch) -> None:
    """Delete the rows that a test has committed, but those that Django makes after each migration.

    To delete them and to make them again takes longer than most tests.
    """
    patch.setattr(TransactionTestCase, "_fixture_teardown", _delete_rows)


def _delete_rows(case: Any) -> None:
    for alias in case._databases_names(include_mirrors=False):
        connection = connections[alias]
        tables = {*connection.introspection.django_table_names(only_existing=True, include_views=False)}
        connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), sorted(tables - MADE_BY_DJANGO)))


def _read_once(patch: pytest.MonkeyPatch) -> None:
    """Read botocore's model only once, instead of for every client.

    What botocore finds out about the handlers of its events and their names takes half of the time of a client.
    """
    loader = create_loader()
    takes_keywords, aliases, init = cache(hooks.accepts_kwargs), dict[str, str](), hooks.EventAliaser.__init__

    def with_known_names(self: hooks.EventAliaser, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        self.__dict__["_alias_name_cache"] = aliases

    patch.setattr("botocore.session.create_loader", lambda search_path: loader)
    patch.setattr(hooks, "accepts_kwargs", lambda handler: takes_keywords(getattr(handler, "__func__", handler)))
    patch.setattr(hooks.EventAliaser, "__init__", with_known_names)


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """An engine in memory, one for all tests of a worker: the embedded one, or moto's server where that is missing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", re.escape(FALLBACK_WARNING))
        engine = Engine().start()
    with engine:
        yield engine
        assert engine.is_running, "the engine ended by itself: what failed before may be due to that"


@pytest.fixture
def endpoint(engine: Engine) -> Iterator[str]:
    """The address of the engine. Every client that the test makes uses it."""
    with engine_at(engine.endpoint):
        yield engine.endpoint


@pytest.fixture
def table_prefix(settings: Settings) -> str:
    """A table prefix for this test alone."""
    prefix = f"t{uuid4().hex[:12]}_"
    settings.TABLE_PREFIX = prefix
    return prefix


@pytest.fixture
def tables(endpoint: str, settings: Settings) -> Iterator[str]:
    """Empty tables on the engine, for this test alone. The value is their prefix."""
    with emptied_tables(settings.SEQUENCES, endpoint) as prefix, tables_of_later_settings():
        yield prefix


@pytest.fixture(scope="module")
def configured(engine: Engine) -> Iterator[str]:
    """Every configuration on the engine, made once for each module: making a client takes longer than most tests.

    The value is the prefix of the tables. The tests of a module share these tables, and use different scopes.
    """
    with tables_of(SEQUENCES, engine.endpoint) as prefix:
        yield prefix


@pytest.fixture
def scope() -> str:
    """A scope that no other test uses."""
    return uuid4().hex[:12]


@pytest.fixture
def install(configured: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Strategy]:
    """Replace a configured strategy by one with other clocks or options, for this test."""

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
    """A proxy before the engine, without faults yet."""
    yield _proxy
    _proxy.calm()
