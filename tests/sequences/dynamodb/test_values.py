"""From Python values to attribute values: what is refused, and which items are equal."""

from __future__ import annotations

from collections import OrderedDict
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from django.utils.functional import SimpleLazyObject

from sequences import dynamodb, put_next
from sequences.exceptions import IdempotencyMismatch, InvalidItem
from tests.attacks.test_limits import nested
from tests.sequences.support import stored

NAMES = ["XX", "SS", "NS", "BS", "S", "N", "B", "L", "M", "NULL", "BOOL"]


def fingerprint(item: dict[str, Any]) -> str:
    """The fingerprint of an item."""
    return dynamodb.fingerprint(dynamodb.marshal(item))


class TestFingerprint:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("pay 10 EUR", "pay 9999 EUR"),
            (1, 2),
            ({"n": 1}, {"n": 2}),
            ([1, 2], [2, 1]),
            ({1, 2}, {1, 3}),
            (b"a", b"b"),
            (10**37, 10**37 + 1),
            ("1", 1),
            (b"1", "1"),
            ({"1"}, {1}),
            (None, False),
        ],
    )
    def test_others_differ(self, one: object, other: object) -> None:
        """Items that differ in a value differ, whatever the attribute is called and however deep it lies."""
        for name in NAMES:
            assert fingerprint({name: one}) != fingerprint({name: other})
            assert fingerprint({"m": {name: one}}) != fingerprint({"m": {name: other}})
            assert fingerprint({"l": [{name: one}]}) != fingerprint({"l": [{name: other}]})

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (1, Decimal("1.0")),
            (Decimal("0.10"), Decimal("0.1")),
            (0, Decimal("-0")),
            (100, Decimal("1E+2")),
            ({"a", "b", "c"}, {"c", "b", "a"}),
            ({1, 2}, {Decimal("2.0"), Decimal("1.00")}),
            ({b"x", b"y"}, {b"y", b"x"}),
            ({"m": {"n": 1}}, {"m": {"n": Decimal("1.0")}}),
        ],
    )
    def test_equal_values(self, one: object, other: object) -> None:
        """What DynamoDB takes for equal is equal: numbers by value, sets in any order."""
        assert fingerprint({"a": one}) == fingerprint({"a": other})

    def test_in_any_order(self) -> None:
        """An item is the same whatever order its attributes are given in, at any depth."""
        assert fingerprint({"a": 1, "m": {"b": 2, "c": 3}}) == fingerprint({"m": {"c": 3, "b": 2}, "a": 1})

    @pytest.mark.parametrize("name", ["SS", "NS", "BS"])
    @pytest.mark.parametrize("alias", ["sort-key", "transactional", "atomic"])
    def test_a_token_for_another_item(self, configured: str, scope: str, alias: str, name: str) -> None:
        """A token that was used for an item is refused for one that differs in an attribute with a type's name."""
        put_next(alias, {name: "pay 10 EUR"}, scope=scope, idempotency_token="a token")
        with pytest.raises(IdempotencyMismatch):
            put_next(alias, {name: "pay 9999 EUR"}, scope=scope, idempotency_token="a token")
        assert [row[name] for row in stored(alias, scope).values()] == ["pay 10 EUR"]

    def test_a_repeat_in_another_notation(self, configured: str, scope: str) -> None:
        """A repeat whose numbers are written in another way is a repeat."""
        first = put_next("sort-key", {"price": 1}, scope=scope, idempotency_token="a token")
        again = put_next("sort-key", {"price": Decimal("1.0")}, scope=scope, idempotency_token="a token")
        assert (again.value, again.replayed) == (first.value, True)


@pytest.mark.parametrize("wire", [b"\x00\xff", "AP8="])
def test_bytes(wire: bytes | str) -> None:
    """Bytes are read as bytes and as base64, alone and in sets."""
    assert dynamodb.unmarshal({"one": {"B": wire}, "set": {"BS": [wire]}}) == {"one": b"\x00\xff", "set": {b"\x00\xff"}}


class Label(StrEnum):
    """A text with a name."""

    BUG = "bug"


class Level(IntEnum):
    """A number with a name."""

    HIGH = 3


VALUES = [
    *(None, True, False, 0, -7, 10**38 - 1, Level.HIGH),
    *(Decimal("1.50"), Decimal("-0"), Decimal("1E+2"), Decimal("1E-128")),
    *("", "x", "\xe4", Label.BUG, b"", b"\x00\xff", bytearray(b"x"), Binary(b"x")),
    *({1, Decimal("2.5"), Level.HIGH}, {"a", "\xe4"}, frozenset({Label.BUG}), {b"x", Binary(b"y")}),
    *([], [1, "x", [None]], ("x", {1}), {}, {"a": {"b": [b"x"]}}, OrderedDict(a=1)),
    SimpleLazyObject(lambda: {"a": [1]}),
]


@pytest.mark.parametrize("value", VALUES)
def test_as_boto3_does(value: Any) -> None:
    """A value is stored in the form that boto3 gives it, and read as boto3 reads it, with whole numbers as `int`."""
    wire = dynamodb.marshal({"a": value})
    assert wire == {"a": TypeSerializer().serialize(value)}
    read = dynamodb.unmarshal(wire)["a"]
    assert read == TypeDeserializer().deserialize(wire["a"])
    assert not isinstance(read, Decimal) or read % 1


@pytest.mark.parametrize(
    "value",
    [
        *(10**38 + 1, Decimal("1E+127"), 1.5, Decimal("NaN"), Decimal("Infinity")),
        *({1, "x"}, {1.5}, {None}, range(3), complex(1), object()),
    ],
)
def test_what_boto3_refuses(value: Any) -> None:
    """What boto3 has no form for is refused."""
    with pytest.raises((ArithmeticError, TypeError)):
        TypeSerializer().serialize(value)
    with pytest.raises(InvalidItem):
        dynamodb.marshal({"a": value})


def test_levels() -> None:
    """DynamoDB takes 32 lists and maps in each other. The error says how many there are, and the remedy."""
    value = {"a": [], "b": nested(31)}
    assert dynamodb.marshal({"a": value})
    with pytest.raises(InvalidItem, match=r"'deep' cannot be stored: it has 33 levels .* takes 32\. Store"):
        dynamodb.marshal({"deep": {"a": value}})


@pytest.mark.parametrize("value", [Decimal("-Infinity"), Decimal("sNaN"), {Decimal("-Infinity")}, {True}, {False, 1}])
def test_what_boto3_lets_pass(value: Any) -> None:
    """What is no number of DynamoDB, and a set of truth values, are refused before anything is sent."""
    with pytest.raises(InvalidItem, match=r"NaN not supported|Unsupported type"):
        dynamodb.marshal({"a": value})


class TestRefusals:
    @pytest.mark.parametrize("token", [None, "a token"])
    @pytest.mark.parametrize(
        ("item", "named"),
        [
            ({1: "x", "b": 1}, "1"),
            ({None: 1}, "None"),
            ({"": 1}, "''"),
            ({"\ud800": 1}, "ud800"),
            ({"m": {1: "x"}}, "'m'"),
            ({"l": [{"": 1}]}, "'l'"),
            ({"title": "a lone \ud800"}, "'title'"),
            ({"labels": set()}, "'labels'"),
            ({"labels": {"\udfff"}}, "'labels'"),
            ({"m": {"labels": frozenset()}}, "'m'"),
            ({"when": object()}, "'when'"),
        ],
    )
    def test_what_cannot_be_stored(
        self, configured: str, scope: str, item: dict[Any, Any], named: str, token: str | None
    ) -> None:
        """An item that DynamoDB cannot hold is refused with the attribute's name, before anything is sent."""
        with pytest.raises(InvalidItem, match="cannot be stored") as caught:
            put_next("sort-key", item, scope=scope, idempotency_token=token)
        assert named in str(caught.value)
        assert stored("sort-key", scope) == {}

    @pytest.mark.parametrize("empty", [set(), frozenset()])
    def test_an_empty_set(self, empty: object) -> None:
        """The error says what is wrong with a set that is empty, of whose type nobody can tell."""
        with pytest.raises(InvalidItem, match=r"a set must not be empty\.$"):
            dynamodb.marshal({"labels": empty})

    @pytest.mark.parametrize("value", [set(), float("inf"), Decimal("NaN"), 1.5, object(), {"": 1}, 10**38 + 1])
    def test_what_is_wrong_is_a_sentence(self, configured: str, value: object) -> None:
        """Another one follows, which names the sequence."""
        with pytest.raises(InvalidItem, match=r"[^.]\. The item is one of 'sort-key'\.$"):
            put_next("sort-key", {"value_of_it": value})

    @pytest.mark.parametrize("name", ["token", "marker_expires_at"])
    def test_reserved_names(self, configured: str, scope: str, name: str) -> None:
        """An item must not carry what the sequence writes, nor that by which DynamoDB lets go of markers."""
        with pytest.raises(InvalidItem, match=f"{name!r}, which the sequence writes itself"):
            put_next("sort-key", {name: 1}, scope=scope)

    def test_a_time_of_the_application(self, configured: str, scope: str) -> None:
        """An item may carry a time of its own to expire at: nothing deletes by it."""
        put_next("sort-key", {"expires_at": 1}, scope=scope)
        assert stored("sort-key", scope)[1]["expires_at"] == 1


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (2048, 2), (2049, 3)])
def test_units_of_a_write(size: int, units: int) -> None:
    """Each kilobyte that is begun takes a write unit, and the smallest item takes one."""
    assert dynamodb.write_units(size) == units
