"""The environment: what each variable may be, and that all faults are said at once, in one line each."""

import os
import subprocess
import sys

import pytest

from project import environment
from project.environment import ENDPOINT, WrongEnvironment, refuse_faults
from project.paths import ROOT

KEY = "".join(chr(33 + n % 90) for n in range(60))
RIGHT = {
    "SECRET_KEY": KEY,
    "ALLOWED_HOSTS": "tickets.example.com, 127.0.0.1",
    "DATABASE_URL": "postgres://somebody:secret@nowhere/tickets",
}
POSTGRES = "postgres://user:password@host/tickets"
ADDRESS = (
    f"DATABASE_URL is not a database's address: write it as {POSTGRES}, "
    "and a special character of the password as its code, such as %40 for @."
)
NAMELESS = f"DATABASE_URL names no database: end it with the name, as {POSTGRES}."
DRIVER = f"DATABASE_URL names a kind of database whose driver is not installed: name another, as {POSTGRES}."
GUESSED = "SECRET_KEY can be guessed: set it to 50 or more random characters, and keep them."
ENGINE = f"{ENDPOINT} is {{!r}}: set it to an address, as http://127.0.0.1:8001."
UNKNOWN = f"DJANGO_SETTINGS_MODULE is {{!r}}: set it to {environment.PRODUCTION} or {environment.DEVELOPMENT}."
ENTRIES = [["-m", "project.commands.web"], ["-m", "project.commands.prepare"], ["manage.py", "migrate"]]

HOST = "ALLOWED_HOSTS has {!r}: name the host alone, as tickets.example.com."
PROXY = "FORWARDED_ALLOW_IPS is {!r}: set it to the address of one proxy, as 10.0.0.1, or to * for any."
FAULTS = [
    ("SECRET_KEY", " ", "SECRET_KEY is not set: set it to 50 or more random characters, and keep them."),
    ("SECRET_KEY", "x", GUESSED),
    ("SECRET_KEY", "ab" * 30, GUESSED),
    ("SECRET_KEY", f"django-insecure-{KEY}", GUESSED),
    ("ALLOWED_HOSTS", " ,", "ALLOWED_HOSTS is not set: name the site's hosts, with commas between them."),
    ("ALLOWED_HOSTS", "https://a", "ALLOWED_HOSTS has 'https://a': name the host alone, as tickets.example.com."),
    *(("ALLOWED_HOSTS", host, HOST.format(host)) for host in ("a.com:443", "*.a.com", "::1")),
    *(("FORWARDED_ALLOW_IPS", word, PROXY.format(word)) for word in ("10.0.0.0/16", "10.0.0.1,10.0.0.2")),
    ("TRUSTED_ORIGINS", "a.com", "TRUSTED_ORIGINS has 'a.com': write it as https://tickets.example.com."),
    ("DATABASE_URL", "", f"DATABASE_URL is not set: name the database of the accounts, as {POSTGRES}."),
    ("DATABASE_URL", "banana", ADDRESS),
    ("DATABASE_URL", "what://secret@host/", ADDRESS),
    ("DATABASE_URL", "postgres://user:se/cret@host/name", ADDRESS),
    ("DATABASE_URL", "postgres://user:secret@host", NAMELESS),
    ("DATABASE_URL", "mysql://host/name", DRIVER),
    ("PROXIES", "many", "PROXIES is 'many': set it to a whole number, 0 or more."),
    ("LOG_FORMAT", "xml", "LOG_FORMAT is 'xml': set it to text or json."),
    ("PORT", "abc", "PORT is 'abc': set it to a whole number from 1 to 65535."),
    ("PORT", "65536", "PORT is '65536': set it to a whole number from 1 to 65535."),
    ("WEB_WORKERS", "x", "WEB_WORKERS is 'x': set it to a whole number, 1 or more."),
    ("WEB_THREADS", "0", "WEB_THREADS is '0': set it to a whole number, 1 or more."),
    ("KEEP_ALIVE", "-1", "KEEP_ALIVE is '-1': set it to a whole number, 1 or more."),
    ("STOP_SECONDS", "9" * 5000, f"STOP_SECONDS is '{'9' * 5000}': set it to a whole number, 1 or more."),
    ("STOP_DELAY", "soon", "STOP_DELAY is 'soon': set it to a whole number, 0 or more."),
    ("STOP_DELAY", "20", "STOP_DELAY is 20: set it below STOP_SECONDS, which is 20."),
    ("BIND", "no address", "BIND is 'no address': set it to an address of this machine, as 0.0.0.0."),
    ("DEBUG", "maybe", "DEBUG is 'maybe': set it to 1 or 0."),
    ("THROTTLE", "maybe", "THROTTLE is 'maybe': set it to 1 or 0."),
    ("SEQUENCES_CLIENT", "boto", "SEQUENCES_CLIENT is 'boto': set it to lean or boto3."),
    (ENDPOINT, "banana", ENGINE.format("banana")),
    (ENDPOINT, "localhost:8001", ENGINE.format("localhost:8001")),
    (ENDPOINT, "http://:8001", ENGINE.format("http://:8001")),
    (ENDPOINT, "http://host:port", ENGINE.format("http://host:port")),
    ("DJANGO_SETTINGS_MODULE", "no.module", UNKNOWN.format("no.module")),
]


@pytest.fixture
def right(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment of production, in which nothing is missing."""
    for name in {name for name, _, _ in FAULTS}:
        monkeypatch.delenv(name, raising=False)
    for name, value in RIGHT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("right")
class TestFaults:
    def test_there_are_none_where_all_is_right(self) -> None:
        """What production demands is enough."""
        refuse_faults(production=True)

    @pytest.mark.parametrize(("name", "value", "said"), FAULTS)
    def test_one(self, name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is said once, with the name of its variable and what to set, and no secret is."""
        monkeypatch.setenv(name, value)
        with pytest.raises(WrongEnvironment) as told:
            refuse_faults(production=True)
        assert str(told.value) == said

    def test_development_demands_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without any variable there is nothing to say, and a short key is nobody's business."""
        for name in RIGHT:
            monkeypatch.delenv(name)
        monkeypatch.setenv("SECRET_KEY", "x")
        refuse_faults(production=False)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            (ENDPOINT, "https://dynamodb.eu-west-1.amazonaws.com"),
            (ENDPOINT, "http://[::1]:8001"),
            (ENDPOINT, ""),
            ("DATABASE_URL", "sqlite:////tmp/x.sqlite3"),
            ("DATABASE_URL", "postgres://%2Frun%2Fpostgresql/tickets"),
            ("BIND", "::"),
            ("PORT", "65535"),
            ("LOG_FORMAT", "JSON"),
            ("STOP_DELAY", "19"),
        ],
    )
    def test_what_is_right_passes(self, name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing that works is refused."""
        monkeypatch.setenv(name, value)
        refuse_faults(production=True)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[-1])
def test_every_entry_says_all_at_once(entry: list[str]) -> None:
    """What a container runs ends with 2 before it begins, after a line for each fault, without a traceback."""
    wrong = {"SECRET_KEY": "x", "LOG_FORMAT": "xml", "PORT": "abc", ENDPOINT: "banana", "TMPDIR": "/tmp"}
    own = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": environment.PRODUCTION, **wrong}
    done = subprocess.run([sys.executable, *entry], cwd=ROOT, env=own, capture_output=True, text=True, check=False)
    said = [line.removeprefix("error: ").split()[0] for line in done.stderr.splitlines()]
    assert said == ["SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL", ENDPOINT, "PORT", "LOG_FORMAT"], done.stderr
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "own", "said"),
    [
        (["--settings", environment.PRODUCTION], {**RIGHT, "SECRET_KEY": "x"}, GUESSED),
        ([], {"DJANGO_SETTINGS_MODULE": "project.live"}, UNKNOWN.format("project.live")),
    ],
    ids=["named by an argument", "missing"],
)
def test_the_settings_of_a_command_count(arguments: list[str], own: dict[str, str], said: str) -> None:
    """The faults are those of the settings that the arguments name; settings that are not there are no traceback."""
    command = [sys.executable, "manage.py", "check", *arguments]
    own = {"PATH": os.environ["PATH"], **own}
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"error: {said}\n")


@pytest.mark.parametrize(
    ("module", "live"),
    [
        (environment.PRODUCTION, True),
        ("our.live_settings", True),
        (environment.DEVELOPMENT, False),
        ("project.proof.stack_settings", False),
        ("project.proof.bare.settings", False),
    ],
)
def test_settings_of_ones_own_are_for_production(module: str, live: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples and a database of the run's own are for the settings that are known to be for development alone."""
    monkeypatch.delenv(ENDPOINT, raising=False)
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", module)
    assert (environment.in_production(), environment.needs_own_engine()) == (live, not live)


@pytest.mark.parametrize(("word", "flag"), [("", False), ("0", False), ("off", False), ("1", True), ("True", True)])
def test_a_flag_is_yes_or_no(word: str, flag: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual words for yes and no are understood."""
    monkeypatch.setenv("DEBUG", word)
    assert environment.debug() is flag


def test_other_databases_keep_their_own_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only SQLite gets SQLite's options, and DATABASE_URL goes before what is named otherwise."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert environment.database("sqlite:////tmp/x.sqlite3")["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    monkeypatch.setenv("DATABASE_URL", "postgres://someone@localhost/tickets")
    assert "OPTIONS" not in environment.database("sqlite:////tmp/x.sqlite3")


@pytest.mark.parametrize(
    ("word", "proxy"), [("", "127.0.0.1"), ("*", "*"), (" 0:0::1 ", "::1"), ("::ffff:a00:1", "10.0.0.1")]
)
def test_one_proxy_is_believed(word: str, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable is as none, and an address is written as the peer's is."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", word)
    assert environment.trusted_proxy() == proxy
