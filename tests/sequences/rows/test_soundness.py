"""Whether a sequence keeps its promises on its tables: the judgement, and the refusal of the first write by it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import boto3
import pytest
from botocore.stub import Stubber
from pytest_django import Settings

from sequences import (
    changes,
    dynamodb,
    get_last_value,
    get_next_value,
    put_next,
    put_next_each,
    put_next_many,
    put_next_together,
)
from sequences.actions import Put
from sequences.dynamodb import Copies, copies_in, tables
from sequences.exceptions import AccessRefused, SequenceError, SequenceUnsound
from sequences.formats.periods import Period
from sequences.ops.doctor import diagnose
from sequences.ops.tables import create_tables
from sequences.registry import strategies
from sequences.rows import lives
from sequences.rows.soundness import RISKS, Soundness, Verdict, judge
from sequences.start import require_sound
from sequences.testing import moto_engine
from sequences.types import SequenceConfig
from tests.sequences.support import (
    SEQUENCES,
    Processes,
    Sent,
    Wire,
    handled,
    names_that,
    stored,
    tapped,
    tapped_unasked,
)

GOOD, CAREFUL, UNSOUND, UNKNOWN = Verdict.GOOD, Verdict.CAREFUL, Verdict.UNSOUND, Verdict.UNKNOWN
ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/t"
REPLICAS = [{"RegionName": "eu-central-1", "ReplicaStatus": "ACTIVE"}]
EVENTUAL = {"Replicas": REPLICAS, "MultiRegionConsistency": "EVENTUAL"}
STRONG = {
    "Replicas": REPLICAS,
    "MultiRegionConsistency": "STRONG",
    "GlobalTableWitnesses": [{"RegionName": "eu-west-1", "WitnessStatus": "ACTIVE"}],
}
ALTERNATOR = {"TableArn": "arn:scylla:alternator:alternator_t:scylla:table/t"}
ONE, LATER, AT_ONCE = Copies(), Copies(("a", "b"), strongly=False), Copies(("a", "b"), transactions=False)
SCYLLA = copies_in(ALTERNATOR)
SINGLE_WRITES = [name for name in SEQUENCES if name not in names_that("needs_transactions")]
WRITES = {"PutItem", "UpdateItem", "TransactWriteItems", "DeleteItem"}


@contextmanager
def described_as(about: Mapping[str, Any]) -> Iterator[None]:
    """Have every DescribeTable of this process's client say this, too, as a process that knows nothing yet hears it."""

    def add(parsed: dict[str, Any], **_: object) -> None:
        parsed.get("Table", {}).update(about)

    strategies.reset()
    with handled({"after-call.dynamodb.DescribeTable": add}):
        yield
    strategies.reset()


class TestCopies:
    @pytest.mark.parametrize(
        ("about", "copies"),
        [
            ({}, ONE),
            ({"Replicas": []}, ONE),
            ({"Replicas": [{"RegionName": "us-east-1"}]}, ONE),
            ({"Replicas": REPLICAS}, Copies(("us-east-1", "eu-central-1"), strongly=False)),
            (EVENTUAL, Copies(("us-east-1", "eu-central-1"), strongly=False)),
            (
                {"Replicas": [*REPLICAS, {"RegionName": "us-east-1"}]},
                Copies(("us-east-1", "eu-central-1"), strongly=False),
            ),
            (STRONG, Copies(("us-east-1", "eu-central-1"), transactions=False)),
            ({"GlobalTableVersion": "2017.11.29"}, Copies(("us-east-1", "others"), strongly=False)),
            ({"GlobalTableVersion": "2019.11.21"}, ONE),
        ],
    )
    def test_what_dynamodb_answers(self, about: Mapping[str, Any], copies: Copies) -> None:
        """The answers have the shapes that botocore's model of the service has, as the stubber checks."""
        client = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        with Stubber(client) as stubber:
            stubber.add_response("describe_table", {"Table": {"TableArn": ARN, **about}}, {"TableName": "t"})
            assert copies_in(client.describe_table(TableName="t")["Table"]) == copies

    def test_other_engines(self) -> None:
        """Alternator is known by its ARNs. An engine without ARNs has one copy, unless it says otherwise."""
        assert not SCYLLA.transactions
        assert SCYLLA.told == "ScyllaDB Alternator"
        assert copies_in({}) == ONE
        assert copies_in({"Replicas": REPLICAS}).is_global


def judged(*tables: Copies | None, needs_transactions: bool = False, **changes: Any) -> Soundness:
    """The judgement of a sequence on its tables."""
    entry: dict[str, Any] = {
        "alias": "s",
        "strategy": "",
        "table": "t",
        "start": 1,
        "step": 1,
        "maximum": 9,
        "options": {},
    }
    entry |= {"client": "default", "period": Period(), "format": None}
    return judge(SequenceConfig(**{**entry, **changes}), tables, needs_transactions=needs_transactions)


HOME = {"region": "us-east-1", "home_region": "us-east-1"}
AWAY = {"region": "eu-central-1", "home_region": "us-east-1"}
STRIPED = {"region": "us-east-1", "starts": {"us-east-1": 1}}
BY_TRANSACTIONS = {"needs_transactions": True}


class TestJudgement:
    @pytest.mark.parametrize(
        ("settings_", "copies", "verdict", "reason", "remedy", "transactions"),
        [
            ({}, ONE, GOOD, "the only copy", "", True),
            (BY_TRANSACTIONS, ONE, GOOD, "the only copy", "", True),
            ({}, None, UNKNOWN, "could be read", "", True),
            ({}, LATER, UNSOUND, "two Regions give the same number, silently", "Set HOME_REGION", True),
            (HOME, LATER, GOOD, "Only us-east-1 writes it", "", True),
            (AWAY, LATER, UNSOUND, "HOME_REGION says", "change HOME_REGION", True),
            (AWAY, ONE, UNSOUND, "HOME_REGION says", "change HOME_REGION", True),
            (AWAY, None, UNSOUND, "HOME_REGION says", "change HOME_REGION", True),
            ({**AWAY, "region": ""}, ONE, UNSOUND, "HOME_REGION says", "change HOME_REGION", True),
            (HOME, ONE, GOOD, "the only copy", "", True),
            (STRIPED, LATER, GOOD, "numbers of its own. A repeat must come to the Region", "", True),
            (STRIPED, ONE, GOOD, "the only copy", "", True),
            ({"accepted": frozenset(RISKS)}, LATER, CAREFUL, "regions-give-the-same-number", "Take it out", True),
            ({}, AT_ONCE, CAREFUL, "idempotency tokens of items", "Do without", False),
            (STRIPED, AT_ONCE, CAREFUL, "idempotency tokens of items", "Do without", False),
            (BY_TRANSACTIONS, AT_ONCE, UNSOUND, "needs one for each number", "AtomicCounter or SortKeyMaximum", True),
            (
                {**BY_TRANSACTIONS, "accepted": frozenset(RISKS)},
                AT_ONCE,
                CAREFUL,
                "transactions-are-refused",
                "AtomicCounter",
                True,
            ),
            ({"accepted": frozenset(RISKS)}, AT_ONCE, CAREFUL, "transactions-are-refused", "Take it out", True),
            ({"accepted": frozenset(RISKS)}, ONE, GOOD, "the only copy", "", True),
            ({}, SCYLLA, CAREFUL, "idempotency tokens of items", "Do without", False),
            (BY_TRANSACTIONS, SCYLLA, UNSOUND, "needs one for each number", "AtomicCounter", True),
        ],
    )
    def test_each_verdict(
        self,
        settings_: Mapping[str, Any],
        copies: Copies | None,
        verdict: Verdict,
        reason: str,
        remedy: str,
        transactions: bool,
    ) -> None:
        """Each kind of table has its verdict for each kind of sequence, and what is not good says what helps."""
        soundness = judged(copies, **settings_)
        assert soundness.verdict is verdict
        assert reason in soundness.reason
        assert remedy in soundness.remedy
        assert bool(soundness.remedy) == bool(remedy)
        assert soundness.found
        assert soundness.takes_transactions is transactions

    @pytest.mark.parametrize(("other", "verdict"), [(ONE, GOOD), (LATER, UNSOUND), (AT_ONCE, CAREFUL), (None, UNKNOWN)])
    def test_every_table_counts(self, other: Copies | None, verdict: Verdict) -> None:
        """The worst of its tables decides; one that is unknown makes nothing sound."""
        assert judged(ONE, other).verdict is verdict
        assert judged(other, ONE).verdict is verdict

    def test_the_remedy_names_the_risk(self) -> None:
        """Whoever knows better reads what to write into ACCEPT."""
        assert "add 'regions-give-the-same-number' to its ACCEPT" in judged(LATER).remedy

    @pytest.mark.parametrize(
        ("copies", "found"),
        [(ONE, "one Region"), (None, "not known"), (LATER, LATER.told), (AT_ONCE, AT_ONCE.told)],
        ids=["one", "unknown", "later", "at once"],
    )
    def test_what_is_found(self, copies: Copies | None, found: str) -> None:
        """People read which copies a table has."""
        assert judged(copies).found == found

    def test_what_is_accepted(self) -> None:
        """A risk that is taken is told with the copies, and with how to be rid of it."""
        taken = judged(AT_ONCE, accepted=frozenset(RISKS))
        assert (taken.found, taken.remedy) == (AT_ONCE.told, "Take it out of ACCEPT as soon as it is mended.")

    def test_the_names_of_verdicts(self) -> None:
        """People read them on pages, and in what the doctor prints."""
        assert [*Verdict] == ["good", "careful", "unsound", "unknown"]


def describes(name: str, scope: str) -> int:
    """How many tables a process has described when it has stored two items."""
    with tapped_unasked() as wire:
        for _ in range(2):
            put_next(name, {}, scope=scope)
    return len({body["TableName"] for body in wire.bodies("DescribeTable")})


@pytest.mark.usefixtures("configured")
class TestRefusal:
    @pytest.mark.parametrize("name", SEQUENCES)
    def test_two_regions(self, name: str, scope: str) -> None:
        """Every way to take a number is refused before anything is written. Reading goes on."""
        with described_as(EVENTUAL), tapped_unasked() as wire:
            ways: list[Callable[[], object]] = [
                lambda: put_next(name, {}, scope=scope),
                lambda: put_next_many(name, [{}, {}], scope=scope),
                lambda: put_next_together(name, [{}, {}], scope=scope),
                lambda: changes.advance(name, to=7, scope=scope, by="ana", reason="a test"),
            ]
            if strategies[name].supports_reserve and name not in names_that("needs_transactions"):
                ways.append(lambda: get_next_value(name, scope=scope))
            for way in ways:
                with pytest.raises(SequenceUnsound, match="two Regions give the same number, silently"):
                    way()
            assert get_last_value(name, scope=scope) is None
        assert not WRITES & {*wire.operations}

    @pytest.mark.parametrize("name", SEQUENCES)
    def test_what_the_hot_path_costs(self, name: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first write of a process describes each table once; no other one asks anything more."""
        put_next(name, {}, scope=f"{scope}-before")  # the first write of all stores the rules, and asks once more
        strategies.reset()
        with tapped_unasked() as wire:
            put_next(name, {}, scope=scope)
            first = {body["TableName"] for body in wire.bodies("DescribeTable")}
            assert first == {*strategies[name].lives.tables}
            assert len(wire.bodies("DescribeTable")) == len(first)
            wire.clear()
            judging = mock.Mock(side_effect=judge)
            monkeypatch.setattr(lives, "judge", judging)
            for _ in range(3):
                put_next(name, {}, scope=scope)
            assert "DescribeTable" not in wire.operations
            judging.assert_not_called()

    def test_a_forked_child_asks_for_itself(self, forked: Processes, scope: str) -> None:
        """What a process has learned of its tables is not its child's, who may be elsewhere."""
        put_next("sort-key", {}, scope=scope)
        assert forked.run(describes, "sort-key", scope) == [1] * forked.count

    def test_changed_settings_are_judged(self, scope: str, settings: Settings) -> None:
        """A setting that changes is judged at the next write."""
        put_next("sort-key", {}, scope=scope)
        settings.SEQUENCES = {"sort-key": {**SEQUENCES["sort-key"], "HOME_REGION": "eu-central-1"}}
        with pytest.raises(SequenceUnsound):
            put_next("sort-key", {}, scope=scope)

    def test_a_repaired_table_needs_no_restart(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A refusal asks the table again after a minute, and not before: then the writes go on."""
        put_next("sort-key", {}, scope=f"{scope}-before")  # which stores the rules
        strategies.reset()
        about: dict[str, Any] = {**EVENTUAL}
        now = [1000.0]
        monkeypatch.setattr("sequences.dynamodb.client.elapsed", lambda: now[0])
        with described_as(about), tapped_unasked() as wire:
            for _ in range(3):
                with pytest.raises(SequenceUnsound):
                    put_next("sort-key", {}, scope=scope)
            assert wire.operations == ["DescribeTable"]
            about["Replicas"] = []
            now[0] += tables.ASK_AGAIN_SECONDS - 1
            with pytest.raises(SequenceUnsound):
                put_next("sort-key", {}, scope=scope)
            now[0] += 1
            assert put_next("sort-key", {}, scope=scope).value == 1
            assert wire.operations.count("DescribeTable") == 2

    @pytest.mark.parametrize("key", [{"HOME_REGION": "us-east-1"}, {"ACCEPT": ["regions-give-the-same-number"]}])
    def test_what_lets_it_write(self, key: Mapping[str, Any], scope: str, settings: Settings) -> None:
        """The Region that is its home writes it, and so does every Region if that risk is taken."""
        settings.SEQUENCES = {"tickets": {**SEQUENCES["sort-key"], **key}}
        with described_as(EVENTUAL):
            assert put_next("tickets", {}, scope=scope).value == 1
            assert get_last_value("tickets", scope=scope) == 1

    @pytest.mark.parametrize("about", [{}, EVENTUAL])
    def test_another_home(self, about: Mapping[str, Any], scope: str, settings: Settings) -> None:
        """A process in another Region than HOME_REGION reads, and never writes, whatever its table is."""
        settings.SEQUENCES = {"tickets": {**SEQUENCES["sort-key"], "HOME_REGION": "eu-central-1"}}
        with (
            described_as(about),
            pytest.raises(SequenceUnsound, match="written in eu-central-1, and this is us-east-1"),
        ):
            put_next("tickets", {}, scope=scope)
        assert get_last_value("tickets", scope=scope) is None

    def test_what_cannot_be_read_stops_nobody(
        self, scope: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who may not describe tables writes all the same; one warning in a process says what is not known."""

        def refused(**_: object) -> None:
            raise AccessRefused("describe_table: AccessDeniedException: no.")

        strategies.reset()
        with caplog.at_level(logging.WARNING), handled({"before-call.dynamodb.DescribeTable": refused}):
            for count in range(1, 4):
                assert put_next("sort-key", {}, scope=scope).value == count
                later = dynamodb.elapsed() + count * tables.ASK_AGAIN_SECONDS
                monkeypatch.setattr("sequences.dynamodb.client.elapsed", partial(float, later))
        assert caplog.text.count("cannot be described") == 1
        strategies.reset()


def test_copies_of_a_table() -> None:
    """A table is global if another Region has a copy of it."""
    assert [Copies(regions).is_global for regions in ((), ("a",), ("a", "b"))] == [False, False, True]


@pytest.mark.usefixtures("configured")
def test_where_there_are_transactions() -> None:
    """A table of one Region refuses nothing that needs a transaction."""
    lives = strategies["atomic"].lives
    lives.bind(dynamodb.call)
    lives.require_transactions("The change 'freeze'")


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("about", [STRONG, ALTERNATOR], ids=["strong", "alternator"])
class TestWithoutTransactions:
    @pytest.mark.parametrize("name", SINGLE_WRITES)
    def test_what_remains(self, name: str, about: Mapping[str, Any], scope: str) -> None:
        """Numbers, also of many callers and of many items, are right, and no transaction is sent."""
        with described_as(about), tapped_unasked() as wire:
            many = put_next_many(name, [{"n": n} for n in range(5)], scope=scope)
            with ThreadPoolExecutor(8) as pool:
                singles = [*pool.map(lambda n: put_next(name, {"n": n}, scope=scope), range(24))]
            values = [one.value for one in (*many, *singles)]
            assert len({*values}) == len(values) == len(stored(name, scope)) == 29
            if strategies[name].gapless:
                assert sorted(values) == [*range(1, 30)]
        assert "TransactWriteItems" not in wire.operations

    @pytest.mark.parametrize("name", SINGLE_WRITES)
    def test_what_is_refused(self, name: str, about: Mapping[str, Any], scope: str) -> None:
        """A token, several items at once, other rows and guarded changes are refused before anything is written."""
        rider, refused = Put("rows", {"pk": "a", "sk": 1}), []
        ways: list[Callable[[], object]] = [
            lambda: put_next(name, {}, scope=scope, idempotency_token="t"),
            lambda: put_next_together(name, [{}, {}], scope=scope),
            lambda: put_next(name, {}, scope=scope, also=[rider]),
            lambda: changes.freeze(name, scope=scope, by="ana", reason="a test"),
        ]
        with described_as(about):
            strategies[name].lives.bind(dynamodb.call)  # stores by which settings it writes
            with tapped_unasked() as wire:
                for way in ways:
                    with pytest.raises(SequenceUnsound) as error:
                        way()
                    refused.append(str(error.value).partition(" needs a transaction, ")[0])
        assert not WRITES & {*wire.operations}
        together = "An idempotency token, `also`, or several items at once"
        assert refused == [together] * 3 + ["The change 'freeze'"]

    @pytest.mark.parametrize("change", [changes.adopt, changes.freeze])
    def test_a_change_comes_first(self, change: Callable[..., object], about: Mapping[str, Any], scope: str) -> None:
        """A process that has not looked at the tables yet refuses a guarded change as well."""
        needs = pytest.raises(SequenceUnsound, match=f"^The change '{change.__name__}' needs a transaction")
        with described_as(about), needs:
            change("atomic", scope=scope, by="ana", reason="a test")

    @pytest.mark.parametrize("name", SINGLE_WRITES)
    def test_the_others_of_a_call(self, name: str, about: Mapping[str, Any], scope: str) -> None:
        """The requests of one call are each refused or stored."""
        with described_as(about):
            answers = put_next_each(name, [{}, {}, {}], scope=scope, idempotency_tokens=[None, "t", None])
        assert [isinstance(answer, SequenceError) for answer in answers] == [False, True, False]
        assert len(stored(name, scope)) == 2

    def test_a_token_without_an_item(self, about: Mapping[str, Any], scope: str) -> None:
        """A repeat of a reservation gets the same value: its marker is a single write."""
        with described_as(about):
            first = get_next_value("atomic", scope=scope, idempotency_token="t")
            assert get_next_value("atomic", scope=scope, idempotency_token="t") == first

    @pytest.mark.parametrize("name", names_that("needs_transactions"))
    def test_a_strategy_of_transactions(self, name: str, about: Mapping[str, Any], scope: str) -> None:
        """It is refused as a whole, with the strategies that would do."""
        with described_as(about), pytest.raises(SequenceUnsound, match="Give the sequence AtomicCounter"):
            put_next(name, {}, scope=scope)
        assert stored(name, scope) == {}


@pytest.mark.usefixtures("configured", "patience")
class TestStart:
    def test_a_sound_process(self, scope: str) -> None:
        """Nothing is raised, and the first write need not ask again."""
        strategies.reset()
        require_sound()
        with tapped_unasked() as wire:
            put_next("sort-key", {}, scope=scope)
        assert "DescribeTable" not in wire.operations

    def test_an_unsound_one(self) -> None:
        """The first sequence that must not be written is named."""
        with described_as(EVENTUAL), pytest.raises(SequenceUnsound, match="The sequence 'atomic': eventually consist"):
            require_sound()

    def test_a_standby(self, settings: Settings) -> None:
        """A site in another Region than the home may be read, and starts."""
        settings.SEQUENCES = {"tickets": {**SEQUENCES["sort-key"], "HOME_REGION": "eu-central-1"}}
        with described_as(EVENTUAL):
            require_sound()

    @pytest.mark.parametrize("trouble", ["away", "missing", "wrong"])
    def test_what_is_not_known_stops_no_start(
        self, trouble: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """DynamoDB may be away, a table missing or a setting wrong: the process starts, and says so to who writes."""
        settings.SEQUENCES = {
            "wrong": {"STRATEGY": "no.such"} if trouble == "wrong" else {**SEQUENCES["atomic"], "TABLE": "missing"},
            "tickets": SEQUENCES["sort-key"],
        }
        if trouble == "away":
            monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        strategies.reset()
        require_sound()
        strategies.reset()


@pytest.mark.usefixtures("configured", "patience")
class TestDoctor:
    def test_each_sequence_has_a_verdict(self) -> None:
        """The doctor and the refusal say the same of every sequence."""
        with described_as(STRONG):
            found = {finding.subject: finding for finding in diagnose().findings if finding.about == "Regions"}
            assert {*found} == {f"sequence {name}" for name in SEQUENCES}
            for name, finding in ((subject.removeprefix("sequence "), one) for subject, one in found.items()):
                assert finding.verdict is (UNSOUND if strategies[name].needs_transactions else CAREFUL)
                assert finding.found.startswith("strongly consistent, with ")

    def test_a_thorough_look_writes_nothing(self) -> None:
        """Permissions are tried by writes that nothing can fulfil; STS is not asked about another engine than AWS."""
        with tapped() as wire:
            found = diagnose(thorough=True)
        assert {table.refused for table in found.tables if table.refused} == set()
        assert {"PutItem", "UpdateItem", "Query"} <= {*wire.operations}
        assert all("attribute_not_exists" in sent.body["ConditionExpression"] for sent in written_by(wire))
        about = {finding.about: finding for finding in found.findings}
        assert about["permissions"].verdict is GOOD
        assert "anybody may do everything" in about["who am I"].reason
        for table in found.tables:
            assert (
                dynamodb.call(
                    "scan",
                    {
                        "TableName": table.name,
                        "FilterExpression": "#key = :key",
                        "ExpressionAttributeNames": {"#key": next(iter(table.keys))},
                        "ExpressionAttributeValues": {":key": {"S": "#health"}},
                    },
                )["Items"]
                == []
            )

    def test_who_am_i_on_aws(self) -> None:
        """STS tells in whose name a client signs, and what the engine does not know is not known."""
        with moto_engine():
            create_tables()
            found = {finding.about: finding for finding in diagnose(thorough=True).findings}
        assert found["who am I"].found.startswith("arn:aws:sts::123456789012:")
        assert found["permissions"].verdict is GOOD
        assert "limits" in found

    def test_a_permission_that_is_missing(self) -> None:
        """The policy's refusal of one operation is found, without a write."""

        def denied(**_: object) -> None:
            raise AccessRefused("put_item: AccessDeniedException: no.")

        with handled({"before-call.dynamodb.PutItem": denied}):
            found = diagnose(thorough=True)
        assert {tuple(table.refused or ()) for table in found.tables} == {("PutItem",)}


def written_by(wire: Wire) -> list[Sent]:
    """The writes that were sent."""
    return [sent for sent in wire.sent if sent.operation in WRITES]
