"""No tables: everything is stored in DynamoDB. A model without fields gives it an entry in the administration."""

from django.db import models


class Stored(models.Model):
    """What is stored in DynamoDB. A permission such as `tickets.view_ticket` allows its list."""

    class Meta:
        """Unmanaged: Django creates no table for it, so nothing may query its rows."""

        abstract = True
        managed = False
        default_permissions = ("view",)


class Ticket(Stored):  # noqa: DJ008 - as above
    """Tickets in the administration."""


class Order(Stored):  # noqa: DJ008 - as above
    """Orders in the administration."""


class Invoice(Stored):  # noqa: DJ008 - as above
    """Invoices in the administration."""
