"""The fixtures of the fault tests: a proxy before the engine, every strategy behind it, and another process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from project.proof.faults.clients import bare_client, create_faults_table
from project.proof.faults.control import Proxy
from project.proof.faults.elsewhere import ALONE, HASTY, READ_SECONDS, SEQUENCES, begin
from sequences.dynamodb import client
from sequences.dynamodb.configuration import DEFAULT_CLIENT
from sequences.registry import strategies
from sequences.rows.options import positive
from sequences.strategies import BlockAllocator
from sequences.testing.embedded import Engine
from tests.sequences.support import fresh_processes

PREFIX = "faults_"


@pytest.fixture(scope="module")
def _behind_proxy(_proxy: Proxy) -> Iterator[None]:
    """The proxy and the tables, made once for each module: making a client takes longer than most of these tests."""
    configured = override_settings(SEQUENCES={**SEQUENCES, **ALONE, **HASTY}, TABLE_PREFIX=PREFIX)
    options: Any = BlockAllocator.options
    with pytest.MonkeyPatch.context() as patch, configured:
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", _proxy.endpoint)
        patch.setitem(options, "watch_seconds", positive(3600.0))  # a look would meet the fault of another request
        strategies.reset()
        call_command("create_tables", verbosity=0)
        yield
    strategies.reset()


@pytest.fixture
def behind_proxy(proxy: Proxy, _behind_proxy: None) -> Proxy:
    """This process uses the engine through the proxy, with every strategy of `SEQUENCES`.

    The tests share the tables, and use different scopes.
    """
    return proxy


@pytest.fixture
def impatient(behind_proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits only for READ_SECONDS, so that a test of hangs is quick.

    For other tests that is too short: on a busy machine an answer takes longer, and counts as lost.
    """
    shared = client._clients[DEFAULT_CLIENT]
    monkeypatch.setattr(shared._making, "made", replace(shared.get(), read_seconds=READ_SECONDS))


@pytest.fixture(scope="module")
def other_process(engine: Engine, _behind_proxy: None) -> Iterator[ProcessPoolExecutor]:
    """Another process of the same application. It uses the engine without the proxy."""
    with ProcessPoolExecutor(1, fresh_processes(), initializer=begin, initargs=(engine.endpoint, PREFIX)) as pool:
        yield pool


@pytest.fixture(scope="session")
def faults_table(engine: Engine) -> None:
    """The table `faults`, with the key `pk`."""
    create_faults_table(bare_client(engine.endpoint))
