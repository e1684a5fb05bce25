"""What the README says is so: its tables are the classes' own, its examples run, its commands and files exist."""

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from sequences.capabilities import options_table, strategies_table
from sequences.exceptions import InvalidSequence
from sequences.registry import DEFAULT_TABLE, parse_config

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
MANAGE = ".local/venv/bin/python manage.py "
# Variables that the programs give each other.
INTERNAL = {"DEMO_PASSWORD"}


def between(start: str) -> str:
    """The text from a mark to the next end mark."""
    return TEXT.partition(f"<!-- {start} -->\n")[2].partition("\n<!-- end -->")[0]


def blocks(language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def commands() -> Iterator[tuple[str, str]]:
    """The commands of the console blocks, each with the answer below it."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, answer = part.replace("\\\n", " ").partition("\n")
            yield command, answer.strip()


def section(heading: str) -> str:
    """The text below a heading, up to the next."""
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def named_in_table(heading: str) -> set[str]:
    """What the first column of the section's first table names."""
    rows = re.findall(r"^\| (`.*?) \|", section(heading), re.MULTILINE)
    return {name for row in rows for name in re.findall("`(.*?)`", row)}


class TestTables:
    def test_the_table_of_strategies_is_the_classes_own(self) -> None:
        """`manage.py sequences strategies` prints the table that stands in the README."""
        assert between("strategies") == strategies_table()

    def test_the_table_of_options_is_the_classes_own(self) -> None:
        """The columns but for the last, which tells each option's meaning, are those that the classes give."""
        rows = [row.removesuffix(" |").rpartition(" | ") for row in between("options").split("\n")]
        assert [f"{made} |" for made, _, _ in rows] == options_table().split("\n")
        assert all(meaning for _, _, meaning in rows)

    def test_the_table_of_settings_names_every_key(self) -> None:
        """The keys of an entry are those that the registry accepts, with its defaults."""
        with pytest.raises(InvalidSequence) as error:
            parse_config("any", {"STRATEGY": "any", "NONSENSE": 1})
        known = set(re.split(", ", str(error.value).partition("known are ")[2].rstrip(".")))
        (table,) = re.findall(r"^\| Key .*?\n\n", section("Settings"), re.DOTALL | re.MULTILINE)
        assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == known
        config = parse_config("any", {"STRATEGY": "any"})
        assert f"| `TABLE` | `{DEFAULT_TABLE}` |" in table
        assert f"| `START` | {config.start} |" in table
        assert f"| `STEP` | {config.step} |" in table
        assert f"| `MAXIMUM` | {len(str(config.maximum))} digits |" in table

    def test_the_table_of_the_environment_names_what_the_settings_read(self) -> None:
        """Every variable that the settings read is in the table."""
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "project").rglob("*.py"))
        read = set(re.findall(r'(?:environ\.get|environ\.setdefault|environment\.\w+)\("(\w+)"', sources))
        assert read
        assert read - INTERNAL <= named_in_table("Environment")


class TestExamples:
    def test_the_python_examples_run(self, endpoint: str, table_prefix: str, settings: Settings) -> None:
        """The settings pass Django's checks, and the calls give what their comments say."""
        configuration, calls = blocks("python")
        names: dict[str, Any] = {}
        exec(configuration, names)
        assert names["INSTALLED_APPS"][-1] in settings.INSTALLED_APPS
        settings.SEQUENCES = names["SEQUENCES"]
        assert run_checks() == []
        call_command("create_tables", verbosity=0)
        exec(calls, {})

    def test_the_commands_do_what_they_say(self, db: None, tables: str) -> None:
        """One after the other, the calls of the API are answered as shown, and management commands succeed."""
        User.objects.create_superuser("demo", password="demo's password")
        variables = {"PASSWORD": "demo's password"}
        shown = list(commands())
        for command, answer in shown:
            if command.startswith("curl "):
                answered = curl(command, variables)
                variables["TOKEN"] = answered.get("token", variables.get("TOKEN"))
                assert_as_shown(answered, json.loads(answer))
            elif command.startswith(MANAGE):
                call_command(*shlex.split(command.removeprefix(MANAGE)), verbosity=0)
        assert len([command for command, _ in shown if command.startswith("curl ")]) > 5

    def test_make_knows_its_commands(self) -> None:
        """Every `make` command of the README is one of the Makefile's."""
        known = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        named = set(re.findall(r"\bmake ([a-z-]+)\b(?= ARGS|`|\n)", TEXT))
        assert {"run", "test"} <= named <= set(known[0].split())


def curl(command: str, variables: dict[str, str]) -> Any:
    """What the application answers to a curl command with its variables filled in; it must be a success."""
    parser = argparse.ArgumentParser()
    parser.add_argument("curl")
    parser.add_argument("url")
    parser.add_argument("-X", dest="method")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="data", action="append", default=[])
    for name, value in variables.items():
        command = command.replace(f"${name}", value)
    call = parser.parse_args(shlex.split(command))
    headers = dict(header.split(": ", 1) for header in call.headers)
    address = urlsplit(call.url)
    answer = Client().generic(
        call.method or ("POST" if call.data else "GET"),
        f"{address.path}?{address.query}" if address.query else address.path,
        "&".join(call.data),
        headers.pop("Content-Type", "application/x-www-form-urlencoded"),
        headers=headers,
    )
    assert answer.status_code in (200, 201), answer.content
    return answer.json()


def assert_as_shown(answered: Any, shown: Any) -> None:
    """The answer has the keys and values that are shown; "..." stands for any text."""
    if isinstance(shown, dict):
        assert answered.keys() == shown.keys()
        for name, value in shown.items():
            assert_as_shown(answered[name], value)
    elif shown == "...":
        assert isinstance(answered, str)
        assert answered
    else:
        assert answered == shown


class TestPlaces:
    def test_every_file_that_is_named_exists(self) -> None:
        """Links, and paths in the description of the rooms, lead somewhere."""
        links = set(re.findall(r"\]\(([^)#]+)\)", TEXT))
        paths = set(re.findall(r"`((?:sequences|tickets|tests|project)/[\w./]*)`", TEXT))
        assert len(paths) > 10
        assert {path for path in links | paths if not (ROOT / path).exists()} == set()

    def test_every_room_of_the_sequences_is_described(self) -> None:
        """Whoever carries the project on finds each module and folder of the app named, or sees what it is."""
        obvious = {
            "__init__.py",
            "admin.py",
            "apps.py",
            "checks.py",
            "exceptions.py",
            "models.py",
            "tables.py",
            "types.py",
        }
        folders = {"management", "migrations", "templates", "static"}
        rooms = {path.name for path in (ROOT / "sequences").iterdir() if not path.name.startswith("__pycache__")}
        described = {Path(path).name for path in re.findall(r"`(sequences/[\w./]*)`", TEXT)}
        assert rooms - obvious - folders <= described

    def test_every_heading_that_is_linked_exists(self) -> None:
        """A link within the page leads to one of its headings."""
        headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", TEXT, re.MULTILINE)}
        links = set(re.findall(r"\]\(#([^)]+)\)", TEXT))
        assert links
        assert links <= headings
