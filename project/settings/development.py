"""The settings for development: they work on a loopback address, without any environment variable.

They find the engine of `make run` by themselves: its address is in a file under `.local/`.
"""

import os
from pathlib import Path
from urllib.parse import urlsplit

from project import environment
from project.environment import ENDPOINT
from project.paths import ENGINE_ENDPOINT, LOCAL
from project.secret_files import stored_secret

environment.refuse_faults(production=False)

from project.settings.base import *  # noqa: E402

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def find_running_engine(path: Path) -> None:
    """Use the engine whose address is in this file, unless the environment sets an address, even an empty one."""
    if ENDPOINT not in os.environ and path.exists():
        os.environ[ENDPOINT] = path.read_text(encoding="ascii").strip()
    if os.environ.get(ENDPOINT) == "":
        del os.environ[ENDPOINT]


def use_placeholder_credentials() -> None:
    """Set credentials and a Region for an engine on this machine: boto3 needs some, and the engine accepts any."""
    if urlsplit(os.environ.get(ENDPOINT, "")).hostname not in LOOPBACK:
        return
    if "AWS_ACCESS_KEY_ID" not in os.environ and "AWS_PROFILE" not in os.environ:
        os.environ["AWS_ACCESS_KEY_ID"] = "local"
        os.environ["AWS_SECRET_ACCESS_KEY"] = "local"  # noqa: S105 - a placeholder
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")


find_running_engine(ENGINE_ENDPOINT)
use_placeholder_credentials()

SECRET_KEY = os.environ.get("SECRET_KEY") or stored_secret(LOCAL / "secret_key", 50)
ALLOWED_HOSTS = environment.hosts() or ["localhost", "127.0.0.1", "[::1]"]
# `make run` collects the static files, so that browsers get them compressed. Other programs serve them from the apps.
if not environment.flag("COLLECTED"):
    STATIC_ROOT = None
    WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
