"""That the units of the estimate are those which the engine charges, exactly, whatever the size and the token."""

import math
from typing import Any

import pytest
from pytest_django import Settings

from sequences import dynamodb, put_next, put_next_many
from sequences.exceptions import InvalidSequence
from sequences.ops.costs import PATTERNS, WritePattern, most_together, pattern_of, units
from sequences.registry import strategies
from sequences.strategies.transactional import TransactionalCounter
from sequences.types import Allocation
from tests.sequences.one_file import ReadThenPut
from tests.sequences.support import SEQUENCES, Wire, on_dynamodb_local, stored

NAMES = {
    "atomic": WritePattern.ADDITION,
    "optimistic-update": WritePattern.READ_AND_WRITE,
    "optimistic-put": WritePattern.READ_AND_WRITE,
    "transactional": WritePattern.TRANSACTION,
    "block": WritePattern.BLOCK,
    "sort-key": WritePattern.TAIL,
}
SIZES = (1024, 1025, 20 * 1024)


@pytest.fixture(autouse=True)
def steady(configured: str, unhurried: None, settings: Settings) -> None:
    """Blocks of 8, however fast they are used up, and no look at hosts or at items, however slow the machine is."""
    settings.SEQUENCES = {
        **SEQUENCES,
        "block": {**SEQUENCES["block"], "OPTIONS": {"block_size": 8, "max_block_size": 8}},
    }


@pytest.mark.needs_engine  # moto has no units for a transaction
class TestEngine:
    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("tokens", [False, True], ids=["plain", "token"])
    def test_one_number(self, name: str, size: int, tokens: bool, wire: Wire) -> None:
        """A caller alone is charged what the formula says: write units, read units, and requests."""
        scope, count = f"one-{size}-{tokens}", 8 if name == "block" else 2
        put(name, scope, size, "first" if tokens else None)
        for _ in range(count - 1 if name == "block" else 0):
            put(name, scope, size, None)  # the first block ends here, and the next is there
        wire.clear()
        write, read = 0.0, 0.0
        for number in range(count):
            allocation = put(name, scope, size, f"token-{number}" if tokens else None)
            write, read = write + allocation.write_units, read + allocation.read_units
        sent = len(wire.sent)
        told = units(NAMES[name], bytes_of(name, scope), tokens=tokens, block_size=count)
        if on_dynamodb_local():
            ahead = 1.0 if name == "block" else 0.0  # the next block, which no number shares yet
            assert write + read == pytest.approx(wire.units, abs=ahead)
        else:
            assert (write, read) == pytest.approx((count * told.write, count * told.read))
        if name != "block":  # it fetches in another thread, sooner or later
            assert sent == count * told.requests

    @pytest.mark.parametrize("name", ["sort-key", "transactional"])
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("tokens", [False, True], ids=["plain", "token"])
    def test_a_group(self, name: str, size: int, tokens: bool, wire: Wire) -> None:
        """Five items that one request stores are charged what the formula says of each in a group of five."""
        scope, together = f"group-{size}-{tokens}", 5
        put(name, scope, size, None)
        wire.clear()
        names = [f"token-{number}" for number in range(together)] if tokens else None
        allocations = put_next_many(
            name,
            [item(name, scope, size, names[0] if names else None)] * together,
            scope=scope,
            idempotency_tokens=names,
        )
        sent = len(wire.sent)
        told = units(NAMES[name], bytes_of(name, scope), tokens=tokens, together=together)
        write = sum(allocation.write_units for allocation in allocations)
        assert write == pytest.approx(wire.units if on_dynamodb_local() else together * told.write)
        assert sum(allocation.read_units for allocation in allocations) == told.read
        assert sent == pytest.approx(together * told.requests)

    @pytest.mark.parametrize("tokens", [False, True], ids=["plain", "token"])
    @pytest.mark.parametrize("name", ["sort-key", "transactional"])
    def test_the_largest_group(self, name: str, tokens: bool, wire: Wire) -> None:
        """One more than the largest group takes a second request."""
        most = most_together(NAMES[name], 100, tokens=tokens)
        put(name, f"most-{tokens}", 100, None)
        for count, requests in ((most, 1), (most + 1, 2)):
            wire.clear()
            names = [f"{count}-{number}" for number in range(count)] if tokens else None
            put_next_many(name, [{"title": "x"}] * count, scope=f"most-{tokens}", idempotency_tokens=names)
            assert len(wire.sent) == requests


@pytest.mark.needs_engine
@pytest.mark.usefixtures("configured")
def test_what_an_engine_reports(scope: str) -> None:
    """Three small rows of a transaction take 2 units each, by AWS's documentation. DynamoDB Local reports 4 in all.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html.
    """
    table = dynamodb.table_name("sequence_items")
    rows = [{"Put": {"TableName": table, "Item": {"pk": {"S": scope}, "sk": {"N": f"{n}"}}}} for n in range(3)]
    answer = dynamodb.call("transact_write_items", {"TransactItems": rows, "ReturnConsumedCapacity": "TOTAL"})
    assert dynamodb.used_units(answer) == (4.0 if on_dynamodb_local() else 6.0)


class TestShapes:
    def test_every_strategy_has_one(self) -> None:
        """Each strategy of the app can be estimated, and so can what is derived from it."""
        assert {pattern_of(type(name, (strategy,), {})) for name, strategy in zip("abcde", PATTERNS, strict=True)} == {
            *WritePattern
        }
        assert pattern_of(TransactionalCounter) is WritePattern.TRANSACTION

    def test_an_unknown_one(self) -> None:
        """Of a strategy of an application nothing is known, and the error says of which something is."""
        with pytest.raises(InvalidSequence, match=r"ReadThenPut cannot be estimated.*only of SortKeyMaximum, Tr"):
            pattern_of(ReadThenPut)

    def test_large_items(self) -> None:
        """4 MB hold ten items of 400 KB, and the counter takes one of a transaction's actions."""
        assert most_together(WritePattern.TAIL, 400 * 1024, tokens=False) == 10
        assert [most_together(WritePattern.TAIL, 64 * 1024 + more, tokens=False) for more in (0, 1)] == [64, 63]
        assert [most_together(WritePattern.TRANSACTION, 1000, tokens=tokens) for tokens in (False, True)] == [99, 49]


def put(name: str, scope: str, size: int, token: str | None) -> Allocation:
    """Store an item of this size under the next number."""
    return put_next(name, item(name, scope, size, token), scope=scope, idempotency_token=token)


def item(name: str, scope: str, size: int, token: str | None) -> dict[str, Any]:
    """An item that has exactly so many bytes when it is stored, with its key, number and token."""
    bare = {"text": "x"}
    return {"text": "x" * (size - whole_size(name, scope, bare, token) + 1)}


def whole_size(name: str, scope: str, filled: dict[str, Any], token: str | None) -> int:
    """The bytes of an item with what the strategy adds to it."""
    strategy = strategies[name]
    written = strategy.layout.written(scope, 1, token or "t" * 32, "", own_key=False)
    return size_of({**dynamodb.marshal(filled), **written})


def bytes_of(name: str, scope: str) -> int:
    """The bytes of the largest item that is stored in a scope."""
    return max(size_of(dynamodb.marshal(row)) for row in stored(name, scope).values())


def size_of(wire: dict[str, Any]) -> int:
    """The bytes of an item as DynamoDB counts them: names and texts in UTF-8, two digits of a number in a byte and one.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    total = 0
    for name, value in wire.items():
        ((kind, content),) = value.items()
        total += len(name.encode())
        total += len(content.encode()) if kind == "S" else math.ceil(len(content.strip("-")) / 2) + 1
    return total
