"""Everything is stored in DynamoDB. A model without fields gives it permissions, and an entry in the administration.

Only `KnownTable` has rows in the SQL database.
"""

from typing import ClassVar

from django.db import models


class Stored(models.Model):
    """What is stored in DynamoDB. A permission such as `tickets.view_ticket` allows its list."""

    class Meta:
        """Unmanaged: Django creates no table for it, so nothing may query its rows."""

        abstract = True
        managed = False
        default_permissions: ClassVar[tuple[str, ...]] = ("view",)


class Ticket(Stored):  # noqa: DJ008 - as above
    """Tickets in the administration."""


class Project(Stored):  # noqa: DJ008 - as above
    """Projects. Who may do what in one of them is stored with it, see `tickets.access`."""

    class Meta(Stored.Meta):
        """Its only permission is to make projects."""

        default_permissions = ("add",)


class Order(Stored):  # noqa: DJ008 - as above
    """Orders in the administration."""

    class Meta(Stored.Meta):
        """Orders are never changed or deleted."""

        default_permissions = ("view", "add")


class Invoice(Stored):  # noqa: DJ008 - as above
    """Invoices in the administration."""

    class Meta(Stored.Meta):
        """To add an invoice is to draft it."""

        default_permissions = ("view", "add")
        permissions = (("issue_invoice", "Can issue invoice"), ("void_invoice", "Can void invoice"))


class Company(Stored):  # noqa: DJ008 - as above
    """Companies that issue invoices. Their rules are changed in the administration of sequences."""

    class Meta(Stored.Meta):
        """Its only permission is to make companies."""

        default_permissions = ("add",)


class KnownTable(models.Model):
    """A table in DynamoDB to which the accounts of this SQL database belong (see `tickets.known_tables`)."""

    name = models.CharField(max_length=255, unique=True)
    identity = models.TextField()

    class Meta:
        """Nobody changes it by hand."""

        default_permissions = ()

    def __str__(self) -> str:
        return self.name
