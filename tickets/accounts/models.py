"""The stored API tokens. A secret is shown once, when its token is made, and is not stored."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils import timezone

from tickets.access.token_scopes import TokenScope


class ApiToken(models.Model):
    """A key to the REST API, which acts as its person. Deleting it revokes it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens", verbose_name="person")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField("made", default=timezone.now, editable=False)
    expires_at = models.DateTimeField("expires", null=True, blank=True)
    last_used_at = models.DateTimeField("last used", null=True, blank=True, editable=False)
    read_only = models.BooleanField(default=False)
    project = models.CharField(max_length=10, default="", blank=True)

    class Meta:
        """The newest one comes first."""

        verbose_name = "API token"
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> TokenScope:
        """What it opens of what its person may do."""
        return TokenScope(self.read_only, self.project)

    @property
    def expired(self) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= timezone.now()

    def seconds_left(self, now: datetime) -> float:
        """For how long it opens the API."""
        return float("inf") if self.expires_at is None else (self.expires_at - now).total_seconds()
