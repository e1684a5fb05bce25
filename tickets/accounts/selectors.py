"""The reads: finds API tokens."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from tickets.accounts.models import ApiToken
from tickets.accounts.tokens import digest_of, may_be_token
from tickets.exceptions import NotFound

USE_NOTED_EVERY = timedelta(hours=1)


def list_tokens(user: User) -> list[ApiToken]:
    """The tokens of a person, the newest first; expired ones, too, until the person makes another."""
    return list(ApiToken.objects.filter(user=user))


def get_token(user: User, number: int) -> ApiToken:
    """A token of a person. Raises NotFound."""
    token = ApiToken.objects.filter(user=user, pk=number).first()
    if token is None:
        raise NotFound(f"You have no API token {number}.")
    return token


def find_token(text: str) -> ApiToken | None:
    """The token of this text with its person, if it opens the API: not expired, and the account is active."""
    if not may_be_token(text):
        return None
    found = ApiToken.objects.select_related("user").filter(digest=digest_of(text), user__is_active=True).first()
    return None if found is None or found.expired else found


def use_is_news(token: ApiToken) -> bool:
    """Whether it is worth a write that the token is used now."""
    return token.last_used_at is None or token.last_used_at <= timezone.now() - USE_NOTED_EVERY
