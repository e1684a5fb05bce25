"""The web server in the place of this process: what a container runs. It prepares nothing (see `prepare`)."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured

from project import environment
from project.commands.bootstrap import fail

WORKER = "project.worker.BufferingWorker"


def main() -> None:
    """Become gunicorn, so that signals reach it. Ends with 2 if the environment says something impossible."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", environment.DEVELOPMENT)
    try:
        command = program()
    except ImproperlyConfigured as error:
        sys.exit(fail(error))
    os.execv(command[0], command)  # noqa: S606 - no shell


def program() -> list[str]:
    """The command line of gunicorn. Raises ImproperlyConfigured for a variable that is no number."""
    options = {
        "bind": authority(),
        "worker-class": WORKER,
        "workers": environment.count("WEB_WORKERS", default=2, least=1),
        "threads": environment.count("WEB_THREADS", default=16, least=1),
        "keep-alive": environment.count("KEEP_ALIVE", default=75, least=1),
        "graceful-timeout": stop_seconds(),
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


def stop_seconds() -> int:
    """After so many seconds nothing of a stopping web server is left. Raises ImproperlyConfigured."""
    seconds, delay = environment.count("STOP_SECONDS", default=20, least=1), environment.count("STOP_DELAY")
    if delay >= seconds:
        raise ImproperlyConfigured(f"STOP_DELAY is {delay}: set it below STOP_SECONDS, which is {seconds}.")
    return seconds


if __name__ == "__main__":
    main()
