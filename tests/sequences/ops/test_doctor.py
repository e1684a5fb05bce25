"""The doctor: what it reads about tables, and how it judges each fact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest import mock

import pytest
from botocore.awsrequest import AWSResponse
from pytest_django import Settings

from sequences import dynamodb
from sequences.commit.retries import Deadline
from sequences.exceptions import StorageRefused
from sequences.ops import doctor
from sequences.ops.doctor import Finding, Unknown, Verdict, diagnose
from sequences.ops.doctor.judging import TableFacts, of_table
from sequences.registry import strategies
from sequences.testing import moto_engine, sequence_tables
from tests.sequences.support import handled, tapped

GOOD, CAREFUL, UNSOUND, UNKNOWN = Verdict.GOOD, Verdict.CAREFUL, Verdict.UNSOUND, Verdict.UNKNOWN
PATH = "sequences.strategies"
KEYS = {
    "KeySchema": [{"AttributeName": "sk", "KeyType": "RANGE"}, {"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
}
ON_DEMAND = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}
SOUND = {**KEYS, **ON_DEMAND, "TableStatus": "ACTIVE", "DeletionProtectionEnabled": True}
EXPIRING = {"TimeToLiveStatus": "ENABLED", "AttributeName": "marker_expires_at"}
RECOVERABLE = {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}}
BY_MARKERS = "by marker_expires_at"
SORT_KEY = {"tickets": ["items", "markers"]}
ATOMIC = {"orders": ["items"]}
ABROAD = {"Replicas": [{"RegionName": "eu-west-1"}, {"RegionName": "us-east-1"}]}
STRONG = {**ABROAD, "MultiRegionConsistency": "STRONG"}


def judged(**changes: Any) -> dict[str, Finding]:
    """The findings about a sound table with these changes of its facts, by what they are about."""
    facts: dict[str, Any] = {"name": "t", "client": "default", "keys": {"pk": "S", "sk": "N"}, "uses": SORT_KEY}
    facts |= {"table": SOUND, "expiry": EXPIRING, "recovery": RECOVERABLE, **changes}
    found = list(of_table(TableFacts(**facts)))
    assert all(finding.subject == "t" for finding in found)
    assert len({finding.about for finding in found}) == len(found)
    return {finding.about: finding for finding in found}


class TestTables:
    def test_a_sound_table(self) -> None:
        """Nothing is said against a table that is as it should be, and good findings need no remedy."""
        found = judged()
        assert {finding.verdict for finding in found.values()} == {GOOD}
        assert {finding.remedy for finding in found.values()} == {""}
        assert {about: finding.found for about, finding in found.items()} == {
            "table": "active",
            "keys": "pk (S), sk (N)",
            "billing": "on demand",
            "point-in-time recovery": "on",
            "deletion protection": "on",
            "expiry (TTL)": BY_MARKERS,
        }

    @pytest.mark.parametrize(
        ("changes", "about", "verdict", "found", "remedy"),
        [
            ({"table": None}, "table", UNSOUND, "missing", "create_tables"),
            ({"table": {**SOUND, "TableStatus": "CREATING"}}, "table", UNSOUND, "creating", "Wait"),
            ({"table": {**SOUND, "TableStatus": "UPDATING"}}, "table", GOOD, "updating", ""),
            ({"table": {**KEYS, **ON_DEMAND}}, "table", GOOD, "active", ""),
            ({"table": Unknown("away")}, "table", UNKNOWN, "not known", ""),
            ({"keys": {"id": "S"}}, "keys", UNSOUND, "pk (S), sk (N)", "key_names"),
            (
                {"table": {**SOUND, "BillingModeSummary": {}}},
                "billing",
                CAREFUL,
                "provisioned: 0 write and 0 read units a second",
                "on-demand",
            ),
            (
                {"table": {**KEYS, "ProvisionedThroughput": {"WriteCapacityUnits": 5, "ReadCapacityUnits": 7}}},
                "billing",
                CAREFUL,
                "provisioned: 5 write and 7 read units a second",
                "auto scaling",
            ),
            ({"recovery": {}}, "point-in-time recovery", CAREFUL, "off", "update-continuous-backups --table-name t "),
            ({"recovery": None}, "point-in-time recovery", UNKNOWN, "not known", ""),
            ({"recovery": Unknown("no")}, "point-in-time recovery", UNKNOWN, "not known", ""),
            ({"table": {**KEYS, **ON_DEMAND}}, "deletion protection", CAREFUL, "off", "update-table --table-name t "),
            ({"expiry": {"TimeToLiveStatus": "DISABLED"}}, "expiry (TTL)", CAREFUL, "off", "create_tables"),
            ({"expiry": {**EXPIRING, "TimeToLiveStatus": "DISABLED"}}, "expiry (TTL)", CAREFUL, "off", "create_tables"),
            ({"expiry": {**EXPIRING, "TimeToLiveStatus": "ENABLING"}}, "expiry (TTL)", GOOD, BY_MARKERS, ""),
            ({"expiry": EXPIRING, "uses": ATOMIC}, "expiry (TTL)", GOOD, BY_MARKERS, ""),
            ({"expiry": {}, "uses": {**ATOMIC, **SORT_KEY}}, "expiry (TTL)", CAREFUL, "off", "create_tables"),
            ({"expiry": {}, "uses": ATOMIC}, "expiry (TTL)", GOOD, "off", ""),
            (
                {"expiry": {"TimeToLiveStatus": "ENABLED", "AttributeName": "at"}},
                "expiry (TTL)",
                UNSOUND,
                "by at",
                "AttributeName=at",
            ),
            ({"expiry": Unknown("no")}, "expiry (TTL)", UNKNOWN, "not known", ""),
        ],
    )
    def test_each_verdict(
        self, changes: Mapping[str, Any], about: str, verdict: Verdict, found: str, remedy: str
    ) -> None:
        """Each fact has its verdict, and what is not good says why, and what helps."""
        finding = judged(**changes)[about]
        assert finding.verdict is verdict
        assert finding.found == found
        assert remedy in finding.remedy
        assert bool(finding.remedy) == bool(remedy)
        assert finding.reason

    def test_what_nobody_read(self) -> None:
        """A fact that was not read says so, and one that could not be read says why."""
        assert judged(expiry=None)["expiry (TTL)"].reason == "It was not read."
        unread = judged(table=Unknown("away", "Wait.", failure=False))
        assert [*unread] == ["table"]
        found = unread["table"]
        assert (found.reason, found.remedy, found.failure) == ("away", "Wait.", False)
        assert [*judged(table=None)] == ["table"]

    @pytest.mark.parametrize(
        ("refused", "verdict", "said"),
        [
            ((), GOOD, "those of every write"),
            (("PutItem", "Query"), UNSOUND, "missing: dynamodb:PutItem, dynamodb:Query"),
        ],
    )
    def test_permissions(self, refused: Sequence[str], verdict: Verdict, said: str) -> None:
        """What the role may not do is named; without a try nothing is said of it."""
        finding = judged(refused=refused)["permissions"]
        assert (finding.verdict, finding.found) == (verdict, said)
        assert ("Allow dynamodb:PutItem, dynamodb:Query in the policy" in finding.remedy) == bool(refused)

    def test_markers_of_a_strong_global_table(self) -> None:
        """It cannot expire items, so that create_tables is no remedy."""
        finding = judged(table={**SOUND, **STRONG}, expiry={})["expiry (TTL)"]
        assert finding.verdict is CAREFUL
        assert "delete old markers yourself" in finding.remedy
        assert "create_tables" in judged(table={**SOUND, **ABROAD}, expiry={})["expiry (TTL)"].remedy


@pytest.mark.usefixtures("configured", "patience")
class TestReading:
    def test_every_table_is_asked_once(self) -> None:
        """Three requests for each table, however many sequences share it, one for each, and five for each client."""
        with tapped() as wire:
            diagnosis = diagnose()
        assert len(wire.sent) == 3 * len(diagnosis.tables) + len([*strategies]) + 5
        assert sorted(table.name for table in diagnosis.tables) == sorted({table.name for table in diagnosis.tables})
        (items,) = [table for table in diagnosis.tables if table.name.endswith("sequence_items")]
        assert {*items.uses} >= {"atomic", "sort-key", "transactional"}
        assert items.uses["atomic"] == ["items", "markers"]
        assert items.uses["transactional-beside"] == ["items", "counters", "markers"]
        (counters,) = [table for table in diagnosis.tables if table.name.endswith("_sequences")]
        assert (counters.uses["atomic"], counters.uses["sort-key"]) == (["counters", "history"], ["history"])
        assert diagnosis.away == {}
        assert {table.refused for table in diagnosis.tables} == {None}

    def test_what_a_role_may_do(self) -> None:
        """When it is asked to, it tries each operation, and stores nothing; the engine knows no roles."""
        with tapped() as wire:
            diagnosis = diagnose(thorough=True)
        tried = [wire.operations.count(name) for name in ("Query", "PutItem", "UpdateItem")]
        assert tried == [len(diagnosis.tables)] * 3
        assert [table.refused for table in diagnosis.tables] == [[]] * len(diagnosis.tables)
        found = {finding.about: finding for finding in diagnosis.findings}
        assert (found["permissions"].verdict, found["transport"].verdict) == (GOOD, GOOD)
        assert found["who am I"].reason == "This engine is not AWS: anybody may do everything."
        assert (found["who am I"].verdict, found["who am I"].failure) == (UNKNOWN, False)

    def test_who_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The name is told, or why it could not be asked for, which is no failure."""
        monkeypatch.setattr(dynamodb, "caller", lambda alias: f"arn of {alias}")
        assert doctor._caller("default") == "arn of default"
        monkeypatch.setattr(dynamodb, "caller", mock.Mock(side_effect=StorageRefused("It is refused.")))
        assert doctor._caller("default") == Unknown("It is refused.", failure=False)

    def test_what_is_tried(self) -> None:
        """A read of a key that no item has, and writes on a condition that nothing fulfils."""
        key = {"pk": {"S": "#health"}, "sk": {"N": "0"}}
        never = {
            "TableName": strategies["atomic"].schema.table,
            "ConditionExpression": "attribute_exists(#key) AND attribute_not_exists(#key)",
            "ExpressionAttributeNames": {"#key": "pk"},
        }
        assert doctor._tries(strategies["atomic"].schema) == {
            "query": {
                "TableName": strategies["atomic"].schema.table,
                "KeyConditionExpression": "#key = :key",
                "ExpressionAttributeNames": {"#key": "pk"},
                "ExpressionAttributeValues": {":key": {"S": "#health"}},
            },
            "put_item": {**never, "Item": key},
            "update_item": {**never, "Key": key},
        }

    def test_recovery(self) -> None:
        """It is read where the engine knows it."""
        with moto_engine(), sequence_tables() as made:
            recovery = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
            dynamodb.call("update_continuous_backups", {"TableName": made[0], **recovery})
            found = {one.subject: one.found for one in diagnose().findings if one.about == "point-in-time recovery"}
        assert found == {name: "on" if name == made[0] else "off" for name in made}

    @pytest.mark.needs_engine  # moto knows it
    def test_an_engine_that_does_not_know_an_operation(self) -> None:
        """The embedded engine knows no recovery: that is not known, and no failure."""
        found = {finding.about: finding for finding in diagnose().findings}
        assert found["point-in-time recovery"].verdict is UNKNOWN
        assert "does not know DescribeContinuousBackups" in found["point-in-time recovery"].reason
        assert found["table"].verdict is found["latency"].verdict is found["clock"].verdict is GOOD

    def test_a_permission_that_is_missing_is_named(self) -> None:
        """What the role may not ask is not known; the remedy names the permission."""
        denied = _refusal("AccessDeniedException", "not authorized")
        with handled({"before-call.dynamodb.DescribeTimeToLive": denied}):
            found = [finding for finding in diagnose().findings if finding.about == "expiry (TTL)"]
        assert {finding.verdict for finding in found} == {UNKNOWN}
        assert {finding.remedy for finding in found} == {
            "Allow dynamodb:DescribeTimeToLive in the policy of this role."
        }

    @pytest.mark.parametrize("code", ["UnrecognizedClientException", "ExpiredTokenException"])
    def test_wrong_credentials_are_no_missing_permission(self, code: str) -> None:
        """The reason is the error's own words, and no policy is a remedy."""
        refusal = _refusal(code, "The security token included in the request is invalid.")
        with handled({"before-call.dynamodb.DescribeTimeToLive": refusal}):
            found = [finding for finding in diagnose().findings if finding.about == "expiry (TTL)"]
        assert {(finding.verdict, finding.remedy, finding.failure) for finding in found} == {(UNKNOWN, "", True)}
        for finding in found:
            assert f"{code}: The security token included in the request is invalid." in finding.reason
            assert "Check the credentials" in finding.reason

    def test_a_missing_table_and_a_wrong_sequence(self, settings: Settings) -> None:
        """A table that is missing, and settings that are wrong, are findings; the rest is read."""
        entry = {"STRATEGY": f"{PATH}.atomic.AtomicCounter"}
        settings.SEQUENCES = {
            "there": entry,
            "missing": {**entry, "TABLE": "missing"},
            "wrong": {"STRATEGY": "no.such"},
        }
        diagnosis = diagnose()
        found = diagnosis.findings
        (missing,) = [table for table in diagnosis.tables if table.table is None]
        assert (missing.expiry, missing.recovery, missing.refused) == (None, None, None)
        unsound = {(finding.subject, finding.about) for finding in found if finding.verdict is UNSOUND}
        assert unsound == {(dynamodb.table_name("missing"), "table"), ("sequence wrong", "settings")}
        assert "no.such" in next(finding.found for finding in found if finding.subject == "sequence wrong")

    def test_a_client_without_a_table(self, settings: Settings) -> None:
        """How long its reads take is not known, and says why."""
        settings.SEQUENCES = {"missing": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "TABLE": "missing"}}
        settings.SEQUENCES["missing"]["OPTIONS"] = {"counter_table": "missing_too"}
        (latency,) = [finding for finding in diagnose().findings if finding.about == "latency"]
        assert (latency.verdict, latency.found, latency.remedy) == (UNKNOWN, "not known", "")
        assert (latency.reason, latency.failure) == ("None of its tables can be read.", False)
        assert [one.about for one in diagnose().findings if one.subject == "client default"] == ["latency"]

    def test_a_client_that_does_not_answer_is_asked_once(
        self, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After the first table nobody waits for the others of a client; those of another client are read."""
        entry = {"STRATEGY": f"{PATH}.atomic.AtomicCounter"}
        settings.SEQUENCES_CLIENTS = {"gone": {"ENDPOINT": "http://127.0.0.1:9"}}
        settings.SEQUENCES = {"gone": {**entry, "CLIENT": "gone"}, "here": entry}
        asked: list[str] = []

        class Noted(Deadline):
            def read(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
                asked.append(self.client)
                self.seconds = 1.0 if self.client == "gone" else self.seconds
                return super().read(operation, request)

        monkeypatch.setattr(doctor, "Deadline", Noted)
        dynamodb.shared_client("gone")  # to make it may take longer than the doctor has
        diagnosis = diagnose()
        assert asked.count("gone") == 1
        assert list(diagnosis.away) == ["gone"]
        (latency,) = [one for one in diagnosis.findings if one.subject == "client gone"]
        assert (latency.about, latency.reason, latency.failure) == ("latency", diagnosis.away["gone"], True)
        assert "Is an engine running" in diagnosis.away["gone"] or "not reachable" in diagnosis.away["gone"]
        assert [table.client for table in diagnosis.tables if isinstance(table.table, Unknown)] == ["gone", "gone"]

    def test_a_budget_that_is_spent(self) -> None:
        """What a page may not ask any more is not known."""
        with dynamodb.at_most(3) as budget:
            diagnosis = diagnose()
        assert budget.sent == 3
        assert isinstance(diagnosis.tables[1].table, Unknown)
        assert diagnosis.away == {}


def _refusal(code: str, message: str) -> Callable[..., tuple[AWSResponse, Mapping[str, Any]]]:
    """What answers in the engine's place with an error."""
    said = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return lambda **_: (AWSResponse("", 400, {}, None), said)  # type: ignore[arg-type]
