"""The peers' Python and its packages, under `.local/peers`."""

from __future__ import annotations

import json
import subprocess
import sys

from project.paths import LOCAL, ROOT
from project.proof.peers.library_process import AUTOINCREMENT, DJANGO_SEQUENCES

PEERS_HOME = LOCAL / "peers"
PEERS_PYTHON = PEERS_HOME / "bin" / "python"
PEERS = (AUTOINCREMENT.replace(" ", "=="), DJANGO_SEQUENCES.replace(" ", "=="), "psycopg[binary]==3.3.9")
SHARED = {"Django", "djangorestframework", "gunicorn", "orjson"}  # of the same versions as ours


class BenchError(Exception):
    """A peer cannot run here. The message says why."""


def requirements() -> list[str]:
    """What the peers need, each with its version."""
    ours = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [*PEERS, *(line for line in ours if line.partition("==")[0] in SHARED)]


def install_peers() -> None:
    """Make the peers' environment, unless it is up to date."""
    stamp, wanted = PEERS_HOME / "installed.json", requirements()
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        return
    say("Installing the peers into .local/peers ...")
    subprocess.run([sys.executable, "-m", "venv", PEERS_HOME], check=True)
    installed = subprocess.run([PEERS_PYTHON, "-m", "pip", "install", "--quiet", *wanted], check=False)
    if installed.returncode:
        raise BenchError("The peers cannot be installed: is the package index reachable?")
    stamp.write_text(json.dumps(wanted))


def say(text: str) -> None:
    """Print a line of progress to standard error."""
    print(text, file=sys.stderr, flush=True)
