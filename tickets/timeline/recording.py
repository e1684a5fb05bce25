"""Stores a change of a ticket together with its event in the timeline: both or neither, and once.

    read the row -- plan -- the event under the next number + the change of the row, if it is still as it was read --
         ^                                                      |
         `------ somebody else was faster: what is there now ---'

The conditions of the write decide between two changes. After a lost answer the same transaction is sent again, and is
recognised by the token of its event, however often others have changed the ticket since.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sequences import put_next
from sequences.actions import Action
from sequences.exceptions import AlsoRefused
from sequences.storage import FIRST_VERSION
from tickets import store
from tickets.exceptions import StaleVersion
from tickets.tables import Row
from tickets.types import TicketKey

SEQUENCE = "timeline"
MOST_RACES = 5  # that one change may lose against other changes of its ticket


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What a request makes of a ticket's row: the event, the actions that ride with it, and the row afterwards.

    Without actions there is nothing to do, and the event is not stored.
    """

    event: Row
    also: Sequence[Action] = ()
    row: Row


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """The row of a ticket after a request, and the number of its event; 0 if there was nothing to do.

    `replayed` means that an earlier request of its token has stored the event. The row is as it was read then.
    """

    row: Row
    number: int = 0
    replayed: bool = False


def record(
    key: TicketKey,
    plan: Callable[[Row], Step],
    *,
    require: Callable[[TicketKey, Row], None] = store.tickets.require_content,
    version: int | None = None,
    token: str | None = None,
) -> Recorded:
    """Store what `plan` makes of a ticket's row.

    `require` raises the error of a row that cannot be changed so. StaleVersion is raised if the ticket is not at
    `version`. Without a version, the change is planned again for what others have made of the ticket meanwhile.
    A request without a token is refused after the read already, as its write would be. With one it is always sent, even
    if there is nothing to do: a marker may have its answer.

    Raises TicketNotFound. One read of the row, one of the timeline's last number, and one transaction: 2 write units
    for the event, and for each other row, if it has at most 1 KB; 2 more with a token.
    """
    row, decided = store.tickets.find_row(key), token is None
    for _ in range(MOST_RACES):
        if decided:
            require(key, row)
            _require_version(row, version)
        step = plan(row)
        if decided and not step.also:
            return Recorded(row=row)
        scope, also = store.timeline.timeline_of(row), step.also or [store.tickets.refusing(row)]
        try:
            stored = put_next(SEQUENCE, step.event, scope=scope, also=also, idempotency_token=token)
        except AlsoRefused as refused:
            row, decided = refused.old, True
        else:
            return Recorded(row=row if stored.replayed else step.row, number=stored.value, replayed=stored.replayed)
    raise StaleVersion(store.tickets.ticket_from_row(row))


def _require_version(row: Row, version: int | None) -> None:
    if version not in (None, row.get("version", FIRST_VERSION)):
        raise StaleVersion(store.tickets.ticket_from_row(row))
