"""A scope that went back, as after a restore: no number is given again, with any strategy, while its host remembers."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sequences import changes, put_next
from sequences.commit import host_memory
from sequences.exceptions import InvalidItem, SequenceFrozen, SequenceWentBack
from sequences.ops.scope_report import look_at, trouble_of
from sequences.registry import strategies
from sequences.rows.lives import TableLives
from sequences.strategies import Strategy
from sequences.strategies.counter_strategy import delete_counter
from sequences.testing.callers import at_once, put_some
from tests.sequences.support import (
    COUNTERS,
    SORT_KEYS,
    STEPPING,
    Backup,
    Clock,
    Processes,
    Wire,
    delete_row,
    import_row,
    set_counter,
    stored,
    written,
)

pytestmark = pytest.mark.usefixtures("configured")

WHO: dict[str, Any] = {"by": "ana", "reason": "restored"}
EVERY = [*COUNTERS, *SORT_KEYS, *STEPPING]
MORE = 40  # more than a process holds in its blocks
every_strategy = pytest.mark.parametrize("name", EVERY)
sort_keys = pytest.mark.parametrize("name", list(SORT_KEYS))


def delete_newest(name: str, scope: str, count: int) -> None:
    """Delete the newest items, and set the counter back to the newest that is left."""
    values = sorted(stored(name, scope))
    for value in values[-count:]:
        delete_row(name, scope, value)
    if strategies[name].counter:
        set_counter(name, scope, last_value=values[-count - 1], highest=values[-count - 1])


@pytest.fixture
def writer(install: Callable[..., Strategy], clock: Clock) -> Callable[[str], Strategy]:
    """A function that makes a process of this host, which remembers nothing itself."""
    return partial(install, clock=clock)


def refused(name: str, scope: str, given: list[int]) -> SequenceWentBack:
    """The refusal of a put, before any value of those that were given is given again."""
    for _ in range(MORE):  # a process may serve the blocks that it holds before it looks
        try:
            assert put_some(name, scope, 1)[0] not in given
        except SequenceWentBack as error:
            return error
    raise AssertionError("it was not refused")


@every_strategy
class TestRefused:
    def test_by_the_process_that_gave_more(
        self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy]
    ) -> None:
        """A process that has given higher numbers refuses, again and again, and stores nothing."""
        writer(name)
        put_some(name, scope, 3)
        backup = Backup(name, scope)
        given = put_some(name, scope, 20)
        backup.restore()
        clock.now += 1
        refused(name, scope, given)
        before = stored(name, scope)
        for _ in range(2):
            with pytest.raises(SequenceWentBack):
                put_next(name, {}, scope=scope)
        assert stored(name, scope) == before

    def test_after_rows_were_deleted(
        self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy]
    ) -> None:
        """It does not matter how the scope went back."""
        writer(name)
        given = put_some(name, scope, 20)
        delete_newest(name, scope, 15)
        clock.now += 1
        refused(name, scope, given)

    def test_by_threads(self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy]) -> None:
        """Threads that put at once are refused, each."""
        writer(name)
        put_some(name, scope, 3)
        backup = Backup(name, scope)
        given = put_some(name, scope, 20)
        backup.restore()
        clock.now += 1
        assert len(at_once(4, lambda _: refused(name, scope, given))) == 4

    def test_by_a_process_that_begins(
        self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy]
    ) -> None:
        """A process that begins after the restore refuses by what the processes of its host gave before."""
        writer(name)
        put_some(name, scope, 3)
        backup = Backup(name, scope)
        given = put_some(name, scope, 20)
        backup.restore()
        clock.now += 1
        writer(name)
        refused(name, scope, given)

    def test_by_a_repeat(
        self, name: str, scope: str, writer: Callable[[str], Strategy], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A process that knows nothing refuses after it has answered a repeat whose number is higher."""
        put_some(name, scope, 12)
        again = partial(put_next, name, {}, scope=scope, idempotency_token="a token")
        first = again()
        delete_newest(name, scope, 5)
        monkeypatch.setattr(host_memory, "SUPPORTED", False)
        writer(name)
        assert again().value == first.value
        with pytest.raises(SequenceWentBack):
            put_next(name, {}, scope=scope)


@pytest.mark.parametrize("name", ["sort-key", "transactional", "block"])
def test_by_another_process(
    name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy], forked: Processes
) -> None:
    """A process refuses by what another process of the host gave; after `recover` all processes go on."""
    writer(name)
    put_some(name, scope, 3)
    backup = Backup(name, scope)
    given = [value for values in forked.run(put_some, name, scope, 8) for value in values]
    backup.restore()
    clock.now += 1
    error = refused(name, scope, given)
    named = str(error).partition("`manage.py sequences ")[2].partition(" --reason ...`")[0]
    own = strategies._made.pop(name)
    written("sequences", *shlex.split(named), "--margin", "0", "--by", "ana", "--reason", "restored")
    strategies._made[name] = own
    values = [*put_some(name, scope, 2), *(value for put in forked.run(put_some, name, scope, 2) for value in put)]
    assert len({*values, *given}) == len(values) + len(given)


@sort_keys
class TestWords:
    def test_the_remedy(self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy]) -> None:
        """The error says what is there, what was given, and the command that goes on above it."""
        writer(name)
        put_some(name, scope, 6)
        delete_newest(name, scope, 3)
        clock.now += 1
        assert str(refused(name, scope, [])) == (
            f"The items of {name!r}, scope {scope!r}, end at 3, but 6 was handed out: rows were deleted, or the table "
            f"was restored. To go on: `manage.py sequences recover {name} --scope {scope} --past 6 --reason ...`."
        )

    def test_an_empty_scope(self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy]) -> None:
        """A scope in which nothing is left is refused, too."""
        writer(name)
        put_some(name, scope, 1)
        delete_row(name, scope, 1)
        clock.now += 1
        assert "end at nothing, but 1 was handed out" in str(refused(name, scope, []))

    @pytest.mark.parametrize("change", [partial(changes.advance, to=50), partial(changes.seed, source=50)])
    def test_a_move(self, name: str, scope: str, change: Callable[..., Any]) -> None:
        """A scope that went back is recovered before it is moved."""
        put_some(name, scope, 6)
        delete_newest(name, scope, 3)
        with pytest.raises(SequenceWentBack, match="--past 6"):
            change(name, scope=scope, **WHO)

    def test_recovered_by_what_the_host_remembers(self, name: str, scope: str) -> None:
        """`recover` goes past the numbers that this host remembers, without being told."""
        put_some(name, scope, 6)
        delete_newest(name, scope, 3)
        strategies.reset()
        (change,) = changes.recover(name, scope=scope, margin=0, **WHO)
        assert (change.before, change.after) == (3, 6)
        assert put_some(name, scope, 1) == [7]


@sort_keys
class TestNoFalseAlarm:
    def test_no_more_requests(
        self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy], wire: Wire
    ) -> None:
        """A process that looks after a while sends what it sent before."""
        writer(name)
        put_some(name, scope, 1)
        wire.clear()
        clock.now += 1
        put_some(name, scope, 2)
        assert wire.operations == ["Query", "PutItem", "PutItem"]

    def test_what_was_not_stored(self, name: str, scope: str, wire: Wire) -> None:
        """A number whose item was refused was not handed out."""
        put_some(name, scope, 1)
        with pytest.raises(InvalidItem):
            put_next(name, {"text": "x" * 500_000}, scope=scope)
        wire.before("PutItem", partial(changes.freeze, name, scope=scope, **WHO))
        with pytest.raises(SequenceFrozen):
            put_next(name, {}, scope=scope)
        evidence = strategies[name].evidence
        assert evidence is not None
        assert evidence.known(scope) == 2  # the void row of the freeze

    def test_only_its_row(self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy]) -> None:
        """A scope that has its row under number 0, and nothing else, begins."""
        writer(name)
        import_row(name, scope, 0)
        assert put_some(name, scope, 1) == [1]
        clock.now += 1
        assert put_some(name, scope, 1) == [2]

    def test_void_rows(self, name: str, scope: str, clock: Clock, writer: Callable[[str], Strategy]) -> None:
        """Skipped ranges, void numbers and freezes leave rows, so that nothing seems to be missing."""
        writer(name)
        put_some(name, scope, 3)
        changes.void(name, 3, scope=scope, **WHO)
        changes.advance(name, to=20, scope=scope, **WHO)
        clock.now += 1
        assert put_some(name, scope, 1) == [21]
        changes.freeze(name, scope=scope, **WHO)
        changes.thaw(name, scope=scope, **WHO)
        clock.now += 1
        assert put_some(name, scope, 1) == [23]

    def test_a_table_without_an_identity(
        self,
        name: str,
        scope: str,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
        writer: Callable[[str], Strategy],
    ) -> None:
        """Where the engine does not tell one life of a table from the next, processes leave each other no values."""
        monkeypatch.setattr(TableLives, "known_as", property(lambda _: "", lambda *_: None), raising=False)
        writer(name)
        put_some(name, scope, 3)
        for value in (2, 3):
            delete_row(name, scope, value)
        clock.now += 1
        writer(name)
        assert put_some(name, scope, 1) == [2]


@pytest.mark.parametrize(
    ("name", "operation"), [("atomic", "GetItem"), ("transactional", "GetItem"), ("sort-key", "Query")]
)
def test_others_count_on_meanwhile(
    name: str, operation: str, scope: str, install: Callable[..., Strategy], wire: Wire
) -> None:
    """What another process of the host numbers while this one looks does not seem to be missing."""
    put_some(name, scope, 2)

    def elsewhere() -> None:
        own = strategies._made.pop(name)
        put_some(name, scope, 2)
        strategies._made[name] = own

    wire.after(operation, elsewhere)
    assert changes.advance(name, to=50, scope=scope, **WHO).after == 50
    install(name, group=False)  # without the hints of other processes
    wire.after(operation, elsewhere)
    assert put_next(name, {}, scope=scope).value > 50


def test_it_is_shown(scope: str) -> None:
    """The page of a scope says what is wrong, and the command."""
    put_some("sort-key", scope, 3)
    delete_newest("sort-key", scope, 1)
    assert f"sequences recover sort-key --scope {scope} --past 3" in trouble_of(
        look_at(strategies["sort-key"], scope)["seen"]
    )


def test_a_counter_that_is_deleted(scope: str) -> None:
    """What deletes a counter in order lets it begin again, in processes that begin after that, too."""
    put_some("transactional-beside", scope, 3)
    delete_counter(strategies["transactional-beside"], scope)
    for value in (1, 2, 3):
        delete_row("transactional-beside", scope, value)
    strategies.reset()
    assert put_some("transactional-beside", scope, 1) == [1]


def test_another_region(scope: str, clock: Clock, install: Callable[..., Strategy]) -> None:
    """The numbers of another Region do not count, wherever this process has met them."""
    install("sort-key", clock=clock, START={"us-east-1": 1, "us-west-2": 2}, STEP=2)
    assert put_some("sort-key", scope, 2) == [1, 3]
    import_row("sort-key", scope, 6)
    strategies["sort-key"].handed_out(scope, 6)
    clock.now += 1
    assert put_some("sort-key", scope, 1) == [7]
    for value in (6, 7):
        delete_row("sort-key", scope, value)
    clock.now += 1
    with pytest.raises(SequenceWentBack, match="end at 3, but 7 was handed out"):
        put_next("sort-key", {}, scope=scope)
    import_row("sort-key", scope, 7)
    assert put_some("sort-key", scope, 1) == [9]
