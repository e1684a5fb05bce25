"""An advisory lock by which the processes of one host take turns at a scope, with a hint of its last value.

Without it, the web workers of one host race each other for every number of a busy scope, and lose most races. The
write's own condition decides what is right, so a lock that cannot be had in `LONGEST_WAIT` seconds, or on a system
without `flock`, costs a race and never a number. Hosts among themselves have only jitter.

The lock is on a small file in the temporary directory, which also holds the hint.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import uniform

try:
    import fcntl
except ImportError:  # a system without flock has no locks
    fcntl = None  # type: ignore[assignment]

__all__ = ["LONGEST_WAIT", "HostLock", "hold_host_lock"]

LONGEST_WAIT = 0.05
FILES = 1024
_HINT = struct.Struct("<32sqd")  # whose it is, the last value, and when it was proved on this host's clock


class HostLock:
    """The lock of one scope, from `hold_host_lock`; without a file it gives and takes no hints."""

    def __init__(self, key: bytes, file: int | None) -> None:
        self._key = key
        self._file = file

    def hint(self) -> tuple[int, float] | None:
        """The last value that a process of this host proved, and when (monotonic seconds)."""
        if self._file is None:
            return None
        try:
            data = os.pread(self._file, _HINT.size, 0)
        except OSError:
            return None
        if len(data) < _HINT.size:
            return None
        key, last_value, proved_at = _HINT.unpack(data)
        return (last_value, proved_at) if key == self._key else None

    def leave_hint(self, last_value: int, proved_at: float) -> None:
        """Leave the last value for whoever is next. Values beyond 64 bits are left out."""
        if self._file is not None and last_value < 2**63:
            with contextlib.suppress(OSError):  # a full disk costs the next one a read
                os.pwrite(self._file, _HINT.pack(self._key, last_value, proved_at), 0)


@contextmanager
def hold_host_lock(name: str) -> Iterator[HostLock]:
    """Hold the lock of this name, after at most `LONGEST_WAIT` seconds; without it if it cannot be had."""
    key = hashlib.sha256(f"{_boot()}|{name}".encode()).digest()
    file = _open(int.from_bytes(key[:4]) % FILES)
    try:
        yield HostLock(key, file if file is not None and _lock(file) else None)
    finally:
        if file is not None:
            _release(file)


def _lock(file: int) -> bool:
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(uniform(0.0002, 0.001))  # noqa: S311 - chance here is no secret
        except OSError:
            return False
        else:
            return True


def _release(file: int) -> None:
    """Unlock before closing, which alone would leave the lock to a child that was forked meanwhile."""
    try:
        fcntl.flock(file, fcntl.LOCK_UN)
    except OSError:
        pass
    finally:
        os.close(file)


def _open(number: int) -> int | None:
    folder = _folder()
    if folder is None:
        return None
    try:
        return os.open(folder / f"{number:04d}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


@cache
def _folder() -> Path | None:
    """A folder that only this user can enter; None where there can be none."""
    if fcntl is None:
        return None
    with contextlib.suppress(OSError):  # gettempdir raises it where nothing can be written
        folder = Path(tempfile.gettempdir()) / f"sequences-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid == os.getuid() and not folder.is_symlink():
            return folder
    return None


@cache
def _boot() -> str:
    """What tells this run of this host's clock from another, where the system says so."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""
