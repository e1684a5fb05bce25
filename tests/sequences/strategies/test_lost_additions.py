"""An addition to a counter whose answer was lost is recognised by its token."""

from __future__ import annotations

import pytest

from sequences import get_next_value
from sequences.exceptions import SequenceWentBack
from tests.sequences.support import Wire, delete_counter


def test_nothing_else_is_asked(scope: str, wire: Wire) -> None:
    """The repeat finds its own token on the counter, which tells the value: no read is needed."""
    assert get_next_value("atomic", scope=scope) == 1
    wire.clear()
    wire.lose("UpdateItem")
    assert get_next_value("atomic", scope=scope) == 2
    assert wire.operations == ["UpdateItem", "UpdateItem"]


def test_it_is_remembered(scope: str, wire: Wire) -> None:
    """A counter that is gone after an addition whose answer was lost went back, and is not begun anew."""
    wire.lose("UpdateItem")
    assert get_next_value("atomic", scope=scope) == 1
    delete_counter("atomic", scope)
    with pytest.raises(SequenceWentBack):
        get_next_value("atomic", scope=scope)
