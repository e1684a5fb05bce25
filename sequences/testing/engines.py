"""The engines that tests use: moto in this process, or the embedded engine. Neither reads or changes a real account."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from unittest import mock

from ..commit.retries import Deadline
from ..dynamodb import client
from ..dynamodb.configuration import ClientOptions, client_options, clients
from ..dynamodb.making import Making
from ..exceptions import InvalidSequence
from ..registry import strategies
from ..strategies.block import ALLOCATORS
from .embedded import Engine, EngineError
from .moto_server import patched_moto

ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"
ENGINE_MISSING = "the embedded engine is not installed (see docs/testing.md)"


@contextmanager
def moto_engine() -> Iterator[None]:
    """Use an empty moto in this process instead of every other engine, whatever environment and settings name.

    Its calls are atomic, as DynamoDB's are, so threads may share it. Other processes do not see it. It never throttles
    or loses an answer, and its transactions never conflict.
    """
    from moto import mock_aws

    with _environment(AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="true"), mock_aws(), patched_moto(), all_clients_here():
        yield


@contextmanager
def engine_at(endpoint: str) -> Iterator[None]:
    """Use the engine at this address, in this process and in those that it starts."""
    with (
        _environment(**{ENDPOINT: endpoint}, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="false"),
        sending_by(_clients_of(client_options)),
    ):
        yield


@contextmanager
def sending_by(clients: client.Clients) -> Iterator[None]:
    """Let this process send by these clients alone, and by those that it makes in the body.

    Strategies and what they remember are new before and after: they belong to the engine of before.
    """
    with mock.patch.object(client, "_clients", clients):
        strategies.drop()
        try:
            yield
        finally:
            strategies.drop()
            _end_makings(clients)
            _end_fetches()


def _end_makings(clients: client.Clients) -> None:
    """Let clients that a thread is making be made while the environment leads where they are to lead.

    Otherwise a later test could find one that leads to a real account.
    """
    for making in [one._making for one in clients.values()]:
        if making.begun:
            making.wait(client.MAKING_SECONDS)
            if making.made is None:
                _making.cache_clear()


def _end_fetches() -> None:
    """Let the blocks that threads fetch ahead arrive: a later test's engine is none of theirs."""
    deadline = Deadline()
    for reference in list(ALLOCATORS):
        if allocator := reference():
            for fetch in allocator._fetches:
                fetch.wait(deadline)


@contextmanager
def embedded_engine() -> Iterator[None]:
    """Use an embedded engine in memory, from its first use until this process ends. EngineError if it is missing."""
    with engine_at(_started(os.getpid()).endpoint), all_clients_here():
        yield


@cache
def _started(process: int) -> Engine:
    """The engine of one process: one that was forked needs its own."""
    engine = Engine()
    if engine.fallback:
        raise EngineError(f"{ENGINE_MISSING[0].upper()}{ENGINE_MISSING[1:]}. Install it, or use moto.")
    return engine.start()


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set variables, with credentials that no account accepts and a Region, and leave out every profile."""
    region = os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    account = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": region}
    left_out = dict.fromkeys(("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN"))
    wanted: dict[str, str | None] = {**left_out, **account, **variables}
    before = {name: os.environ.get(name) for name in wanted}
    _set_environment(wanted)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    """Set these variables, or remove them. To set all others again, too, took most of the time of `engine_at`."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def all_clients_here() -> Iterator[None]:
    """Let every client of SEQUENCES_CLIENTS lead to the engine of the environment, with its other options."""

    def here(alias: str) -> ClientOptions:
        return replace(client_options(alias), region=None, endpoint=None, profile=None, role=None, external_id=None)

    with mock.patch.object(client, "client_options", here), sending_by(_clients_of(here)):
        yield


def _clients_of(options: Callable[[str], ClientOptions]) -> client.Clients:
    """Clients that know nothing yet, but are made if an earlier test has made the same: that takes longer than tests.

    The call that uses an invalid setting raises its error.
    """
    known = client.Clients()
    names = (ENDPOINT, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_DEFAULT_REGION")
    where = (*map(os.environ.get, names), os.getpid())
    with suppress(InvalidSequence):
        for alias in clients():
            if _making(options(alias), *where).error:
                _making.cache_clear()
            known[alias] = client._Client(alias)
            known[alias]._making = _making(options(alias), *where)
    return known


@cache
def _making(options: ClientOptions, *_: object) -> Making:
    return Making(lambda: options)
