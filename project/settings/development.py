"""The settings for development: they work on a loopback address with no environment at all.

What ``make run`` has going is found by itself: the address of its engine lies under ``.local/``.
"""

import os
import secrets
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from project import environment
from project.environment import ENDPOINT
from project.paths import ENGINE_ENDPOINT, LOCAL
from project.settings.base import *

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def stored_secret_key(path: Path) -> str:
    """The key in this file, which only its owner can read; made at the first call, once for all processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="ascii") as draft:
        draft.write(secrets.token_urlsafe(50))
        draft.flush()
        try:
            os.link(draft.name, path)  # refused where another process was quicker: then its key counts
        except FileExistsError:
            pass
    return path.read_text(encoding="ascii")


def find_running_engine(path: Path) -> None:
    """Send boto3 to the engine whose address is in this file, unless the environment names one, or an empty one."""
    if ENDPOINT not in os.environ and path.exists():
        os.environ[ENDPOINT] = path.read_text(encoding="ascii").strip()
    if os.environ.get(ENDPOINT) == "":
        del os.environ[ENDPOINT]


def use_placeholder_credentials() -> None:
    """boto3 demands credentials and a Region; an engine on this machine takes any."""
    if urlsplit(os.environ.get(ENDPOINT, "")).hostname not in LOOPBACK:
        return
    if "AWS_ACCESS_KEY_ID" not in os.environ and "AWS_PROFILE" not in os.environ:
        os.environ["AWS_ACCESS_KEY_ID"] = "local"
        os.environ["AWS_SECRET_ACCESS_KEY"] = "local"  # noqa: S105 - a placeholder
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")


find_running_engine(ENGINE_ENDPOINT)
use_placeholder_credentials()

SECRET_KEY = os.environ.get("SECRET_KEY") or stored_secret_key(LOCAL / "secret_key")
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS") or ["localhost", "127.0.0.1", "[::1]"]
# Static files come straight from the apps: nothing is collected.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
