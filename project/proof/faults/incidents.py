"""Incidents of a running product: a worker dies, the engine is cut off or its disk is full, the clocks jump.

Each function returns when its incident is over, except that jumped clocks stay as they are. The caller's random numbers
decide the duration, the distance and the victim.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

from project.proof.faults import clock
from project.proof.faults.control import Proxy
from sequences.testing.embedded import Engine

__all__ = ["children", "cut_off", "fill_disk", "jump_clocks", "kill_worker", "why_no_full_disk"]

RECOVERY_SECONDS = 60.0
FARTHEST_SECONDS = 2 * 3600


def children(parent: int) -> list[int]:
    """The ids of the children of a process, in ascending order."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return sorted(int(child) for child in listed.split())


def kill_worker(master: int, draws: random.Random) -> None:
    """Kill one worker of a gunicorn master and return when another has taken its place."""
    before = children(master)
    victim = draws.choice(before)
    os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + RECOVERY_SECONDS
    while victim in (now := children(master)) or len(now) < len(before):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no new worker within {RECOVERY_SECONDS:.0f} s")
        time.sleep(0.02)


def cut_off(proxy: Proxy, draws: random.Random) -> None:
    """Cut the engine off for a while. Requests under way lose their connection."""
    proxy.partition()
    time.sleep(draws.uniform(0.5, 3))
    proxy.heal()


def jump_clocks(file: Path, draws: random.Random) -> None:
    """Set the wall clocks that follow the file ahead or behind, by up to two hours."""
    clock.set_offset(file, draws.uniform(-FARTHEST_SECONDS, FARTHEST_SECONDS))


def fill_disk(engine: Engine, draws: random.Random, wait: Callable[[float], object] = time.sleep) -> None:
    """Fill the engine's disk while it waits: the engine cannot write its files beyond a drawn size.

    The limit RLIMIT_FSIZE acts like a full disk for one process. If the process ignores SIGXFSZ (see `stack`), its
    writes fail with EFBIG; otherwise the signal ends it. dynoxide 1.2.1 goes on reading, and answers each write with
    500 InternalServerError, "commit failed (backend: I/O error: disk I/O error) and rollback also failed (backend:
    cannot rollback - no transaction is active)". Nothing of these writes is stored. After the limit is lifted, it works
    as before.
    """
    process = engine.process.pid
    _, most = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (draws.randint(0, _size(engine)), most))
    wait(draws.uniform(1, 3))
    if engine.is_running:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (most, most))
    else:
        engine.restart()


def why_no_full_disk(engine: Engine) -> str:
    """Why `fill_disk` cannot work here; empty if it can."""
    if engine.fallback:
        return "moto's server keeps nothing on disk"
    if engine.path and not engine.path.is_file():
        return "the engine keeps its data in more than one file"
    if not hasattr(resource, "prlimit"):
        return "this system has no prlimit"
    try:
        resource.prlimit(engine.process.pid, resource.RLIMIT_FSIZE)
    except OSError as error:
        return f"prlimit is not allowed here ({error.strerror})"
    return ""


def _size(engine: Engine) -> int:
    """The size of the engine's largest file, which is the file that grows."""
    assert engine.path is not None
    return max(file.stat().st_size for file in engine.path.parent.glob(f"{engine.path.name}*"))
