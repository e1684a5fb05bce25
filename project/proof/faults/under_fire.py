"""The configuration of gunicorn during the soak: the site is loaded once, as it is served, but in a process whose wall
clock jumps. Its workers begin as copies of that one. No other program imports this.
"""

from __future__ import annotations

import os
from pathlib import Path

from project.proof.faults import clock
from project.proof.faults.worker import CLOCK, post_worker_init

__all__ = ["post_worker_init", "preload_app"]

preload_app = True

clock.install(Path(os.environ[CLOCK]))  # before the site is loaded
