"""The client of the published recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3

from sequences.dynamodb import translate_errors

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = ["plain_client"]


def plain_client() -> DynamoDBClient:
    """A client with boto3's defaults, including its retries, as a reader of an article makes it."""
    with translate_errors("connect"):
        return boto3.client("dynamodb")
