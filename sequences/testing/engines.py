"""The engines that tests use: moto in this process, or the embedded engine. Neither reads or changes a real account."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from unittest import mock

from ..dynamodb import client
from ..dynamodb.configuration import ClientOptions, client_options
from ..registry import strategies
from .embedded import Engine, EngineError
from .moto_server import patched_moto

__all__ = ["ENGINE_MISSING", "embedded_engine", "engine_at", "moto_engine"]

ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"
ENGINE_MISSING = "the embedded engine is not installed (see docs/testing.md)"


@contextmanager
def moto_engine() -> Iterator[None]:
    """Use an empty moto in this process instead of every other engine, whatever environment and settings name.

    Its calls are atomic, as DynamoDB's are, so threads may share it. Other processes do not see it. It never throttles
    or loses an answer, and its transactions never conflict.
    """
    from moto import mock_aws

    with _environment(AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="true"), mock_aws(), patched_moto(), _all_clients_here():
        yield from _with_new_clients()


@contextmanager
def engine_at(endpoint: str) -> Iterator[None]:
    """Use the engine at this address, in this process and in those that it starts."""
    with _environment(**{ENDPOINT: endpoint}, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="false"):
        yield from _with_new_clients()


@contextmanager
def embedded_engine() -> Iterator[None]:
    """Use an embedded engine in memory. It starts on first use, and ends with this process.

    Raises EngineError if it is not installed.
    """
    with engine_at(_started(os.getpid()).endpoint), _all_clients_here():
        yield


@cache
def _started(process: int) -> Engine:
    """The engine of one process: one that was forked needs its own."""
    engine = Engine()
    if engine.fallback:
        raise EngineError(f"{ENGINE_MISSING[0].upper()}{ENGINE_MISSING[1:]}.", "Install it, or use moto.")
    atexit.register(engine.stop)
    return engine.start()


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set variables, with credentials that no account accepts and a Region, and leave out every profile."""
    region = os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    account = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": region}
    with mock.patch.dict(os.environ, {**account, **variables}):
        for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN"):
            os.environ.pop(name, None)
        yield


def _all_clients_here() -> AbstractContextManager[object]:
    """Let every client of SEQUENCES_CLIENTS lead to the engine of the environment, with its other options."""

    def here(alias: str) -> ClientOptions:
        return replace(client_options(alias), region=None, endpoint=None, profile=None, role=None, external_id=None)

    return mock.patch.object(client, "client_options", here)


def _with_new_clients() -> Iterator[None]:
    """Drop strategies and clients before and after: they would call the engine of before."""
    strategies.reset()
    try:
        yield
    finally:
        strategies.reset()
