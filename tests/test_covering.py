"""Which tests run a line, for `make mutants`: what is measured, what is forgotten, and which tests come first."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from project import paths
from project.proof import covering
from project.proof.covering import Covering, measure
from sequences.formats.digits import digits_in

MODULE, OTHER = "sequences/first.py", "sequences/second.py"
FIRST, SECOND = "tests/sequences/test_one.py::test_a", "tests/sequences/test_two.py::TestB::test_b"
BEGAN = 1_000_000.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What was measured in a project of two modules and two tests. The first test runs nothing but the first module."""
    for name in (MODULE, OTHER, FIRST.partition("::")[0], SECOND.partition("::")[0]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1\n")
        os.utime(tmp_path / name, (BEGAN, BEGAN))
    lines = {MODULE: {FIRST: [1, 2], SECOND: [2, 3]}, OTHER: {SECOND: [1, 2]}}
    (tmp_path / f"{BEGAN}-1.json").write_text(json.dumps({"tests": [FIRST, SECOND], "lines": lines}))
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


class TestChoosing:
    def test_tests_of_a_line(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """They are those that run it, those first that run little else, and at most so many."""
        monkeypatch.setattr(covering, "MOST_OF_MODULE", 0)
        assert Covering(folder).tests_of(MODULE, 3) == (SECOND,)
        assert Covering(folder).tests_of(MODULE, 2) == (FIRST, SECOND)
        monkeypatch.setattr(covering, "MOST_OF_LINE", 1)
        assert Covering(folder).tests_of(MODULE, 2) == (FIRST,)

    def test_tests_of_its_module(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those that run little else may run a line unseen."""
        monkeypatch.setattr(covering, "MOST_OF_MODULE", 1)
        assert Covering(folder).tests_of(MODULE, 3) == (SECOND, FIRST)

    def test_the_file_that_is_named_after_the_module(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its tests come first, whatever else they run."""
        (folder / "sequences" / "two.py").write_text("a = 1\n")
        os.utime(folder / "sequences" / "two.py", (BEGAN, BEGAN))
        lines = {"sequences/two.py": {FIRST: [1], SECOND: [1, 2, 3]}}
        (folder / f"{BEGAN}-2.json").write_text(json.dumps({"tests": [FIRST, SECOND], "lines": lines}))
        monkeypatch.setattr(covering, "MOST_OF_LINE", 1)
        monkeypatch.setattr(covering, "MOST_OF_MODULE", 0)
        assert Covering(folder).tests_of("sequences/two.py", 1)[0] == SECOND

    def test_what_runs_once_for_many_tests(self, folder: Path) -> None:
        """All tests of the file that is named after the module count, also those that run nothing of it."""
        unseen = f"{SECOND}_b"
        measured = {"tests": [FIRST, SECOND, unseen], "lines": {"sequences/two.py": {SECOND: [1]}}}
        (folder / f"{BEGAN}-2.json").write_text(json.dumps(measured))
        assert Covering(folder).tests_of("sequences/two.py", 1) == (SECOND, unseen)

    def test_the_next_line(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those come first for which a condition holds, although they run more of other modules."""
        lines = {MODULE: {FIRST: [7], SECOND: [7, 8]}, OTHER: {SECOND: [1, 2, 3, 4]}}
        (folder / f"{BEGAN}-1.json").write_text(json.dumps({"tests": [FIRST, SECOND], "lines": lines}))
        monkeypatch.setattr(covering, "MOST_OF_MODULE", 1)
        assert Covering(folder).tests_of(MODULE, 7) == (SECOND, FIRST)

    def test_files_take_turns(self, folder: Path) -> None:
        """The best test of each file comes before the second of any."""
        tests = [f"{FIRST}{number}" for number in range(2)] + [SECOND]
        assert covering._in_turn(tests) == [tests[0], SECOND, tests[1]]

    def test_a_line_that_no_test_runs(self, folder: Path) -> None:
        """It is one that runs when its module is imported: what runs another line of it may see a change."""
        assert Covering(folder).tests_of(OTHER, 9) == (SECOND,)
        assert Covering(folder).tests_of("sequences/three.py", 1) == ()

    def test_a_line_that_runs_once(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """At most one test of each process runs a line of an import: all tests of its room may rest on it."""
        monkeypatch.setattr(covering, "PROCESSES", 1)
        room = tuple(test.partition("::")[0] for test in (FIRST, SECOND))
        assert [Covering(folder).room_of(MODULE, line) for line in (1, 2, 9)] == [room, (), room]
        os.utime(folder / MODULE, (BEGAN + 1, BEGAN + 1))
        assert Covering(folder).room_of(MODULE, 9) == ()

    def test_a_module_that_has_changed(self, folder: Path) -> None:
        """Nobody knows its lines any more: every test of it counts."""
        os.utime(folder / MODULE, (BEGAN + 1, BEGAN + 1))
        assert Covering(folder).tests_of(MODULE, 3) == (FIRST, SECOND)
        assert Covering(folder).tests_of(OTHER, 1) == (SECOND,)

    def test_tests_that_have_changed(self, folder: Path) -> None:
        """What they ran is forgotten, so that they are measured again."""
        os.utime(folder / FIRST.partition("::")[0], (BEGAN + 1, BEGAN + 1))
        assert Covering(folder).tests_of(MODULE, 2) == (SECOND,)
        assert Covering(folder).files == {SECOND.partition("::")[0]}


def test_what_is_measured_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only test files without a measurement run, and none if there are none."""
    ran: list[list[str]] = []
    monkeypatch.setattr(covering, "FOLDER", folder)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: ran.append(command))
    measure()
    assert ran == []
    (folder / "tests/sequences/test_new.py").write_text("")
    measure()
    assert [command[-1] for command in ran] == ["tests/sequences/test_new.py"]
    assert not any(SECOND.partition("::")[0] in command for command in ran)


def test_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has the lines that ran between its begin and its end, without its parameters."""
    monkeypatch.setattr(covering, "FOLDER", tmp_path)
    monkeypatch.setenv(covering.BEGAN, "1.0")
    worker: Any = SimpleNamespace(workerinput={})
    covering.pytest_configure(worker)
    running = covering.pytest_runtest_protocol(SimpleNamespace(nodeid=FIRST + "[1]"))  # type: ignore[arg-type]
    next(running)
    digits_in("0")
    with pytest.raises(StopIteration):
        running.send(None)
    covering.pytest_sessionfinish(SimpleNamespace(config=worker))  # type: ignore[arg-type]
    (path,) = tmp_path.glob("1.0-*.json")
    run = json.loads(path.read_text())
    assert run["tests"] == [FIRST]
    assert run["lines"]["sequences/formats/digits.py"][FIRST] != []
