"""The rows of counters, as they are read: nothing is sent here."""

from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.rows.counter_rows import CounterRows, CounterState
from sequences.strategies import Strategy
from sequences.strategies.counter_strategy import counter_of
from sequences.types import Scope
from tests.sequences.support import make

pytestmark = pytest.mark.usefixtures("configured")


@pytest.fixture
def rows() -> CounterRows:
    """Those of a sequence with a table of counters."""
    strategy: Strategy = make("atomic")
    return counter_of(strategy).rows


def row(rows: CounterRows, scope: Scope, last_value: int) -> Mapping[str, Any]:
    """A stored counter."""
    return {**rows.key(scope), "last_value": {"N": f"{last_value}"}}


def test_no_scopes(rows: CounterRows) -> None:
    """For no scopes nothing is asked."""
    send = Mock()
    assert rows.of_scopes([], send) == {}
    send.assert_not_called()


def test_many_scopes(rows: CounterRows) -> None:
    """A counter that is not stored is empty, and one that the engine left out is missing."""
    left_out = {rows.table: {"Keys": [rows.key("c")]}}
    send = Mock(return_value={"Responses": {rows.table: [row(rows, "a", 7)]}, "UnprocessedKeys": left_out})
    found = rows.of_scopes(["a", "b", "c"], send)
    assert found.keys() == {"a", "b"}
    assert (found["a"]["last_value"], found["b"]) == (7, {})
    assert send.call_count == 1


def test_what_is_known_costs_nothing() -> None:
    """A counter that was not read cost no read units, and has no row."""
    known = CounterState(3, 3)
    assert (known.read_units, known.row, known.frozen) == (0.0, None, None)
