"""`make mutants`: makes many small changes, one at a time, and lists those that no test notices.

    python -m project.proof.mutants [--per-file 12] [--only sequences/commit/leader.py,...] [--workers 2] [--narrow]

A mutant is a copy of the project with one such change; a failing test kills it. First the tests of its own module run.
If the mutant survives, the wider tests run, and they must fail twice. These take minutes for each mutant: `--narrow`
leaves them out, and its result is a lower bound. A time-out is a kill.
Outcomes are kept in `.local/mutants/` until the module or the tests change, so a stopped run can go on; `--fresh`
forgets them. Mutants that need not be killed are listed with the reason in `mutants_judged.toml`, and do not count.
The exit status is 1 if less than 95 % of the others are killed, and 2 if the tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rich.console import Console
from rich.table import Table

from project import paths
from project.proof.copies import copy_project
from project.proof.mutations import Mutation, Name, find, sample
from sequences.lab.processes import ChildProcess

RESULTS = paths.LOCAL / "mutants" / "results.jsonl"
JUDGED = Path(__file__).with_name("mutants_judged.toml")
LEAST_RATE = 0.95
LEAST_SECONDS, PATIENCE, SECONDS_A_TEST = 60.0, 4, 60

MUTATED = ("sequences/**/*.py", "tickets/**/*.py", "project/worker.py")
# But not: pages, checks and commands, the lab, and modules of declarations.
NOT_MUTATED = re.compile(
    r"sequences/((admin|lab|management|migrations)/|ops/(checks|terminal)\.py$|(apps|capabilities|exceptions|models|storage|types)\.py$)"
    r"|tickets/(.*/)?((management|migrations)/|(admin|apps|converters|exceptions|forms|models|types|urls)\.py$)"
    r"|tickets/((?!api)\w+/)?views\.py$"
)
# A module's own tests are in the file of its name, and in these files, or in those of its folder; without any, all
# tests of its room are its own. They are in the folder of their room, or anywhere below that of the app.
OWN_TESTS = {
    "sequences/actions.py": ("also",),
    "sequences/asynchronous/__init__.py": ("async", "signals"),
    "sequences/changes/__init__.py": ("changes",),
    "sequences/changes/adoptions.py": ("rules",),
    "sequences/ops/audit/": ("audit",),
    "sequences/ops/audit/background.py": ("background_audits",),
    "sequences/ops/audit/listing.py": ("admin_scope",),
    "sequences/ops/audit/results.py": ("background_audits",),
    "sequences/ops/columns.py": ("seeds", "changes"),
    "sequences/commit/commit_queues.py": ("deadlines",),
    "sequences/commit/requests.py": ("commit_queues", "counters", "also"),
    "sequences/dynamodb/budgets.py": ("budgets", "standing"),
    "sequences/dynamodb/client.py": ("errors", "lives", "engine_clock"),
    "sequences/dynamodb/configuration.py": ("clients",),
    "sequences/dynamodb/connections.py": ("errors", "deadlines"),
    "sequences/dynamodb/errors.py": ("errors", "tls"),
    "sequences/dynamodb/lives.py": ("soundness",),
    "sequences/dynamodb/making.py": ("client", "clients", "errors"),
    "sequences/dynamodb/tables.py": ("lives", "soundness"),
    "sequences/dynamodb/values.py": ("expressions",),
    "sequences/dynamodb/expressions/counters.py": ("expressions", "counters"),
    "sequences/dynamodb/expressions/items.py": ("expressions", "stored_rows"),
    "sequences/dynamodb/expressions/key_schema.py": ("expressions",),
    "sequences/dynamodb/expressions/lines.py": ("host_line",),
    "sequences/fields/": ("fields",),
    "sequences/formats/": ("formats",),
    "sequences/asynchronous/gatherings.py": ("async",),
    "sequences/ops/doctor/": ("doctor", "standing"),
    "sequences/ops/forecast/callers.py": ("simulation",),
    "sequences/ops/forecast/clock.py": ("simulation",),
    "sequences/ops/forecast/costs.py": ("forecast_costs", "forecasts"),
    "sequences/ops/forecast/estimate.py": ("forecasts",),
    "sequences/ops/forecast/simulation.py": ("simulation",),
    "sequences/ops/forecast/table.py": ("simulation",),
    "sequences/changes/guarded.py": ("changes", "switches"),
    "sequences/commit/host_memory.py": ("host_lock",),
    "sequences/commit/host_values.py": ("host_values", "went_back"),
    "sequences/ops/insight.py": ("admin_scope",),
    "sequences/commit/leader.py": ("commit_queues", "deadlines", "../model/outcomes"),
    "sequences/logs.py": ("../attacks/logs", "signals", "../project/watched"),
    "sequences/metrics/": ("metrics",),
    "sequences/operations.py": ("seeds",),
    "sequences/ops/overview.py": ("standing", "admin"),
    "sequences/registry.py": ("tables",),
    "sequences/rest/answers.py": ("rest", "../tickets/problems", "../tickets/requests", "../tickets/codes"),
    "sequences/rest/cursors.py": ("rest", "../tickets/lists/pages"),
    "sequences/rest/fields.py": ("rest", "../tickets/json", "../tickets/api"),
    "sequences/rest/idempotency.py": ("rest", "../tickets/codes"),
    "sequences/rest/pages.py": ("rest", "../tickets/lists/pages"),
    "sequences/rest/problem_table.py": ("rest", "../tickets/problems", "../tickets/codes"),
    "sequences/rest/problems.py": ("rest", "../tickets/problems", "../tickets/pages", "../tickets/codes"),
    "sequences/rest/request_ids.py": ("rest", "../tickets/requests"),
    "sequences/rest/views.py": ("rest", "../tickets/api"),
    "sequences/commit/retries.py": ("deadlines",),
    "sequences/start.py": ("soundness", "regions"),
    "sequences/ops/tables.py": ("checks", "clients", "layouts"),
    "sequences/services/__init__.py": ("signals", "dated"),
    "sequences/services/texts.py": ("dated",),
    "sequences/commit/waiters.py": ("commit_queues", "deadlines", "../model/outcomes"),
    "sequences/rows/answers.py": ("went_back", "together", "dated", "services", "counters"),
    "sequences/rows/assignments.py": ("counters", "contract"),
    "sequences/strategies/atomic.py": ("lost_additions", "counters", "contract"),
    "sequences/strategies/base.py": ("registry", "regions", "sort_key", "counters", "contract"),
    "sequences/strategies/block.py": ("registry", "lives"),
    "sequences/changes/changing.py": ("changes", "switches"),
    "sequences/strategies/counter_strategy.py": ("registry", "counters", "contract"),
    "sequences/rows/brought_keys.py": ("layouts", "also", "counters", "dated"),
    "sequences/rows/layout.py": ("layouts", "dated", "stored_rows", "sort_key"),
    "sequences/rows/layout_options.py": ("layouts", "dated"),
    "sequences/rows/course.py": ("rates",),
    "sequences/strategies/given_back.py": ("block",),
    "sequences/rows/evidence.py": ("went_back", "lives"),
    "sequences/rows/history.py": ("changes", "switches"),
    "sequences/rows/item_writer.py": ("also", "dated", "services", "sort_key", "counters", "lives", "contract"),
    "sequences/rows/lives.py": ("lives",),
    "sequences/rows/lru.py": ("memory",),
    "sequences/rows/markers.py": ("audit", "stored_rows", "dated", "values", "contract"),
    "sequences/rows/numbers.py": ("counters", "dated", "sort_key"),
    "sequences/strategies/optimistic.py": ("registry", "counters", "contract"),
    "sequences/rows/options.py": ("registry", "deadlines"),
    "sequences/rows/own_rows.py": ("also",),
    "sequences/rows/put_requests.py": ("also", "reserved_once", "services", "counters"),
    "sequences/rows/remedies.py": ("changes", "counters"),
    "sequences/rows/refusals.py": ("also", "counters", "../model/outcomes", "contract"),
    "sequences/rows/rules.py": ("rules",),
    "sequences/rows/rules_row.py": ("rules",),
    "sequences/rows/counter_memory.py": ("went_back", "stored_rows", "counters", "regions"),
    "sequences/rows/counter_rows.py": ("layouts", "registry", "stored_rows", "counters", "rates"),
    "sequences/rows/stored_counter.py": ("layouts", "registry", "stored_rows", "counters", "changes"),
    "sequences/strategies/supply.py": ("block", "lives"),
    "sequences/rows/switch_note.py": ("switches",),
    "sequences/rows/tallies.py": ("rates", "counters"),
    "sequences/strategies/transactional.py": ("counters", "switches", "lives", "contract"),
    "sequences/testing/assertions.py": ("testing",),
    "sequences/testing/callers.py": ("testing", "contract"),
    "sequences/testing/cases.py": ("testing",),
    "sequences/testing/engines.py": ("testing",),
    "sequences/testing/tables.py": ("testing",),
    "tickets/access/actions.py": ("rules", "members"),
    "tickets/access/checks.py": ("rules", "members", "doors"),
    "tickets/access/memory.py": ("rules", "members"),
    "tickets/accounts/api/throttling.py": ("throttles",),
    "tickets/accounts/api/views.py": ("tokens", "throttles"),
    "tickets/accounts/middleware.py": ("throttles",),
    "tickets/accounts/selectors.py": ("tokens", "migration"),
    "tickets/accounts/services.py": ("tokens",),
    "tickets/accounts/sign_in.py": ("throttles",),
    "tickets/accounts/tokens.py": ("migration",),
    "tickets/accounts/validators.py": ("tokens",),
    "tickets/addresses.py": ("lists/addresses", "renames", "moves"),
    "tickets/api/authentication.py": ("accounts/tokens",),
    "tickets/api/docs.py": ("api_docs",),
    "tickets/api/index.py": ("lists/addresses", "lists/pages", "api"),
    "tickets/api/members.py": ("access/members",),
    "tickets/api/pagination.py": ("lists/pages", "api"),
    "tickets/api/permissions.py": ("access/doors", "access/rules"),
    "tickets/api/projects.py": ("api", "renames", "access/rules"),
    "tickets/api/renderers.py": ("json",),
    "tickets/api/requests.py": ("problems", "json", "api", "renames"),
    "tickets/api/schema.py": ("api", "api_docs"),
    "tickets/api/sequences.py": ("api", "codes"),
    "tickets/api/serializers.py": ("api", "json", "moves", "versions"),
    "tickets/api/tickets.py": ("api", "versions", "moves", "lists/bulk", "lists/export"),
    "tickets/api/versions.py": ("versions",),
    "tickets/api/views.py": ("api", "renames", "access/rules"),
    "tickets/bulk.py": ("lists/bulk",),
    "tickets/cursors.py": ("lists/pages", "pages"),
    "tickets/doors.py": ("access/doors", "access/rules"),
    "tickets/lists/filters.py": ("pages",),
    "tickets/middleware.py": ("requests", "problems", "moves"),
    "tickets/problems.py": ("codes",),
    "tickets/repeats.py": ("services", "lists/bulk", "api"),
    "tickets/sales/api/serializers.py": ("api",),
    "tickets/sales/api/views.py": ("api",),
    "tickets/sales/selectors.py": ("services", "pages", "api"),
    "tickets/sales/services.py": ("concurrency",),
    "tickets/sales/store.py": ("services", "concurrency"),
    "tickets/sales/validators.py": ("services", "api", "pages"),
    "tickets/selectors.py": ("services", "api", "lists/pages"),
    "tickets/services.py": ("moves", "renames"),
    "tickets/store/lists.py": ("lists/pages",),
    "tickets/store/members.py": ("access/members", "access/rules", "services"),
    "tickets/store/moves.py": ("moves",),
    "tickets/store/places.py": ("store", "services", "renames", "timeline"),
    "tickets/store/projects.py": ("services", "renames"),
    "tickets/store/tickets.py": ("services", "guarded", "moves", "renames", "timeline"),
    "tickets/store/timeline.py": ("timeline",),
    "tickets/tables.py": ("lists/pages", "services"),
    "tickets/timeline/api/serializers.py": ("versions",),
    "tickets/timeline/api/views.py": ("versions", "timeline"),
    "tickets/timeline/recording.py": ("timeline",),
    "tickets/timeline/selectors.py": ("timeline", "versions"),
    "tickets/timeline/services.py": ("timeline", "versions"),
}
FLAGS = ("tests/test_docs.py",)  # checks the flags of each strategy against the tables in the docs


@dataclass(frozen=True)
class Suite:
    """Tests to run on a mutant, as arguments of pytest. They kill the mutant if they fail `times` times in a row."""

    arguments: tuple[str, ...]
    times: int = 1

    @property
    def text(self) -> str:
        """A digest of the tests, and of everything that tests share."""
        named = [paths.ROOT / argument for argument in self.arguments]
        files = sorted((paths.ROOT / "tests").rglob("*.py"))
        faults = sorted((paths.ROOT / "project" / "proof" / "faults").rglob("*.py"))
        ours = (path for path in files if any(path.is_relative_to(place) for place in named))
        return _digest(*ours, *faults, *(path for path in files if path.name in {"conftest.py", "support.py"}))


WIDER = Suite(
    ("tests/sequences", "tests/tickets", "tests/test_docs.py", "tests/faults", "--ignore=tests/faults/test_soak.py"),
    times=2,
)


class BrokenTests(Exception):
    """The tests fail without a mutant, or somebody ended them: their failures do not count as kills."""


def core() -> list[str]:
    """The modules that are mutated."""
    found = chain(*(paths.ROOT.glob(pattern) for pattern in MUTATED))
    files = sorted(path.relative_to(paths.ROOT).as_posix() for path in found)
    return [file for file in files if not NOT_MUTATED.match(file)]


def own_tests(file: str) -> Suite:
    """The tests that run first on a mutant of this module."""
    path = Path(file)
    names = (path.stem, *OWN_TESTS.get(file, OWN_TESTS.get(f"{path.parent}/", ())))
    folder = next(place for place in _folders(file) if (paths.ROOT / place).exists())
    found = [path for path in dict.fromkeys(_tests_of(file, name) for name in names) if path] or [str(folder)]
    return Suite((*found, *(FLAGS if "/strategies/" in file else ())))


def _folders(file: str) -> list[Path]:
    """Where the tests of a module may be, the nearest first."""
    return [Path("tests") / place for place in Path(file).parents[:-1]]


def _tests_of(file: str, name: str) -> str:
    """The file of tests that a name means: in the nearest folder, or anywhere in the room; "" if there is none."""
    folders, wanted = _folders(file), Path(name).with_name(f"test_{Path(name).name}.py")
    near = [place / wanted for place in folders if (paths.ROOT / place / wanted).exists()]
    far = [path.relative_to(paths.ROOT) for path in (paths.ROOT / folders[-1]).rglob(wanted.name)]
    return os.path.normpath(next(iter((*near, *far)))) if near or far else ""


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
        # Two mutants may have the same size and time of change, so compiled files must not be kept.
        environment = f"PYTHONDONTWRITEBYTECODE=1 TMPDIR={tempfile.mkdtemp(dir=folder)}"
        # The project's options are left out: with --strict-config pytest refuses to run without its cache, and every
        # mutant would look killed.
        slow = ("-p", "no:cacheprovider", "-p", "no:schemathesis")  # to import the latter takes longer than most tests
        pytest = ("-m", "pytest", "-x", "-q", *slow, "-o", "addopts=", f"--timeout={SECONDS_A_TEST}")
        enter = f'cd "$0" && exec env {environment} "$@"'
        self._command = ["/bin/sh", "-c", enter, str(self._tree), sys.executable, *pytest]
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

    def failure(self, tests: Suite, seconds: float | None = None) -> str:
        """The test that fails in each of the suite's runs; empty if one run passes. No time-out without `seconds`."""
        failure = ""
        for _ in range(tests.times):
            failure = self.run(tests, seconds)
            if not failure:
                break
        return failure

    def run(self, tests: Suite, seconds: float | None) -> str:
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
        self._measuring: defaultdict[Suite, threading.Lock] = defaultdict(threading.Lock)
        self._free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self._free.put(copy)

    def killer(self, mutation: Mutation, tests: Suite) -> str:
        """The test that fails with this mutant; empty if the mutant survives."""
        decided_by = (mutation, _digest(paths.ROOT / mutation.file), tests, tests.text)
        killer: str = self._results.remember(f"{mutation}", decided_by, lambda: self._meet(mutation, tests))
        return killer

    def _meet(self, mutation: Mutation, tests: Suite) -> str:
        seconds = max(LEAST_SECONDS, PATIENCE * self.seconds(tests))
        with self._copy() as copy, copy.mutated(mutation):
            return copy.failure(tests, seconds)

    def seconds(self, tests: Suite) -> float:
        """How long the tests take without a mutant. Raises BrokenTests if they fail."""
        about = f"{' '.join(tests.arguments)} without a mutant"
        decided_by = (_digest(*(paths.ROOT / file for file in core())), tests, tests.text)
        with self._measuring[tests]:
            taken: float = self._results.remember(about, decided_by, lambda: self._measure(tests))
        return taken

    def _measure(self, tests: Suite) -> float:
        with self._copy() as copy:
            began = time.monotonic()
            if failure := copy.failure(tests):
                raise BrokenTests(f"{copy.output[-4000:]}\nWithout a mutant: {failure}.")
        return round(time.monotonic() - began, 1)

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
            for tests_of in (own_tests,) if narrow else (own_tests, lambda file: WIDER):
                alive = [mutation for mutation in mutations if not found[mutation]]
                suites = [tests_of(mutation.file) for mutation in alive]
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
    parser.add_argument("--narrow", action="store_true", help="only a module's own tests, without the wider ones")
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
