"""What Django keeps of the app: the permission to see sequences. The counters live in DynamoDB."""

from __future__ import annotations

from django.db import models

__all__ = ["NoRows", "Sequence"]


class NoRows(models.Manager["Sequence"]):
    """Finds nothing, without asking the database, which has no table to ask."""

    def get_queryset(self) -> models.QuerySet[Sequence]:
        """No rows."""
        return super().get_queryset().none()


class Sequence(models.Model):
    """The administration's menu entry and its permission `sequences.view_sequence`: no table, no rows."""

    objects = NoRows()

    class Meta:  # noqa: D106 - Django's way to set options
        managed = False
        default_permissions = ("view",)
        base_manager_name = "objects"

    def __str__(self) -> str:
        return "sequence"
