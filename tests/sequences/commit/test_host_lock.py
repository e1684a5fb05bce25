"""The host lock: it excludes other processes if it can, is done without if it cannot, and passes on hints."""

from __future__ import annotations

import _weakrefset
import contextlib
import errno
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from unittest import mock
from uuid import uuid4

import pytest

from project.paths import ROOT
from sequences import put_next
from sequences.commit import host_lock, host_memory
from sequences.commit.host_lock import HostLock, hold_host_lock
from sequences.registry import strategies
from sequences.testing.callers import at_once, put_some
from tests.attacks.interruptions import Interruption, Place
from tests.sequences.support import SEQUENCES, lock_name, stored, wait_until

REPLACED = """
import sys, tempfile, threading, time
from sequences.commit import host_memory

sys.setswitchinterval(1e-5)
host_memory.LOOK_SECONDS = 0.0
until = time.monotonic() + 1

def look():
    while time.monotonic() < until:
        assert len(host_memory.shared_memory().view) == host_memory.BYTES

threads = [threading.Thread(target=look) for _ in range(4)]
with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        tempfile.tempdir = two if tempfile.tempdir == one else one
        host_memory._path.cache_clear()
    for thread in threads:
        thread.join()
"""
SHORTENED = """
import os, sys, tempfile
from sequences.commit import host_memory

with tempfile.TemporaryDirectory() as folder:
    tempfile.tempdir = folder
    memory = host_memory.shared_memory()
    os.truncate(memory.path, 0)
    host_memory.LOOK_SECONDS = float(sys.argv[1])
    host_memory.shared_memory().view[0] += 1
"""
COUNTING = """
import sys
from sequences.commit.host_lock import HostLock
from sequences.commit.host_memory import shared_memory

lock = HostLock(sys.argv[1])
for number in range(1_000, 200_000):
    lock._memory, lock._number = shared_memory(), number
    lock.release()
"""
FORK = multiprocessing.get_context("fork")
SOCKETS = Path("/proc/net/unix")

pytestmark = pytest.mark.skipif(not SOCKETS.exists(), reason="this system has no abstract sockets")


@pytest.fixture
def topic() -> str:
    """A name that no other test takes a turn at."""
    return uuid4().hex


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns that are waited for as long as it takes."""
    monkeypatch.setattr(host_lock, "LONGEST_WAIT", 30.0)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns that are hardly waited for."""
    monkeypatch.setattr(host_lock, "LONGEST_WAIT", 0.01)


@pytest.fixture
def unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without abstract sockets."""
    monkeypatch.setattr(host_memory, "SUPPORTED", False)


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The temporary directory, empty."""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    host_memory._path.cache_clear()
    yield tmp_path
    host_memory._path.cache_clear()


def times_open(path: Path) -> int:
    """How often this process has a file open."""
    return sum(each.resolve() == path for each in Path("/proc/self/fd").iterdir())


def in_line(topic: str) -> int:
    """how many stand in the line of a name, or of one that shares its slot."""
    memory = host_memory.shared_memory()
    if memory is None:
        return 0
    name = f"@sequences-{os.getuid()}-{memory.name}-{HostLock(topic)._slot}-"
    return len({line.split()[-1] for line in SOCKETS.read_text().splitlines() if name in line})


def count_up(path: Path, topic: str, times: int) -> None:
    """Read a number from a file and write the next one, each time in a turn of its own."""
    for _ in range(times):
        with hold_host_lock(topic):
            number = int(path.read_text())
            time.sleep(0.0001)
            path.write_text(str(number + 1))


def hold(topic: str, held: Event, release: Event) -> None:
    """Hold a turn from one event until another."""
    with hold_host_lock(topic):
        held.set()
        release.wait(60)


@contextmanager
def held_elsewhere(topic: str) -> Iterator[tuple[BaseProcess, Event]]:
    """Another process that holds the turn until the event."""
    held, release = FORK.Event(), FORK.Event()
    process = FORK.Process(target=hold, args=(topic, held, release))
    process.start()
    assert held.wait(30)
    try:
        yield process, release
    finally:
        if process.is_alive():
            release.set()
        process.join(30)


def turns_of(count: int, topic: str, seconds: float) -> list[str]:
    """How the turns of so many threads begin and end, each of which keeps its turn for some seconds."""
    turns: list[str] = []

    def take(number: int) -> None:
        with hold_host_lock(topic):
            turns.append(f"{number} begins")
            time.sleep(seconds)
            turns.append(f"{number} ends")

    at_once(count, take)
    return turns


@pytest.mark.usefixtures("patient")
class TestTurns:
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

    def test_a_number_is_written_in_one_step(self, topic: str) -> None:
        """Who looks while a turn is given back sees the former number or the new one: the line never begins again."""
        line, seen = HostLock(topic), set[bool]()
        with subprocess.Popen([sys.executable, "-c", COUNTING, topic], cwd=ROOT) as counting:
            while counting.poll() is None:
                line._memory = host_memory.shared_memory()
                found = [line._given_back() for _ in range(1_000)]
                seen |= {before <= after for before, after in pairwise(found)}
        assert (counting.returncode, seen) == (0, {True})

    def test_other_names_do_not_wait(self, topic: str) -> None:
        """Meanwhile the turns of other names are free, except the few that share a slot."""
        slot = HostLock(topic)._slot
        others = [name for name in (f"{topic}{n}" for n in range(20)) if HostLock(name)._slot != slot]
        with hold_host_lock(topic):
            for name in others:
                with hold_host_lock(name):
                    assert in_line(topic) == 1

    def test_the_first_to_come_is_the_first(self, topic: str) -> None:
        """Turns come in the order in which callers line up."""
        order: list[int] = []

        def take(number: int) -> None:
            with hold_host_lock(topic):
                order.append(number)

        with hold_host_lock(topic):
            threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
            for number, thread in enumerate(threads):
                thread.start()
                wait_until(lambda number=number: in_line(topic) == number + 2)  # type: ignore[misc]
        for thread in threads:
            thread.join(30)
        assert order == list(range(8))

    @pytest.mark.parametrize("ending", ["released", "killed"])
    def test_a_holder_that_ends(self, topic: str, ending: str) -> None:
        """The turn is free when its holder gives it back, and when its holder dies."""
        held, done = FORK.Event(), FORK.Event()
        with held_elsewhere(topic) as (process, release):
            waiting = threading.Thread(target=hold, args=(topic, held, done))
            waiting.start()
            wait_until(lambda: in_line(topic) == 2)
            assert not held.is_set()
            if ending == "killed":
                process.kill()
                process.join(30)
            else:
                release.set()
            assert held.wait(60)
            done.set()
            waiting.join(30)

    def test_a_waiter_that_dies(self, topic: str, tmp_path: Path) -> None:
        """After the death of a waiter turns still exclude each other, once those before it are done."""
        path = tmp_path / "number"
        path.write_text("0")
        with hold_host_lock(topic):
            waiter = FORK.Process(target=count_up, args=(path, topic, 1))
            waiter.start()
            wait_until(lambda: in_line(topic) == 2)
            waiter.kill()
            waiter.join(30)
        at_once(4, lambda _: count_up(path, topic, 25))
        assert path.read_text() == "100"

    def test_a_child_that_was_forked_meanwhile(self, topic: str) -> None:
        """A child that was forked while a turn was held does not keep the turn when its holder is done."""
        release = FORK.Event()
        with hold_host_lock(topic):
            child = FORK.Process(target=release.wait, args=(30,))
            child.start()
        wait_until(lambda: in_line(topic) == 0)
        release.set()
        child.join(30)

    def test_an_error_gives_the_turn_back(self, topic: str) -> None:
        """A host lock is released when its block ends with an error."""
        with pytest.raises(ZeroDivisionError), hold_host_lock(topic):
            raise ZeroDivisionError
        assert in_line(topic) == 0

    def test_a_place_is_closed(self, topic: str) -> None:
        """A place that is given back is closed at once, though somebody has its lock still."""
        with hold_host_lock(topic) as turn:
            assert turn._place
            assert turn._place.fileno() >= 0
        assert turn._place.fileno() == -1

    def test_no_waiting_beyond_the_callers_time(self, topic: str) -> None:
        """A caller waits for the turn no longer than it can."""
        with held_elsewhere(topic), hold_host_lock(topic, 0.01):
            assert in_line(topic) == 2


class TestHanging:
    @pytest.mark.usefixtures("impatient")
    def test_a_holder_that_hangs(self, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A holder that keeps its turn for LONGEST_WAIT delays the next caller, and nobody after that."""
        with held_elsewhere(topic):
            with hold_host_lock(topic):
                assert in_line(topic) == 2
            monkeypatch.setattr(host_lock, "LONGEST_WAIT", 30.0)
            for _ in range(3):
                with hold_host_lock(topic, 20.0):
                    assert in_line(topic) == 2

    def test_a_line_that_moves(self, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """While turns are given back, others wait longer than LONGEST_WAIT."""
        monkeypatch.setattr(host_lock, "LONGEST_WAIT", 3.0)
        turns = turns_of(8, topic, 0.5)
        assert turns[::2] == [turn.replace("ends", "begins") for turn in turns[1::2]]

    @pytest.mark.usefixtures("impatient")
    def test_a_line_that_moves_late(self, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who has waited too long looks whether a turn was given back meanwhile, and then goes on waiting."""
        with held_elsewhere(topic), hold_host_lock(topic, 0.0) as turn:
            assert turn._number
            held = turn._number - 1
            given_back = iter([held - 2, held - 2, held - 1, held - 1])  # the first look is before it connects
            monkeypatch.setattr(HostLock, "_given_back", lambda _: next(given_back))
            turn._wait_for(held, 30.0)
            monkeypatch.undo()
        assert [*given_back] == []

    def test_those_behind_a_holder_that_hangs(self, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first in the line goes on without its turn. The others wait for the first, and go on one by one."""
        monkeypatch.setattr(host_lock, "LONGEST_WAIT", 3.0)
        with held_elsewhere(topic):
            turns = turns_of(5, topic, 0.01)
        assert turns[::2] == [turn.replace("ends", "begins") for turn in turns[1::2]]

    def test_a_long_line(self, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A caller that finds MOST_WAITING others in the line goes on without a turn."""
        monkeypatch.setattr(host_lock, "MOST_WAITING", 1)
        with held_elsewhere(topic), hold_host_lock(topic):
            assert in_line(topic) == 1


class TestDoingWithout:
    def test_numbering_goes_on(self, configured: str, scope: str) -> None:
        """While another process holds the turn of a scope for long, its numbers are handed out all the same."""
        with held_elsewhere(lock_name("sort-key", scope)):
            assert put_some("sort-key", scope, 3) == [1, 2, 3]

    @pytest.mark.usefixtures("unsupported")
    def test_another_system(self, topic: str) -> None:
        """Without abstract sockets there are no locks and no hints."""
        with hold_host_lock(topic) as turn:
            turn.leave_hint(7, 1.0)
            assert turn.hint() is None
            assert in_line(topic) == 0

    def test_a_system_that_forbids_sockets(self, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no socket can be bound there are no locks; hints are passed on all the same."""
        forbidden = mock.Mock(side_effect=PermissionError)
        sockets = mock.Mock(return_value=mock.Mock(bind=forbidden))
        monkeypatch.setattr(host_lock, "socket", mock.Mock(socket=sockets))
        with hold_host_lock(topic) as turn:
            turn.leave_hint(7, 1.0)
        assert forbidden.call_count == 1
        with hold_host_lock(topic) as turn:
            assert turn.hint() == (7, 1.0)

    @pytest.mark.parametrize("name", ["sort-key", "transactional"])
    def test_numbering_on_another_system(self, configured: str, scope: str, name: str, unsupported: None) -> None:
        """Without host locks the numbers are the same as with them."""
        assert name in SEQUENCES
        at_once(8, lambda n: put_next(name, {"n": n}, scope=scope))
        assert sorted(stored(name, scope)) == list(range(1, 9))

    @pytest.mark.parametrize("name", ["sort-key", "transactional"])
    def test_a_full_disk(
        self, configured: str, scope: str, name: str, own_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A disk without room for the memory costs a read and never a number."""
        full = mock.Mock(side_effect=OSError(errno.ENOSPC, "the disk is full"))
        monkeypatch.setattr(os, "posix_fallocate", full)
        assert put_some(name, scope, 3) == [1, 2, 3]
        assert full.called

    def test_another_memory(self, topic: str, own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who has a temporary directory of its own waits for nobody of the others, whose numbers it does not know."""
        with hold_host_lock(topic) as turn:
            (own_folder / "apart").mkdir()
            monkeypatch.setattr(tempfile, "gettempdir", lambda: str(own_folder / "apart"))
            host_memory._path.cache_clear()
            with hold_host_lock(topic) as apart:
                assert (turn._number, apart._number) == (1, 1)

    def test_without_a_folder(self, topic: str, own_folder: Path) -> None:
        """If no folder can be made there are no host locks."""
        (own_folder / f"sequences-{os.getuid()}").write_text("")
        with hold_host_lock(topic) as turn:
            turn.leave_hint(7, 1.0)
            assert turn.hint() is None

    def test_a_folder_of_somebody_else(self, topic: str, own_folder: Path) -> None:
        """A link in the folder's place, which somebody else could have put there, is not followed."""
        (own_folder / "elsewhere").mkdir()
        (own_folder / f"sequences-{os.getuid()}").symlink_to(own_folder / "elsewhere")
        with hold_host_lock(topic) as turn:
            turn.leave_hint(7, 1.0)
            assert turn.hint() is None
        assert list((own_folder / "elsewhere").iterdir()) == []


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
        """A hint for one name is not read for another, even if they share a slot."""
        monkeypatch.setattr(host_lock, "SLOTS", 1)
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

    def test_half_a_hint(self, topic: str) -> None:
        """A hint that was overwritten while it was read is ignored."""
        with hold_host_lock(topic) as turn:
            turn.leave_hint(42, 2.5)
            assert turn._memory is not None
            turn._memory.view[turn._offset + 40] += 1  # the last byte of the value comes first
            assert turn.hint() is None
            turn.leave_hint(44, 2.5)
            assert turn.hint() == (44, 2.5)

    def test_one_file(self, topic: str, own_folder: Path) -> None:
        """However many names there are, they have one file, which is small, private, and closed again."""
        for n in range(100):
            with hold_host_lock(f"{topic}{n}") as turn:
                turn.leave_hint(n, 1.0)
        (folder,) = own_folder.iterdir()
        (file,) = folder.iterdir()
        assert file.stat().st_size == host_memory.BYTES
        assert {path.stat().st_mode & 0o777 for path in (folder, file)} == {0o700, 0o600}
        assert times_open(file.resolve()) == 1, "the mapping keeps it"

    def test_between_two_looks_no_file_is_opened(
        self, topic: str, own_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A process looks for the file every LOOK_SECONDS only: between, it reads and writes memory."""
        memory = host_memory.shared_memory()
        assert memory is not None
        monkeypatch.setattr(host_memory, "LOOK_SECONDS", 30.0)
        monkeypatch.setattr(os, "open", mock.Mock(side_effect=OSError))
        assert host_memory.shared_memory() is memory

    def test_a_file_that_is_deleted(self, topic: str, own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """After LOOK_SECONDS this process is in the file that others have made anew; before that, in the old one."""
        with hold_host_lock(topic) as turn:
            turn.leave_hint(42, 2.5)
        (folder,) = own_folder.iterdir()
        (folder / "turns").unlink()
        monkeypatch.setattr(host_memory, "LOOK_SECONDS", 30.0)
        with hold_host_lock(topic) as turn:
            assert turn.hint() == (42, 2.5)
        monkeypatch.setattr(host_memory, "LOOK_SECONDS", 0.0)
        with hold_host_lock(topic) as turn:
            assert turn.hint() is None
            turn.leave_hint(43, 2.5)
        with hold_host_lock(topic) as turn:
            assert turn.hint() == (43, 2.5)
        assert (folder / "turns").exists()


class Thrown(Exception):
    """What a signal's handler throws."""


def is_raised(place: Place, topic: str) -> bool:
    """Whether what a handler throws at a place within a turn is raised."""
    try:
        with place, hold_host_lock(topic):
            pass
    except Thrown:
        return True
    return False


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # it is closed with its object
@pytest.mark.usefixtures("impatient")
def test_a_signals_exception(topic: str) -> None:
    """Wherever in a turn it strikes, it is raised, and nothing of the turn is left."""
    files = (host_lock.__file__, _weakrefset.__file__, contextlib.__file__)
    with held_elsewhere(topic):
        places = [Place(number, Interruption(throw=Thrown), files=files) for number in range(1, 1000)]
        raised = [is_raised(place, topic) for place in places]
        assert raised == [place.reached for place in places]
        assert 20 < sum(raised) < len(raised)
        gc.collect()
        assert in_line(topic) == 1


def test_a_memory_that_is_replaced_under_threads() -> None:
    """Threads that look while another memory is mapped get the old one or the new one, whole."""
    done = subprocess.run([sys.executable, "-c", REPLACED], cwd=ROOT, timeout=60, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("look_seconds", "ended"), [(0.0, 0), (60.0, -signal.SIGBUS)])
def test_a_memory_that_somebody_makes_shorter(look_seconds: float, ended: int) -> None:
    """A process makes it whole again when it looks; one that uses it before is ended by the system."""
    command = [sys.executable, "-c", SHORTENED, str(look_seconds)]
    done = subprocess.run(command, cwd=ROOT, timeout=60, capture_output=True, check=False)
    assert done.returncode == ended, done.stderr


def test_threads_have_names() -> None:
    """No turn starts a thread."""
    here, starters, start = threading.get_ident(), list[int](), threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        starters.append(threading.get_ident())
        start(thread)

    with mock.patch.object(threading.Thread, "start", noted), hold_host_lock("a topic"):
        pass
    assert here not in starters


BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@pytest.mark.skipif(not BOOT_ID.exists(), reason="this system does not tell one run from another")
def test_another_run_of_the_machine(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint from before the machine was started again is ignored, because its clock has started again."""
    monkeypatch.setattr(host_lock, "SLOTS", 1)
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
