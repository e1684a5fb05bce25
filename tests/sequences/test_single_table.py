"""A table as DynamoDB's users design it: other rows in the same partition, the number in sort keys and index keys."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import override_settings
from pytest_django import Settings

from sequences import aput_next, dynamodb, get_item, get_last_value, items, put_next, put_next_many
from sequences.actions import TEXT, VALUE, Put, value_text
from sequences.dynamodb import tables as dynamodb_tables
from sequences.exceptions import IdempotencyMismatch, InvalidItem, InvalidSequence, NotWritten
from sequences.ops.audit import audit
from sequences.ops.checks import check_keys
from sequences.ops.deployment import template
from sequences.ops.tables import create_tables
from sequences.registry import strategies
from sequences.testing.embedded import Engine
from tests.kept_tables import emptied_tables
from tests.sequences.support import import_row, tapped, written

PATH = "sequences.strategies"
INDEXES = {"gsi1": {"gsi1pk": "S", "gsi1sk": "S"}, "by_number": {"customer": "S", "number": "N"}}
LAYOUT = {"partition": "TENANT#{scope}", "sort_key": "TICKET#{value:010d}"}
STRATEGIES = {
    "sorted": f"{PATH}.sort_key.SortKeyMaximum",
    "transactional": f"{PATH}.transactional.TransactionalCounter",
    "atomic": f"{PATH}.atomic.AtomicCounter",
}
SEQUENCES: dict[str, dict[str, Any]] = {
    name: {"STRATEGY": path, "TABLE": f"shop_{name}", "INDEXES": INDEXES, "OPTIONS": LAYOUT}
    for name, path in STRATEGIES.items()
}
SEQUENCES["yearly"] = {"STRATEGY": STRATEGIES["sorted"], "PERIOD": "year", "FORMAT": "INV-{period}-{value:04d}"}

every_strategy = pytest.mark.parametrize("name", STRATEGIES)


@pytest.fixture(autouse=True)
def shop(engine: Engine) -> Iterator[None]:
    """The sequences of a shop, with their tables."""
    with emptied_tables(SEQUENCES, engine.endpoint):
        yield


def table(name: str) -> str:
    """The table of the items."""
    return strategies[name].schema.table


def keep(name: str, sort_key: str) -> None:
    """Store another row in the partition of the tickets of acme."""
    row = dynamodb.marshal({"pk": "TENANT#acme", "sk": sort_key})
    dynamodb.call("put_item", {"TableName": table(name), "Item": row})


def row(name: str, value: int) -> dict[str, Any]:
    """The stored ticket of acme."""
    key = dynamodb.marshal({"pk": "TENANT#acme", "sk": f"TICKET#{value:010d}"})
    answer = dynamodb.call("get_item", {"TableName": table(name), "Key": key, "ConsistentRead": True})
    return dynamodb.unmarshal(answer["Item"])


def indexed(name: str, index: str, **key: str) -> list[dict[str, Any]]:
    """The rows of one partition of an index, in their order."""
    ((attribute, value),) = key.items()
    request = {
        "TableName": table(name),
        "IndexName": index,
        "KeyConditionExpression": f"{attribute} = :value",
        "ExpressionAttributeValues": {":value": {"S": value}},
    }
    return [dynamodb.unmarshal(item) for item in dynamodb.call("query", request)["Items"]]


@every_strategy
class TestOtherRows:
    def test_they_are_left_alone(self, name: str) -> None:
        """Rows that sort before and after the tickets are neither numbers nor faults."""
        for sort_key in ("PROFILE", "A FIRST ONE", "TICKETS", "ZZZ", "TICKET"):
            keep(name, sort_key)
        assert [put_next(name, {"n": n}, scope="acme").value for n in range(3)] == [1, 2, 3]
        strategies[name].forget()
        assert put_next(name, {"n": 3}, scope="acme").value == 4
        assert get_last_value(name, scope="acme") == 4
        assert [item.item["n"] for item in items(name, scope="acme")] == [0, 1, 2, 3]
        assert [item.value for item in items(name, scope="acme", after=3, newest_first=True)] == [2, 1]
        report = audit(strategies[name], "acme")
        assert (report.carried, report.unexplained) == (4, 0)
        assert row(name, 4)["n"] == 3

    def test_repeats_and_changes(self, name: str) -> None:
        """Markers and numbers that others store are found under keys with the prefix, too."""
        first = put_next(name, {"n": 1}, scope="acme", idempotency_token="a token")
        assert put_next(name, {"n": 1}, scope="acme", idempotency_token="a token").replayed
        import_row(name, "acme", 2)
        assert (first.value, put_next(name, {}, scope="acme").value) == (1, 3)
        written("sequences", "recover", name, "--scope", "acme", "--reason", "a test", "--margin", "5")
        assert put_next(name, {}, scope="acme").value > 8

    def test_a_stray_row(self, name: str) -> None:
        """A row of the prefix whose number has another width is named by the audit."""
        put_next(name, {}, scope="acme")
        keep(name, "TICKET#7")
        report = audit(strategies[name], "acme")
        assert report.unexplained > 0
        assert "not a number of 10 digits" in written_of_audit(name)


def written_of_audit(name: str) -> str:
    """What the audit prints of acme, though it finds something."""
    with pytest.raises(CommandError) as failure:
        written("sequences", "audit", name, "--scope", "acme")
    return f"{failure.value} {audit(strategies[name], 'acme')}"


class TestTwoSequences:
    """Two sequences whose items are in the same partitions, told apart by their prefixes."""

    @pytest.fixture(autouse=True)
    def two(self, settings: Settings) -> None:
        """Tickets and orders of each tenant in one partition."""
        entry = {"STRATEGY": STRATEGIES["sorted"], "TABLE": "shop_sorted"}
        settings.SEQUENCES = {
            name: {**entry, "OPTIONS": {**LAYOUT, "sort_key": f"{name.upper()}#{{value:010d}}"}}
            for name in ("tickets", "orders")
        }

    def test_each_counts_on_its_own(self) -> None:
        """Neither numbers nor what the host remembers of one are taken for those of the other."""
        assert [put_next("tickets", {}, scope="acme").value for _ in range(3)] == [1, 2, 3]
        assert [put_next("orders", {}, scope="acme").value for _ in range(2)] == [1, 2]
        strategies.reset()  # a fresh process asks the host
        assert put_next("tickets", {}, scope="acme").value == 4
        strategies.reset()
        assert put_next("orders", {}, scope="acme").value == 3
        for name in ("tickets", "orders"):
            assert audit(strategies[name], "acme").unexplained == 0

    def test_the_check(self) -> None:
        """Django's check finds no fault in them; without the prefixes it does."""
        assert list(check_keys()) == []
        entry = {"STRATEGY": STRATEGIES["sorted"], "TABLE": "shop_sorted", "OPTIONS": {"partition": "T#{scope}"}}
        with override_settings(SEQUENCES={"a": entry, "b": entry}):
            assert [message.id for message in check_keys()] == ["sequences.E003"]
        nested = {
            name: {**entry, "OPTIONS": {"partition": "T#{scope}", "sort_key": f"{name}{{value:09d}}"}}
            for name in ("ORDER-", "ORDER-X")
        }
        with override_settings(SEQUENCES=nested):
            (message,) = check_keys()
        assert "one sort key begins as the other: 'ORDER-', 'ORDER-X'." in str(message.msg)
        assert "'ORDER#' and 'BILL#'" in str(message.hint)


@every_strategy
class TestNumberInTheItem:
    ITEM = {
        "number": VALUE,
        "text": TEXT,
        "gsi1pk": "TENANT#acme",
        "gsi1sk": value_text("TICKET#{value:06d}"),
        "customer": "ada",
        "more": {"list": [VALUE, {"deep": value_text("{scope}/{value}")}], "plain": 1},
    }

    def test_everywhere(self, name: str) -> None:
        """Number and texts are in the stored item wherever the item has them, and in its indexes."""
        put_next_many(name, [self.ITEM] * 2, scope="acme")
        put_next(name, self.ITEM, scope="acme")
        stored = row(name, 3)
        assert (stored["number"], stored["text"], stored["gsi1sk"]) == (3, "3", "TICKET#000003")
        assert stored["more"] == {"list": [3, {"deep": "acme/3"}], "plain": 1}
        assert [one["gsi1sk"] for one in indexed(name, "gsi1", gsi1pk="TENANT#acme")] == [
            "TICKET#000001", "TICKET#000002", "TICKET#000003",
        ]  # fmt: skip
        assert [one["number"] for one in indexed(name, "by_number", customer="ada")] == [1, 2, 3]
        found = get_item(name, 2, scope="acme")
        assert found is not None
        assert found.item["number"] == 2

    def test_a_repeat(self, name: str) -> None:
        """A repeat has the same blanks; other blanks are another item."""
        first = put_next(name, self.ITEM, scope="acme", idempotency_token="a token")
        again = put_next(name, self.ITEM, scope="acme", idempotency_token="a token")
        assert (again.value, again.replayed) == (first.value, True)
        other = {**self.ITEM, "gsi1sk": value_text("OTHER#{value}")}
        with pytest.raises(IdempotencyMismatch):
            put_next(name, other, scope="acme", idempotency_token="a token")

    def test_a_number_that_is_taken(self, name: str) -> None:
        """After a lost race the item has the number under which it is stored."""
        put_next(name, self.ITEM, scope="acme")
        import_row(name, "acme", 2)
        value = put_next(name, self.ITEM, scope="acme").value
        assert row(name, value)["number"] == value == 3

    def test_awaited_and_beside_others(self, name: str) -> None:
        """Event loops fill in the same, and what rides along has the number of its item."""

        async def put() -> int:
            return (await aput_next(name, self.ITEM, scope="acme")).value

        value = asyncio.run(put())
        assert row(name, value)["gsi1sk"] == "TICKET#000001"
        rider = Put(f"shop_{name}", {"pk": "#out", "sk": value_text("{value:crockford}"), "of": TEXT})
        put_next(name, self.ITEM, scope="acme", also=[rider])
        key = dynamodb.marshal({"pk": "#out", "sk": "2"})
        answer = dynamodb.call("get_item", {"TableName": table(name), "Key": key})
        assert dynamodb.unmarshal(answer["Item"])["of"] == "2"


class TestTexts:
    def test_the_fields_of_format(self) -> None:
        """Period and text are those of the document."""
        item = {
            "a": value_text("{period}/{value:03d}"),
            "b": value_text("<{text}>"),
            "c": value_text("{year}: {value}"),
        }
        put_next("yearly", item, date=date(2031, 3, 5))
        found = get_item("yearly", 1, period="2031")
        assert found is not None
        assert found.item == {"a": "2031/001", "b": "<INV-2031-0001>", "c": "2031: 1"}

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("no number", "must have {value} or {text}"),
            ("{value} {what}", "unknown field {what}; known are value, scope, .*, text"),
            ("{value", "a brace itself is written twice"),
            ("{value:x}", "must be {value}, or with a width"),
            (7, "must be a text"),
        ],
    )
    def test_what_cannot_be_written(self, text: Any, said: str) -> None:
        """A template that cannot be used is refused where it is written."""
        with pytest.raises(InvalidItem, match=said):
            value_text(text)

    @pytest.mark.parametrize(
        ("text", "said"), [("{period} {value}", "no meaning without PERIOD"), ("{year} {value}", "a part of the date")]
    )
    def test_what_the_sequence_does_not_have(self, text: str, said: str) -> None:
        """Periods and dates need a sequence that has them; nothing is sent."""
        with tapped() as wire, pytest.raises(InvalidItem, match=said):
            put_next("sorted", {"a": [value_text(text)]}, scope="acme")
        with pytest.raises(InvalidItem, match=said):
            put_next("sorted", {}, scope="acme", also=[Put("shop_sorted", {"pk": "a", "sk": value_text(text)})])
        assert wire.sent == []

    def test_a_key_that_an_item_brings(self) -> None:
        """The key of an item must be known before its number is."""
        with pytest.raises(InvalidItem, match="'sk' is in its key, so that its value must be known before"):
            put_next("atomic", {"pk": "a", "sk": value_text("T#{value}")}, scope="acme")


class TestIndexes:
    @pytest.mark.parametrize(
        ("item", "said"),
        [
            ({"gsi1pk": 7}, "'gsi1pk' must be a text, as it is a key of the index 'gsi1'"),
            ({"number": "7"}, "'number' must be a number, as it is a key of the index 'by_number'"),
            ({"gsi1sk": VALUE}, "'gsi1sk' must be a text"),
            ({"number": TEXT}, "'number' must be a number"),
            ({"gsi1pk": ""}, "'gsi1pk' is empty, but it is a key of the index 'gsi1': leave it out"),
        ],
    )
    def test_what_cannot_be_a_key(self, item: dict[str, Any], said: str) -> None:
        """It is refused before anything is sent."""
        with tapped() as wire, pytest.raises(InvalidItem, match=said):
            put_next("sorted", item, scope="acme")
        assert wire.sent == []

    def test_a_table_that_exists(self, settings: Settings) -> None:
        """An index that is added to the settings is made of the items that are there."""
        put_next("yearly", {"customer": "ada"})
        settings.SEQUENCES = {
            **SEQUENCES,
            "yearly": {**SEQUENCES["yearly"], "INDEXES": {"by_customer": {"customer": "S"}}},
        }
        assert not any(create_tables().values())
        assert [one["customer"] for one in indexed("yearly", "by_customer", customer="ada")] == ["ada"]
        assert not any(create_tables().values())

    def test_an_index_that_takes_long(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """`create_tables` says that it is still being made, and may be run again."""
        making = {"GlobalSecondaryIndexes": [{"IndexName": "x", "IndexStatus": "CREATING"}]}

        class Slow:
            def describe_table(self, **_: Any) -> dict[str, Any]:
                return {"Table": making}

        monkeypatch.setattr(dynamodb_tables, "INDEX_SECONDS", -1.0)
        with pytest.raises(NotWritten, match="'x' of 'a' is still being made: run `create_tables` again"):
            dynamodb_tables._add_index(Slow(), "a", "x", {"to": "S"})

    def test_two_sequences_that_disagree(self, settings: Settings) -> None:
        """They are named, and nothing is made."""
        entry = {"STRATEGY": STRATEGIES["sorted"], "TABLE": "one"}
        settings.SEQUENCES = {
            "a": {**entry, "INDEXES": {"by_customer": {"customer": "S"}}},
            "b": {**entry, "INDEXES": {"by_customer": {"customer": "N"}}},
        }
        with pytest.raises(InvalidSequence, match=r"\['b'\]\['INDEXES'\]\['by_customer'\] has other keys"):
            create_tables()

    @pytest.mark.parametrize(
        "indexes",
        [
            *(["by_to"], {"by": {"a": "S"}}, {"by to": {"a": "S"}}, {"by_to": {}}, {"by_to": {"a": "B"}}),
            *({"by_to": dict.fromkeys("abc", "S")}, {"by_to": "a"}),
        ],
    )
    def test_wrong_ones(self, indexes: Any, settings: Settings) -> None:
        """What is no index is refused, with an example."""
        settings.SEQUENCES = {"a": {"STRATEGY": STRATEGIES["sorted"], "INDEXES": indexes}}
        with pytest.raises(InvalidSequence, match=r"\['INDEXES'\] .* must be the keys of each index"):
            _ = strategies["a"]

    def test_the_template(self) -> None:
        """The stack has the indexes with the guard of the costs, and roles may read them."""
        resources = template()["Resources"]
        made = resources["ShopSortedTable"]["Properties"]
        assert [index["IndexName"] for index in made["GlobalSecondaryIndexes"]] == ["gsi1", "by_number"]
        assert {"AttributeName": "number", "AttributeType": "N"} in made["AttributeDefinitions"]
        reader = resources["ReaderPolicy"]["Properties"]["PolicyDocument"]["Statement"][0]["Resource"]
        assert {"Fn::Sub": "${ShopSortedTable.Arn}/index/*"} in reader


def test_the_scopes_are_listed() -> None:
    """They are known without a function."""
    put_next("sorted", {}, scope="acme")
    assert list(strategies["sorted"].scopes.every()) == ["acme"]
