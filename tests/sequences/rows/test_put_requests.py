"""Requests as they are made of items, and the parts of many that fit into one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.actions import VALUE, Put, value_text
from sequences.commit.requests import MOST_BYTES, Pending, PutRequest
from sequences.dynamodb import item_size, marshal
from sequences.exceptions import InvalidItem
from sequences.rows import put_requests
from sequences.rows.assignments import Assigner
from sequences.rows.put_requests import Requests, own_places
from sequences.types import Dated

DAY = date(2026, 3, 5)
DATED = Dated("A", "2026")
ONE, TWO, THREE = {"title": "one"}, {"title": "two"}, {"pk": "mine", "title": "three"}


def own_key(wire: Mapping[str, Any]) -> dict[str, Any] | None:
    """An item brings a key if it has `pk`."""
    return {"pk": wire["pk"]} if "pk" in wire else None


def requests(**changes: Any) -> Requests:
    """Those of a sequence that takes everything, and whose digests are readable."""
    given = {"own_row": lambda action: "", "sample": str, **changes}
    assigner = Mock(spec=Assigner, alias="orders", most_actions=4, own_rows=Mock(problem=given["own_row"]))
    return Requests(assigner, own_key, repr, given["sample"])


def wires(*items: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The items as attribute values."""
    return [marshal(item) for item in items]


def test_an_item() -> None:
    """The request for an item has its attribute values and its size, and without a token no digest."""
    request = requests().put(ONE, None, day=DAY)
    (one,) = wires(ONE)
    assert (request.item, request.size, request.day) == (one, item_size(one), DAY)
    assert (request.token, request.digest, request.own_key, request.more, request.also) == ("", "", None, (), ())
    assert (request.count, request.has_blanks, own_places(request)) == (1, False, [])


def test_a_token() -> None:
    """A repeat with the token must have the same digest; of several items it is made of all."""
    one, two = wires(ONE, TWO)
    assert requests().put(ONE, "t").token == "t"
    assert requests().put(ONE, "t").digest == repr(one)
    together = requests().put(ONE, "t", more=[TWO])
    assert together.digest == repr({"#items": {"L": [{"S": repr(one)}, {"S": repr(two)}]}})


def test_several_items() -> None:
    """Each has its own key, if it brings one, and they count together."""
    one, two, three = wires(ONE, TWO, THREE)
    request = requests().put(THREE, None, more=[ONE, TWO, THREE])
    assert request.own_key == {"pk": {"S": "mine"}}
    assert request.items == ((three, request.own_key), (one, None), (two, None), (three, request.own_key))
    assert (request.count, request.size) == (4, sum(map(item_size, (one, two, three, three))))
    assert own_places(request) == [0, 3]


def test_as_many_bytes_as_a_transaction_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items are together if they have as many bytes as one transaction holds; with one byte more they are refused."""
    size = sum(map(item_size, wires(ONE, TWO)))
    monkeypatch.setattr(put_requests, "MOST_BYTES", size)
    assert requests().put(ONE, None, more=[TWO]).size == size
    with pytest.raises(InvalidItem, match=f"have {size + 1} bytes; one transaction holds {size}"):
        requests().put(ONE, None, more=[{"title": "two."}])


def test_what_rides_with_it() -> None:
    """Actions count in the size, and their rows are checked."""
    action, refuses = Put("places", {"id": "7A"}), Mock(return_value="a row of its own")
    request = requests().put(ONE, None, also=[action])
    assert request.also == (action,)
    assert request.size == item_size(*wires(ONE)) + item_size(action.wire())
    with pytest.raises(InvalidItem, match="a row of its own"):
        requests(own_row=refuses).put(ONE, None, also=[action])
    with pytest.raises(InvalidItem, match="also is None"):
        requests().put(ONE, None, also=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("items", [[{"number": VALUE}], [ONE, {"number": VALUE}]], ids=["the first", "another"])
def test_blanks(items: Sequence[Mapping[str, Any]]) -> None:
    """Whether an item tells its value is seen in each."""
    assert requests().put(items[0], None, more=items[1:]).has_blanks


def test_a_template_that_does_not_fit() -> None:
    """It is refused at once, whichever item has it."""
    refuse = Mock(side_effect=InvalidItem("no such field"))
    blank = {"text": value_text("{value}")}
    cases: list[list[Mapping[str, Any]]] = [[blank], [ONE, blank]]
    for items in cases:
        with pytest.raises(InvalidItem, match="no such field"):
            requests(sample=refuse).put(items[0], None, more=items[1:])


def test_what_is_no_item() -> None:
    """What maps nothing is refused, also among more."""
    for items in (["text"], [ONE, "text"]):
        with pytest.raises(
            InvalidItem,
            match=r"^The item is 'text'; it must map attribute names to values\. The item is one of 'orders'\.$",
        ):
            requests().put(items[0], None, more=items[1:])  # type: ignore[arg-type]


def test_a_reservation() -> None:
    """It stores nothing but a marker; another count or period is another request."""
    request = requests().reservation(3, "t", "A", DAY)
    assert (request.item, request.items, request.token, request.count, request.day) == (None, (), "t", 3, DAY)
    others = [requests().reservation(count, "t", scope, DAY) for count, scope in ((4, "A"), (3, DATED))]
    assert len({request.digest, *(other.digest for other in others)}) == 3
    assert requests().reservation(3, "t", DATED).digest == others[1].digest
    assert "'2026'" in others[1].digest


def pendings(*sizes: int, token: str = "") -> list[Pending[PutRequest]]:
    """Requests of these sizes."""
    return [Pending(PutRequest(item={}, size=size, token=token)) for size in sizes]


@pytest.mark.parametrize(
    ("sizes", "token", "parts"),
    [
        ([], "", []),
        ([1, 1, 1, 1], "", [4]),
        ([1, 1, 1, 1, 1], "", [4, 1]),
        ([1, 1, 1, 1, 1], "t", [2, 2, 1]),
        ([MOST_BYTES - 1, 1, 1], "", [2, 1]),
        ([MOST_BYTES - 1, 2, MOST_BYTES - 2, 1], "", [1, 2, 1]),
        ([MOST_BYTES + 1, MOST_BYTES + 1], "", [1, 1]),
    ],
)
def test_transactions(sizes: Sequence[int], token: str, parts: Sequence[int]) -> None:
    """A part has as many actions and bytes as one transaction takes, and at least one request; the order stays."""
    given = pendings(*sizes, token=token)
    found = list(requests().parts(given))
    assert [len(part) for part in found] == parts
    assert [pending for part in found for pending in part] == given
