"""Signing in by token, without a look-up in the database for each request.

A process remembers a token and its user for `TOKEN_SECONDS`. It forgets all tokens as soon as it saves or deletes a
token or a user itself. It notices every other change, such as one by another process, within these seconds.
"""

from copy import copy
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from rest_framework import authentication
from rest_framework.authtoken.models import Token, TokenProxy

MOST_TOKENS = 10_000


@dataclass(frozen=True, slots=True)
class KnownToken:
    """A token with its user, as they were in the database, and the time at which they are looked up again."""

    token: Token
    until: float


class TokenAuthentication(authentication.TokenAuthentication):
    """The REST framework's, with a memory. Only tokens that open the API are remembered."""

    known: ClassVar[dict[str, KnownToken]] = {}

    def authenticate_credentials(self, key: str) -> tuple[AbstractBaseUser, Token]:
        """The user and the token, copied for this request: requests share no objects."""
        known, now = TokenAuthentication.known, monotonic()
        found = known.get(key)
        if found is None or found.until <= now:
            _, looked_up = super().authenticate_credentials(key)
            found = KnownToken(looked_up, now + settings.TOKEN_SECONDS)
            if len(known) >= MOST_TOKENS:
                known.clear()
            known[key] = found  # in vain if `forget` was called meanwhile: the look-up may be older than the change
        token = copy(found.token)
        token.user = copy(token.user)
        return token.user, token

    @classmethod
    def forget(cls) -> None:
        """Look every token up again."""
        TokenAuthentication.known = {}


def forget_tokens(*, using: str, **_: Any) -> None:
    """Forget all tokens now, and when the change can be seen outside its transaction."""
    TokenAuthentication.forget()
    transaction.on_commit(TokenAuthentication.forget, using=using)


for sender in (Token, TokenProxy, get_user_model()):
    post_save.connect(forget_tokens, sender=sender)
    post_delete.connect(forget_tokens, sender=sender)
