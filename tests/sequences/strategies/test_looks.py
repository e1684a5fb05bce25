"""The looks of a watch, one by one: since when, whom it tells, and when what it knows is too old; without a thread."""

from __future__ import annotations

import _thread
import logging
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from sequences.exceptions import SequenceUnavailable, TableMissing
from sequences.strategies import watch as watch_module
from sequences.strategies.watch import Watch
from tests.sequences.support import Clock

MISSING, AWAY = TableMissing("no table"), SequenceUnavailable("away", attempts=1, seconds=1.0)


class Looks:
    """A watch that looks every 5 seconds, for calls of 10, and what it asks and tells."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.clock = Clock(100_000.0), Clock(50.0)
        self.lines: dict[str, Any] = {}
        self.error: Exception | None = None
        self.asked: list[Any] = []
        self.followed: list[Any] = []
        self.compared: list[Any] = []
        self.threads: list[Any] = []
        assigner: Any = SimpleNamespace(
            history=SimpleNamespace(alias="stub", scopes_since=self.scopes_since),
            wall=self.wall,
            deadline=lambda: SimpleNamespace(seconds=10.0, send="send"),
            option={"watch_seconds": 5.0},
        )
        self.watch = Watch(assigner, self.followed.append, self.compared.append)
        self.watch.clock = self.clock
        starting = SimpleNamespace(start_new_thread=lambda run, given: self.threads.append(given))
        monkeypatch.setattr(watch_module, "_thread", starting)

    def scopes_since(self, since: datetime, send: object) -> dict[str, Any]:
        self.asked.append((since, send))
        if self.error:
            raise self.error
        return self.lines

    def deadline(self, left: float = 1.0) -> Any:
        """The deadline of a call that looks itself."""
        return SimpleNamespace(left=left, read="read", give_up=lambda error: AWAY)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    """A watch that has not begun."""
    return Looks(monkeypatch)


def at(seconds: float) -> datetime:
    """A moment."""
    return datetime.fromtimestamp(seconds, UTC)


class TestBeginning:
    def test_a_thread(self, looks: Looks) -> None:
        """It begins once; what it knows is old after 5 seconds and the time of a call."""
        watch = looks.watch
        assert (watch.runs, watch.blind_at) == (False, float("inf"))
        watch.start()
        assert (watch.runs, watch.blind_at) == (True, 65.0)
        looks.clock.now += 7
        watch.start()
        assert watch.blind_at == 65.0
        ((reference, running, seconds),) = looks.threads
        assert (reference(), seconds, running.locked()) == (watch, 5.0, True)
        assert watch.runs_by(running) is True
        assert watch.runs_by(_thread.allocate_lock()) is False

    def test_an_end(self, looks: Looks) -> None:
        """After its end it knows nothing that could be old, and may begin again."""
        looks.watch.start()
        looks.watch.stop()
        ((_, running, _),) = looks.threads
        assert (looks.watch.runs, looks.watch.blind_at, running.locked()) == (False, float("inf"), False)
        looks.watch.stop()
        looks.clock.now += 100
        looks.watch.start()
        assert (len(looks.threads), looks.watch.blind_at) == (2, 165.0)

    def test_no_thread(self, looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a thread it does not run, and the first start counts for the age of what it knows."""

        def fail(*_: object) -> None:
            raise RuntimeError

        with monkeypatch.context() as patch:
            patch.setattr(watch_module, "_thread", SimpleNamespace(start_new_thread=fail))
            looks.watch.start()
        assert (looks.watch.runs, looks.watch.blind_at) == (False, 65.0)
        looks.clock.now += 7
        looks.watch.start()
        assert (looks.watch.runs, looks.watch.blind_at) == (True, 65.0)


class TestLooking:
    def test_since_when(self, looks: Looks) -> None:
        """A look asks for lines from a minute and a call's time before the last one that succeeded."""
        looks.watch.start()
        for error, seconds in ((None, 0), (AWAY, 20), (None, 20), (None, 20)):
            looks.wall.now += seconds
            looks.error = error
            looks.watch.look()
        assert looks.asked == [(at(moment - 70), "send") for moment in (100_000, 100_000, 100_000, 100_040)]

    def test_at_the_beginning_of_time(self, looks: Looks) -> None:
        """A clock that has just begun asks for all."""
        looks.wall.now = 69.5
        looks.watch.start()
        looks.watch.look()
        assert looks.asked == [(at(0), "send")]

    def test_who_is_followed(self, looks: Looks) -> None:
        """Each scope of lines that no look has seen is followed once, and then all are compared."""
        for lines in ({"1": "a", "2": "a", "3": "b"}, {"2": "a", "3": "b", "4": "c"}, {}, {"4": "c"}):
            looks.lines = lines
            looks.watch.look()
        assert sorted(looks.followed[:2]) == ["a", "b"]
        assert looks.followed[2:] == ["c", "c"]
        assert looks.compared == ["send"] * 4

    def test_failures(self, looks: Looks, logged: pytest.LogCaptureFixture) -> None:
        """Of several failures in a row the first is a warning; values are not compared then."""
        with logged.at_level(logging.DEBUG, watch_module.logger.name):
            for error in (AWAY, AWAY, None, MISSING):
                looks.error = error
                looks.watch.look()
        assert [record.levelname for record in logged.records] == ["WARNING", "DEBUG", "WARNING"]
        assert looks.compared == ["send"]

    @pytest.mark.parametrize(("error", "blind_at"), [(None, 75.0), (MISSING, 75.0), (AWAY, 65.0)])
    def test_how_old_it_is(self, looks: Looks, error: Exception | None, blind_at: float) -> None:
        """A look makes what is known new; without a table there is nothing to know, and a failure is no look."""
        looks.watch.start()
        looks.clock.now += 10
        looks.error = error
        looks.watch.look()
        assert looks.watch.blind_at == blind_at

    def test_after_the_end(self, looks: Looks) -> None:
        """A look that was under way at the end does not count."""
        looks.watch.look()
        assert looks.watch.blind_at == float("inf")


class TestCatchingUp:
    def test_in_time(self, looks: Looks) -> None:
        """While what is known is new nobody looks."""
        looks.watch.start()
        looks.clock.now = 64.9
        looks.watch.catch_up(looks.deadline())
        assert looks.asked == []

    @pytest.mark.parametrize("error", [None, MISSING])
    def test_too_late(self, looks: Looks, error: Exception | None) -> None:
        """When it is too old the caller looks, within its own deadline; without a table there is nothing to see."""
        looks.watch.start()
        looks.clock.now, looks.error = 65.0, error
        looks.watch.catch_up(looks.deadline())
        assert looks.asked == [(at(99_930), "read")]
        assert looks.watch.blind_at == 80.0
        assert not looks.watch._looking._is_owned()  # type: ignore[attr-defined]

    def test_a_failure(self, looks: Looks) -> None:
        """The caller gets the error of a look that fails."""
        looks.watch.start()
        looks.clock.now, looks.error = 65.0, AWAY
        with pytest.raises(SequenceUnavailable):
            looks.watch.catch_up(looks.deadline())
        assert not looks.watch._looking._is_owned()  # type: ignore[attr-defined]

    @pytest.mark.parametrize("left", [0.3, -1.0])
    def test_another_thread_looks(self, looks: Looks, left: float) -> None:
        """A caller gives up at its deadline, and looks no more where another thread has looked meanwhile."""
        waits: list[float] = []

        class Lock:
            """A lock that another thread has."""

            free = False

            def acquire(self, timeout: float) -> bool:
                waits.append(timeout)
                looks.clock.now = 60.0 if self.free else looks.clock.now
                return self.free

            def _is_owned(self) -> bool:
                return False

        lock: Any = Lock()
        looks.watch.start()
        looks.clock.now, looks.watch._looking = 65.0, lock
        with pytest.raises(SequenceUnavailable):
            looks.watch.catch_up(looks.deadline(left))
        lock.free = True
        looks.watch.catch_up(looks.deadline(left))
        assert waits == [max(left, 0.0)] * 2
        assert looks.asked == []
