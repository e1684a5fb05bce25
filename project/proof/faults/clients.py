"""Clients of the engine without retries, for tests and for checks of what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["bare_client", "create_faults_table"]


def bare_client(endpoint: str, read_timeout: float = 5) -> DynamoDBClient:
    """A client that makes one attempt for each call, so that a test sees every fault."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=2,
        read_timeout=read_timeout,
        max_pool_connections=64,
    )
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        config=config,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def create_faults_table(client: DynamoDBClient) -> None:
    """Create the table `faults`, with the key `pk`."""
    client.create_table(
        TableName="faults",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
