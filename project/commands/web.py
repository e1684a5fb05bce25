"""The web server in the place of this process: what a container runs. It prepares nothing (see `prepare`)."""

import os
import sys

from project import environment
from project.commands.bootstrap import fail

WORKER = "project.worker.BufferingWorker"


def main() -> None:
    """Become gunicorn, so that signals reach it. Ends with 2, and a line for each fault of the environment."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", environment.DEVELOPMENT)
    try:
        command = program()
    except environment.WrongEnvironment as error:
        sys.exit(fail(error))
    os.execv(command[0], command)  # noqa: S606 - no shell


def program() -> list[str]:
    """The command line of gunicorn. Raises WrongEnvironment, before a process of it could be in trouble."""
    environment.refuse_faults(production=environment.in_production())
    options = {
        "bind": authority(),
        "worker-class": WORKER,
        "workers": environment.web_workers(),
        "threads": environment.web_threads(),
        "keep-alive": environment.keep_alive(),
        "graceful-timeout": environment.stop_seconds(),
        "log-level": "warning",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    # The sign of life of a worker needs no disk, so that a container's may be read-only.
    in_memory = ["--worker-tmp-dir=/dev/shm"] if os.access("/dev/shm", os.W_OK) else []  # noqa: S108 - as gunicorn advises
    always = ["--config=python:project.gunicorn", "--no-control-socket"]
    return [sys.executable, "-m", "gunicorn", *always, *flags, *in_memory, "project.wsgi"]


def authority() -> str:
    """The address and port of the web server, as in a URL."""
    host = environment.bind()
    return f"[{host}]:{environment.port()}" if ":" in host else f"{host}:{environment.port()}"


if __name__ == "__main__":
    main()
