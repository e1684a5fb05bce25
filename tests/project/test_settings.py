"""The settings: what they require, what they generate, and what pages must not show."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.test import Client

from project import environment, paths
from project.secret_files import stored_secret
from project.settings import development

ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"


KEY = "".join(chr(33 + n % 90) for n in range(60))
FORMER = [KEY[::-1], KEY[1:] + KEY[0]]  # with commas in them
DEMANDED = {
    "DJANGO_SETTINGS_MODULE": environment.PRODUCTION,
    "SECRET_KEY": KEY,
    "ALLOWED_HOSTS": "example.com",
    "DATABASE_URL": "postgres://somebody:secret@nowhere/tickets",
}
PROGRAM = """
import io, json, logging, os, sys
import django
from django.conf import settings
from django.core.management import call_command
django.setup()
logging.getLogger("tickets").info("well")
given = [name for name in os.environ if name.startswith("AWS_")]
os.environ.update(AWS_DEFAULT_REGION="eu-central-1", AWS_ACCESS_KEY_ID="tests", AWS_SECRET_ACCESS_KEY="tests")
complaints = io.StringIO()
for command in sys.argv[1:]:
    call_command(command, deploy=True, fail_level="INFO", stderr=complaints, stdout=io.StringIO())
chosen = [settings.CSRF_TRUSTED_ORIGINS, settings.SECRET_KEY_FALLBACKS, "prometheus_client" in sys.modules]
print(json.dumps([*chosen, complaints.getvalue(), given]))
"""


@dataclass(frozen=True)
class Started:
    """A process with the settings for production: what was chosen for it, and what it told."""

    log_format: str
    measures: bool
    log: str
    origins: list[str]
    former_keys: list[str]
    has_metrics: bool
    complaints: str
    """What `check --deploy` says, which one of the processes does."""
    given: list[str]
    """The variables of AWS."""


@pytest.fixture(scope="module", params=[("", " ", False), ("text", "a token of a monitor", True)])
def started(request: pytest.FixtureRequest) -> Started:
    """A process with a choice of the log's format and of the metrics' token, of which neither touches the other."""
    log_format, token, measures = request.param
    origins = "https://a.example.com, https://b.example.com"
    chosen = {"LOG_FORMAT": log_format, "METRICS_TOKEN": token, "TRUSTED_ORIGINS": origins}
    chosen |= {"SECRET_KEY_FALLBACKS": " ".join(FORMER), ENDPOINT: "http://127.0.0.1:8001", "PATH": os.environ["PATH"]}
    command, own = [sys.executable, "-c", PROGRAM, *(["check"] if measures else [])], {**DEMANDED, **chosen}
    done = subprocess.run(command, cwd=paths.ROOT, env=own, capture_output=True, text=True, check=False)
    return Started(log_format, measures, done.stderr, *json.loads(done.stdout or done.stderr))


class TestProduction:
    def test_it_passes_the_deployment_checks(self, started: Started) -> None:
        """With all of them set, check --deploy has nothing to say."""
        assert started.complaints == ""

    def test_it_takes_the_forms_of_trusted_origins(self, started: Started) -> None:
        """Behind a proxy that changes the host, its origin can be named."""
        assert started.origins == ["https://a.example.com", "https://b.example.com"]

    def test_former_keys_still_count(self, started: Started) -> None:
        """A new key ends no session while the former ones are named; a comma may be in a key."""
        assert started.former_keys == FORMER

    def test_its_log_is_json(self, started: Started) -> None:
        """A line is a JSON object, unless the environment wants text."""
        assert started.log.startswith({"": "{", "text": "2"}[started.log_format])
        assert "well" in started.log

    def test_nothing_is_measured_without_a_token(self, started: Started) -> None:
        """The library of metrics is loaded by a site alone whose metrics can be read."""
        assert started.has_metrics is started.measures

    def test_it_makes_nothing_up(self, started: Started) -> None:
        """A loopback engine gets no placeholder credentials in production."""
        assert started.given == [ENDPOINT]


class TestSecretKey:
    def test_it_is_made_once(self, tmp_path: Path) -> None:
        """The second reader gets the key of the first."""
        path = tmp_path / "fresh" / "secret_key"
        key = stored_secret(path, 50)
        assert len(key) >= 50
        assert stored_secret(path, 50) == key

    def test_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        """The file is closed to group and others."""
        path = tmp_path / "secret_key"
        stored_secret(path, 50)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_no_draft_is_left(self, tmp_path: Path) -> None:
        """Nothing but the key lies in its folder afterwards."""
        stored_secret(tmp_path / "secret_key", 50)
        stored_secret(tmp_path / "secret_key", 50)
        assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


class TestRunningEngine:
    def test_its_address_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A command in the folder of a run reaches the engine of that run."""
        monkeypatch.setenv(ENDPOINT, "to be restored")
        monkeypatch.delenv(ENDPOINT)
        (tmp_path / "endpoint").write_text("http://127.0.0.1:20001\n")
        development.find_running_engine(tmp_path / "endpoint")
        assert os.environ[ENDPOINT] == "http://127.0.0.1:20001"

    @pytest.mark.parametrize(("given", "used"), [("http://elsewhere:8000", "http://elsewhere:8000"), ("", None)])
    def test_what_the_environment_says_counts(
        self, given: str, used: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An address that is given stays, and an empty one means none at all."""
        monkeypatch.setenv(ENDPOINT, given)
        (tmp_path / "endpoint").write_text("http://127.0.0.1:20001")
        development.find_running_engine(tmp_path / "endpoint")
        assert os.environ.get(ENDPOINT) == used


class TestPlaceholderCredentials:
    NAMES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "AWS_PROFILE")

    @pytest.fixture(autouse=True)
    def no_credentials(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Remove all credentials for one test, and restore them afterwards."""
        for name in self.NAMES:
            monkeypatch.setenv(name, "to be restored")
            monkeypatch.delenv(name)

    def given(self) -> list[str]:
        """The variables of these names that are set."""
        return [name for name in self.NAMES if name in os.environ]

    @pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "http://localhost:8000", "http://[::1]:8000"])
    def test_an_engine_on_this_machine_needs_none(self, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """For a loopback address, key, secret and Region are made up."""
        monkeypatch.setenv(ENDPOINT, endpoint)
        development.use_placeholder_credentials()
        assert self.given() == ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"]

    @pytest.mark.parametrize("endpoint", ["", "https://dynamodb.eu-west-1.amazonaws.com", "http://10.0.0.1:8000"])
    def test_any_other_engine_gets_none(self, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """For AWS, and for another machine, nothing is made up."""
        monkeypatch.setenv(ENDPOINT, endpoint)
        development.use_placeholder_credentials()
        assert self.given() == []

    def test_credentials_that_are_given_stay(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A key of one's own is not mixed with a placeholder."""
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
        monkeypatch.setenv("AWS_PROFILE", "mine")
        development.use_placeholder_credentials()
        assert self.given() == ["AWS_DEFAULT_REGION", "AWS_PROFILE"]


class TestAnonymous:
    @pytest.mark.parametrize("page", ["/", "/ABC/", "/ABC/new/", "/ABC-1/"])
    def test_a_page_leads_to_signing_in(self, page: str, client: Client) -> None:
        """Without signing in every page leads to the sign-in page, and from there back."""
        response = client.get(page)
        assert (response.status_code, response["Location"]) == (302, f"/login/?next={page}")

    def test_the_administration_leads_to_its_own_sign_in(self, client: Client) -> None:
        """The admin asks for a name and a password too."""
        assert client.get("/admin/")["Location"].startswith("/admin/login/")

    @pytest.mark.parametrize("path", ["projects/", "tickets/ABC-1/", "sequences/", "schema/"])
    def test_the_api_answers_401(self, path: str, client: Client) -> None:
        """A call without credentials gets 401."""
        assert client.get(f"/api/{path}").status_code == 401

    @pytest.mark.django_db
    def test_the_sign_in_page_is_open(self, client: Client) -> None:
        """Anybody may see the sign-in page."""
        assert client.get("/login/").status_code == 200


def test_a_web_server_starts_with_the_views_loaded() -> None:
    """Before its first request a web server has loaded all views, and has freed the garbage collector of them.

    The collector goes on, and without any variable nobody is shown a stack trace. What the site does not use is not
    loaded, though it is installed.
    """
    code = """
import gc, sys
import project.wsgi
view = sys.modules["tickets.api.tickets"].TicketList
print(gc.is_tracked(view), any(one is view for one in gc.get_objects()), gc.isenabled(), project.wsgi.settings.DEBUG)
print({"psycopg", "requests"} & {*sys.modules})
import psycopg, requests
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=paths.ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["True", "False", "True", "False", "set()"], done.stderr
    assert done.returncode == 0, done.stderr
