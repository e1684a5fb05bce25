"""The fault proxy does what its plan says and nothing else, on the embedded engine."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from zlib import crc32

import botocore.exceptions
import botocore.session
import pytest
import urllib3
from mypy_boto3_dynamodb import DynamoDBClient
from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

from project.proof.faults.clients import bare_client
from project.proof.faults.control import Proxy, proxy_before
from project.proof.faults.messages import Message, altered, read_message
from project.proof.faults.plans import CANCELLATIONS, CHANGES, CUTS, LOSSES, REJECTIONS, Plan, Request, Rule, rejection
from sequences.testing.embedded import Engine
from tests.sequences.support import wait_until

LOST = (
    botocore.exceptions.ConnectionClosedError,
    botocore.exceptions.HTTPClientError,
)
LATE_SECONDS = (0.5, 5.0)
"""How late a request is delivered: longer than it takes to look whether its item is stored, if need be by far."""


@pytest.fixture(scope="module")
def _proxy(engine: Engine) -> Iterator[Proxy]:
    """A proxy that no strategy knows: it counts the requests of these tests alone."""
    with proxy_before(engine.endpoint) as proxy:
        yield proxy


@pytest.fixture
def through(proxy: Proxy, faults_table: None) -> DynamoDBClient:
    """A client that uses the engine through the proxy."""
    return bare_client(proxy.endpoint)


@pytest.fixture
def direct(engine: Engine, faults_table: None) -> DynamoDBClient:
    """A client that uses the engine directly."""
    return bare_client(engine.endpoint)


def put(client: DynamoDBClient, key: str) -> None:
    """Store one item."""
    client.put_item(TableName="faults", Item={"pk": {"S": key}})


def put_two(client: DynamoDBClient, key: str) -> None:
    """Store two items in one transaction."""
    client.transact_write_items(
        TransactItems=[{"Put": {"TableName": "faults", "Item": {"pk": {"S": f"{key}-{n}"}}}} for n in range(2)]
    )


def is_stored(client: DynamoDBClient, key: str) -> bool:
    """Whether the item is stored."""
    return "Item" in client.get_item(TableName="faults", Key={"pk": {"S": key}}, ConsistentRead=True)


@pytest.fixture
def key() -> str:
    """A key that no other test uses."""
    return uuid.uuid4().hex


def test_passes_requests_unchanged(proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str) -> None:
    """Without a rule every request and every answer goes through, and is counted by operation."""
    put(through, key)
    assert is_stored(through, key)
    assert is_stored(direct, key)
    assert proxy.log.requests == {"PutItem": 1, "GetItem": 1}
    assert proxy.log.faults == []


def test_large_items_pass(through: DynamoDBClient, key: str) -> None:
    """An item of nearly 400 KB goes both ways."""
    item = {"pk": {"S": key}, "text": {"S": "x" * 390_000}}
    through.put_item(TableName="faults", Item=item)
    assert through.get_item(TableName="faults", Key={"pk": {"S": key}})["Item"] == item


@pytest.mark.parametrize("fault", ["lose-close", "lose-reset", "lose-hang"])
def test_lost_answer_after_commit(
    proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str, fault: str
) -> None:
    """The item is stored although the client got no answer; the next request is answered."""
    proxy.follow(Rule(fault=fault, operation="PutItem", count=1, seconds=0.2))
    with pytest.raises(LOST):
        put(through, key)
    assert is_stored(direct, key)
    assert is_stored(through, key)
    assert proxy.log.faults == [(1, "PutItem", fault)]


def test_hang_outlasts_the_client(proxy: Proxy, direct: DynamoDBClient, key: str) -> None:
    """A hang longer than the client's patience ends in its read timeout."""
    proxy.follow(Rule(fault="lose-hang", seconds=30))
    with pytest.raises(botocore.exceptions.ReadTimeoutError):
        put(bare_client(proxy.endpoint, read_timeout=0.2), key)
    wait_until(lambda: is_stored(direct, key))  # on a busy machine the client gives up before the engine has it


def test_500_after_commit(proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str) -> None:
    """The item is stored although the client is told of an internal error."""
    proxy.follow(Rule(fault="lose-500"))
    with pytest.raises(botocore.exceptions.ClientError, match="InternalServerError") as caught:
        put(through, key)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert is_stored(direct, key)


def raw(proxy: Proxy, operation: str, body: bytes) -> urllib3.BaseHTTPResponse:
    """Send a request without botocore, because botocore accepts damaged answers."""
    scope = "test/20300101/eu-central-1/dynamodb/aws4_request"
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "X-Amz-Date": "20300101T000000Z",
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
    }
    return urllib3.request("POST", proxy.endpoint, body=body, headers=headers, retries=False)


def test_checksum_alone_tells_an_altered_answer(proxy: Proxy, direct: DynamoDBClient, key: str) -> None:
    """The altered answer is JSON with status 200, and its checksum is that of the true one."""
    put(direct, key)
    proxy.follow(Rule(fault="lose-checksum", operation="Scan"))
    reply = raw(proxy, "Scan", b'{"TableName": "faults"}')
    assert reply.status == 200
    assert reply.json()
    assert crc32(reply.data) != int(reply.headers["x-amz-crc32"])


def test_truncated_after_commit(proxy: Proxy, direct: DynamoDBClient, key: str) -> None:
    """The item is stored although half of the answer is missing."""
    proxy.follow(Rule(fault="lose-truncated"))
    body = b'{"TableName": "faults", "Item": {"pk": {"S": "%s"}}}' % key.encode()
    with pytest.raises(urllib3.exceptions.ProtocolError):
        raw(proxy, "PutItem", body)
    assert is_stored(direct, key)


@pytest.mark.parametrize("body", [b"{}", b'{"ConsumedCapacity":{"CapacityUnits":1.0}}', b'{"N":"9"}', b""])
def test_altered_differs(body: bytes) -> None:
    """Every body is altered into another one."""
    assert altered(body) != body


@pytest.mark.parametrize("fault", ["drop-close", "drop-hang"])
def test_dropped_before_commit(
    proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str, fault: str
) -> None:
    """The client sees what it sees after a lost answer, but nothing is stored."""
    proxy.follow(Rule(fault=fault, seconds=0.2))
    with pytest.raises(LOST):
        put(through, key)
    assert not is_stored(direct, key)


def put_late(fault: str, put: Callable[[str], None], proxy: Proxy, direct: DynamoDBClient) -> str:
    """The key of an item that is put, and not stored yet. A busy machine may look too late, and puts another one."""
    for seconds in LATE_SECONDS:
        key = uuid.uuid4().hex
        proxy.follow(Rule(fault=fault, operation="PutItem", seconds=seconds))
        put(key)
        if not is_stored(direct, key):
            return key
    raise AssertionError("the item is stored at once")


def test_late_delivery(proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient) -> None:
    """The client has lost the connection and the item lands after that."""

    def lose(key: str) -> None:
        with pytest.raises(LOST):
            put(through, key)

    key = put_late("late", lose, proxy, direct)
    proxy.settle()
    assert is_stored(direct, key)


def test_late_delivery_to_a_patient_client(proxy: Proxy, direct: DynamoDBClient, key: str) -> None:
    """The client waits in vain until it gives up, and the item lands before or after that."""

    def give_up(key: str) -> None:
        with pytest.raises(botocore.exceptions.ReadTimeoutError):
            put(bare_client(proxy.endpoint, read_timeout=0.2), key)

    proxy.follow(Rule(fault="late-hang", operation="PutItem", seconds=0))
    give_up(key)
    late = put_late("late-hang", give_up, proxy, direct)
    wait_until(lambda: is_stored(direct, key))
    proxy.settle()
    assert is_stored(direct, late)


def test_duplicate(proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str) -> None:
    """The request is carried out and answered, and carried out once more after that."""
    proxy.follow(Rule(fault="duplicate", operation="UpdateItem", seconds=1))
    for client in (through, direct):
        hits = client.update_item(
            TableName="faults",
            Key={"pk": {"S": key}},
            UpdateExpression="ADD hits :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
            ReturnValues="UPDATED_NEW",
        )["Attributes"]["hits"]
        assert hits == {"N": "1" if client is through else "3"}
        proxy.settle()


def test_a_refused_request_is_not_doubled(proxy: Proxy, through: DynamoDBClient, key: str) -> None:
    """A request whose condition failed is not carried out later: its client has the true answer."""
    proxy.follow(Rule(fault="duplicate", seconds=60))
    with pytest.raises(through.exceptions.ConditionalCheckFailedException):
        through.delete_item(TableName="faults", Key={"pk": {"S": key}}, ConditionExpression="attribute_exists(pk)")
    assert proxy.log.names == ["duplicate"]
    assert proxy.log.late == 0


@pytest.mark.parametrize("fault", [fault for fault in REJECTIONS if fault != "TransactionInProgressException"])
def test_rejected_before_commit(
    proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str, fault: str
) -> None:
    """The client reads the error's code and status, and nothing is stored."""
    proxy.follow(Rule(fault=fault, count=1))
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        put(through, key)
    assert caught.value.response["Error"]["Code"] == fault
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == REJECTIONS[fault][0]
    assert not is_stored(direct, key)


@pytest.mark.parametrize("reason", CANCELLATIONS)
@pytest.mark.parametrize("place", [0, 1])
def test_cancelled_before_commit(
    proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str, reason: str, place: int
) -> None:
    """A cancelled transaction blames one action, says "None" of the others, and stores neither."""
    proxy.follow(Rule(fault=f"cancel-{reason}", action=place))
    with pytest.raises(direct.exceptions.TransactionCanceledException) as caught:
        put_two(through, key)
    codes = [entry["Code"] for entry in caught.value.response["CancellationReasons"]]
    assert codes == [reason if n == place else "None" for n in range(2)]
    assert not is_stored(direct, f"{key}-0")
    assert not is_stored(direct, f"{key}-1")


def test_cancellation_spares_single_writes(proxy: Proxy, through: DynamoDBClient, key: str) -> None:
    """A rule that cancels transactions lets a single write pass."""
    proxy.follow(Rule(fault="cancel-TransactionConflict"))
    put(through, key)
    assert proxy.log.faults == []


def test_errors_carry_a_right_checksum(proxy: Proxy) -> None:
    """An injected rejection is a whole answer in DynamoDB's form, with its checksum."""
    proxy.follow(Rule(fault="ThrottlingException"))
    reply = urllib3.request("POST", proxy.endpoint, body=b"{}", headers={"X-Amz-Target": "DynamoDB_20120810.PutItem"})
    assert reply.json()["__type"] == "com.amazon.coral.availability#ThrottlingException"
    assert crc32(reply.data) == int(reply.headers["x-amz-crc32"])


def test_delay(proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str) -> None:
    """A delayed request is answered as any other."""
    proxy.follow(Rule(fault="delay", seconds=0.05))
    put(through, key)
    assert is_stored(direct, key)
    assert proxy.log.names == ["delay"]


def test_forget_request_token(proxy: Proxy, through: DynamoDBClient, key: str) -> None:
    """A transaction that is sent again is carried out again, although it has the same token."""
    action: TransactWriteItemTypeDef = {
        "Update": {
            "TableName": "faults",
            "Key": {"pk": {"S": key}},
            "UpdateExpression": "ADD hits :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }
    for fault in ("delay", "forget-request-token"):
        proxy.follow(Rule(fault=fault, skip=1, seconds=0))
        for _ in range(2):
            through.transact_write_items(TransactItems=[action], ClientRequestToken=(fault + key)[:36])
    item = through.get_item(TableName="faults", Key={"pk": {"S": key}})["Item"]
    assert item["hits"] == {"N": "3"}


def test_partition(proxy: Proxy, through: DynamoDBClient, direct: DynamoDBClient, key: str) -> None:
    """During a partition open connections break and new ones are refused; after it all is well."""
    put(through, key)
    proxy.partition()
    try:
        with pytest.raises((*LOST, botocore.exceptions.EndpointConnectionError)):
            put(through, f"{key}-2")
        with pytest.raises(botocore.exceptions.EndpointConnectionError):
            put(bare_client(proxy.endpoint), f"{key}-2")
    finally:
        proxy.heal()
    assert not is_stored(direct, f"{key}-2")
    assert is_stored(bare_client(proxy.endpoint), key)


def test_rules_choose_by_operation_table_and_text(proxy: Proxy, through: DynamoDBClient, key: str) -> None:
    """Only a request that is of the operation, of the table and holds the text is hit."""
    proxy.follow(
        Rule(fault="ThrottlingException", operation="UpdateItem"),
        Rule(fault="ThrottlingException", table="another"),
        Rule(fault="ThrottlingException", contains="another text"),
        Rule(fault="RequestLimitExceeded", operation="PutItem", table="faults", contains=key),
    )
    with pytest.raises(botocore.exceptions.ClientError, match="RequestLimitExceeded"):
        put(through, key)


def test_errors_strike_only_who_can_raise_them() -> None:
    """A rule never makes an operation raise an error that the service's model denies it."""
    model = botocore.session.get_session().get_service_model("dynamodb")
    for operation in ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"):
        modeled = {shape.name for shape in model.operation_model(operation).error_shapes}
        for fault in set(REJECTIONS) & {shape.name for shape in model.error_shapes}:
            assert Rule(fault=fault).matches(Request(operation, b"")) <= (fault in modeled)


def test_table_of_a_transaction_matches(proxy: Proxy, through: DynamoDBClient, key: str) -> None:
    """A transaction matches every table that one of its actions names."""
    proxy.follow(Rule(fault="TransactionInProgressException", table="faults"))
    with pytest.raises(botocore.exceptions.ClientError, match="TransactionInProgressException"):
        put_two(through, key)


def test_skip_and_count(proxy: Proxy, through: DynamoDBClient, key: str) -> None:
    """A rule lets the first ones pass, hits as many as it may, and then leaves the rest alone."""
    proxy.follow(Rule(fault="ThrottlingException", skip=1, count=2))
    outcomes = []
    for _ in range(5):
        try:
            put(through, key)
            outcomes.append(True)
        except botocore.exceptions.ClientError:
            outcomes.append(False)
    assert outcomes == [True, False, False, True, True]
    assert proxy.log.counts == {"ThrottlingException": 2}


def test_same_seed_same_faults() -> None:
    """The same seed and order give the same faults, another seed gives others."""
    rules = [Rule(fault="lose-close", probability=0.3), Rule(fault="lose-500", probability=0.3)]
    requests = [Request("PutItem", b"%d" % n) for n in range(200)]

    def faults(seed: int) -> list[str | None]:
        plan = Plan(rules, seed)
        return [rule.fault if rule else None for rule in map(plan.fault_for, requests)]

    assert faults(1) == faults(1) != faults(2)
    assert {None, "lose-close", "lose-500"} == set(faults(1))


def test_a_rule_draws_for_itself() -> None:
    """What a rule does to the requests that it matches does not depend on other traffic."""
    plan, same = (Plan([Rule(fault="lose-close", operation="PutItem", probability=0.5)], 4) for _ in range(2))
    alone = [plan.fault_for(Request("PutItem", b"")) for _ in range(50)]
    mixed = []
    for _ in range(50):
        same.fault_for(Request("Query", b""))
        mixed.append(same.fault_for(Request("PutItem", b"")))
    assert alone == mixed


def test_plans_survive_json() -> None:
    """A plan is repeated from the line that was printed."""
    plan = Plan([Rule(fault="late", operation="PutItem", seconds=2.5, count=3)], 99)
    assert Plan.from_json(plan.to_json()) == plan


def test_unknown_fault_is_refused() -> None:
    """A plan with a fault that does not exist is refused and says which there are."""
    with pytest.raises(ValueError, match=r"'typo'; choose one of .*lose-close"):
        Rule(fault="typo")


def test_every_kind_of_fault_is_named_once() -> None:
    """No name stands for two faults."""
    names = [*LOSSES, *CUTS, *CHANGES, *REJECTIONS, *CANCELLATIONS]
    assert len(names) == len(set(names))


def test_rejections_count_actions() -> None:
    """The list of reasons has one entry for each action of the request, in their order."""
    body = b'{"TransactItems": [{"Put": {}}, {"Update": {}}, {"ConditionCheck": {}}]}'
    status, content = rejection(Rule(fault="cancel-ThrottlingError", action=-1), Request("TransactWriteItems", body))
    assert status == 400
    assert b'[{"Code": "None"}, {"Code": "None"}, {"Code": "ThrottlingError"' in content


async def read(wire: bytes) -> Message:
    """The first message of these bytes."""
    reader = asyncio.StreamReader()
    reader.feed_data(wire)
    return await read_message(reader)


def test_an_answer_in_chunks() -> None:
    """An answer that comes in chunks, as large ones of DynamoDB Local do, is passed on in one piece."""
    chunks = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nC: d\r\n\r\n"
    message = asyncio.run(read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n" + chunks + b"HTTP"))
    assert message.wire == b"HTTP/1.1 200 OK\r\nA: b\r\ncontent-length: 5\r\n\r\nabcde"
