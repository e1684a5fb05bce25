"""Whether counters follow the items of another strategy, as the row of the rules says it beside the history."""

from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.dynamodb.expressions import KeySchema, read_item
from sequences.exceptions import TableMissing
from sequences.rows.counter_rows import counter_schema
from sequences.rows.following import FOLLOW_SECONDS, Following
from sequences.rows.rules_row import RulesRow
from tests.sequences.support import Clock

FOLLOWING: Mapping[str, Any] = {
    "Item": {"switching": {"L": [{"S": "SortKeyMaximum"}, {"S": "TransactionalCounter"}]}},
}
GAPLESS: Mapping[str, Any] = {
    "Item": {"switching": {"L": [{"S": "AtomicCounter"}, {"S": "TransactionalCounter"}]}},
}


@pytest.fixture
def clock() -> Clock:
    """The time of this process."""
    return Clock()


@pytest.fixture
def history() -> Mock:
    """Changes with a table of their own."""
    return Mock(is_apart=True, schema=counter_schema("changes", "default"))


@pytest.fixture
def following(history: Any, clock: Clock) -> Following:
    """What a process knows of a sequence with this history."""
    return Following(RulesRow("orders", KeySchema(table="items"), history, (), {}, lambda: clock.now))


@pytest.mark.parametrize(("stored", "follows"), [(FOLLOWING, True), (GAPLESS, False), ({}, False)])
def test_a_switch(following: Following, stored: Mapping[str, Any], follows: bool) -> None:
    """They follow while a switch to or from a strategy that counts by items is under way."""
    assert following.now(lambda *_: stored) is follows
    assert following.of_late(lambda *_: stored) is follows


def test_where_it_is(following: Following) -> None:
    """It is read beside the history, consistently."""
    send = Mock(return_value={})
    following.now(send)
    key = {"sequence": {"S": "#rules#orders"}, "scope": {"S": "#"}}
    send.assert_called_once_with("get_item", read_item("changes", key))


def test_no_table(following: Following, history: Mock) -> None:
    """Without a table of changes nothing was ever switched, nor without one of their own."""
    assert following.of_late(Mock(side_effect=TableMissing)) is False
    history.is_apart = False
    assert following.of_late(Mock(side_effect=AssertionError)) is False


def test_a_yes_is_remembered(following: Following, clock: Clock) -> None:
    """A yes is asked again after FOLLOW_SECONDS, and a no each time."""
    answers = Mock(side_effect=[FOLLOWING, {}, {}])
    assert following.of_late(answers)
    clock.now += FOLLOW_SECONDS - 0.5
    assert following.of_late(answers)
    clock.now += 0.5
    assert [following.of_late(answers) for _ in range(2)] == [False, False]
    assert answers.call_count == 3
