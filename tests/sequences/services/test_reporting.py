"""What becomes known of a call: its log, its signals and its metrics."""

from __future__ import annotations

from sequences.commit.requests import Pending, ReserveRequest
from sequences.services.reporting import _answers


def test_a_request_without_an_answer() -> None:
    """What was not answered counts as no answer."""
    answered, other = Pending(ReserveRequest(count=1)), Pending(ReserveRequest(count=1))
    answered.settle(range(1, 3))
    assert _answers([answered, other]) == [range(1, 3)]
