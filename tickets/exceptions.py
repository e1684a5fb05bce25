"""What can be wrong with a request about tickets, as one tree.

    TicketsError
    |-- InvalidInput        (Django's ValidationError) a message for each field that is wrong
    |-- NotFound
    |   |-- ProjectNotFound
    |   `-- TicketNotFound
    |-- ProjectExists       the key is taken
    |-- ChangeRefused       carries the ticket as it is now
    |   |-- StaleVersion    somebody changed the ticket meanwhile
    |   `-- TicketVoided    the ticket was withdrawn
    `-- ValuesTooLarge      the values of a sequence are beyond what its readers keep

Every message is written for the person who made the request. What the store may raise besides is in
`sequences.exceptions`; what either means for its reader is in `problems`. Neither pages nor HTTP codes are known here.
"""

import copyreg
from typing import Any

from django.core.exceptions import ValidationError

from tickets.types import Ticket


class TicketsError(Exception):
    """The root of the tree. Every error survives pickling, as task queues and process pools do it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InvalidInput(TicketsError, ValidationError):
    """Fields that hold what they may not: `message_dict` holds the messages of each. Nothing was stored."""


class NotFound(TicketsError, LookupError):
    """What was asked for does not exist."""


class ProjectNotFound(NotFound):
    """No project has this key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no project {key}.")


class TicketNotFound(NotFound):
    """No ticket has this key."""

    def __init__(self, key: object) -> None:
        super().__init__(f"There is no ticket {key}.")


class ProjectExists(TicketsError):
    """The key is taken; nothing was stored."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is a project {key} already. Choose another key.")


class ChangeRefused(TicketsError):
    """The ticket cannot be changed so. `current` is the ticket as it is now."""

    def __init__(self, message: str, current: Ticket) -> None:
        super().__init__(message)
        self.current = current


class StaleVersion(ChangeRefused):
    """Somebody changed the ticket after it was read. Nothing was stored, unless `outcome_unknown`."""

    def __init__(self, current: Ticket, *, outcome_unknown: bool = False) -> None:
        hidden = "Your change may be among those before it, for an answer of the store was lost."
        super().__init__(
            f"{current.key} was changed meanwhile and is at version {current.version} now. "
            f"{hidden if outcome_unknown else 'This request changed nothing.'} "
            "Compare your change with the ticket as it is, and send it again, for that version, if it is to stand.",
            current,
        )
        self.outcome_unknown = outcome_unknown


class TicketVoided(ChangeRefused):
    """The ticket was withdrawn: its number stays, its content is gone."""

    def __init__(self, current: Ticket) -> None:
        super().__init__(f"{current.key} was voided and cannot be changed any more.", current)


class ValuesTooLarge(TicketsError):
    """Values of a sequence are larger than `largest`: they were taken, but their reader would lose digits."""

    def __init__(self, sequence: str, largest: int) -> None:
        super().__init__(f"{sequence} has passed {largest}, the largest number that can be told. Its values are lost.")
