"""Tests are safe by default: a request of a test that has asked for no engine is refused, before anything is sent."""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from ..dynamodb import client
from ..dynamodb.making import Made, Transport
from ..exceptions import NotConfigured
from .engines import ENDPOINT, sending_by
from .moto_server import is_active


class NoEngineAskedFor(pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """A test, or a migration before the tests, uses a sequence and has asked for no engine. Nothing was sent.

    As pytest's own failure it is no Exception: else who answers or logs an error would hide it, such as a view that
    answers with 503, or Django after a commit.
    """


@contextmanager
def no_engine() -> Iterator[None]:
    """Refuse every request of this process, in all threads, until an engine of this package is entered.

    Then every call of a sequence raises NoEngineAskedFor at once. Two ways stay open: moto's own `mock_aws`, and an
    AWS_ENDPOINT_URL_DYNAMODB that was set since.
    """
    with sending_by(_Refusing()):
        yield


class _Refusing(dict[str, client._Client]):
    """The clients while no test has asked for an engine."""

    def __init__(self) -> None:
        super().__init__()
        self._before = os.environ.get(ENDPOINT)

    def get(self, alias: str, default: Any = None) -> Any:
        return super().get(alias) or self.setdefault(alias, _Guarded(alias, self._before))


class _Guarded(client._Client):
    """A client that sends only to an engine that the running test has named itself."""

    def __init__(self, alias: str, before: str | None) -> None:
        super().__init__(alias)
        self._before = before
        self._unmade = Made(client=None, transport=Transport(_refuse), account="", read_seconds=1.0)  # type: ignore[arg-type]

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
        if not self._is_named():
            _refuse(model.name)

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
