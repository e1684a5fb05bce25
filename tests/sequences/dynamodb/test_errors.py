"""Foreign errors become ours: which of them mean that nothing was written, and what the remedy is."""

from __future__ import annotations

import json
import re
import string
import time
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import botocore.exceptions
import botocore.parsers
import botocore.session
import pytest
import urllib3.exceptions
from botocore import xform_name
from pytest_django import Settings

import sequences
from sequences import dynamodb, exceptions, get_last_value, get_next_value, put_next
from sequences.changes import advance
from sequences.commit.retries import is_retryable, is_throttled
from sequences.dynamodb import translate_errors
from sequences.dynamodb.errors import ERRORS
from sequences.exceptions import (
    NotConfigured,
    NotWritten,
    OutcomeUnknown,
    SequenceError,
    SequenceUnavailable,
    StorageError,
    StorageRefused,
    TableMissing,
    Throttled,
    WriteCancelled,
)
from sequences.registry import strategies
from tests.sequences.support import Clock, Impostor, handled, made_anew, stored

ROOT = Path(sequences.__file__).parent.parent
CERTAIN = {"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError"}
"""The client errors of botocore that come before anything was sent."""


@cache
def operations_in_use() -> dict[str, Any]:
    """The operations of botocore's model whose method name stands as a text or an attribute in the code."""
    model = botocore.session.Session().get_service_model("dynamodb")
    by_method = {xform_name(name): name for name in model.operation_names}
    texts: set[str] = set()
    for path in [*ROOT.glob("sequences/**/*.py"), *ROOT.glob("tickets/**/*.py")]:
        texts |= {*re.findall(r"[.\"'](\w+)", path.read_text(encoding="utf-8"))}
    return {by_method[text]: model.operation_model(by_method[text]) for text in texts & set(by_method)}


def below(kind: type[Exception]) -> list[type[Exception]]:
    """A class and all its subclasses."""
    return [kind, *(deeper for direct in kind.__subclasses__() for deeper in below(direct))]


def botocore_errors() -> list[type[Exception]]:
    """The errors that botocore raises itself, each once."""
    found = {kind.__name__: kind for kind in below(botocore.exceptions.BotoCoreError)}
    return [kind for name, kind in sorted(found.items()) if kind.__module__.startswith("botocore")]


def an_error(kind: type[Exception]) -> Exception:
    """An error of this class, with something for each of its fields."""
    fields = [name for _, name, _, _ in string.Formatter().parse(getattr(kind, "fmt", "")) if name]
    given: dict[str, Any] = dict.fromkeys(fields, "something")
    if issubclass(kind, botocore.exceptions.WaiterError):
        given["last_response"] = {}
    return kind(**given)


def answered(code: str, status: int = 400, **answer: Any) -> botocore.exceptions.ClientError:
    """An error answer as botocore raises it."""
    answer["Error"] = {"Code": code, "Message": "said"}
    answer["ResponseMetadata"] = {"HTTPStatusCode": status}
    response: Any = answer
    return botocore.exceptions.ClientError(response, "PutItem")


def translated(error: Exception) -> Exception:
    """What becomes of a foreign error."""
    with pytest.raises(Exception) as caught, translate_errors("put_item"):
        raise error
    return caught.value


class TestTheModel:
    def test_every_operation_is_seen(self) -> None:
        """The operations that the code is known to call are found in it."""
        assert {"PutItem", "UpdateItem", "TransactWriteItems", "Query", "GetItem"} <= set(operations_in_use())

    def test_every_named_error_is_in_the_table(self) -> None:
        """The table holds every error that botocore's model names for an operation in use."""
        missing = {
            (name, shape.error_code)
            for name, operation in operations_in_use().items()
            for shape in operation.error_shapes
            if shape.error_code not in ERRORS
        }
        assert missing == set()

    @pytest.mark.parametrize("code", sorted(ERRORS))
    def test_every_error_of_the_table(self, code: str) -> None:
        """Each error of the table becomes ours, names the operation, and is chained."""
        foreign = answered(code)
        ours = translated(foreign)
        assert type(ours) is ERRORS[code]
        assert ours.__cause__ is foreign
        assert "put_item" in str(ours)
        assert "said" in str(ours)

    def test_a_busy_sts(self) -> None:
        """Who could not assume a role for now tries again."""
        assert type(translated(answered("Throttling"))) is NotWritten

    def test_what_is_ambiguous(self) -> None:
        """Of the named errors, these leave it open whether the write is stored."""
        ambiguous = {code for code, kind in ERRORS.items() if kind is OutcomeUnknown}
        assert ambiguous == {
            "InternalFailure",
            "InternalServerError",
            "ServiceUnavailable",
            "TransactionInProgressException",
        }

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (500, OutcomeUnknown),
            (503, OutcomeUnknown),
            (408, OutcomeUnknown),
            (429, Throttled),
            (400, StorageRefused),
            (418, StorageRefused),
        ],
    )
    def test_an_unknown_code(self, status: int, kind: type[SequenceError]) -> None:
        """An unknown error that is the engine's or a timeout leaves it open; an unknown refusal is permanent."""
        assert type(translated(answered("NeverHeardOf", status))) is kind

    def test_a_page_of_a_gateway(self) -> None:
        """What something between us and DynamoDB says is left out: it may repeat the request."""
        ours = translated(answered("502", 502))
        assert str(ours) == "put_item: HTTP 502, not from DynamoDB."

    @pytest.mark.parametrize(("operation", "unknown"), [("put_item", True), ("get_item", False)])
    def test_a_refusal_of_a_gateway(self, operation: str, unknown: bool) -> None:
        """A refusal that is not from DynamoDB is permanent, and leaves it open whether a write is stored."""
        words = r"HTTP 404, not from DynamoDB\. Check the endpoint"
        with pytest.raises(StorageRefused, match=words) as caught, translate_errors(operation):
            raise answered("404", 404)
        assert caught.value.outcome_unknown is unknown

    def test_remedies(self) -> None:
        """A missing table and refused credentials name what to do."""
        assert "create_tables" in str(translated(answered("ResourceNotFoundException")))
        assert "credentials" in str(translated(answered("UnrecognizedClientException")))


@pytest.mark.parametrize(
    ("region", "said"),
    [
        ("us-eest-1", "Is 'us-eest-1' a Region? Set AWS_DEFAULT_REGION, or REGION in SEQUENCES_CLIENTS"),
        ("eu-west-1", "Is the network up?"),
        ("us-gov-west-1", "Is the network up?"),
    ],
)
def test_a_region_that_does_not_exist(region: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that leads nowhere because its Region is mistyped is told from a network that is down."""
    monkeypatch.delenv("AWS_ENDPOINT_URL_DYNAMODB", raising=False)
    lost = botocore.exceptions.EndpointConnectionError(endpoint_url=f"https://dynamodb.{region}.amazonaws.com/")
    with pytest.raises(NotWritten, match=re.escape(said)), translate_errors("put_item"):
        raise lost


class TestClientErrors:
    def test_no_foreign_error_escapes(self) -> None:
        """Every error class of botocore becomes one of ours."""
        assert len(botocore_errors()) > 50
        for kind in botocore_errors():
            ours = translated(an_error(kind))
            assert isinstance(ours, exceptions.StorageError), kind
            assert ours.__cause__ is not None, kind

    @pytest.mark.parametrize("kind", below(botocore.exceptions.HTTPClientError), ids=lambda kind: kind.__name__)
    def test_certain_or_ambiguous(self, kind: type[Exception]) -> None:
        """A request that was never sent is certain; every other error of the connection is ambiguous."""
        assert type(translated(an_error(kind))) is (NotWritten if kind.__name__ in CERTAIN else OutcomeUnknown)

    @pytest.mark.parametrize(
        "error",
        [
            botocore.exceptions.ChecksumError(checksum_type="a", expected_checksum="b", actual_checksum="c"),
            botocore.parsers.ResponseParserError("not JSON"),
            urllib3.exceptions.ProtocolError("cut"),
            ConnectionResetError("reset"),
            TimeoutError("too long"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_a_spoilt_answer(self, error: Exception) -> None:
        """An answer that cannot be read leaves it open whether the write is stored."""
        assert type(translated(error)) is OutcomeUnknown

    def test_our_own_mistakes_are_not_hidden(self) -> None:
        """An error that does not come from the connection is not a storage error."""
        assert isinstance(translated(ZeroDivisionError()), ZeroDivisionError)
        assert type(translated(ValueError("of ours"))) is ValueError
        assert type(translated(RuntimeError("of ours"))) is RuntimeError


class TestReasons:
    def test_of_a_transaction(self) -> None:
        """Cancellation reasons keep the order of the actions, with the items that were found."""
        reasons = [
            {"Code": "None"},
            {"Code": "ConditionalCheckFailed", "Message": "no", "Item": {"n": {"N": "7"}}},
            {"Code": "TransactionConflict"},
        ]
        ours = translated(answered("TransactionCanceledException", CancellationReasons=reasons))
        assert isinstance(ours, WriteCancelled)
        assert [reason.code for reason in ours.reasons] == ["None", "ConditionalCheckFailed", "TransactionConflict"]
        assert [reason.old for reason in ours.reasons] == [None, {"n": 7}, None]
        assert ours.reasons[1].message == "no"

    def test_of_a_single_write(self) -> None:
        """A write of one item has one reason, with the item that was found."""
        ours = translated(answered("ConditionalCheckFailedException", Item={"token": {"S": "t"}}))
        assert isinstance(ours, WriteCancelled)
        assert [(reason.code, reason.old) for reason in ours.reasons] == [("ConditionalCheckFailed", {"token": "t"})]

    def test_a_conflict_of_a_single_write(self) -> None:
        """A single write that conflicts with a transaction is retryable."""
        ours = translated(answered("TransactionConflictException"))
        assert isinstance(ours, WriteCancelled)
        assert is_retryable(ours.reasons)

    @pytest.mark.parametrize(
        ("codes", "healing"),
        [
            (["None", "TransactionConflict"], True),
            (["ThrottlingError", "ProvisionedThroughputExceeded"], True),
            (["TransactionConflict", "ConditionalCheckFailed"], False),
            (["ThrottlingError", "ValidationError"], False),
            (["None", "ItemCollectionSizeLimitExceeded"], False),
            (["NeverHeardOf"], False),
            (["None"], False),
        ],
    )
    def test_what_heals(self, codes: list[str], healing: bool) -> None:
        """A write is retryable if each of its reasons is."""
        reasons = [{"Code": code} for code in codes]
        ours = translated(answered("TransactionCanceledException", CancellationReasons=reasons))
        assert isinstance(ours, WriteCancelled)
        assert is_retryable(ours.reasons) is healing

    @pytest.mark.parametrize(
        ("codes", "throttled"),
        [
            (["None", "ThrottlingError"], True),
            (["ThrottlingError", "ProvisionedThroughputExceeded"], True),
            (["ThrottlingError", "TransactionConflict"], False),
            (["ThrottlingError", "ConditionalCheckFailed"], False),
            (["None"], False),
        ],
    )
    def test_a_throttled_transaction(self, codes: list[str], throttled: bool) -> None:
        """A transaction is throttled if it lacks capacity units and nothing else."""
        reasons = [{"Code": code} for code in codes]
        ours = translated(answered("TransactionCanceledException", CancellationReasons=reasons))
        assert isinstance(ours, StorageError)
        assert is_throttled(ours) is throttled

    def test_on_the_engine(self, configured: str, scope: str) -> None:
        """The engine's own answer is read the same way: only the second action's item was there."""
        table = dynamodb.table_name("sequence_items")

        def put(number: int) -> dict[str, Any]:
            return {
                "TableName": table,
                "Item": {"pk": {"S": scope}, "sk": {"N": str(number)}, "token": {"S": f"t{number}"}},
                "ConditionExpression": "attribute_not_exists(pk)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }

        dynamodb.call("put_item", put(2))
        with pytest.raises(WriteCancelled) as caught:
            dynamodb.call("transact_write_items", {"TransactItems": [{"Put": put(n)} for n in (1, 2, 3)]})
        assert [reason.code for reason in caught.value.reasons] == ["None", "ConditionalCheckFailed", "None"]
        assert caught.value.reasons[1].old == {"pk": scope, "sk": 2, "token": "t2"}


PAGES = (300, 301, 304, 307, 400, 403, 404, 413)
NO_OBJECTS = [b"[1]", b"null", b"5", b'"text"']


class TestOnTheLine:
    @pytest.fixture(autouse=True, params=[True, False], ids=["lean", "boto3"])
    def _client(self, request: pytest.FixtureRequest, settings: Settings) -> None:
        """Each client in turn."""
        settings.SEQUENCES_CLIENTS = {"default": {"LEAN": request.param}}

    @pytest.mark.parametrize(
        ("attributes", "kind"),
        [
            ({"checksum": 1}, OutcomeUnknown),
            ({"checksum": "none"}, OutcomeUnknown),
            ({"body": b"", "cut": 10}, OutcomeUnknown),
            ({"status": 400, "body": b'{"__type":"x#ValidationException","Mess', "cut": 10}, OutcomeUnknown),
            ({"body": b"<html>Welcome</html>"}, OutcomeUnknown),
            ({"status": 500, "body": b"<html>"}, OutcomeUnknown),
            ({"status": 503, "body": b""}, OutcomeUnknown),
            ({"body": b'{"Attributes": {"t": {"S": "\xff"}}}'}, OutcomeUnknown),
            ({"status": 502, "body": "<html>pas trouvé</html>".encode("latin-1")}, OutcomeUnknown),
            *[({"status": status, "body": body}, OutcomeUnknown) for status in (200, 503) for body in NO_OBJECTS],
            ({"body": b'{"ConsumedCapacity": 5}'}, OutcomeUnknown),
            *[({"status": status, "body": b"{}"}, OutcomeUnknown) for status in (201, 202, 204, 206, 408, 429)],
            *[({"status": status, "body": b"<html>"}, StorageRefused) for status in PAGES],
            ({"status": 400, "body": json.dumps({"__type": "x#NeverHeardOf"}).encode()}, StorageRefused),
            ({"status": 400, "body": json.dumps({"__type": "x#ThrottlingException"}).encode()}, Throttled),
        ],
    )
    def test_answers(self, impostor: type[Impostor], attributes: dict[str, Any], kind: type[SequenceError]) -> None:
        """A spoilt answer and a failing engine leave the outcome unknown; a refusal does not."""
        for name, value in attributes.items():
            setattr(impostor, name, value)
        with pytest.raises(SequenceError) as caught:
            dynamodb.call("put_item", {"TableName": "items", "Item": {}})
        assert type(caught.value) is kind

    @pytest.mark.parametrize(
        ("operation", "request_", "member"),
        [
            ("query", {"TableName": "items"}, "Items"),
            ("update_item", {"TableName": "items", "ReturnValues": "UPDATED_NEW"}, "Attributes"),
            ("batch_get_item", {"RequestItems": {}}, "Responses"),
        ],
    )
    def test_an_answer_that_lacks_what_was_asked(
        self, impostor: type[Impostor], operation: str, request_: dict[str, Any], member: str
    ) -> None:
        """An answer without the member that every answer to its request has counts as damaged."""
        with pytest.raises(OutcomeUnknown, match=f"lacks its {member}"):
            dynamodb.call(operation, request_)

    def test_our_own_mistake(self, impostor: type[Impostor]) -> None:
        """An error before anything is sent is not a lost answer, and its cause is not hidden."""
        with pytest.raises(NotWritten) as caught:
            dynamodb.call("put_item", {"TableName": "items", "Item": object()})
        assert isinstance(caught.value.__cause__, AttributeError | TypeError)

    def test_the_engines_clock(self, impostor: type[Impostor], monkeypatch: pytest.MonkeyPatch) -> None:
        """The time is that of the engine's answers, however far this machine's clock is off or jumps."""
        impostor.date = "Sat, 01 Jan 2000 00:00:00 GMT"
        for _ in range(2):  # the first one is far from this machine's clock
            dynamodb.call("put_item", {"TableName": "items", "Item": {}})
        monkeypatch.setattr(time, "time", lambda: 4_000_000_000.0)
        assert 946_684_800 <= dynamodb.now() < 946_684_830
        impostor.date = "no date at all"
        dynamodb.call("put_item", {"TableName": "items", "Item": {}})
        assert 946_684_800 <= dynamodb.now() < 946_684_830
        dynamodb.reset()
        assert dynamodb.now() == 4_000_000_000.0

    def test_the_right_checksum(self, impostor: type[Impostor]) -> None:
        """An answer with the right checksum is taken."""
        impostor.checksum = zlib.crc32(impostor.body)
        dynamodb.call("put_item", {"TableName": "items", "Item": {}})

    def test_one_call_is_one_request(self, impostor: type[Impostor]) -> None:
        """The client itself never repeats a request."""
        seen: list[int] = []
        impostor.status, impostor.body = 500, b"{}"
        impostor.log_request = lambda *_: seen.append(1)  # type: ignore[method-assign]
        with pytest.raises(OutcomeUnknown):
            dynamodb.call("put_item", {"TableName": "items", "Item": {}})
        assert seen == [1]


@pytest.mark.real_dynamodb  # of which there is none here
class TestSetUp:
    @pytest.fixture(autouse=True)
    def a_bare_machine(self, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[None]:
        """No credentials, no Region and no files of them; then a fresh client."""
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "AWS_REGION"):
            monkeypatch.delenv(name, raising=False)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            monkeypatch.setenv(name, "/nonexistent")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        settings.SEQUENCES = {
            "atomic": {"STRATEGY": "sequences.strategies.AtomicCounter", "OPTIONS": {"deadline": 60.0}},
            "sorted": {"STRATEGY": "sequences.strategies.SortKeyMaximum", "OPTIONS": {"deadline": 60.0}},
        }
        strategies.reset()
        yield
        strategies.reset()

    @pytest.mark.parametrize("alias", ["atomic", "sorted"])
    def test_no_region(self, alias: str) -> None:
        """Without a Region the error names the variable that holds it."""
        with pytest.raises(NotConfigured, match="AWS_DEFAULT_REGION"):
            put_next(alias, {})

    @pytest.mark.parametrize("alias", ["atomic", "sorted"])
    def test_no_credentials(self, alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without credentials the error names the variables that hold them."""
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        with pytest.raises(NotConfigured, match="AWS_ACCESS_KEY_ID"):
            put_next(alias, {})
        with pytest.raises(NotConfigured, match="AWS_ACCESS_KEY_ID"):
            get_last_value(alias)

    @pytest.mark.parametrize("endpoint", ["nonsense", "http://", "http://bad host:1"])
    @pytest.mark.parametrize("alias", ["atomic", "sorted"])
    def test_a_bad_endpoint(self, alias: str, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """An unusable endpoint is refused with the name of its variable."""
        self._configure(monkeypatch, endpoint)
        with pytest.raises(SequenceError, match="AWS_ENDPOINT_URL_DYNAMODB"):
            put_next(alias, {})

    @pytest.mark.parametrize("alias", ["atomic", "sorted"])
    def test_nobody_listens(
        self, alias: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, settings: Settings
    ) -> None:
        """An engine that is not there is asked until the deadline; the error names its address."""
        settings.SEQUENCES[alias]["OPTIONS"]["deadline"] = 2.0
        self._configure(monkeypatch, "http://127.0.0.1:9")
        monkeypatch.setitem(strategies._made, alias, made_anew(strategies[alias].config, timing=clock.timing()))
        with pytest.raises(SequenceUnavailable, match=r"AWS_ENDPOINT_URL_DYNAMODB=http://127\.0\.0\.1:9") as caught:
            put_next(alias, {})
        assert not caught.value.outcome_unknown

    @pytest.mark.parametrize("alias", ["atomic", "sorted"])
    def test_no_tables(self, alias: str, endpoint: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """A missing table is reported at once, with the command that creates it."""
        self._configure(monkeypatch, endpoint)
        settings.TABLE_PREFIX = "no_such_"
        for use in (put_next, lambda name, item: get_last_value(name)):
            with pytest.raises(TableMissing, match=r"manage\.py create_tables"):
                use(alias, {})

    def _configure(self, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
        strategies.reset()


class TestGateways:
    """A server between us and DynamoDB refuses a write after it has forwarded it."""

    @pytest.fixture
    def pages(self, configured: str) -> Iterator[list[str]]:
        """The operations whose next answer is replaced by a page."""
        operations: list[str] = []

        def replace(event_name: str, **_: object) -> None:
            operation = event_name.rsplit(".", 1)[1]
            if operation in operations:
                operations.remove(operation)
                raise answered("404", 404)

        with handled({"response-received.dynamodb": replace}):
            yield operations

    @pytest.mark.parametrize("name", ["atomic", "optimistic-update", "transactional", "block", "sort-key"])
    @pytest.mark.parametrize("token", [None, "a token"])
    def test_an_item(self, pages: list[str], scope: str, name: str, token: str | None) -> None:
        """The caller is told at once that his item may be stored, and a repeat with the same token finds it."""
        put_next(name, {}, scope=scope)
        pages += ["PutItem", "TransactWriteItems"]
        with pytest.raises(SequenceUnavailable, match="HTTP 404, not from DynamoDB") as caught:
            put_next(name, {}, scope=scope, idempotency_token=token)
        assert (caught.value.outcome_unknown, len(pages), len(stored(name, scope))) == (True, 1, 2)
        pages.clear()
        if token:
            assert put_next(name, {}, scope=scope, idempotency_token=token).replayed
            assert len(stored(name, scope)) == 2

    def test_a_value(self, pages: list[str], scope: str) -> None:
        """The caller is told at once that his value may be taken."""
        pages.append("UpdateItem")
        with pytest.raises(SequenceUnavailable, match="HTTP 404, not from DynamoDB") as caught:
            get_next_value("atomic", scope=scope)
        assert caught.value.outcome_unknown

    def test_a_read_before_the_write(self, pages: list[str], scope: str) -> None:
        """A page in the place of a read is a refusal for certain: nothing was written."""
        pages.append("Query")
        with pytest.raises(StorageRefused, match="HTTP 404, not from DynamoDB") as caught:
            put_next("sort-key", {}, scope=scope)
        assert not caught.value.outcome_unknown

    def test_a_change(self, pages: list[str], scope: str) -> None:
        """The caller of a guarded change is told at once that it may be stored."""
        put_next("atomic", {}, scope=scope)
        pages.append("TransactWriteItems")
        with pytest.raises(SequenceUnavailable, match="HTTP 404, not from DynamoDB") as caught:
            advance("atomic", to=50, scope=scope, by="ada", reason="a page")
        assert caught.value.outcome_unknown


def test_the_code_of_the_engine() -> None:
    """An error keeps the code that the engine gave; one without a code has none."""
    answers: list[tuple[Any, str]] = [({"Error": {"Code": "ValidationException"}}, "ValidationException"), ({}, "")]
    for answer, code in answers:
        with pytest.raises(StorageError) as caught, translate_errors("put_item"):
            raise botocore.exceptions.ClientError(answer, "PutItem")
        assert caught.value.code == code
