"""The views of API tokens: validate, call, serialize, respond."""

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from tickets.accounts import selectors, services
from tickets.accounts.api import serializers as shapes
from tickets.accounts.api.throttling import TokenThrottle, UserThrottle, begin_sign_in
from tickets.accounts.sign_in import signed_in
from tickets.accounts.validators import CREDENTIALS, usual_days
from tickets.api.authentication import CHALLENGE
from tickets.api.bodies import JSONParser
from tickets.api.permissions import SIGNED_IN
from tickets.api.requests import NoQuery, asked, page_of, page_response, sent
from tickets.types import Page
from tickets.validators import clean

TOLD_ONCE = {"Cache-Control": "no-store"}


class SignIn(APIView):
    """A token for a name and a password."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    parser_classes = (JSONParser, FormParser, MultiPartParser)

    def get_authenticate_header(self, request: Request) -> str:
        """What the answer to a wrong password asks for."""
        return CHALLENGE

    @extend_schema(
        request={"application/json": shapes.Credentials}, responses=shapes.GivenToken
    )  # clients take one form each
    def post(self, request: Request) -> Response:
        """Make a token for a name and a password. It lasts for `API_TOKEN_DAYS`.

        After 5 failures a minute, for a name at an address, the answer is 429. A person has at most 100 tokens; with
        100, the new one replaces the oldest that was made in this way.
        """
        user = by_password(request, **sent(request, shapes.Credentials))
        _, text = services.make_token_by_password(user, days=usual_days())
        return Response({"token": text}, headers=TOLD_ONCE)


def by_password(request: Request, username: str, password: str) -> User:
    """The person with this name and password. Raises AuthenticationFailed, and Throttled after too many tries."""
    content = clean({"username": username, "password": password}, CREDENTIALS)
    tried = begin_sign_in(request, content["username"])
    user = authenticate(request._request, **content)
    if not isinstance(user, User):
        raise AuthenticationFailed("The name or the password is wrong.", "wrong_password")
    tried.succeed()
    return user


class TokenList(APIView):
    """The tokens of the caller."""

    needs = SIGNED_IN
    throttle_classes = (UserThrottle, TokenThrottle)

    @extend_schema("auth_tokens_list", responses=page_of(shapes.ApiTokenSerializer))
    def get(self, request: Request) -> Response:
        """All tokens of the caller, newest first, without their secrets."""
        asked(request, NoQuery)
        tokens = tuple(selectors.list_tokens(signed_in(request)))
        page = Page(results=tokens, next_cursor=None, previous_cursor=None)
        return page_response(request, page, shapes.ApiTokenSerializer)

    @extend_schema(request=shapes.NewApiToken, responses={201: shapes.MadeTokenSerializer})
    def post(self, request: Request) -> Response:
        """Make a token, by the password. Its text is in this answer only, and a repeat makes another token.

        A person has at most 100 tokens, each for up to `API_TOKEN_MOST_DAYS`.
        """
        content = {"days": usual_days(), **sent(request, shapes.NewApiToken)}
        user = by_password(request, signed_in(request).get_username(), content.pop("password"))
        token, text = services.make_token(user, **content)
        headers = {"Location": reverse("api:token_detail", [token.pk], request=request), **TOLD_ONCE}
        return Response({**shapes.ApiTokenSerializer.shown(token), "token": text}, status=201, headers=headers)


class TokenDetail(APIView):
    """One token of the caller."""

    needs = SIGNED_IN

    @extend_schema(responses=shapes.ApiTokenSerializer)
    def get(self, request: Request, number: int) -> Response:
        """The token without its secret."""
        return Response(shapes.ApiTokenSerializer.shown(selectors.get_token(signed_in(request), number)))

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, number: int) -> Response:
        """Revoke the token. This process refuses it at once, others within TOKEN_SECONDS."""
        services.revoke_token(signed_in(request), number)
        return Response(status=204)
