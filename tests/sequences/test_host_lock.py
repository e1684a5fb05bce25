"""The host lock: it excludes other processes if it can, is done without if it cannot, and passes on hints."""

from __future__ import annotations

import errno
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from unittest import mock
from uuid import uuid4

import pytest

from sequences import host_lock, put_next
from sequences.host_lock import HostLock, hold_host_lock
from sequences.registry import strategies
from tests.sequences.support import SEQUENCES, at_once, lock_name, put_some, stored

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def topic() -> str:
    """A name that no other test takes a turn at."""
    return uuid4().hex


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns that are waited for as long as it takes."""
    monkeypatch.setattr(host_lock, "LONGEST_WAIT", 30.0)


@pytest.fixture
def without_flock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A system without flock."""
    monkeypatch.setattr(host_lock, "fcntl", None)
    host_lock._folder.cache_clear()
    yield
    host_lock._folder.cache_clear()


def open_files() -> int:
    """How many files this process has open, where the system says so."""
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.exists() else 0


def has_turn(turn: HostLock) -> bool:
    """Whether it is a real turn, and not one that is done without."""
    return turn._file is not None


def count_up(path: Path, topic: str, times: int) -> None:
    """Read a number from a file and write the next one, each time in a turn of its own."""
    for _ in range(times):
        with hold_host_lock(topic) as turn:
            assert has_turn(turn)
            number = int(path.read_text())
            time.sleep(0.0001)
            path.write_text(str(number + 1))


def hold(topic: str, held: Event, release: Event) -> None:
    """Hold a turn from one event until another."""
    with hold_host_lock(topic):
        held.set()
        release.wait(30)


@pytest.mark.usefixtures("patient")
class TestExclusion:
    def test_processes(self, topic: str, tmp_path: Path) -> None:
        """4 processes never hold a host lock at the same time."""
        path = tmp_path / "number"
        path.write_text("0")
        processes = [FORK.Process(target=count_up, args=(path, topic, 25)) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        assert [process.exitcode for process in processes] == [0, 0, 0, 0]
        assert path.read_text() == "100"

    def test_threads(self, topic: str, tmp_path: Path) -> None:
        """Threads of one process never hold a host lock at the same time."""
        path = tmp_path / "number"
        path.write_text("0")
        at_once(4, lambda _: count_up(path, topic, 25))
        assert path.read_text() == "100"

    def test_other_names_do_not_wait(self, topic: str) -> None:
        """Turns at other names are to be had meanwhile, but for the few that share a file."""
        with hold_host_lock(topic) as turn:
            assert has_turn(turn)
            host_lock.LONGEST_WAIT = 0.0  # of the fixture's patch
            had = []
            for n in range(20):
                with hold_host_lock(f"{topic}{n}") as other:
                    had.append(has_turn(other))
        assert had.count(True) >= 15


class TestDoingWithout:
    @pytest.mark.parametrize("ending", ["released", "killed"])
    def test_a_turn_that_is_held_long(self, topic: str, ending: str) -> None:
        """A turn that cannot be had within LONGEST_WAIT is done without; it is to be had when its holder is gone."""
        held, release = FORK.Event(), FORK.Event()
        process = FORK.Process(target=hold, args=(topic, held, release))
        process.start()
        assert held.wait(30)
        with hold_host_lock(topic) as turn:
            assert not has_turn(turn)
            assert turn.hint() is None
            turn.leave_hint(7, 1.0)
        if ending == "killed":
            process.kill()
        else:
            release.set()
        process.join(30)
        with hold_host_lock(topic) as turn:
            assert has_turn(turn)
            assert turn.hint() is None

    def test_numbering_goes_on(self, configured: str, scope: str) -> None:
        """While another process holds the turn of a scope for long, its numbers are handed out all the same."""
        topic = lock_name("sort-key", scope)
        held, release = FORK.Event(), FORK.Event()
        process = FORK.Process(target=hold, args=(topic, held, release))
        process.start()
        assert held.wait(30)
        assert put_some("sort-key", scope, 3) == [1, 2, 3]
        release.set()
        process.join(30)

    def test_a_child_that_was_forked_meanwhile(self, topic: str) -> None:
        """A child that was forked while a turn was held does not keep the turn when its holder is done."""
        release = FORK.Event()
        with hold_host_lock(topic) as turn:
            assert has_turn(turn)
            child = FORK.Process(target=release.wait, args=(30,))
            child.start()
        with hold_host_lock(topic) as turn:
            had = has_turn(turn)
        release.set()
        child.join(30)
        assert had

    @pytest.mark.usefixtures("without_flock")
    def test_without_flock(self, topic: str) -> None:
        """Without flock there are no locks and no hints."""
        with hold_host_lock(topic) as turn:
            assert not has_turn(turn)
            turn.leave_hint(7, 1.0)
            assert turn.hint() is None

    @pytest.mark.parametrize("name", ["sort-key", "transactional"])
    def test_numbering_without_flock(self, configured: str, scope: str, name: str, without_flock: None) -> None:
        """Without flock the numbers are the same as with it."""
        assert name in SEQUENCES
        at_once(8, lambda n: put_next(name, {"n": n}, scope=scope))
        assert sorted(stored(name, scope)) == list(range(1, 9))

    @pytest.mark.parametrize("name", ["sort-key", "transactional"])
    def test_a_disk_that_fails(self, configured: str, scope: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A turn's file that cannot be read or written costs a read and never a number."""

        def fail(*args: object) -> None:
            raise OSError(errno.ENOSPC, "the disk is full")

        monkeypatch.setattr(os, "pread", fail)
        monkeypatch.setattr(os, "pwrite", fail)
        assert put_some(name, scope, 3) == [1, 2, 3]

    def test_without_a_folder(self, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If no folder can be made there are no host locks."""
        (tmp_path / "file").write_text("")
        monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "file"))
        host_lock._folder.cache_clear()
        with hold_host_lock(topic) as turn:
            assert not has_turn(turn)
        host_lock._folder.cache_clear()

    def test_a_folder_of_somebody_else(self, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A link in the folder's place, which somebody else could have put there, is not followed."""
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / f"sequences-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
        monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
        host_lock._folder.cache_clear()
        with hold_host_lock(topic) as turn:
            assert not has_turn(turn)
        assert list((tmp_path / "elsewhere").iterdir()) == []
        host_lock._folder.cache_clear()


class TestHints:
    def test_a_hint_from_the_future(self, configured: str, scope: str) -> None:
        """A hint that was confirmed later than now comes from another boot, and is ignored."""
        assert put_some("sort-key", scope, 2) == [1, 2]
        strategies["sort-key"].forget()
        with hold_host_lock(lock_name("sort-key", scope)) as turn:
            turn.leave_hint(900, time.monotonic() + 3600)
        assert put_some("sort-key", scope, 1) == [3]

    def test_what_is_told(self, topic: str) -> None:
        """The next holder reads the hint of the last one."""
        with hold_host_lock(topic) as turn:
            assert turn.hint() is None
            turn.leave_hint(41, 1.5)
            turn.leave_hint(42, 2.5)
        with hold_host_lock(topic) as turn:
            assert turn.hint() == (42, 2.5)

    def test_only_by_the_same_name(self, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hint for one name is not read for another, even if they share a file."""
        monkeypatch.setattr(host_lock, "FILES", 1)
        with hold_host_lock(topic) as turn:
            turn.leave_hint(42, 2.5)
        with hold_host_lock(f"{topic}-another") as turn:
            assert turn.hint() is None
        with hold_host_lock(topic) as turn:
            assert turn.hint() == (42, 2.5)

    def test_numbers_beyond_the_file(self, topic: str) -> None:
        """A value of more than 63 bits is not left as a hint."""
        with hold_host_lock(topic) as turn:
            turn.leave_hint(2**63, 1.0)
            assert turn.hint() is None
            turn.leave_hint(2**63 - 1, 1.0)
            assert turn.hint() == (2**63 - 1, 1.0)

    def test_few_files(self, topic: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """However many names there are, the files are few, private, and closed again."""
        monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
        monkeypatch.setattr(host_lock, "FILES", 8)
        host_lock._folder.cache_clear()
        before = open_files()
        for n in range(100):
            with hold_host_lock(f"{topic}{n}") as turn:
                turn.leave_hint(n, 1.0)
        host_lock._folder.cache_clear()
        (folder,) = tmp_path.iterdir()
        files = list(folder.iterdir())
        assert len(files) == 8
        assert {path.stat().st_mode & 0o777 for path in [folder, *files]} == {0o700, 0o600}
        assert open_files() == before

    def test_an_error_gives_the_turn_back(self, topic: str) -> None:
        """A host lock is released when its block ends with an error."""
        with pytest.raises(ZeroDivisionError), hold_host_lock(topic):
            raise ZeroDivisionError
        with hold_host_lock(topic) as turn:
            assert has_turn(turn)


def test_threads_have_names() -> None:
    """No turn starts a thread."""
    before = threading.active_count()
    with hold_host_lock("a topic"):
        assert threading.active_count() == before


BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@pytest.mark.skipif(not BOOT_ID.exists(), reason="this system does not tell one run from another")
def test_another_run_of_the_machine(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint from before the machine was started again is ignored, because its clock has started again."""
    monkeypatch.setattr(host_lock, "FILES", 1)
    with hold_host_lock(topic) as turn:
        turn.leave_hint(42, 2.5)
    read_text = Path.read_text

    def read(path: Path, encoding: str | None = None) -> str:
        return "another run" if path == BOOT_ID else read_text(path, encoding)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", read)
        host_lock._boot.cache_clear()
        with hold_host_lock(topic) as turn:
            assert turn.hint() is None
    host_lock._boot.cache_clear()
    with hold_host_lock(topic) as turn:
        assert turn.hint() == (42, 2.5)


def test_a_system_that_does_not_tell_its_run(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system without boot ids host locks still work."""
    monkeypatch.setattr(host_lock, "_boot", host_lock._boot.__wrapped__)
    monkeypatch.setattr(Path, "read_text", mock.Mock(side_effect=FileNotFoundError))
    with hold_host_lock(topic) as turn:
        turn.leave_hint(42, 2.5)
        assert turn.hint() == (42, 2.5)
