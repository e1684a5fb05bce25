"""The writes: makes and revokes API tokens."""

import logging
from datetime import timedelta

from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils import timezone

from tickets.access.checks import actions_of
from tickets.accounts.models import ApiToken
from tickets.accounts.selectors import get_token
from tickets.accounts.tokens import digest_of, new_token
from tickets.accounts.validators import TOKEN
from tickets.exceptions import InvalidInput
from tickets.validators import clean

MOST_TOKENS = 100  # of a person
BY_PASSWORD = "Signed in with a password"  # noqa: S105 - a name

logger = logging.getLogger(__name__)


def make_token(
    user: User, *, name: str, days: int | None, read_only: bool = False, project: str = ""
) -> tuple[ApiToken, str]:
    """A new token of this person and its text, which nothing shows again. Expired tokens of the person are removed.

    It opens all that the person may do, or reading alone, or one project alone. Raises InvalidInput if a field is
    wrong, if the person may not see the project, or if they have `MOST_TOKENS` already.
    """
    content = clean({"name": name, "days": days, "read_only": read_only, "project": project}, TOKEN)
    if content["project"] and not actions_of(user, content["project"]):
        raise InvalidInput({"project": f"There is no project {content['project']}. Use the key of one that you see."})
    now, text = timezone.now(), new_token()
    if _remove_expired(user) >= MOST_TOKENS:
        raise InvalidInput({NON_FIELD_ERRORS: f"You have {MOST_TOKENS} tokens. Revoke one that you do not need."})
    days = content.pop("days")
    expires_at = None if days is None else now + timedelta(days=days)
    token = ApiToken.objects.create(user=user, **content, digest=digest_of(text), created_at=now, expires_at=expires_at)
    logger.info("%s made the API token %r (%d).", user.get_username(), token.name, token.pk)
    return token, text


def make_token_by_password(user: User, *, days: int | None) -> tuple[ApiToken, str]:
    """A new token for somebody who sent a password. If there are too many, it replaces the oldest one made so."""
    earlier = ApiToken.objects.filter(user=user, name=BY_PASSWORD).order_by("created_at", "pk")
    if _remove_expired(user) >= MOST_TOKENS and (oldest := earlier.first()):
        oldest.delete()
    return make_token(user, name=BY_PASSWORD, days=days)


def _remove_expired(user: User) -> int:
    """Remove the expired tokens of a person; return how many tokens are left."""
    ApiToken.objects.filter(user=user, expires_at__lte=timezone.now()).delete()
    return ApiToken.objects.filter(user=user).count()


def revoke_token(user: User, number: int) -> ApiToken:
    """Revoke a token of this person. Raises NotFound if the person has none of this number."""
    token = get_token(user, number)
    token.delete()
    logger.info("%s revoked the API token %r (%d).", user.get_username(), token.name, number)
    return token
