"""The doctor's look at scopes and audits: what needs a hand, its remedy, what it costs, and how the command ends."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from django.core.management import CommandError, call_command
from pytest_django import Settings

from sequences import changes, dynamodb, get_next_value, get_next_values, put_next
from sequences.commit import host_memory
from sequences.ops import doctor
from sequences.ops.audit.results import AuditResult
from sequences.ops.doctor import Verdict, diagnose
from sequences.ops.doctor.findings import Hand
from sequences.ops.doctor.scopes import EXAMINED_SCOPES, _summary, needs_a_hand, of_audits
from sequences.ops.overview import figures_of
from sequences.registry import strategies
from sequences.types import Dated, Scope
from tests.sequences.support import delete_row, handled, set_counter, tapped

PATH = "sequences.strategies"
NOW = datetime(2026, 11, 25, tzinfo=UTC)
pytestmark = pytest.mark.usefixtures("patience", "steady_date")

SEQUENCES: dict[str, Any] = {
    "orders": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "MAXIMUM": 1000},
    "letters": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", "TABLE": "letters"},
    "yearly": {"STRATEGY": f"{PATH}.transactional.TransactionalCounter", "PERIOD": "year"},
}
CAREFUL, GOOD, UNKNOWN, UNSOUND = Verdict.CAREFUL, Verdict.GOOD, Verdict.UNKNOWN, Verdict.UNSOUND


def told(*arguments: str) -> tuple[dict[tuple[str, str], Mapping[str, Any]], str]:
    """The findings of the command by subject and what they are about, and the words of its exit with 1."""
    output, problem = io.StringIO(), ""
    try:
        call_command("sequences", "doctor", *arguments, "--format", "json", stdout=output)
    except CommandError as error:
        problem = str(error)
    return {(row["subject"], row["about"]): row for row in json.loads(output.getvalue())}, problem


def run(remedy: str) -> None:
    """Run the command that a remedy names."""
    command = remedy.split("`")[1].removeprefix("manage.py ").replace(" ...", " 'as the doctor says'")
    call_command(*shlex.split(command), "--by", "ann", stdout=io.StringIO())


@pytest.mark.usefixtures("own_sequences")
class TestCommand:
    def test_nothing_needs_a_hand(self) -> None:
        """Each sequence has one line about its scopes; that ends well."""
        put_next("letters", {}, scope="A")
        found, problem = told()
        about = {subject: row["found"] for (subject, about), row in found.items() if about == "scopes"}
        assert about == {
            "sequence orders": "0 looked at",
            "sequence letters": "1 looked at",
            "sequence yearly": "0 looked at",
        }
        assert problem == ""
        assert not [row for (_, about), row in found.items() if about.startswith("scope ")]

    @pytest.mark.parametrize("scope", [None, "A"])
    def test_a_counter_that_was_set_back(self, scope: str | None) -> None:
        """It is unsound, with what was handed out; the remedy mends it."""
        get_next_values(6, "orders", scope=scope)
        set_counter("orders", scope, last_value=2)
        found, problem = told()
        row = found["sequence orders", f"scope {scope!r}"]
        assert (row["verdict"], row["found"]) == ("unsound", "it stands at 2, but 6 was handed out")
        assert problem == "Unsound: 1."
        run(row["remedy"])
        assert told()[1] == ""
        assert get_next_value("orders", scope=scope) > 6

    def test_a_counter_that_is_behind_its_items(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A counter that lacks what its items have is found by a process that remembers nothing, as a writer does."""
        monkeypatch.setattr(host_memory, "SUPPORTED", False)
        for _ in range(3):
            put_next("yearly", {}, scope="A")
        ((counter,), _) = strategies["yearly"].scopes.page(None, 1)
        set_counter("yearly", counter.counted_in, last_value=1, highest=1)
        strategies["yearly"].forget()
        row = told()[0]["sequence yearly", f"scope 'A' of {counter.period}"]
        assert (row["verdict"], row["found"]) == ("unsound", "it stands at 1, but 3 was handed out")
        run(row["remedy"])
        assert put_next("yearly", {}, scope="A").value > 3

    def test_items_that_were_set_back(self, settings: Settings) -> None:
        """Without a counter it is known from what the processes of this host have given."""
        for _ in range(3):
            put_next("letters", {}, scope="A")
        delete_row("letters", "A", 3)
        settings.SEQUENCES = {**SEQUENCES}  # as a process that begins now
        row = told()[0]["sequence letters", "scope 'A'"]
        assert (row["verdict"], row["found"]) == ("unsound", "it stands at 2, but 3 was handed out")

    @pytest.mark.parametrize("name", ["orders", "letters"])
    def test_a_frozen_scope(self, name: str) -> None:
        """It says by whom and why, and how to go on."""
        put_next(name, {}, scope="A")
        changes.freeze(name, scope="A", by="ann", reason="a test")
        found, problem = told()
        row = found[f"sequence {name}", "scope 'A'"]
        assert row["verdict"] == "careful"
        assert re.fullmatch(r"frozen by ann since [-+:\dT]+: a test", row["found"])
        assert problem == ""
        run(row["remedy"])
        assert put_next(name, {}, scope="A").value in (2, 3)

    @pytest.mark.parametrize(
        ("hours", "said"),
        [
            (23, "Every write is refused until it is thawed."),
            (9 * 24 + 1, "Every write is refused until it is thawed. It is so for 9 days already."),
            (None, "Every write is refused until it is thawed."),
        ],
    )
    def test_a_freeze_that_may_be_forgotten(self, hours: int | None, said: str) -> None:
        """It says for how long already, if that is known."""
        get_next_value("orders", scope="A")
        frozen = {"by": "ann", "reason": "a test"}
        if hours:
            frozen["at"] = (datetime.now(UTC) - timedelta(hours=hours)).isoformat()
        set_counter("orders", "A", frozen=frozen)
        row = told()[0]["sequence orders", "scope 'A'"]
        assert (row["verdict"], row["reason"]) == ("careful", said)

    def test_scopes_that_nobody_lists(self, settings: Settings) -> None:
        """It says why, and that is no failure."""
        settings.SEQUENCES = {"letters": {**SEQUENCES["letters"], "OPTIONS": {"scopes": None}}}
        found, problem = told()
        row = found["sequence letters", "scopes"]
        assert (row["verdict"], row["found"], problem) == ("good", "none is listed", "")
        assert "letters" in row["reason"]

    @pytest.mark.parametrize(("count", "verdict"), [(899, ""), (900, "careful"), (1000, "unsound")])
    def test_values_that_are_nearly_used_up(self, count: int, verdict: str) -> None:
        """From 90 % on it is careful, with the day of the last value; a sequence that has none left is unsound."""
        get_next_values(count, "orders")
        found, problem = told()
        row = found.get(("sequence orders", "scope None"), {"verdict": ""})
        assert row["verdict"] == verdict
        assert bool(problem) == (verdict == "unsound")
        if verdict:
            ends = "; all of them on 20" if verdict == "careful" else ""
            assert row["found"].startswith(f"{count // 10} % of its values are used{ends}")

    def test_a_last_value_below_the_maximum(self, settings: Settings) -> None:
        """Where no further STEP fits, every value is used."""
        settings.SEQUENCES = {"orders": {**SEQUENCES["orders"], "STEP": 600}}
        get_next_value("orders")
        assert "sequence orders scope None" not in map(" ".join, told()[0])
        get_next_value("orders")
        row = told()[0]["sequence orders", "scope None"]
        assert (row["verdict"], row["found"][:6]) == ("unsound", "100 % ")

    def test_audits(self) -> None:
        """A sequence that has numbers and was never audited is careful, until an audit is kept."""
        put_next("letters", {}, scope="A")
        found, _ = told()
        row = found["sequence letters", "audits"]
        assert (row["verdict"], row["found"]) == ("careful", "none was kept")
        assert ("sequence yearly", "audits") not in found  # it has no number yet
        run(row["remedy"])
        row = told()[0]["sequence letters", "audits"]
        assert (row["verdict"], row["found"]) == ("good", "the last one was 0 days ago: everything is explained")

    def test_it_is_bounded(self) -> None:
        """It looks at so many scopes as it is asked to, says that there are more, and scans nothing."""
        for scope in "ABCDE":
            put_next("letters", {}, scope=scope)
        strategies.forget()
        with tapped() as wire:
            before = len(wire.sent)
            diagnose()
            without = len(wire.sent) - before
            diagnose(most_scopes=2)
        row = told("--scopes", "2")[0]["sequence letters", "scopes"]
        assert row["found"] == "2 looked at, the first of more"
        assert "--scopes 20" in row["remedy"]
        assert {one.operation for one in wire.sent[before + without :]} & {"Scan"} == set()
        assert len(wire.sent) - before - 2 * without <= 3 * 2 + 2 * 3

    def test_without_scopes(self) -> None:
        """It may be asked for the tables alone."""
        put_next("letters", {}, scope="A")
        assert not [about for _, about in told("--scopes", "0")[0] if about in ("scopes", "audits")]


@pytest.mark.usefixtures("own_sequences")
class TestUnread:
    def test_an_engine_that_is_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing could be read: the command ends with 1, and says why once."""
        monkeypatch.setattr(doctor, "PATIENCE_SECONDS", 0.1)
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        dynamodb.reset()
        found, problem = told()
        assert {row["verdict"] for row in found.values()} == {"unknown"}
        assert problem.startswith("Not read: ")
        assert problem.count("Not read: ") == 1

    def test_a_role_that_may_do_nothing(self) -> None:
        """With 403 on everything it ends with 1, and names the permission."""
        with handled({"before-call.dynamodb": _denied}):
            found, problem = told()
        assert "Allow dynamodb:DescribeTable in the policy of this role." in problem
        assert not [row for row in found.values() if row["verdict"] == "good"]

    def test_a_role_that_may_not_query(self) -> None:
        """Where the scopes alone cannot be read, it ends with 1, too."""
        with handled({"before-call.dynamodb.Query": _denied}):
            problem = told()[1]
        assert problem.startswith("Unsound")  # it may not give numbers either
        assert "Not read: scopes of sequence orders." in problem

    def test_what_no_application_needs(self) -> None:
        """Quotas that the role may not ask for are unknown, and no reason to end with 1."""
        with handled({"before-call.dynamodb.DescribeLimits": _denied}):
            found, problem = told()
        assert found["client default", "limits"]["verdict"] == "unknown"
        assert problem == ""


@pytest.mark.usefixtures("own_sequences")
class TestHands:
    """What the administration says of the scopes whose figures it has read."""

    def test_the_page_that_helps(self) -> None:
        """Each finding leads to the page where a person does what helps; what is well has none."""
        for scope, count in (("back", 6), ("end", 1000), ("near", 900), ("cold", 1), ("well", 1)):
            get_next_values(count, "orders", scope=scope)
        set_counter("orders", "back", last_value=2)
        changes.freeze("orders", scope="cold", by="ann", reason="a test")
        found = needs_a_hand(figures_of("orders", None, 100))
        assert {one.about: (one.verdict, one.hand) for one in found} == {
            "scope 'back'": (UNSOUND, Hand("recover", "orders", "back")),
            "scope 'end'": (UNSOUND, Hand("scope", "orders", "end")),
            "scope 'near'": (CAREFUL, Hand("scope", "orders", "near")),
            "scope 'cold'": (CAREFUL, Hand("thaw", "orders", "cold")),
            "audits": (CAREFUL, Hand("audit", "orders", "end")),
        }
        assert len(found) == 5

    def test_the_frozen_and_the_nearly_used_up_come_first(self) -> None:
        """Of many scopes some are examined: first those that were read as frozen or nearly used up."""
        for number in range(EXAMINED_SCOPES + 2):
            get_next_values(10 + (number == 0), "orders", scope=f"{number:02d}")
        set_counter("orders", "00", last_value=5)  # it is not examined
        changes.freeze("orders", scope="07", by="ann", reason="a test")
        get_next_values(900, "orders", scope="08")
        figures = figures_of("orders", None, 100)
        read = sorted(figures.read, key=lambda one: str(one.scope), reverse=True)
        found = needs_a_hand(replace(figures, read=read))
        assert {one.about for one in found} == {"scope '07'", "scope '08'", "audits"}

    def test_what_could_not_be_read(self) -> None:
        """Nothing is said of a sequence that cannot be used, or whose scopes could not be read."""
        get_next_values(1000, "orders")
        figures = figures_of("orders", None, 100)
        assert needs_a_hand(replace(figures, trouble="It is away.")) == []
        assert needs_a_hand(replace(figures, strategy=None)) == []


def _denied(**_: object) -> tuple[AWSResponse, Mapping[str, Any]]:
    said = {"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}
    return AWSResponse("", 400, {}, None), {**said, "ResponseMetadata": {"HTTPStatusCode": 400}}  # type: ignore[arg-type]


def audited(days: int, unexplained: int = 0, scope: str | None = None, period: str = "") -> AuditResult:
    """The result of an audit so many days ago, of every scope or of one, in all periods or in one."""
    return AuditResult(
        sequence="letters",
        scope=scope,
        period=period,
        by="ann",
        at=NOW - timedelta(days=days),
        seconds=1.0,
        stored=1,
        missing=0,
        gaps=0,
        voids=0,
        unexplained=unexplained,
        every_scope=scope is None,
    )


class TestJudging:
    @pytest.mark.parametrize(
        ("audits", "verdict", "found"),
        [
            ([audited(29)], GOOD, "the last one was 29 days ago: everything is explained"),
            ([audited(30)], CAREFUL, "the last one was 30 days ago: everything is explained"),
            ([audited(1), audited(2, 3, "A")], GOOD, "the last one was 1 days ago: everything is explained"),
            (
                [audited(1, scope="B"), audited(2, 3, "A")],
                CAREFUL,
                "the one of the scope 'A' on 2026-11-23: 3 findings",
            ),
            ([], CAREFUL, "none was kept"),
            ([audited(1, period="2026"), audited(2, 3, "A", "2026")], GOOD, "the last one was 1 days ago: everything"),
            (
                [audited(1, period="2026"), audited(2, 3, "A", "2025")],
                CAREFUL,
                "the one of the scope 'A' on 2026-11-23",
            ),
            ([audited(2), audited(2, 3, "A")], CAREFUL, "the one of the scope 'A' on 2026-11-23: 3 findings"),
            ([audited(1, 1)], CAREFUL, "the one of every scope on 2026-11-24: 1 finding is unexplained"),
        ],
    )
    def test_audits(self, audits: list[AuditResult], verdict: Verdict, found: str) -> None:
        """One that is old, or found what nothing explains since, needs a hand; a later one of every scope counts."""
        finding = of_audits("letters", NOW.timestamp(), audits, [])
        assert finding.verdict is verdict
        assert finding.found.startswith(found)
        assert bool(finding.remedy) == (verdict is CAREFUL)

    @pytest.mark.parametrize(
        ("audits", "counted", "scope"),
        [
            ([], ["A", "B"], "A"),
            ([audited(1, 1)], ["B"], "B"),
            ([audited(1, 1, "A", "2026")], ["B"], Dated.of("A", "2026")),
        ],
    )
    def test_where_to_begin_an_audit(self, audits: list[AuditResult], counted: list[str], scope: Scope) -> None:
        """In the scope where something was found, or else in the first one that has counted."""
        finding = of_audits("letters", NOW.timestamp(), audits, counted)
        assert (finding.subject, finding.about) == ("sequence letters", "audits")
        assert finding.hand == Hand("audit", "letters", scope)

    @pytest.mark.parametrize(
        ("audits", "found"),
        [
            ([audited(1)], "the last one was 1 days ago"),
            ([audited(1, scope="B"), audited(2, scope="A", period="2026")], "the last one was 1 days ago"),
            ([audited(1, scope="B")], "none for 30 days of the scope 'A'"),
            ([audited(1, scope="B"), audited(40)], "none for 30 days of the scope 'A'"),
            ([audited(1, period="2025")], "none for 30 days of the scope 'B'"),
        ],
    )
    def test_a_scope_without_an_audit(self, audits: list[AuditResult], found: str) -> None:
        """All is well only where each scope that was looked at has an audit of its period, or is in one of all."""
        scope = Dated.of("A", "2026")
        finding = of_audits("letters", NOW.timestamp(), audits, [Dated.of("B", "2026"), scope])
        assert finding.found.startswith(found)
        assert finding.verdict is (GOOD if found.startswith("the") else CAREFUL)
        assert finding.verdict is GOOD or (finding.hand and finding.hand.scope in (scope, Dated.of("B", "2026")))

    def test_nowhere_to_begin_an_audit(self) -> None:
        """Where no scope is known, no page helps."""
        assert of_audits("letters", NOW.timestamp(), [audited(1, 1)], []).hand is None

    @pytest.mark.parametrize(
        ("count", "more", "found", "remedy"),
        [
            (3, False, "3 looked at", ""),
            (3, True, "3 looked at, the first of more", "--scopes 30` looks at more"),
            (0, True, "0 looked at, the first of more", "--scopes 10` looks at more"),
        ],
    )
    def test_how_many_were_looked_at(self, count: int, more: bool, found: str, remedy: str) -> None:
        """If there are more, ten times as many can be looked at."""
        finding = _summary(strategies["tickets"], count, more=more)
        assert (finding.found, finding.verdict, remedy in finding.remedy) == (found, GOOD, True)
        assert bool(finding.remedy) == more
