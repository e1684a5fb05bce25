"""The errors of requests about tickets, as one tree.

    TicketsError
    |-- InvalidInput        (also Django's ValidationError) a message for each wrong field
    |-- NotFound
    |   |-- ProjectNotFound
    |   `-- TicketNotFound
    |-- ProjectExists       the key is taken
    |-- ProjectChanged      somebody else changed the project meanwhile
    |-- ChangeRefused       carries the ticket or the order as it is now
    |   |-- StaleVersion    somebody else changed the ticket meanwhile
    |   |-- TicketMoved     the ticket has another key now
    |   `-- TicketVoided    the ticket was withdrawn
    `-- ValuesTooLarge      the values of a sequence are too large for its clients

`tickets.sales.exceptions` has more of them. Every message is written for the person who made the request. The store's
own errors are in `sequences.exceptions`, and `problems` says what all of them mean. This module knows neither pages nor
HTTP codes.
"""

import copyreg
from typing import Any

from django.core.exceptions import ValidationError

from tickets.types import Project, Ticket, TicketKey


class TicketsError(Exception):
    """The root of the tree. Every error can be pickled, because task queues and process pools do that."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InvalidInput(TicketsError, ValidationError):
    """Some fields are wrong: `message_dict` has the messages of each. Nothing was stored."""


class NotFound(TicketsError, LookupError):
    """The requested project or ticket does not exist."""


class ProjectNotFound(NotFound):
    """No project has this key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no project {key}.")


class TicketNotFound(NotFound):
    """No ticket has this key."""

    def __init__(self, key: object) -> None:
        super().__init__(f"There is no ticket {key}.")


class ProjectExists(TicketsError):
    """The key names a project, perhaps one that has another key now; nothing was stored."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is a project {key} already. Choose another key.")


class ProjectChanged(TicketsError):
    """Somebody changed the project after it was read; nothing was stored. `project` is as it is now."""

    def __init__(self, key: str, project: Project) -> None:
        changed = "was changed meanwhile" if key == project.key else f"is project {project.key} now"
        super().__init__(f"Project {key} {changed}, and this request changed nothing. Read it again, then change it.")
        self.project = project


class ChangeRefused(TicketsError):
    """Something cannot be changed in this way. `current` is the ticket or the order as it is now."""

    def __init__(self, message: str, current: Any) -> None:
        super().__init__(message)
        self.current = current


class StaleVersion(ChangeRefused):
    """Somebody changed the ticket after it was read. Nothing was stored, except perhaps if `outcome_unknown`."""

    def __init__(self, current: Ticket, *, outcome_unknown: bool = False) -> None:
        hidden = "Your change may be one of the earlier ones, because an answer of the store was lost."
        super().__init__(
            f"{current.key} was changed meanwhile and is at version {current.version} now. "
            f"{hidden if outcome_unknown else 'This request changed nothing.'} "
            "Compare your change with the ticket as it is now. If you still want it, send it again for that version.",
            current,
        )
        self.outcome_unknown = outcome_unknown


class TicketMoved(ChangeRefused):
    """The ticket `key` has gone to another project. `current` is the ticket there, under its present key."""

    current: Ticket

    def __init__(self, key: TicketKey, current: Ticket) -> None:
        super().__init__(f"{key} has moved: it is {current.key} now. Use that key.", current)
        self.key = key


class TicketVoided(ChangeRefused):
    """The ticket was withdrawn: its number stays, and its content is gone."""

    current: Ticket

    def __init__(self, current: Ticket) -> None:
        super().__init__(f"{current.key} was voided and cannot be changed any more.", current)


class ValuesTooLarge(TicketsError):
    """Values of a sequence are larger than `largest`. They were taken, but many clients would round them."""

    def __init__(self, sequence: str, largest: int) -> None:
        super().__init__(f"{sequence} has passed {largest}, the largest number that can be sent. Its values are lost.")
