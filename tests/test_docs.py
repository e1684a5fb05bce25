"""The README and the pages of docs/ are true: their tables, examples, commands, figures and links are checked."""

import argparse
import doctest
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.management import call_command, get_commands, load_command_class
from django.test import Client
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

import sequences
from project.commands.api_page import api_page
from project.commands.bootstrap import COMMANDS
from project.commands.docs import COPIED, public_modules, write_reference
from project.lab.records import comparisons
from project.lab.summary import LOST, MANY, summary
from project.paths import DEMO_PASSWORD, ROOT
from project.proof.bars import BARS
from project.proof.figures import Figures
from project.proof.peers.web import CASES
from project.proof.reference import page_of_figures
from sequences.capabilities import options_table, strategies_table, strategy_classes
from sequences.commit.retries import DEADLINE_SECONDS, GRACE_SECONDS
from sequences.commit.waiters import LATE_SECONDS
from sequences.dynamodb.configuration import ClientOptions
from sequences.exceptions import InvalidSequence
from sequences.formats import FIELDS, Format
from sequences.formats.periods import KINDS, Period
from sequences.ops import doctor
from sequences.registry import DEFAULT_TABLE, parse_config
from tests.test_rooms import of
from tickets.api.reference import reference
from tickets.problems import PROBLEMS
from tickets.project_services import create_project
from tickets.services import create_ticket

PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if path.name != "index.md"  # `make docs` checks it: it is the README, and the menu
}
COPIES = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in COPIED.values()}
PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MANAGE = re.compile(r"^(?:\S*python )?manage\.py ")
# Variables that the programs set for each other.
INTERNAL = {"COLLECTED", "DEMO_PASSWORD"}
# Pages whose examples need models: tests/sequences/test_model_pages.py, test_tutorial.py and test_cookbook.py run them.
WITH_MODELS = {"docs/models.md", "docs/migrating.md", "docs/tutorial.md", "docs/cookbook.md"}
# Its examples need the sample application, and are one story.
REST = "docs/rest.md"
SITE = "http://127.0.0.1:8000"
# Dependencies of boto3, and modules that only type checkers import.
BROUGHT = {"botocore", "urllib3", "mypy_boto3_dynamodb"}


def prose(page: str) -> str:
    """A page without its fenced blocks, or a file that the site copies."""
    return FENCED.sub("", (PAGES | COPIES)[page])


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of one language on a page."""
    return [block for of_language, block in FENCED.findall(PAGES[page]) if of_language == language]


def pages_with(*languages: str) -> list[str]:
    """The pages that have a fenced block of one of these languages."""
    return [page for page in PAGES if any(blocks(page, language) for language in languages)]


def shown(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the answer below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, answer = part.replace("\\\n", " ").partition("\n")
        yield from ((one, answer.strip()) for one in unrolled(command))


def unrolled(command: str) -> list[str]:
    """A command; of a loop of the shell each of its commands."""
    if not (loop := re.fullmatch(r"for (\w+) in (.*?); do\s+(.*); done", command)):
        return [command]
    return [loop[3].replace(f"${loop[1]}", value) for value in loop[2].split()]


def commands(page: str) -> Iterator[tuple[str, str]]:
    """The commands of a page's console blocks, each with the answer below it."""
    return (one for block in blocks(page, "console") for one in shown(block))


def mentioned(page: str) -> list[str]:
    """The code in a page's sentences and tables, and the indented commands."""
    indented = re.findall(r"^    (\S(?:.*\\\n)*.*)$", prose(page), re.MULTILINE)
    inline = re.findall(r"(?<!`)`([^`]+)`(?!`)", prose(page))
    return [" ".join(code.replace("\\\n", " ").split()) for code in inline + indented]


def between(page: str, mark: str) -> str:
    """The text of a page from a mark to the next end mark."""
    return PAGES[page].partition(f"<!-- {mark} -->\n")[2].partition("\n<!-- end -->")[0]


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next of its level."""
    return PAGES[page].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def cells(table: str) -> list[list[str]]:
    """The rows of a Markdown table, with the header and without the line below it."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.split("\n") if line.startswith("|")]
    return [row for row in rows if set("".join(row)) != {"-"}]


def answers(table: list[list[str]]) -> dict[tuple[str, str], str]:
    """The cells of a table by the names of their row and column."""
    columns, *rows = table
    return {(row[0], name): cell for row in rows for name, cell in zip(columns[1:], row[1:], strict=True)}


def named_in_table(page: str, heading: str) -> set[str]:
    """The names in the first column of the first table of a section."""
    return {name for row in cells(section(page, heading)) for name in re.findall("`(.*?)`", row[0])}


def anchors(page: str) -> list[str]:
    """The anchor of each heading of a page, as links use it after the #."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def links() -> list[tuple[str, Path, str]]:
    """Every link within the project: its page, its file, and its anchor in the file."""
    found = [(page, link) for page in PAGES | COPIES for link in re.findall(r"\]\(([^)\s]+)\)", prose(page))]
    split = [(page, *link.partition("#")[::2]) for page, link in found if "://" not in link]
    return [(page, (ROOT / page).parent / path if path else ROOT / page, anchor) for page, path, anchor in split]


def number(text: str) -> float:
    """The number at the start of a text."""
    return float(text.split(maxsplit=1)[0].replace(",", ""))


class TestTables:
    def test_the_tables_of_strategies_are_the_classes_own(self) -> None:
        """The rows are some of those that `sequences strategies` prints, in their order, below the same heading."""
        printed = strategies_table().split("\n")
        shown = between("docs/strategies.md", "strategies").split("\n")
        assert len(shown) > 2
        assert shown == printed[:2] + [row for row in printed[2:] if row in shown]

    @pytest.mark.parametrize("page", ["README.md", "docs/strategies.md"])
    def test_every_strategy_is_recommended_for_something(self, page: str) -> None:
        """The table that begins with "You need" names each strategy once."""
        (table,) = re.findall(r"^\| You need .*?\n\n", PAGES[page], re.DOTALL | re.MULTILINE)
        named = [row[1].strip("`") for row in cells(table)[1:]]
        assert sorted(named) == sorted(strategy.__name__ for strategy in strategy_classes())

    def test_the_table_of_options_is_the_classes_own(self) -> None:
        """The columns but for the last, which tells each option's meaning, are those that the classes give."""
        rows = [row.removesuffix(" |").rpartition(" | ") for row in between("docs/settings.md", "options").split("\n")]
        assert [f"{made} |" for made, _, _ in rows] == options_table().split("\n")
        assert all(meaning for _, _, meaning in rows)

    def test_the_table_of_settings_names_every_key(self) -> None:
        """The keys of an entry are those that the registry accepts, with its defaults."""
        with pytest.raises(InvalidSequence) as error:
            parse_config("any", {"STRATEGY": "any", "NONSENSE": 1})
        known = set(re.split(", ", str(error.value).partition("known are ")[2].rstrip(".")))
        assert named_in_table("docs/settings.md", "SEQUENCES") == known
        config = parse_config("any", {"STRATEGY": "any"})
        defaults = {row[0].strip("`"): row[1] for row in cells(section("docs/settings.md", "SEQUENCES"))}
        assert defaults["TABLE"] == f"`{DEFAULT_TABLE}`"
        assert defaults["START"] == str(config.start)
        assert defaults["STEP"] == str(config.step)
        assert defaults["MAXIMUM"] == f"{len(str(config.maximum))} digits"

    def test_the_table_of_clients_names_every_key(self) -> None:
        """The keys of a client are those that are accepted, with their defaults."""
        rows = cells(section("docs/settings.md", "SEQUENCES_CLIENTS"))[1:]
        said = {name: row[1].strip("`") for row in rows for name in re.findall("`(.*?)`", row[0])}
        assert said == {field.name.upper(): str(field.default) for field in fields(ClientOptions)}

    def test_the_table_of_fields_names_each(self) -> None:
        """Every field of FORMAT is in the table, and no other."""
        named = {re.split(r"[{:}]", field)[1] for field in named_in_table("docs/settings.md", "FORMAT")}
        assert named == set(FIELDS)

    def test_the_page_names_each_period(self) -> None:
        """Every kind of period is named, with the name that one of its periods has."""
        assert dict(re.findall(r"`([\w-]+)`\s\((.*?)\)", section("docs/texts.md", "PERIOD"))) == {
            kind: Period(kind=kind).name(date(2026, 3, 5)) or "none" for kind in KINDS
        }

    def test_the_formats_that_are_refused_are_ambiguous(self) -> None:
        """Each gives the text that the table shows to two values, and its remedy gives none to two."""
        _, *rows = cells(section("docs/texts.md", "Formats that are refused"))
        assert len(rows) > 3
        for refused, kind, shown, remedy in rows:
            period = Period(kind=kind.split("`")[1], fiscal_start=(4, 1))
            clash = Format(template=refused.strip("`"), period=period, maximum=10**38 - 1).clash()
            assert clash is not None
            assert re.split("[: ]", shown)[0] == clash.text
            assert Format(template=remedy.strip("`"), period=period, maximum=10**38 - 1).clash() is None

    def test_the_table_of_checks_names_each(self) -> None:
        """Every message of the checks of the settings and the installation is in the table, and no other."""
        ids = set(
            re.findall(r"sequences\.[EW]\d+", (ROOT / "sequences" / "ops" / "checks.py").read_text(encoding="utf-8"))
        )
        assert ids == named_in_table("docs/settings.md", "System checks")

    def test_the_table_of_the_environment_names_what_the_settings_read(self) -> None:
        """Every variable that the settings read is in the table."""
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "project").rglob("*.py"))
        read = set(re.findall(r'(?:environ\.get|environ\.setdefault|environment\.\w+)\("(\w+)"', sources))
        assert read
        assert read - INTERNAL <= named_in_table("docs/settings.md", "Environment")

    def test_each_threat_has_its_test(self) -> None:
        """Each row of the threats names the tests that hold what stops it."""
        _, *rows = cells(section("docs/security.md", "Threats"))
        assert rows
        for *_, held in rows:
            assert re.fullmatch(r"`tests/[\w/]+\.py`(, `tests/[\w/]+\.py`)*", held)

    @pytest.mark.parametrize("page", PAGES)
    def test_each_named_test_exists(self, page: str) -> None:
        """Every file of tests that a page names is there."""
        for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGES[page]):
            assert (ROOT / path).is_file(), path

    def test_each_published_text_that_is_wrong_has_its_proof(self) -> None:
        """Each row has an address, or the one of the row above, and ends with a test or a command that shows it."""
        _, *rows = cells(between("docs/strategies.md", "wrong"))
        assert "](https://" in rows[0][1]
        for says, where, happens, shown in rows:
            assert says
            assert happens
            assert "](https://" in where or where.startswith("the same")
            assert re.fullmatch(r"`(test_\w+|manage\.py compare_strategies .*)`", shown)


class TestReference:
    def test_it_has_all_that_is_public(self, tmp_path: Path) -> None:
        """Each public module has a page, and each function that waits stands before its twin for event loops."""
        more = {"figures": page_of_figures(), "rest": "\n".join(api_page())}
        write_reference(tmp_path / "reference", more)
        pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "reference").iterdir()}
        assert {*public_modules(), "commands", "modules", "metrics", "rules", *COPIED, *more} == pages.keys()
        waiting, _, awaited = pages["sequences"].partition("## In event loops")
        assert ":exclude-members: afind, aget_item" in waiting
        assert awaited.count("autofunction") == len(
            [name for name in sequences.__all__ if f"a{name}" in sequences.__all__]
        )

    def test_it_has_every_command(self, tmp_path: Path) -> None:
        """Each command and each part of `manage.py sequences` says what it is for, and has its options."""
        write_reference(tmp_path / "reference")
        page = (tmp_path / "reference" / "commands.md").read_text(encoding="utf-8")
        parts = re.findall(r"^##+ (.+)\n\n\S.*\.\n\n```text\nusage: manage.py \1 ", page, re.MULTILINE)
        assert {"create_tables", "number_rows", "sequences audit", "sequences doctor", "sequences recover"} < {*parts}
        assert "--settings" not in page

    def test_it_has_every_operation_of_the_api(self) -> None:
        """Each address with its method, each shape and each problem has its place, and each link leads to one."""
        page, made = "\n".join(api_page()), reference()
        operations = [f"{one['method']} {one['path']}" for group in made["groups"].values() for one in group]
        headings = re.findall(r"^### (.*)$", page, re.MULTILINE)
        assert headings == [*operations, *(shape["name"] for shape in made["shapes"])]
        assert {*re.findall(r"\]\(#(.*?)\)", page)} <= {heading.lower() for heading in headings}
        assert {*re.findall(r"^- `(\w+)` \(\d{3}\): \S", page, re.MULTILINE)} == {row.code for row in PROBLEMS.values()}
        assert not re.search(r"<[a-z/]|&\w+;|None[ .]", page)


class TestFigures:
    def test_the_bars_are_those_that_are_measured(self) -> None:
        """There is a figure for each bar of `make bars`, and no other; one that misses its bar says so."""
        measured = Figures.recorded().bars
        assert [*measured] == [bar.figure for bar in BARS]
        for bar in BARS:
            assert bar.holds(number(measured[bar.figure])) is not measured[bar.figure].endswith(" missed"), bar.text

    def test_the_table_of_speed_has_the_measured_figures(self) -> None:
        """Its rows are some of those of the record, in their order, and the first one is among them."""
        _, *rows = cells(between("docs/proof.md", "bars"))
        assert rows == [row for row in Figures.recorded().bar_rows() if row in rows]
        assert rows[0][0] == BARS[0].text

    def test_the_cases_beside_the_peer_are_those_that_are_measured(self) -> None:
        """Each case of `make bench-peers` has a row, which says if it misses; the page has its first figures."""
        figures = Figures.recorded()
        assert [*figures.peers] == [case.text for case in CASES]
        for row, case in zip(figures.peer_rows(), CASES, strict=True):
            for ratio, bar in ((row[2], case.bar), (row[4], case.tuned_bar)):
                assert (number(ratio) >= bar) is not ratio.endswith(" missed"), case.text
        shown = [figures.peer_columns(), *figures.peer_rows()]
        assert cells(between("docs/proof.md", "peers")) == [row[:4] for row in shown]

    def test_the_figure_of_the_readme_is_the_measured_one(self) -> None:
        """The README says how many times as fast as the published recipe we are, as the table of figures does."""
        measured = Figures.recorded().bars[BARS[0].figure]
        assert re.findall(r"\*\*(\d+) times\*\*", PAGES["README.md"]) == [measured.split()[0]]

    def test_the_table_of_recipes_is_the_recorded_comparison(self) -> None:
        """It has what two of the recorded comparisons say of each strategy, below the commands that made them."""
        page = "docs/strategies.md"
        assert between(page, "figures") == summary()
        made = {one.title: one.command for one in comparisons()}
        assert {made[MANY], made[LOST]} <= {*mentioned(page)}

    def test_the_reference_has_all_figures(self) -> None:
        """Its page has the answers of the strategies, each bar, each case, and each row of each recorded comparison."""
        page = page_of_figures()
        figures = Figures.recorded()
        assert strategies_table() in page
        for row in (*figures.bar_rows(), *figures.peer_rows()):
            assert f"| {' | '.join(row)} |" in page
        for one in comparisons():
            part = page.partition(f"## {one.title}\n")[2].partition("\n## ")[0]
            assert one.command in part
            assert [row[0] for row in cells(part)[2:]] == [row["strategy"] for row in one.rows]

    def test_the_picture_shows_the_comparison(self) -> None:
        """Each bar has the figure that the comparison of many writers measured, and a length in proportion to it."""
        measured = {row: said for (row, column), said in answers(cells(summary())).items() if column == "numbers/s"}
        picture = ElementTree.parse(ROOT / "docs" / "throughput.svg")
        groups = [[*group] for group in picture.iter("{http://www.w3.org/2000/svg}g")]
        shown = {name.text: figure.text for name, _, figure in groups}
        assert {"published-sort-key-increment", "SortKeyMaximum"} < shown.keys()
        assert shown.items() <= measured.items()
        lengths = [float(bar.attrib["width"]) / number(figure.text or "") for _, bar, figure in groups]
        assert lengths == pytest.approx([lengths[-1]] * len(groups), rel=0.02)


class TestExamples:
    def test_every_block_is_of_a_language_that_is_checked(self) -> None:
        """A fenced block is settings, a session, commands, or a file of another kind."""
        languages = {language for page in PAGES.values() for language, _ in FENCED.findall(page)}
        assert languages == {"python", "pycon", "console", ""}

    @pytest.mark.parametrize("page", sorted({*pages_with("python", "pycon")} - {"docs/testing.md", REST} - WITH_MODELS))
    def test_the_python_examples_run(self, page: str, endpoint: str, table_prefix: str, settings: Settings) -> None:
        """The settings pass Django's checks, and the sessions below them print what they show; tests run elsewhere."""
        names: dict[str, Any] = {}
        for configuration in blocks(page, "python"):
            exec(configuration, names)
        assert names.get("INSTALLED_APPS", ["sequences"])[-1] in settings.INSTALLED_APPS
        settings.SEQUENCES_CLIENTS = names.get("SEQUENCES_CLIENTS", {})
        settings.SEQUENCES = names["SEQUENCES"]
        assert run_checks() == []
        call_command("create_tables", verbosity=0)
        complaints: list[str] = []
        for session in blocks(page, "pycon"):
            complaints += complaints_about(session, names)
        assert complaints == []

    @pytest.mark.django_db(transaction=True, reset_sequences=True)
    def test_the_examples_of_rest_are_answered_as_shown(
        self, tables: str, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The commands and the sessions of the page are one story, which runs from its top to its end."""
        User.objects.create_superuser("demo", password="demo's password")
        monkeypatch.setenv("PASSWORD", "demo's password")
        monkeypatch.setenv("NO_PROXY", "*")
        variables: dict[str, str] = {}
        names: dict[str, Any] = {}
        for language, block in FENCED.findall(PAGES[REST]):
            if language == "pycon":
                assert complaints_about(block.replace(SITE, live_server.url), names) == []
            for command, answer in shown(block) if language == "console" else ():
                if command.startswith("curl "):
                    assert_as_shown(curl(command, variables), json.loads(answer))
                else:
                    assign(command, variables)
        assert "TOKEN" in variables
        assert "api" in names

    def test_the_commands_do_what_they_say(self, db: None, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Management commands succeed, also on a slow machine; make knows its own."""
        monkeypatch.setattr(doctor, "PATIENCE_SECONDS", 60.0)
        create_project(key="ABC", name="Alphabet", by="ann")
        create_ticket("ABC", title="Printer on fire", reporter="ann")
        for command in (command for page in PAGES.keys() - WITH_MODELS - {REST} for command, _ in commands(page)):
            if MANAGE.match(command):
                call_command(*shlex.split(MANAGE.sub("", command)), verbosity=0)
            elif command.startswith("make "):
                assert_made(command)
            elif command.startswith("python -m "):  # a test of its page runs it
                assert find_spec(command.split()[2])
            elif command.startswith("export "):
                names = {word.partition("=")[0] for word in command.split()[1:]}
                assert names <= named_in_table("docs/settings.md", "Environment")
            else:
                assert command.startswith("pip install "), f"who checks {command!r}?"

    @pytest.mark.parametrize("page", PAGES)
    def test_commands_in_sentences_are_known(self, page: str) -> None:
        """`make` and `manage.py` have each command that a sentence names, with its arguments."""
        for code in mentioned(page):
            if code.startswith("make "):
                assert_made(code)
            elif MANAGE.match(code):
                name, *arguments = shlex.split(MANAGE.sub("", code))
                command = load_command_class(get_commands()[name], name)
                command.create_parser("manage.py", name).parse_args(arguments)

    def test_every_make_command_is_explained(self) -> None:
        """The pages name each command of the Makefile."""
        named = {command.split()[1] for page in PAGES for command, _ in commands(page) if command.startswith("make ")}
        named |= {code.split()[1] for page in PAGES for code in mentioned(page) if code.startswith("make ")}
        assert named == set(COMMANDS)

    def test_parts_of_the_tests_are_known(self, pytestconfig: pytest.Config) -> None:
        """Each part of the tests that a page names by `-m` is one that pytest knows."""
        named = {part for page in PAGES.values() for part in re.findall(r'make test ARGS="-m (\w+)"', page)}
        assert named
        assert named <= {marker.partition(":")[0] for marker in pytestconfig.getini("markers")}


class TestPackage:
    def test_the_badges_are_those_of_the_package(self) -> None:
        """The README's badges show what the package says of itself, and point to what they show."""
        badges = re.findall(r"^!\[(.*?)\]\(https://img\.shields\.io/badge/(.*?)\)$", PAGES["README.md"], re.MULTILINE)
        django = next(line for line in PACKAGE["dependencies"] if line.startswith("Django"))
        assert badges == [
            (
                f"Python {least(PACKAGE['requires-python'])} or newer",
                f"Python-{least(PACKAGE['requires-python'])}%2B-blue",
            ),
            (f"Django {least(django)} or newer", f"Django-{least(django)}%2B-blue"),
            (f"Licence {PACKAGE['license']}", f"licence-{PACKAGE['license'].replace('-', '--')}-blue"),
            ("Typed", "typed-mypy%20strict-blue"),
        ]
        assert (ROOT / "sequences" / "py.typed").is_file()

    def test_it_requires_what_it_imports(self) -> None:
        """The app imports what its package requires, Django and boto3, and the packages of its extras."""
        required = {imported_as(line) for line in PACKAGE["dependencies"]}
        extras = {imported_as(line) for extra in PACKAGE["optional-dependencies"].values() for line in extra}
        imported = {name for module in of("sequences") for name in module.imports()} - sys.stdlib_module_names
        assert required == {"boto3", "django"}
        assert required <= imported - BROUGHT - {"sequences"} <= required | extras

    def test_the_page_names_each_extra(self) -> None:
        """The table of extras has each with its packages."""
        _, *rows = cells(section("docs/install.md", "Install"))
        shown = {re.sub("`", "", extra): packages.split(", ") for extra, packages, _ in rows}
        extras = PACKAGE["optional-dependencies"]
        assert shown == {extra: [re.split(r"[\[>=]", line)[0] for line in lines] for extra, lines in extras.items()}

    def test_the_newest_change_is_of_this_version(self) -> None:
        """After what is not released yet, the change log begins with the version that the package has, and its day."""
        changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        versions = re.findall(r"^## (.*)$", changes, re.MULTILINE)
        newest = next(version for version in versions if version != "Unreleased")
        assert re.fullmatch(rf"{re.escape(sequences.__version__)} - \d{{4}}-\d\d-\d\d", newest)


def least(requirement: str) -> str:
    """The least version that a requirement accepts."""
    return requirement.partition(">=")[2]


def imported_as(requirement: str) -> str:
    """The name under which a required package is imported."""
    name = re.split(r"[\[>=]", requirement)[0].lower()
    names = {"djangorestframework": "rest_framework", "python-stdnum": "stdnum", "opentelemetry-api": "opentelemetry"}
    return names.get(name, name.replace("-", "_"))


def assert_made(command: str) -> None:
    """Assert that the Makefile and the bootstrap have this command."""
    (known,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert command.split()[1] in set(known.split()) & COMMANDS.keys()


def complaints_about(session: str, names: dict[str, Any]) -> list[str]:
    """What a session of Python prints otherwise than it shows. It shares these names with the others of its page."""
    complaints: list[str] = []
    example = doctest.DocTestParser().get_doctest(session, names, "session", None, 0)
    example.globs = names  # not a copy
    assert doctest.DocTestRunner().run(example, out=complaints.append, clear_globs=False).attempted
    return complaints


def assign(command: str, variables: dict[str, str]) -> None:
    """Set a variable of the shell: to a text, to the demo password, or to what a filter makes of an answer."""
    name, _, value = command.removeprefix("export ").partition("=")
    if made := re.fullmatch(r"\$\((curl .*?) \| (.*)\)", value):
        answer = json.dumps(curl(made[1], variables))
        value = subprocess.run(made[2], shell=True, input=answer, capture_output=True, text=True, check=True).stdout
    elif value.startswith("$("):
        assert value == f"$(cat {DEMO_PASSWORD.relative_to(ROOT)})"
        value = os.environ["PASSWORD"]
    else:
        (value,) = shlex.split(filled(value, variables))
    variables[name] = value.strip()


def filled(command: str, variables: dict[str, str]) -> str:
    """A command with the values of its variables."""
    return re.sub(r"\$([A-Z]+)", lambda found: variables[found[1]], command)


def curl(command: str, variables: dict[str, str]) -> Any:
    """The application's answer to a curl command: a success, or a problem."""
    parser = argparse.ArgumentParser()
    parser.add_argument("curl")
    parser.add_argument("url")
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-X", dest="method")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", "--data-urlencode", dest="data", action="append", default=[])
    parser.add_argument("--json")
    call = parser.parse_args(shlex.split(filled(command, variables)))
    address = urlsplit(call.url)
    answer = Client().generic(
        call.method or ("POST" if call.data or call.json else "GET"),
        f"{address.path}?{address.query}" if address.query else address.path,
        call.json or "&".join(call.data),
        "application/json" if call.json else "application/x-www-form-urlencoded",
        headers={"Host": address.netloc, **dict(header.split(": ", 1) for header in call.headers)},
    )
    answered = answer.json()
    assert answer.status_code in (200, 201) or answer.status_code == answered["status"], answer.content
    return answered


def assert_as_shown(answered: Any, shown: Any) -> None:
    """Assert that the answer has the keys and values of the example; "..." stands for any text."""
    if isinstance(shown, dict):
        assert answered.keys() == shown.keys()
        for name, value in shown.items():
            assert_as_shown(answered[name], value)
    elif isinstance(shown, list):
        for one, value in zip(answered, shown, strict=True):
            assert_as_shown(one, value)
    elif shown == "...":
        assert isinstance(answered, str)
        assert answered
    else:
        assert answered == shown


class TestPlaces:
    def test_every_link_leads_somewhere(self) -> None:
        """A link within the project leads to a file, and one with an anchor to a heading of a page."""
        assert [(page, path) for page, path, _ in links() if not path.exists()] == []
        wrong = [
            (page, path, anchor)
            for page, path, anchor in links()
            if anchor and anchor not in anchors(str(path.resolve().relative_to(ROOT)))
        ]
        assert wrong == []

    @pytest.mark.parametrize("page", PAGES)
    def test_headings_of_a_page_differ(self, page: str) -> None:
        """A link by a heading's words leads to one place."""
        assert len(anchors(page)) == len(set(anchors(page)))

    def test_the_readme_leads_to_every_page(self) -> None:
        """The README links each page of docs/."""
        linked = {path.resolve() for page, path, _ in links() if page == "README.md"}
        assert {ROOT / page for page in PAGES} - {ROOT / "README.md"} <= linked

    def test_the_readme_names_each_guarantee(self) -> None:
        """Its list of guarantees are the first seven headings of the page that has them in full, in their order."""
        named = re.findall(r"^\d\. \[(.*?)\]\(docs/exactness\.md#", PAGES["README.md"], re.MULTILINE)
        assert len(named) == 7
        assert named == re.findall(r"^## (.*)$", prose("docs/exactness.md"), re.MULTILINE)[:7]

    def test_when_an_answer_comes(self) -> None:
        """A call answers by its deadline, and what it may add to that, within the seconds that the README names."""
        named = re.search(r"which answers within (\d+) seconds", PAGES["README.md"])
        assert named
        assert DEADLINE_SECONDS + max(GRACE_SECONDS, LATE_SECONDS) <= int(named[1])

    def test_the_readme_is_short(self) -> None:
        """It has less than 120 lines; what is longer has a page of its own."""
        assert PAGES["README.md"].count("\n") < 120

    def test_the_pages_are_short(self) -> None:
        """Together they have at most 20,000 words, code included; settings are a reference, as what is generated."""
        words = {page: [word for word in text.split() if re.search(r"\w", word)] for page, text in PAGES.items()}
        assert sum(len(found) for page, found in words.items() if page != "docs/settings.md") <= 20_000

    def test_every_file_that_is_named_exists(self) -> None:
        """Paths in sentences and tables lead somewhere."""
        paths = {code for page in PAGES for code in mentioned(page) if re.fullmatch(r"(\w+/)+[\w.]*", code)}
        assert len(paths) > 20
        assert {path for path in paths - {"dynamodb/", "faults/"} if not (ROOT / path).exists()} == set()

    def test_every_test_that_is_named_exists(self) -> None:
        """A test to which a sentence points is there."""
        named = {code for page in PAGES for code in mentioned(page) if re.fullmatch(r"test_\w+", code)}
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
        assert named
        assert {name for name in named if f"def {name}(" not in sources} == set()

    def test_every_room_of_the_sequences_is_described(self) -> None:
        """The architecture page has a row for each folder of the app, and for no other."""
        rooms = {path.parent.name for path in (ROOT / "sequences").glob("*/__init__.py")} - {"migrations"}
        table = section("docs/architecture.md", "Rooms").partition("\n| Room of the sample")[0]
        assert {name for row in cells(table) for name in re.findall(r"`sequences/(\w+)/`", row[0])} == rooms
