"""The note that a switch is under way, as a process reads it."""

from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.dynamodb.expressions import read_item
from sequences.exceptions import TableMissing
from sequences.rows.history import FOLLOW_SECONDS, SwitchNote
from tests.sequences.support import Clock


@pytest.fixture
def clock() -> Clock:
    """The time of this process."""
    return Clock()


@pytest.fixture
def note(clock: Clock) -> SwitchNote:
    """The note of a sequence whose changes have a table of their own."""
    return SwitchNote(Mock(is_apart=True, alias="orders", schema=Mock(table="changes")), lambda: clock.now)


@pytest.mark.parametrize(("row", "switching"), [({"to": {"S": "SortKeyMaximum"}}, True), ({}, False)])
def test_a_note(note: SwitchNote, row: Mapping[str, Any], switching: bool) -> None:
    """A switch is under way while its note names another strategy."""
    assert note.is_switching(lambda *_: {"Item": row}) is switching


def test_where_it_is(note: SwitchNote) -> None:
    """It is beside the history, in a partition of its own, and is read consistently."""
    send = Mock(return_value={})
    assert note.read(send) == {}
    key = {"sequence": {"S": "#switch#orders"}, "scope": {"S": "#"}}
    send.assert_called_once_with("get_item", read_item("changes", key))


def test_no_table(note: SwitchNote) -> None:
    """Without a table of changes nothing was ever switched."""
    assert note.is_switching(Mock(side_effect=TableMissing)) is False


def test_a_yes_is_remembered(note: SwitchNote, clock: Clock) -> None:
    """A yes is asked again after FOLLOW_SECONDS, and a no each time."""
    answers = Mock(side_effect=[{"Item": {"to": {"S": "AtomicCounter"}}}, {}, {}])
    assert note.is_switching(answers)
    clock.now += FOLLOW_SECONDS - 0.5
    assert note.is_switching(answers)
    clock.now += 0.5
    assert [note.is_switching(answers) for _ in range(2)] == [False, False]
    assert answers.call_count == 3
