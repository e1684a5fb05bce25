"""The engine of the model answers as the embedded engine does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import pytest
from pytest_django import Settings

from sequences import dynamodb
from sequences.exceptions import SequenceError, WriteCancelled
from sequences.ops.tables import create_tables
from tests.model.engine import Engine
from tests.model.scenarios import scenarios
from tests.model.world import KEYS, STRATEGIES, World

STRIDE = 40_009


@pytest.fixture
def tables(endpoint: str, settings: Settings) -> Iterator[Mapping[str, bool]]:
    """The model's tables on the embedded engine."""
    settings.TABLE_PREFIX = ""
    path = STRATEGIES["sort-key"]
    settings.SEQUENCES = {name: {"STRATEGY": path, "TABLE": name} for name in ("items", "rows")}
    made = create_tables()
    yield made
    for table in made:
        dynamodb.delete_table(table)


def requests_of(strategy: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The requests of some scenarios, each in a partition of its own."""
    for place, scenario in enumerate(scenarios(strategy, stride=STRIDE)):
        sent: list[tuple[str, Mapping[str, Any]]] = []
        world = World(scenario)
        serve = world.engine.serve

        def note(operation: str, request: Mapping[str, Any], sent: Any = sent, serve: Any = serve) -> dict[str, Any]:
            sent.append((operation, request))
            answer: dict[str, Any] = serve(operation, request)
            return answer

        with mock.patch.object(world.engine, "serve", note):
            world.run()
        for operation, request in sent:
            yield operation, _apart(request, place)


def _apart(request: Any, place: int) -> Any:
    """The request in another partition."""
    match request:
        case {"S": text}:
            return {"S": f"{text} {place}"}
        case Mapping():
            parts = {name: _apart(part, place) for name, part in request.items()}
            return {name: part for name, part in parts.items() if name != "ClientRequestToken"}
        case list():
            return [_apart(part, place) for part in request]
        case _:
            return request


def outcome(serve: Any, operation: str, request: Mapping[str, Any]) -> Any:
    """What an engine answers, as far as the package reads it."""
    try:
        answer = serve(operation, request)
    except WriteCancelled as error:
        return [(reason.code, reason.old) for reason in error.reasons]
    except SequenceError as error:
        return type(error)
    return {name: answer[name] for name in ("Item", "Items", "Attributes") if answer.get(name)}


def holds(ours: Any, theirs: Any) -> bool:
    """Whether our answer has all of theirs. The model does not leave out what a request does not name."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return all(name in ours and holds(ours[name], part) for name, part in theirs.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(holds, ours, theirs))
    return bool(ours == theirs)


@pytest.mark.needs_engine
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_answers_of_both_engines(tables: Mapping[str, bool], strategy: str) -> None:
    """Every request of some scenarios has the same answer from both."""
    requests = list(requests_of(strategy))
    model = Engine(KEYS, hides=False)
    for operation, request in requests:
        if operation != "describe_table":
            ours, theirs = (outcome(serve, operation, request) for serve in (model.serve, dynamodb.call))
            assert holds(ours, theirs), (operation, request, ours, theirs)
    assert len(requests) > 50
