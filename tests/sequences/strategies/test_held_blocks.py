"""The pools of blocks that a process holds: which one must go, what is remembered of it, and what is given back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import pytest

from sequences.commit.retries import Deadline
from sequences.exceptions import SequenceUnavailable
from sequences.rows.lru import LRU
from sequences.strategies import held_blocks
from sequences.strategies.held_blocks import HeldBlocks, WatchedBlocks, _joined
from sequences.types import Scope


class Begun(str):
    """How a counter was found: another one, or one that was changed since, says so."""

    __slots__ = ()

    def is_of(self, row: Mapping[str, Any]) -> bool:
        return "other" not in row


class Pool:
    """A pool as those who hold it see it: what is served of it, and what is left."""

    def __init__(self, told: list[str], owned: Callable[[], bool], scope: Scope, used: float) -> None:
        self.told, self.owned, self.scope = told, owned, scope
        self.used, self.compared = used, 0.0
        self.last: int | None = None
        self.begun: object = Begun("begun")
        self.left: list[range] = []
        self.unserved = 7
        self.now: Any = None

    @property
    def serving(self) -> Any:
        """What is served now."""
        return self.now

    @serving.setter
    def serving(self, values: Any) -> None:
        assert self.owned()
        self.now = values

    def cease(self) -> None:
        """Serve nothing more."""
        assert self.owned()
        self.told.append(f"{self.scope} ceased")

    def withdraw(self, deadline: Deadline) -> list[range]:
        """Take out what is left."""
        assert not self.owned(), "others need not wait for a fetch"
        self.told.append(f"{self.scope} withdrawn")
        return self.left


class Held:
    """Blocks of pools without values, and all that was asked and told about them."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.rows: dict[Scope, Mapping[str, Any]] = {}
        self.seen: dict[Scope, int] = {}
        self.offered: list[Scope] = []
        self.asked: list[Sequence[Scope]] = []
        self.taken: list[tuple[Scope, int | None]] = []
        self.given: list[tuple[Scope, list[range], object]] = []
        self.gives: bool | Exception = True
        self.now = 100.0
        self.births: LRU[str] = LRU()
        evidence, rows = SimpleNamespace(known=self.seen.get), SimpleNamespace(of_scopes=self.read)
        counter: Any = SimpleNamespace(alias="stub", evidence=evidence, rows=rows)
        new_pool: Any = self.new_pool
        self.blocks = HeldBlocks(counter, self.births, new_pool, lambda: self.now, self.emptied, lambda: None)
        self.watched = WatchedBlocks(cast("Any", mock.Mock(option={"watch_seconds": 10.0})), counter)
        self.watched.add(self.blocks)
        given_back: Any = SimpleNamespace(
            take=lambda scope, deadline, above: self.taken.append((scope, above)),
            give=self.give,
            offers_again=lambda scope, row: scope in self.offered,
            forget=lambda: self.told.append("forgotten"),
        )
        self.blocks.given_back = given_back

    def new_pool(self, scope: Scope) -> Pool:
        assert self.owned(), "two threads would make two pools"
        return Pool(self.told, self.owned, scope, used=self.now)

    def owned(self) -> bool:
        """Whether this thread has the lock."""
        return self.blocks.lock._is_owned()  # type: ignore[no-any-return]

    def emptied(self) -> None:
        assert self.owned()
        self.told.append("emptied")

    def read(self, scopes: Sequence[Scope], send: object) -> dict[Scope, Mapping[str, Any]]:
        self.asked.append(scopes)
        return {scope: self.rows[scope] for scope in scopes if scope in self.rows}

    def give(self, scope: Scope, ranges: list[range], since: object, deadline: Deadline) -> bool:
        self.given.append((scope, ranges, since))
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives

    def pools(self, scopes: Iterable[str]) -> dict[str, Any]:
        """The pools of these scopes, each used a second after the one before."""
        made: dict[str, Any] = {}
        for scope in scopes:
            self.now += 1
            made[scope] = self.blocks.pool(scope)
        return made

    def above(self, scope: str, last: int | None = None) -> int | None:
        """Above which value a process takes in a scope what others gave back."""
        self.blocks.begin(scope, last, Deadline())
        return self.taken[-1][1]


@pytest.fixture
def held() -> Held:
    """No blocks yet."""
    return Held()


class TestPools:
    def test_the_one_used_least_recently_goes(self, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
        """A new pool drops the one whose last value was taken longest ago, where they would be too many."""
        monkeypatch.setattr(held_blocks, "BLOCKS_HELD", 3)
        pools = held.pools("abc")
        pools["a"].used = held.now + 1
        assert held.blocks.pool("a") is pools["a"]
        assert held.told == []
        held.blocks.pool("d")
        assert held.told == ["b ceased"]
        assert list(held.blocks.pools) == ["a", "c", "d"]

    def test_a_drop(self, held: Held) -> None:
        """Of a dropped scope nothing is served, its birth is forgotten, and its last value is remembered."""
        pools = held.pools("ab")
        pools["a"].last = 5
        for scope in "ab":
            held.births.put(scope, "born")
        held.blocks.drop("a")
        assert held.told == ["a ceased"]
        assert (held.births.get("a"), held.births.get("b")) == (None, "born")
        assert (held.above("a"), held.above("b")) == (5, None)
        held.blocks.drop("another")
        assert held.told == ["a ceased"]
        held.blocks.drop("b")
        assert held.told == ["a ceased", "b ceased", "emptied"]

    def test_everything_is_forgotten(self, held: Held) -> None:
        """Nothing is held or remembered of any scope, and who looks for changes learns it."""
        held.pools("ab")
        held.blocks.note("a", 5)
        held.births.put("a", "born")
        held.blocks.forget()
        assert held.told == ["forgotten", "emptied"]
        assert held.blocks.pools == {}
        assert (held.above("a"), held.births.get("a")) == (None, None)

    def test_the_highest_value_is_remembered(self, held: Held) -> None:
        """Nothing is taken below the highest value that was handed out, until its scope has no value any more."""
        assert held.above("a") is None
        assert held.above("a", last=0) == 0
        assert held.above("a", last=1) == 1
        held.blocks.note("a", 5)
        held.blocks.note("a", None)
        assert held.above("a", last=4) == 5
        held.blocks.forget_scope("a")
        assert held.above("a") is None

    def test_what_is_served(self, held: Held) -> None:
        """Values are served by the pool that asked for them, and only where nobody refilled it meanwhile."""
        pool = held.pools("a")["a"]
        before, values = pool.serving, iter([1])
        assert held.blocks.serve("a", pool, values, before)
        assert pool.serving is values
        assert held.blocks.serve("a", pool, iter([2]), before)
        assert pool.serving is values
        held.blocks.drop("a")
        assert not held.blocks.serve("a", pool, iter([3]), values)
        assert pool.serving is values

    def test_how_many_are_held(self, held: Held) -> None:
        """A scope has what its pool has not served, and nothing without one."""
        held.pools("a")
        assert (held.blocks.held("a"), held.blocks.held("b")) == (7, 0)


class TestCompare:
    def test_counters_that_went_back(self, held: Held, logged: pytest.LogCaptureFixture) -> None:
        """The blocks of a counter below its highest value or what is known, or that offers again, are dropped."""
        pools = held.pools("abcde")
        held.rows = {
            "a": {"last_value": 5, "highest": 5},
            "b": {"last_value": 5, "highest": 6},
            "c": {"last_value": 5},
            "d": {"last_value": 5},
        }
        held.seen |= {"a": 5, "c": 6}
        held.offered = ["d"]
        held.now += 10
        held.watched.compare(lambda *_: {})
        assert list(held.blocks.pools) == ["a", "e"]
        assert [(line.levelname, line.args and line.args[1]) for line in logged.records] == [  # type: ignore[index]
            ("WARNING", scope) for scope in "bcd"
        ]
        assert pools["a"].compared == held.now
        assert pools["e"].compared == 0.0, "the engine left it out"

    def test_counters_that_are_others(self, held: Held, logged: pytest.LogCaptureFixture) -> None:
        """The blocks of a counter that was made again, or changed unnoticed, are dropped; one that begins is left."""
        pools = held.pools("abc")
        pools["c"].begun = None
        held.rows = {"a": {}, "b": {"other": 1}, "c": {"other": 1}}
        held.watched.compare(lambda *_: {})
        assert list(held.blocks.pools) == ["a", "c"]
        assert logged.records == []

    def test_those_that_were_compared_longest_ago(self, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
        """One look has so many scopes, and leaves out those in which no value was taken since the last one."""
        monkeypatch.setattr(held_blocks, "SCOPES_A_LOOK", 2)
        pools = held.pools("abcde")
        for scope, compared in zip("abcd", (30.0, 10.0, 20.0, 9.0), strict=True):
            pools[scope].compared = compared
        pools["d"].used = 9.0
        pools["e"].compared = 40.0
        held.rows = {scope: {"last_value": 5} for scope in "abcde"}
        for _ in range(3):
            held.watched.compare(lambda *_: {})
        assert held.asked == [["b", "c"], ["a", "e"], []]

    def test_at_most_a_hundred_scopes(self, held: Held) -> None:
        """One look asks for no more scopes than one request takes."""
        held.pools(map(str, range(101)))
        held.watched.compare(lambda *_: {})
        assert [len(scopes) for scopes in held.asked] == [100]

    def test_a_block_that_is_gone(self, held: Held) -> None:
        """A pool that another thread drops meanwhile is not made again."""
        held.pools("a")
        held.rows = {"a": {"last_value": 5}}
        original = held.read

        def drop_first(scopes: Sequence[Scope], send: object) -> dict[Scope, Mapping[str, Any]]:
            held.blocks.drop("a")
            return original(scopes, send)

        held.blocks._counter.rows.of_scopes = drop_first  # type: ignore[method-assign]
        held.watched.compare(lambda *_: {})
        assert held.blocks.pools == {}


class TestGiveBack:
    def test_all_that_is_left(self, held: Held) -> None:
        """Each scope gives back what is left in it, joined, and remembers its last value; nothing is held then."""
        pools = held.pools("abc")
        pools["a"].left, pools["a"].last = [range(3, 5), range(5, 8)], 2
        pools["c"].left = [range(9, 10)]
        assert held.blocks.give_back(Deadline()) == 0
        assert held.given == [("a", [range(3, 8)], "begun"), ("c", [range(9, 10)], "begun")]
        assert held.blocks.pools == {}
        assert held.above("a") == 2

    @pytest.mark.parametrize(("gives", "lines"), [(False, 0), (SequenceUnavailable("", attempts=1, seconds=1.0), 2)])
    def test_what_nobody_takes(
        self, held: Held, gives: bool | Exception, lines: int, logged: pytest.LogCaptureFixture
    ) -> None:
        """The values that could not be given back are counted, and an error is a line for those who look for it."""
        held.gives = gives
        pools = held.pools("ab")
        pools["a"].left, pools["b"].left = [range(3, 5), range(8, 9)], [range(1, 4)]
        with logged.at_level(logging.DEBUG, held_blocks.logger.name):
            assert held.blocks.give_back(Deadline()) == 6
        assert len(logged.records) == lines

    def test_a_pool_that_never_began(self, held: Held) -> None:
        """Of a pool that has not looked at its counter nothing can be given back."""
        pool = held.pools("a")["a"]
        pool.left, pool.begun = [range(3, 5)], None
        assert held.blocks.give_back(Deadline()) == 2
        assert held.given == []

    def test_under_the_lock(self, held: Held) -> None:
        """A pool is taken out under the lock, by which others find it."""
        owned: list[bool] = []

        class Pools(dict[Scope, Any]):
            def pop(self, *given: Any) -> Any:
                owned.append(held.owned())
                return super().pop(*given)

        held.pools("a")
        held.blocks.pools = Pools(held.blocks.pools)
        held.blocks.give_back(Deadline())
        held.blocks.give_back(Deadline())
        assert owned == [True]


@pytest.mark.parametrize(
    ("ranges", "joined"),
    [
        ([], []),
        ([range(0), range(1, 3), range(3, 3)], [range(1, 3)]),
        ([range(1, 3), range(3, 5), range(5, 6)], [range(1, 6)]),
        ([range(1, 3), range(4, 5)], [range(1, 3), range(4, 5)]),
        ([range(1, 7, 3), range(7, 13, 3)], [range(1, 13, 3)]),
    ],
)
def test_ranges_are_joined(ranges: list[range], joined: list[range]) -> None:
    """Ranges that follow each other are one, and empty ones none."""
    assert [(one.start, one.stop, one.step) for one in _joined(ranges)] == [
        (one.start, one.stop, one.step) for one in joined
    ]
