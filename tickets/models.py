"""No tables: the tickets are stored in DynamoDB. A model without fields gives them an entry in the administration."""

from django.db import models


class Ticket(models.Model):  # noqa: DJ008 - there are no objects to show
    """Tickets in the administration. The permission `tickets.view_ticket` allows the list."""

    class Meta:
        """Unmanaged: Django creates no table for it, so nothing may query its rows."""

        managed = False
        default_permissions = ("view",)
