"""The template: its tables are those that `create_tables` makes, and no role deletes an item or a counter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from project.paths import ROOT
from sequences import dynamodb, exceptions
from sequences.exceptions import SequenceError
from sequences.logs import JSONFormatter
from sequences.ops.deployment import ROLES, tables, template, text_of
from sequences.ops.watching import ALARMS, FILTERS, alarms_table
from sequences.registry import strategies
from sequences.services.reporting import FOR_OPERATORS, failed, notify
from sequences.testing import moto_engine
from tests.sequences.support import handled

PATH = "sequences.strategies"
SEQUENCES: dict[str, dict[str, Any]] = {
    "block": {"STRATEGY": f"{PATH}.block.BlockAllocator", "OPTIONS": {"block_size": 8}},
    "padded": {
        "STRATEGY": f"{PATH}.sort_key.SortKeyMaximum",
        "TABLE": "padded_items",
        "OPTIONS": {"sort_key": "{value:010d}", "key_names": ("place", "number"), "marker_table": "markers"},
    },
    "again": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "TABLE": "padded_items-2", "OPTIONS": {}},
}
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
GIVEN: dict[str, str | int] = {"TablePrefix": "given_", "KmsKeyArn": KEY, "AWS::StackName": "shop"}
GIVEN |= {"MostReads": 400, "MostWrites": 200, "WarmReads": 24000, "WarmWrites": 8000}
OPTIONS = (
    "--most-reads=400",
    "--most-writes=200",
    "--warm-reads=24000",
    "--warm-writes=8000",
    "--protect",
    "--recoverable",
    f"--kms-key={KEY}",
)


@pytest.fixture
def _on_moto(settings: Settings) -> Iterator[None]:
    """The sequences above on moto, which knows the options of tables."""
    settings.SEQUENCES, settings.TABLE_PREFIX = SEQUENCES, "given_"
    with moto_engine():
        yield


def resolved(part: Any) -> Any:
    """A part of a template as CloudFormation reads it, with the parameters above."""
    if isinstance(part, list):
        return [resolved(one) for one in part]
    if not isinstance(part, dict):
        return part
    match part:
        case {"Ref": name}:
            return GIVEN[name]
        case {"Fn::Sub": text}:
            return text.replace("${TablePrefix}", "given_")
        case {"Fn::If": [_, then, _]}:
            return resolved(then)
    return {name: resolved(one) for name, one in part.items()}


def made(name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What DynamoDB says of a table, in the words of CloudFormation; of the guards of costs, what it was asked for."""
    about = dynamodb.call("describe_table", {"TableName": name})["Table"]
    expiry = dynamodb.call("describe_time_to_live", {"TableName": name})["TimeToLiveDescription"]
    backups = dynamodb.call("describe_continuous_backups", {"TableName": name})["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    tags = dynamodb.call("list_tags_of_resource", {"ResourceArn": about["TableArn"]})["Tags"]
    sse = about["SSEDescription"]
    return {
        "TableName": name,
        "KeySchema": about["KeySchema"],
        "AttributeDefinitions": about["AttributeDefinitions"],
        "BillingMode": about["BillingModeSummary"]["BillingMode"],
        "OnDemandThroughput": asked["OnDemandThroughput"],  # moto takes both, and forgets them
        "WarmThroughput": asked["WarmThroughput"],
        "DeletionProtectionEnabled": about["DeletionProtectionEnabled"],
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": recovery == "ENABLED"},
        "SSESpecification": {"SSEEnabled": True, "SSEType": sse["SSEType"], "KMSMasterKeyId": sse["KMSMasterKeyArn"]},
        "Tags": tags,
        **(
            {"TimeToLiveSpecification": {"AttributeName": expiry["AttributeName"], "Enabled": True}}
            if "AttributeName" in expiry
            else {}
        ),
    }


@pytest.mark.usefixtures("_on_moto")
def test_the_template_and_the_command_make_the_same_tables() -> None:
    """Keys, expiry, guards of costs, warmth, protection, recovery, encryption and tags are equal, table by table."""
    asked = dict[str, Any]()

    def keep(params: dict[str, Any], **_: object) -> None:
        asked[params["TableName"]] = params

    with handled({"provide-client-params.dynamodb.CreateTable": keep}):
        call_command("create_tables", *OPTIONS, "--tag", "application=shop", verbosity=0)
    found = {name: one for name, one in template()["Resources"].items() if one["Type"] == "AWS::DynamoDB::Table"}
    assert len(found) == len({table.schema.table for table in tables()}) == 5
    for resource in found.values():
        wanted = resolved(resource["Properties"])
        del wanted["ContributorInsightsSpecification"]
        assert made(wanted["TableName"], asked[wanted["TableName"]]) == wanted
        assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


@pytest.mark.usefixtures("_on_moto")
def test_an_index_takes_as_much_as_its_table(settings: Settings) -> None:
    """The guards of the costs and the warmth are on each index, too, in both ways to make it."""
    settings.SEQUENCES = {
        "any": {
            "STRATEGY": f"{PATH}.sort_key.SortKeyMaximum",
            "TABLE": "indexed",
            "INDEXES": {"by-status": {"status": "S", "sk": "N"}},
        }
    }
    asked = list[dict[str, Any]]()

    def keep(params: dict[str, Any], **_: object) -> None:
        asked.extend(params.get("GlobalSecondaryIndexes", ()))

    with handled({"provide-client-params.dynamodb.CreateTable": keep}):
        call_command("create_tables", *OPTIONS, verbosity=0)
    (made,) = properties("AWS::DynamoDB::Table")[0]["GlobalSecondaryIndexes"]
    assert resolved(made) == asked[0]
    assert asked[0]["WarmThroughput"] == {"ReadUnitsPerSecond": 24000, "WriteUnitsPerSecond": 8000}
    assert asked[0]["OnDemandThroughput"] == {"MaxReadRequestUnits": 400, "MaxWriteRequestUnits": 200}


@pytest.mark.usefixtures("_on_moto")
def test_tables_are_plain_without_options() -> None:
    """Without options a table has no guard, no protection and no tags."""
    call_command("create_tables", verbosity=0)
    about = dynamodb.call("describe_table", {"TableName": "given_padded_items"})["Table"]
    assert "SSEDescription" not in about
    assert not about["DeletionProtectionEnabled"]


@pytest.mark.parametrize(
    ("option", "message"), [("--most-reads=0", "a number of units a second"), ("--tag=shop", "give NAME=VALUE")]
)
def test_a_wrong_option_is_named(option: str, message: str) -> None:
    """A number that is none, or a tag without a value, makes no table."""
    with pytest.raises(CommandError, match=message):
        call_command("create_tables", option)


@pytest.mark.parametrize("role", ROLES)
def test_no_role_deletes_items_counters_or_tables(role: str, settings: Settings) -> None:
    """Where rows may be deleted, it is in named partitions alone; PartiQL, which cannot be held to these, is denied."""
    settings.SEQUENCES, settings.SEQUENCES_DELETABLE = SEQUENCES, {"padded_items": ["@*"]}
    statements = template()["Resources"][f"{role}Policy"]["Properties"]["PolicyDocument"]["Statement"]
    allowed = [one for one in statements if one.get("Effect") == "Allow"]
    deletes = [one for one in allowed if any("Delete" in action or "*" in action for action in one["Action"])]
    assert [one["Condition"] for one in deletes] == (
        [{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["@*"]}}] if role == "Web" else []
    )
    denied = {action for one in statements if one.get("Effect") == "Deny" for action in one["Action"]}
    assert {"dynamodb:DeleteTable", "dynamodb:PartiQLDelete", "dynamodb:PartiQLUpdate"} <= denied


def properties(kind: str) -> list[Mapping[str, Any]]:
    """The properties of all resources of one kind."""
    return [one["Properties"] for one in template()["Resources"].values() if one["Type"] == kind]


def counted(line: str) -> set[str]:
    """The metrics for which CloudWatch counts a line of the log."""
    fields = json.loads(line)

    def holds(name: str, sign: str, value: str) -> bool:
        wanted = json.loads(value)
        return name in fields and (fields[name] == wanted if sign == "=" else fields[name] >= wanted)

    found = set()
    for metric, pattern in FILTERS.items():
        terms = [holds(*term) for term in re.findall(r'\$\.(\w+) (=|>=) ("\w+"|\d+)', pattern)]
        assert terms
        found |= {metric} if (any(terms) if "||" in pattern else all(terms)) else set()
    return found


def test_the_template_of_the_sample_is_up_to_date() -> None:
    """deploy/dynamodb.json is what the command prints."""
    printed = StringIO()
    call_command("sequences", "template", stdout=printed)
    assert (ROOT / "deploy" / "dynamodb.json").read_text() == printed.getvalue()


def test_every_alarm_has_words_and_a_listener() -> None:
    """An alarm says what it means, is silent without data, and tells the topic if there is one."""
    alarms = properties("AWS::CloudWatch::Alarm")
    assert len(alarms) == len(ALARMS) + len(tables())
    for alarm in alarms:
        assert alarm["AlarmDescription"].endswith(".")
        assert alarm["TreatMissingData"] == "notBreaching"
        assert alarm["AlarmActions"] == {"Fn::If": ["HasTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}


def test_the_table_of_alarms_says_when_each_rings() -> None:
    """Its numbers are those of the template; the alarm of a table is there under its ending."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", alarms_table(), re.MULTILINE)
    made = {one["AlarmDescription"]: one for one in properties("AWS::CloudWatch::Alarm")}
    assert {name for name, *_ in rows} == {*ALARMS, "Limit"}
    for _, about, rings_if in rows:
        alarm = made.pop(about)
        seconds = alarm.get("Period") or alarm["Metrics"][1]["MetricStat"]["Period"]
        spans = [alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]] if alarm["EvaluationPeriods"] > 1 else []
        few = [5] if alarm["Threshold"] == 1 and "Metrics" in alarm else []
        assert [int(one) for one in re.findall(r"\d+", rings_if)] == [alarm["Threshold"], *few, seconds // 60, *spans]
    assert made == {}


def test_the_words_of_thresholds() -> None:
    """A sum or a share in one span, and in how many spans of how many, if more than one is looked at."""
    words = re.findall(r"\| `(\w+)` \| .* \| (.*) \|$", alarms_table(), re.MULTILINE)
    assert dict(words) == {
        **dict.fromkeys(("WentBack", "Refused", "UsedUp"), "at least 1 in 1 min"),
        "NearlyUsedUp": "at least 1 in 5 min",
        "GaveUp": "at least 5 in 1 min, in 3 of 5 such spans",
        **dict.fromkeys(
            ("FailedRequests", "SlowRequests"),
            "at least 1 % of the requests, and 5, in 1 min, in 3 of 5 such spans",
        ),
        "Limit": "at least 300 in 5 min, in 3 of 3 such spans",
    }


def test_no_alarm_rings_for_what_is_designed() -> None:
    """Of DynamoDB's metrics none is watched that counts a hot key, lost races, or single failures."""
    watched = set(re.findall(r'"MetricName": "(\w+)"', json.dumps(properties("AWS::CloudWatch::Alarm"))))
    assert watched - FILTERS.keys() == {
        f"{kind}{limit}ThrottleEvents"
        for kind in ("Read", "Write")
        for limit in ("MaxOnDemandThroughput", "AccountLimit")
    }


def test_each_filter_counts_for_an_alarm() -> None:
    """Every metric of the log is watched, in the name of its stack, so that two stacks stay apart."""
    filters, alarms = properties("AWS::Logs::MetricFilter"), json.dumps(properties("AWS::CloudWatch::Alarm"))
    (made,) = zip(*(one["MetricTransformations"] for one in filters), strict=True)
    assert {one["MetricName"] for one in made} == FILTERS.keys()
    assert [
        name for name in FILTERS if f'"Namespace": {{"Ref": "AWS::StackName"}}, "MetricName": "{name}"' not in alarms
    ] == []
    assert {json.dumps(one["MetricNamespace"]) for one in made} == {'{"Ref": "AWS::StackName"}'}


COUNTED: Mapping[type[SequenceError], str | None] = {
    exceptions.SequenceWentBack: "WentBack",
    exceptions.SequenceExhausted: "UsedUp",
    **dict.fromkeys((exceptions.SequenceContention, exceptions.SequenceUnavailable), "GaveUp"),
    **dict.fromkeys(
        (
            exceptions.AccessRefused,
            exceptions.NotConfigured,
            exceptions.RulesChanged,
            exceptions.SequenceUnsound,
            exceptions.StorageRefused,
            exceptions.TableMissing,
            exceptions.TableRestored,
        ),
        "Refused",
    ),
    # What no call ends with, as it is tried again, or is about pages of reports alone.
    **dict.fromkeys(
        (
            exceptions.BudgetSpent,
            exceptions.GaveUp,
            exceptions.NotWritten,
            exceptions.OutcomeUnknown,
            exceptions.StorageError,
            exceptions.Throttled,
            exceptions.WriteCancelled,
        ),
        None,
    ),
}


def test_every_error_for_operators_is_judged() -> None:
    """An error that is new gets its alarm, or the reason for none."""
    kinds = [one for one in vars(exceptions).values() if isinstance(one, type) and issubclass(one, FOR_OPERATORS)]
    assert set(kinds) == COUNTED.keys()


@pytest.mark.parametrize("kind", [kind for kind, name in COUNTED.items() if name])
def test_the_line_of_an_error_is_counted_once(kind: type[SequenceError], logged: pytest.LogCaptureFixture) -> None:
    """A call that ends with it counts for the one alarm that it has, as JSON writes its line."""
    more = {"attempts": 3, "seconds": 10.0} if issubclass(kind, exceptions.GaveUp) else {}
    failed(strategies["tickets"], "ABC", kind("No.", **more), 0.5)
    (record,) = logged.records
    assert counted(JSONFormatter().format(record)) == {COUNTED[kind]}


def test_the_line_of_a_nearly_used_up_scope_is_counted(settings: Settings, logged: pytest.LogCaptureFixture) -> None:
    """A warning before the end counts for its alarm, and nothing else does."""
    few = {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "MAXIMUM": 10}
    settings.SEQUENCES = {"few": few}
    with logged.at_level("INFO", "sequences"):
        notify(strategies["few"], None, [8])
        assert logged.records == []
        notify(strategies["few"], None, [10])
    (record,) = logged.records
    assert counted(JSONFormatter().format(record)) == {"NearlyUsedUp"}


def test_the_template_is_small(settings: Settings) -> None:
    """So many tables as docs/aws.md says fit into the 51,200 bytes that CloudFormation takes without a bucket."""
    (count,) = map(int, re.findall(r"More than (\d+) tables", (ROOT / "docs" / "aws.md").read_text(encoding="utf-8")))
    settings.SEQUENCES = {
        f"n{number}": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", "TABLE": f"shop_items_{number}"}
        for number in range(count - 1)
    }
    made = template()
    assert sum(one["Type"] == "AWS::DynamoDB::Table" for one in made["Resources"].values()) == count
    assert len(text_of(made).encode()) <= 51_200
    assert json.loads(text_of(made)) == made
