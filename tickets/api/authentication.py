"""Signing in by token, without a look-up in the database for each request.

A process remembers a token and its user for `TOKEN_SECONDS`. It forgets all tokens as soon as it saves or deletes a
token or a user itself. It notices every other change, such as one by another process, within these seconds.

When a token was used last is written after the answer of a request that had to look it up, once an hour.
"""

from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar, TypeVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.signals import request_finished
from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_delete, post_save
from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from tickets.access.token_scopes import TokenScope
from tickets.accounts.api.throttling import require_unknown_allowed
from tickets.accounts.models import ApiToken
from tickets.accounts.selectors import find_token, use_is_news
from tickets.accounts.tokens import digest_of
from tickets.problems import ACCOUNTS_AWAY

M = TypeVar("M", bound=Model)

MOST_TOKENS = 10_000
SCHEMES = {"bearer", "token"}
CHALLENGE = 'Bearer realm="tickets"'


@dataclass(frozen=True, slots=True)
class KnownToken:
    """A token with its user, as they were in the database, and the time at which they are looked up again."""

    token: ApiToken
    scope: TokenScope
    until: float


def token_in(request: Request | HttpRequest) -> str | None:
    """The token that a request sends, whatever it is worth; None if it sends none."""
    scheme, _, text = str(request.META.get("HTTP_AUTHORIZATION", "")).partition(" ")
    return text.strip() if scheme.lower() in SCHEMES else None


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer ...`, or `Token ...`. Only tokens that open the API are remembered, by their digests."""

    known: ClassVar[dict[str, KnownToken]] = {}
    opened: ClassVar[set[str]] = set()
    """The digests that opened the API when they were looked up last: their look-ups are not counted."""
    used: ClassVar[set[int]] = set()
    """The tokens whose use is to be written down."""

    def authenticate_header(self, request: Request) -> str:
        """What the answer to a request without credentials asks for."""
        return CHALLENGE

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        """The user and the token, copied for this request: requests share no objects. None without a token.

        Raises PermissionDenied for what is beyond the scope of the token, whatever the view is.
        """
        text = token_in(request)
        if text is None:
            return None
        known = TokenAuthentication.known
        digest = digest_of(text)
        found = known.get(digest)
        if found is None or found.until <= monotonic():
            found = self._look_up(request, text, digest)
            if len(known) >= MOST_TOKENS:
                known.clear()
            known[digest] = found  # in vain if `forget` was called meanwhile: the look-up may be older than the change
        token, user, scope = _twin(found.token), _twin(found.token.user), found.scope
        token.user = user
        user.token_scope = scope  # type: ignore[attr-defined] # for `access.checks`
        if not scope.allows(request.method, request.parser_context.get("kwargs", {}).get("key")):
            raise PermissionDenied(scope.refusal)
        return user, token

    def _look_up(self, request: Request, text: str, digest: str) -> KnownToken:
        opened = TokenAuthentication.opened
        if digest not in opened:
            require_unknown_allowed(request)
        now, token = monotonic(), find_token(text)
        if token is None:
            opened.discard(digest)
            raise AuthenticationFailed("This token is wrong, expired or revoked.", "wrong_token")
        if len(opened) >= MOST_TOKENS:
            opened.clear()
        opened.add(digest)
        if use_is_news(token):
            TokenAuthentication.used.add(token.pk)
        return KnownToken(token, token.scope, now + min(settings.TOKEN_SECONDS, token.seconds_left(timezone.now())))

    @classmethod
    def forget(cls) -> None:
        """Look every token up again."""
        TokenAuthentication.known = {}


def _twin(model: M) -> M:
    """A copy of a row with a state of its own, without Django's way through pickles, which takes ten times as long."""
    twin = type(model).__new__(type(model))
    twin.__dict__ |= model.__dict__
    twin._state = copy(model._state)
    twin._state.fields_cache = {**model._state.fields_cache}
    return twin


class TokenScheme(OpenApiAuthenticationExtension):
    """How the description of the API names it."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer"}


def forget_tokens(*, using: str, **_: Any) -> None:
    """Forget all tokens now, and when the change can be seen outside its transaction."""
    TokenAuthentication.forget()
    transaction.on_commit(TokenAuthentication.forget, using=using)


def write_uses(**_: Any) -> None:
    """Write down which tokens were used, unless the accounts are away. Runs after an answer, mostly with nothing."""
    if TokenAuthentication.used:
        used, TokenAuthentication.used = TokenAuthentication.used, set()
        with suppress(*ACCOUNTS_AWAY):
            ApiToken.objects.filter(pk__in=used).update(last_used_at=timezone.now())


request_finished.connect(write_uses)
for sender in (ApiToken, get_user_model()):
    post_save.connect(forget_tokens, sender=sender)
    post_delete.connect(forget_tokens, sender=sender)
