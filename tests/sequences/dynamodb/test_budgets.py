"""Budgets: how many requests a page may send, and for how long."""

import asyncio
from contextlib import suppress

import pytest

from sequences import aput_next, dynamodb, get_last_value
from sequences.dynamodb import limits
from sequences.exceptions import BudgetSpent
from tests.sequences.support import Wire

pytestmark = pytest.mark.usefixtures("configured")


def test_requests_are_counted_and_bounded(wire: Wire) -> None:
    """What is sent counts; one more than allowed is not sent, and later requests are free again."""
    with dynamodb.at_most(2) as budget:
        get_last_value("atomic", scope="budget")
        get_last_value("sort-key", scope="budget")
        with pytest.raises(BudgetSpent, match="The 2 requests") as refused:
            get_last_value("atomic", scope="budget")
    assert not refused.value.too_slow
    assert budget.sent == len(wire.sent) == 2
    get_last_value("atomic", scope="budget")


def read_until_refused() -> None:
    """Read until there is no budget left."""
    with suppress(BudgetSpent):
        for _ in range(10):
            get_last_value("atomic", scope="budget")


def test_a_share_counts_for_the_whole(wire: Wire) -> None:
    """A part of a page has a bound of its own, and cannot send more than the page may."""
    with dynamodb.at_most(3) as page:
        for most in (2, 5):
            with dynamodb.at_most(most) as part:
                read_until_refused()
            assert part.sent == (2 if most == 2 else 1)
    assert page.sent == 3
    assert len(wire.sent) == 3


def test_time_is_bounded(wire: Wire) -> None:
    """After its time a page sends nothing, even in a part that has more time."""
    with dynamodb.at_most(10, seconds=0), dynamodb.at_most(10, seconds=60), pytest.raises(BudgetSpent) as refused:
        get_last_value("atomic", scope="budget")
    assert refused.value.too_slow
    assert wire.sent == []
    with dynamodb.at_most(10, seconds=50), dynamodb.at_most(10, seconds=600) as part:
        assert part.left <= 50
        assert limits.granted(2.0) == 2.0
        assert 40 < limits.granted(600.0) <= 50


def test_what_others_send_is_not_counted(wire: Wire) -> None:
    """A thread that sends for many awaiting callers spends nobody's budget: it must not refuse the others."""

    async def call() -> None:
        await asyncio.gather(*(aput_next("sort-key", {}, scope="budget") for _ in range(3)))

    with dynamodb.at_most(0) as budget:
        asyncio.run(call())
    assert budget.sent == 0
    assert wire.sent != []
