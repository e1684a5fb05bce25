"""`make mutants`: what it changes, which changes it draws, and when a mutant counts as killed."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from project import paths
from project.proof import mutants
from project.proof.covering import Covering
from project.proof.mutants import (
    WIDER,
    Bench,
    BrokenTests,
    Copy,
    Results,
    Suite,
    core,
    judgements,
    killers,
    report,
    stale,
)
from project.proof.mutations import Mutation, find, sample

CHANGES = [
    ("a < b <= c", {"a <= b <= c", "a < b < c"}),
    ("a is not None", {"a is None"}),
    ("(a) in (b)", {"(a) not in (b)"}),
    ("a and b and c", {"a or b and c", "a and b or c"}),
    ("not (a)", {" (a)"}),
    ("a + b", {"a - b"}),
    ("min(a, b)", {"max(a, b)"}),
    ("[1.5, True]", {"[2.5, True]", "[1.5, False]"}),
    ("'text'", {"'text' \"~\""}),
    ("f'{a + 1}'", {"f'{a + 1}' \"~\""}),
    ("'two words.'", {"'two words.' \"~\""}),
    ("monotonic() == a", {"monotonic() != a"}),
    ("monotonic() - a", {"monotonic() + a"}),
    ("b'text'", {"b'text' b\"~\""}),
    ("'#a <= :b AND #c'", {"'#a < :b AND #c'", "'#a <= :b OR #c'", "'#a <= :b AND #c' \"~\""}),
    ("f'attribute_exists(#{a})'", {"f'attribute_not_exists(#{a})'", "f'attribute_exists(#{a})' \"~\""}),
    ("'A AND B'", {"'A AND B' \"~\""}),
    ("a if b else c", {"a if True else c", "a if False else c"}),
    ("[a for a in b if c]", {"[a for a in b if True]", "[a for a in b if False]"}),
    ("ä(b + c)", {"ä(b - c)"}),
    ("a(title=b + c)", {"a(title=b - c)"}),
]
STATEMENTS = [
    ("return a", {"return None"}),
    ("return False", {"return True"}),
    ("return", {"pass"}),
    ("raise Wrong('text') from a", {"pass"}),
    ("raise ValueError(f'--a is {b}')", {"pass"}),
    (
        "raise ValueError({'a': b + c})",
        {"pass", "raise ValueError({'a' \"~\": b + c})", "raise ValueError({'a': b - c})"},
    ),
    ("call(a)", {"pass"}),
    ("a.b = c", {"pass"}),
    ("a.b, a[c] = d", {"pass"}),
    ("a.b: T = c", {"pass"}),
    ("a += b", {"a -= b"}),
    ("del a[b]", {"pass"}),
    ("with a.lock: b", {"if True: b"}),
    ("with a as b: c", set()),
    ("if a: b", {"if True: b", "if False: b"}),
    ("while a: b", {"while False: b"}),
    ("while True: b", {"while False: b"}),
]
LEFT_ALONE = [
    "'''A docstring.'''",
    "from . import a",
    "assert a == b",
    "if TYPE_CHECKING: a = 1",
    "@overload\n  def g(a=1): ...",
    "__all__ = ['a']",
    "__version__ = '1.2'",
    "V = TypeVar('V')",
    "a = cast('b', c)",
    "a: Literal['b']",
    "a = zip(b, strict=True)",
    "a = field(repr=False)",
    "a = Wrong('text', 1)",
    "a = row(title='text')",
    "a = 'This is said.'",
    "a = f'Wait {b} seconds.'",
    "a = 'above the counter, which is ' f'{b}'",
    "a = f'only {b} number the same items'",
    "a = until > time.monotonic()",
]


def changed(source: str) -> set[str]:
    """The changed lines of a function's body, for every mutation. Its module imports an exception."""
    before = f"from .exceptions import Wrong\n@decorated(1)\ndef f(a: Literal['a']) -> Literal['b']:\n  {source}\n"
    found = [mutation.apply(before.encode()).decode() for mutation in find("a.py", before.encode())]
    return {text.partition(":\n  ")[2].strip() for text in found}


class TestFinding:
    @pytest.mark.parametrize(("source", "expected"), CHANGES)
    def test_an_expression(self, source: str, expected: set[str]) -> None:
        """Every operator, constant and condition of an expression is changed, one at a time."""
        assert changed(f"x = {source}") == {f"x = {text}" for text in expected}

    @pytest.mark.parametrize(("source", "expected"), STATEMENTS)
    def test_a_statement(self, source: str, expected: set[str]) -> None:
        """What a statement does is not done; a plain name that would be missing stays."""
        assert changed(source) == expected

    @pytest.mark.parametrize("source", LEFT_ALONE)
    def test_what_is_left_alone(self, source: str) -> None:
        """What a program does not act on is not changed."""
        assert changed(source) == set()

    def test_locks(self) -> None:
        """Locks are a kind of their own among what may be left out."""
        found = find("a.py", b"with a.lock: b\nwith c: d\n")
        assert [mutation.kind for mutation in found] == ["deleted lock", "deleted with"]

    def test_log_lines(self) -> None:
        """A log line may be left out; its text is not changed."""
        assert changed("logger.info('text', 1)") == {"pass"}

    def test_every_mutant_of_a_module_is_a_program(self) -> None:
        """In a module of the core every mutation compiles, and is another program than the module."""
        source = (paths.ROOT / "sequences/commit/host_lock.py").read_bytes()
        found = find("sequences/commit/host_lock.py", source)
        original = ast.dump(ast.parse(source))
        assert len({mutation.kind for mutation in found}) > 8
        assert all(ast.dump(ast.parse(mutation.apply(source))) != original for mutation in found)

    def test_a_mutation_says_where_it_is(self) -> None:
        """A mutation knows its function, its line and what becomes of it, also over several lines."""
        source = dedent("""
            class A:
                def f(self):
                    return (
                        self.a,
                    )
        """).encode()
        (mutation,) = [mutation for mutation in find("a.py", source) if mutation.kind == "return None"]
        assert mutation.name == ("a.py", "A.f", "return (", "return None")
        assert str(mutation) == "a.py:4 (A.f) return None"


SOURCE = b"a = b.c if d == e and f < g else h + 1\ni = 'text'\nj = not k\n"


class TestSample:
    def test_it_is_the_same_each_time(self) -> None:
        """A seed draws the same mutations, another seed others, and a smaller sample is part of a larger one."""
        found = find("a.py", SOURCE)
        assert sample(found, 5, 1) == sample(list(reversed(found)), 5, 1) == sample(found, 9, 1)[:5]
        assert len({tuple(sample(found, 5, seed)) for seed in range(10)}) > 5

    def test_kinds_take_turns(self) -> None:
        """No kind comes twice before each came once."""
        found = find("a.py", SOURCE + b"l = m == n == o == p == q\n")
        kinds = {mutation.kind for mutation in found}
        assert {mutation.kind for mutation in sample(found, len(kinds), 1)} == kinds

    def test_an_edit_elsewhere_changes_nothing(self) -> None:
        """Lines that come before a mutation leave it in the sample."""
        before = sample(find("a.py", SOURCE), 5, 1)
        after = sample(find("a.py", b"import r\n" + SOURCE), 5, 1)
        assert [mutation.name for mutation in after] == [mutation.name for mutation in before]
        assert [mutation.number for mutation in after] == [mutation.number + 1 for mutation in before]


def test_the_core() -> None:
    """Modules that number, store and answer are mutated; pages, commands and the engine of tests are not."""
    mutated = {"sequences/commit/commit_queues.py", "sequences/rest/problems.py", "tickets/store/tickets.py"}
    assert mutated | {"tickets/api/views.py", "tickets/timeline/api/views.py", "project/worker.py"} <= set(core())
    assert not {"sequences/admin/pages.py", "sequences/testing/embedded.py", "tickets/views.py"} & set(core())
    assert not {"tickets/timeline/views.py", "tickets/accounts/forms.py", "tickets/api/examples.py"} & set(core())


def test_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy the tests see the mutant while it is there; the first that fails is named, and so is a time-out."""

    def small_project(folder: Path) -> Path:
        folder.mkdir()
        (folder / "one.py").write_text("a = 1\n")
        os.utime(folder / "one.py", (0, 0))  # as a project's files, it is older than what is compiled of it
        (folder / "test_one.py").write_text("from one import a\n\ndef test_a():\n    assert a == 1\n")
        return folder

    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)  # the small project has no engine
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # nor does it need what takes long to load
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_timeout")
    monkeypatch.setattr(mutants, "copy_project", small_project)
    copy, suite = Copy(tmp_path), Suite(("test_one.py",))
    with copy.mutated(find("one.py", b"a = 1\n")[0]):
        assert copy.failure(suite) == "test_one.py::test_a"
        assert "1 failed" in copy.output
    assert copy.failure(suite) == ""
    assert copy.run(suite, 0) == "time-out"


OWN = "tests/sequences/test_one.py"


class Played(Copy):
    """A copy of the project with prescribed failures: of own tests, then of wider ones; `broken` without a mutant."""

    output = "what the tests printed"

    def __init__(self, own: list[str], wider: list[str], broken: str = "") -> None:
        self.broken = broken
        self.failures = {False: own, True: wider}
        self.mutant: Mutation | None = None
        self.met: list[tuple[Mutation | None, tuple[str, ...]]] = []

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        self.mutant = mutation
        yield
        self.mutant = None

    def run(self, tests: Suite, seconds: float = 0) -> str:
        self.met.append((self.mutant, tests.arguments))
        return self.failures[tests is WIDER].pop(0) if self.mutant else self.broken

    def stop(self) -> None:
        pass


@pytest.fixture
def mutation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mutation:
    """A mutation in a project with one module and one test."""
    for name in ("sequences/one.py", "tests/sequences/test_one.py", "project/proof/faults/one.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("a = 1\n")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "_digest", mutants._digest.__wrapped__)
    return find("sequences/one.py", b"a = 1\n")[0]


@pytest.fixture
def killer(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that says which test kills the mutation in a copy. It uses the outcomes stored in the folder."""

    class OwnAlone:
        """Every line is run by one test file."""

        def tests_of(self, file: str, line: int) -> tuple[str, ...]:
            return (OWN,)

        def room_of(self, file: str, line: int) -> tuple[str, ...]:
            return ()

    def killer(copy: Copy, narrow: bool = False) -> str:
        monkeypatch.setattr(mutants, "Covering", OwnAlone)
        monkeypatch.setattr(mutants, "Copy", lambda folder: copy)
        return killers([mutation], 1, narrow=narrow)[mutation]

    monkeypatch.setattr(mutants, "RESULTS", paths.ROOT / ".local" / "results.jsonl")
    return killer


class TestMeeting:
    def test_own_tests_kill(self, mutation: Mutation, killer: Callable[..., str]) -> None:
        """What a module's own tests kill meets no others, and the test that killed it passes without it."""
        copy = Played([OWN + "::test_a[1 of 2]"], [])
        assert killer(copy) == OWN + "::test_a[1 of 2]"
        assert copy.met == [(mutation, (OWN,)), (None, (OWN + "::test_a",))]

    def test_a_time_out_kills(self, mutation: Mutation, killer: Callable[..., str]) -> None:
        """It names no test: without the mutant, all of them must end."""
        copy = Played(["time-out"], [])
        assert killer(copy) == "time-out"
        assert copy.met == [(mutation, (OWN,)), (None, (OWN,))]

    @pytest.mark.parametrize(
        ("failures", "killed_by"), [([""], ""), (["test_two", ""], ""), (["test_two", "test_two"], "test_two")]
    )
    def test_a_wider_kill_must_repeat(self, killer: Callable[..., str], failures: list[str], killed_by: str) -> None:
        """What survives its own tests is killed by the wider ones if they fail twice."""
        assert killer(Played([""], failures)) == killed_by

    def test_the_wider_tests_may_be_left_out(self, killer: Callable[..., str]) -> None:
        """Where only its own tests are asked for, what survives them survives."""
        copy = Played([""], [])
        assert killer(copy, narrow=True) == ""
        assert [suite for _, suite in copy.met] == [(OWN,)]

    def test_what_nothing_runs(self, mutation: Mutation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A mutant whose line no test runs, or only before the tests, meets those of its room."""
        copy = Played([""], [])
        monkeypatch.setattr(mutants, "RESULTS", tmp_path / "results.jsonl")
        monkeypatch.setattr(mutants, "Copy", lambda folder: copy)
        monkeypatch.setattr(mutants, "Covering", lambda: Covering(tmp_path / "nothing"))
        assert killers([mutation], 1, narrow=True) == {mutation: ""}
        assert [suite for _, suite in copy.met] == [(OWN,)]

    def test_a_test_is_proved_once(self, mutation: Mutation) -> None:
        """A test that has passed without a mutant is believed when it kills another one."""
        copy = Played([OWN, OWN], [])
        bench = Bench([copy], Results(paths.ROOT / "results.jsonl"))
        other = find("sequences/one.py", b"a = 'b'\n")[0]
        assert [bench.killer(one, Suite((OWN,))) for one in (mutation, other)] == [OWN, OWN]
        assert [met for met, _ in copy.met] == [mutation, None, other]

    def test_tests_that_fail_without_a_mutant(self, killer: Callable[..., str]) -> None:
        """Tests that fail anyway are an error with what they printed, and no kill."""
        with pytest.raises(BrokenTests, match="what the tests printed"):
            killer(Played(["test_one"], [], broken="test_one"))

    def test_outcomes_are_kept(self, killer: Callable[..., str]) -> None:
        """A later run asks for nothing again, whether the mutant was killed or not."""
        assert killer(Played([""], [""])) == ""
        again = Played([], [])
        assert killer(again) == ""
        assert again.met == []

    @pytest.mark.parametrize(
        "edited",
        ["sequences/one.py", "tests/sequences/test_one.py", "tests/conftest.py", "project/proof/faults/one.py"],
    )
    def test_an_edit_makes_an_outcome_unknown(self, killer: Callable[..., str], edited: str) -> None:
        """Where the module, its tests, or what tests share changed, the mutant meets them again."""
        assert killer(Played([""], [""])) == ""
        with (paths.ROOT / edited).open("a") as file:
            file.write("# edited\n")
        assert killer(Played(["test_one"], [])) == "test_one"

    def test_a_run_that_was_stopped(self, tmp_path: Path) -> None:
        """A line that was half written is forgotten, and the lines before it are not."""
        path = tmp_path / "results.jsonl"
        assert Results(path).remember("one", ("one",), lambda: 1) == 1
        path.write_text(path.read_text() + '{"key": "half')
        assert Results(path).remember("one", ("one",), lambda: 2) == 1


@pytest.mark.parametrize(("killed_by", "status"), [("a test", 0), ("", 1), (None, 2)])
def test_the_exit_status(
    mutation: Mutation, monkeypatch: pytest.MonkeyPatch, killed_by: str | None, status: int
) -> None:
    """It is 0 when enough mutants are killed, 1 when too few are, and 2 when the tests fail without a mutant."""

    def killers(drawn: list[Mutation], workers: int, *, narrow: bool) -> dict[Mutation, str]:
        if killed_by is None:
            raise BrokenTests
        return dict.fromkeys(drawn, killed_by)

    judged = paths.ROOT / "judged.toml"
    judged.write_text("")
    monkeypatch.setattr(mutants, "JUDGED", judged)
    monkeypatch.setattr(mutants, "measure", lambda: None)
    monkeypatch.setattr(mutants, "killers", killers)
    monkeypatch.setattr(sys, "argv", ["mutants"])
    assert mutants.main() == status


JUDGED = """
[[judged]]
file = "a.py"
inside = ""
line = "j = not k"
becomes = "j = k"
why = "Nobody reads it."
"""


class TestJudgements:
    def test_one_is_known_by_its_lines(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A judged mutant is listed with the reason and does not count; a survivor is listed with its lines."""
        judged = judgements(JUDGED)
        found = find("a.py", b"# a comment\n" + SOURCE)
        lives = next(mutation for mutation in found if mutation.kind == "string")
        killed_by = {mutation: "" if mutation == lives else "a test" for mutation in found if mutation.kind != "not"}
        assert report(found, killed_by, judged) == pytest.approx((len(found) - 2) / (len(found) - 1))
        printed = capsys.readouterr().out
        assert "judged: a.py:4 (module) not\n    - j = not k\n    + j = k\n    Nobody reads it.\n" in printed
        assert "survived: a.py:3 (module) string\n    - i = 'text'\n    + i = 'text' \"~\"\n" in printed

    def test_one_of_no_mutation_is_stale(self) -> None:
        """A judgement whose line is gone is reported."""
        judged = judgements(JUDGED)
        assert stale(judged, find("a.py", SOURCE)) == []
        assert stale(judged, find("b.py", SOURCE)) == list(judged)
        assert stale(judged, find("a.py", b"j = k\n")) == list(judged)

    def test_the_file_is_well_formed(self) -> None:
        """Every judgement of the project names a module that is mutated, and says why."""
        judged = judgements(mutants.JUDGED.read_text(encoding="utf-8"))
        assert {file for file, *_ in judged} <= set(core())
        assert all(judged.values())
