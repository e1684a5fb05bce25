"""Which tickets a filter wants, and before which of them no list need look."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tickets.exceptions import InvalidInput
from tickets.lists.filters import EVERY_TICKET, TicketFilter
from tickets.types import Status, Ticket, TicketKey

NOON, SECOND, MINUTE = datetime(2026, 1, 31, 12, tzinfo=UTC), timedelta(seconds=1), timedelta(minutes=1)
TICKET = Ticket(
    key=TicketKey(project="ABC", number=1),
    title="Straße",
    description="On fire.",
    status=Status.OPEN,
    assignee="bob",
    labels=("hot", "new"),
    reporter="ann",
    created_at=NOON,
    updated_at=NOON + MINUTE,
    version=1,
)


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({}, True),
        ({"status": (Status.DONE, Status.OPEN)}, True),
        ({"status": (Status.DONE,)}, False),
        ({"assignee": "bob"}, True),
        ({"assignee": "ann"}, False),
        ({"label": "new"}, True),
        ({"label": "ne"}, False),
        ({"reporter": "ann"}, True),
        ({"reporter": "bob"}, False),
        ({"text": "STRASSE"}, True),
        ({"text": "FIRE"}, True),
        ({"text": "\uff26IRE"}, True),
        ({"text": "bob"}, False),
        ({"created_from": NOON}, True),
        ({"created_from": NOON + SECOND}, False),
        ({"created_before": NOON + SECOND}, True),
        ({"created_before": NOON}, False),
        ({"updated_from": NOON + MINUTE}, True),
        ({"updated_from": NOON + MINUTE + SECOND}, False),
        ({"updated_before": NOON + MINUTE + SECOND}, True),
        ({"updated_before": NOON + MINUTE}, False),
        ({"assignee": "bob", "label": "old"}, False),
        ({"reporter": "bob", "text": "fire"}, False),
    ],
)
def test_a_list_shows_that_for_which_everything_holds(where: dict[str, Any], wanted: bool) -> None:
    """Any of the statuses, a whole label or name, a part of a text in any case; a range begins at its first moment."""
    assert TicketFilter(**where).wants(TICKET) is wanted


@pytest.mark.parametrize(
    ("begin", "early"), [(None, False), (NOON, False), (NOON + MINUTE, False), (NOON + MINUTE + SECOND, True)]
)
def test_what_was_filed_before_is_too_early(begin: datetime | None, early: bool) -> None:
    """A ticket tells of those before it only if it is older by more than clocks may be apart."""
    assert TicketFilter(created_from=begin).begins_after(TICKET) is early
    assert not TicketFilter(created_before=begin).begins_after(replace(TICKET, created_at=NOON - MINUTE))


def test_what_is_asked_for() -> None:
    """A filter is made of what somebody sent; what is wrong is named."""
    assert TicketFilter.of({}) == EVERY_TICKET
    assert TicketFilter.of({"status": ["open"], "label": " hot "}) == TicketFilter(status=(Status.OPEN,), label="hot")
    with pytest.raises(InvalidInput) as caught:
        TicketFilter.of({"status": ["lost"], "text": "", "colour": "red"})
    assert set(caught.value.message_dict) == {"status", "text", "colour"}
