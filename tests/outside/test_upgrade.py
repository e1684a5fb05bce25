"""Version 0.1.0 and the present one number the same things: one after the other, back and forth, and at once.

`earlier.tar.xz` has two wheels of 0.1.0: the first, and the last before 0.2.0. Each is installed into a folder of its
own, and so is the present wheel. Their processes meet on one engine.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

import sequences
from sequences import dynamodb
from sequences.testing import engine_at
from sequences.testing.embedded import Engine
from tests.outside import numbering
from tests.outside.numbering import GAPLESS, LISTED, RESERVING, SEQUENCES
from tests.outside.programs import inherited, run

EARLIER = Path(__file__).parent / "earlier.tar.xz"
TABLES = ("sequences", "sequence_items", "padded_items", "keyed")
ACCESS = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
COUNTING = {"last_value", "highest", "token", "updated_at", "given_back", "changed", "frozen", "thawed"}
TOGETHER = 25
"""How many items each version stores of a sequence while the other one does, too."""

AUDITED = [sequence for sequence in SEQUENCES if sequence != "keyed"]
"""The sequences whose items can be listed."""

Rows = Mapping[tuple[str, str], Mapping[str, Any]]


class Process:
    """A process that runs one version, and does what it is asked."""

    def __init__(self, version: Path, engine: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", numbering.__file__],
            env=inherited() | ACCESS | {"PYTHONPATH": str(version), "AWS_ENDPOINT_URL_DYNAMODB": engine},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(timeout=30) == 0

    def ask(self, name: str, *arguments: Any) -> None:
        """Ask for something, without waiting for the answer."""
        assert self._process.stdin
        print(json.dumps([name, *arguments]), file=self._process.stdin, flush=True)

    def answer(self) -> Any:
        """The answer to the earliest question that has none yet."""
        assert self._process.stdout
        answered = json.loads(self._process.stdout.readline())
        assert "answer" in answered, answered
        return answered["answer"]

    def refuses(self, name: str, *arguments: Any) -> str:
        """The class of the error with which a call ends."""
        self.ask(name, *arguments)
        assert self._process.stdout
        return str(json.loads(self._process.stdout.readline())["error"])

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Ask and wait."""
        self.ask(name, *arguments)
        return self.answer()


class Site:
    """An engine with the tables of all sequences, and what was given there."""

    def __init__(self, old: Path, new: Path, engine: Engine) -> None:
        self.old = old
        self.new = new
        self.engine = engine
        self.given: dict[str, dict[str, int]] = defaultdict(dict)
        """Of each sequence the values of items by their tokens."""
        self.taken: dict[str, list[int]] = defaultdict(list)
        """Of each sequence the values without items."""

    def process(self, version: Path) -> Process:
        """A process of a version."""
        return Process(version, self.engine.endpoint)

    def number(self, process: Process, by: str, count: int = 5) -> None:
        """Store items and take values of every sequence, each with a token; each value is the highest so far."""
        for sequence in SEQUENCES:
            tokens = [f"{sequence} {by} {n}" for n in range(count)]
            before = self.values(sequence)
            given = {token: process("put", sequence, token) for token in tokens}
            taken = process("take", sequence, 3, f"{sequence} {by} taken") if sequence in RESERVING else []
            self.given[sequence] |= given
            self.taken[sequence] += taken
            if sequence != "blocks":
                assert min([*given.values(), *taken]) > max(before, default=0)
        self.assert_all_given_once()

    def repeat(self, process: Process) -> None:
        """Repeat every request: each gets the value that it got."""
        for sequence, given in self.given.items():
            assert process("put_all", sequence, [*given]) == [*given.values()]

    def values(self, sequence: str) -> list[int]:
        """All values of a sequence, in the order in which they came."""
        return [*self.given[sequence].values(), *self.taken[sequence]]

    def assert_all_given_once(self) -> None:
        """No value was given twice; and none is missing where there are no gaps."""
        for sequence in SEQUENCES:
            values = self.values(sequence)
            assert len(values) == len(set(values)), f"{sequence} has given a value twice"
        for sequence in GAPLESS:
            values = self.values(sequence)
            assert sorted(values) == [*range(1, len(values) + 1)], f"{sequence} has a gap"

    def assert_clean(self, process: Process) -> None:
        """The audit finds nothing wrong, and each request has one item, under the value that its caller got."""
        assert [process("audit", sequence) for sequence in AUDITED] == [""] * len(AUDITED)
        for sequence in SEQUENCES:
            assert process("last", sequence) >= max(self.values(sequence))
        items = [(row["title"]["S"], value_of(key, row)) for key, row in self.rows().items() if "title" in row]
        assert sorted(items) == sorted(item for given in self.given.values() for item in given.items())

    def rows(self) -> Rows:
        """Every stored row by its table and key, as the engine has it."""
        found = {}
        with engine_at(self.engine.endpoint):
            for table in TABLES:
                names = [*dynamodb.table_keys(table)]
                for row in _scanned(table):
                    found[table, json.dumps([row.pop(name) for name in names])] = row
        return found


def _scanned(table: str) -> Iterator[dict[str, Any]]:
    request: dict[str, Any] = {"TableName": table}
    while True:
        page = dynamodb.call("scan", request)
        yield from map(dict, page["Items"])
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def assert_ruled(rows: Rows) -> None:
    """Every sequence has the row of its rules."""
    kept = "".join(key for _, key in rows)
    assert [sequence for sequence in SEQUENCES if f"#rules#{sequence}" not in kept] == []


def value_of(key: tuple[str, str], row: Mapping[str, Any]) -> int:
    """The value of a stored item: its sort key, or an attribute."""
    number = row["value"] if key[0] == "keyed" else json.loads(key[1])[1]
    return int(number.get("N") or number["S"])


def assert_kept(before: Rows, after: Rows) -> None:
    """Every row is there still, with all that it had; of a counter all but what counts may not change."""
    for key, row in before.items():
        if key[1].startswith('[{"S": "#line#'):
            continue  # hosts that race: it counts for two seconds
        assert key in after, f"{key} is gone"
        if key[1].startswith('[{"S": "put-whole"}'):
            continue  # a counter that the first version put whole, without what it does not know
        changing = COUNTING if "last_value" in row else set()
        kept = {name: value for name, value in row.items() if name not in changing and not re.match(r"[dh]\d", name)}
        assert {name: after[key].get(name) for name in kept} == kept, key


@pytest.fixture(scope="module")
def present(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the present version."""
    return installed(wheel, tmp_path_factory.mktemp("present"))


@pytest.fixture(scope="module", params=["first", "last"])
def earlier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with version 0.1.0, as it was at first and at last."""
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(EARLIER) as wheels:
        wheels.extraction_filter = getattr(tarfile, "data_filter", None)  # which Python 3.11.2 has not
        wheels.extractall(folder)
    (wheel,) = (folder / request.param).iterdir()
    return installed(wheel, folder / "installed")


@pytest.fixture
def site(earlier: Path, present: Path) -> Iterator[Site]:
    """An empty engine, and both versions."""
    with Engine() as engine:
        yield Site(earlier, present, engine)


def installed(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a folder, alone."""
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile")
    run(*pip, "--target", str(folder), str(wheel))
    return folder


def test_each_process_runs_its_version(site: Site) -> None:
    """What is tested here are two versions."""
    with site.process(site.old) as old, site.process(site.new) as new:
        assert old("version") == ["0.1.0", str(site.old)]
        assert new("version") == [sequences.__version__, str(site.new)]


def test_back_and_forth(site: Site) -> None:
    """The old version numbers, the new one goes on, then the old one again, and at last the new one."""
    rows: Rows = {}
    for turn, version in enumerate((site.old, site.new, site.old, site.new)):
        with site.process(version) as process:
            if not turn or version == site.new:
                process("create_tables")
            site.repeat(process)
            site.number(process, f"in turn {turn}")
            site.assert_clean(process)
        assert_kept(rows, rows := site.rows())
        if turn:  # the first version knew no rules
            assert_ruled(rows)


def test_both_at_once(site: Site) -> None:
    """Both store at the same time, some items by the same requests; then each gets the other's answers, too."""
    with ExitStack() as stack:
        old, new = (stack.enter_context(site.process(version)) for version in (site.old, site.new))
        old("create_tables")
        new("create_tables")
        site.number(old, "before")
        for sequence in SEQUENCES:
            both = [f"{sequence} of both {n}" for n in range(5)]
            tokens = {
                process: [*both, *(f"{sequence} {name} {n}" for n in range(TOGETHER))]
                for name, process in (("old", old), ("new", new))
            }
            for process in (old, new):
                process.ask("put_all", sequence, tokens[process])
            values = {process: process.answer() for process in (old, new)}
            assert values[old][:5] == values[new][:5]
            for process in (old, new):
                site.given[sequence] |= zip(tokens[process], values[process], strict=True)
        site.assert_all_given_once()
        for process in (new, old):
            site.repeat(process)
            site.number(process, f"after {process is new}")
            site.assert_clean(process)


def test_what_is_read_back(site: Site) -> None:
    """The present version reads items of the old one, finds them by their texts, and lists their scopes."""
    with site.process(site.old) as old:
        old("create_tables")
        site.number(old, "before")
    with site.process(site.new) as new:
        new("create_tables")
        for sequence in AUDITED:
            assert new("read", sequence) == site.given[sequence]
            if sequence in LISTED:
                new("register", sequence)
            assert f"{sequence} ABC" in new("audit_all", sequence)
        assert new("find", "invoices", "ABC-2026-000003") == 3


def test_guarded_changes(site: Site) -> None:
    """What an operator changes by one version the other one heeds, and lists."""
    with site.process(site.old) as old, site.process(site.new) as new:
        old("create_tables")
        for sequence in SEQUENCES:
            first = old("put", sequence, "one")
            for turn, (operator, other) in enumerate(((old, new), (new, old)), start=1):
                operator("change", "freeze", sequence, {})
                assert other.refuses("put", sequence, f"frozen {turn}") == "SequenceFrozen"
                other("change", "thaw", sequence, {})
                operator("change", "advance", sequence, {"to": 5001 * turn})
                assert other("put", sequence, f"after {turn}") > 5001 * turn
                assert other("history", sequence) == operator("history", sequence)
            assert sorted(kind for kind, *_ in new("history", sequence)) == sorted(["advance", "freeze", "thaw"] * 2)
            assert new("put", sequence, "one") == first
        assert [old("audit", sequence) + new("audit", sequence) for sequence in AUDITED] == [""] * len(AUDITED)
