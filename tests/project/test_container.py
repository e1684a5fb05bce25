"""The container: what its image has and does, as its files say it."""

import json
import re
import shlex
from typing import Any

import pytest
import yaml

from project import environment
from project.commands import prepare, web
from project.paths import ROOT

DEPLOY = ROOT / "deploy"
PAIR = tuple[str, str]


def instructions() -> list[PAIR]:
    """The instructions of the Dockerfile, in order, with what they say on one line."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines) if word]


def stages() -> dict[str, list[PAIR]]:
    """The instructions of each stage by its name."""
    found: dict[str, list[PAIR]] = {}
    for word, rest in instructions():
        if word == "FROM":
            found[rest.split(" AS ")[1]] = []
        list(found.values())[-1].append((word, rest))
    return found


def said(stage: str, word: str) -> list[str]:
    """What the instructions of one kind say in a stage."""
    return [rest for kind, rest in stages()[stage] if kind == word]


def test_its_bases_are_pinned() -> None:
    """Each stage is another stage, or a public image by a version and a digest, which no other image can have."""
    for stage, lines in stages().items():
        base = lines[0][1].split(" AS ")[0]
        assert base in stages() or re.fullmatch(r"[a-z]+:\d+(\.\d+)*-[a-z-]+@sha256:[0-9a-f]{64}", base), stage


@pytest.mark.parametrize("stage", ["tickets", "engine"])
def test_it_runs_as_nobody_and_says_how_it_is(stage: str) -> None:
    """The last user has a fixed number and is not root; the health is asked by a program of the image itself."""
    assert said(stage, "USER") == ["10001:10001"]
    (health,) = said(stage, "HEALTHCHECK")
    program = json.loads(health[health.index("[") :])[0]
    assert program in {"python", "dynoxide"}


@pytest.mark.parametrize("stage", ["tickets", "engine"])
def test_signals_reach_it(stage: str) -> None:
    """Its programs are started without a shell, which would keep a signal to itself."""
    for word in ("ENTRYPOINT", "CMD"):
        assert all(isinstance(json.loads(rest), list) for rest in said(stage, word))


def test_it_starts_what_is_there() -> None:
    """The entry is Python with a module, and both modules that the head of the file names exist."""
    assert json.loads(said("tickets", "ENTRYPOINT")[0]) == ["python", "-m"]
    assert json.loads(said("tickets", "CMD")[0]) == [web.__spec__.name]
    assert f"docker run tickets {prepare.__spec__.name} " in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    """Every copied path of the project exists, and `.dockerignore` lets it through."""
    let_through = {
        line[1:].rstrip("/") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    }
    copied = [
        path.rstrip("/")
        for word, rest in instructions()
        if word == "COPY" and "--from" not in rest
        for path in shlex.split(rest)[:-1]
    ]
    assert copied
    for path in copied:
        assert (ROOT / path).exists(), path
        assert path in let_through, path
    assert let_through == set(copied)


def test_no_secret_is_in_it() -> None:
    """No variable of the image is a secret, and no argument of its build is."""
    for word, rest in instructions():
        assert word != "ARG"
        assert word != "ENV" or not re.search(r"SECRET|PASSWORD|TOKEN|DATABASE_URL|AWS_", rest)


def test_it_has_what_the_application_needs_alone() -> None:
    """The first paragraph of the requirements has the application's packages; those of the tests are not in it."""
    first, *others = (ROOT / "requirements.txt").read_text(encoding="utf-8").split("\n\n")
    assert {"Django", "boto3", "gunicorn", "psycopg[binary]"} <= set(
        re.findall(r"^([\w\[\]-]+)==", first, re.MULTILINE)
    )
    assert "pytest" not in first
    assert "pytest" in "".join(others)
    (install,) = said("packages", "RUN")
    assert "--require-hashes" in install
    assert "-r /tmp/requirements.lock" in install


class TestCompose:
    @pytest.fixture
    def services(self) -> dict[str, Any]:
        """The services of the compose file."""
        content = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
        services: dict[str, Any] = content["services"]
        return services

    def test_nothing_in_it_is_a_secret(self) -> None:
        """Secrets come from a file that is made on the machine, and git ignores it."""
        text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
        for line in text.splitlines():
            if re.search(r"^ *(SECRET_KEY|DEMO_PASSWORD|POSTGRES_PASSWORD|DATABASE_URL): ", line):
                assert re.search(r"\$\{\w+:\?", line), line
        assert "deploy/.env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()

    def test_the_site_waits_for_what_it_needs(self, services: dict[str, Any]) -> None:
        """The databases are healthy before they are prepared, and prepared before the site starts."""
        assert services["prepare"]["command"] == [prepare.__spec__.name]
        assert {need["condition"] for need in services["prepare"]["depends_on"].values()} == {"service_healthy"}
        assert services["web"]["depends_on"] == {"prepare": {"condition": "service_completed_successfully"}}

    def test_it_is_as_locked_in_as_in_production(self, services: dict[str, Any]) -> None:
        """Its containers cannot write but to /tmp, have no rights, and are reached from this machine alone."""
        for name in ("prepare", "web"):
            assert services[name]["read_only"] is True
            assert services[name]["tmpfs"] == ["/tmp"]
            assert services[name]["cap_drop"] == ["ALL"]
        assert services["web"]["ports"] == ["127.0.0.1:8000:8000"]

    def test_there_is_time_to_stop(self, services: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        """It is killed later than it has stopped by itself."""
        monkeypatch.delenv("STOP_SECONDS", raising=False)
        assert int(services["web"]["stop_grace_period"].rstrip("s")) > environment.stop_seconds()
