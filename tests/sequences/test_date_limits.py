"""DATES: a document that is dated too far from today is refused, and a repeat still gets its first answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
from pytest_django import Settings

from sequences import (
    aget_next_values,
    aput_next,
    format_value,
    get_last_value,
    get_next_value,
    get_next_values,
    items,
    put_next,
    put_next_each,
    put_next_many,
    put_next_together,
)
from sequences.changes import put_at
from sequences.exceptions import DateRefused, InvalidSequence
from sequences.registry import strategies
from sequences.strategies import Strategy
from tests import shop as shop_app
from tests.sequences.support import Clock, Wire, make

LIMITS = {"past": 30, "future": 7}
TODAY = date(2026, 3, 5)
FIRST, LAST = date(2026, 2, 3), date(2026, 3, 12)
TYPO = date(2062, 3, 5)
Install = Callable[..., Strategy]


@pytest.fixture
def clock() -> Clock:
    """The engine's clock: 23:30 in UTC of the day before is today in Berlin."""
    return Clock(datetime(2026, 3, 4, 23, 30, tzinfo=UTC).timestamp())


@pytest.fixture(params=["transactional", "atomic", "optimistic-update", "block", "sort-key"])
def name(request: pytest.FixtureRequest, install: Install, clock: Clock) -> str:
    """A sequence that takes documents of some days around today, by each strategy."""
    alias: str = request.param
    install(alias, wall=clock, DATES=LIMITS, TIME_ZONE="Europe/Berlin", GIVEN=True)
    return alias


@pytest.mark.usefixtures("configured")
class TestLimits:
    def test_the_days(self, name: str, scope: str) -> None:
        """The first and the last day are taken, and those around them refused with the limits; no value is used."""
        for day in (FIRST, LAST, TODAY, None):
            put_next(name, {}, scope=scope, date=day)
        for day in (FIRST - timedelta(days=1), LAST + timedelta(days=1), TYPO):
            with pytest.raises(DateRefused) as refused:
                put_next(name, {}, scope=scope, date=day)
            assert f"dated {day}, and {name!r} takes dates from 2026-02-03 to 2026-03-12" in str(refused.value)
            assert (refused.value.first, refused.value.last) == (FIRST, LAST)
        assert len(list(items(name, scope=scope))) == 4
        assert put_next(name, {}, scope=scope, date=TODAY).value == 5

    def test_every_door(self, name: str, scope: str) -> None:
        """Items one by one and together, values, and what is awaited."""
        doors: list[Callable[[], Any]] = [
            lambda: put_next_many(name, [{}, {}], scope=scope, date=TYPO),
            lambda: put_next_together(name, [{}, {}], scope=scope, date=TYPO),
            lambda: asyncio.run(aput_next(name, {}, scope=scope, date=TYPO)),
        ]
        if strategies[name].supports_reserve:
            doors += [
                lambda: get_next_value(name, scope=scope, date=TYPO),
                lambda: get_next_values(2, name, scope=scope, date=TYPO),
                lambda: get_next_values(2, name, scope=scope, date=TYPO, idempotency_token="one"),
                lambda: asyncio.run(aget_next_values(2, name, scope=scope, date=TYPO)),
            ]
        for door in doors:
            with pytest.raises(DateRefused):
                door()
        answers = put_next_each(name, [{}, {}], scope=scope, date=TYPO)
        assert [type(answer) for answer in answers] == [DateRefused, DateRefused]
        assert get_last_value(name, scope=scope) is None

    def test_a_repeat(self, name: str, scope: str, clock: Clock) -> None:
        """When the limit has passed it still gets its first answer; another request does not."""
        first = put_next(name, {}, scope=scope, date=TODAY, idempotency_token="one")
        clock.now += 40 * 24 * 3600
        strategies[name].markers.wall = lambda: clock.now - 40 * 24 * 3600  # the marker is kept for longer
        again = put_next(name, {}, scope=scope, date=TODAY, idempotency_token="one")
        assert (again.value, again.replayed) == (first.value, True)
        with pytest.raises(DateRefused):
            put_next(name, {}, scope=scope, date=TODAY, idempotency_token="two")

    def test_what_it_costs(self, install: Install, scope: str, wire: Wire) -> None:
        """Nothing within the limits; beyond them nothing without a token, and one read with one."""
        costs = []
        for limits in ({}, LIMITS):
            install("transactional", DATES=limits, PERIOD="year")
            wire.clear()
            put_next("transactional", {}, scope=f"{scope}{len(limits)}", idempotency_token="one")
            costs.append((wire.operations, wire.units))
        assert costs[0] == costs[1]
        for token, operations in ((None, []), ("two", ["GetItem"])):
            wire.clear()
            with pytest.raises(DateRefused):
                put_next("transactional", {}, scope=scope, date=TYPO, idempotency_token=token)
            assert wire.operations == operations

    def test_given_numbers(self, name: str, scope: str) -> None:
        """A guarded change has who and why, and takes any date."""
        assert put_at(name, 7, {}, scope=scope, date=date(1999, 1, 1), by="ana", reason="the old system")

    def test_what_reads(self, install: Install, clock: Clock, scope: str) -> None:
        """Texts and values of any date are read."""
        install("transactional", wall=clock, DATES=LIMITS, PERIOD="year", FORMAT="{scope}-{period}-{value}")
        assert format_value(7, "transactional", scope="A", date=TYPO) == "A-2062-7"
        assert get_last_value("transactional", scope=scope, date=TYPO) is None

    @pytest.mark.parametrize(
        ("limits", "day", "span"), [({"past": 0}, 4, "from 2026-03-05 "), ({"future": 0}, 6, "to 2026-03-05 ")]
    )
    def test_one_limit(self, install: Install, clock: Clock, scope: str, limits: Any, day: int, span: str) -> None:
        """Each may be missing: then there is none on that side."""
        install("transactional", wall=clock, DATES=limits, TIME_ZONE="Europe/Berlin")
        for far in ({"past": 2062, "future": 1999}[next(iter(limits))], 2026):
            put_next("transactional", {}, scope=scope, date=date(far, 3, 5))
        with pytest.raises(DateRefused, match=f"takes dates {span}"):
            put_next("transactional", {}, scope=scope, date=date(2026, 3, day))

    @pytest.mark.parametrize("wrong", [{"past": -1}, {"before": 3}, {"past": "3"}, {"past": True}, 30, {"past": 1.5}])
    def test_other_settings(self, wrong: Any) -> None:
        """They are whole numbers of days."""
        with pytest.raises(InvalidSequence, match=r"\['DATES'\] is .* it must be a dict of 'past' and 'future'"):
            make("transactional", DATES=wrong)


@pytest.mark.django_db(transaction=True)
def test_models(shop: ModuleType, settings: Settings) -> None:
    """A row with a wrong year is not stored, and a draft with one stays a draft; the others get their numbers."""
    names = ("contracts", "bills")
    limited = {name: {**shop_app.SEQUENCES[name], "DATES": {"past": 30, "future": 7}} for name in names}
    settings.SEQUENCES = {**shop_app.SEQUENCES, **limited}
    today = datetime.now(UTC).date()
    with pytest.raises(DateRefused):
        shop.Contract.objects.create(signed_on=TYPO)
    assert shop.Contract.objects.create(signed_on=today).number == 1
    bills = [shop.Bill.objects.create(customer="A", issued_on=day) for day in (TYPO, today)]
    with pytest.raises(DateRefused) as refused:
        shop.Bill.objects.issue_numbers()
    assert f"Not numbered: shop.Bill {bills[0].pk}." in refused.value.__notes__
    assert [bill.number for bill in shop.Bill.objects.order_by("pk")] == [None, 1]
