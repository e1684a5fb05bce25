"""What a number costs: requests, units, the partitions that pay them, and money, by the setting SEQUENCES_PRICES.

DynamoDB's rules, from
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html:
a write takes 1 unit for each KB begun, in a transaction 2; a consistent read 1 unit for each 4 KB begun. A refused
conditional write takes what it would have taken, and a throttled request nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

from django.conf import settings

from ..dynamodb import write_units
from ..exceptions import InvalidSequence
from ..strategies import (
    AtomicCounter,
    BlockAllocator,
    OptimisticCounter,
    SortKeyMaximum,
    Strategy,
    TransactionalCounter,
)

MOST_ITEM_BYTES = 400 * 1024
"""DynamoDB's limit for an item."""
MOST_TRANSACTION_BYTES = 4 * 1024 * 1024
DEFAULT_PRICES = {"WRITE": "0.625", "READ": "0.125", "CURRENCY": "USD"}
"""Of a million units on demand in us-east-1 since 2024-11-01, from https://aws.amazon.com/dynamodb/pricing/on-demand/."""


@dataclass(frozen=True, slots=True)
class Use:
    """The write and the read units that a number takes of one partition."""

    write: float = 0.0
    read: float = 0.0


class WritePattern(Enum):
    """How a strategy counts: in words, its requests besides the write of the item, and the units of its counter.

    Several numbers share those, or a block does. Without such requests the callers of one process share the write of
    their items, and the processes of one host take turns.
    """

    TAIL = ("the highest item is remembered, and the number is the key of the next", 0, Use())
    TRANSACTION = ("the counter moves in the transaction of the items", 0, Use(2.0))
    ADDITION = ("an addition to the counter, then the item", 1, Use(1.0))
    READ_AND_WRITE = ("a read of the counter and a conditional write, then the item", 2, Use(1.0, 1.0))
    BLOCK = ("a block by an addition, then items from memory", 1, Use(1.0))

    def __init__(self, about: str, counting: int, counter: Use) -> None:
        self.counting, self.counter = counting, counter
        self.shares_writes = not counting


PATTERNS: dict[type[Strategy], WritePattern] = {
    SortKeyMaximum: WritePattern.TAIL,
    TransactionalCounter: WritePattern.TRANSACTION,
    AtomicCounter: WritePattern.ADDITION,
    OptimisticCounter: WritePattern.READ_AND_WRITE,
    BlockAllocator: WritePattern.BLOCK,
}


def pattern_of(strategy: type[Strategy]) -> WritePattern:
    """The pattern of a strategy, or of its parent class. Raises InvalidSequence if it has none."""
    for base in strategy.__mro__:
        if base in PATTERNS:
            return PATTERNS[base]
    known = ", ".join(known.__name__ for known in PATTERNS)
    raise InvalidSequence(f"{strategy.__name__} cannot be estimated: nothing is known of its costs, only of {known}.")


@dataclass(frozen=True, slots=True)
class Units:
    """What one number takes: requests, and units of the partitions of the item, of its marker and of its counter.

    A scope has a partition for its items and one for its markers. All counters of a sequence have one together.
    """

    requests: float
    item: Use
    marker: Use = Use()
    counter: Use = Use()

    @property
    def write(self) -> float:
        return self.item.write + self.marker.write + self.counter.write

    @property
    def read(self) -> float:
        return self.item.read + self.marker.read + self.counter.read


def read_units(size: int) -> int:
    """The units of a consistent read of so many bytes."""
    return -(-size // 4096)


def most_together(pattern: WritePattern, item_bytes: int, *, tokens: bool) -> int:
    """How many items one write of a pattern that shares writes can hold: a transaction has 100 actions and 4 MB."""
    actions = (100 - (pattern is WritePattern.TRANSACTION)) // (1 + tokens)
    return min(actions, MOST_TRANSACTION_BYTES // item_bytes)


def units(
    pattern: WritePattern, item_bytes: int, *, tokens: bool, together: float = 1.0, block_size: float = math.inf
) -> Units:
    """What one of `together` numbers takes that one request stores, or whose values one request takes.

    `item_bytes` is the item as it is stored, with its key, number and token. Nothing is read that a process remembers,
    and no race is lost. For 1 < together the item is in a transaction, if the pattern shares writes.

    With a token every item is in a transaction with its marker, which has less than 1 KB. A pattern that takes a value
    first also looks for the marker: 1 read unit. A counter has less than 1 KB, with all its tallies.
    """
    alone = not tokens and (together <= 1 or not pattern.shares_writes) and pattern is not WritePattern.TRANSACTION
    item = Use(write_units(item_bytes) * (1 if alone else 2))
    looks = 0.0 if pattern.shares_writes else 1.0 * tokens  # for the marker
    share = 1 / (block_size if pattern is WritePattern.BLOCK else together)
    requests = share if pattern.shares_writes else 1.0 + looks + pattern.counting * share
    counter = Use(pattern.counter.write * share, pattern.counter.read * share)
    return Units(requests, item, Use(2.0 * tokens, looks), counter)


def units_alone(strategy: Strategy, *, tokens: bool = False) -> tuple[float, float] | None:
    """The write and the read units of one number with an item of up to 1 KB, for a caller alone.

    With an idempotency token that is the most that a number takes, in a group, too. With the read of a process that
    does not remember the highest item, or the counter. None if nothing is known.
    """
    try:
        pattern = pattern_of(type(strategy))
    except InvalidSequence:
        return None
    taken = units(pattern, 1024, tokens=tokens, block_size=strategy.option.get("block_size", math.inf))
    return taken.write, taken.read + pattern.shares_writes


def prices() -> dict[str, Any]:
    """WRITE and READ, the price of a million units, and CURRENCY. Raises InvalidSequence, which names the wrong key."""
    given = getattr(settings, "SEQUENCES_PRICES", {})
    if not isinstance(given, Mapping):
        raise InvalidSequence(f"The setting SEQUENCES_PRICES must be a dict such as {DEFAULT_PRICES!r}.")
    if unknown := given.keys() - DEFAULT_PRICES.keys():
        raise InvalidSequence(f"SEQUENCES_PRICES: unknown key {min(unknown)!r}; known are {', '.join(DEFAULT_PRICES)}.")
    told = {**DEFAULT_PRICES, **given}
    return {name: _price(name, told[name]) for name in ("WRITE", "READ")} | {"CURRENCY": str(told["CURRENCY"])}


def _price(name: str, given: object) -> Decimal:
    try:
        price = Decimal(str(given))
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0:
        raise InvalidSequence(f"SEQUENCES_PRICES[{name!r}] is {given!r}; it must be a number from 0, such as '0.625'.")
    return price


def cost_of_units(write: float, read: float) -> Decimal:
    """The price of so many write and read units. Raises InvalidSequence for wrong prices."""
    price = prices()
    spent: Decimal = Decimal(str(write)) * price["WRITE"] + Decimal(str(read)) * price["READ"]
    return spent / 1_000_000


def cost_of_thousand(strategy: Strategy, *, tokens: bool = False) -> Decimal | None:
    """The price of a thousand numbers, each with an item of up to 1 KB, for a caller alone; see `units_alone`.

    None where the strategy does not say its units. Raises InvalidSequence for wrong prices.
    """
    taken = units_alone(strategy, tokens=tokens)
    return None if taken is None else cost_of_units(*taken) * 1000
