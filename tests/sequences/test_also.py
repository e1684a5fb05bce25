"""What rides with an item: other rows in the transaction of the item, which are stored with it or not at all."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import time
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr

from sequences import dynamodb, get_last_value, put_next
from sequences.actions import TEXT, VALUE, Action, Check, Delete, Put, Update, check_actions, value_text
from sequences.dynamodb import item_size
from sequences.exceptions import AlsoRefused, InvalidItem, TableMissing
from sequences.ops.audit.results import KeptAudits
from sequences.registry import strategies
from sequences.rows.host_queue import HostQueue
from sequences.testing.callers import put_some
from sequences.types import Allocation
from tests.sequences.support import SEQUENCES, Wire, import_row, mark_listed, names_that, nth, stored, wait_until

TABLE = "sequence_items"
ABSENT = "attribute_not_exists(pk)"
GROUPED = [name for name in names_that("writes_together") if name in names_that("gapless")]
pytestmark = pytest.mark.usefixtures("configured")


def key(scope: str, what: str) -> dict[str, Any]:
    """The key of a row that is not the sequence's own."""
    return {"pk": f"{what} of {scope}", "sk": 0}


def row(scope: str, what: str) -> dict[str, Any]:
    """A row that is not the sequence's own, without its key; empty if it is missing."""
    request = {
        "TableName": dynamodb.table_name(TABLE),
        "Key": dynamodb.marshal(key(scope, what)),
        "ConsistentRead": True,
    }
    found = dynamodb.unmarshal(dynamodb.call("get_item", request).get("Item", {}))
    return {name: value for name, value in found.items() if name not in key(scope, what)}


def guard(scope: str, what: str = "guard") -> Put:
    """A row that only one caller can make."""
    return Put(TABLE, {**key(scope, what), "by": VALUE}, condition=ABSENT)


def keep(scope: str, what: str, **fields: Any) -> None:
    """Store a row that is not the sequence's own."""
    item = dynamodb.marshal({**key(scope, what), **fields})
    dynamodb.call("put_item", {"TableName": dynamodb.table_name(TABLE), "Item": item})


def in_one_group(name: str, scope: str, wire: Wire, riders: Sequence[Sequence[Action]]) -> list[Future[Allocation]]:
    """Store one item for each list of actions, all in one group behind a first item."""
    strategy = strategies[name]

    def waiting() -> int:
        return sum(len(queue.waiting) for queue in strategy.items._queues.values())

    put_some(name, scope, 1)
    held = "PutItem" if "sort-key" in name or "one-file" in name else "TransactWriteItems"
    with ThreadPoolExecutor(len(riders) + 1) as threads:
        sending, all_wait = threading.Event(), threading.Event()
        wire.before(held, lambda: sending.set() or all_wait.wait(timeout=10))  # type: ignore[func-returns-value]
        futures: list[Future[Allocation]] = []
        threads.submit(put_some, name, scope, 1)
        assert sending.wait(timeout=60)
        for number, also in enumerate(riders):
            futures.append(threads.submit(put_next, name, {"n": number}, scope=scope, also=also))
            wait_until(lambda: waiting() == len(futures))
        all_wait.set()
    return futures


@pytest.mark.parametrize("name", SEQUENCES)
class TestEveryStrategy:
    def test_rows_are_stored_with_the_item(self, name: str, scope: str, wire: Wire) -> None:
        """Puts, updates and deletions are in the transaction of the item, with its value where they ask for it."""
        put_some(name, scope, 1)
        keep(scope, "draft", title="a")
        keep(scope, "user", tickets=1)
        wire.clear()
        also = [
            Put(TABLE, {**key(scope, "outbox"), "number": VALUE, "keys": [{"key": value_text("ABC-{value}")}]}),
            Update(
                TABLE,
                key(scope, "user"),
                update="SET #last = :value ADD tickets :one",
                condition="attribute_exists(pk)",
                names={"#last": "last"},
                values={":value": VALUE, ":one": 1},
            ),
            Delete(TABLE, key(scope, "draft"), condition="attribute_exists(pk)"),
        ]
        told = put_next(name, {"title": "a"}, scope=scope, also=also).value
        assert [one for one in wire.operations if one == "TransactWriteItems"] == ["TransactWriteItems"]
        assert row(scope, "outbox") == {"number": told, "keys": [{"key": f"ABC-{told}"}]}
        assert row(scope, "user") == {"tickets": 2, "last": told}
        assert row(scope, "draft") == {}
        assert told in stored(name, scope)

    @pytest.mark.parametrize("token", [None, "a token"])
    def test_a_condition_that_does_not_hold(self, name: str, scope: str, token: str | None) -> None:
        """The caller learns which action failed and on what row, and neither item nor rows are stored."""
        put_some(name, scope, 1)
        keep(scope, "guard", by="somebody")
        before = stored(name, scope)
        also = [Put(TABLE, key(scope, "outbox")), guard(scope)]
        with pytest.raises(AlsoRefused, match=r"also\[1\], a Put: .* does not hold, the row is there") as caught:
            put_next(name, {}, scope=scope, idempotency_token=token, also=also)
        assert caught.value.index == 1
        assert caught.value.old == {**key(scope, "guard"), "by": "somebody"}
        assert stored(name, scope) == before
        assert row(scope, "outbox") == {}
        if strategies[name].gapless:
            assert put_next(name, {}, scope=scope, idempotency_token=token).value == nth(name, 2)

    def test_a_row_that_is_missing(self, name: str, scope: str) -> None:
        """A check of a missing row is refused, and says that there is none."""
        with pytest.raises(AlsoRefused, match=r"also\[0\], a Check: .* there is no such row") as caught:
            put_next(name, {}, scope=scope, also=[Check(TABLE, key(scope, "user"), condition="attribute_exists(pk)")])
        assert caught.value.old == {}
        assert stored(name, scope) == {}

    @pytest.mark.parametrize("token", [None, "a token"])
    def test_a_lost_answer(self, name: str, scope: str, token: str | None, wire: Wire) -> None:
        """After a lost answer the write is recognised, although the condition of what rides with it fails now."""
        put_some(name, scope, 1)
        wire.lose("TransactWriteItems")
        told = put_next(name, {}, scope=scope, idempotency_token=token, also=[guard(scope)])
        assert (told.replayed, row(scope, "guard")["by"]) == (False, told.value)
        assert len(stored(name, scope)) == 2

    def test_a_repeat(self, name: str, scope: str) -> None:
        """A repeat with the same token gets the first answer, whatever rides with it, and stores nothing of that."""
        first = put_next(name, {}, scope=scope, idempotency_token="a token", also=[guard(scope)])
        again = put_next(name, {}, scope=scope, idempotency_token="a token", also=[guard(scope), guard(scope, "more")])
        assert (again.value, again.replayed) == (first.value, True)
        assert row(scope, "more") == {}

    def test_a_number_that_is_taken(self, name: str, scope: str) -> None:
        """If the next number is taken, what rides with the item gets the number after it."""
        put_some(name, scope, 1)
        import_row(name, scope, nth(name, 2))
        told = put_next(name, {}, scope=scope, also=[guard(scope)])
        assert told.value > nth(name, 2)
        assert row(scope, "guard") == {"by": told.value}

    @pytest.mark.needs_engine
    def test_an_action_that_cannot_be_done(self, name: str, scope: str) -> None:
        """An action that the engine cannot do is named, and nothing is stored."""
        keep(scope, "user", tickets="many")
        adds = Update(TABLE, key(scope, "user"), update="SET tickets = tickets + :one", values={":one": 1})
        with pytest.raises(InvalidItem, match=r"also\[0\] cannot be stored: .*Validation"):
            put_next(name, {}, scope=scope, also=[adds])
        assert stored(name, scope) == {}


@pytest.mark.parametrize("name", GROUPED)
class TestGroups:
    def test_the_others_go_on(self, name: str, scope: str, wire: Wire) -> None:
        """In a group only the caller whose condition fails is refused; the others get values without a gap."""
        keep(scope, "guard 1")
        riders = [[guard(scope, f"guard {n}")] for n in range(5)]
        futures = in_one_group(name, scope, wire, riders)
        assert isinstance(futures.pop(1).exception(), AlsoRefused)
        assert [future.result().value for future in futures] == [nth(name, n) for n in (3, 4, 5, 6)]
        assert sorted(stored(name, scope)) == [nth(name, n) for n in range(1, 7)]

    def test_the_same_row(self, name: str, scope: str, wire: Wire) -> None:
        """Callers of a group that want the same row get it one after the other: one has it, the others are refused."""
        mark_listed(name, scope)
        futures = in_one_group(name, scope, wire, [[guard(scope)], [], [guard(scope)]])
        assert isinstance(futures.pop().exception(), AlsoRefused)
        assert len([one for one in wire.operations if one in ("PutItem", "TransactWriteItems")]) == 4
        assert [future.result().value for future in futures] == [nth(name, 3), nth(name, 4)]

    def test_the_same_row_in_other_words(self, name: str, scope: str, wire: Wire) -> None:
        """Two puts of one row that differ elsewhere are stored one after the other."""
        riders = [[Put(TABLE, {**key(scope, "last"), "who": who})] for who in "ab"]
        futures = in_one_group(name, scope, wire, riders)
        assert [future.result().value for future in futures] == [nth(name, 3), nth(name, 4)]
        assert row(scope, "last") == {"who": "b"}

    def test_a_table_that_is_missing(self, name: str, scope: str, wire: Wire) -> None:
        """In a group only the caller that names a missing table is refused."""
        futures = in_one_group(name, scope, wire, [[], [Put("there_is_none", {"pk": "a"})], [guard(scope)]])
        assert isinstance(futures.pop(1).exception(), TableMissing)
        assert [future.result().value for future in futures] == [nth(name, 3), nth(name, 4)]


@pytest.mark.parametrize("name", ["sort-key", "transactional"])
def test_most_actions(name: str, scope: str) -> None:
    """As many actions ride as a transaction holds; one more is refused before anything is sent."""
    most = strategies[name].most_actions - 2
    also = [Put(TABLE, key(scope, f"row {n}")) for n in range(most + 1)]
    with pytest.raises(
        InvalidItem, match=f"also has {most + 1} actions; one transaction holds {most} beside this item"
    ):
        put_next(name, {}, scope=scope, idempotency_token="a token", also=also)
    told = put_next(name, {}, scope=scope, idempotency_token="a token", also=also[1:])
    assert told.value == nth(name, 1)
    assert [row(scope, f"row {n}") for n in (1, most)] == [{}, {}]


def test_size_counts(scope: str) -> None:
    """What rides with an item counts for the limit of a transaction: a group that would be too large is divided."""
    rows = [[Put(TABLE, {**key(scope, f"row {n}"), "text": "a" * 350_000}) for n in range(6)] for _ in range(2)]
    requests = [strategies["sort-key"].item_writer.request({}, None, also) for also in rows]
    assert all(request.size > 2_100_000 for request in requests)


def rows_of_the_sequence(name: str, scope: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """The table and the key of each kind of row that a sequence keeps for itself."""
    strategy, counter = strategies[name], strategies[name].counter
    history, line = strategy.history.schema.table, HostQueue(name, strategy.markers.schema, clock=time, wall=time)
    lists = {"history": strategy.history.partition, "audits": KeptAudits(strategy).partition}
    wires = {
        **({"counter": (counter.table, counter.key(scope))} if counter else {}),
        "marker": (strategy.markers.schema.table, strategy.markers.key(scope, "a token")),
        "line": (strategy.markers.schema.table, line.key(scope)),
        "switch": (history, {"sequence": {"S": f"#switch#{name}"}, "scope": {"S": "#"}}),  # of version 0.2.0
        **{f"rules {place.schema.table}": (place.schema.table, dict(place.key)) for place in strategy.rules.places},
        **{kind: (history, {"sequence": {"S": own}, "scope": {"S": "a"}}) for kind, own in lists.items()},
    }
    prefix = dynamodb.table_name("")
    return {kind: (table.removeprefix(prefix), dynamodb.unmarshal(wire)) for kind, (table, wire) in wires.items()}


@pytest.mark.parametrize("name", SEQUENCES)
class TestRowsOfTheSequence:
    def test_nothing_is_written(self, name: str, scope: str, wire: Wire) -> None:
        """A row that the sequence keeps for itself is refused with the remedy, and nothing is sent."""
        for table, its_key in rows_of_the_sequence(name, scope).values():
            wrong = [Put(table, its_key), Delete(table, its_key), Update(table, its_key, update="REMOVE last_value")]
            for action in wrong:
                words = rf"also\[1\], an? {action.kind}: .* keeps for itself.*: name a row of your own"
                with pytest.raises(InvalidItem, match=words):
                    put_next(name, {}, scope=scope, also=[guard(scope), action])
        assert wire.operations == []

    def test_a_look_at_them(self, name: str, scope: str) -> None:
        """A Check of such a row rides along, as it writes nothing."""
        table, its_key = rows_of_the_sequence(name, scope)["switch"]
        check = Check(table, its_key, condition="attribute_not_exists(#scope)", names={"#scope": "scope"})
        assert put_next(name, {}, scope=scope, also=[check]).value in stored(name, scope)

    def test_rows_that_look_alike(self, name: str, scope: str) -> None:
        """The rows of another sequence and of the application, also one before START, are no rows of this one."""
        strategy = strategies[name]
        other = f"{name}-2"
        counter = {"sequence": other, "scope": scope}
        before = dynamodb.unmarshal(strategy.layout.key(scope, 0))
        items = strategy.schema.table.removeprefix(dynamodb.table_name(""))
        also = [
            Put("sequences", counter),
            Put("sequences", {**counter, "sequence": f"#history#{other}"}),
            Put(TABLE, {"pk": f"#marker#{other}#{scope}", "sk": 1}),
            Put(TABLE, {"pk": f"#years of {name}", "sk": 2026}),
            Put(TABLE, {"pk": name, "sk": 1}),
            Put(items, {**before, "title": "the project"}),
        ]
        told = put_next(name, {}, scope=scope, also=also).value
        assert {told, 0} <= set(stored(name, scope))


def test_a_row_of_the_sequence_by_its_value(scope: str, wire: Wire) -> None:
    """A key with a place for the value is known by what is around it."""
    marker = Put(TABLE, {"pk": value_text("#marker#sort-key#ABC-{value}"), "sk": 1})
    with pytest.raises(InvalidItem, match=r"also\[0\], a Put: .* keeps for itself"):
        put_next("sort-key", {}, scope=scope, also=[marker])
    assert wire.operations == []


def test_a_counter_of_a_region(scope: str) -> None:
    """The counters that a sequence has for its Regions are its own, too."""
    counter = Delete("sequences", {"sequence": "atomic@eu-west-1", "scope": scope})
    with pytest.raises(InvalidItem, match="keeps for itself"):
        put_next("atomic", {}, scope=scope, also=[counter])


ITEM = {"pk": "a", "sk": 0}
WRONG: Mapping[str, tuple[object, str]] = {
    "no list": (Put(TABLE, ITEM), "also is .*; it must be a list"),
    "a text": ("Put", "it must be a list"),
    "a dict": ([{"Put": {}}], r"also\[0\] is .*; it must be a Put, Update, Check or Delete"),
    "an Action": ([Action(TABLE, ITEM)], r"also\[0\] is"),
    "the second": ([Put(TABLE, ITEM), Put("", {"pk": "b"})], r"also\[1\], a Put: the table is ''"),
    "no item": ([Put(TABLE, {})], r"also\[0\], a Put: the item is {}"),
    "no key": ([Delete(TABLE, None)], r"a Delete: the key is None"),  # type: ignore[arg-type]
    "a float": ([Put(TABLE, {**ITEM, "price": 1.5})], r"also\[0\], a Put: The attribute 'price' cannot be stored"),
    "no condition": ([Check(TABLE, ITEM)], "a Check: it needs the expression 'condition'"),
    "no update": ([Update(TABLE, ITEM)], "an? Update: it needs the expression 'update'"),
    "an update of a put": ([Put(TABLE, ITEM, update="SET a = b")], "only an Update has the expression 'update'"),
    "a condition that is no text": (
        [Put(TABLE, ITEM, condition=Attr("pk").not_exists())],  # type: ignore[arg-type]
        "'condition' is .*; it must be a text",
    ),
    "an update that is no text": ([Update(TABLE, ITEM, update=5)], "'update' is 5; it must be a text"),  # type: ignore[arg-type]
    "an empty condition": ([Put(TABLE, ITEM, condition="")], "'condition' is ''; it must be a text"),
    "names that are no dict": ([Put(TABLE, ITEM, names=["#a"])], "'names' is .*; it must map what"),  # type: ignore[arg-type]
    "values that are no dict": ([Put(TABLE, ITEM, values=None)], "'values' is None; it must map what"),  # type: ignore[arg-type]
    "nothing": (None, "also is None; it must be a list"),
    "a name too few": ([Put(TABLE, ITEM, condition="#a = :b", values={":b": 1})], "#a is in an expression, but"),
    "a value too many": ([Put(TABLE, ITEM, values={":b": 1})], ":b is given, but in no expression"),
    "a row twice": ([Put(TABLE, ITEM), Delete(TABLE, ITEM)], r"also\[1\], a Delete: an action before it has the same"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_actions(wrong: str, scope: str, wire: Wire) -> None:
    """An action that DynamoDB would refuse for certain is named with the remedy, and nothing is sent."""
    also: Any
    also, words = WRONG[wrong]
    with pytest.raises(InvalidItem, match=words):
        put_next("sort-key", {}, scope=scope, also=also)
    assert wire.operations == []


def test_what_is_sent() -> None:
    """An action is sent with the value and its texts filled in, and without what it does not have."""
    table, row = dynamodb.table_name("outbox"), {"pk": {"S": "a"}}
    old = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

    def write(template: str) -> str:
        return f"<{template}>"

    assert Put("outbox", {"pk": "a"}).wire(7, write) == {"Put": {"TableName": table, "Item": row, **old}}
    assert Put("outbox", {"pk": VALUE}).wire()["Put"]["Item"] == {"pk": {"N": "0"}}
    update = Update(
        "outbox", {"pk": "a"}, update="SET #n = :n, t = :t", names={"#n": "n"}, values={":n": VALUE, ":t": TEXT}
    )
    assert update.wire(7, write) == {
        "Update": {
            "TableName": table,
            "Key": row,
            "UpdateExpression": "SET #n = :n, t = :t",
            "ExpressionAttributeNames": {"#n": "n"},
            "ExpressionAttributeValues": {":n": {"N": "7"}, ":t": {"S": "<{text}>"}},
            **old,
        }
    }


def test_the_size_of_actions() -> None:
    """Their size is that of all that is sent of them."""
    actions = [Put(TABLE, {"pk": "a", "text": "b" * 100}), Delete(TABLE, {"pk": "c"})]
    sizes = [item_size(action.wire(0, str)) for action in actions]
    assert [check_actions(actions[:count], lambda _: "", str) for count in range(3)] == [0, sizes[0], sum(sizes)]


def test_what_becomes_of_the_value(scope: str) -> None:
    """The error says what became of the value: a gapless strategy used none."""
    keep(scope, "guard")
    put_some("transactional", scope, 2)
    with pytest.raises(AlsoRefused, match="no value was used"):
        put_next("transactional", {}, scope=scope, also=[guard(scope)])
    with pytest.raises(AlsoRefused, match=f"the value {nth('atomic', 1)} stays unused"):
        put_next("atomic", {}, scope=scope, also=[guard(scope)])
    assert get_last_value("transactional", scope=scope) == nth("transactional", 2)
