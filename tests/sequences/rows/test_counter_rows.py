"""The rows of counters, as they are read: nothing is sent here."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.dynamodb import marshal
from sequences.dynamodb.expressions import (
    BORN,
    CHANGED,
    CLOSING,
    GIVEN_BACK,
    LAST_DOCUMENT,
    SINCE,
    VERSION,
    KeySchema,
    change_row,
)
from sequences.exceptions import InvalidSequence, StorageRefused
from sequences.rows.counter_rows import CounterRows, CounterState, frozen_at
from sequences.rows.layout import ItemLayout
from sequences.rows.numbers import Numbers
from sequences.strategies import Strategy
from sequences.strategies.counter_strategy import counter_of
from sequences.types import Dated, Scope
from tests.sequences.support import make

pytestmark = pytest.mark.usefixtures("configured")


@pytest.fixture
def rows() -> CounterRows:
    """Those of a sequence with a table of counters."""
    strategy: Strategy = make("atomic")
    return counter_of(strategy).rows


def row(rows: CounterRows, scope: Scope, last_value: int) -> Mapping[str, Any]:
    """A stored counter."""
    return {**rows.key(scope), "last_value": {"N": f"{last_value}"}}


def test_no_scopes(rows: CounterRows) -> None:
    """For no scopes nothing is asked."""
    send = Mock()
    assert rows.of_scopes([], send) == {}
    send.assert_not_called()


def test_many_scopes(rows: CounterRows) -> None:
    """A counter that is not stored is empty, and one that the engine left out is missing."""
    left_out = {rows.table: {"Keys": [rows.key("c")]}}
    send = Mock(return_value={"Responses": {rows.table: [row(rows, "a", 7)]}, "UnprocessedKeys": left_out})
    found = rows.of_scopes(["a", "b", "c"], send)
    assert found.keys() == {"a", "b"}
    assert (found["a"]["last_value"], found["b"]) == (7, {})
    assert send.call_count == 1


def test_what_is_known_costs_nothing() -> None:
    """A counter that was not read cost no read units, and has no row."""
    known = CounterState(3, 3)
    assert (known.read_units, known.row, known.frozen) == (0.0, None, None)


class TestState:
    def test_what_a_row_says(self) -> None:
        """A counter has its values, and what is noted of its lines, its last document and its period."""
        row = marshal(
            {
                "last_value": 7,
                "highest": 8,
                VERSION: 3,
                LAST_DOCUMENT: {"date": "2026-03-05", "value": 7},
                CLOSING: {"since": 9},
                "d20411": 7,
            }
        )
        state = CounterState.of_row(row, 0.5)
        assert (state.last_value, state.highest, state.version, state.read_units) == (7, 8, 3, 0.5)
        assert (state.document, state.closing) == ({"date": "2026-03-05", "value": 7}, {"since": 9})
        assert (state.frozen, state.stored, state.row) == (None, None, row)

    def test_no_row(self) -> None:
        """Where none is stored nothing is known, and the lines are those of the settings."""
        assert CounterState.of_row({}) == CounterState(None, None, row={})
        assert (CounterState(None, None).version, CounterState(None, None).at) == (0, 0.0)

    def test_a_frozen_counter(self) -> None:
        """Its `highest` is kept in what says by whom it is frozen."""
        frozen = {"by": "ana", "highest": 7}
        state = CounterState.of({"last_value": 7, "highest": 10**38 - 1, "frozen": frozen})
        assert (state.last_value, state.highest, state.frozen) == (7, 7, frozen)
        assert CounterState.of({"frozen": {"by": "ana"}}) == CounterState(None, None, frozen={"by": "ana"})

    @pytest.mark.parametrize("row", [{"last_value": "7"}, {"last_value": 7, "highest": Decimal("7.5")}], ids=repr)
    def test_no_whole_numbers(self, row: Mapping[str, Any]) -> None:
        """A counter that somebody has spoilt is named, with what to repair."""
        with pytest.raises(StorageRefused, match="has no whole numbers: repair its last_value and highest"):
            CounterState.of(row)

    @pytest.mark.parametrize(
        ("last_value", "highest", "seen", "should_be"),
        [
            (None, None, None, None),
            (7, None, None, None),
            (7, 7, 7, None),
            (7, 6, 5, None),
            (7, 8, None, 8),
            (7, 8, 9, 9),
            (7, 9, 8, 9),
            (7, None, 8, 8),
            (None, 1, None, 1),
            (None, None, 0, 0),
        ],
    )
    def test_what_it_should_be(
        self, last_value: int | None, highest: int | None, seen: int | None, should_be: int | None
    ) -> None:
        """It is too low if its own `highest`, or a value that was handed out, is above it."""
        assert CounterState(last_value, highest).should_be(seen) == should_be


@pytest.mark.parametrize(
    ("row", "frozen"),
    [
        ({}, None),
        ({"frozen": {"by": "ana"}}, {"by": "ana"}),
        ({"frozen": {"by": "ana"}, "closing": {"by": "bob", "since": 1}}, {"by": "ana"}),
        ({"closing": {"by": "bob", "since": 6}}, None),
        ({"closing": {"by": "bob", "since": 5}}, {"by": "bob", "since": 5, "closed": True}),
    ],
)
def test_who_froze_it(row: Mapping[str, Any], frozen: Mapping[str, Any] | None) -> None:
    """A counter is frozen by somebody, or since the moment from which its period is closed."""
    assert frozen_at(5.0, row.get("frozen"), row.get("closing")) == frozen


class TestRows:
    def test_a_read(self, rows: CounterRows) -> None:
        """One consistent read says what is stored, and what it cost."""
        send = Mock(return_value={"Item": row(rows, "a", 7), "ConsumedCapacity": {"CapacityUnits": 1.0}})
        state = rows.state("a", send)
        assert (state.last_value, state.read_units) == (7, 1.0)
        ((operation, request),) = [call.args for call in send.call_args_list]
        assert (operation, request["TableName"], request["Key"]) == ("get_item", rows.table, rows.key("a"))
        assert rows.state("a", Mock(return_value={})).last_value is None

    def test_a_region_has_its_own(self) -> None:
        """Where each Region has a START of its own, its name follows the one of the sequence."""
        strategy: Strategy = make("atomic")
        config = replace(strategy.config, region="eu-west-1", starts={"eu-west-1": 1})
        rows = counter_of(type(strategy)(config)).rows
        assert (rows.beside_items, rows.schema.keys) == (False, {"sequence": "S", "scope": "S"})
        assert rows.key(Dated("a", "2026")) == {"sequence": {"S": "atomic@eu-west-1"}, "scope": {"S": "#2026#a"}}

    def test_beside_items(self) -> None:
        """In the table of the items a counter has a key that no item can have."""
        strategy: Strategy = make("atomic")
        rows = CounterRows(strategy.schema.table, strategy.layout, strategy.numbers, name="atomic", wall=lambda: 0.0)
        assert (rows.beside_items, rows.schema) == (True, strategy.schema)
        assert rows.key("a") == {"pk": {"S": "#counter#atomic#a"}, "sk": {"N": "0"}}

    def test_beside_items_with_numbers_as_keys(self) -> None:
        """There is no key for a counter, and the option to change is named."""
        schema = KeySchema(table="items", partition_type="N")
        wrong = r"^SEQUENCES\['orders'\]\['OPTIONS'\]\['counter_table'\] must be another table"
        layout, numbers = Mock(spec=ItemLayout, schema=schema), Mock(spec=Numbers, alias="orders")
        with pytest.raises(InvalidSequence, match=wrong):
            CounterRows("items", layout, numbers, name="orders", wall=lambda: 0.0)
        assert not CounterRows("sequences", layout, numbers, name="orders", wall=lambda: 0.0).beside_items

    def test_a_change(self, rows: CounterRows) -> None:
        """It is of the scope's row."""
        how: dict[str, Any] = {"unchanged": {"token": "t"}, "sets": {"frozen": {"by": "ana"}}}
        assert rows.change("a", **how) == change_row(rows.table, rows.key("a"), **how)

    def test_what_is_asked_of_many(self, rows: CounterRows) -> None:
        """They are read with what counts, whether they are frozen, and since when they are."""
        send = Mock(return_value={"Responses": {rows.table: [row(rows, "a", 7)]}})
        assert rows.of_scopes(["a"], send)["a"]["last_value"] == 7
        ((operation, request),) = [call.args for call in send.call_args_list]
        about = request["RequestItems"][rows.table]
        assert (operation, about["Keys"], about["ConsistentRead"]) == ("batch_get_item", [rows.key("a")], True)
        named = {"sequence", "scope", "last_value", "highest", "frozen", CLOSING, LAST_DOCUMENT, VERSION}
        assert {*about["ExpressionAttributeNames"].values()} == {*named, GIVEN_BACK, CHANGED, BORN}

    def test_a_listed_counter(self) -> None:
        """A list has when it was written last, by whom it is frozen, how much is used, and its tallies."""
        strategy: Strategy = make("atomic", MAXIMUM=200)
        rows = counter_of(strategy).rows
        stored = {"updated_at": 86_400, "frozen": {"by": "ana"}, SINCE: 5, "d1": 7, "h24": "many", "other": 1}
        listed = rows.listed(Dated("a", "2026"), stored, 50)
        assert (listed.sequence, listed.scope, listed.period, listed.last_value) == ("atomic", "a", "2026", 50)
        assert (listed.updated_at, listed.percent_used) == (datetime(1970, 1, 2, tzinfo=UTC), 25)
        assert (listed.frozen or "").startswith("by ana since")
        assert listed.tallies == {SINCE: 5, "d1": 7}

    def test_a_counter_that_says_little(self, rows: CounterRows) -> None:
        """What is missing is unknown, and what is no number is shown."""
        spoilt: Any = "seven"
        listed = rows.listed("a", {}, spoilt)
        assert (listed.last_value, listed.percent_used, listed.updated_at) == (spoilt, 0, None)
        assert (listed.frozen, listed.tallies, listed.period) == (None, {}, "")
