"""The template: its tables are those that `create_tables` makes, and no role deletes an item or a counter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from project.paths import ROOT
from sequences import dynamodb
from sequences.ops.deployment import ROLES, tables, template
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
GIVEN = {"TablePrefix": "given_", "MostReads": 400, "MostWrites": 200, "KmsKeyArn": KEY, "AWS::StackName": "shop"}
OPTIONS = ("--most-reads=400", "--most-writes=200", "--protect", "--recoverable", f"--kms-key={KEY}")


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
            return text.replace("${TablePrefix}", GIVEN["TablePrefix"])
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
        "OnDemandThroughput": asked["OnDemandThroughput"],  # moto takes it, and forgets it
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
    """Keys, expiry, guards of costs, protection, recovery, encryption and tags are equal, table by table."""
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


def test_the_template_of_the_sample_is_up_to_date() -> None:
    """deploy/dynamodb.json is what the command prints."""
    printed = StringIO()
    call_command("sequences", "template", stdout=printed)
    assert json.loads((ROOT / "deploy" / "dynamodb.json").read_text()) == json.loads(printed.getvalue())


def test_every_alarm_has_words_and_a_listener() -> None:
    """An alarm says what it means, is silent without data, and tells the topic if there is one."""
    alarms: list[Mapping[str, Any]] = [
        one["Properties"] for one in template()["Resources"].values() if one["Type"] == "AWS::CloudWatch::Alarm"
    ]
    assert len(alarms) == 6 * len(tables()) + 1
    for alarm in alarms:
        assert alarm["AlarmDescription"].endswith(".")
        assert alarm["TreatMissingData"] == "notBreaching"
        assert alarm["AlarmActions"] == {"Fn::If": ["HasTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
