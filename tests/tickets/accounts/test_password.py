"""The change of a password on a page."""

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client
from pytest_django import Settings

from tests.tickets.accounts.test_tokens import PASSWORD, TOKENS, make, sending
from tickets.accounts.validators import Password

OTHER = "quite another one"


@pytest.fixture
def signed_in(ann: User) -> Client:
    """Ann's browser, signed in with her password."""
    ann.set_password(PASSWORD)
    ann.save()
    return browser_of(ann)


def browser_of(person: User) -> Client:
    """A browser in which a person has just signed in."""
    client = Client()
    client.force_login(person)
    return client


def change(client: Client, old: str = PASSWORD, new: str = OTHER, again: str = "", **options: bool) -> tuple[int, str]:
    """Send the form. Returns the status and the page."""
    sent = {"old_password": old, "new_password1": new, "new_password2": again or new}
    response = client.post("/password/", sent, **options)  # type: ignore[arg-type]
    return response.status_code, response.content.decode()


def test_what_cannot_be_encoded() -> None:
    """Half of a surrogate pair is in no password, and is named."""
    with pytest.raises(ValidationError, match=r"U\+D800.* cannot be used"):
        Password().clean("secret\ud800")


def test_the_new_password_counts(ann: User, signed_in: Client) -> None:
    """After the change the new password opens the site, and the old one does not."""
    assert change(signed_in)[0] == 302
    ann.refresh_from_db()
    assert (ann.check_password(OTHER), ann.check_password(PASSWORD)) == (True, False)


def test_other_sessions_end_and_tokens_stay(ann: User, signed_in: Client) -> None:
    """The change signs its person out everywhere else, leaves programs alone, and leads to the list that says so."""
    elsewhere, program = browser_of(ann), sending(make(ann))
    status, page = change(signed_in, follow=True)
    assert status == 200
    assert "signed out everywhere else" in page
    assert "Your tokens stay" in page
    assert "Laptop" in page
    assert elsewhere.get("/tokens/").status_code == 302
    assert program.get(TOKENS).status_code == 200


def test_the_list_of_tokens_leads_to_it(signed_in: Client) -> None:
    """The page is linked where the tokens are, and says before the change what becomes of sessions and tokens."""
    assert 'href="/password/"' in signed_in.get("/tokens/").content.decode()
    page = signed_in.get("/password/").content.decode()
    assert "signed out everywhere else" in page
    assert "tokens stay" in page


@pytest.mark.parametrize(
    ("old", "new", "again", "said"),
    [
        ("wrong", OTHER, OTHER, "Your old password was entered incorrectly."),
        (PASSWORD, OTHER, "yet another", "The two password fields"),
        (PASSWORD, "12345678", "12345678", "This password is too common."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_changes(
    ann: User, signed_in: Client, old: str, new: str, again: str, said: str
) -> None:
    """A wrong old password, and new ones that differ or are weak, are said beside the fields; no page repeats them."""
    status, page = change(signed_in, old, new, again)
    assert status == 400
    assert said in page
    assert new not in page
    ann.refresh_from_db()
    assert ann.check_password(PASSWORD)


def test_the_old_password_cannot_be_tried_out(signed_in: Client, settings: Settings) -> None:
    """Wrong old passwords are limited like other tries to sign in; a weak new one is no try."""
    settings.THROTTLES = {"sign-in": "2/minute"}
    weak = [change(signed_in, new="12345678")[0] for _ in range(3)]
    wrong = [change(signed_in, "wrong")[0] for _ in range(3)]
    assert (weak, wrong) == ([400, 400, 400], [400, 400, 429])
    assert change(signed_in)[0] == 429


def test_a_lost_session_keeps_no_password(db: None) -> None:
    """Who sends the form without a session is asked to sign in, by a page that has none of the passwords."""
    status, page = change(Client(), old="the old one")
    assert status == 403
    assert "the old one" not in page
    assert OTHER not in page
