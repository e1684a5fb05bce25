"""The errors of requests about tickets, orders and invoices: a tree, whose root is TicketsError.

Every message is written for the person who made the request. The store's own errors are in `sequences.exceptions`, and
`problems` says what all of them mean. This module knows neither pages nor HTTP codes.
"""

import copyreg
from typing import Any

from django.core.exceptions import ValidationError

from tickets.sales.types import Order
from tickets.types import Role, Ticket, TicketKey


class TicketsError(Exception):
    """The root of the tree. Every error can be pickled, because task queues and process pools do that."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InvalidInput(TicketsError, ValidationError):
    """Some fields are wrong: `message_dict` has the messages of each. Nothing was stored."""


class WrongPart(ValidationError):
    """A part of a field is wrong: `path` says which, such as `(2,)` for the third label."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path


class NotFound(TicketsError, LookupError):
    """The requested project or ticket does not exist."""


class ProjectNotFound(NotFound):
    """No project has this key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no project {key}.")


class TicketNotFound(NotFound):
    """No ticket has this key. `project` is the project that it would be in, for who may see it."""

    project: str | None = None

    def __init__(self, key: object) -> None:
        super().__init__(f"There is no ticket {key}.")

    @classmethod
    def of_number(cls, key: TicketKey, *, left_out: bool) -> "TicketNotFound":
        """For a number of a project that was left out, or is not given yet."""
        error = cls(key)
        why = "its number was left out, and will not be given" if left_out else "its number is not given yet"
        error.args, error.project = (f"There is no ticket {key}: {why}.",), key.project
        return error


class CommentNotFound(NotFound):
    """The ticket has no comment with this number."""

    def __init__(self, key: object, number: int) -> None:
        super().__init__(f"{key} has no comment {number}.")


class MemberNotFound(NotFound):
    """The person has no role of their own in the project."""

    def __init__(self, user: str, project: str) -> None:
        super().__init__(f"{user} is no member of project {project}.")


class NotAllowed(TicketsError):
    """The person may not do this. The message says which role or permission it needs."""

    @classmethod
    def without_role(cls, needed: Role, project: str, role: Role) -> "NotAllowed":
        """For a person whose role in the project is too low."""
        return cls(
            f"Your role in project {project} is {role}. This needs the role {needed}: ask an owner of the project."
        )

    @classmethod
    def not_own(cls, ticket: object, *, in_time: bool) -> "NotAllowed":
        """For a person who may change only their own tickets, or void them only for an hour after they filed them."""
        late, needed = (", or was filed more than an hour ago", Role.OWNER) if in_time else ("", Role.MEMBER)
        return cls(f"{ticket} is not yours{late}. This needs the role {needed}: ask an owner of the project.")

    @classmethod
    def without_permission(cls, permission: str) -> "NotAllowed":
        """For a person without a permission of Django."""
        return cls(f"This needs the permission {permission}: ask an administrator for it.")


class ProjectArchived(TicketsError):
    """The project can only be read."""

    def __init__(self, key: str) -> None:
        super().__init__(f"Project {key} is archived: it can only be read. An owner can take it out of the archive.")


class LastOwner(TicketsError):
    """The project would have no owner; nothing was stored."""

    def __init__(self, user: str, project: str) -> None:
        super().__init__(f"{user} is the only owner of project {project}. Make somebody else an owner first.")


class VersionRequired(TicketsError):
    """The change does not say which version it is based on. Nothing was stored."""

    def __init__(self) -> None:
        super().__init__("Say which version you have read: send its ETag in If-Match, or `version`.")


class ProjectExists(TicketsError):
    """The key names a project, perhaps one that has another key now; nothing was stored."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is a project {key} already. Choose another key.")


class ProjectChanged(TicketsError):
    """Somebody changed the project after it was read; nothing was stored."""

    def __init__(self, key: str, present_key: str) -> None:
        changed = "was changed meanwhile" if key == present_key else f"is project {present_key} now"
        super().__init__(f"Project {key} {changed}, and this request changed nothing. Read it again, then change it.")


class ChangeRefused(TicketsError):
    """Something cannot be changed in this way. `current` is the ticket or the order as it is now."""

    def __init__(self, message: str, current: Any) -> None:
        super().__init__(message)
        self.current = current


class StaleVersion(ChangeRefused):
    """Somebody changed the ticket, the project, or what has this name after it was read. Nothing was stored."""

    def __init__(self, current: Any, name: str = "") -> None:
        super().__init__(
            f"{name or current.key} was changed meanwhile and is at version {current.version} now. This request "
            "changed nothing. Compare your change with what is there now. If you still want it, send it again for "
            "that version.",
            current,
        )
        self.name = name


class StaleTag(StaleVersion):
    """The same, for a change that named its version by an ETag."""


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


class ContentGone(ChangeRefused):
    """The ticket was withdrawn, and its content is not sealed any more, or never was. Nothing was stored."""

    current: Ticket

    def __init__(self, current: Ticket) -> None:
        why = "was withdrawn by an operator" if current.title else "has no content any more"
        super().__init__(f"{current.key} {why} and cannot be restored.", current)


class CommentVoided(ChangeRefused):
    """The comment was withdrawn: its number stays, and its text is gone."""

    def __init__(self, current: Any, name: str) -> None:
        super().__init__(f"{name} was withdrawn and cannot be changed any more.", current)


class OrderNotFound(NotFound):
    """No order has this number."""

    def __init__(self, name: object) -> None:
        super().__init__(f"There is no order {name}.")


class CompanyNotFound(NotFound):
    """No company has this key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no company {key}. Make it first, or choose another one.")


class FormatRefused(TicketsError):
    """The invoices of a company cannot have these texts: wrong ones, or such as something else has."""


class CompanyExists(TicketsError):
    """The company is there already, with other rules. Nothing was stored."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is a company {key} already. Change its rules in the administration.")


class InvoiceNotFound(NotFound):
    """No invoice has this number; `reason` says more if no invoice can have the text."""

    def __init__(self, name: object, reason: str = "") -> None:
        super().__init__(f"There is no invoice {name}. {reason}".strip())


class OrderVoided(ChangeRefused):
    """An operator has withdrawn the order. Nothing was stored."""

    def __init__(self, current: Order) -> None:
        super().__init__(f"{current.text} was voided. No invoice can be made of it any more.", current)


class NoDraft(ChangeRefused):
    """The order has no draft: none was made, or its invoice was voided. Nothing was stored."""

    def __init__(self, current: Order) -> None:
        super().__init__(f"{current.text} has no draft of an invoice. Draft one, then issue it.", current)


class OrderInvoiced(ChangeRefused):
    """The order has an invoice. Nothing was stored."""

    def __init__(self, current: Order) -> None:
        named = current.invoice.text if current.invoice else "an invoice"
        super().__init__(
            f"{current.text} has the invoice {named} already. Void that one before you make another.", current
        )
