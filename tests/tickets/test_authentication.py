"""Signing in by token, with the memory that spares look-ups."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks, Settings
from rest_framework.request import Request
from rest_framework.test import APIClient

from tickets.access import members
from tickets.accounts import selectors, services
from tickets.accounts.models import ApiToken
from tickets.accounts.tokens import digest_of
from tickets.api import authentication
from tickets.api.authentication import TokenAuthentication
from tickets.types import Project, Ticket

PROJECTS = "/api/projects/"


@pytest.fixture
def key(ann: User) -> str:
    """The text of Ann's token."""
    return services.make_token(ann, name="tests", days=90)[1]


@pytest.fixture
def token(key: str) -> ApiToken:
    """Ann's token, as it is stored."""
    return ApiToken.objects.get()


@pytest.fixture
def program(key: str) -> APIClient:
    """A program that sends Ann's token."""
    return sending(key)


def sending(key: str, scheme: str = "Bearer") -> APIClient:
    """A program that sends this token."""
    return APIClient(headers={"Authorization": f"{scheme} {key}"})


def sign_in(key: str) -> tuple[Any, ApiToken]:
    """The user and the token that a request with this text gets."""
    found = TokenAuthentication().authenticate(
        Request(RequestFactory().get("/", headers={"Authorization": f"Token {key}"}))
    )
    assert found
    return found


def status(program: APIClient) -> int:
    """The status of the answer to a request."""
    return int(program.get(PROJECTS).status_code)


def test_a_known_token_needs_no_database(
    program: APIClient, ticket: Ticket, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """After the first request with a token, a create, a list and a ticket need no query in Django's database."""
    assert status(program) == 200
    with django_assert_num_queries(0):
        assert program.post("/api/projects/ABC/tickets/", {"title": "x"}).status_code == 201
        assert program.get("/api/projects/ABC/tickets/").status_code == 200
        assert program.get("/api/tickets/ABC-1/").status_code == 200


def deactivate(ann: User) -> None:
    """Save Ann's account as inactive."""
    ann.is_active = False
    ann.save()


@pytest.mark.parametrize(
    "withdraw",
    [
        lambda ann: ann.api_tokens.get().delete(),
        lambda ann: ApiToken.objects.all().delete(),
        lambda ann: services.revoke_token(ann, ann.api_tokens.get().pk),
        lambda ann: ann.delete(),
        deactivate,
    ],
)
def test_a_withdrawn_token_is_refused_at_once(
    ann: User, program: APIClient, tables: str, withdraw: Callable[[User], Any]
) -> None:
    """The process that deletes a token or its account, or makes the account inactive, refuses the next request."""
    assert status(program) == 200
    withdraw(ann)
    assert status(program) == 401


def test_a_token_given_to_somebody_else_is_theirs_at_once(program: APIClient, token: ApiToken, abc: Project) -> None:
    """After a token is given to another account, as in the administration, that account is the author of tickets."""
    bob = User.objects.create_user("bob")
    members.set_member("ABC", "bob", role="reporter", by="ann")
    assert status(program) == 200
    token.user = bob
    token.save()
    assert program.post("/api/projects/ABC/tickets/", {"title": "x"}).json()["reporter"] == "bob"


def test_an_unseen_change_takes_effect_after_some_seconds(
    program: APIClient, tables: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that sends no signal, as by another process, is noticed after `TOKEN_SECONDS`."""
    settings.TOKEN_SECONDS = 5
    for now, found in ((100.0, 200), (104.9, 200), (105.0, 401)):
        monkeypatch.setattr(authentication, "monotonic", lambda now=now: now)
        assert status(program) == found
        User.objects.update(is_active=False)


def test_without_a_memory_each_request_looks_up(
    program: APIClient, tables: str, settings: Settings, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """With `TOKEN_SECONDS` 0, every request asks the database."""
    settings.TOKEN_SECONDS = 0
    ApiToken.objects.update(last_used_at=timezone.now())
    authentication.write_uses()  # of tokens that a test without an answer has used
    with django_assert_num_queries(2):
        assert [status(program), status(program)] == [200, 200]


def test_a_refusal_is_not_remembered(program: APIClient, tables: str) -> None:
    """A token that was refused is looked up again by the next request."""
    User.objects.update(is_active=False)
    assert status(program) == 401
    User.objects.update(is_active=True)
    assert status(program) == 200


def test_requests_share_no_objects(key: str) -> None:
    """What one request sets on its user or its token is not seen by another."""
    user, given = sign_in(key)
    user.first_name = given.user.last_name = given.name = "changed"
    user, given = sign_in(key)
    assert (user.first_name, given.user.last_name, given.name) == ("", "", "tests")
    assert given.user is user


def test_a_look_up_that_was_overtaken_is_not_remembered(
    ann: User, program: APIClient, tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an account changes between the look-up of its token and the end of the sign-in, the next request notices."""
    look_up = selectors.find_token

    def overtaken(text: str) -> ApiToken | None:
        found = look_up(text)
        deactivate(ann)
        return found

    monkeypatch.setattr(authentication, "find_token", overtaken)
    assert status(program) == 200
    assert status(program) == 401


def test_a_token_looked_up_before_the_commit_is_forgotten(
    program: APIClient, token: ApiToken, tables: str, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    """Until a deletion is committed, others still see the token: what they remember ends with the commit."""
    assert status(program) == 200
    seen_by_others = dict(TokenAuthentication.known)
    with django_capture_on_commit_callbacks(execute=True):
        token.delete()
        TokenAuthentication.known.update(seen_by_others)
        assert status(program) == 200
    assert status(program) == 401


def test_the_memory_is_bounded(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process remembers at most `MOST_TOKENS` tokens."""
    monkeypatch.setattr(authentication, "MOST_TOKENS", 2)
    people = [User.objects.create_user(name) for name in ("ann", "bob", "carl")]
    keys = [services.make_token(person, name="tests", days=90)[1] for person in people]  # each makes it forget all
    for key, size in zip(keys, (1, 2, 1), strict=True):
        sign_in(key)
        assert digest_of(key) in TokenAuthentication.known
        assert len(TokenAuthentication.known) == size


def test_what_a_program_is_asked_for(client: APIClient, db: None) -> None:
    """An answer without credentials names the scheme and the realm."""
    assert client.get("/api/projects/")["WWW-Authenticate"] == 'Bearer realm="tickets"'


@pytest.mark.parametrize("address", [PROJECTS, f"{PROJECTS}ABC/", "/api/tickets/ABC-1/"])
def test_a_format_is_refused_before_a_token(browser: Client, ticket: Ticket, address: str) -> None:
    """Who asks for a format that there is not is told so, whoever they are, and whatever the address is about."""
    strict = APIClient(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    for program in (sending("another"), strict, APIClient()):
        for method in (program.get, program.post):
            assert method(address, headers={"Accept": "image/png"}).status_code == 406
            assert method(f"{address}?format=xml").status_code == 404


def test_the_document_says_how_to_sign_in(api: APIClient, tables: str) -> None:
    """The description of the API asks for a bearer token."""
    document = api.get("/api/schema/?format=json").json()
    assert document["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
