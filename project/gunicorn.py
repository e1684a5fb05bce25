"""gunicorn's settings beside those of `commands.web`: its log lines, its signals, how its processes begin, and
where they measure.

gunicorn takes from here what has the name of one of its settings.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from gunicorn.glogging import Logger

from project import logs

MEASURED_IN = "PROMETHEUS_MULTIPROC_DIR"

preload_app = True
"""The site is loaded once. A worker begins as a copy of it: at once, and both share most of its memory."""


class logger_class(Logger):  # type: ignore[misc]  # noqa: N801 - the name of gunicorn's setting
    """gunicorn's log, in the format of the others."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        formatter = logs.formatter_of_others()
        for handler in self.error_log.handlers if formatter else ():
            handler.setFormatter(formatter)


def folder_of_measures() -> str:
    """An empty folder, in which the workers add up what they measure; "" if nobody reads it.

    What a worker has measured stays when it ends. One that begins under the same number goes on from there.
    """
    if not os.environ.get("METRICS_TOKEN", "").strip():
        return ""
    folder = Path(os.environ.get(MEASURED_IN) or tempfile.mkdtemp(prefix="tickets-metrics-"))
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.db"):
        file.unlink()
    return str(folder)


_named = os.environ.get(MEASURED_IN)
if _folder := folder_of_measures():  # before the site is loaded, as its metrics look there when they are made
    os.environ[MEASURED_IN] = _folder


def child_exit(server: Any, worker: Any) -> None:
    """A worker has ended: it has no threads and no waiting requests any more. What it has added up stays."""
    for file in Path(os.environ.get(MEASURED_IN, os.devnull)).glob(f"gauge_live*_{worker.pid}.db"):
        file.unlink()


def when_ready(server: Any) -> None:
    """Before the first worker: refuse SIGHUP, at which gunicorn stops all workers, and begins others.

    They would be of the version that is loaded.
    """
    server.handle_hup = lambda: server.log.warning(
        "SIGHUP is refused: it loads no new version. Start that beside this one, then stop this one by SIGTERM."
    )


def on_exit(server: Any) -> None:
    """Remove the folder, unless the environment named it."""
    if not _named and (folder := os.environ.get(MEASURED_IN)):
        shutil.rmtree(folder, ignore_errors=True)
