"""The address of the metrics: for whom it is there, and for whom not."""

import pytest
from django.test import Client
from pytest_django import Settings

TOKEN = "a token for the monitor"


@pytest.fixture
def metered(settings: Settings) -> Client:
    """A stranger at a site whose metrics can be read."""
    settings.METRICS_TOKEN = TOKEN
    return Client(headers={"Host": "10.0.0.7"})


def test_there_is_no_such_address_without_a_token(client: Client, db: None, settings: Settings) -> None:
    """A site without the setting answers as for any unknown address, whatever is sent."""
    settings.METRICS_TOKEN = ""
    for headers in ({}, {"Authorization": "Bearer "}):
        assert client.get("/metrics", headers=headers).status_code == client.get("/nothing").status_code != 200


def test_the_monitor_reads_them(metered: Client) -> None:
    """Who has the token gets the text, by whatever name the machine is called; nobody keeps it."""
    answer = metered.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert answer["Cache-Control"] == "no-store"
    assert b"# TYPE " in answer.content


@pytest.mark.parametrize("sent", ["", TOKEN, "Bearer", "Bearer ", f"Token {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"])
def test_others_are_told_nothing(metered: Client, sent: str) -> None:
    """Another token, or none, is 401 with the name of the scheme."""
    answer = metered.get("/metrics", headers={"Authorization": sent})
    assert (answer.status_code, answer.content) == (401, b"")
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_they_are_only_read(metered: Client) -> None:
    """Nothing but GET is taken."""
    answer = metered.post("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, answer["Allow"]) == (405, "GET")
