"""An advisory lock with a hint file: the processes of one host take turns at a scope and pass on its last value.

Without it, the web workers of one host race for every number of a busy scope, and lose most races. The lock only saves
races: the condition of each write decides what is stored. So a process that does not get the lock within
`LONGEST_WAIT` seconds, or runs on a system without `flock`, loses a race at worst and never a number. Processes of
different hosts have only jitter.

The lock is on a small file in the temporary directory. The same file holds the hint.
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
except ImportError:  # a system without flock
    fcntl = None  # type: ignore[assignment]

__all__ = ["LONGEST_WAIT", "HostLock", "hold_host_lock"]

LONGEST_WAIT = 0.05
FILES = 1024
_HINT = struct.Struct("<32sqd")  # the lock's key, the last value, and when it was confirmed (this host's clock)


class HostLock:
    """The lock of one scope, from `hold_host_lock`. Without a file it has no hints."""

    def __init__(self, key: bytes, file: int | None) -> None:
        self._key = key
        self._file = file

    def hint(self) -> tuple[int, float] | None:
        """The last value that a process of this host confirmed, and when (monotonic seconds); None without one."""
        if self._file is None:
            return None
        try:
            data = os.pread(self._file, _HINT.size, 0)
        except OSError:
            return None
        if len(data) < _HINT.size:
            return None
        key, last_value, known_at = _HINT.unpack(data)
        return (last_value, known_at) if key == self._key else None

    def leave_hint(self, last_value: int, known_at: float) -> None:
        """Leave the last value for the next process. Values of 2**63 and above are not left."""
        if self._file is not None and last_value < 2**63:
            with contextlib.suppress(OSError):  # on a full disk the next process reads the last value itself
                os.pwrite(self._file, _HINT.pack(self._key, last_value, known_at), 0)


@contextmanager
def hold_host_lock(name: str) -> Iterator[HostLock]:
    """Hold the lock of this name during the block; go on without it after `LONGEST_WAIT` seconds."""
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
    """Unlock before closing: a child that was forked meanwhile would otherwise keep the lock."""
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
    """A folder that only this user can enter; None if there is none."""
    if fcntl is None:
        return None
    with contextlib.suppress(OSError):  # gettempdir raises it if no directory is writable
        folder = Path(tempfile.gettempdir()) / f"sequences-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid == os.getuid() and not folder.is_symlink():
            return folder
    return None


@cache
def _boot() -> str:
    """The id of this boot, as each boot starts the monotonic clock again; empty on systems without one."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""
