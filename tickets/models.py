"""No tables: the tickets live in DynamoDB. A model without fields gives the administration its entry."""

from django.db import models


class Ticket(models.Model):  # noqa: DJ008 - there are no objects to be shown
    """What the administration calls tickets; `tickets.view_ticket` is the permission to see their list."""

    class Meta:
        """Unmanaged: Django makes no table for it, and nothing may ask for its rows."""

        managed = False
        default_permissions = ("view",)
