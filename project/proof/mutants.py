"""`make mutants`: makes many small changes, one at a time, and lists those that no test notices.

    python -m project.proof.mutants [--per-file 12] [--only sequences/commit/leader.py,...] [--workers 2] [--narrow]

A mutant is a copy of the project with one such change; a failing test kills it, if it passes without the change. First
those tests run that run its line, and little else. If the mutant survives, the wider tests run, and they must fail
twice. These take minutes for each mutant: `--narrow` leaves them out, and its result is a lower bound. A time-out is a
kill. Which tests run a line is measured first, which takes minutes, and again where tests have changed (`covering`).
Outcomes are kept in `.local/mutants/` until the module or the tests change, so a stopped run can go on; `--fresh`
forgets them. Mutants that need not be killed are listed with the reason in `mutants_judged.toml`, and do not count.
The exit status is 1 if less than 95 % of the others are killed, and 2 if a test fails without a mutant.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rich.console import Console
from rich.table import Table

from project import paths
from project.proof.copies import copy_project
from project.proof.covering import Covering, measure
from project.proof.mutations import Mutation, Name, find, sample
from sequences.testing.processes import ChildProcess

RESULTS = paths.LOCAL / "mutants" / "results.jsonl"
JUDGED = Path(__file__).with_name("mutants_judged.toml")
LEAST_RATE = 0.95
SECONDS_A_TEST, SECONDS_A_SUITE = 60, 3600.0

MUTATED = ("sequences/**/*.py", "tickets/**/*.py", "project/worker.py")
# But not: pages, checks and commands, the engine of tests, and modules of declarations.
NOT_MUTATED = re.compile(
    r"sequences/((admin|management|migrations)/|testing/(embedded|moto_server|processes)\.py$|ops/(checks|terminal)\.py$|(apps|capabilities|exceptions|models|storage|types)\.py$)"
    r"|tickets/(.*/)?((management|migrations)/|(admin|api/examples|apps|converters|exceptions|forms|models|types|urls)\.py$)"
    r"|tickets/((?!api)\w+/)?(project_views|views|pages|error_pages)\.py$"
)
FLAGS = ("tests/test_docs.py",)  # checks the flags of each strategy against the tables in the docs


@dataclass(frozen=True)
class Suite:
    """Tests to run on a mutant, as arguments of pytest. They kill the mutant if they fail `times` times in a row."""

    arguments: tuple[str, ...]
    times: int = 1

    @property
    def text(self) -> str:
        """A digest of the tests, and of everything that tests share."""
        named = {paths.ROOT / argument.partition("::")[0] for argument in self.arguments}
        files = sorted((paths.ROOT / "tests").rglob("*.py"))
        faults = sorted((paths.ROOT / "project" / "proof" / "faults").rglob("*.py"))
        ours = (path for path in files if any(path.is_relative_to(place) for place in named))
        return _digest(*ours, *faults, *(path for path in files if path.name in {"conftest.py", "support.py"}))

    def only(self, failure: str) -> Suite:
        """The test that failed, with all its parameters; all tests, where the failure names none."""
        name = failure.partition("[")[0]
        return Suite((name,) if ".py" in name else self.arguments)


WIDER = Suite(
    ("tests/sequences", "tests/tickets", "tests/test_docs.py", "tests/faults", "--ignore=tests/faults/test_soak.py"),
    times=2,
)


class BrokenTests(Exception):
    """A test fails without a mutant, too, or somebody ended the tests: such a failure does not count as a kill."""


def core() -> list[str]:
    """The modules that are mutated."""
    found = chain(*(paths.ROOT.glob(pattern) for pattern in MUTATED))
    files = sorted(path.relative_to(paths.ROOT).as_posix() for path in found)
    return [file for file in files if not NOT_MUTATED.match(file)]


def own_tests(mutation: Mutation, covering: Covering) -> Suite:
    """The tests that run first on a mutant: those that run its line, and little else; or those of its room."""
    line = mutation.file, mutation.number
    flags = FLAGS if "/strategies/" in mutation.file else ()
    return Suite((*covering.tests_of(*line), *covering.room_of(*line), *flags))


def judgements(text: str) -> dict[Name, str]:
    """The mutations that need not be killed, each with the reason."""
    listed = tomllib.loads(text).get("judged", [])
    return {(one["file"], one["inside"], one["line"], one["becomes"]): one["why"] for one in listed}


@cache
def _digest(*files: Path) -> str:
    return hashlib.sha256(repr([file.read_bytes() for file in files]).encode()).hexdigest()


class Results:
    """Outcomes by everything that decided them, kept as JSON lines. An incomplete last line is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        self._known: dict[str, Any] = {record["key"]: record["outcome"] for record in records}

    def remember(self, about: str, decided_by: tuple[object, ...], find_out: Callable[[], Any]) -> Any:
        """The stored outcome; if there is none, call `find_out` and store its outcome."""
        key = hashlib.sha256(repr(decided_by).encode()).hexdigest()
        if key not in self._known:
            outcome = find_out()
            with self._lock, self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "outcome": outcome, "about": about}) + "\n")
                self._known[key] = outcome
        return self._known[key]


class Copy:
    """A private copy of the project, in which tests run on one mutant at a time."""

    def __init__(self, folder: Path) -> None:
        self._tree = copy_project(folder / "tree")
        self._output = folder / "output"
        # Two mutants may have the same size and time of change, so their compiled files must not be kept.
        environment = f"PYTHONDONTWRITEBYTECODE=1 TMPDIR={tempfile.mkdtemp(dir=folder)}"
        # The project's options are left out: with --strict-config pytest refuses to run without its cache, and every
        # mutant would look killed.
        # Tests keep their order: those first that run little else. Schemathesis takes long to import.
        without = (f"-pno:{plugin}" for plugin in ("cacheprovider", "randomly", "schemathesis"))
        pytest = ("-m", "pytest", "-x", "-q", *without, "-o", "addopts=", f"--timeout={SECONDS_A_TEST}")
        enter = f'cd "$0" && exec env {environment} "$@"'
        self._command = ["/bin/sh", "-c", enter, str(self._tree), sys.executable, *pytest]
        compile_all = enter.replace("PYTHONDONTWRITEBYTECODE=1", "-u PYTHONDONTWRITEBYTECODE")
        once = ["/bin/sh", "-c", compile_all, *self._command[3:], "--collect-only"]
        subprocess.run(once, stdout=subprocess.DEVNULL, check=False)
        self._child: ChildProcess | None = None

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """The copy with the mutant in it."""
        path = self._tree / mutation.file
        source = path.read_bytes()
        path.write_bytes(mutation.apply(source))
        try:
            yield
        finally:
            path.write_bytes(source)

    def failure(self, tests: Suite) -> str:
        """The test that fails in each of the suite's runs; empty if one run passes."""
        failure = ""
        for _ in range(tests.times):
            failure = self.run(tests)
            if not failure:
                break
        return failure

    def run(self, tests: Suite, seconds: float = SECONDS_A_SUITE) -> str:
        """The first test that fails, or another reason of failure; empty if all pass."""
        with self._output.open("wb") as output:
            self._child = ChildProcess([*self._command, *tests.arguments], output=output)
        try:
            status = self._child.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return "time-out"
        finally:
            self.stop()
        if status in (-signal.SIGKILL, -signal.SIGTERM):
            raise BrokenTests("The tests were ended by somebody.")
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", self.output, re.MULTILINE)
        return "" if status == 0 else failed[1] if failed else f"exit status {status}"

    @property
    def output(self) -> str:
        """What the tests printed."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """End the running tests."""
        if self._child:
            self._child.kill()


class Bench:
    """Runs tests on mutants: it has a copy for each worker, and the known outcomes."""

    def __init__(self, copies: Iterable[Copy], results: Results) -> None:
        self._results = results
        self._sound: set[Suite] = set()  # that have passed without a mutant
        self._free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self._free.put(copy)

    def killer(self, mutation: Mutation, tests: Suite) -> str:
        """The test that fails with this mutant; empty if the mutant survives."""
        decided_by = (mutation, _digest(paths.ROOT / mutation.file), tests, tests.text)
        killer: str = self._results.remember(f"{mutation}", decided_by, lambda: self._meet(mutation, tests))
        return killer

    def _meet(self, mutation: Mutation, tests: Suite) -> str:
        with self._copy() as copy:
            with copy.mutated(mutation):
                failure = copy.failure(tests)
            killer = tests.only(failure)
            if failure and killer not in self._sound:
                if broken := copy.run(killer):
                    raise BrokenTests(f"{copy.output[-4000:]}\nWithout a mutant: {broken}.")
                self._sound.add(killer)
        return failure

    @contextmanager
    def _copy(self) -> Iterator[Copy]:
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


def killers(mutations: Sequence[Mutation], workers: int, *, narrow: bool = False) -> dict[Mutation, str]:
    """The test that killed each of these mutants, its own or a wider one; empty for a survivor. Raises BrokenTests."""
    found = dict.fromkeys(mutations, "")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ThreadPoolExecutor(workers) as threads:
        copies = [Copy(Path(folder) / f"{number}") for number in range(workers)]
        bench = Bench(copies, Results(RESULTS))
        try:
            covering = Covering()
            wider = () if narrow else (lambda _: WIDER,)
            for tests_of in (partial(own_tests, covering=covering), *wider):
                alive = [mutation for mutation in mutations if not found[mutation]]
                suites = [tests_of(mutation) for mutation in alive]
                for number, killer in enumerate(threads.map(bench.killer, alive, suites)):
                    found[alive[number]] = killer
                    print(f"{number + 1}/{len(alive)} {alive[number]}: {killer or 'alive'}", file=sys.stderr)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            for copy in copies:
                copy.stop()
            raise
    return found


def report(drawn: Sequence[Mutation], killed_by: Mapping[Mutation, str], judged: Mapping[Name, str]) -> float:
    """Print a row for each module, and the mutants that were not killed. Return the share of killed mutants."""
    fates = {m: "judged" if m.name in judged else "killed" if killed_by[m] else "survived" for m in drawn}
    table, counts = Table("module", "mutants", "killed", "judged", "survived"), Counter[str]()
    for file in (*dict.fromkeys(mutation.file for mutation in drawn), "all"):
        counts = Counter(fate for mutation, fate in fates.items() if file in (mutation.file, "all"))
        table.add_row(file, f"{counts.total()}", *(f"{counts[fate]}" for fate in ("killed", "judged", "survived")))
    Console(width=120).print(table)
    for mutation, fate in fates.items():
        if fate != "killed":
            _, _, line, becomes = mutation.name
            print(f"{fate}: {mutation}", f"- {line}", f"+ {becomes}", sep="\n    ")
            print(end=f"    {judged[mutation.name]}\n" if fate == "judged" else "")
    counted = counts["killed"] + counts["survived"]
    rate = counts["killed"] / counted if counted else 1.0
    print(f"Killed: {counts['killed']} of {counted} = {rate:.1%}; the bar is {LEAST_RATE:.0%}.")
    return rate


def stale(judged: Iterable[Name], candidates: Iterable[Mutation]) -> list[Name]:
    """The judgements of mutations that do not exist any more."""
    present = {mutation.name for mutation in candidates}
    return [name for name in judged if name not in present]


def main() -> int:
    """Draw mutants, run the tests on them, print the result, and return the exit status."""
    known = core()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other mutants")
    parser.add_argument("--per-file", type=int, default=12, help="the number of mutants of each module")
    parser.add_argument("--only", default=",".join(known), help="modules, separated by commas")
    parser.add_argument("--workers", type=int, default=2, help="the number of mutants at a time")
    parser.add_argument("--narrow", action="store_true", help="only the tests of its line, without the wider ones")
    parser.add_argument("--fresh", action="store_true", help="forget the outcomes of earlier runs")
    options = parser.parse_args()
    files = options.only.split(",")
    if unknown := set(files) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}. Known are {', '.join(known)}.")
    if options.fresh:
        RESULTS.unlink(missing_ok=True)
    candidates = {file: find(file, (paths.ROOT / file).read_bytes()) for file in known}
    judged = judgements(JUDGED.read_text(encoding="utf-8"))
    drawn = [mutation for file in files for mutation in sample(candidates[file], options.per_file, options.seed)]
    measure()
    try:
        killed_by = killers(
            [mutation for mutation in drawn if mutation.name not in judged], options.workers, narrow=options.narrow
        )
    except BrokenTests as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rate = report(drawn, killed_by, judged)
    for name in stale(judged, chain(*candidates.values())):
        print("stale judgement, its mutation does not exist:", *name, sep="\n    ")
    return 0 if rate >= LEAST_RATE else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # like Ctrl-C: ends the tests and removes the copies
    sys.exit(main())
