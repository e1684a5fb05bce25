"""Which tests run a line of the project: measured by coverage.py, and kept in `.local/mutants/covering/`.

A test counts for what its fixtures run, too; what it runs in other processes is not seen. Only test files that have
changed since are measured anew. Of a module that has changed since, all tests count that ran any of its lines.

This module is the plugin of pytest that measures, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from itertools import chain, zip_longest
from pathlib import Path
from typing import TypedDict

import pytest
from coverage import Coverage

from project import paths

__all__ = ["Covering", "measure"]

FOLDER = paths.LOCAL / "mutants" / "covering"
MEASURED = (
    *(f"tests/{room}/**/test_*.py" for room in ("attacks", "faults", "model", "sequences", "tickets")),
    "tests/project/test_worker.py",
)
# A signal's handler may come while coverage.py holds its lock: one that raises there leaves it held for ever, and one
# that waits for another thread waits in vain.
NOT_MEASURED = {"tests/attacks/test_put_in_put.py", "tests/attacks/test_time_limits.py"}
COVERED = ["sequences/*", "tickets/*", "project/worker.py"]
MOST_OF_LINE, MOST_OF_MODULE = 120, 30  # so many tests
PROCESSES = 4
BEGAN = "COVERING_BEGAN"


class Run(TypedDict):
    """What one process measured: its tests, and which lines of each module they ran."""

    tests: list[str]
    lines: dict[str, dict[str, list[int]]]


def measure() -> None:
    """Run the test files that have changed since the last time, and keep which lines each test ran.

    One process runs a whole file, so that a file is measured whole or, where its process dies, not at all.
    """
    measured = Covering().files
    if changed := [file for file in _test_files() if file not in measured]:
        print(f"Measuring which lines the tests of {len(changed)} files run ...", file=sys.stderr)
        FOLDER.mkdir(parents=True, exist_ok=True)
        options = ["-p", "project.proof.covering", "-n", f"{PROCESSES}", "--dist", "loadfile", "-q", "--timeout=600"]
        command = [sys.executable, "-m", "pytest", *options, *changed]
        subprocess.run(command, cwd=paths.ROOT, env={**os.environ, BEGAN: f"{time.time()}"}, stdout=2, check=False)


def _test_files() -> list[str]:
    found = chain(*(paths.ROOT.glob(pattern) for pattern in MEASURED))
    return sorted({path.relative_to(paths.ROOT).as_posix() for path in found} - NOT_MEASURED)


class Covering:
    """What was measured: the tests that run a line, those first that run little else."""

    def __init__(self, folder: Path | None = None) -> None:
        self._lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._tests: set[str] = set()
        self._ran: dict[str, Counter[str]] = defaultdict(Counter)
        """How many lines of each module a test ran."""
        for path in sorted((folder or FOLDER).glob("*.json")):
            self._add(json.loads(path.read_text()), began=float(path.name.partition("-")[0]))

    def _add(self, run: Run, began: float) -> None:

        def is_known(file: str) -> bool:
            path = paths.ROOT / file
            return path.exists() and path.stat().st_mtime <= began

        self._tests.update(test for test in run["tests"] if is_known(test.partition("::")[0]))
        for file, tests in run["lines"].items():
            for test, lines in tests.items():
                if test in self._tests:
                    self._ran[test][file] = len(lines)
                    for line in lines if is_known(file) else [0]:
                        self._lines[file][line].add(test)

    @property
    def files(self) -> set[str]:
        """The test files that have not changed since."""
        return {test.partition("::")[0] for test in self._tests}

    def room_of(self, file: str, line: int) -> tuple[str, ...]:
        """Of a line that runs once in a process at most, as one at the import: all tests for modules of its folder.

        No test is known to rest on such a line. Where its folder has no tests, it is those of the nearest one above.
        """
        lines = self._lines[file]
        if len(lines[line] | lines[0]) > PROCESSES:
            return ()
        folders = (paths.ROOT / "tests" / folder for folder in Path(file).parents)
        found = sorted(next(folder for folder in folders if folder.is_dir()).glob("test_*.py"))
        return tuple(path.relative_to(paths.ROOT).as_posix() for path in found)

    def tests_of(self, file: str, line: int) -> tuple[str, ...]:
        """Those of the file that is named after the module, and those that run the line, and some of its module.

        Of those that run the line, each test file has its turn with the one that runs least else; where the line may
        be a condition, first those that go on to the next line. Some of the module may run it where coverage.py does
        not see it, as in another process, at the import, or once for many tests.
        """
        lines = self._lines[file]
        every = set[str]().union(*lines.values())
        named = {test.partition("::")[0] for test in every if f"/test_{Path(file).stem}.py::" in test}
        focused = sorted(every, key=lambda test: (-self._ran[test][file] / self._ran[test].total(), test))
        running = _in_turn(test for test in focused if test in lines[line] | lines[0])
        going_on = [test for test in running if test in lines[line + 1]]
        ours = [*focused, *sorted(self._tests - every)]
        chosen = dict.fromkeys(
            [test for test in ours if test.partition("::")[0] in named][:MOST_OF_LINE]
            + going_on[:MOST_OF_MODULE]
            + running[:MOST_OF_LINE]
            + focused[:MOST_OF_MODULE]
        )
        return tuple(chain(*_by_file(chosen).values()))


def _by_file(tests: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for test in tests:
        found.setdefault(test.partition("::")[0], []).append(test)
    return found


def _in_turn(tests: Iterable[str]) -> list[str]:
    """The first of each file, then the second of each, and so on."""
    return [test for turn in zip_longest(*_by_file(tests).values()) for test in turn if test]


# The plugin. It measures in the processes of pytest-xdist.

_coverage = Coverage(data_file=None, config_file=False, include=[f"{paths.ROOT}/{pattern}" for pattern in COVERED])
_tests: dict[str, None] = {}


def pytest_configure(config: pytest.Config) -> None:
    """Begin to measure."""
    if hasattr(config, "workerinput"):
        _coverage.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the lines of one test; all its parameters count as one."""
    test = item.nodeid.partition("[")[0]
    _tests[test] = None
    _coverage.switch_context(test)
    return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep what was measured."""
    if not hasattr(session.config, "workerinput"):
        return
    _coverage.stop()
    data, run = _coverage.get_data(), Run(tests=[*_tests], lines={})
    for path in data.measured_files():
        tests = run["lines"][str(Path(path).relative_to(paths.ROOT))] = defaultdict(list)
        for line, contexts in data.contexts_by_lineno(path).items():
            for test in filter(None, contexts):
                tests[test].append(line)
    (FOLDER / f"{os.environ[BEGAN]}-{os.getpid()}.json").write_text(json.dumps(run))
