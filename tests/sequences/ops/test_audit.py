"""The audit finds everything that is wrong with a scope, and nothing else."""

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from sequences import dynamodb, get_last_value, get_next_values, put_next, put_next_many, put_next_together
from sequences.commit import retries
from sequences.commit.retries import Deadline
from sequences.exceptions import InvalidItem, SequenceUnavailable
from sequences.ops.audit import AuditReport, Gap, Orphan, Stray, Void, audit, check, findings_in_words, markers
from sequences.ops.audit import report as report_module
from sequences.registry import strategies
from sequences.rows import reading
from sequences.rows.layout import SIGNATURE
from tests.sequences.support import Clock

pytestmark = pytest.mark.usefixtures("own_sequences")

PATH = "sequences.strategies"
SEQUENCES: dict[str, dict[str, Any]] = {
    "sorted": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum"},
    "padded": {
        "STRATEGY": f"{PATH}.sort_key.SortKeyMaximum",
        "TABLE": "padded_items",
        "OPTIONS": {"sort_key": "{value:04d}", "scopes": None},
    },
    "transactional": {"STRATEGY": f"{PATH}.transactional.TransactionalCounter"},
    "tens": {"STRATEGY": f"{PATH}.transactional.TransactionalCounter", "START": 11, "STEP": 10},
    "atomic": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "START": 1001},
}
GAPLESS = ["sorted", "padded", "transactional"]
SCOPE = "ABC"


def fill(alias: str, count: int, *, tokens: bool = False) -> None:
    """Store so many items, with idempotency tokens t1, t2, ... if wanted."""
    for n in range(1, count + 1):
        put_next(alias, {"title": "x"}, scope=SCOPE, idempotency_token=f"t{n}" if tokens else None)


def key(alias: str, sort_key: int | str | Decimal) -> dict[str, Any]:
    """The key of a row among the items of the scope."""
    return dynamodb.marshal({"pk": strategies[alias].layout.partition(SCOPE), "sk": sort_key})


def delete(alias: str, value: int) -> None:
    """Delete an item behind the sequence's back."""
    strategy = strategies[alias]
    request = {
        "TableName": strategy.schema.table,
        "Key": strategy.schema.key(strategy.layout.partition(SCOPE), value),
    }
    dynamodb.call("delete_item", request)


def put(alias: str, sort_key: int | str | Decimal, **attributes: object) -> None:
    """Store a row behind the sequence's back."""
    item = {**key(alias, sort_key), **dynamodb.marshal(attributes)}
    dynamodb.call("put_item", {"TableName": strategies[alias].schema.table, "Item": item})


def remove(table: str, key: Mapping[str, Any], name: str) -> None:
    """Remove an attribute of a row, as if an earlier version had stored it."""
    update = {"UpdateExpression": "REMOVE #name", "ExpressionAttributeNames": {"#name": name}}
    dynamodb.call("update_item", {"TableName": table, "Key": key, **update})


def set_counter(alias: str, last_value: int) -> None:
    """Set the counter of the scope by hand."""
    table = dynamodb.table_name("sequences")
    update = {
        "UpdateExpression": "SET last_value = :value",
        "ExpressionAttributeValues": {":value": {"N": str(last_value)}},
    }
    dynamodb.call("update_item", {"TableName": table, "Key": counter_key(alias), **update})


def counter_key(alias: str) -> dict[str, Any]:
    """The key of the scope's counter."""
    return dynamodb.marshal({"sequence": alias, "scope": SCOPE})


def audited(alias: str) -> AuditReport:
    """The report on the scope."""
    return audit(strategies[alias], SCOPE)


class TestComplete:
    @pytest.mark.parametrize("alias", GAPLESS)
    def test_a_complete_scope_is_proved(self, alias: str) -> None:
        """If every value has a stored item, the report counts them and has nothing unexplained."""
        fill(alias, 5, tokens=True)
        report = audited(alias)
        assert (report.last_value, report.carried, report.missing, report.markers) == (5, 5, 0, 5)
        assert report.unexplained == 0

    def test_start_and_step_are_followed(self) -> None:
        """A sequence by tens from 11 is complete with 11, 21 and 31."""
        fill("tens", 3)
        report = audited("tens")
        assert (report.last_value, report.carried, report.unexplained) == (31, 3, 0)

    @pytest.mark.parametrize("alias", SEQUENCES)
    def test_a_scope_without_values_is_proved(self, alias: str) -> None:
        """A scope that handed out no value has no last value and nothing unexplained."""
        report = audited(alias)
        assert (report.last_value, report.carried, report.unexplained) == (None, 0, 0)

    @pytest.mark.parametrize("alias", ["sorted", "transactional"])
    def test_the_row_of_the_scope_itself_is_no_stray(self, alias: str) -> None:
        """A row at sort key 0, for example a project, is not a stray row of a sequence that starts above."""
        put(alias, 0)
        fill(alias, 2)
        assert audited(alias).unexplained == 0

    def test_what_comes_meanwhile_is_no_stray(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Items stored while the audit reads are neither gaps nor stray rows."""
        monkeypatch.setattr(check, "ROWS_A_PAGE", 2)
        fill("transactional", 3)

        def store_another(done: int, _: int) -> None:
            if done < 8:
                fill("transactional", 1)

        report = audit(strategies["transactional"], SCOPE, progress=store_another)
        assert (report.last_value, report.carried, report.unexplained) == (3, 3, 0)


class TestMissing:
    @pytest.mark.parametrize("alias", GAPLESS)
    def test_a_hole_in_the_middle_is_found(self, alias: str) -> None:
        """Deleted rows in the middle are one gap, given as a range."""
        fill(alias, 6)
        delete(alias, 3)
        delete(alias, 4)
        report = audited(alias)
        assert report.gaps.listed == [Gap(first=3, last=4, count=2)]
        assert (report.missing, report.unexplained) == (2, 1)

    def test_a_hole_between_steps_is_found(self) -> None:
        """A range of missing tens counts tens."""
        fill("tens", 5)
        for value in (21, 31):
            delete("tens", value)
        assert audited("tens").gaps.listed == [Gap(first=21, last=31, count=2)]

    def test_a_missing_tail_is_found_by_the_counter(self) -> None:
        """Deleted rows at the end are a gap up to the counter's last value."""
        fill("transactional", 5)
        delete("transactional", 4)
        delete("transactional", 5)
        report = audited("transactional")
        assert report.gaps.listed == [Gap(first=4, last=5, count=2)]
        assert report.unexplained == 1

    def test_a_missing_tail_is_found_by_its_marker(self) -> None:
        """Without a counter, the marker of a deleted last item shows that it is missing."""
        fill("sorted", 3, tokens=True)
        delete("sorted", 3)
        report = audited("sorted")
        problem = "no item is stored under this value"
        assert report.orphans.listed == [Orphan(token="t3", value=3, problem=problem)]
        assert report.unexplained == 1

    def test_what_cannot_be_seen_is_said(self) -> None:
        """Without a counter and without markers a missing tail cannot be found, and a note says so."""
        fill("sorted", 3)
        delete("sorted", 3)
        report = audited("sorted")
        assert report.unexplained == 0
        assert any("only by their markers" in note for note in report.notes)

    def test_a_ticket_deleted_under_its_marker_is_found(self) -> None:
        """A marker in the middle whose item is gone is found beside the gap."""
        fill("transactional", 3, tokens=True)
        delete("transactional", 2)
        report = audited("transactional")
        assert [orphan.token for orphan in report.orphans.listed] == ["t2"]
        assert report.unexplained == 2

    def test_a_ticket_replaced_under_its_marker_is_found(self) -> None:
        """A marker whose value belongs to another request's item is found."""
        fill("sorted", 2, tokens=True)
        put("sorted", 2, token="somebody else's")
        (orphan,) = audited("sorted").orphans.listed
        assert (orphan.token, orphan.problem) == ("t2", "the item under this value belongs to another request")

    def test_a_gap_of_a_strategy_that_leaves_gaps_is_explained(self) -> None:
        """Values taken and not used are listed, and the note says why they are no fault."""
        get_next_values(3, "atomic", scope=SCOPE)
        fill("atomic", 1)
        report = audited("atomic")
        assert report.gaps.listed == [Gap(first=1001, last=1003, count=3)]
        assert report.unexplained == 0
        assert any("may stay unused" in note for note in report.notes)


class TestOwnKeys:
    """Items that are not stored under their values, but under keys that the callers chose."""

    @pytest.mark.parametrize("alias", ["transactional", "tens"])
    @pytest.mark.parametrize("tokens", [False, True])
    def test_they_are_not_accused(self, alias: str, tokens: bool) -> None:
        """Their values are missing for the audit, and counted for them: a note says how many, and nothing is wrong."""
        fill(alias, 2)
        for number in (7, 8):
            token = f"own {number}" if tokens else None
            put_next(alias, {"pk": "invoice", "sk": number}, scope=SCOPE, idempotency_token=token)
            fill(alias, 1)
        report = audited(alias)
        assert (report.carried, report.missing, report.gaps.total, report.unexplained) == (4, 2, 2, 0)
        assert any("Of 2 missing values 2 have items with keys of their own" in note for note in report.notes)

    def test_of_a_counter_that_may_leave_gaps(self) -> None:
        """With a token they are no markers without items."""
        put_next("atomic", {"pk": "invoice", "sk": 7}, scope=SCOPE, idempotency_token="a token")
        assert audited("atomic").unexplained == 0

    def test_many_with_one_marker(self) -> None:
        """Of items that are stored together each may have its own key or none."""
        items = [{}, {"pk": "invoice", "sk": 7}, {}]
        put_next_together("transactional", items, scope=SCOPE, idempotency_token="a token")
        assert audited("transactional").unexplained == 0
        delete("transactional", 3)
        report = audited("transactional")
        assert [orphan.value for orphan in report.orphans.listed] == [3]
        assert report.unexplained == 2  # and the gap

    def test_a_deleted_item_is_found_beside_them(self) -> None:
        """If more values are missing than were counted for them, the gaps are unexplained."""
        fill("transactional", 2)
        put_next("transactional", {"pk": "invoice", "sk": 7}, scope=SCOPE)
        delete("transactional", 1)
        report = audited("transactional")
        assert (report.gaps.total, report.unexplained) == (2, 2)
        assert any("Of 2 missing values 1 have items with keys of their own" in note for note in report.notes)

    @pytest.mark.parametrize("tokens", [False, True])
    def test_of_an_earlier_version(self, tokens: bool) -> None:
        """What was stored before they were counted is not judged, and a note says so. What comes later is."""
        fill("transactional", 3, tokens=tokens)
        for name in ("own_keys", "own_keys_after"):
            remove(dynamodb.table_name("sequences"), counter_key("transactional"), name)
        for number in range(1, 4) if tokens else ():
            schema = strategies["transactional"].markers.schema
            remove(schema.table, strategies["transactional"].markers.key(SCOPE, f"t{number}"), "items")
        delete("transactional", 2)
        report = audited("transactional")
        assert (report.gaps.total, report.unexplained) == (1, 0)
        assert "Gaps cannot be judged: items with keys of their own were not counted then." in report.notes
        assert tokens == any("1 markers of an earlier version" in note for note in report.notes)
        fill("transactional", 3)
        delete("transactional", 5)
        report = audited("transactional")
        assert (report.gaps.total, report.unexplained) == (2, 1)
        assert any("Gaps up to 3 cannot be judged" in note for note in report.notes)

    def test_where_no_item_can_have_one(self, settings: Settings) -> None:
        """A gap of a sequence whose items cannot have keys of their own is judged."""
        settings.SEQUENCES = {
            **SEQUENCES,
            "transactional": {**SEQUENCES["transactional"], "OPTIONS": {"value_name": "sk"}},
        }
        fill("transactional", 2)
        delete("transactional", 1)
        assert audited("transactional").unexplained == 1

    def test_values_whose_rows_are_elsewhere(self) -> None:
        """Values that a model's rows have in a database of SQL leave no item here, and are not accused."""
        get_next_values(3, "atomic", scope=SCOPE)
        get_next_values(2, "atomic", scope=SCOPE, idempotency_token="a token")
        report = audited("atomic")
        assert (report.last_value, report.missing, report.unexplained) == (1005, 5, 0)


class TestTogether:
    """Items that are stored together, whose one marker has the first value."""

    @pytest.mark.parametrize("alias", GAPLESS)
    @pytest.mark.parametrize("place", [1, 2, 3])
    def test_every_member_is_compared(self, alias: str, place: int) -> None:
        """A row that belongs to another request is found in the place of any of them."""
        put_next_together(alias, [{}, {}, {}], scope=SCOPE, idempotency_token="a token")
        assert audited(alias).unexplained == 0
        put(alias, place if alias != "padded" else f"{place:04}", token="somebody else's")
        (orphan,) = audited(alias).orphans.listed
        assert (orphan.token, orphan.value) == ("a token", place)

    def test_more_than_a_batch(self) -> None:
        """The items of many large groups are read in batches."""
        for group in range(3):
            put_next_together("sorted", [{}] * 50, scope=SCOPE, idempotency_token=f"token {group}")
        put("sorted", 150, token="somebody else's")
        report = audited("sorted")
        assert [orphan.value for orphan in report.orphans.listed] == [150]
        assert (report.carried, report.markers, report.unexplained) == (150, 3, 1)

    def test_a_marker_of_an_earlier_version(self) -> None:
        """A marker that does not tell how many items it has is compared with the first one."""
        put_next_together("sorted", [{}, {}], scope=SCOPE, idempotency_token="a token")
        remove(strategies["sorted"].markers.schema.table, strategies["sorted"].markers.key(SCOPE, "a token"), "items")
        put("sorted", 2, token="somebody else's")
        assert audited("sorted").unexplained == 0
        put("sorted", 1, token="somebody else's")
        assert audited("sorted").unexplained == 1


class TestStray:
    @pytest.mark.parametrize(
        ("alias", "sort_key", "problem"),
        [
            ("sorted", -5, "below START, which is 1"),
            ("sorted", Decimal("2.5"), "not a whole number"),
            ("tens", 5, "below START, which is 11"),
            ("tens", 15, "not on STEP, which is 10 from 11"),
            ("tens", 501, "above the counter, which is at 31"),
            ("padded", "003", "not a number of 4 digits"),
            ("padded", "00003", "not a number of 4 digits"),
            ("padded", "zz-9", "not a number of 4 digits"),
        ],
    )
    def test_a_stray_row_is_found(self, alias: str, sort_key: int | str | Decimal, problem: str) -> None:
        """A row whose sort key is not a value of the sequence is listed, with what is wrong with it."""
        fill(alias, 3)
        put(alias, sort_key)
        report = audited(alias)
        assert report.strays.listed == [Stray(sort_key=str(sort_key), problem=problem)]
        assert (report.carried, report.unexplained) == (3, 1)

    def test_a_row_far_ahead_is_found_by_the_gap_before_it(self) -> None:
        """Without a counter an imported row is the new last value, and what is missing below is a gap."""
        fill("sorted", 2)
        put("sorted", 9)
        assert audited("sorted").gaps.listed == [Gap(first=3, last=8, count=6)]


class TestWords:
    @pytest.mark.parametrize(
        ("void", "said"),
        [
            ({"by": "ada", "at": "noon", "reason": "twice"}, "void: 1 by ada at noon: twice"),
            ({"by": "ada", "reason": "twice"}, "void: 1 without a signature: twice"),
            ({"at": "noon"}, "void: 1 without a signature: no reason given"),
        ],
    )
    def test_a_void(self, void: Mapping[str, str], said: str) -> None:
        """A void has a line with its signature, which is a name and a time, and with its reason."""
        put("sorted", 1, void=void)
        assert [*findings_in_words(audited("sorted"))] == [said]


class TestVoid:
    def test_a_void_is_listed_with_its_reason(self) -> None:
        """A withdrawn value is stored and explained, and listed with who, when and why."""
        fill("sorted", 2)
        put("sorted", 1, void={"by": "ada", "at": "2030-01-02T03:04:05+00:00", "reason": "twice"})
        report = audited("sorted")
        assert report.voids.listed == [Void(value=1, by="ada", at="2030-01-02T03:04:05+00:00", reason="twice")]
        assert (report.carried, report.unexplained) == (2, 0)

    @pytest.mark.parametrize("void", [{"reason": "twice"}, {"by": "ada"}, {"at": "2030-01-02"}])
    def test_a_void_that_nobody_signed_is_unexplained(self, void: Mapping[str, str]) -> None:
        """A void without a name or a time is unexplained."""
        fill("sorted", 1)
        put("sorted", 1, void=void)
        assert audited("sorted").unexplained == 1

    @pytest.mark.parametrize("void", [True, "a void in the wall", {}, {"depth": 3}])
    def test_an_attribute_of_the_application_is_no_void(self, void: object) -> None:
        """An attribute `void` without any of its three fields is the application's own."""
        fill("sorted", 1)
        put("sorted", 1, void=void)
        report = audited("sorted")
        assert (report.voids.total, report.unexplained) == (0, 0)

    @pytest.mark.parametrize("alias", SEQUENCES)
    def test_no_item_brings_one(self, alias: str) -> None:
        """An item whose `void` would be taken for the sequence's own is refused, and its attribute is named."""
        marks: list[Mapping[str, Any]] = [
            {"by": "ada"},
            {"at": "2030-01-02T03:04:05+00:00", "frozen": {"by": "ada"}},
            {"depth": 3, "reason": "a hole", "until": 50},
        ]
        key = {"pk": "invoice", "sk": 7} if alias in ("transactional", "tens", "atomic") else {}
        for void in marks:
            words = f"'void' has '{min(void.keys() & set(SIGNATURE))}'.* otherwise, or"
            for item in ({"void": void}, {**key, "void": void}):
                with pytest.raises(InvalidItem, match=words):
                    put_next(alias, item, scope=SCOPE)
                with pytest.raises(InvalidItem, match=words):
                    put_next_many(alias, [{}, item], scope=SCOPE)
        assert get_last_value(alias, scope=SCOPE) is None

    @pytest.mark.parametrize("void", [True, None, "a hole in the wall", {}, {"depth": 3, "frozen": {"by": "frost"}}])
    def test_items_may_have_another(self, void: object) -> None:
        """Any other attribute `void` of an application is stored as it is, and means nothing to the sequence."""
        assert [put_next("sorted", {"void": void}, scope=SCOPE).value for _ in range(2)] == [1, 2]
        assert (audited("sorted").voids.total, audited("sorted").unexplained) == (0, 0)


class TestCounter:
    @pytest.mark.parametrize("alias", ["transactional", "atomic"])
    def test_a_counter_that_went_back_is_found(self, alias: str) -> None:
        """A counter set back by hand is found, and its items are not taken for stray rows."""
        fill(alias, 3)
        set_counter(alias, 1)
        report = audited(alias)
        assert report.went_back_to == 1
        assert (report.carried, report.strays.total, report.unexplained) == (3, 0, 1)

    def test_a_counter_set_ahead_is_a_missing_tail(self) -> None:
        """A counter above the stored items leaves a gap at the end."""
        fill("transactional", 3)
        set_counter("transactional", 5)
        assert audited("transactional").gaps.listed == [Gap(first=4, last=5, count=2)]

    def test_a_deleted_counter_makes_its_items_stray(self) -> None:
        """Items that no counter accounts for are unexplained."""
        fill("transactional", 2)
        request = {"TableName": dynamodb.table_name("sequences"), "Key": counter_key("transactional")}
        dynamodb.call("delete_item", request)
        report = audited("transactional")
        assert [stray.sort_key for stray in report.strays.listed] == ["1", "2"]


class TestBounds:
    def test_pages_are_put_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A collection and its markers are read by pages, across which gaps are found as within one."""
        monkeypatch.setattr(check, "ROWS_A_PAGE", 3)
        monkeypatch.setattr(markers, "MARKERS_A_PAGE", 2)
        fill("transactional", 10, tokens=True)
        for value in (3, 4, 7):
            delete("transactional", value)
        told: list[tuple[int, int]] = []
        report = audit(strategies["transactional"], SCOPE, progress=lambda done, wanted: told.append((done, wanted)))
        assert [(gap.first, gap.last) for gap in report.gaps.listed] == [(3, 4), (7, 7)]
        assert [*findings_in_words(report)][:2] == ["gap: 3 to 4 (2 values)", "gap: 7"]
        assert (report.markers, report.orphans.total) == (10, 3)
        assert told[0] == (3, 10)
        assert told[-1] == (17, 10)

    def test_a_long_list_is_cut_and_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many findings there are, so many are listed, and all are counted."""
        monkeypatch.setattr(report_module, "MOST_LISTED", 2)
        fill("sorted", 8)
        for value in (2, 4, 6):
            delete("sorted", value)
        report = audited("sorted")
        assert (len(report.gaps.listed), report.gaps.total, report.unexplained) == (2, 3, 3)
        assert [*findings_in_words(report)] == ["gap: 2", "gap: 4", "1 more gaps"]

    def test_what_a_batch_leaves_out_is_asked_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keys that the engine did not get to are not taken for missing items."""
        fill("sorted", 4, tokens=True)

        def one_by_one(operation: str, request: Mapping[str, Any], **options: Any) -> dict[str, Any]:
            if operation != "batch_get_item":
                return retries.read(operation, request, **options)
            ((table, wanted),) = request["RequestItems"].items()
            first, *others = wanted["Keys"]
            answer = retries.read(operation, {"RequestItems": {table: {**wanted, "Keys": [first]}}})
            answer["UnprocessedKeys"] = {table: {**wanted, "Keys": others}} if others else {}
            return answer

        monkeypatch.setattr(reading, "read", one_by_one)
        assert audited("sorted").unexplained == 0

    def test_a_batch_that_returns_nothing_is_sent_later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An engine that returns nothing of a batch gets a pause before it is asked again."""
        fill("sorted", 2, tokens=True)
        pauses: list[None] = []

        def throttled(operation: str, request: Mapping[str, Any], **options: Any) -> dict[str, Any]:
            if operation == "batch_get_item" and len(pauses) < 3:
                return {"Responses": {}, "UnprocessedKeys": request["RequestItems"]}
            return retries.read(operation, request, **options)

        monkeypatch.setattr(reading, "read", throttled)
        monkeypatch.setattr(Deadline, "pause", lambda *_: pauses.append(None))
        assert audited("sorted").unexplained == 0
        assert len(pauses) == 3

    def test_a_batch_that_never_returns_anything(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An engine that returns nothing of a batch until the deadline is given up."""
        fill("sorted", 2, tokens=True)

        def throttled(operation: str, request: Mapping[str, Any], **options: Any) -> dict[str, Any]:
            if operation == "batch_get_item":
                return {"Responses": {}, "UnprocessedKeys": request["RequestItems"]}
            return retries.read(operation, request, **options)

        monkeypatch.setattr(reading, "read", throttled)
        monkeypatch.setattr(reading, "Deadline", partial(Deadline, seconds=0.1))
        with pytest.raises(SequenceUnavailable, match="returned none"):
            audited("sorted")

    def test_a_marker_without_a_value_is_found(self) -> None:
        """A marker without a value is found, although no item can be read for it."""
        strategy = strategies["sorted"]
        marker = {**strategy.markers.key(SCOPE, "t1"), **dynamodb.marshal({"token": "t1"})}
        dynamodb.call("put_item", {"TableName": strategy.schema.table, "Item": marker})
        (orphan,) = audited("sorted").orphans.listed
        assert orphan == Orphan(token="t1", value=None, problem="the marker has no value")


def run(*arguments: str) -> str:
    """What the command prints."""
    output = StringIO()
    call_command("sequences", *arguments, stdout=output, stderr=output, no_color=True)
    return output.getvalue()


class TestCommand:
    def test_it_tells_of_one_scope(self) -> None:
        """One line for the scope says that all is explained."""
        fill("sorted", 3)
        told = "sorted ABC (SortKeyMaximum): last value 3, 3 stored, 0 missing, 0 void, 0 markers: all explained"
        assert told in run("audit", "sorted", "--scope", SCOPE)

    def test_it_fails_when_something_is_unexplained(self) -> None:
        """A gap is printed as a range, and the exit code is 1."""
        fill("sorted", 4)
        delete("sorted", 2)
        output = StringIO()
        with pytest.raises(CommandError, match="Unexplained findings: 1") as failure:
            call_command("sequences", "audit", "sorted", "--scope", SCOPE, stdout=output, no_color=True)
        assert failure.value.returncode == 1
        assert "gap: 2\n" in output.getvalue()

    def test_it_prints_json(self) -> None:
        """With --format json the output is a list of reports, and nothing else."""
        fill("transactional", 2)
        (report,) = json.loads(run("audit", "transactional", "--format", "json"))
        assert (report["scope"], report["last_value"], report["unexplained"]) == (SCOPE, 2, 0)
        assert report["gaps"] == {"total": 0, "listed": []}

    def test_json_without_scopes_is_an_empty_list(self) -> None:
        """A sequence in which nothing was counted gives an empty list."""
        assert json.loads(run("audit", "tens", "--format", "json")) == []

    def test_it_goes_through_all_scopes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a scope every scope of the sequence is audited, the one without a name too, by pages."""
        monkeypatch.setattr("sequences.strategies.scopes.SCOPES_A_PAGE", 2)
        for scope in ("A", "B", "C", None):
            put_next("transactional", {}, scope=scope)
        reports = json.loads(run("audit", "transactional", "--format", "json"))
        assert [report["scope"] for report in reports] == [None, "A", "B", "C"]

    def test_the_scope_without_a_name_can_be_named(self) -> None:
        """--scope '#' is the scope that has no name."""
        put_next("sorted", {})
        (report,) = json.loads(run("audit", "sorted", "--scope", "#", "--format", "json"))
        assert (report["scope"], report["carried"]) == (None, 1)

    def test_a_sequence_that_lists_no_scopes_is_named(self) -> None:
        """All sequences are audited; the one whose scopes cannot be listed is named, with what to do."""
        fill("atomic", 1)
        fill("sorted", 1)
        output = StringIO()
        with pytest.raises(CommandError) as failure:
            call_command("sequences", "audit", stdout=output, no_color=True)
        assert "atomic ABC (AtomicCounter)" in output.getvalue()
        assert "sorted ABC (SortKeyMaximum)" in output.getvalue()
        assert "sequences audit padded --scope SCOPE" in str(failure.value)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["nothing"], "There is no sequence 'nothing'"),
            (["sorted", "--scope", ""], "The scope has 0 characters"),
            (["sorted", "--scope", "a\tb"], "control characters"),
            (["--scope", "ABC"], "--scope needs a sequence"),
        ],
    )
    def test_wrong_arguments_are_explained(self, arguments: list[str], message: str) -> None:
        """What cannot be audited is said in one sentence."""
        with pytest.raises(CommandError, match=message):
            run("audit", *arguments)

    def test_a_scope_that_must_exist_is_missed(self, settings: Settings) -> None:
        """If scopes must exist, auditing a misspelt one is an error."""
        options = {"scope_must_exist": True}
        settings.SEQUENCES = {"strict": {**SEQUENCES["sorted"], "OPTIONS": options}}
        with pytest.raises(CommandError, match="'ABX' does not exist in 'strict'"):
            run("audit", "strict", "--scope", "ABX")

    def test_a_note_is_told_once(self) -> None:
        """A note about what the audit cannot see is printed once, at the end."""
        for scope in ("A", "B"):
            get_next_values(2, "atomic", scope=scope)
        assert run("audit", "atomic").count("note: AtomicCounter takes a value before") == 1

    def test_a_missing_table_is_explained(self, settings: Settings) -> None:
        """Without tables the message names the command that makes them."""
        settings.TABLE_PREFIX = "missing_"
        with pytest.raises(CommandError, match="create_tables"):
            run("audit", "sorted", "--scope", SCOPE)

    def test_an_engine_out_of_reach_is_explained(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no engine answers, the message names the address."""
        monkeypatch.setitem(Deadline.__init__.__kwdefaults__ or {}, "timing", Clock().timing())
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        dynamodb.reset()
        with pytest.raises(CommandError, match=r"127\.0\.0\.1:9"):
            run("audit", "sorted", "--scope", SCOPE)


@pytest.mark.parametrize(("alias", "value"), [("sorted", 1), ("transactional", 1), ("tens", 11), ("atomic", 1001)])
def test_a_scope_with_one_value_is_proved(alias: str, value: int) -> None:
    """A scope with its first value only is complete."""
    fill(alias, 1)
    report = audited(alias)
    assert (report.last_value, report.carried, report.missing, report.unexplained) == (value, 1, 0, 0)
