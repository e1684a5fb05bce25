"""A small memory that the processes of one user on one host share: a file in the temporary directory, mapped.

To read and write it takes no call of the system, before which another thread would run first. A descriptor in place of
the mapping could also lead elsewhere one day, after a program has closed all of its files, as a daemon does. The price:
if somebody makes the file shorter, which only this user can, the system ends every process that uses it before its next
look, LOOK_SECONDS later at most, makes it whole again.

A note in it has the digest of a name, what is noted, and a checksum, since another process may write while this one
reads. `remember` notes the highest value of a name. Each name has one place, which a few names share: the last one that
was written is remembered. So a value may be forgotten, but none is ever told for another name.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import struct
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

SUPPORTED = sys.platform == "linux"
TURNS_BYTES = 65536  # first what `host_lock` keeps, where earlier versions have it
VALUES_BYTES = 4 * 65536  # then what `remember` keeps
BYTES = TURNS_BYTES + VALUES_BYTES
_VALUE = struct.Struct("<32sqI")  # a note with one value
_PLACE_BYTES = 64
PLACES = VALUES_BYTES // _PLACE_BYTES
LOOK_SECONDS = 1.0  # how often a process looks whether the file is still there


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory as this process has mapped it. `name` is the same for all processes that share it, and no others.

    `numbers` are its bytes as numbers of 8, each read and written in one step: `struct` writes zeros before a number.
    """

    path: str
    name: str
    view: memoryview
    numbers: memoryview[int]
    looked_at: float


class _ProcessState:
    """What this process has mapped.

    An attribute of an object, not of the class: when one of a class is replaced, another thread may get the old value
    from the interpreter's cache, while it is freed (CPython 3.11).
    """

    def __init__(self) -> None:
        self.mapped: Memory | None = None


_process = _ProcessState()


def shared_memory() -> Memory | None:
    """The memory, at first all zeros; None on a system without it.

    If the file was deleted, as by a clean-up of the directory, the processes meet in a new one within LOOK_SECONDS.
    """
    path, known, now = _path(), _process.mapped, time.monotonic()
    if path is None or not SUPPORTED:
        return None
    if known is None or known.path != path or now - known.looked_at > LOOK_SECONDS:
        try:
            known = _process.mapped = _look(path, known, now)
        except OSError:  # as on a full disk
            return None
    return known


def _look(path: str, known: Memory | None, now: float) -> Memory:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        # Room for all of it, also if somebody has made it shorter: to use a page without room would end the process.
        os.posix_fallocate(file, 0, BYTES)
        status = os.fstat(file)
        name = f"{status.st_dev}-{status.st_ino}"
        if known is not None and (known.path, known.name) == (path, name):
            return replace(known, looked_at=now)
        view = memoryview(mmap.mmap(file, BYTES))
        return Memory(path, name, view, view.cast("q"), now)
    finally:
        os.close(file)


@cache
def _path() -> str | None:
    """The file, in a folder that only this user can enter; None if there is none."""
    with contextlib.suppress(OSError):  # gettempdir raises it if no directory is writable
        folder = Path(tempfile.gettempdir()) / f"sequences-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid == os.getuid() and not folder.is_symlink():
            return str(folder / "turns")
    return None


def read_note(memory: Memory, form: struct.Struct, offset: int, key: bytes) -> list[Any] | None:
    """What is noted at a place for the name with this digest; None if it is another's, or half of a new one."""
    found, *noted, checksum = form.unpack_from(memory.view, offset)
    return noted if found == key and checksum == zlib.crc32(form.pack(key, *noted, 0)) else None


def write_note(memory: Memory, form: struct.Struct, offset: int, key: bytes, *noted: float) -> None:
    """Note this at a place, for the name with this digest."""
    memory.view[offset : offset + form.size] = form.pack(key, *noted, zlib.crc32(form.pack(key, *noted, 0)))


def remembered(name: str) -> int | None:
    """The value of a name; None if it is not remembered."""
    memory = shared_memory()
    noted = memory and read_note(memory, _VALUE, *_place(name))
    return int(noted[0]) if noted else None


def remember(name: str, value: int) -> None:
    """Remember a value, unless a higher one of this name is. Values that do not fit into 64 bits are not remembered."""
    memory = shared_memory()
    if memory is None or not -(2**63) <= value < 2**63:
        return
    place = _place(name)
    before = read_note(memory, _VALUE, *place)
    if before is None or before[0] < value:
        write_note(memory, _VALUE, *place, value)


def forget(name: str) -> None:
    """Forget the value of a name."""
    memory, place = shared_memory(), _place(name)
    if memory is not None and read_note(memory, _VALUE, *place) is not None:
        _VALUE.pack_into(memory.view, place[0], b"", 0, 0)


@lru_cache(4096)  # each number asks for its scope's
def _place(name: str) -> tuple[int, bytes]:
    """Where the place of a name begins, and its digest."""
    key = hashlib.sha256(name.encode()).digest()
    return TURNS_BYTES + int.from_bytes(key[:4]) % PLACES * _PLACE_BYTES, key
