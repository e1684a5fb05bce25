"""Requests as values: what each asks for, and the conditions on which exactness rests, without any engine."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from sequences.dynamodb import expressions, item_size, marshal, unmarshal, used_units
from sequences.dynamodb.expressions import CounterRow, KeySchema
from sequences.exceptions import StorageRefused

SCHEMA = KeySchema(table="items")
PADDED = KeySchema(table="items", padded_width=4, sort_type="S")
PREFIXED = KeySchema(table="items", padded_width=4, sort_prefix="T#", sort_type="S")
KEY = {"sequence": {"S": "orders"}, "scope": {"S": "a"}}
ROW = CounterRow(last_value=7, token="t", updated_at=99)
READ = {"token": {"S": "s"}, "later": {"S": "kept"}}
TITLE = {"title": {"S": "Smoke"}}
ADDITION: dict[str, Any] = {"amount": 1, "before_start": 0, "room": 10, "token": "t", "now": 99}


def names_and_values(request: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The #names and :values that a request's expressions speak of."""
    texts = " ".join(str(value) for key, value in request.items() if key.endswith("Expression"))
    return set(re.findall(r"#\w+", texts)), set(re.findall(r":\w+", texts))


REQUESTS = {
    "put_if_absent": expressions.put_if_absent(SCHEMA, {}),
    "put_marker": expressions.put_marker(SCHEMA, {}, now=5),
    "query of a prefix": expressions.query_numbers(PREFIXED, "p", newest_first=True, limit=1, above=7),
    "query of whole items": expressions.query_numbers(SCHEMA, "p", newest_first=True, limit=1, attributes=None),
    "query of whole items of a prefix": expressions.query_numbers(
        PREFIXED, "p", newest_first=True, limit=1, attributes=None
    ),
    "query of keys by a scan": expressions.scan_partitions(SCHEMA),
    "query above": expressions.query_numbers(SCHEMA, "p", newest_first=True, limit=1, above=0),
    "change of a first version": expressions.update_version(SCHEMA, KEY, TITLE, version=1, unless="void"),
    "change of a version": expressions.update_version(SCHEMA, KEY, TITLE, version=7, unless="void", removed=("old",)),
    "change of any version": expressions.update_version(SCHEMA, KEY, TITLE, version=None, unless="void"),
    "query": expressions.query_numbers(SCHEMA, "p", newest_first=True, limit=1, attributes=("title",)),
    "first addition": expressions.add_to_counter("counters", KEY, highest_seen=None, **ADDITION),
    "addition": expressions.add_to_counter("counters", KEY, highest_seen=3, **ADDITION),
    "first advance": expressions.advance_counter("counters", KEY, ROW, seen=None),
    "advance": expressions.advance_counter("counters", KEY, ROW, seen=6),
    "first put of a counter": expressions.put_counter("counters", KEY, ROW, seen=None, read={}),
    "put of a counter": expressions.put_counter("counters", KEY, ROW, seen=6, read=READ),
}
WRITES = {name: request for name, request in REQUESTS.items() if "query" not in name}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_names_and_values_are_those_in_use(request_: dict[str, Any]) -> None:
    """DynamoDB refuses a request that defines what its expressions do not use, or uses what it does not define."""
    names, values = names_and_values(request_)
    assert values == set(request_.get("ExpressionAttributeValues", {}))
    assert names == set(request_["ExpressionAttributeNames"]) & names
    assert names


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_names_are_readable(request_: dict[str, Any]) -> None:
    """Each #name ends in the attribute that it stands for, but for the key, which each table names its own way."""
    for alias, attribute in request_["ExpressionAttributeNames"].items():
        assert alias == "#partition" or alias.endswith(attribute)


@pytest.mark.parametrize("request_", WRITES.values(), ids=WRITES)
def test_every_write_is_conditional(request_: dict[str, Any]) -> None:
    """Each write has a condition, and asks for the item that it fails on."""
    assert request_["ConditionExpression"]
    assert request_["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


class TestItems:
    def test_put_if_absent(self) -> None:
        """An item is put where nothing is."""
        put = expressions.put_if_absent(SCHEMA, {"pk": {"S": "a"}})
        assert put["ConditionExpression"] == "attribute_not_exists(#partition)"
        assert put["ExpressionAttributeNames"] == {"#partition": "pk"}
        assert put["Item"] == {"pk": {"S": "a"}}

    def test_a_single_write(self) -> None:
        """A single put is the same put, and reports its units."""
        put = expressions.put_if_absent(SCHEMA, {})
        assert expressions.single_write(put) == {**put, "ReturnConsumedCapacity": "TOTAL"}

    def test_marker(self) -> None:
        """A marker is put where none is, or where one expired."""
        put = expressions.put_marker(SCHEMA, {}, now=5)
        assert put["ConditionExpression"] == "attribute_not_exists(#partition) OR #marker_expires_at <= :now"
        assert put["ExpressionAttributeValues"] == {":now": {"N": "5"}}

    def test_marker_numbers(self) -> None:
        """A marker's number is always the same for a token, fits 38 digits, and differs from others'."""
        numbers = {expressions.marker_number(f"{n}") for n in range(1000)}
        assert len(numbers) == 1000
        assert all(0 <= number < 10**38 for number in numbers)
        assert expressions.marker_number("a token") == expressions.marker_number("a token")

    def test_transaction(self) -> None:
        """A transaction holds puts and updates in their order, with its token."""
        put, update = expressions.put_if_absent(SCHEMA, {}), expressions.advance_counter("c", KEY, ROW, seen=6)
        request = expressions.transaction([update, put], request_token="t")
        assert request["TransactItems"] == [{"Update": update}, {"Put": put}]
        assert request["ClientRequestToken"] == "t"
        assert request["ReturnConsumedCapacity"] == "TOTAL"


def test_the_bounds_of_a_change() -> None:
    """A value may be the least that it must be; it may not be the one that it must be below."""
    change = expressions.change_row("items", KEY, unchanged={}, sets={"a": 1}, at_least={"low": 1}, below={"high": 9})
    assert change["ConditionExpression"] == "#low >= :least_0 AND #high < :below_0"


class TestKeys:
    def test_numbers(self) -> None:
        """A number is a sort key of type N, and read back."""
        assert SCHEMA.key("p", 42) == {"pk": {"S": "p"}, "sk": {"N": "42"}}
        assert SCHEMA.number({"sk": 42}) == 42

    def test_padded(self) -> None:
        """A padded number is a text of its width, and read back."""
        assert PADDED.key("p", 42) == {"pk": {"S": "p"}, "sk": {"S": "0042"}}
        assert PADDED.number({"sk": "0042"}) == 42

    def test_a_fraction_is_no_number(self) -> None:
        """A sort key that is a fraction, or not written as the schema writes numbers, is of a stray row."""
        assert SCHEMA.number_or_none({"sk": Decimal("1.5")}) is None
        assert SCHEMA.number_or_none({"sk": 1}) == 1
        assert [PADDED.number_or_none({"sk": text}) for text in ("42", "00042", "٠٠٤٢", "0042")] == [
            None,
            None,
            None,
            42,
        ]

    @pytest.mark.parametrize(
        ("schema", "key", "wanted"),
        [(SCHEMA, Decimal("2.5"), "a whole number"), (PADDED, "42", "a number of 4 digits")],
    )
    def test_a_stray_row(self, schema: KeySchema, key: object, wanted: str) -> None:
        """A row with another kind of sort key is refused with its key, and what is wanted."""
        with pytest.raises(StorageRefused, match=f"'sk': .* is not {wanted}"):
            schema.number({"pk": "p", "sk": key})

    def test_own_names(self) -> None:
        """A schema names its keys as its table does."""
        schema = KeySchema(table="t", partition_name="project", sort_name="number")
        assert schema.key("p", 1) == {"project": {"S": "p"}, "number": {"N": "1"}}

    def test_query(self) -> None:
        """A query reads one collection by pages, its keys and what is named, from either end."""
        after = SCHEMA.key("p", 9)
        query = expressions.query_numbers(SCHEMA, "p", newest_first=False, limit=5, consistent=False, after=after)
        assert query["KeyConditionExpression"] == "#partition = :partition"
        assert (query["ScanIndexForward"], query["Limit"], query["ConsistentRead"]) == (True, 5, False)
        assert query["ExclusiveStartKey"] == after
        plain = expressions.query_numbers(SCHEMA, "p", newest_first=True, limit=1)
        assert "ExclusiveStartKey" not in plain
        assert plain["ConsistentRead"] is True

    def test_query_above(self) -> None:
        """A query above a number leaves that number and all below it out."""
        query = expressions.query_numbers(SCHEMA, "p", newest_first=True, limit=1, above=0)
        assert query["KeyConditionExpression"] == "#partition = :partition AND #1_sk > :above"
        assert query["ExpressionAttributeNames"]["#1_sk"] == "sk"
        assert query["ExpressionAttributeValues"][":above"] == {"N": "0"}

    def test_change_of_a_version(self) -> None:
        """A change sets and removes attributes of an item that is at the version that was read, and moves it on."""
        change = REQUESTS["change of a version"]
        assert change["UpdateExpression"] == (
            "SET #title = :title, #version = if_not_exists(#version, :first) + :one REMOVE #old"
        )
        assert change["ConditionExpression"] == (
            "attribute_exists(#pk) AND attribute_not_exists(#void) AND (#version = :version)"
        )
        assert change["ExpressionAttributeValues"] == {
            ":title": {"S": "Smoke"},
            ":version": {"N": "7"},
            ":first": {"N": "1"},
            ":one": {"N": "1"},
        }
        assert change["ReturnValues"] == "ALL_NEW"

    def test_change_of_an_item_without_a_version(self) -> None:
        """An item without a version is at the first one, and at any when none is asked for."""
        first, any_version = REQUESTS["change of a first version"], REQUESTS["change of any version"]
        assert "(attribute_not_exists(#version) OR #version = :version)" in first["ConditionExpression"]
        assert "#version" not in any_version["ConditionExpression"]

    def test_odd_attribute_names(self) -> None:
        """An attribute's name may hold what an expression may not."""
        query = expressions.query_numbers(SCHEMA, "p", newest_first=True, limit=1, attributes=("a.b-c d",))
        assert all(re.fullmatch(r"#\w+", alias) for alias in query["ExpressionAttributeNames"])
        assert "a.b-c d" in query["ExpressionAttributeNames"].values()

    def test_read(self) -> None:
        """Reads of items are consistent, one by one or many at once."""
        assert expressions.read_item("t", KEY)["ConsistentRead"] is True
        request = expressions.read_many(SCHEMA, [("p", 1), ("p", 2)], attributes=["token"])["RequestItems"]["items"]
        assert request["ConsistentRead"] is True
        assert request["Keys"] == [SCHEMA.key("p", 1), SCHEMA.key("p", 2)]

    def test_between_other_rows(self) -> None:
        """Where other rows are in the partition, a query has the numbers alone: all of them, or those above one."""
        for above, first in ((None, "T#0"), (7, "T#0008")):
            query = expressions.query_numbers(PREFIXED, "p", newest_first=False, limit=1, above=above)
            assert query["KeyConditionExpression"] == "#partition = :partition AND #1_sk BETWEEN :first AND :last"
            values = query["ExpressionAttributeValues"]
            assert (values[":first"]["S"], values[":last"]["S"]) == (first, "T#:")
            assert first <= PREFIXED.sort_value(9999)["S"] < values[":last"]["S"] < "TICKET"


class TestCounters:
    def test_addition(self) -> None:
        """An addition starts a missing counter before START, and moves `highest` with it."""
        request = expressions.add_to_counter("counters", KEY, highest_seen=None, **ADDITION)
        assert request["UpdateExpression"] == (
            "SET #last_value = if_not_exists(#last_value, :before_start) + :amount, "
            "#highest = if_not_exists(#last_value, :before_start) + :amount, #updated_at = :now, #token = :token, "
            "#born = if_not_exists(#born, :token)"
        )
        assert request["ReturnValues"] == "UPDATED_NEW"

    def test_addition_is_refused(self) -> None:
        """An addition is refused beyond MAXIMUM, below `highest`, below a value seen, and on its own token."""
        condition = expressions.add_to_counter("counters", KEY, highest_seen=3, **ADDITION)["ConditionExpression"]
        for part in (
            "#last_value <= :room",
            "#last_value >= #highest",
            "#last_value >= :highest_seen",
            "#token <> :token",
        ):
            assert part in condition
        assert "attribute_not_exists(#last_value)" not in condition
        first = expressions.add_to_counter("counters", KEY, highest_seen=None, **ADDITION)["ConditionExpression"]
        assert "attribute_not_exists(#last_value)" in first
        assert ":highest_seen" not in first

    def test_the_whole_condition(self) -> None:
        """Each part holds on its own; a counter that is not there is begun by who has seen no value of it."""
        in_order = "#last_value <= :room AND (attribute_not_exists(#highest) OR #last_value >= #highest)"
        ours = "(attribute_not_exists(#token) OR #token <> :token)"
        missing = "attribute_not_exists(#last_value) AND attribute_not_exists(#highest)"
        conditions = [
            expressions.add_to_counter("counters", KEY, highest_seen=highest_seen, **ADDITION)["ConditionExpression"]
            for highest_seen in (3, None)
        ]
        assert conditions == [
            f"{in_order} AND #last_value >= :highest_seen AND {ours}",
            f"(({missing}) OR ({in_order})) AND {ours}",
        ]

    @pytest.mark.parametrize("build", [expressions.advance_counter, partial(expressions.put_counter, read=READ)])
    def test_optimistic_writes(self, build: Any) -> None:
        """A counter is written if it is still as it was seen, or still not there. A put needs the same last token."""
        same = " AND #token = :token" if isinstance(build, partial) else ""
        still = "#last_value = :seen AND (attribute_not_exists(#highest) OR #highest <= :seen)"
        assert build("counters", KEY, ROW, seen=6)["ConditionExpression"] == still + same
        assert build("counters", KEY, ROW, seen=0)["ConditionExpression"] == still + same
        missing = "attribute_not_exists(#last_value) AND attribute_not_exists(#highest)"
        assert build("counters", KEY, ROW, seen=None)["ConditionExpression"] == missing + same

    def test_names_keep_their_meaning(self) -> None:
        """What is added to an advance leaves its names, its values and its conditions as they are."""
        dated = expressions.with_dates(
            expressions.advance_counter("counters", KEY, ROW, seen=6), "2026-01-02", "2026-01-03"
        )
        counted = expressions.with_tally(
            dated, expressions.Tally("day 1", "hour 1", 2, is_first=True, outdated=("old",))
        )
        for part in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
            assert counted[part].items() >= dated[part].items()
        assert counted["ExpressionAttributeNames"].items() >= {
            ("#document", "last_document"),
            ("#date", "date"),
            ("#day", "day 1"),
            ("#hour", "hour 1"),
            ("#old", "old"),
        }
        assert counted["ConditionExpression"] == dated["ConditionExpression"]

    def test_a_counters_fields(self) -> None:
        """A counter holds its last value twice, who wrote it, and when."""
        item = expressions.put_counter("counters", KEY, ROW, seen=None, read={})["Item"]
        assert unmarshal(item) == {
            "sequence": "orders",
            "scope": "a",
            "last_value": 7,
            "highest": 7,
            "token": "t",
            "born": "t",
            "updated_at": 99,
        }


class TestValues:
    def test_whole_numbers_are_int(self) -> None:
        """Whole numbers come back as int, at any depth and of 38 digits, others as Decimal."""
        wire = {"a": {"N": "1"}, "b": {"L": [{"N": "2"}]}, "c": {"NS": ["3"]}, "d": {"N": "9" * 38}, "e": {"N": "1.5"}}
        values = unmarshal(wire)
        assert [type(value) for value in (values["a"], values["b"][0], values["d"])] == [int] * 3
        assert values["d"] == 10**38 - 1
        assert {type(value) for value in values["c"]} == {int}
        assert type(values["e"]).__name__ == "Decimal"
        assert unmarshal(marshal(values)) == values

    def test_units(self) -> None:
        """Units are those of all tables, and none when none are reported."""
        assert used_units({}) == 0.0
        assert used_units({"ConsumedCapacity": {"TableName": "items"}}) == 0.0
        assert used_units({"ConsumedCapacity": {"CapacityUnits": 0.5}}) == 0.5
        assert used_units({"ConsumedCapacity": [{"CapacityUnits": 2.0}, {"CapacityUnits": 4.0}]}) == 6.0

    @pytest.mark.parametrize(
        "item", [{}, {"a": "x" * 1000}, {"a": "€" * 1000}, {"a": b"\x00" * 1000}, {"a": [1] * 500}]
    )
    def test_sizes(self, item: dict[str, Any]) -> None:
        """An item's size is never reckoned smaller than its names and values are."""
        real = sum(len(name) + len(value.encode() if isinstance(value, str) else value) for name, value in item.items())
        assert item_size(marshal(item)) >= real


def test_a_sort_key_that_is_no_number() -> None:
    """A row that is not an item of the sequence is refused, with the row and the remedy."""
    with pytest.raises(StorageRefused, match=r"holds a row .*'sk': 'README'.* move it elsewhere"):
        PADDED.number({"pk": "a", "sk": "README"})
