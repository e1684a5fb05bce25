"""What numbers cost in money, and that the units behind it are those that the engine counts."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import override_settings

from sequences import put_next, put_next_many
from sequences.exceptions import InvalidSequence
from sequences.ops.checks import check_sequences
from sequences.ops.costs import cost_of_thousand, cost_of_units, prices, units_alone
from sequences.registry import strategies
from tests.sequences.support import COUNTERS, OWN, SORT_KEYS, Wire, on_dynamodb_local

ITEMS = 8


@pytest.mark.usefixtures("configured")
class TestUnits:
    @pytest.mark.parametrize("name", [name for name in (*COUNTERS, *SORT_KEYS) if name != "block"])
    def test_a_strategy_takes_the_units_that_it_says(self, name: str, wire: Wire) -> None:
        """One caller alone takes so many write units, and no more read units, for each number with its item."""
        units = units_alone(strategies[name])
        assert units is not None
        put_items(name, ITEMS)  # before that, a process looks at what is stored
        wire.clear()
        put_items(name, ITEMS)
        writes = sum(written(sent.operation, sent.body) for sent in wire.sent)
        assert writes == ITEMS * units[0]
        assert on_dynamodb_local() or wire.units - writes <= ITEMS * units[1]

    @pytest.mark.parametrize("name", ["atomic", "optimistic-update", "transactional", "sort-key"])
    @pytest.mark.parametrize("group", [1, 5])
    def test_a_token_takes_no_more_than_it_says(self, name: str, group: int, wire: Wire) -> None:
        """With tokens, alone and in a group, no number takes more write units; alone it takes exactly so many."""
        most = units_alone(strategies[name], tokens=True)
        assert most is not None
        put_next_many(name, [{}] * group, idempotency_tokens=[f"{name}{n}" for n in range(group)], scope=f"g{group}")
        wire.clear()
        put_next_many(name, [{}] * group, idempotency_tokens=[f"a{name}{n}" for n in range(group)], scope=f"g{group}")
        writes = sum(written(sent.operation, sent.body) for sent in wire.sent)
        assert writes <= group * most[0]
        assert group > 1 or writes == most[0]

    def test_a_block_is_shared(self) -> None:
        """The one write that reserves a block is shared by all its values."""
        assert units_alone(strategies["block"]) == (1 + 1 / 8, 0)
        assert cost_of_thousand(strategies["block"]) == Decimal("0.000703125")  # 0.625 a million write units

    def test_the_price_with_a_token(self) -> None:
        """The marker, and the look for it, cost too; a read costs a fifth of a write."""
        assert units_alone(strategies["atomic"], tokens=True) == (5, 1)
        assert cost_of_thousand(strategies["atomic"], tokens=True) == Decimal("0.00325")
        assert [units_alone(strategies[name]) for name in ("sort-key", "transactional")] == [(1, 1), (4, 1)]

    def test_a_strategy_that_does_not_say(self) -> None:
        """A strategy of an application need not say its units; then there is no price."""
        (name,) = OWN
        assert units_alone(strategies[name]) is None
        assert cost_of_thousand(strategies[name]) is None


def put_items(name: str, count: int) -> None:
    """Store items one after the other, each after whatever the process remembers is too old."""
    for _ in range(count):
        if name.startswith("sort-key"):
            strategies[name].forget()
        put_next(name, {}, scope="prices")


def written(operation: str, body: Any) -> float:
    """The write units of a request with small rows."""
    if operation == "TransactWriteItems":
        return 2.0 * len(body["TransactItems"])
    return 1.0 if operation in ("PutItem", "UpdateItem") else 0.0


class TestPrices:
    def test_the_defaults_can_be_replaced(self) -> None:
        """Without the setting the prices are those of AWS; each can be given as a number or a text."""
        assert prices() == {"WRITE": Decimal("0.625"), "READ": Decimal("0.125"), "CURRENCY": "USD"}
        with override_settings(SEQUENCES_PRICES={"WRITE": 1.25, "CURRENCY": "EUR"}):
            assert prices() == {"WRITE": Decimal("1.25"), "READ": Decimal("0.125"), "CURRENCY": "EUR"}
        with override_settings(SEQUENCES_PRICES={"WRITE": 0}):
            assert cost_of_units(1_000_000, 2_000_000) == Decimal("0.25")

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ([], "must be a dict"),
            ({"WRITES": 1, "READS": 1}, "unknown key 'READS'; known are WRITE, READ, CURRENCY"),
            ({"READ": "free"}, r"SEQUENCES_PRICES\['READ'\] is 'free'; it must be a number from 0"),
            ({"READ": -1}, "must be a number from 0"),
            ({"WRITE": "-0.1"}, "must be a number from 0"),
            ({"READ": "Infinity"}, "must be a number from 0"),
            ({"READ": "NaN"}, "must be a number from 0"),
        ],
    )
    def test_wrong_prices_are_named(self, given: Any, said: str) -> None:
        """A wrong key says which it is and what it must be."""
        with override_settings(SEQUENCES_PRICES=given, SEQUENCES={}):
            with pytest.raises(InvalidSequence, match=said):
                prices()
            assert [message.id for message in check_sequences()] == ["sequences.E008"]
