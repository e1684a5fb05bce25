"""What an operator gives to AWS: a CloudFormation template of the tables, who may do what with them, and alarms.

`manage.py sequences template` prints it for the setting SEQUENCES. Who deletes rows beside the items names their
partitions in the setting SEQUENCES_DELETABLE, as `{"tickets": ["#open"]}`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from .. import dynamodb
from ..dynamodb import Indexes
from ..dynamodb.expressions import MARKER_EXPIRY, KeySchema
from ..registry import strategies
from .tables import indexes_of, schemas_of
from .watching import alarms_of_log, alarms_of_table

Json = dict[str, Any]

READS = ("BatchGetItem", "ConditionCheckItem", "GetItem", "Query")
FACTS = ("DescribeContinuousBackups", "DescribeTable", "DescribeTimeToLive")
WRITES = ("PutItem", "UpdateItem")
SET_UP = ("CreateTable", "Scan", "TagResource", "UpdateContinuousBackups", "UpdateTimeToLive")
NEVER = ("DeleteTable", "PartiQLDelete", "PartiQLInsert", "PartiQLUpdate")
ROLES: Mapping[str, tuple[str, Sequence[str], bool]] = {
    "Reader": ("Reads numbers and their items: audits, reports.", (*READS, *FACTS), False),
    "Worker": ("Makes numbers, and stores their items.", (*READS, *FACTS, *WRITES), False),
    "Web": ("What a worker may, and deletes the rows that are named as deletable.", (*READS, *FACTS, *WRITES), True),
    "Administrator": ("Creates tables, and changes how they are kept.", (*READS, *FACTS, *WRITES, *SET_UP), False),
}
"""What each role is for, what it may do, and whether it may delete rows that are no items and no counters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table. `expires` says whether its markers expire."""

    schema: KeySchema
    expires: bool
    indexes: Indexes

    @property
    def name(self) -> str:
        """Its name without TABLE_PREFIX."""
        return self.schema.table.removeprefix(dynamodb.table_name(""))

    @property
    def resource(self) -> str:
        """The beginning of the names of what belongs to it in a template."""
        return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", self.name))


def tables() -> list[Table]:
    """The tables of all sequences of the default client, each once."""
    client = dynamodb.DEFAULT_CLIENT
    made = [strategies[alias] for alias in strategies if strategies[alias].config.client == client]
    schemas = dict.fromkeys(schema for strategy in made for schema in schemas_of(strategy))
    expiring = {strategy.markers.schema.table for strategy in made}
    return [
        Table(schema=one, expires=one.table in expiring, indexes=indexes_of(made, one.table, client)) for one in schemas
    ]


def template() -> Json:
    """The template: nothing in it deletes an item, a counter or a table, and removing the stack keeps the tables."""
    found = tables()
    resources = {f"{table.resource}Table": _table(table) for table in found}
    for table in found:
        resources |= dict(alarms_of_table(table.resource))
    resources |= dict(alarms_of_log())
    resources |= {f"{role}Policy": _policy(role, found) for role in ROLES}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "The DynamoDB tables of numbered items, who may do what with them, and alarms.",
        "Parameters": PARAMETERS,
        "Conditions": {name: {"Fn::Not": [{"Fn::Equals": [{"Ref": of}, no]}]} for name, (of, no) in CONDITIONS.items()},
        "Resources": resources,
        "Outputs": {f"{role}PolicyArn": {"Value": {"Ref": f"{role}Policy"}} for role in ROLES},
    }


def text_of(made: Json) -> str:
    """A template as text, with a line for each resource: CloudFormation counts spaces, too."""
    resources = _lines({name: _compact(resource) for name, resource in made["Resources"].items()})
    return _lines({name: _compact(part) for name, part in made.items()} | {"Resources": resources})


def _lines(parts: Mapping[str, str]) -> str:
    lines = ",\n".join(f'"{name}":{text}' for name, text in parts.items())
    return f"{{\n{lines}\n}}"


def _compact(part: Any) -> str:
    return json.dumps(part, separators=(",", ":"))


def _parameter(about: str, default: str | int, kind: str = "String", **more: Any) -> Json:
    return {"Type": kind, "Default": default, "Description": about, **more}


PARAMETERS = {
    "TablePrefix": _parameter("TABLE_PREFIX of the application.", "", AllowedPattern="[A-Za-z0-9_.-]*", MaxLength=64),
    "MostReads": _parameter("Read units a second of a table, as a guard of the costs.", 4000, "Number", MinValue=1),
    "MostWrites": _parameter("Write units a second of a table, as a guard of the costs.", 4000, "Number", MinValue=1),
    "WarmReads": _parameter(
        "Read units a second that a table can give at once, if WarmWrites is set.", 12000, "Number", MinValue=12000
    ),
    "WarmWrites": _parameter("Write units a second that a table can give at once; 0: as DynamoDB does.", 0, "Number"),
    "KmsKeyArn": _parameter("The key that encrypts the tables; empty for one that DynamoDB owns.", ""),
    "AlarmTopicArn": _parameter("The SNS topic that hears of alarms; empty for none.", ""),
    "LogGroupName": _parameter("The group of the application's log in JSON, which most alarms watch.", ""),
}
WARM = {"ReadUnitsPerSecond": {"Ref": "WarmReads"}, "WriteUnitsPerSecond": {"Ref": "WarmWrites"}}
MOST = {"MaxReadRequestUnits": {"Ref": "MostReads"}, "MaxWriteRequestUnits": {"Ref": "MostWrites"}}
CONDITIONS: Mapping[str, tuple[str, str | int]] = {
    "HasKey": ("KmsKeyArn", ""),
    "HasTopic": ("AlarmTopicArn", ""),
    "HasLog": ("LogGroupName", ""),
    "IsWarm": ("WarmWrites", 0),
}
"""Each condition with the parameter that it is about, and what that is without it."""


def _if(condition: str, then: Any) -> Json:
    return {"Fn::If": [condition, then, {"Ref": "AWS::NoValue"}]}


def _table(table: Table) -> Json:
    key = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": {"Ref": "KmsKeyArn"}}
    throughput = {"OnDemandThroughput": MOST, "WarmThroughput": _if("IsWarm", WARM)}
    expiry = {"AttributeName": MARKER_EXPIRY, "Enabled": True}
    return {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": {
            "TableName": {"Fn::Sub": f"${{TablePrefix}}{table.name}"},
            **dynamodb.table_shape(table.schema.keys, table.indexes, **throughput),
            "BillingMode": "PAY_PER_REQUEST",
            **throughput,
            "DeletionProtectionEnabled": True,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            "ContributorInsightsSpecification": {"Enabled": True, "Mode": "THROTTLED_KEYS"},
            "SSESpecification": _if("HasKey", key),
            **({"TimeToLiveSpecification": expiry} if table.expires else {}),
            "Tags": [{"Key": "application", "Value": {"Ref": "AWS::StackName"}}],
        },
    }


def _policy(role: str, found: Sequence[Table]) -> Json:
    about, actions, deletes = ROLES[role]
    arns: list[Any] = [{"Fn::GetAtt": [f"{table.resource}Table", "Arn"]} for table in found]
    arns += [{"Fn::Sub": f"${{{table.resource}Table.Arn}}/index/*"} for table in found if table.indexes]
    statements: list[Any] = [_statement("Allow", actions, arns)]
    deletable: Mapping[str, Sequence[str]] = getattr(settings, "SEQUENCES_DELETABLE", {}) if deletes else {}
    statements += [_deletion(table, deletable[table.name]) for table in found if table.name in deletable]
    statements.append(_statement("Deny", NEVER, arns))
    decrypt = {"Effect": "Allow", "Action": ["kms:Decrypt", "kms:DescribeKey"], "Resource": {"Ref": "KmsKeyArn"}}
    return {
        "Type": "AWS::IAM::ManagedPolicy",
        "Properties": {
            "Description": about,
            "PolicyDocument": {"Version": "2012-10-17", "Statement": [*statements, _if("HasKey", decrypt)]},
        },
    }


def _statement(effect: str, actions: Sequence[str], resources: Any) -> Json:
    return {"Effect": effect, "Action": [f"dynamodb:{action}" for action in actions], "Resource": resources}


def _deletion(table: Table, partitions: Sequence[str]) -> Json:
    """Deleting rows of these partitions, where no item and no counter is."""
    return {
        **_statement("Allow", ["DeleteItem"], {"Fn::GetAtt": [f"{table.resource}Table", "Arn"]}),
        "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [*partitions]}},
    }
