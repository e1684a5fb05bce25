"""The model behind the permissions to see and to change sequences. The counters themselves are in DynamoDB."""

from __future__ import annotations

from django.db import models


class NoRows(models.Manager["Sequence"]):
    """A manager that finds no rows and never queries the database, which has no table for them."""

    def get_queryset(self) -> models.QuerySet[Sequence]:
        return super().get_queryset().none()


class Sequence(models.Model):
    """The administration's menu entry, with the permissions to view, to change and to take values. It has no rows.

    The permission to change holds all those for guarded changes, audits and exports, which may be given one by one.
    """

    objects = NoRows()

    class Meta:  # noqa: D106 - Django's model options
        managed = False
        default_permissions = ("view", "change")
        permissions = (
            ("take_value", "Can take values without items"),
            ("advance_sequence", "Can advance a scope"),
            ("seed_sequence", "Can seed a scope"),
            ("recover_sequence", "Can recover a scope"),
            ("freeze_sequence", "Can freeze a scope"),
            ("thaw_sequence", "Can thaw a scope"),
            ("close_sequence", "Can close the books of a period"),
            ("reopen_sequence", "Can open closed books again"),
            ("void_sequence", "Can make a number void"),
            ("series_sequence", "Can change the rules of a scope"),
            ("audit_sequence", "Can audit a scope"),
            ("export_sequence", "Can export the numbers of a scope"),
        )
        base_manager_name = "objects"

    def __str__(self) -> str:
        return "sequence"
