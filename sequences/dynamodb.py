"""The gate to DynamoDB: the only module that imports boto3 and botocore.

Here live the client, the way from Python values to attribute values and back, the translation of every foreign error
(`translate_errors`), consumed capacity, and the creation of tables. A call is one request: nothing here retries,
because layers of retries multiply and a replayed addition skips a value (`retries` is the one layer that does).

The client of this process is made on first use and shared by its threads; `reset` drops it, in a forked child too.
"""

from __future__ import annotations

import enum
import os
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import boto3
import botocore.config
import botocore.exceptions
import botocore.parsers
import urllib3.exceptions
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from django.conf import settings

from .exceptions import (
    AccessRefused,
    InvalidItem,
    NotConfigured,
    NotWritten,
    OutcomeUnknown,
    Reason,
    StorageError,
    StorageRefused,
    TableMissing,
    WriteCancelled,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

__all__ = [
    "ERROR_FATES",
    "Fate",
    "account",
    "call",
    "create_table",
    "delete_table",
    "expire_items",
    "item_size",
    "marshal",
    "plain_client",
    "reset",
    "shared_client",
    "table_name",
    "translate_errors",
    "unmarshal",
    "used_units",
]

CONNECT_SECONDS = 1.0
READ_SECONDS = 3.0
CONNECTIONS = 64


class Fate(enum.Enum):
    """What an error says about the request that met it."""

    CANCELLED = "a condition or another transaction stopped it; nothing was written"
    NOT_WRITTEN = "nothing was written, and the same request may succeed later"
    UNKNOWN = "it may have been written"
    REFUSED = "nothing was written, and it never will be"
    TABLE_MISSING = "a table does not exist"
    ACCESS_REFUSED = "the credentials or the policy refuse it"


# Every error that botocore's model names for the operations in use, and the common ones that it does not name
# (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html).
ERROR_FATES: Mapping[str, Fate] = {
    "ConditionalCheckFailedException": Fate.CANCELLED,
    "TransactionCanceledException": Fate.CANCELLED,
    "TransactionConflictException": Fate.CANCELLED,
    "LimitExceededException": Fate.NOT_WRITTEN,
    "ProvisionedThroughputExceededException": Fate.NOT_WRITTEN,
    "ReplicatedWriteConflictException": Fate.NOT_WRITTEN,
    "RequestLimitExceeded": Fate.NOT_WRITTEN,
    "ThrottlingException": Fate.NOT_WRITTEN,
    "InternalFailure": Fate.UNKNOWN,
    "InternalServerError": Fate.UNKNOWN,
    "ServiceUnavailable": Fate.UNKNOWN,
    # An earlier sending of the same transaction is still on its way.
    "TransactionInProgressException": Fate.UNKNOWN,
    "IdempotentParameterMismatchException": Fate.REFUSED,
    "ItemCollectionSizeLimitExceededException": Fate.REFUSED,
    "ResourceInUseException": Fate.REFUSED,
    "SerializationException": Fate.REFUSED,
    "UnknownOperationException": Fate.REFUSED,
    "ValidationException": Fate.REFUSED,
    "ResourceNotFoundException": Fate.TABLE_MISSING,
    "AccessDeniedException": Fate.ACCESS_REFUSED,
    "ExpiredTokenException": Fate.ACCESS_REFUSED,
    "IncompleteSignatureException": Fate.ACCESS_REFUSED,
    "InvalidSignatureException": Fate.ACCESS_REFUSED,
    "MissingAuthenticationTokenException": Fate.ACCESS_REFUSED,
    "UnrecognizedClientException": Fate.ACCESS_REFUSED,
}

_CONFIGURATION_ERRORS = (
    botocore.exceptions.NoCredentialsError,
    botocore.exceptions.PartialCredentialsError,
    botocore.exceptions.CredentialRetrievalError,
    botocore.exceptions.NoRegionError,
    botocore.exceptions.InvalidRegionError,
    botocore.exceptions.UnknownEndpointError,
    botocore.exceptions.EndpointProviderError,
    botocore.exceptions.TokenRetrievalError,
    botocore.exceptions.ProfileNotFound,
)
_NEVER_SENT = (
    botocore.exceptions.EndpointConnectionError,
    botocore.exceptions.ConnectTimeoutError,
    botocore.exceptions.ProxyConnectionError,
)
_ANSWER_LOST = (
    botocore.exceptions.HTTPClientError,
    botocore.exceptions.SSLError,  # a broken record, too, after the request was served
    botocore.exceptions.ChecksumError,
    botocore.parsers.ResponseParserError,
    urllib3.exceptions.HTTPError,
    OSError,
)


class _Client:
    """The client of this process, made on first use and then read without a lock."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._client: DynamoDBClient | None = None
        self.account = ""

    def get(self) -> DynamoDBClient:
        if self._client is None:
            with self._lock:
                if self._client is None:
                    self._make()
        assert self._client is not None
        return self._client

    def _make(self) -> None:
        session = boto3.session.Session()
        client = _make_client(session)
        credentials = session.get_credentials()
        self.account = (
            f"{client.meta.endpoint_url}|{client.meta.region_name}|{credentials.access_key if credentials else ''}"
        )
        self._client = client


def _make_client(session: boto3.session.Session) -> DynamoDBClient:
    config = botocore.config.Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        max_pool_connections=CONNECTIONS,
        parameter_validation=False,  # our requests are built by tested functions; validating costs a tenth of a write
        tcp_keepalive=True,
        user_agent=f"sequences Boto3/{boto3.__version__}",  # else botocore builds its own anew for each request
    )
    client = session.client("dynamodb", config=config)
    client.meta.events.register("response-received.dynamodb", _verify_body)
    return client


def _verify_body(response_dict: Mapping[str, Any] | None, **_: object) -> None:
    """Refuse an answer whose body is not the one DynamoDB sent.

    botocore takes a body that is no JSON for an empty answer, and checks the checksum in its legacy retry mode only.
    """
    if response_dict is None:
        return
    body, expected = response_dict["body"], response_dict["headers"].get("x-amz-crc32")
    if expected and expected != str(zlib.crc32(body)):
        raise botocore.exceptions.ChecksumError(
            checksum_type="crc32", expected_checksum=expected, actual_checksum="another"
        )
    if response_dict["status_code"] == 200 and not (body.startswith(b"{") and body.rstrip().endswith(b"}")):
        raise botocore.exceptions.ResponseStreamingError(error="the body is not a whole JSON object")


_shared = _Client()


def reset() -> None:
    """Forget the client, so that the next call makes one from the environment as it is then."""
    _shared.reset()


def shared_client() -> DynamoDBClient:
    """The client of this process, for those who count its requests. Raises NotConfigured."""
    with translate_errors("connect"):
        return _shared.get()


def plain_client() -> DynamoDBClient:
    """A client as the reader of an article makes it: botocore's defaults, its retries among them."""
    with translate_errors("connect"):
        return boto3.session.Session().client("dynamodb")


def account() -> str:
    """What tells the tables that this process reaches from others of the same name: the endpoint and the access key."""
    shared_client()
    return _shared.account


def call(operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Send one request, for example `call("put_item", {...})`, and return the answer.

    Raises the storage errors of `exceptions`, and nothing foreign.
    """
    with translate_errors(operation):
        answer: dict[str, Any] = getattr(_shared.get(), operation)(**request)
        return answer


@contextmanager
def translate_errors(operation: str) -> Iterator[None]:
    """Raise our own error for a foreign one, chained to it: what it means for the write, and the remedy."""
    try:
        yield
    except botocore.exceptions.ClientError as error:
        raise _translate_answer(operation, error) from error
    except _CONFIGURATION_ERRORS as error:
        raise NotConfigured(
            f"DynamoDB cannot be used: {error} Set AWS_DEFAULT_REGION and credentials (AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, a profile or a role), or AWS_ENDPOINT_URL_DYNAMODB for another engine."
        ) from error
    except _NEVER_SENT as error:
        raise NotWritten(f"{operation}: the engine is not reachable: {error} {_where()}") from error
    except _ANSWER_LOST as error:
        raise OutcomeUnknown(f"{operation}: the answer was lost: {error}") from error
    except botocore.exceptions.BotoCoreError as error:
        raise StorageRefused(f"{operation}: {error}") from error
    except ValueError as error:
        if "endpoint" in str(error).lower():
            raise NotConfigured(
                f"{error}. Set AWS_ENDPOINT_URL_DYNAMODB to an address like http://127.0.0.1:8001."
            ) from error
        raise


def _where() -> str:
    endpoint = os.environ.get("AWS_ENDPOINT_URL_DYNAMODB")
    return f"Is an engine running at AWS_ENDPOINT_URL_DYNAMODB={endpoint}?" if endpoint else "Is the network up?"


def _translate_answer(operation: str, error: botocore.exceptions.ClientError) -> StorageError:
    code = error.response.get("Error", {}).get("Code", "")
    text = f"{operation}: {code}: {error.response.get('Error', {}).get('Message', '')}"
    match ERROR_FATES.get(code, _fate_by_status(error)):
        case Fate.CANCELLED:
            return WriteCancelled(text, _reasons(code, error.response))
        case Fate.NOT_WRITTEN:
            return NotWritten(text)
        case Fate.UNKNOWN:
            return OutcomeUnknown(text)
        case Fate.TABLE_MISSING:
            return TableMissing(f"{text} Run `manage.py create_tables` with the same TABLE_PREFIX and endpoint.")
        case Fate.ACCESS_REFUSED:
            return AccessRefused(f"{text} Check the credentials and the policy of this role.")
        case _:
            return StorageRefused(text)


def _fate_by_status(error: botocore.exceptions.ClientError) -> Fate:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status >= 500 or status == 408:
        return Fate.UNKNOWN
    return Fate.NOT_WRITTEN if status == 429 else Fate.REFUSED


def _reasons(code: str, answer: Mapping[str, Any]) -> tuple[Reason, ...]:
    """The cancellation reasons in the order of the actions; a write of one item has one."""
    listed = answer.get("CancellationReasons")
    if listed is None:
        listed = [{"Code": code.removesuffix("Exception"), "Item": answer.get("Item")}]
    return tuple(
        Reason(
            code=reason.get("Code", "None"),
            old=unmarshal(reason["Item"]) if reason.get("Item") else None,
            message=reason.get("Message") or "",
        )
        for reason in listed
    )


def table_name(name: str) -> str:
    """The table's name in the store: with the setting TABLE_PREFIX before it."""
    return f"{getattr(settings, 'TABLE_PREFIX', '')}{name}"


_to_wire = TypeSerializer()


class _FromWire(TypeDeserializer):
    """Numbers come back as `int`; one with a fraction, which we never write, as `Decimal`."""

    def _deserialize_n(self, value: str) -> int | Decimal:
        number = Decimal(value)
        return int(number) if number == number.to_integral_value() else number


_from_wire = _FromWire()


def marshal(item: Mapping[str, Any]) -> dict[str, Any]:
    """Python values to attribute values. Raises InvalidItem, which names the attribute that DynamoDB cannot hold."""
    wire = {}
    for name, value in item.items():
        try:
            wire[name] = _to_wire.serialize(value)
        except Exception as error:  # the serializer raises TypeError, and whatever decimal's traps raise
            raise InvalidItem(f"The attribute {name!r} cannot be stored: {error}") from error
    return wire


def unmarshal(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Attribute values to Python values; numbers become `int`."""
    return {name: _from_wire.deserialize(value) for name, value in wire.items()}


def item_size(wire: Mapping[str, Any]) -> int:
    """An upper bound of an item's bytes in DynamoDB, cheap to compute: its attribute values as text."""
    return len(repr(wire).encode())


def used_units(answer: Mapping[str, Any]) -> float:
    """The capacity units that an answer reports, of all tables; 0.0 when it reports none."""
    consumed = answer.get("ConsumedCapacity") or ()
    tables = consumed if isinstance(consumed, list) else (consumed,)
    return float(sum(table.get("CapacityUnits", 0.0) for table in tables if table))


def create_table(name: str, key_names: tuple[str, str], sort_type: Literal["N", "S"]) -> bool:
    """Create one on-demand table with a string partition key and wait until it serves; False if it exists.

    `sort_type` is "N" or "S".
    """
    with translate_errors("create_table"):
        client = _shared.get()
        try:
            client.create_table(
                TableName=name,
                KeySchema=[
                    {"AttributeName": key_names[0], "KeyType": "HASH"},
                    {"AttributeName": key_names[1], "KeyType": "RANGE"},
                ],
                AttributeDefinitions=[
                    {"AttributeName": key_names[0], "AttributeType": "S"},
                    {"AttributeName": key_names[1], "AttributeType": sort_type},
                ],
                BillingMode="PAY_PER_REQUEST",
            )
        except client.exceptions.ResourceInUseException:
            return False
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
    return True


def expire_items(table: str, attribute: str) -> bool:
    """Let DynamoDB delete items whose `attribute` (seconds since 1970) has passed; False if it does so already."""
    description = call("describe_time_to_live", {"TableName": table})["TimeToLiveDescription"]
    if description["TimeToLiveStatus"] in ("ENABLED", "ENABLING"):
        return False
    wanted = {"Enabled": True, "AttributeName": attribute}
    call("update_time_to_live", {"TableName": table, "TimeToLiveSpecification": wanted})
    return True


def delete_table(name: str) -> None:
    """Delete one table and all its items; for tests and the lab."""
    call("delete_table", {"TableName": name})
