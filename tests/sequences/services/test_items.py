"""Stored items are read back by their values, by their texts, and in the order of their values."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date
from itertools import islice
from typing import Any

import pytest

from sequences import (
    afind,
    aget_item,
    aitems,
    changes,
    find,
    get_item,
    items,
    put_next,
    put_next_many,
)
from sequences.exceptions import (
    InvalidPeriod,
    InvalidScope,
    InvalidSequence,
    InvalidText,
    OperationNotSupported,
    SequenceUnavailable,
)
from sequences.registry import strategies
from sequences.rows import item_reader
from sequences.strategies import Strategy
from sequences.testing import engine_at
from sequences.types import StoredItem
from tests.sequences.support import SEQUENCES, STEPPING, Wire, import_row, nth

pytestmark = pytest.mark.usefixtures("configured")

INVOICES = {"FORMAT": "INV-{period}-{value:06d}", "PERIOD": "year"}


@pytest.fixture(params=[False, True], ids=["called", "awaited"])
def awaited(request: pytest.FixtureRequest) -> bool:
    """Whether the function is called, or its twin is awaited."""
    return bool(request.param)


def got(awaited: bool, *arguments: Any, **options: Any) -> StoredItem | None:
    """What `get_item` or its twin returns."""
    return asyncio.run(aget_item(*arguments, **options)) if awaited else get_item(*arguments, **options)


def found(awaited: bool, *arguments: Any, **options: Any) -> StoredItem | None:
    """What `find` or its twin returns."""
    return asyncio.run(afind(*arguments, **options)) if awaited else find(*arguments, **options)


def listed(awaited: bool, *arguments: Any, **options: Any) -> list[StoredItem]:
    """What `items` or its twin gives."""

    async def collected() -> list[StoredItem]:
        return [item async for item in aitems(*arguments, **options)]

    return asyncio.run(collected()) if awaited else list(items(*arguments, **options))


class TestOne:
    @pytest.mark.parametrize("name", SEQUENCES)
    def test_the_item_that_was_given(self, name: str, scope: str, awaited: bool) -> None:
        """It comes back as it was given, with its value, by every strategy and layout."""
        item = {"title": "Printer on fire", "labels": {"a", "b"}, "price": 12, "more": {"rows": [1, None]}}
        told = put_next(name, item, scope=scope, idempotency_token="a token")
        assert got(awaited, name, told.value, scope=scope) == StoredItem(
            sequence=name, scope=scope, value=told.value, item=item, text=told.text
        )

    def test_none_is_there(self, scope: str, awaited: bool) -> None:
        """A value that is not given yet has no item, nor has one in another scope."""
        put_next("sort-key", {}, scope=scope)
        assert got(awaited, "sort-key", 2, scope=scope) is None
        assert got(awaited, "sort-key", 1, scope=f"{scope} other") is None

    @pytest.mark.needs_engine  # moto has 0.5 for each read
    def test_what_it_costs(self, scope: str, wire: Wire, awaited: bool) -> None:
        """One request, a read unit for each 4 KB."""
        put_next("sort-key", {"title": "x" * 5000}, scope=scope)
        wire.clear()
        got(awaited, "sort-key", 1, scope=scope)
        assert (wire.operations, wire.units) == (["GetItem"], 2.0)

    def test_a_void_number(self, scope: str, awaited: bool) -> None:
        """A number that was withdrawn tells by whom, when and why; its item keeps what it has."""
        put_next("sort-key", {"title": "wrong"}, scope=scope)
        changes.void("sort-key", 1, scope=scope, by="ana", reason="a test")
        item = got(awaited, "sort-key", 1, scope=scope)
        assert item is not None
        assert item.void is not None
        assert (item.void["by"], item.void["reason"], sorted(item.void)) == ("ana", "a test", ["at", "by", "reason"])

    def test_skipped_numbers(self, scope: str, awaited: bool) -> None:
        """The row before skipped numbers says how far they go."""
        put_next("sort-key", {}, scope=scope)
        changes.seed("sort-key", 10, scope=scope, by="ana", reason="a test")
        assert put_next("sort-key", {}, scope=scope).value == 11
        voids = {item.value: item.void for item in listed(awaited, "sort-key", scope=scope)}
        assert list(voids) == [1, 2, 10, 11]
        assert (voids[1], voids[11]) == (None, None)
        assert voids[2] is not None
        assert (voids[2]["until"], voids[2]["by"]) == (10, "ana")

    def test_an_attribute_named_void(self, scope: str, install: Callable[..., Strategy], awaited: bool) -> None:
        """An attribute of the application's own stays one, whatever its name."""
        put_next("sort-key", {"void": "no"}, scope=scope)
        item = got(awaited, "sort-key", 1, scope=scope)
        assert item is not None
        assert (item.item, item.void) == ({"void": "no"}, None)

    def test_the_stored_text(self, scope: str, install: Callable[..., Strategy], awaited: bool) -> None:
        """A stored text stays as it was, though FORMAT is another one by now."""
        install("sort-key", FORMAT="{scope}-{value}", text_name="number")
        put_next("sort-key", {}, scope=scope)
        install("sort-key", FORMAT="{scope}/{value:04d}", text_name="number")
        item = got(awaited, "sort-key", 1, scope=scope)
        assert item is not None
        assert (item.text, item.item) == (f"{scope}-1", {})

    def test_keys_of_their_own(self, scope: str, install: Callable[..., Strategy], awaited: bool) -> None:
        """Items whose keys do not follow from the value are for their keys to find."""
        install("atomic", value_in="attribute")
        with pytest.raises(OperationNotSupported, match="read them by these keys"):
            got(awaited, "atomic", 1, scope=scope)
        with pytest.raises(OperationNotSupported, match="not in the order of their values"):
            listed(awaited, "atomic", scope=scope)

    def test_the_value_in_the_partition_key(
        self, scope: str, install: Callable[..., Strategy], wire: Wire, awaited: bool
    ) -> None:
        """An item that has brought its sort key is found by a query of its partition."""
        install("atomic", value_in="partition_key", partition="{scope}-{value:04d}")
        put_next("atomic", {"sk": 7, "title": "a"}, scope=scope)
        wire.clear()
        item = got(awaited, "atomic", 1, scope=scope)
        assert item is not None
        assert item.item == {"title": "a"}
        assert wire.operations == ["Query"]
        assert got(awaited, "atomic", 2, scope=scope) is None

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            (("nothing", 1), InvalidSequence),
            (("sort-key", 0), ValueError),
            (("sort-key", "1"), ValueError),
            (("sort-key", True), ValueError),
            (("atomic-from-1001-by-10", 1002), ValueError),
        ],
    )
    def test_mistakes(self, arguments: tuple[Any, ...], error: type[Exception], wire: Wire, awaited: bool) -> None:
        """What is wrong is named before anything is sent."""
        with pytest.raises(error):
            got(awaited, *arguments)
        with pytest.raises(InvalidScope):
            got(awaited, "sort-key", 1, scope="")
        assert wire.sent == []

    def test_an_engine_that_is_away(self, scope: str, install: Callable[..., Strategy], awaited: bool) -> None:
        """It says so at the deadline."""
        with engine_at("http://127.0.0.1:9"):
            install("sort-key", deadline=0.1)  # here, as another engine has strategies of its own
            with pytest.raises(SequenceUnavailable):
                got(awaited, "sort-key", 1, scope=scope)


class TestFind:
    @pytest.fixture(autouse=True)
    def invoices(self, install: Callable[..., Strategy]) -> None:
        """Invoices by the year."""
        install("transactional", **INVOICES)
        install("sort-key", FORMAT="{scope}-{value:04d}")

    def test_as_people_type_it(self, awaited: bool) -> None:
        """In any case, without the zeros; the text says the period."""
        for year in (2031, 2032):
            put_next("transactional", {"to": f"{year}"}, date=date(year, 3, 5))
        item = found(awaited, "inv 2031 1", "transactional")
        assert item is not None
        assert (item.value, item.period, item.text, item.item) == (1, "2031", "INV-2031-000001", {"to": "2031"})
        assert found(awaited, "INV-2031-000099", "transactional") is None

    def test_the_scope_of_the_text(self, scope: str, awaited: bool) -> None:
        """A scope in the text is where the item is."""
        put_next("sort-key", {"title": "a"}, scope=scope)
        item = found(awaited, f"{scope}-1", "sort-key")
        assert item is not None
        assert (item.scope, item.item) == (scope, {"title": "a"})

    def test_what_the_text_does_not_say(self, scope: str, install: Callable[..., Strategy], awaited: bool) -> None:
        """Scope and period are given besides, where FORMAT leaves them out."""
        install("atomic", PERIOD="year")
        put_next("atomic", {"title": "a"}, scope=scope, date=date(2031, 3, 5))
        with pytest.raises(InvalidPeriod, match="does not name its period: give the date or the period"):
            found(awaited, "1", "atomic", scope=scope)
        for given in ({"period": "2031"}, {"date": date(2031, 12, 31)}):
            item = found(awaited, "1", "atomic", scope=scope, **given)
            assert item is not None
            assert (item.scope, item.period, item.item) == (scope, "2031", {"title": "a"})

    def test_another_form(self, wire: Wire, awaited: bool) -> None:
        """A text that is none of the sequence is refused, and nothing is sent."""
        with pytest.raises(InvalidText):
            found(awaited, "ORDER 7", "transactional")
        assert wire.sent == []


class TestMany:
    @pytest.mark.parametrize("name", [name for name in SEQUENCES if name not in STEPPING])
    @pytest.mark.parametrize("newest_first", [False, True])
    def test_in_order(self, name: str, scope: str, newest_first: bool, awaited: bool) -> None:
        """All items of the scope come in the order of their values, from the one after `after`."""
        values = [put.value for put in put_next_many(name, [{"n": n} for n in range(5)], scope=scope)]
        told = listed(awaited, name, scope=scope, newest_first=newest_first)
        assert [item.value for item in told] == sorted(values, reverse=newest_first)
        assert [item.item["n"] for item in told] == sorted(range(5), reverse=newest_first)
        after = listed(awaited, name, scope=scope, after=values[2], newest_first=newest_first)
        assert [item.value for item in after] == (values[:2][::-1] if newest_first else values[3:])
        if not newest_first:
            assert [item.value for item in listed(awaited, name, scope=scope, after=values[0] - 1)] == values

    def test_pages(self, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch, awaited: bool) -> None:
        """Pages are read while their items are taken, and no item is left out."""
        monkeypatch.setattr(item_reader, "ITEMS_A_PAGE", 2)
        put_next_many("sort-key", [{}] * 5, scope=scope)
        wire.clear()
        assert [item.value for item in listed(awaited, "sort-key", scope=scope)] == [1, 2, 3, 4, 5]
        assert wire.operations == ["Query"] * 3
        wire.clear()
        assert [item.value for item in islice(items("sort-key", scope=scope), 2)] == [1, 2]
        assert wire.operations == ["Query"]

    def test_rows_that_are_no_values(self, scope: str, awaited: bool) -> None:
        """A row below START is the application's own, and is left out."""
        import_row("sort-key", scope, 0)
        put_next("sort-key", {}, scope=scope)
        for newest_first in (False, True):
            told = listed(awaited, "sort-key", scope=scope, newest_first=newest_first)
            assert [item.value for item in told] == [1]

    def test_steps(self, scope: str, awaited: bool) -> None:
        """Values by a STEP come, and rows between them do not."""
        name = "transactional-from-1001-by-10"
        put_next_many(name, [{}] * 2, scope=scope)
        import_row(name, scope, nth(name, 1) + 1)
        assert [item.value for item in listed(awaited, name, scope=scope)] == [nth(name, 1), nth(name, 2)]
        with pytest.raises(ValueError, match="never gives that"):
            listed(awaited, name, scope=scope, after=nth(name, 1) + 1)

    def test_nothing(self, scope: str, awaited: bool) -> None:
        """A scope without items gives none."""
        assert listed(awaited, "sort-key", scope=scope) == []

    def test_a_period(self, scope: str, install: Callable[..., Strategy], awaited: bool) -> None:
        """The items of one period are listed, by its name or by a date in it."""
        install("sort-key", PERIOD="year")
        put_next("sort-key", {}, scope=scope, date=date(2031, 3, 5))
        assert [item.period for item in listed(awaited, "sort-key", scope=scope, period="2031")] == ["2031"]
        assert listed(awaited, "sort-key", scope=scope, date=date(2032, 3, 5)) == []


def test_a_strategy_of_another_layout_is_not_read(scope: str) -> None:
    """What is read is by the layout of the sequence that is named."""
    put_next("sort-key-padded", {"title": "a"}, scope=scope)
    item = get_item("sort-key-padded", 1, scope=scope)
    assert item is not None
    assert strategies["sort-key-padded"].layout.key(scope, 1)["sk"] == {"S": "000001"}
    assert get_item("sort-key", 1, scope=scope) is None
