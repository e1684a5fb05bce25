"""gunicorn's settings beside those of `commands.web`: its log lines, its signals, and where its processes measure.

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


class logger_class(Logger):  # type: ignore[misc]  # noqa: N801 - the name of gunicorn's setting
    """gunicorn's log, in the format of the others."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        formatter = logs.formatter_of_others()
        for handler in self.error_log.handlers if formatter else ():
            handler.setFormatter(formatter)


def on_starting(server: Any) -> None:
    """Before the first worker: an empty folder, in which the workers add up what they measure.

    What a worker has measured stays when it ends. One that begins under the same number goes on from there.
    """
    if not os.environ.get("METRICS_TOKEN", "").strip():
        return
    server.made = "" if os.environ.get(MEASURED_IN) else tempfile.mkdtemp(prefix="tickets-metrics-")
    os.environ[MEASURED_IN] = os.environ.get(MEASURED_IN) or server.made
    folder = Path(os.environ[MEASURED_IN])
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.db"):
        file.unlink()


def child_exit(server: Any, worker: Any) -> None:
    """A worker has ended: it has no threads and no waiting requests any more. What it has added up stays."""
    for file in Path(os.environ.get(MEASURED_IN, os.devnull)).glob(f"gauge_live*_{worker.pid}.db"):
        file.unlink()


def when_ready(server: Any) -> None:
    """Before the first worker: refuse SIGHUP, at which gunicorn stops its workers while new ones only begin to start.

    For seconds nobody would be answered.
    """
    server.handle_hup = lambda: server.log.warning(
        "SIGHUP is refused: the site would not answer for seconds. Start the new version beside this one, then stop "
        "this one by SIGTERM."
    )


def on_exit(server: Any) -> None:
    """Remove the folder, unless the environment named it."""
    if made := getattr(server, "made", ""):
        shutil.rmtree(made, ignore_errors=True)
