"""What a process remembers of counters, and what it looks at before it first counts in a scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.dynamodb import marshal
from sequences.dynamodb.expressions import KeySchema, query_numbers
from sequences.rows.counter_memory import CounterMemory
from sequences.rows.counter_rows import CounterRows
from sequences.rows.layout import ItemLayout
from sequences.rows.lives import TableLives
from sequences.rows.numbers import Numbers

OWN, IMPORTED = {"token": "t"}, dict[str, str]()


def made(*, checks: bool = True, in_collections: bool = True, others: tuple[int, ...] = ()) -> CounterMemory:
    """The memory of a process that knows nothing yet; `others` are the first values of other Regions."""
    layout = Mock(spec=ItemLayout, schema=KeySchema(table="items"), token_name="token", in_collections=in_collections)
    layout.partition = lambda scope: f"orders#{scope}"
    numbers = Numbers(alias="orders", start=1, step=1 + len(others), maximum=9999, others=others)
    lives = Mock(spec=TableLives, known_as="")
    rows = Mock(spec=CounterRows)
    rows.name = "orders"
    return CounterMemory(rows, layout, numbers, lives, check_items=checks)


def answer(rows: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """The newest items of a scope, by their values; they cost a unit."""
    items = [marshal({"pk": "orders#A", "sk": value, **row}) for value, row in rows.items()]
    return {"Items": items, "ConsumedCapacity": {"CapacityUnits": 1.0}}


@pytest.mark.parametrize(
    ("answers", "carried", "limits"),
    [
        ([{7: OWN}], 7, [1]),
        ([{}], None, [1]),
        ([{9: IMPORTED}, {9: IMPORTED, 8: IMPORTED, 7: OWN, 6: OWN}], 7, [1, 100]),
        ([{9: IMPORTED}, {9: IMPORTED}], None, [1, 100]),
    ],
    ids=["its own", "none", "imported", "all imported"],
)
def test_the_first_look(answers: Sequence[dict[int, Any]], carried: int | None, limits: Sequence[int]) -> None:
    """The newest item with a token tells how far a scope was counted. Where imported ones are above, more are read."""
    memory, send = made(), Mock(side_effect=map(answer, answers))
    assert memory.check_items("A", send) == len(limits)
    assert memory.evidence.known("A") == carried
    assert [call.args for call in send.call_args_list] == [
        ("query", query_numbers(KeySchema(table="items"), "orders#A", newest_first=True, limit=n, attributes=["token"]))
        for n in limits
    ]
    assert memory.check_items("A", send) == 0.0


def test_a_look_that_finds_nothing() -> None:
    """What is known stays."""
    memory = made()
    memory.evidence.note("A", 5)
    memory.check_items("A", Mock(return_value=answer({})))
    assert memory.evidence.known("A") == 5


def test_values_of_other_regions() -> None:
    """They say nothing of this one's counter."""
    memory = made(others=(2,))
    memory.check_items("A", Mock(side_effect=[answer({8: OWN}), answer({8: OWN, 7: OWN})]))
    assert memory.evidence.known("A") == 7


@pytest.mark.parametrize("how", [{"checks": False}, {"in_collections": False}], ids=["not wanted", "no order"])
def test_no_look(how: dict[str, bool]) -> None:
    """Nothing is read if that is not wanted, or if the items are not in the order of their values."""
    send = Mock()
    assert made(**how).check_items("A", send) == 0.0  # type: ignore[arg-type]
    send.assert_not_called()


def test_an_item_in_the_way() -> None:
    """The highest value counts that a counter has met, until it moves past it."""
    memory = made()
    assert memory.behind("A") is None
    for value, behind in ((0, 0), (7, 7), (5, 7), (9, 9)):
        memory.fell_behind("A", value)
        assert memory.behind("A") == behind
    assert memory.behind("B") is None
    memory.caught_up("A")
    assert memory.behind("A") is None


@pytest.mark.parametrize("everything", [True, False])
def test_forgetting(everything: bool) -> None:
    """A scope that is forgotten is as if it was never counted in; other scopes are only with all."""
    memory = made()
    for scope in ("A", "B"):
        memory.check_items(scope, Mock(return_value=answer({7: OWN})))
        memory.fell_behind(scope, 9)
        memory.tallies.learn(scope, [], 0.0)
    if everything:
        memory.forget()
    else:
        memory.forget_scope("A")
    for scope, is_known in (("A", False), ("B", not everything)):
        assert (memory.evidence.known(scope), memory.behind(scope)) == ((7, 9) if is_known else (None, None))
        assert memory.tallies.wants_row(scope, 3_600.0, 0.0) is not is_known
        assert (memory.check_items(scope, Mock(return_value=answer({}))) == 0.0) is is_known
