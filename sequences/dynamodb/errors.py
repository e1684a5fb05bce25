"""What every foreign error means for a write, as one of our own errors, and what to do about it."""

from __future__ import annotations

import os
import re
import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from ..exceptions import (
    AccessRefused,
    CancellationReason,
    NotConfigured,
    NotWritten,
    OutcomeUnknown,
    StorageError,
    StorageRefused,
    TableMissing,
    Throttled,
    WriteCancelled,
)
from ..metrics.events import WRITES
from . import foreign
from .limits import Limit
from .values import unmarshal

INVALID = "ValidationException"
# What botocore's parser raises for a damaged answer. No base classes: a signal handler may raise its own exception.
UNREADABLE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


# Every error that botocore's model names for the operations in use, and the common ones that it does not name
# (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html).
ERRORS: Mapping[str, type[StorageError]] = {
    "ConditionalCheckFailedException": WriteCancelled,
    "TransactionCanceledException": WriteCancelled,
    "TransactionConflictException": WriteCancelled,
    "LimitExceededException": NotWritten,
    "Throttling": NotWritten,  # of STS, which is asked for the credentials of a role
    "ReplicatedWriteConflictException": NotWritten,
    "ProvisionedThroughputExceededException": Throttled,
    "RequestLimitExceeded": Throttled,
    "ThrottlingException": Throttled,
    "InternalFailure": OutcomeUnknown,
    "InternalServerError": OutcomeUnknown,
    "ServiceUnavailable": OutcomeUnknown,
    # An earlier send of the same transaction is still in progress.
    "TransactionInProgressException": OutcomeUnknown,
    "IdempotentParameterMismatchException": StorageRefused,
    "ContinuousBackupsUnavailableException": StorageRefused,
    "ItemCollectionSizeLimitExceededException": StorageRefused,
    "ResourceInUseException": StorageRefused,
    "SerializationException": StorageRefused,
    "UnknownOperationException": StorageRefused,
    INVALID: StorageRefused,
    "ResourceNotFoundException": TableMissing,
    "TableNotFoundException": TableMissing,
    "AccessDeniedException": AccessRefused,
    "ExpiredTokenException": AccessRefused,
    "IncompleteSignatureException": AccessRefused,
    "InvalidSignatureException": AccessRefused,
    "MissingAuthenticationTokenException": AccessRefused,
    "UnrecognizedClientException": AccessRefused,
}
_ADVICE: Mapping[type[StorageError], str] = {
    TableMissing: " Run `manage.py create_tables` with the same TABLE_PREFIX and endpoint.",
    AccessRefused: " Check the credentials and the policy of this role.",
}

# What botocore raises as an error of Python, what it is about, and the remedy.
_UNUSABLE = (
    (ValueError, "endpoint", "Set AWS_ENDPOINT_URL_DYNAMODB to an address like http://127.0.0.1:8001."),
    (RuntimeError, "refreshed credentials", "Set this machine's clock, or look at what gives it credentials."),
)


@cache
def _configuration_errors() -> tuple[type[Exception], ...]:
    exceptions = foreign.botocore.exceptions
    return (
        exceptions.NoCredentialsError,
        exceptions.PartialCredentialsError,
        exceptions.CredentialRetrievalError,
        exceptions.NoRegionError,
        exceptions.InvalidRegionError,
        exceptions.UnknownEndpointError,
        exceptions.EndpointProviderError,
        exceptions.TokenRetrievalError,
        exceptions.ProfileNotFound,
    )


@cache
def never_sent() -> tuple[type[Exception], ...]:
    """What botocore raises if no part of a request was sent."""
    exceptions = foreign.botocore.exceptions
    return (exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError, exceptions.ProxyConnectionError)


@cache
def answer_lost() -> tuple[type[Exception], ...]:
    """What botocore and urllib3 raise if a request may have been sent, and there is no whole answer."""
    exceptions = foreign.botocore.exceptions
    return (
        exceptions.HTTPClientError,
        exceptions.SSLError,
        exceptions.ChecksumError,
        foreign.botocore.parsers.ResponseParserError,
        foreign.urllib3.exceptions.HTTPError,
        OSError,
    )


@contextmanager
def translate_errors(operation: str, limit: Limit | None = None) -> Iterator[None]:
    """Raise our own error, chained to the foreign one. It says what happened to the write, and the remedy.

    The `limit` of the request tells whether any part of it was sent; without one that is unknown.
    """
    try:
        yield
    except foreign.botocore.exceptions.ClientError as error:
        translated = _translate_answer(operation, error)
        translated.code = error.response.get("Error", {}).get("Code", "")
        raise translated from error
    except _configuration_errors() as error:
        raise NotConfigured(
            f"DynamoDB cannot be used: {_said(error)} Set AWS_DEFAULT_REGION and credentials (AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, a profile or a role), or AWS_ENDPOINT_URL_DYNAMODB for another engine."
        ) from error
    except never_sent() as error:
        raise NotWritten(f"{operation}: the engine is not reachable: {_said(error)} {_where(error)}") from error
    except answer_lost() as error:
        if _is_refused_certificate(error):
            raise NotConfigured(
                f"{operation}: nothing was sent: {_said(error)} Name the endpoint as its certificate does, or name "
                "the file of the authority that signed it in AWS_CA_BUNDLE."
            ) from error
        if isinstance(error, foreign.botocore.exceptions.SSLError) and limit is not None and not limit.sent:
            raise NotWritten(f"{operation}: no secure connection: {_said(error)} {_where(error)}") from error
        raise OutcomeUnknown(f"{operation}: the answer was lost: {_said(error)}") from error
    except foreign.botocore.exceptions.BotoCoreError as error:
        raise StorageRefused(f"{operation}: {_said(error)}") from error
    except (ValueError, RuntimeError) as error:
        if remedy := _remedy(error):
            raise NotConfigured(f"{_said(error)} {remedy}") from error
        raise


def _remedy(error: Exception) -> str:
    """What to do about an error of Python that botocore raised; empty for any other."""
    said = str(error).lower()
    return next((remedy for kind, about, remedy in _UNUSABLE if isinstance(error, kind) and about in said), "")


def _is_refused_certificate(error: BaseException | None) -> bool:
    """Whether the certificate of the engine is not trusted, or is for another name, which is known before a request."""
    refused = ssl.SSLCertVerificationError, foreign.urllib3.util.ssl_match_hostname.CertificateError
    while error is not None and not isinstance(error, refused):
        error = error.__cause__ or error.__context__
    return error is not None


def _said(error: object) -> str:
    """The error's text as a sentence, without the name and password that an address in it may contain."""
    return f"{_without_secrets(str(error)).rstrip('.')}."


def _without_secrets(text: str) -> str:
    return re.sub(r"//[^/\s]*@", "//", text)


def _where(error: object) -> str:
    """What may be wrong with the way to the engine."""
    endpoint = _without_secrets(os.environ.get("AWS_ENDPOINT_URL_DYNAMODB", ""))
    if endpoint:
        return f"Is an engine running at AWS_ENDPOINT_URL_DYNAMODB={endpoint}?"
    named = re.search(r"//dynamodb\.([a-z0-9-]+)\.amazonaws\.", str(error))
    if named and named[1] not in _regions():
        return f"Is {named[1]!r} a Region? Set AWS_DEFAULT_REGION, or REGION in SEQUENCES_CLIENTS, as to 'eu-west-1'."
    return "Is the network up?"


@cache
def _regions() -> frozenset[str]:
    """The Regions with DynamoDB that this version of botocore knows."""
    session = foreign.botocore.session.get_session()
    partitions = session.get_available_partitions()
    return frozenset(name for one in partitions for name in session.get_available_regions("dynamodb", one))


def _translate_answer(operation: str, error: foreign.botocore.exceptions.ClientError) -> StorageError:
    """Our error. An answer without a name is not from DynamoDB, which may have served the request all the same."""
    code = error.response.get("Error", {}).get("Code", "")
    said = error.response.get("Error", {}).get("Message", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    # A gateway's error page has its HTTP status as code. Its text may repeat the request, so it is left out.
    named = code.isidentifier()
    text = f"{operation}: {code}: {said.rstrip('.')}." if named else f"{operation}: HTTP {status}, not from DynamoDB."
    kind = ERRORS.get(code) or _kind_by_status(status, named)
    if kind is WriteCancelled:
        return WriteCancelled(text, _reasons(code, error.response))
    if kind is StorageRefused and not named:
        refused = StorageRefused(f"{text} Check the endpoint, and what is between it and this machine.")
        refused.outcome_unknown = operation in WRITES
        return refused
    return kind(f"{text}{_ADVICE.get(kind, '')}")


def _kind_by_status(status: int, named: bool) -> type[StorageError]:
    """The error of an answer with a name that the table does not have, or of a page without any name."""
    if status == 429 and named:
        return Throttled
    return OutcomeUnknown if status >= 500 or status in (408, 429) else StorageRefused


def _reasons(code: str, answer: Mapping[str, Any]) -> tuple[CancellationReason, ...]:
    """The cancellation reasons in the order of the actions; one for a write of a single item."""
    listed = answer.get("CancellationReasons")
    if listed is None:
        listed = [{"Code": code.removesuffix("Exception"), "Item": answer.get("Item")}]
    return tuple(
        CancellationReason(
            code=reason.get("Code", "None"),
            old=unmarshal(reason["Item"]) if reason.get("Item") else None,
            message=reason.get("Message") or "",
        )
        for reason in listed
    )


_KEYS = re.compile(r"key schema|key element|(?:missing|required|mismatch for)(?: the)? keys?\b", re.IGNORECASE)
# DynamoDB says what is wrong with an invalid request, not where, and no remedy.
_REMEDIES = {
    _KEYS: "The table has other keys than the settings say: compare 'key_names', 'key_types' and 'sort_key' with "
    "what `manage.py sequences doctor` shows, or with the keys of an action in `also`.",
    re.compile(r"index", re.IGNORECASE): "An attribute is a key of an index: give it the type of that key, and no "
    "empty text, or leave it out.",
    re.compile(r"size", re.IGNORECASE): "An item has at most 400 KB, with the names of its attributes: keep large "
    "contents elsewhere, and their address in the item.",
}


def is_about_keys(error: StorageRefused) -> bool:
    """Whether a request is invalid because the table has other keys."""
    return bool(_KEYS.search(str(error)))


def complete(error: StorageRefused, sequence: str, request: Mapping[str, Any]) -> None:
    """Let the error of an invalid request say the sequence, the tables, and what to do."""
    of = f"of the sequence {sequence!r} " if sequence else ""
    said = f"{error}".rstrip(".")
    remedy = next((remedy for pattern, remedy in _REMEDIES.items() if pattern.search(said)), "")
    error.args = (f"{said}. The request {of}is for {', '.join(dict.fromkeys(tables_in(request)))}. {remedy}".rstrip(),)


def tables_in(request: Mapping[str, Any]) -> Iterator[str]:
    """The names of the tables that a request is for, as often as it names them."""
    if "TableName" in request:
        yield str(request["TableName"])
    for action in request.get("TransactItems", ()):
        yield from (part["TableName"] for part in action.values())
    yield from request.get("RequestItems", ())


def refuse_damaged(response_dict: Mapping[str, Any], **_: object) -> None:
    """Refuse an answer with a damaged body, before botocore reads it.

    botocore takes a body that is not JSON for an empty answer, does not count its bytes, and checks the checksum only
    in its legacy retry mode.
    """
    body, expected = response_dict["body"], response_dict["headers"].get("x-amz-crc32")
    if expected and expected != str(zlib.crc32(body)):
        raise foreign.botocore.exceptions.ChecksumError(
            checksum_type="crc32", expected_checksum=expected, actual_checksum="another"
        )
    length, status = response_dict["headers"].get("content-length", ""), response_dict["status_code"]
    if length.isdecimal() and int(length) != len(body) and status not in (204, 304):  # which have no body
        raise foreign.botocore.exceptions.ResponseStreamingError(error=f"{len(body)} bytes of {length}")
    if status < 300 and not (status == 200 and body.startswith(b"{") and body.rstrip().endswith(b"}")):
        raise foreign.botocore.exceptions.ResponseStreamingError(error=f"HTTP {status} without a whole JSON object")
