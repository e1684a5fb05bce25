"""A PostgreSQL for one comparison. It keeps its data in files, and is as durable as its default settings make it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from project.proof.peers.environment import BenchError


@contextmanager
def postgresql() -> Iterator[str]:
    """PostgreSQL with its default settings in a temporary folder. Yields the folder, which has its socket."""
    programs = find_postgresql()
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        if user:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        run_quietly([*user, f"{programs}/initdb", "-D", data, "-A", "trust", "-U", "postgres"], folder)
        control = [*user, f"{programs}/pg_ctl", "-D", data, "-w"]
        run_quietly([*control, "-l", f"{folder}/log", "-o", f"-k {folder} -h ''", "start"], folder)
        try:
            yield folder
        finally:
            run_quietly([*control, "-m", "immediate", "stop"], folder)


def run_quietly(command: Sequence[str], folder: str) -> None:
    """Run a program of PostgreSQL without its output. Raises BenchError if it fails."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise BenchError("PostgreSQL did not start or stop, see above.")


def find_postgresql() -> Path:
    """The folder of PostgreSQL's programs."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders or not (folders[-1] / "initdb").exists():
        raise BenchError("PostgreSQL's server is missing: install it, for example `apt-get install postgresql`.")
    return folders[-1]


def version() -> str:
    """The name and version of PostgreSQL, for example `postgres (PostgreSQL) 15.18`."""
    return subprocess.check_output([find_postgresql() / "postgres", "--version"], text=True).strip()
