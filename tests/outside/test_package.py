"""The package as strangers get it: its wheel in a fresh environment, in a project that follows the pages word for word.

`make package` runs this. `make test` leaves this folder out, since it installs packages from the index.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import sequences
from project.paths import ROOT
from sequences.testing.embedded import Engine
from tests.outside.programs import run
from tests.test_docs import FENCED, PACKAGE, PAGES, blocks, section

OPTIONAL = {"djangorestframework", "moto", "orjson", "pytest"}
EXPORT = "export AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any"
DOCTEST = "import doctest; print(doctest.testfile('session.txt', module_relative=False))"
ADMIN = """
from time import monotonic

from django.contrib.auth.models import User
from django.test import Client

User.objects.create_superuser("admin", password="secret")
browser = Client(headers={"host": "localhost"})
assert browser.login(username="admin", password="secret")
end = monotonic() + 60  # a page that cannot read all in four seconds, on a busy machine, says 503: asked again
for page in ("", "orders/", "tickets/"):
    address = f"/admin/sequences/sequence/{page}"
    while (answer := browser.get(address)).status_code == 503 and monotonic() < end:
        pass
    print(answer.status_code, page, answer.content.decode())
"""


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """What the wheel says of itself."""
    with ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(file.read(name).decode())


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment in which the wheel is installed, and nothing else; or the one that PACKAGE_PYTHON names."""
    if named := os.environ.get("PACKAGE_PYTHON"):
        return Path(named)
    venv = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", "--without-pip", str(venv))
    python = venv / "bin" / "python"
    pip(python, "install", "-q", "--no-compile", str(wheel))
    return python


def pip(python: Path, *arguments: str) -> str:
    """What our pip prints when it works on another environment."""
    return run(sys.executable, "-m", "pip", "--python", str(python), *arguments)


@dataclass
class Reader:
    """Somebody with a Django project of their own, who does what a page shows."""

    python: Path
    folder: Path
    environment: dict[str, str]

    def manage(self, *arguments: str) -> str:
        """What a management command prints."""
        return run(str(self.python), "manage.py", *arguments, folder=self.folder, environment=self.environment)

    def does(self, language: str, block: str) -> None:
        """Do what a block of a page shows, and see what it shows as the answer."""
        match language:
            case "python":
                with (self.folder / "shop" / "settings.py").open("a", encoding="utf-8") as settings:
                    settings.write(block.replace("[...,", "[*INSTALLED_APPS,"))
            case "pycon":
                (self.folder / "session.txt").write_text(block, encoding="utf-8")
                assert "failed=0" in self.manage("shell", "-c", DOCTEST)
            case "console":
                for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                    command, _, answer = shown.partition("\n")
                    assert answer in ("", self.enters(command))

    def enters(self, command: str) -> str:
        """What a command of a page prints; nothing for those that the fixtures have carried out."""
        program, *arguments = command.split()
        if program == "export":
            given = dict(argument.split("=") for argument in arguments)
            self.environment = given | self.environment
        elif command.startswith("python manage.py "):
            return self.manage(*arguments[1:])
        else:
            assert command == "pip install django-dynamodb-sequences"
        return ""


@pytest.fixture
def reader(python: Path, tmp_path: Path) -> Iterator[Reader]:
    """A reader with a project as `django-admin startproject` makes it, and with an empty engine."""
    outside = Path(__file__).parent
    shutil.copy(outside / "manage.py", tmp_path)
    shutil.copytree(outside / "shop", tmp_path / "shop")
    with Engine() as engine:
        yield Reader(python, tmp_path, {"AWS_ENDPOINT_URL_DYNAMODB": engine.endpoint})


def test_the_wheel_holds_the_app_alone(wheel: Path) -> None:
    """The wheel has every file of `sequences`, its own description and the licence, and nothing else."""
    app = {str(path.relative_to(ROOT)) for path in (ROOT / "sequences").rglob("*") if path.is_file()}
    with ZipFile(wheel) as file:
        names = set(file.namelist())
    described = {name for name in names if ".dist-info/" in name}
    assert names - described == {name for name in app if "__pycache__" not in name}
    assert {name.partition(".dist-info/")[2] for name in described} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "licenses/LICENSE",
    }


def test_what_the_wheel_says_of_itself(metadata: Message) -> None:
    """It has the version of the app, the README, and the extras; it requires only Django and boto3 without them."""
    assert (metadata["Name"], metadata["Version"]) == ("django-dynamodb-sequences", sequences.__version__)
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata.get_payload() == PAGES["README.md"]
    assert set(metadata.get_all("Provides-Extra", [])) == PACKAGE["optional-dependencies"].keys()
    required = metadata.get_all("Requires-Dist", [])
    assert {line.partition(">=")[0] for line in required if "extra ==" not in line} == {"boto3", "django"}


def test_nothing_optional_is_installed(python: Path) -> None:
    """The package works below without any package of its extras, as none of them is there."""
    installed = {line.partition("==")[0].lower() for line in pip(python, "freeze").splitlines()}
    assert "django-dynamodb-sequences" in {line.partition(" @")[0] for line in installed}
    assert installed & OPTIONAL == set()


def test_the_page(reader: Reader) -> None:
    """Whoever does what docs/install.md shows, from top to bottom, sees what it shows, and then the pages."""
    for language, block in FENCED.findall(PAGES["docs/install.md"]):
        reader.does(language, block)
    pages = reader.manage("shell", "-c", ADMIN)
    assert re.findall(r"^200 (.*?) <!DOCTYPE html>", pages, re.MULTILINE) == ["", "orders/", "tickets/"]
    assert re.search(r"200 orders/.*\b1002\b.*200 tickets/", pages, re.DOTALL)


def test_the_readme(reader: Reader) -> None:
    """The settings and the session of the README work too."""
    reader.enters(EXPORT)
    for language, block in FENCED.findall(section("README.md", "Install")):
        if language == "pycon":
            reader.manage("create_tables")
        if language != "console":
            reader.does(language, block)
    assert "tickets ABC (SortKeyMaximum)" in reader.manage("sequences", "audit", "tickets")
    assert "ABC" in reader.manage("sequences", "freeze", "tickets", "--all-scopes", "--reason", "the books are closed")
    assert "tickets\tABC\t" in reader.manage("sequences", "list")


@pytest.mark.parametrize("page", ["docs/rows.md", "docs/changes.md"])
def test_what_people_reach_for_next(reader: Reader, page: str) -> None:
    """Reading items back, numbers in items, shared tables, and given numbers work as their pages show."""
    reader.enters(EXPORT)
    for block in (*blocks("README.md", "python"), *blocks(page, "python")):
        reader.does("python", block)
    reader.manage("create_tables")
    for block in blocks(page, "pycon"):
        reader.does("pycon", block)


def test_numbers_in_models(reader: Reader) -> None:
    """The models of their page get migrations and numbers, and the audit finds their rows."""
    reader.enters(EXPORT)
    configuration, models = blocks("docs/models.md", "python")
    reader.does("python", f'INSTALLED_APPS = [..., "sequences", "shop"]\n{configuration}')
    (reader.folder / "shop" / "models.py").write_text(models, encoding="utf-8")
    for command in (["makemigrations", "shop"], ["migrate"], ["create_tables"], ["makemigrations", "--check"]):
        reader.manage(*command)
    session = "\n".join(blocks("docs/models.md", "pycon"))
    reader.does("pycon", f">>> from shop.models import Bill, Contract, Delivery, Invoice, Order\n{session}")
    reader.manage("number_rows")
    assert "the rows of shop.Order.number" in reader.manage("sequences", "audit", "orders").splitlines()[0]


def test_the_commands_need_no_extra(reader: Reader) -> None:
    """Without moto a command prints its rows."""
    reader.enters(EXPORT)
    reader.does("python", *blocks("docs/install.md", "python"))
    rows = reader.manage("sequences", "estimate", "--per-second", "20").splitlines()
    assert "AtomicCounter" in {row.split("\t")[0] for row in rows}
