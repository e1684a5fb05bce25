"""API tokens: their texts, how they are stored, and how they are made and revoked."""

import re
from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core.signals import request_finished
from django.core.signing import BASE62_ALPHABET, b62_decode, b62_encode
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries, Settings
from rest_framework.test import APIClient

from tests.tickets.support import OUTLINE, outlined
from tickets.accounts import selectors, services
from tickets.accounts.models import ApiToken
from tickets.accounts.tokens import PREFIX, check_of, digest_of, may_be_token, new_token
from tickets.api import authentication
from tickets.exceptions import InvalidInput
from tickets.types import Project

RECORDED = OUTLINE.read_text().splitlines()
TOKENS = "/api/auth/tokens/"
PASSWORD = "ann's password"
ZERO = f"tkt_{'0' * 43}3GVZXv"  # the token of the secret 0


def sending(text: str, scheme: str = "Bearer") -> APIClient:
    """A program that sends this token."""
    return APIClient(headers={"Authorization": f"{scheme} {text}"})


def make(user: User, name: str = "Laptop", days: int | None = 90) -> str:
    """The text of a new token."""
    return services.make_token(user, name=name, days=days)[1]


class TestTexts:
    def test_a_token_has_a_prefix_a_secret_and_a_check(self) -> None:
        """A token is found by its prefix, and is one word of letters and digits, which one click selects."""
        assert re.fullmatch(r"tkt_[0-9A-Za-z]{49}", new_token())
        assert len({new_token() for _ in range(100)}) == 100

    @given(st.integers(0, 2**256 - 1))
    def test_each_secret_has_a_text_of_its_own(self, number: int) -> None:
        """The 256 bits of a secret can be read from its text, which always has the same length: none are lost."""
        with mock.patch("secrets.randbits", return_value=number):
            text = new_token()
        assert len(text) == 53
        assert b62_decode(text.removeprefix(PREFIX)[:43].lstrip("0") or "0") == number

    @given(st.integers(0, len(new_token()) - 1), st.sampled_from(BASE62_ALPHABET))
    def test_one_wrong_letter_is_noticed(self, place: int, letter: str) -> None:
        """A token with another letter in any place is no token."""
        token = new_token()
        changed = token[:place] + letter + token[place + 1 :]
        assert may_be_token(changed) == (changed == token)

    @pytest.mark.parametrize("text", ["", "tkt_", "x" * 53, "0" * 39, "G" * 40, f"{ZERO} ", ZERO.upper()])
    def test_what_is_no_token_is_not_looked_up(
        self, db: None, text: str, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        """A text without the form of a token costs no query."""
        with django_assert_num_queries(0):
            assert selectors.find_token(text) is None

    def test_the_check_is_of_the_whole_secret(self) -> None:
        """The check of a known secret is what the format says: CRC-32 in base 62."""
        assert may_be_token(ZERO)
        assert check_of("tkt_" + "0" * 43) == b62_encode(2992344683)


class TestMaking:
    def test_the_secret_is_not_stored(self, ann: User) -> None:
        """The stored row has the SHA-256 of a token, and no part of its secret."""
        text = make(ann)
        (row,) = ApiToken.objects.values()
        assert row["digest"] == digest_of(text)
        assert text.removeprefix(PREFIX)[:8] not in str(row)

    def test_the_log_says_whose_it_is(self, ann: User, caplog: pytest.LogCaptureFixture) -> None:
        """Who made or revoked a token is logged with its name and its number, without its text."""
        with caplog.at_level("INFO", "tickets"):
            text = make(ann)
            services.revoke_token(ann, ApiToken.objects.get().pk)
        made, revoked = [record.getMessage() for record in caplog.records if record.name == "tickets.accounts.services"]
        assert re.fullmatch(r"ann made the API token 'Laptop' \(\d+\)\.", made)
        assert revoked == made.replace("made", "revoked")
        assert text not in caplog.text

    def test_a_person_has_many(self, ann: User) -> None:
        """Each token opens the API, and is listed, the newest first."""
        texts = [make(ann, name) for name in ("One", "Two")]
        assert [sending(text).get(TOKENS).status_code for text in texts] == [200, 200]
        assert [token.name for token in selectors.list_tokens(ann)] == ["Two", "One"]

    @pytest.mark.parametrize("days", [0, -1, 366, None, True, "90", 1.5])
    def test_the_time_is_limited(self, ann: User, days: object) -> None:
        """A token lasts a number of days, at most a year."""
        with pytest.raises(InvalidInput, match=r": 1 to 365 days\.'\]"):
            make(ann, days=days)  # type: ignore[arg-type]

    @pytest.mark.parametrize("days", [1, 365])
    def test_the_limits_of_the_time_are_within_it(self, ann: User, days: int) -> None:
        """A token may last a day, and a year."""
        make(ann, days=days)
        token = ApiToken.objects.get()
        assert token.expires_at == token.created_at + timedelta(days=days)

    def test_for_ever_is_a_setting(self, ann: User, settings: Settings) -> None:
        """Where the settings allow it, a token has no end."""
        settings.API_TOKEN_MOST_DAYS = None
        assert sending(make(ann, days=None)).get(TOKENS).json()["results"][0]["expires_at"] is None

    @pytest.mark.parametrize(("usual", "most", "days"), [(90, 30, 30), (None, 365, 365), (90, None, 90)])
    def test_no_setting_closes_the_sign_in(
        self, ann: User, settings: Settings, usual: int | None, most: int | None, days: int
    ) -> None:
        """A token for a password lasts as long as the settings allow."""
        settings.API_TOKEN_DAYS, settings.API_TOKEN_MOST_DAYS = usual, most
        ann.set_password(PASSWORD)
        ann.save()
        answer = APIClient().post("/api/auth/token/", {"username": "ann", "password": PASSWORD})
        assert answer.status_code == 200
        token = ApiToken.objects.get()
        assert token.expires_at == token.created_at + timedelta(days=days)

    def test_the_number_is_limited(self, ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
        """A person with too many tokens is told to revoke one; expired ones do not count, and are removed."""
        monkeypatch.setattr(services, "MOST_TOKENS", 2)
        make(ann, "expired")
        ApiToken.objects.update(expires_at=timezone.now())
        make(ann, "one"), make(ann, "two")
        with pytest.raises(InvalidInput, match="Revoke one"):
            make(ann, "three")
        assert [token.name for token in selectors.list_tokens(ann)] == ["two", "one"]

    def test_signing_in_often_is_not_refused(self, ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
        """A token for a password replaces the oldest such one if there are too many, and no other."""
        monkeypatch.setattr(services, "MOST_TOKENS", 2)
        kept = make(ann, "Laptop")
        first = services.make_token_by_password(ann, days=90)[1]
        second = services.make_token_by_password(ann, days=90)[1]
        assert [sending(text).get(TOKENS).status_code for text in (kept, first, second)] == [200, 401, 200]

    def test_signing_in_takes_the_place_of_an_expired_token(self, ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
        """A token that opens the API stays, as long as one that has expired can be removed."""
        monkeypatch.setattr(services, "MOST_TOKENS", 2)
        first = services.make_token_by_password(ann, days=90)[1]
        make(ann, "expired")
        ApiToken.objects.filter(name="expired").update(expires_at=timezone.now())
        second = services.make_token_by_password(ann, days=90)[1]
        assert [sending(text).get(TOKENS).status_code for text in (first, second)] == [200, 200]


class TestOpening:
    @pytest.mark.parametrize("scheme", ["Bearer", "Token", "bearer", "TOKEN"])
    def test_both_schemes_work(self, ann: User, scheme: str) -> None:
        """`Bearer` and `Token` are the same, in any case."""
        assert sending(make(ann), scheme).get(TOKENS).status_code == 200

    @pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer \xe4", "Basic YW5uOmFubg==", "tkt_x"])
    def test_other_headers_do_not(self, db: None, header: str) -> None:
        """What has no token is answered with 401."""
        response = APIClient(headers={"Authorization": header}).get(TOKENS)
        assert (response.status_code, response["WWW-Authenticate"]) == (401, 'Bearer realm="tickets"')

    def test_an_expired_one_is_refused(self, ann: User) -> None:
        """After its time a token opens nothing, though its process remembered it."""
        text = make(ann)
        program = sending(text)
        assert program.get(TOKENS).status_code == 200
        token = ApiToken.objects.get()
        token.expires_at = timezone.now()
        token.save()
        assert program.get(TOKENS).status_code == 401

    def test_it_is_not_remembered_beyond_its_time(
        self, ann: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A token that ends before the memory does is looked up at its end."""
        settings.TOKEN_SECONDS = 3600
        program, began = sending(make(ann)), timezone.now()
        ApiToken.objects.update(expires_at=began + timedelta(seconds=60))
        for seconds, status in ((0.0, 200), (59.0, 200), (60.0, 401)):
            monkeypatch.setattr(authentication, "monotonic", lambda seconds=seconds: seconds)
            monkeypatch.setattr(timezone, "now", lambda seconds=seconds: began + timedelta(seconds=seconds))
            assert program.get(TOKENS).status_code == status


class TestLastUse:
    def test_it_is_written_after_the_answer(self, ann: User) -> None:
        """The request itself writes nothing; when it is over, the use is stored."""
        program = sending(make(ann))
        seen = []

        def look(**_: object) -> None:
            seen.append(ApiToken.objects.get().last_used_at)

        request_finished.receivers.insert(0, request_finished.receivers.pop())  # keeps the order of the others
        request_finished.connect(look)
        request_finished.receivers.insert(0, request_finished.receivers.pop())
        try:
            program.get(TOKENS)
        finally:
            request_finished.disconnect(look)
        assert seen == [None]
        assert ApiToken.objects.get().last_used_at is not None

    def test_a_use_is_news_after_an_hour(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A first use is, and one that comes an hour after the stored one."""
        now, hour = timezone.now(), timedelta(hours=1)
        monkeypatch.setattr(timezone, "now", lambda: now)
        times = [None, now - hour, now - hour + timedelta(seconds=1), now]
        assert [selectors.use_is_news(ApiToken(last_used_at=at)) for at in times] == [True, True, False, False]

    def test_it_is_written_at_most_once_an_hour(self, ann: User, settings: Settings) -> None:
        """A use within the hour after the stored one is not stored, a later one is."""
        settings.TOKEN_SECONDS = 0
        program, lately = sending(make(ann)), timezone.now() - timedelta(minutes=59)
        ApiToken.objects.update(last_used_at=lately)
        program.get(TOKENS)
        assert ApiToken.objects.get().last_used_at == lately
        ApiToken.objects.update(last_used_at=lately - timedelta(minutes=2))
        program.get(TOKENS)
        assert ApiToken.objects.get().last_used_at > lately  # type: ignore[operator]


class TestRest:
    @pytest.fixture
    def program(self, ann: User) -> APIClient:
        """A program of Ann's."""
        ann.set_password(PASSWORD)
        ann.save()
        return sending(make(ann, "First"))

    def test_a_token_is_told_once(self, program: APIClient) -> None:
        """The answer that makes a token has its text, is kept by no cache, and no later answer has it."""
        made = program.post(TOKENS, {"name": "CI", "days": 30, "password": PASSWORD})
        text = made.json().pop("token")
        assert made.status_code == 201
        assert made["Cache-Control"] == "no-store"
        assert sending(text).get(made["Location"]).json() == {k: v for k, v in made.json().items() if k != "token"}
        assert text not in program.get(TOKENS).content.decode()

    def test_days_are_90_unless_said(self, program: APIClient) -> None:
        """Without `days` a token lasts 90 days."""
        program.post(TOKENS, {"name": "CI", "password": PASSWORD})
        token = ApiToken.objects.get(name="CI")
        assert token.expires_at == token.created_at + timedelta(days=90)

    @pytest.mark.parametrize(
        "content", [{}, {"name": ""}, {"name": "x" * 101}, {"name": "x", "days": 366}, {"name": "x", "day": 3}]
    )
    def test_wrong_fields_are_refused(self, program: APIClient, content: dict[str, object]) -> None:
        """A missing name, and what is beyond the limits or unknown, is answered with 400."""
        assert program.post(TOKENS, {"password": PASSWORD, **content}).status_code == 400
        assert ApiToken.objects.count() == 1

    def test_a_token_alone_makes_no_other(self, program: APIClient) -> None:
        """Without the password no token is made, and wrong ones are counted like other tries to sign in."""
        assert program.post(TOKENS, {"name": "CI"}).status_code == 400
        assert program.post(TOKENS, {"name": "CI", "password": "no"}).status_code == 401
        assert ApiToken.objects.count() == 1

    def test_null_is_for_ever_where_it_is_allowed(self, program: APIClient, settings: Settings) -> None:
        """`days` may be null if the settings allow tokens without an end."""
        new = {"name": "CI", "days": None, "password": PASSWORD}
        assert program.post(TOKENS, new).status_code == 400
        settings.API_TOKEN_MOST_DAYS = None
        made = program.post(TOKENS, new).json()
        assert made["expires_at"] is None

    def test_a_revoked_one_is_refused_at_once(self, ann: User, program: APIClient) -> None:
        """After DELETE the next request with the token is 401, and so is a repeat of DELETE by it."""
        other = sending(make(ann))
        assert other.get(TOKENS).status_code == 200
        number = ApiToken.objects.get(name="Laptop").pk
        assert program.delete(f"{TOKENS}{number}/").status_code == 204
        assert other.get(TOKENS).status_code == 401
        assert program.delete(f"{TOKENS}{number}/").status_code == 404

    def test_tokens_of_others_do_not_exist(self, program: APIClient) -> None:
        """Nobody sees or revokes the token of somebody else."""
        make(User.objects.create_user("bob"), "Bob's")
        number = ApiToken.objects.get(name="Bob's").pk
        assert [token["name"] for token in program.get(TOKENS).json()["results"]] == ["First"]
        for response in (program.get(f"{TOKENS}{number}/"), program.delete(f"{TOKENS}{number}/")):
            assert response.status_code == 404
        assert program.delete(f"{TOKENS}{10**30}/").status_code == 404
        assert ApiToken.objects.filter(name="Bob's").exists()

    @pytest.mark.parametrize("form", ["json", "multipart"])
    def test_a_password_makes_a_named_one(self, ann: User, form: str) -> None:
        """A name and a password, as JSON or as a form, give `{"token"}` and nothing else; the list names it."""
        ann.set_password(PASSWORD)
        ann.save()
        content = {"username": "ann", "password": PASSWORD}
        given = APIClient().post("/api/auth/token/", content, format=form)
        assert given.status_code == 200
        assert list(given.json()) == ["token"]
        listed = sending(given.json()["token"]).get(TOKENS).json()["results"]
        assert [token["name"] for token in listed] == [services.BY_PASSWORD]

    @pytest.mark.parametrize(("length", "status"), [(4096, 401), (4097, 400)])
    def test_an_endless_password_is_not_hashed(self, db: None, length: int, status: int) -> None:
        """A password of more than 4,096 characters is refused before anything is done with it."""
        content = {"username": "ann", "password": "x" * length}
        assert APIClient().post("/api/auth/token/", content).status_code == status

    def test_the_document_says_what_tokens_are(self, api: APIClient) -> None:
        """A program reads the document that is recorded: what makes a token, and what is told of it."""
        lines = outlined(api.get("/api/schema/?format=json").json()).splitlines()
        shapes = ("ApiToken ", "Credentials ", "GivenToken ", "MadeToken ", "NewApiToken ")
        found, recorded = ([line for line in one if line.startswith(shapes)] for one in (lines, RECORDED))
        assert found == recorded
        assert len(found) == len(shapes)

    def test_a_wrong_password_says_so(self, ann: User) -> None:
        """A wrong password is 401, asks for credentials, and says what is wrong."""
        response = APIClient().post("/api/auth/token/", {"username": "ann", "password": "no"})
        assert (response.status_code, response["WWW-Authenticate"]) == (401, 'Bearer realm="tickets"')
        assert "The name or the password is wrong" in response.content.decode()


class TestPages:
    def test_a_token_is_made_shown_once_and_revoked(self, ann: User, browser: Client) -> None:
        """The page after the form shows the token, which works; the list never does; revoking ends it."""
        made = browser.post("/tokens/new/", {"name": "Laptop", "days": "30"})
        (text,) = re.findall(r"tkt_\w+", made.content.decode())
        assert "no-store" in made["Cache-Control"]
        assert sending(text).get(TOKENS).status_code == 200
        listed = browser.get("/tokens/").content.decode()
        assert "Laptop" in listed
        assert text not in listed
        number = ApiToken.objects.get().pk
        assert browser.get(f"/tokens/{number}/revoke/").status_code == 200
        assert sending(text).get(TOKENS).status_code == 200  # looking revokes nothing
        assert browser.post(f"/tokens/{number}/revoke/")["Location"] == "/tokens/"
        assert sending(text).get(TOKENS).status_code == 401

    def test_a_wrong_form_keeps_what_was_typed(self, browser: Client) -> None:
        """An empty name and an impossible time are said beside the fields."""
        page = browser.post("/tokens/new/", {"name": "", "days": "30"})
        assert page.status_code == 400
        assert "must not be empty" in page.content.decode()
        assert browser.post("/tokens/new/", {"name": "x", "days": "5"}).status_code == 400
        assert ApiToken.objects.count() == 0

    def test_a_form_makes_one_token(self, browser: Client, tables: str) -> None:
        """A form that is sent again makes no other token, and shows none; one that was refused can be mended."""
        token = re.findall(r'name="token" value="(\w+)"', browser.get("/tokens/new/").content.decode())[0]
        form = {"name": "Laptop", "days": "30", "token": token}
        statuses = [browser.post("/tokens/new/", {**form, "project": key}).status_code for key in ("XXX", "", "")]
        assert statuses == [400, 200, 302]
        assert "has made its token already" in browser.get("/tokens/").content.decode()
        assert ApiToken.objects.count() == 1
        assert browser.post("/tokens/new/", {**form, "token": "another"}).status_code == 200

    def test_the_key_of_its_project_may_be_small(self, browser: Client, abc: Project) -> None:
        """The form takes the key of a project in any case, as all forms do."""
        assert browser.post("/tokens/new/", {"name": "CI", "days": "30", "project": "abc"}).status_code == 200
        assert ApiToken.objects.get().project == "ABC"

    def test_never_is_offered_where_it_is_allowed(self, ann: User, browser: Client, settings: Settings) -> None:
        """The choice "Never" is there only if the settings allow it."""
        assert "Never" not in browser.get("/tokens/new/").content.decode()
        settings.API_TOKEN_MOST_DAYS = None
        assert "Never" in browser.get("/tokens/new/").content.decode()
        browser.post("/tokens/new/", {"name": "x", "days": ""})
        assert ApiToken.objects.get().expires_at is None

    def test_tokens_of_others_do_not_exist(self, browser: Client) -> None:
        """The page that revokes somebody else's token is 404, and revokes nothing."""
        make(User.objects.create_user("bob"))
        number = ApiToken.objects.get().pk
        for answer in (browser.get(f"/tokens/{number}/revoke/"), browser.post(f"/tokens/{number}/revoke/")):
            assert answer.status_code == 404
        assert ApiToken.objects.count() == 1

    def test_the_header_leads_to_the_list(self, browser: Client, tables: str) -> None:
        """Every page links to the tokens of its reader."""
        assert 'href="/tokens/"' in browser.get("/").content.decode()

    def test_the_administration_lists_no_secrets(self, ann: User, admin_client: Client) -> None:
        """The administration shows whose token it is, and neither its text nor its digest; nobody can add one."""
        text = make(ann)
        number = ApiToken.objects.get().pk
        for path in ("", f"{number}/change/"):
            page = admin_client.get(f"/admin/accounts/apitoken/{path}").content.decode()
            assert "Laptop" in page
            assert text not in page
            assert digest_of(text) not in page
        assert admin_client.get("/admin/accounts/apitoken/add/").status_code == 403
