"""The project's environment variables. An invalid value is refused with the name of its variable.

The bootstrap uses this module before anything is installed, so Django is imported only inside functions.
"""

import os
from typing import Any

DEVELOPMENT = "project.settings.development"
PRODUCTION = "project.settings.production"
ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"
LOOPBACK = "127.0.0.1"


def flag(name: str, *, default: bool = False) -> bool:
    """A yes or no from the environment; the default if the variable is not set, or empty."""
    from django.core.exceptions import ImproperlyConfigured

    word = os.environ.get(name, "").strip().lower()
    if word not in {"", "0", "false", "no", "off", "1", "true", "yes", "on"}:
        raise ImproperlyConfigured(f"{name} is {word!r}: set it to 1 or 0.")
    return word in {"1", "true", "yes", "on"} if word else default


def count(name: str, *, default: int = 0, least: int = 0) -> int:
    """A number from the environment; the default if the variable is not set, or empty."""
    from django.core.exceptions import ImproperlyConfigured

    word = os.environ.get(name, "").strip() or str(default)
    if not word.isascii() or not word.isdecimal() or int(word) < least:
        raise ImproperlyConfigured(f"{name} is {word!r}: set it to a whole number, {least} or more.")
    return int(word)


def choice(name: str, among: list[str], *, default: str) -> str:
    """One of a few words from the environment; the default if the variable is not set, or empty."""
    from django.core.exceptions import ImproperlyConfigured

    word = os.environ.get(name, "").strip().lower() or default
    if word not in among:
        raise ImproperlyConfigured(f"{name} is {word!r}: set it to {' or '.join(among)}.")
    return word


def words(name: str) -> list[str]:
    """The words of an environment variable, separated by commas; an empty list if it is not set."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def database(url: str) -> dict[str, Any]:
    """The Django settings for a database URL. SQLite is set up for many threads: writers wait, readers do not."""
    import dj_database_url
    from django.core.exceptions import ImproperlyConfigured

    try:
        parsed = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    except ValueError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is not a database address: {error}") from error
    if parsed["ENGINE"] == "django.db.backends.sqlite3":
        parsed["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    return parsed


def required(name: str, remedy: str) -> str:
    """A variable without which nothing starts."""
    from django.core.exceptions import ImproperlyConfigured

    word = os.environ.get(name, "").strip()
    if not word:
        raise ImproperlyConfigured(f"{name} is not set: {remedy}.")
    return word


def port() -> str:
    """The port of `make run`, unchecked: the bootstrap refuses an invalid one."""
    return os.environ.get("PORT") or "8000"


def bind() -> str:
    """The address of this machine at which `make run` serves: by default for this machine alone."""
    return os.environ.get("BIND", "").strip() or LOOPBACK


def in_production() -> bool:
    """Whether `DJANGO_SETTINGS_MODULE` names the settings for production."""
    return os.environ.get("DJANGO_SETTINGS_MODULE") == PRODUCTION


def has_own_database() -> bool:
    """Whether a run keeps its accounts in the SQLite file of its folder: not if DATABASE_URL names a database."""
    return not in_production() and not os.environ.get("DATABASE_URL")


def needs_own_engine() -> bool:
    """Whether a run starts an engine: not in production, and not if the environment names an engine."""
    return not in_production() and not os.environ.get(ENDPOINT)
