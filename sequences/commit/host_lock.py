"""An advisory lock with a hint: the processes of one host take turns at a scope and pass on its last value.

Without it, the web workers of one host race for every number of a busy scope, and lose most races. The lock only saves
races: the condition of each write decides what is stored. So a process that waits no longer, or runs on a system
without such locks, loses a race at worst and never a number. Hosts take turns by a row (see `rows.host_queue`).

The lock is a line of numbered places. A process takes a place by binding a socket to its number, which the system lets
only one process do. Then it waits until the socket of the number before is closed, at the latest when its holder dies:

    place 7   has the turn --closes
    place 8       waits ----------- has the turn --closes
    place 9               waits ------------------ has the turn --closes

So the first to come has the first turn, and nobody polls. Those who come later take later numbers: a process that hangs
delays the next one by `LONGEST_WAIT` once, and nobody after that. The last number and the hint are in the memory that
the processes share. The sockets are in Linux's abstract namespace, so other systems go without locks.

A queue in which each waits for the one before is the lock of Craig, Landin and Hagersten; see "The Art of
Multiprocessor Programming", section 7.5.
"""

import contextlib
import errno
import hashlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from weakref import ReferenceType, ref

from .host_memory import TURNS_BYTES, Memory, read_note, shared_memory, write_note

LONGEST_WAIT = 0.5  # seconds in which nobody gives a turn back
CONNECT_ATTEMPTS = 20
MOST_WAITING = 512  # so many stand in a line at most; others go on without the lock

# A slot of the memory: the last number that was given back, and a note with the hint: the last value, and when it was
# confirmed (this host's clock).
_HINT = struct.Struct("<32sqdI")
_HINT_AT = 8
_SLOT_BYTES = 64
SLOTS = TURNS_BYTES // _SLOT_BYTES

# The sockets by their descriptors. They are references without a callback: in a WeakSet's callback the exception of
# a signal's handler is lost. A dead one is replaced when its descriptor is used again.
_places: dict[int, ReferenceType[socket.socket]] = {}


def _close_in_child() -> None:
    """Close a forked child's copies: a place is given back when no process has it open."""
    for known in list(_places.values()):
        if place := known():
            place.close()


os.register_at_fork(after_in_child=_close_in_child)


class HostLock:
    """The lock of one scope, from `hold_host_lock`. Without a memory it locks nothing and has no hints."""

    def __init__(self, name: str) -> None:
        self._key = hashlib.sha256(f"{_boot()}|{name}".encode()).digest()
        self._slot = int.from_bytes(self._key[:4]) % SLOTS
        self._offset = self._slot * _SLOT_BYTES
        self._memory: Memory | None = None
        self._place: socket.socket | None = None
        self._number: int | None = None

    def hint(self) -> tuple[int, float] | None:
        """The last value that a process of this host confirmed, and when (monotonic seconds); None without one."""
        if self._memory is None:
            return None
        noted = read_note(self._memory, _HINT, self._offset + _HINT_AT, self._key)
        return None if noted is None else (noted[0], noted[1])

    def leave_hint(self, last_value: int, known_at: float) -> None:
        """Leave the last value for the next process. Values of 2**63 and above are not left."""
        if self._memory is not None and last_value < 2**63:
            write_note(self._memory, _HINT, self._offset + _HINT_AT, self._key, last_value, known_at)

    def take(self, seconds: float) -> None:
        """Take a place, and wait for the turn: at most so many seconds, and not for a holder that hangs."""
        self._memory = shared_memory()
        if self._memory is None:
            return
        with contextlib.suppress(OSError):  # a system that allows no such sockets, or a holder that is gone
            given_back = self._line_up()
            if self._number is not None and self._number - 1 > given_back:
                self._wait_for(self._number - 1, seconds)

    def release(self) -> None:
        """Give back the turn, or the place in the line. From then on this lock has no hints, and leaves none."""
        memory, self._memory = self._memory, None
        if memory is None:
            return
        if self._number is not None:
            memory.numbers[self._offset // 8] = self._number  # before the next one goes on
        self._close()

    def _close(self) -> None:
        """Close the socket. If a signal's exception strikes in between, it is closed with this object."""
        if self._place is not None:
            self._place.close()

    def _line_up(self) -> int:
        """Take the first number after those that are given back or held. The line may be too long for that.

        If the number is given back by now, others have used it since the first look, and newer ones may be held.
        Returns the last number that was given back.
        """
        given_back = self._given_back()
        number = given_back + 1
        for _ in range(MOST_WAITING):
            if not self._bind(number):
                number += 1
            elif number > (given_back := self._given_back()):
                self._number = number
                break
            else:
                self._close()
                number = given_back + 1
        return given_back

    def _bind(self, number: int) -> bool:
        """Whether the number was free and is now held."""
        place = self._place = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        _places[place.fileno()] = ref(place)
        try:
            place.bind(self._address(number))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            self._close()
            return False
        place.listen()
        return True

    def _address(self, number: int) -> str:
        """The address of a place. A process with another temporary directory, and so another memory, has its own."""
        assert self._memory is not None
        return f"\0sequences-{os.getuid()}-{self._memory.name}-{self._slot}-{number}"

    def _given_back(self) -> int:
        """The last number that was given back."""
        assert self._memory is not None
        return self._memory.numbers[self._offset // 8]

    def _wait_for(self, number: int, seconds: float) -> None:
        """Wait until the place with this number is given back, at most so many seconds.

        The first in the line goes on without its turn if nothing is given back for LONGEST_WAIT, the second after twice
        that time, and so on: those behind a holder that hangs do not all go on at once.
        """
        until = time.monotonic() + seconds
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as holder:
            self._connect(holder, number)
            before = None
            while (left := until - time.monotonic()) > 0:
                given_back = self._given_back()
                if given_back == before:
                    return
                before = given_back
                holder.settimeout(min(left, LONGEST_WAIT * max(number - given_back, 1)))
                with contextlib.suppress(TimeoutError):
                    holder.recv(1)  # raises another error without a connection: nobody has the place any more
                    return

    def _connect(self, holder: socket.socket, number: int) -> None:
        """Connect to the holder of a place, unless it is given back, or its holder has died."""
        holder.settimeout(0)
        for _ in range(CONNECT_ATTEMPTS):
            if self._given_back() >= number:
                return
            try:
                holder.connect(self._address(number))
                return
            except ConnectionRefusedError:  # not yet: it was taken a moment ago
                time.sleep(0.0005)


@contextmanager
def hold_host_lock(name: str, seconds: float = float("inf")) -> Iterator[HostLock]:
    """Hold the lock of this name during the block. Go on without it after `seconds`, or if the holder hangs."""
    lock = HostLock(name)
    try:
        lock.take(seconds)
        yield lock
    finally:
        lock.release()


@cache
def _boot() -> str:
    """The id of this boot, as each boot starts the monotonic clock again; empty on systems without one."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""
