"""The commands that read: list, show, history and doctor, in each format."""

import io
import json
import os
from datetime import date
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class
from pytest_django import Settings

from sequences import changes, dynamodb, get_next_value, get_next_values, put_next
from sequences.changes.moves import MARGIN
from sequences.ops import overview
from sequences.registry import strategies
from tests.sequences import support

written = partial(support.written, "sequences")
pytestmark = pytest.mark.usefixtures("own_sequences", "patience")

ATOMIC = "sequences.strategies.atomic.AtomicCounter"
SORT_KEY = "sequences.strategies.sort_key.SortKeyMaximum"
SEQUENCES: dict[str, Any] = {
    "orders": {"STRATEGY": ATOMIC, "START": 1001, "MAXIMUM": 2000},
    "letters": {"STRATEGY": SORT_KEY, "OPTIONS": {"scopes": None}},
    "yearly": {"STRATEGY": ATOMIC, "PERIOD": "year"},
}
NAMES = [
    *("sequence", "scope", "period", "strategy", "last_value", "last_at", "hour", "day", "month", "approximate"),
    *("share_used", "ends_on", "cost_of_thousand", "cost_of_thousand_with_tokens", "last_audit", "audit_verdict"),
    *("frozen", "note", "name"),
]


def rows(*arguments: str) -> list[dict[str, Any]]:
    """What a command tells as JSON."""
    told: list[dict[str, Any]] = json.loads(written(*arguments, "--format", "json"))
    return told


def lines(*arguments: str) -> list[dict[str, str]]:
    """What a command tells in lines with tabs, by the names of the columns."""
    return [dict(zip(NAMES, line.split("\t"), strict=True)) for line in written(*arguments).splitlines()]


@pytest.mark.parametrize("name", [["list"], ["show", "orders"], ["series", "orders"], ["log"]])
def test_options_of_django(name: list[str]) -> None:
    """They stand before the name of a command or after it; what is not given there takes nothing back."""
    given = ["--settings=shop.settings", "--pythonpath=.", "--traceback", "-v", "2", "--no-color", "--skip-checks"]
    command = load_command_class("sequences", "sequences")
    parser = command.create_parser("manage.py", "sequences")
    before, after = (vars(parser.parse_args(arguments)) for arguments in ([*given, *name], [*name, *given]))
    assert before == after
    assert (before["settings"], before["traceback"], before["verbosity"]) == ("shop.settings", True, 2)
    assert parser.parse_args(name).skip_checks is False
    assert parser.parse_args(["engine"]).skip_checks is True


def test_a_default_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The help of `recover` says how many numbers it leaves out where nobody says it."""
    parser = load_command_class("sequences", "sequences").create_parser("manage.py", "sequences")
    with pytest.raises(SystemExit):
        parser.parse_args(["recover", "--help"])
    assert f"how many numbers to leave out beyond it ({MARGIN})" in " ".join(capsys.readouterr().out.split())


def test_a_reader_that_has_read_enough() -> None:
    """A command whose output goes to `head` ends without a trace, as other programs do."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", buffering=1) as output, pytest.raises(SystemExit) as ended:
        call_command("sequences", "list", stdout=output)
    assert ended.value.code == 141


class TestList:
    def test_the_first_scopes_of_every_sequence(self) -> None:
        """Each sequence has its first scopes with their figures; a note says that there are more, or why not."""
        get_next_values(100, "orders")
        for scope in "ABCDE":
            get_next_value("orders", scope=scope)
        found = rows("list")
        assert [(row["sequence"], row["scope"], row["last_value"]) for row in found] == [
            *[("orders", scope, value) for scope, value in (("#", 1100), *((scope, 1001) for scope in "ABCD"))],
            *[("letters", None, None), ("yearly", None, None)],
        ]
        assert all([*row] == NAMES for row in found)
        assert found[0]["share_used"] == 0.1
        assert found[0]["hour"] == found[0]["day"] == found[0]["month"] == 100
        assert found[0]["cost_of_thousand"] == 0.00125
        assert found[0]["cost_of_thousand_with_tokens"] == pytest.approx(0.00325)  # 5 write units, and 1 read unit
        assert found[0]["ends_on"] is not None
        assert found[0]["note"] == "there are more scopes"
        assert found[0]["audit_verdict"] is None
        assert "keeps no list of its scopes" in found[5]["note"]

    def test_the_formats_say_the_same(self) -> None:
        """Lines of JSON, and lines with tabs, have what the list of JSON has; what is not known is empty."""
        get_next_value("orders", scope="A")
        found = rows("list")
        assert [json.loads(line) for line in written("list", "--format", "jsonl").splitlines()] == found
        for plain, row in zip(lines("list"), found, strict=True):
            assert plain == {name: "" if value is None else str(value) for name, value in row.items()}

    def test_a_table_at_a_terminal(self) -> None:
        """At a terminal it is a table with headings, without empty columns."""
        get_next_value("orders", scope="A")

        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        output = Terminal()
        call_command("sequences", "show", "orders", stdout=output)
        headings, row, about = output.getvalue().splitlines()
        assert headings.split()[:4] == ["sequence", "scope", "last", "value"]
        assert "frozen" not in headings
        assert row.split()[:3] == ["orders", "A", "1001"]
        assert about == "how the scopes of a sequence stand"

    def test_a_counter_that_is_no_number(self) -> None:
        """What somebody has stored as a text is a row like the others."""
        get_next_value("orders", scope="A")
        support.set_counter("orders", "A", last_value="many")
        assert [row["last_value"] for row in rows("list")] == ["many", None, None]

    def test_what_cannot_be_read_is_an_exit_code(self, settings: Settings) -> None:
        """A wrong sequence does not hide the others; the command ends with its reason."""
        get_next_value("orders", scope="A")
        settings.SEQUENCES = {"wrong": {"STRATEGY": "no.such"}, "orders": SEQUENCES["orders"]}
        output = io.StringIO()
        with pytest.raises(CommandError, match=r"wrong: SEQUENCES\['wrong'\]"):
            call_command("sequences", "list", "--format", "json", stdout=output)
        assert [row["sequence"] for row in json.loads(output.getvalue())] == ["wrong", "orders"]

    def test_an_engine_that_is_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The command says what does not answer, once for all sequences."""
        monkeypatch.setattr(overview, "SECONDS_A_SEQUENCE", 1.0)
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        dynamodb.reset()
        dynamodb.shared_client()  # to make it may take longer than the command has
        with pytest.raises(CommandError, match=r"Is an engine running at .* letters: Not asked, as for orders\."):
            written("list")


class TestShow:
    def test_the_last_audit(self) -> None:
        """A row has the verdict of the last audit of its sequence that was kept, and when that was."""
        put_next("letters", {}, scope="A")
        written("audit", "letters", "--scope", "A", "--keep")
        put_next("orders", {}, scope="A")
        written("audit", "orders", "--keep")
        verdict = "everything is explained"
        for command in (["list"], ["show", "orders"], ["show", "letters", "--scope", "A"]):
            found = [row for row in rows(*command) if row["sequence"] != "yearly"]
            assert {row["audit_verdict"] for row in found} == {verdict}
            assert all(row["last_audit"] for row in found)

    def test_every_scope(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It shows every scope, however many pages they take."""
        monkeypatch.setattr("sequences.management.standing.SCOPES_A_PAGE", 2)
        for scope in ("A", "B", "C D", "E", "F"):
            get_next_value("orders", scope=scope)
        assert [row["scope"] for row in rows("show", "orders")] == ["A", "B", "C D", "E", "F"]
        assert [row["scope"] for row in lines("show", "orders")] == ["A", "B", "C D", "E", "F"]

    def test_one_scope(self) -> None:
        """It shows one scope, also of a sequence that cannot list them, and one without a name."""
        put_next("letters", {}, scope="A")
        get_next_value("orders")
        (row,) = rows("show", "letters", "--scope", "A")
        assert (row["scope"], row["last_value"], row["hour"]) == ("A", 1, None)
        assert [row["last_value"] for row in rows("show", "orders", "--scope", "#")] == [1001]
        assert [row["last_value"] for row in rows("show", "orders", "--scope", "new")] == [None]

    def test_a_prefix(self) -> None:
        """It shows the scopes that begin so, of all periods or of one."""
        for scope, year in (("A1", 2001), ("A2", 2002), ("B", 2001)):
            get_next_value("yearly", scope=scope, date=date(year, 7, 1))
        shown = [(row["scope"], row["period"]) for row in rows("show", "yearly", "--prefix", "A")]
        assert shown == [("A1", "2001"), ("A2", "2002")]
        assert [row["scope"] for row in rows("show", "yearly", "--prefix", "A", "--period", "2002")] == ["A2"]

    def test_a_period(self) -> None:
        """A period is named; with a scope the default is that of today."""
        get_next_value("yearly", scope="A")
        year = strategies["yearly"].naming.period.name(strategies["yearly"].naming.period.date_of(None, dynamodb.now()))
        assert [row["period"] for row in rows("show", "yearly", "--scope", "A")] == [year]
        assert rows("show", "yearly", "--period", "2001") == []
        assert [row["last_value"] for row in rows("show", "yearly", "--scope", "A", "--period", "2001")] == [None]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["nothing"], "There is no sequence 'nothing'"),
            (["letters"], "keeps no list of its scopes"),
            (["orders", "--scope", "#a"], "reserved"),
            (["orders", "--period", "2026"], "2026"),
            (["yearly", "--scope", "A", "--period", "x"], "The period is 'x'"),
        ],
    )
    def test_what_is_wrong_is_named(self, arguments: list[str], said: str) -> None:
        """An unknown sequence, scope or period says what to do."""
        with pytest.raises(CommandError, match=said):
            written("show", *arguments)


class TestHistory:
    def test_a_line_of_json_for_each_change(self) -> None:
        """Each change is a line, the newest first, with tabs or as JSON."""
        changes.advance("orders", to=1500, by="ana", reason="a test")
        changes.freeze("orders", by="ana", reason="another")
        told = [json.loads(line) for line in written("history", "orders", "--format", "jsonl").splitlines()]
        assert sorted(change["kind"] for change in told) == ["advance", "freeze"]
        plain = sorted(line.split("\t")[1:] for line in written("history", "orders").splitlines())
        assert plain[0] == ["advance", "orders", "#", "", "", "1500", "ana", "a test"]


class TestDoctor:
    def test_findings(self) -> None:
        """Each finding has its subject, verdict, reason and remedy; nothing unsound ends well."""
        found = rows("doctor")
        assert [*found[0]] == ["subject", "about", "verdict", "found", "reason", "remedy"]
        assert {row["verdict"] for row in found} >= {"good", "careful"}

    def test_unsound_tables_are_an_exit_code(self, settings: Settings) -> None:
        """A table that is missing ends the command with 1, after the findings."""
        settings.SEQUENCES = {"elsewhere": {"STRATEGY": ATOMIC, "TABLE": "elsewhere"}}
        with pytest.raises(CommandError, match=r"^Unsound: 1\.$"):
            written("doctor")
