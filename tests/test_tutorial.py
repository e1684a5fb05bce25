"""The tutorial, followed word for word in an empty folder: its files, its commands, and what they print."""

from __future__ import annotations

import argparse
import doctest
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from project.paths import ROOT
from sequences.testing.embedded import FALLBACK_WARNING
from sequences.testing.processes import ChildProcess, answers
from tests.project.site import free_port
from tests.test_docs import FENCED, PACKAGE, PAGES, shown
from tests.test_testing import Run, runner

PAGE = "docs/tutorial.md"
MOST_WORDS, MOST_LINES = 1_000, 150
PORTS = {"engine": "8001", "runserver": "8000"}
"""What runs in a terminal of its own, with the port that the page gives it."""
PATIENCE = 240.0
SESSION = "import doctest; print(doctest.testfile('session.txt', module_relative=False))"
ADMIN = """
import re
from django.contrib.auth.models import User
from django.test import Client

browser = Client(headers={"host": "localhost"})
browser.force_login(User.objects.get(username="ada"))  # to check the password takes half a second
for page in ("sequences/sequence/", "sequences/sequence/tickets/", "desk/invoice/?q=inv-2026-2"):
    answers = (browser.get(f"/admin/{page}") for _ in range(20))
    answer = next(answer for answer in answers if answer.status_code != 503)  # it does not wait for a busy machine
    print(answer.status_code, *{*re.findall(r">\\s*(ADA|INV-\\d+-\\d+)\\s*<", answer.content.decode())})
"""


class Reader:
    """Somebody at a terminal, in a folder that is empty at first."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.folder = folder
        self.run = run
        self.started: list[ChildProcess] = []
        self.ports = {number: str(free_port()) for number in PORTS.values()}

    def does(self, before: str, language: str, text: str) -> None:
        """Do what a block shows, and see what it shows as the answer."""
        text = re.sub(r"\b800[01]\b", lambda found: self.ports[found[0]], text)
        if language == "console":
            for command, answer in shown(text):
                printed = self.enters(command)
                assert is_as_shown(answer, printed), f"{command}\n{printed}"
        elif language == "pycon":
            (self.folder / "session.txt").write_text(text, encoding="utf-8")
            printed = self.runs("python manage.py shell -c", SESSION)
            assert "failed=0" in printed, printed
        else:
            self.writes(before, text)

    def writes(self, before: str, text: str) -> None:
        """Write the file that the line before the block names."""
        (name,) = re.findall(r"\*\*(.*?)\*\*", before)
        path = self.folder / name
        old = f"{path.read_text(encoding='utf-8')}\n" if "at the end of" in before else ""
        path.write_text(f"{old}{text}", encoding="utf-8")

    def enters(self, command: str) -> str:
        """What a command prints."""
        if command.startswith("pip install "):  # it is installed already
            return ""
        if command.startswith("export "):
            os.environ |= dict(word.split("=", 1) for word in shlex.split(command)[1:])
            return ""
        if command.startswith("curl "):
            return curl(command)
        if command.startswith("python manage.py sequences engine "):
            return self.opens_the_engine(command)
        if command.startswith("python manage.py runserver "):
            # the page asks nothing of the site after a change of its code: each would be loaded anew for nothing
            self.starts(f"{command} --noreload", self.folder / "site.log")
            waits_until(lambda: answers(int(self.ports[PORTS["runserver"]])))
            return ""
        return self.runs(command)

    def runs(self, command: str, *arguments: str) -> str:
        """What a program prints, in the order of a terminal. It must succeed."""
        program, *words = shlex.split(command)
        module = ["-m", "django"] if program == "django-admin" else []
        done = self.run(self.folder, *module, *words, *arguments, environment=os.environ, errors="stdout")
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    def opens_the_engine(self, command: str) -> str:
        """Start the engine, and enter the lines that it prints for the other terminals."""
        output = self.folder / "engine.log"
        self.starts(command, output)
        waits_until(lambda: output.read_text(encoding="utf-8").count("\nexport ") == 2)
        printed = output.read_text(encoding="utf-8")
        for line in re.findall(r"^export .*$", printed, re.MULTILINE):
            self.enters(line)
        return printed.replace(FALLBACK_WARNING, "")

    def starts(self, command: str, output: Path) -> None:
        """Start what runs in a terminal of its own."""
        with output.open("wb") as file:
            self.started.append(ChildProcess(shlex.split(command), output=file))


def steps() -> Iterator[tuple[str, str, str]]:
    """Each block of the page: the line before it, its language and its text."""
    page = PAGES[PAGE]
    for block in FENCED.finditer(page):
        yield page[: block.start()].rstrip().rpartition("\n")[2], block[1], block[2]


def curl(command: str) -> str:
    """What curl prints, which is not on every machine."""
    parser = argparse.ArgumentParser(prog="curl")
    parser.add_argument("url")
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="data")
    call = parser.parse_args(shlex.split(command)[1:])
    headers = dict(header.split(": ", 1) for header in call.headers)
    request = Request(call.url, call.data.encode() if call.data else None, headers)
    with urlopen(request) as answer:
        printed: str = answer.read().decode()
    return printed


def is_as_shown(answer: str, printed: str) -> bool:
    """Whether a command printed what the page shows, where "..." stands for anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(f"{answer}\n", f"{printed.strip()}\n", flags)


def waits_until(is_so: Callable[[], bool]) -> None:
    """Wait until what another process does is done."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A reader who has Django and this package, and an environment that says nothing of either."""
    for name in [name for name in os.environ if re.match("AWS_|DJANGO_|PYTHON|SEQUENCES|TABLE_PREFIX", name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    with runner() as run:
        reader = Reader(tmp_path, run)
        yield reader
    for process in reader.started:
        process.kill()
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.timeout(900)  # a dozen programs, one after the other
def test_the_tutorial(reader: Reader) -> None:
    """Somebody who does what the page shows, from top to bottom, sees what it shows, and then the administration."""
    for before, language, text in steps():
        reader.does(before, language, text)
    assert reader.runs("python manage.py shell -v 0 -c", ADMIN).split("\n")[-4:-1] == [
        "200 ADA",
        "200 ADA",
        "200 INV-2026-000002",
    ]


def test_the_package_is_the_one_that_the_page_names() -> None:
    """The name and the extras of the page are those of the package."""
    (named,) = re.findall(r'^\$ pip install "(.*?)\[(.*?)\]"$', PAGES[PAGE], re.MULTILINE)
    assert named[0] == PACKAGE["name"]
    assert {*named[1].split(",")} <= PACKAGE["optional-dependencies"].keys()


def test_it_is_short() -> None:
    """It takes a quarter of an hour: at most a thousand words, with the code."""
    assert len(PAGES[PAGE].split()) <= MOST_WORDS
    assert sum(text.count("\n") for _, language, text in steps() if language == "python") <= MOST_LINES
