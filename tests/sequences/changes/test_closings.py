"""Closed periods: no number is given in any scope, none is burnt, and the books open again for a correction."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from sequences import dynamodb, get_last_value, get_next_value, put_next, put_next_together, series
from sequences.changes import (
    EVERY_SCOPE,
    EveryScope,
    advance,
    apply,
    close,
    finish_switch,
    freeze,
    history,
    put_at,
    recover,
    reopen,
    switch,
    thaw,
)
from sequences.dynamodb.client import EngineClock
from sequences.exceptions import (
    InvalidChange,
    InvalidPeriod,
    InvalidScope,
    OperationNotSupported,
    PeriodClosed,
    SequenceError,
)
from sequences.ops.audit import audit
from sequences.registry import parse_config, strategies
from sequences.series import Line
from sequences.strategies import Strategy
from sequences.strategies.counter_strategy import advance_to, counter_of
from sequences.testing.callers import at_once
from sequences.types import Dated
from tests.sequences.support import PATH, Clock, Wire, arrives, held_up, made_anew, read_counter, tapped, written

pytestmark = pytest.mark.usefixtures("own_sequences", "patience", "steady_date")

SIGNED: dict[str, Any] = {"by": "ana", "reason": "the year is over"}
YEARLY: dict[str, Any] = {"PERIOD": "year", "FORMAT": "{scope}-{period}-{value}"}
SEQUENCES: dict[str, dict[str, Any]] = {
    "invoices": {"STRATEGY": f"{PATH}.transactional.TransactionalCounter", "GIVEN": True, **YEARLY},
    "beside": {
        "STRATEGY": f"{PATH}.transactional.TransactionalCounter",
        "OPTIONS": {"counter_table": "sequence_items"},
        **YEARLY,
    },
    "atomic": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", **YEARLY},
    "optimistic": {"STRATEGY": f"{PATH}.optimistic.OptimisticCounter", "OPTIONS": {"write": "put"}, **YEARLY},
    "blocks": {"STRATEGY": f"{PATH}.block.BlockAllocator", **YEARLY},
    "tail": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", **YEARLY},
    "plain": {"STRATEGY": f"{PATH}.transactional.TransactionalCounter"},
    "lined": {
        "STRATEGY": f"{PATH}.transactional.TransactionalCounter",
        "SERIES": "sequences",
        **YEARLY,
        "FORMAT": "L{scope}-{period}-{value}",
    },
    "lined-atomic": {
        "STRATEGY": f"{PATH}.atomic.AtomicCounter",
        "SERIES": "sequences",
        **YEARLY,
        "FORMAT": "M{scope}-{period}-{value}",
    },
}
COUNTERS = ["invoices", "beside", "atomic", "optimistic", "blocks"]
EXACT = ["invoices", "beside"]
TO_500 = {"advance": ["--to=500"], "seed": ["--number=500"]}
THEN, NOW = date(2025, 12, 31), date(2026, 1, 2)


@pytest.fixture
def wire(own_sequences: str) -> Iterator[Wire]:
    """The requests of this process during the test."""
    with tapped() as wire:
        yield wire


@pytest.fixture(params=COUNTERS)
def name(request: pytest.FixtureRequest) -> str:
    """A sequence with counters and years, by each strategy."""
    alias: str = request.param
    return alias


def another(name: str, **clocks: Any) -> Strategy:
    """The strategy as another process has it, which begins now."""
    return made_anew(parse_config(name, SEQUENCES[name]), **clocks)


def put(name: str, scope: str, day: date = THEN, token: str | None = None) -> int:
    """Store an item for a document of this day; its value."""
    return put_next(name, {}, scope=scope, date=day, idempotency_token=token).value


def refused(name: str, scope: str) -> None:
    """No number is given in the closed year."""
    with pytest.raises(PeriodClosed, match=r"The books of .* of 2025, are closed by ana since .*: the year is over"):
        put(name, scope)


def of_2025(made: list[Any]) -> list[Any]:
    """The scopes of changes."""
    assert {change.period for change in made} <= {"2025"}
    return sorted(change.scope for change in made)


class TestClose:
    def test_every_scope(self, name: str) -> None:
        """Scopes with numbers, and without, get no more in the period; another period goes on; none is burnt."""
        assert [put(name, scope) for scope in ("A", "B")] == [1, 1]
        assert of_2025(close(name, "2025", **SIGNED)) == ["A", "B"]
        for scope in ("A", "B", "new"):
            refused(name, scope)
        assert get_last_value(name, scope="A", period="2025") in (1, 100)
        assert get_last_value(name, scope="new", period="2025") is None
        assert put(name, "A", NOW) == 1
        assert put(name, "new", NOW) == 1

    def test_another_process(self, name: str) -> None:
        """A process that remembers the scopes, or looked before, is refused, too."""
        put(name, "A")
        other = another(name)
        put(name, "B", NOW)
        close(name, "2025", **SIGNED)
        strategies._made[name] = other
        refused(name, "A")
        refused(name, "new")

    def test_a_repeat(self, name: str) -> None:
        """Who repeats a request of before with its token gets the first answer."""
        value = put(name, "A", token="one")
        close(name, "2025", **SIGNED)
        assert put(name, "A", token="one") == value
        strategies[name].forget()
        assert put(name, "A", token="one") == value

    def test_again(self, name: str, wire: Wire) -> None:
        """What is closed stays as it is: a repeat changes nothing that is shown, and marks the row of the period."""
        put(name, "A")
        close(name, "2025", **SIGNED)
        lines = history(name)[0]
        wire.clear()
        assert close(name, "2025", by="bob", reason="again") == []
        assert "TransactWriteItems" not in wire.operations
        assert history(name)[0] == lines
        with pytest.raises(PeriodClosed, match="closed by ana"):
            put(name, "A")

    def test_the_history(self, name: str) -> None:
        """It has who and why: a line of the period, and one of each scope."""
        put(name, "A")
        close(name, "2025", **SIGNED)
        lines, _ = history(name, period="2025")
        assert [(one.kind, one.scope, one.by, one.reason) for one in lines] == [
            ("close", "A", "ana", "the year is over"),
            ("close", None, "ana", "the year is over"),
        ]
        assert all(one.before == one.after for one in lines)

    def test_a_dry_run(self, name: str) -> None:
        """It tells which scopes are open, and closes nothing."""
        put(name, "A")
        assert of_2025(close(name, "2025", dry_run=True, **SIGNED)) == ["A"]
        assert put(name, "A") == 2
        assert put(name, "B") == 1
        assert history(name)[0] == []

    def test_many_scopes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run that fails midway says so, and the next one goes on where it stopped."""
        scopes = [f"{n:03d}" for n in range(105)]
        at_once(15, lambda index: [put("atomic", scope) for scope in scopes[index::15]])
        done: list[Any] = []
        stored = apply._stored

        def stops(*given: Any) -> bool:
            if len(done) == 50:
                raise SequenceError("The power is gone.")
            done.append(given)
            return stored(*given)

        monkeypatch.setattr(apply, "_stored", stops)
        with pytest.raises(SequenceError) as error:
            close("atomic", "2025", **SIGNED)
        assert error.value.__notes__ == ["Of the scopes, 49 are done. Repeat this: what is done stays as it is."]
        refused("atomic", "new")
        monkeypatch.undo()
        assert of_2025(close("atomic", "2025", **SIGNED)) == scopes[49:]

    def test_what_the_first_number_costs(self) -> None:
        """Once in its life a scope of a period looks at one row; later numbers cost what they cost."""
        clock = Clock()  # which stands: nobody looks for other hosts, or for the tallies of another hour
        strategies._made["invoices"] = another("invoices", timing=clock.timing(), wall=clock)
        strategies["invoices"].scope_list.keep = False
        with_period = []
        for _ in range(3):
            with tapped() as wire:
                put("invoices", "A")
            with_period.append(wire.operations)
        assert with_period[0].count("GetItem") == 2  # the counter, and the row of the period
        assert with_period[1] == with_period[2] == ["TransactWriteItems"]

    @pytest.mark.parametrize("name", EXACT)
    def test_a_process_that_looked_before(self, name: str, wire: Wire) -> None:
        """A scope that was about to begin is refused by the write itself, and leaves nothing behind."""
        wire.before("TransactWriteItems", lambda: close(name, "2025", **SIGNED))
        refused(name, "new")
        assert "last_value" not in read_counter(name, Dated("new", "2025"))

    @pytest.mark.parametrize("name", ["atomic", "optimistic"])
    def test_one_that_slipped_through(self, name: str, wire: Wire) -> None:
        """Where values are taken first it may begin its scope; then a repeat closes that one, too."""
        operation = "PutItem" if name == "optimistic" else "UpdateItem"
        wire.before(operation, lambda: close(name, "2025", **SIGNED))
        assert get_next_value(name, scope="new", date=THEN) == 1
        assert of_2025(close(name, "2025", **SIGNED)) == ["new"]
        refused(name, "new")

    def test_a_full_transaction(self) -> None:
        """The first write of a scope takes as many items as fit beside its check; 99 at once are stored, too."""
        allocations = put_next_together("invoices", [{}] * 99, scope="A", date=THEN)
        assert [one.value for one in allocations] == [*range(1, 100)]
        found = at_once(40, lambda _: put("invoices", "B", token=None))
        assert sorted(found) == [*range(1, 41)]

    def test_writers(self) -> None:
        """While threads write, close ends them all at one number, and the audit finds every item."""

        def write(_: int) -> int:
            stored = 0
            while True:
                try:
                    put("invoices", "A")
                except PeriodClosed:
                    return stored
                stored += 1

        def run(index: int) -> int:
            if index:
                return write(index)
            while (get_last_value("invoices", scope="A", period="2025") or 0) < 20:
                pass
            close("invoices", "2025", **SIGNED)
            return 0

        stored = sum(at_once(5, run))
        assert get_last_value("invoices", scope="A", period="2025") == stored
        assert audit(strategies["invoices"], Dated("A", "2025")).unexplained == 0


class TestBeginning:
    """A counter begins in no closed period, whatever makes it."""

    def test_a_number_that_a_row_brings(self, name: str) -> None:
        """The number of a row that is saved by hand makes no counter, after which others would be given."""
        close(name, "2025", **SIGNED)
        with pytest.raises(PeriodClosed):
            advance_to(strategies[name], Dated("new", "2025"), 5)
        refused(name, "new")

    def test_a_change_on_its_way(self, name: str, wire: Wire) -> None:
        """A change that moves a scope without a number is refused if the period is closed meanwhile."""
        wire.before("TransactWriteItems", lambda: close(name, "2025", **SIGNED))
        with pytest.raises(PeriodClosed):
            advance(name, to=100, scope="new", period="2025", **SIGNED)
        refused(name, "new")


class TestLines:
    """So it is where a later line of a scope begins in the period, which moves the counter to its range."""

    @pytest.fixture(params=["lined", "lined-atomic"])
    def clock(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Clock:
        """The engine's clock, for a scope whose second line begins today."""
        clock = Clock(datetime(2026, 1, 10, tzinfo=UTC).timestamp())
        monkeypatch.setattr(EngineClock, "now", lambda _: clock.now)
        self.name, self.day = request.param, date(2026, 1, 10)
        series.create(self.name, "A", Line(start=5000, maximum=5999), **SIGNED)
        series.add_line(self.name, "A", Line(start=8000, maximum=8999, valid_from=self.day), **SIGNED)
        return clock

    def refused(self) -> None:
        """No number is given by the line."""
        with pytest.raises(PeriodClosed):
            put(self.name, "A", self.day)

    def test_at_once(self, clock: Clock) -> None:
        """The range of the line does not begin."""
        close(self.name, "2026", **SIGNED)
        self.refused()
        assert get_last_value(self.name, scope="A", period="2026") is None
        reopen(self.name, "2026", **SIGNED)
        assert put(self.name, "A", self.day) == 8000

    def test_meanwhile(self, clock: Clock, wire: Wire) -> None:
        """A process that looked before cannot begin it."""
        wire.before("TransactWriteItems", lambda: close(self.name, "2026", **SIGNED))
        self.refused()
        self.refused()

    @pytest.mark.parametrize("clock", ["lined"], indirect=True)
    def test_from_a_moment_on(self, clock: Clock) -> None:
        """A scope that begins before the moment notes it."""
        at = datetime(2026, 2, 1, tzinfo=UTC)
        close(self.name, "2026", at=at, **SIGNED)
        assert put(self.name, "A", self.day) == 8000
        clock.now = at.timestamp()
        self.refused()


class TestAt:
    @pytest.fixture(params=EXACT)
    def clock(self, request: pytest.FixtureRequest) -> Clock:
        """The engine's clock, for a sequence that may be closed at a moment in the future."""
        clock = Clock(datetime(2026, 1, 10, tzinfo=UTC).timestamp())
        self.name = request.param
        strategies._made[self.name] = another(self.name, wall=clock)
        return clock

    def test_it_holds_from_then_on(self, clock: Clock) -> None:
        """Until then numbers are given, also in scopes that begin; then in none, without another command."""
        at = datetime(2026, 2, 1, tzinfo=UTC)
        put(self.name, "A")
        assert of_2025(close(self.name, "2025", at=at, **SIGNED)) == ["A"]
        assert close(self.name, "2025", at=at, **SIGNED)[0].before == 1
        assert [put(self.name, scope) for scope in ("A", "B", "A", "B")] == [2, 1, 3, 2]
        clock.now = at.timestamp()
        for scope in ("A", "B", "C"):
            with pytest.raises(PeriodClosed, match="closed by ana since 2026-02-01T00:00:00"):
                put(self.name, scope)
        assert put(self.name, "A", NOW) == 1
        with pytest.raises(InvalidChange, match=r"closed: `manage\.py sequences reopen"):
            thaw(self.name, scope="A", period="2025", **SIGNED)
        reopen(self.name, "2025", **SIGNED)
        assert [put(self.name, scope) for scope in ("A", "B", "C")] == [4, 3, 1]

    def test_what_was_begun_before(self, clock: Clock) -> None:
        """Another process that looked before the period had a row cannot begin a scope without noting the moment."""
        at = datetime(2026, 2, 1, tzinfo=UTC)
        with tapped() as wire:
            wire.before("TransactWriteItems", lambda: close(self.name, "2025", at=at, **SIGNED))
            assert put(self.name, "A") == 1
        clock.now = at.timestamp() + 1
        refused(self.name, "A")

    def test_sooner(self, clock: Clock) -> None:
        """What will be closed may be closed at once, and opened whole."""
        put(self.name, "A")
        close(self.name, "2025", at=datetime(2026, 2, 1, tzinfo=UTC), **SIGNED)
        close(self.name, "2025", **SIGNED)
        refused(self.name, "A")
        reopen(self.name, "2025", **SIGNED)
        clock.now += 10**8
        assert put(self.name, "A") == 2

    def test_moments_that_are_refused(self, clock: Clock) -> None:
        """A moment that is past, has no time zone, is beyond all years, or comes after the end."""
        with pytest.raises(InvalidChange, match="which is past: leave it out"):
            close(self.name, "2025", at=datetime(2026, 1, 9, tzinfo=UTC), **SIGNED)
        with pytest.raises(InvalidChange, match="must be a datetime with a time zone"):
            close(self.name, "2025", at=datetime(2026, 2, 1), **SIGNED)  # noqa: DTZ001
        with pytest.raises(InvalidChange, match="from year 1 to 9999 in UTC"):
            close(self.name, "2025", at=datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))), **SIGNED)
        close(self.name, "2025", **SIGNED)
        with pytest.raises(InvalidChange, match="is closed already: `reopen` it first"):
            close(self.name, "2025", at=datetime(2026, 2, 1, tzinfo=UTC), **SIGNED)

    def test_later_when_it_holds(self, clock: Clock) -> None:
        """What is closed since a moment is not opened until a later one, also for a scope that begins."""
        at = datetime(2026, 2, 1, tzinfo=UTC)
        close(self.name, "2025", at=at, **SIGNED)
        clock.now = at.timestamp()
        with pytest.raises(InvalidChange, match="is closed already: `reopen` it first"):
            close(self.name, "2025", at=at + timedelta(days=1), **SIGNED)
        refused(self.name, "A")

    @pytest.mark.parametrize("thawed_after", [False, True])
    def test_a_frozen_scope(self, clock: Clock, thawed_after: bool) -> None:
        """It is closed from the moment on, whether it is thawed before or after that."""
        at = datetime(2026, 2, 1, tzinfo=UTC)
        put(self.name, "A")
        freeze(self.name, scope="A", period="2025", **SIGNED)
        close(self.name, "2025", at=at, **SIGNED)
        clock.now += thawed_after * 10**8
        thaw(self.name, scope="A", period="2025", **SIGNED)
        clock.now = max(clock.now, at.timestamp())
        refused(self.name, "A")

    def test_counters_that_take_first(self, clock: Clock) -> None:
        """They have no such condition."""
        at = datetime.now(UTC) + timedelta(days=1)
        with pytest.raises(OperationNotSupported, match="close its period at that moment, without `at`"):
            close("atomic", "2025", at=at, **SIGNED)


def test_what_the_row_of_a_period_says() -> None:
    """It has who closed the period, when, why and from which moment on, and which scopes are open again."""
    strategy, at = strategies["invoices"], datetime(2126, 2, 1, tzinfo=UTC)
    bob: dict[str, Any] = {"by": "bob", "reason": "again"}

    def said() -> dict[str, Any]:
        row = counter_of(strategy).closings.read("2025", strategy.deadline().read)
        return {name: told for name, told in row.items() if name not in ("sequence", "scope", "token")}

    def signed(by: str) -> dict[str, Any]:
        (line,) = [one for one in history("invoices")[0] if (one.kind, one.by) == ("close", by)]
        return {"by": by, "at": line.at.isoformat(timespec="microseconds"), "reason": line.reason}

    close("invoices", "2025", dry_run=True, **SIGNED)
    reopen("invoices", "2025", scope="A", **SIGNED)
    assert (said(), history("invoices")[0]) == ({}, [])
    close("invoices", "2025", **SIGNED)
    first = {**signed("ana"), "since": 0}
    assert said() == first
    for scope, scopes in (("B", ["B"]), ("A", ["A", "B"]), ("B", ["A", "B"])):
        reopen("invoices", "2025", scope=scope, **bob)
        assert said() == {**first, "open": scopes}
    close("invoices", "2025", **bob)
    assert said() == {**signed("bob"), "since": 0}
    reopen("invoices", "2025", **SIGNED)
    assert said() == {}
    for _ in range(2):
        close("invoices", "2025", at=at, **SIGNED)
        assert said() == {**SIGNED, "at": "2126-02-01T00:00:00.000000+00:00", "since": int(at.timestamp())}
    kinds = [line.kind for line in history("invoices", period="2025")[0]]
    assert sorted(kinds) == 3 * ["close"] + 3 * ["reopen"]


def test_what_a_counter_says(wire: Wire) -> None:
    """It has who closes it and from which moment on, and whose freeze or close holds; after it is opened nothing."""
    at = datetime(2126, 2, 1, tzinfo=UTC)
    bob: dict[str, Any] = {"by": "bob", "reason": "by mistake"}

    def said() -> dict[str, Any]:
        row = read_counter("invoices", Dated.of("A", "2025"))
        return {name: row[name] for name in ("closing", "frozen") if name in row}

    put("invoices", "A")
    for _ in range(2):
        close("invoices", "2025", at=at, **SIGNED)
        moment = {"at": "2126-02-01T00:00:00.000000+00:00", "since": int(at.timestamp())}
        assert said() == {"closing": {**SIGNED, **moment}}
    assert len(history("invoices", scope="A")[0]) == 1
    conditions = [
        sent["TransactItems"][0]["Update"].get("ConditionExpression") for sent in wire.bodies("TransactWriteItems")
    ]
    seen = " AND ".join(f"attribute_not_exists(#{name})" for name in ("closing", "frozen", "thawed"))
    assert conditions[-1] == seen
    reopen("invoices", "2025", **SIGNED)
    assert said() == {}
    assert read_counter("invoices", Dated.of("A", "2025"))["thawed"]
    frozen = freeze("invoices", scope="A", period="2025", **bob)
    assert said() == {"frozen": {**bob, "at": frozen.at.isoformat(timespec="microseconds")}}
    (closed,) = close("invoices", "2025", **SIGNED)
    assert said() == {"frozen": {**SIGNED, "at": closed.at.isoformat(timespec="microseconds"), "closed": True}}
    reopen("invoices", "2025", **SIGNED)
    assert said() == {}


class TestHeldUp:
    """A change that arrives after a later close does nothing, although that close has found all done."""

    @pytest.mark.parametrize("after", [0, 1], ids=["the period", "a scope"])
    def test_a_period(self, name: str, after: int) -> None:
        """Its books stay closed, in scopes with numbers and without; a reopen that is sent after the close opens."""
        put(name, "A")
        close(name, "2025", **SIGNED)
        late = held_up(lambda: reopen(name, "2025", **SIGNED), after=after)
        assert close(name, "2025", by="bob", reason="again") == []
        assert not arrives(late)
        for scope in ("A", "new"):
            with pytest.raises(PeriodClosed):
                put(name, scope)
        reopen(name, "2025", **SIGNED)
        assert put(name, "A") > 1
        assert put(name, "new") == 1

    @pytest.mark.parametrize("name", EXACT)
    @pytest.mark.parametrize("after", [0, 1], ids=["the period", "a scope"])
    def test_from_a_moment_on(self, name: str, after: int) -> None:
        """The moment stays noted."""
        clock = Clock(datetime(2026, 1, 10, tzinfo=UTC).timestamp())
        strategies._made[name] = another(name, wall=clock)
        close_later = partial(close, name, "2025", at=datetime(2026, 2, 1, tzinfo=UTC), **SIGNED)
        put(name, "A")
        close_later()
        late = held_up(lambda: reopen(name, "2025", scope="A", **SIGNED), after=after)
        close_later()
        assert not arrives(late)
        clock.now += 10**8
        refused(name, "A")

    @pytest.mark.parametrize("name", EXACT)
    def test_a_freeze_after_the_moment(self, name: str) -> None:
        """Who freezes a closed scope is told that it is closed, and it stays so."""
        clock = Clock(datetime(2026, 1, 10, tzinfo=UTC).timestamp())
        strategies._made[name] = another(name, wall=clock)
        put(name, "A")
        close(name, "2025", at=datetime(2026, 2, 1, tzinfo=UTC), **SIGNED)
        clock.now += 10**8
        late = held_up(lambda: reopen(name, "2025", **SIGNED), after=1)
        with pytest.raises(PeriodClosed):
            freeze(name, scope="A", period="2025", **SIGNED)
        assert not arrives(late)
        refused(name, "A")

    def test_closed_again_meanwhile(self, name: str, wire: Wire) -> None:
        """A reopen that meets a later close before it opens the scopes is refused, and leaves them closed."""
        put(name, "A")
        close(name, "2025", **SIGNED)
        wire.after("TransactWriteItems", lambda: close(name, "2025", **SIGNED))
        with pytest.raises(PeriodClosed):
            reopen(name, "2025", **SIGNED)
        refused(name, "A")


class TestReopen:
    def test_all_scopes(self, name: str) -> None:
        """Numbers go on where they ended, in scopes that begin, too; and are closed again after."""
        put(name, "A")
        close(name, "2025", **SIGNED)
        reopen(name, "2025", **SIGNED)
        assert put(name, "A") > 1
        assert put(name, "new") == 1
        assert of_2025(close(name, "2025", **SIGNED)) == ["A", "new"]
        refused(name, "A")
        refused(name, "other")

    def test_one_scope(self, name: str) -> None:
        """The others stay closed, whether the one has numbers or not."""
        for scope in ("A", "B"):
            put(name, scope)
        close(name, "2025", **SIGNED)
        for scope in ("A", "new"):
            reopen(name, "2025", scope=scope, **SIGNED)
            put(name, scope)
        refused(name, "B")
        refused(name, "other")
        assert of_2025(close(name, "2025", **SIGNED)) == ["A", "new"]
        refused(name, "new")

    def test_a_thaw_opens_no_books(self, name: str) -> None:
        """Frozen scopes are closed, too, and no thaw opens them: reopen does."""
        put(name, "A")
        freeze(name, scope="A", period="2025", **SIGNED)
        close(name, "2025", **SIGNED)
        thaw(name, scope=EVERY_SCOPE, period="2025", **SIGNED)
        with pytest.raises(InvalidChange, match=r"reopen \w+ --scope A --period 2025"):
            thaw(name, scope="A", period="2025", **SIGNED)
        refused(name, "A")
        reopen(name, "2025", **SIGNED)
        assert put(name, "A") > 1

    @pytest.mark.parametrize("kind", ["advance", "seed", "recover"])
    def test_a_scope_that_moves_stays_closed(self, name: str, kind: str) -> None:
        """A counter that moves in closed books is closed still, and no thaw opens it, as after a restore."""
        put(name, "A")
        close(name, "2025", **SIGNED)
        if kind == "recover":
            recover(name, **SIGNED)
        else:
            call_command("sequences", kind, name, *TO_500[kind], "--scope=A", "--period=2025", "--reason=a test")
        thaw(name, scope=EVERY_SCOPE, period="2025", **SIGNED)
        refused(name, "A")
        reopen(name, "2025", **SIGNED)
        assert put(name, "A") > 100

    def test_given_numbers(self) -> None:
        """They are refused in closed books, too."""
        put("invoices", "A")
        close("invoices", "2025", **SIGNED)
        for scope in ("A", "new"):
            with pytest.raises(PeriodClosed):
                put_at("invoices", 9, {}, scope=scope, period="2025", **SIGNED)
        with pytest.raises(PeriodClosed):
            advance("invoices", to=9, scope="other", period="2025", **SIGNED)


class TestRefused:
    def test_sequences_that_cannot_be_closed(self) -> None:
        """Those without periods or counters, and periods that do not exist."""
        with pytest.raises(OperationNotSupported, match="has no PERIOD"):
            close("plain", "2025", **SIGNED)
        with pytest.raises(OperationNotSupported, match=r"has no counters, .* or take TransactionalCounter"):
            close("tail", "2025", **SIGNED)
        with tapped() as wire, pytest.raises(InvalidPeriod):
            close("invoices", "2025-01", **SIGNED)
        assert wire.sent == []

    @pytest.mark.parametrize(("scope", "error"), [("#", InvalidScope), (EveryScope("B7"), InvalidChange)])
    def test_scopes_that_cannot_be_opened(self, scope: Any, error: type[SequenceError]) -> None:
        """Books stay closed where what is to be opened is no scope, or more than one and not all."""
        put("invoices", "A")
        close("invoices", "2025", **SIGNED)
        counter = counter_of(strategies["invoices"])
        before = counter.closings.read("2025", dynamodb.call)
        with pytest.raises(error):
            reopen("invoices", "2025", scope=scope, **SIGNED)
        assert counter.closings.read("2025", dynamodb.call) == before
        for closed in ("A", "B7"):
            refused("invoices", closed)

    @pytest.mark.parametrize("to", ["SortKeyMaximum", "BlockAllocator"])
    def test_while_it_is_switched(self, to: str) -> None:
        """Writers of SortKeyMaximum do not see the books, and those that may leave gaps see no moment in the future."""
        put("invoices", "A")
        switch("invoices", to=to, **SIGNED)
        for at in (None, datetime(2126, 2, 1, tzinfo=UTC))[to == "BlockAllocator" :]:
            with pytest.raises(InvalidChange, match="is being switched to another strategy: finish that first"):
                close("invoices", "2025", at=at, **SIGNED)
        assert put("invoices", "B") == 1
        finish_switch("invoices", **SIGNED)
        close("invoices", "2025", **SIGNED)
        refused("invoices", "B")

    @pytest.mark.parametrize("name", EXACT)
    @pytest.mark.parametrize(
        ("to", "at"), [("SortKeyMaximum", None), ("BlockAllocator", datetime(2126, 2, 1, tzinfo=UTC))]
    )
    def test_a_switch_to_writers_that_do_not_see_them(self, name: str, to: str, at: datetime | None) -> None:
        """It begins when the books are open, also those of a period without numbers, and of a moment in the future."""
        put(name, "A", NOW)
        close(name, "2025", at=at, **SIGNED)
        with pytest.raises(InvalidChange, match=f"'{name}' of 2025 are closed, or will be: `reopen` them before"):
            switch(name, to=to, **SIGNED)
        reopen(name, "2025", **SIGNED)
        assert [made.scope for made in switch(name, to=to, **SIGNED)] == [None, "A"]

    def test_without_who_and_why(self) -> None:
        """As every guarded change."""
        with pytest.raises(InvalidChange, match="reason is ''"):
            close("invoices", "2025", by="ana", reason="")


class TestShown:
    def test_the_command(self) -> None:
        """It closes, tells each scope, and opens again."""
        put("invoices", "A")
        signed = ("--by", "ana", "--reason", "the year is over")
        told = written("sequences", "close", "invoices", "--period", "2025", *signed)
        assert told.startswith("invoices A 2025: close at 1, by ana at ")
        closed = "No open scope has numbers in this period. Scopes that begin later are closed, too.\n"
        opened = "No closed scope has numbers in this period. Scopes that begin later are open, too.\n"
        for command, period, words in (
            ("close", "2025", closed),
            ("close", "2024", closed),
            ("reopen", "2024", opened),
        ):
            assert written("sequences", command, "invoices", "--period", period, *signed) == words
        assert "closed by ana since" in written("sequences", "show", "invoices", "--period", "2025", "--format", "json")
        with pytest.raises(CommandError, match="leave --scope out"):
            call_command("sequences", "close", "invoices", "--period", "2025", "--scope", "A", *signed)
        at = ("--at", "2026-01-01T00:00:00+00:00")
        with pytest.raises(CommandError, match="which is past"):
            call_command("sequences", "close", "invoices", "--period", "2024", *at, *signed)
        assert "reopen at 1" in written("sequences", "reopen", "invoices", "--period", "2025", *signed)
        assert put("invoices", "A") == 2

    def test_the_doctor_takes_it_for_closed(self) -> None:
        """A frozen scope needs a hand, a closed one does not."""
        year = f"{datetime.now(UTC).year}"  # of which the doctor looks at the scopes
        put_next("invoices", {}, scope="A")
        freeze("invoices", scope="A", **SIGNED)
        assert "frozen by ana" in written("sequences", "doctor", "--format", "json")
        thaw("invoices", scope="A", **SIGNED)
        close("invoices", year, **SIGNED)
        assert '"found": "frozen' not in written("sequences", "doctor", "--format", "json")
