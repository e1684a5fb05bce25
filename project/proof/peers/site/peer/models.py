"""The tables of the peer. The unique index on project and number serves the list and the look-up of a ticket."""

from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models


class Project(models.Model):
    """A project. Its tickets have numbers of their own."""

    key = models.CharField(primary_key=True, max_length=10, validators=[RegexValidator(r"^[A-Z][A-Z0-9]{1,9}\Z")])
    name = models.CharField(max_length=100)
    description = models.TextField(max_length=2_000, blank=True, default="")

    def __str__(self) -> str:
        return self.key


class Status(models.TextChoices):
    """The progress of a ticket."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    DONE = "done"


class Ticket(models.Model):
    """One ticket."""

    objects: ClassVar[models.Manager[Self]]
    project_id: str

    project = models.ForeignKey(Project, models.PROTECT, db_index=False)  # the unique index begins with it
    number = models.BigIntegerField()
    title = models.CharField(max_length=200)
    description = models.TextField(max_length=20_000, blank=True, default="")
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.OPEN)
    assignee = models.CharField(max_length=150, blank=True, default="")
    labels = ArrayField(models.CharField(max_length=40), size=20, blank=True, default=list)
    reporter = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    version = models.PositiveIntegerField(default=1)
    updated_by = models.CharField(max_length=150)
    comments = models.PositiveIntegerField(default=0)

    class Meta:  # noqa: D106 - Django's model options
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_ticket_for_each_number")]

    def __str__(self) -> str:
        return self.key

    @property
    def key(self) -> str:
        """The name of the ticket, for example ABC-42."""
        return f"{self.project_id}-{self.number}"
