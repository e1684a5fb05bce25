"""How a scope moves forward: which action a change plans for what a look has found."""

from __future__ import annotations

from unittest import mock

import pytest

from sequences.changes.moves import moved_to
from sequences.exceptions import SequenceFrozen
from tests.sequences.strategies.test_snapshot import BY_ANA, Stored


def test_a_counter_whose_items_are_frozen() -> None:
    """A counter does not move past the row that freezes its scope: a strategy that counts items would go on there."""
    stored = Stored({"last_value": 5}, top=6, frozen=BY_ANA, in_collections=False)
    with pytest.raises(SequenceFrozen, match="by ana since noon"):
        moved_to(stored.look(), 9, mock.Mock())
