"""What an operator gives to AWS: a CloudFormation template of the tables, who may do what with them, and alarms.

`manage.py sequences template` prints it for the setting SEQUENCES. Who deletes rows beside the items names their
partitions in the setting SEQUENCES_DELETABLE, as `{"tickets": ["#open"]}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from .. import dynamodb
from ..dynamodb import Indexes
from ..dynamodb.expressions import MARKER_EXPIRY, KeySchema
from ..registry import strategies
from .tables import indexes_of, schemas_of

__all__ = ["Table", "tables", "template"]

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
OPERATIONS = ("BatchGetItem", "GetItem", "PutItem", "Query", "TransactWriteItems", "UpdateItem")
ALARMS = {
    "WriteThrottles": ("WriteThrottleEvents", 1, "Writes are refused: see which key is hot."),
    "ReadThrottles": ("ReadThrottleEvents", 1, "Reads are refused."),
    "HotKey": ("WriteKeyRangeThroughputThrottleEvents", 1, "One key takes more than 1,000 write units a second."),
    "CostGuard": ("WriteMaxOnDemandThroughputThrottleEvents", 1, "Writes reach the maximum that guards the costs."),
    "Conflicts": ("TransactionConflict", 300, "Transactions meet more often than once a second."),
}
"""For each table: the metric, the sum in five minutes that alarms, and what it means."""
NEARLY_USED_UP = '"of the values up to"'
"""What the log line of a scope that nears its maximum has in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table under its name without TABLE_PREFIX. `expires` says whether its markers expire."""

    name: str
    schema: KeySchema
    expires: bool
    indexes: Indexes = field(default_factory=dict)

    @property
    def resource(self) -> str:
        """The beginning of the names of what belongs to it in a template."""
        return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", self.name))


def tables(client: str = dynamodb.DEFAULT_CLIENT) -> list[Table]:
    """The tables of all sequences of a client, each once."""
    made = [strategies[alias] for alias in strategies if strategies[alias].config.client == client]
    schemas = dict.fromkeys(schema for strategy in made for schema in schemas_of(strategy))
    expiring = {strategy.markers.schema.table for strategy in made}
    prefix = dynamodb.table_name("")
    return [
        Table(
            name=schema.table.removeprefix(prefix),
            schema=schema,
            expires=schema.table in expiring,
            indexes=indexes_of(made, schema.table, client),
        )
        for schema in schemas
    ]


def template(client: str = dynamodb.DEFAULT_CLIENT) -> Json:
    """The template: nothing in it deletes an item, a counter or a table, and removing the stack keeps the tables."""
    found = tables(client)
    resources = {f"{table.resource}Table": _table(table) for table in found}
    for table in found:
        resources |= dict(_alarms(table))
    resources |= _exhaustion()
    resources |= {f"{role}Policy": _policy(role, found) for role in ROLES}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "The DynamoDB tables of numbered items, who may do what with them, and alarms.",
        "Parameters": PARAMETERS,
        "Conditions": {name: {"Fn::Not": [{"Fn::Equals": [{"Ref": of}, ""]}]} for name, of in CONDITIONS.items()},
        "Resources": resources,
        "Outputs": {f"{role}PolicyArn": {"Value": {"Ref": f"{role}Policy"}} for role in ROLES},
    }


def _parameter(about: str, default: str | int, kind: str = "String", **more: Any) -> Json:
    return {"Type": kind, "Default": default, "Description": about, **more}


PARAMETERS = {
    "TablePrefix": _parameter("TABLE_PREFIX of the application.", "", AllowedPattern="[A-Za-z0-9_.-]*", MaxLength=64),
    "MostReads": _parameter("Read units a second of a table, as a guard of the costs.", 4000, "Number", MinValue=1),
    "MostWrites": _parameter("Write units a second of a table, as a guard of the costs.", 4000, "Number", MinValue=1),
    "KmsKeyArn": _parameter("The key that encrypts the tables; empty for one that DynamoDB owns.", ""),
    "AlarmTopicArn": _parameter("The SNS topic that hears of alarms; empty for none.", ""),
    "LogGroupName": _parameter("The log group of the application, for alarms about used-up values.", ""),
}
MOST = {"MaxReadRequestUnits": {"Ref": "MostReads"}, "MaxWriteRequestUnits": {"Ref": "MostWrites"}}
CONDITIONS = {"HasKey": "KmsKeyArn", "HasTopic": "AlarmTopicArn", "HasLog": "LogGroupName"}


def _if(condition: str, then: Any) -> Json:
    return {"Fn::If": [condition, then, {"Ref": "AWS::NoValue"}]}


def _table(table: Table) -> Json:
    key = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": {"Ref": "KmsKeyArn"}}
    expiry = {"AttributeName": MARKER_EXPIRY, "Enabled": True}
    return {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": {
            "TableName": {"Fn::Sub": f"${{TablePrefix}}{table.name}"},
            **dynamodb.table_shape(table.schema.keys, table.indexes, OnDemandThroughput=MOST),
            "BillingMode": "PAY_PER_REQUEST",
            "OnDemandThroughput": MOST,
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
    if deletes:
        statements += [_deletion(table) for table in found if table.name in _deletable()]
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


def _deletable() -> Mapping[str, Sequence[str]]:
    found: Mapping[str, Sequence[str]] = getattr(settings, "SEQUENCES_DELETABLE", {})
    return found


def _deletion(table: Table) -> Json:
    """Deleting rows of certain partitions, where no item and no counter is."""
    return {
        **_statement("Allow", ["DeleteItem"], {"Fn::GetAtt": [f"{table.resource}Table", "Arn"]}),
        "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [*_deletable()[table.name]]}},
    }


def _alarms(table: Table) -> Iterator[tuple[str, Json]]:
    named = {"Name": "TableName", "Value": {"Ref": f"{table.resource}Table"}}
    for name, (metric, threshold, about) in ALARMS.items():
        watched = {"Namespace": "AWS/DynamoDB", "MetricName": metric, "Dimensions": [named], "Statistic": "Sum"}
        yield f"{table.resource}{name}", _alarm(about, threshold, {**watched, "Period": 300})
    errors = [
        {
            "Id": f"m{index}",
            "ReturnData": False,
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/DynamoDB",
                    "MetricName": "SystemErrors",
                    "Dimensions": [named, {"Name": "Operation", "Value": operation}],
                },
                "Period": 300,
                "Stat": "Sum",
            },
        }
        for index, operation in enumerate(OPERATIONS)
    ]
    every = {"Id": "all", "Expression": "SUM(METRICS())", "Label": "System errors"}
    yield f"{table.resource}SystemErrors", _alarm("DynamoDB fails.", 1, {"Metrics": [every, *errors]})


def _alarm(about: str, threshold: int, watched: Json) -> Json:
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmDescription": about,
            **watched,
            "EvaluationPeriods": 1,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "Threshold": threshold,
            "TreatMissingData": "notBreaching",
            "AlarmActions": _if("HasTopic", [{"Ref": "AlarmTopicArn"}]),
        },
    }


def _exhaustion() -> dict[str, Json]:
    """An alarm when a scope has used nearly all of its values, which the application logs."""
    metric = {"MetricNamespace": "Sequences", "MetricName": "NearlyUsedUp", "MetricValue": "1"}
    found = {
        "Type": "AWS::Logs::MetricFilter",
        "Properties": {
            "LogGroupName": {"Ref": "LogGroupName"},
            "FilterPattern": NEARLY_USED_UP,
            "MetricTransformations": [metric],
        },
    }
    watched = {"Namespace": "Sequences", "MetricName": "NearlyUsedUp", "Statistic": "Sum", "Period": 300}
    alarm = _alarm("A scope has used nearly all of its values.", 1, watched)
    return {name: {**one, "Condition": "HasLog"} for name, one in (("NearlyUsedUp", found), ("Exhaustion", alarm))}
