"""The command `compare_strategies`: clean output, clear errors, and no cost without consent."""

import json
import re
import sys
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from project.lab import charts, command, records, report
from project.lab.comparison import KEYS
from project.lab.plan import OURS, STRATEGIES, Plan, Prices

ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def rows_of(plan: Plan) -> list[dict[str, Any]]:
    """Rows like those of a comparison, with different figures."""
    return [
        dict.fromkeys(KEYS, 0)
        | {"strategy": strategy, "writers": writers, "processes": 1, "count": plan.count, "gaps": index % 3}
        | {
            "per_second": 10.0 + index,
            "p50_ms": 1.0 + index,
            "p99_ms": 2.0 + index,
            "written_twice": index % 2,
        }
        | {name: 0.5 + index for name in KEYS if name.endswith("_per_number")}
        for index, (writers, strategy) in enumerate(plan.cases())
    ]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that the command would run. Nothing is really compared."""
    plans: list[Plan] = []

    def compare(plan: Plan, *, progress: Any) -> list[dict[str, Any]]:
        plans.append(plan)
        return rows_of(plan)

    monkeypatch.setattr(command, "compare", compare)
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
    return plans


@pytest.fixture
def no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without an engine's address."""
    monkeypatch.delenv(ENDPOINT, raising=False)


def run(*arguments: str) -> str:
    """Run the command, and return its standard output."""
    out = StringIO()
    call_command("compare_strategies", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_json_on_an_engine_of_its_own(engine: object, no_endpoint: None) -> None:
    """Without an endpoint the command starts an engine, and its standard output is JSON and nothing else."""
    rows = json.loads(
        run(
            "--format",
            "json",
            "--writers",
            "2",
            "--processes",
            "1",
            "--count",
            "6",
            "--strategies",
            "AtomicCounter",
        )
    )
    assert [tuple(row) for row in rows] == [KEYS]
    assert (rows[0]["count"], rows[0]["errors"]) == (6, 0)


def test_unknown_strategy() -> None:
    """An unknown strategy is refused with the names there are."""
    with pytest.raises(CommandError, match=r"unknown Magic\. Known are: published-atomic"):
        run("--strategies", "Magic")


@pytest.mark.parametrize("writers", ["many", "1,", "1.5"])
def test_bad_number(writers: str) -> None:
    """A text that is not a number is refused by name."""
    with pytest.raises(CommandError, match=f"--writers: '{writers}' is not a whole number"):
        run("--writers", writers)


def test_defaults(ran: list[Plan]) -> None:
    """By default eight writers run everything, a page shows 1, 8 and 32, and values come only from those that can."""
    run()
    run("--format", "html")
    run("--values-only")
    assert [tuple(plan.writers) for plan in ran] == [(8,), (1, 8, 32), (8,)]
    assert tuple(ran[0].strategies) == STRATEGIES
    assert "SortKeyMaximum" not in ran[2].strategies


def test_markdown(ran: list[Plan]) -> None:
    """The Markdown table has a row for each strategy, a heading and a rule, all of the same width."""
    lines = run("--format", "markdown").splitlines()
    assert len(lines) == len(STRATEGIES) + 2
    assert len({line.count("|") for line in lines}) == 1


def test_table(ran: list[Plan]) -> None:
    """The table for the terminal names every strategy whole."""
    text = run("--format", "table")
    assert all(strategy in text for strategy in STRATEGIES)


def test_a_fault_is_red_at_a_terminal(ran: list[Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal with colours shows our strategies in bold, and faults of theirs in red, too."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    rows = [{**row, "strategy": "AtomicCounter", "gaps": 12} for row in rows_of(Plan())[:1]]
    with redirect_stdout(Terminal()):
        assert re.search("\033\\[1;31m *12", report.table(rows, Prices()))


def test_page_is_self_contained(ran: list[Plan], tmp_path: Path) -> None:
    """The page draws every strategy in four plots, and fetches nothing from anywhere."""
    file = tmp_path / "page.html"
    assert run("--format", "html", "--output", str(file)) == ""
    page = file.read_text()
    assert page.count("<svg") == 4
    assert all(page.count(f">{strategy}<") >= 4 for strategy in STRATEGIES)
    assert not re.search(r"<(script|link|img|iframe)|\b(src|href)=|url\(|@import", page)


def test_page_describes(ran: list[Plan]) -> None:
    """The page says what each of our strategies promises and does, with its figures."""
    page = run("--format", "html")
    assert re.search(r"Gapless, .*\n.*<strong>SortKeyMaximum\.</strong> Find the highest sort key.*numbers/s", page)
    assert page.count("<dt>") == len(OURS)


def test_page_colours(ran: list[Plan]) -> None:
    """Each of our strategies has a colour of its own."""
    page = run("--format", "html")
    colours = dict(re.findall(r"^\.(ours-\d+) { color: (.*); }$", page, re.MULTILINE))
    assert len(set(colours.values())) == len(OURS)
    assert set(re.findall(r'class="mark (ours-\d+)"', page)) == set(colours)


def test_unwritable_output(ran: list[Plan], tmp_path: Path) -> None:
    """If the result cannot be written to its file, the error contains it."""
    with pytest.raises(CommandError, match=r"--output .* cannot be written.*\n\| strategy"):
        run("--format", "markdown", "--output", str(tmp_path / "missing" / "file"))


def test_aws_asks_first(ran: list[Plan], no_endpoint: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """On AWS nothing is done before somebody has seen the cost and agreed."""
    monkeypatch.setattr("builtins.input", lambda: "n")
    with pytest.raises(CommandError, match="Nothing was done"):
        run("--aws")
    monkeypatch.setattr("builtins.input", lambda: "y")
    run("--aws", "--format", "json")
    run("--aws", "--yes", "--format", "json")
    assert len(ran) == 2


@pytest.mark.parametrize("arguments", [["--aws"], ["--aws", "--faults", "0.1"]])
def test_aws_excludes(arguments: list[str], ran: list[Plan]) -> None:
    """--aws is refused together with another endpoint, and together with lost answers."""
    with pytest.raises(CommandError, match=r"exclude each other|leave one out"):
        run(*arguments)
    assert ran == []


def test_labels_do_not_overlap() -> None:
    """The names at the ends of the lines keep their distance, however close the lines are."""
    plan = Plan(writers=(1, 8))
    series = charts.lines(rows_of(plan), lambda row: 1.0, unit="numbers/s")["series"]
    heights = sorted(line["label_y"] for line in series)
    assert all(after - before >= charts.LABEL_GAP for before, after in pairwise(heights))
    assert len(series) == len(STRATEGIES)


def test_page_marks_faults() -> None:
    """A duplicate, gap, copy or error is marked on the page, and a 0 is not."""
    rows = rows_of(Plan(strategies=["AtomicCounter", "SortKeyMaximum", "BlockAllocator"]))
    page = report.html(rows, Prices(), command="")
    marked = re.findall(r'<td class="fault">(\d+)</td>', page)
    faults = [row[name] for row in rows for name in ("duplicates", "gaps", "written_twice", "errors")]
    assert marked == [str(count) for count in faults if count]


def test_a_run_is_kept_by_its_title(ran: list[Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    """`--record` keeps the rows with the command that repeats the run, made on an engine of its own."""
    kept: list[tuple[Any, ...]] = []
    engines: list[bool] = []

    def engine(*, aws: bool, own: bool) -> Any:
        engines.append(own)
        return nullcontext()

    monkeypatch.setattr(command, "chosen_engine", engine)
    monkeypatch.setattr(records, "keep_comparison", lambda *record: kept.append(record))
    typed = ["--writers", "2", "--record", "A title", "--strategies", "AtomicCounter"]
    monkeypatch.setattr(sys, "argv", ["manage.py", "compare_strategies", *typed])
    run(*typed)
    repeat = "manage.py compare_strategies --writers 2 --strategies AtomicCounter"
    assert kept == [("A title", repeat, rows_of(ran[0]))]
    assert engines == [True]


def test_a_run_on_aws_is_not_kept(ran: list[Plan], no_endpoint: None) -> None:
    """Nobody else could repeat it."""
    with pytest.raises(CommandError, match="leave --aws or --record out"):
        run("--aws", "--yes", "--record", "A title")
    assert ran == []
