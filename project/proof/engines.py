"""`make engines`: the tests and the soak on engines that are not ours, side by side.

    python -m project.proof.engines [--engines dynamodb-local,moto] [--minutes 3] [--brief]

DynamoDB Local is Amazon's own engine; moto is what most projects test with. A test that needs what moto cannot do is
counted as left out there. The exit status is 1 if a test fails. docs/proof.md says where the engines differ.

With `--brief` it runs the tests of what an engine, or the way to it, decides. Each meets every strategy, and only the
contract every configuration (see `tests/fewer.py`). The soak runs beside them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.table import Table

from project.commands.engines import ENGINES, EngineMissing, choose_engine

SUITES = {
    "contract and counters": ("strategies",),
    "requests, tokens, also": ("services", "commit", "dynamodb", "test_also.py", "test_mistakes.py", "asynchronous"),
    "rows, changes, operations": ("rows", "changes", "ops", "formats"),
    "other rooms of sequences": ("",),
    "attacks": ("../attacks",),
    "faults": ("../faults",),
    "REST flow of the sample": ("../tickets/test_api.py", "../tickets/test_repeats.py"),
}
BRIEF = (
    "strategies/test_contract.py",
    "strategies/test_counters.py",
    "strategies/test_block.py",
    "services/test_together.py",
    "services/test_reserved_once.py",
    "test_also.py",
    "test_mistakes.py",
    "rows/test_lives.py",
    "changes/test_changes.py",
    "dynamodb/test_engine_clock.py",
    "dynamodb/test_errors.py",
    "dynamodb/test_lean.py",
    "dynamodb/test_transport.py",
    "dynamodb/test_values.py",
    "../faults/test_table.py",
)
"""What goes over the wire: every strategy and fault, tokens, groups, blocks, changes, and what an engine refuses."""
FEW = ("-n", "2", "--cover", "values", "-m", "not fast")
ROOM = "tests/sequences"


@dataclass(frozen=True)
class Outcome:
    """What became of one suite on one engine, and after how many seconds."""

    passed: int
    failed: int
    left_out: int
    seconds: float

    def __str__(self) -> str:
        left_out = f", {self.left_out} left out" if self.left_out else ""
        return f"{self.passed} passed, {self.failed} failed{left_out} ({self.seconds:.0f} s)"


def run_all(minutes: float) -> dict[str, Outcome]:
    """Run one suite after the other, then the soak, if it has any minutes, on the engine of the environment."""
    outcomes = {suite: run_tests(places) for suite, places in SUITES.items()}
    return outcomes | ({"soak": run_soak(minutes)} if minutes else {})


def run_brief(minutes: float) -> dict[str, Outcome]:
    """Run few tests, and the soak, if it has any minutes, beside them, on the engine of the environment."""
    with ThreadPoolExecutor(1) as beside:
        soak = beside.submit(run_soak, minutes) if minutes else None
        outcomes = {"in brief": run_tests(BRIEF, FEW)}
        return outcomes | ({"soak": soak.result()} if soak else {})


def run_tests(places: Sequence[str], options: Sequence[str] = ("-n", "4")) -> Outcome:
    """Run the tests of these places on the engine of the environment, and print what fails."""
    began = time.monotonic()
    paths = [os.path.normpath(f"{ROOM}/{place}") for place in places]
    named = {place for others in SUITES.values() for place in others if place and not place.startswith("..")}
    apart = [f"--ignore={ROOM}/{place}" for place in sorted(named)] if "" in places else []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        pytest = [sys.executable, "-m", "pytest", "-q", *options, "--dist", "worksteal", "--without-engine"]
        command = [*pytest, f"--junitxml={report}", *paths, *apart]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(done.stdout)
        outcome = outcome_of(ET.parse(report).getroot(), time.monotonic() - began)
        return replace(outcome, failed=outcome.failed or int(done.returncode != 0))  # also if no test was found


def outcome_of(report: ET.Element, seconds: float) -> Outcome:
    """What pytest's report in JUnit's form says."""
    totals = {name: sum(int(suite.get(name, 0)) for suite in report.iter("testsuite")) for name in _COUNTS}
    failed = totals["failures"] + totals["errors"]
    return Outcome(totals["tests"] - failed - totals["skipped"], failed, totals["skipped"], seconds)


_COUNTS = ("tests", "failures", "errors", "skipped")


def run_soak(minutes: float) -> Outcome:
    """Run the soak on the engine of the environment, and print what it finds."""
    began = time.monotonic()
    # DynamoDB Local loses transactions when it is killed, as DynamoDB never does.
    command = [sys.executable, "-m", "project.proof.soak", "--minutes", f"{minutes:g}", "--engine-kills", "0"]
    failed = subprocess.run(command, check=False).returncode != 0
    return Outcome(int(not failed), int(failed), 0, time.monotonic() - began)


def main() -> int:
    """Run everything on each engine, print a table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="dynamodb-local,moto", help=f"of {', '.join(ENGINES)}")
    parser.add_argument("--minutes", type=float, default=3.0, help="how long the soak is; 0 leaves it out")
    parser.add_argument("--brief", action="store_true", help="few tests, with the soak beside them")
    options = parser.parse_args()
    names = options.engines.split(",")
    outcomes: dict[tuple[str, str], Outcome] = {}
    for name in names:
        with mock.patch.dict(os.environ):
            try:
                choose_engine(name)
            except EngineMissing as error:
                parser.error(str(error))
            minutes = 0.0 if name == "moto" else options.minutes  # whose server keeps nothing when it is killed
            done = run_brief(minutes) if options.brief else run_all(minutes)
            outcomes.update({(suite, name): outcome for suite, outcome in done.items()})
    table = Table("", *names)
    for suite in dict.fromkeys(suite for suite, _ in outcomes):
        table.add_row(suite, *(f"{outcomes.get((suite, name), 'left out')}" for name in names))
    Console(width=140).print(table)
    return int(any(outcome.failed for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
