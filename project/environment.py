"""The project's environment variables, each with its rule. `refuse_faults` says all that is wrong with them at once.

The bootstrap uses this module before anything is installed, so Django is imported only inside functions.
"""

import importlib.util
import ipaddress
import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

DEVELOPMENT = "project.settings.development"
PRODUCTION = "project.settings.production"
PROOF = "project.proof."
ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"
LOOPBACK = "127.0.0.1"
DATABASE_EXAMPLE = "postgres://user:password@host/tickets"
RANDOM_KEY = "set it to 50 or more random characters, and keep them"
MOST = 10**9 - 1


class WrongEnvironment(Exception):
    """Variables are missing or wrong. The message has one line for each: its name, what is wrong, and the remedy."""


def flag(name: str, *, default: bool = False) -> bool:
    """A yes or no from the environment; the default if the variable is not set, or empty."""
    word = _word(name).lower()
    if word not in {"", "0", "false", "no", "off", "1", "true", "yes", "on"}:
        raise WrongEnvironment(f"{name} is {word!r}: set it to 1 or 0.")
    return word in {"1", "true", "yes", "on"} if word else default


def count(name: str, *, default: int = 0, least: int = 0, most: int = MOST) -> int:
    """A number from the environment; the default if the variable is not set, or empty."""
    word = _word(name) or str(default)
    digits = word.isascii() and word.isdecimal() and len(word) <= len(str(MOST))
    if not digits or not least <= int(word) <= most:
        numbers = f", {least} or more" if most == MOST else f" from {least} to {most}"
        raise WrongEnvironment(f"{name} is {word!r}: set it to a whole number{numbers}.")
    return int(word)


def choice(name: str, among: list[str], *, default: str) -> str:
    """One of a few words from the environment; the default if the variable is not set, or empty."""
    word = _word(name).lower() or default
    if word not in among:
        raise WrongEnvironment(f"{name} is {word!r}: set it to {' or '.join(among)}.")
    return word


def words(name: str) -> list[str]:
    """The words of an environment variable, separated by commas; an empty list if it is not set."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def required(name: str, remedy: str) -> str:
    """A variable without which nothing starts."""
    if not words(name):
        raise WrongEnvironment(f"{name} is not set: {remedy}.")
    return _word(name)


def secret_key() -> str:
    """SECRET_KEY, if Django's own check of a deployment takes it. No message has it, or a part of it."""
    from django.core.checks.security import base as django

    key = required("SECRET_KEY", RANDOM_KEY)
    varied = len(set(key)) >= django.SECRET_KEY_MIN_UNIQUE_CHARACTERS
    is_long = len(key) >= django.SECRET_KEY_MIN_LENGTH
    if not varied or not is_long or key.startswith(django.SECRET_KEY_INSECURE_PREFIX):
        raise WrongEnvironment(f"SECRET_KEY can be guessed: {RANDOM_KEY}.")
    return key


def hosts() -> list[str]:
    """ALLOWED_HOSTS, where each is a host as Django compares it: no address, no port, no `*.`."""
    for host in words("ALLOWED_HOSTS"):
        has_port = ":" in host and not host.endswith("]")  # IPv6 stands in brackets
        if "/" in host or has_port or ("*" in host and host != "*"):
            raise WrongEnvironment(f"ALLOWED_HOSTS has {host!r}: name the host alone, as tickets.example.com.")
    return words("ALLOWED_HOSTS")


def allowed_hosts() -> list[str]:
    """The same, and at least one."""
    required("ALLOWED_HOSTS", "name the site's hosts, with commas between them")
    return hosts()


def trusted_proxy() -> str:
    """The address of the proxy that speaks HTTPS; `*` believes everybody. By default it is on this machine."""
    word = _word("FORWARDED_ALLOW_IPS") or LOOPBACK
    try:
        return word if word == "*" else plain_address(word)
    except ValueError:
        raise WrongEnvironment(
            f"FORWARDED_ALLOW_IPS is {word!r}: set it to the address of one proxy, as 10.0.0.1, or to * for any."
        ) from None


def plain_address(text: str) -> str:
    """An address as it is compared. One of IPv4 that comes by IPv6, as to BIND `::`, is of IPv4. Raises ValueError."""
    address = ipaddress.ip_address(text)
    return str(getattr(address, "ipv4_mapped", None) or address)


def trusted_origins() -> list[str]:
    """TRUSTED_ORIGINS, where each has its scheme, as Django demands."""
    if wrong := [origin for origin in words("TRUSTED_ORIGINS") if "://" not in origin]:
        raise WrongEnvironment(f"TRUSTED_ORIGINS has {wrong[0]!r}: write it as https://tickets.example.com.")
    return words("TRUSTED_ORIGINS")


def database(default: str) -> dict[str, Any]:
    """The Django settings for DATABASE_URL, or else for this URL. No message has the URL, which has a password.

    SQLite is set up for many threads: writers wait, readers do not.
    """
    import dj_database_url
    from django.core.exceptions import ImproperlyConfigured
    from django.db.utils import load_backend

    try:
        parsed: dict[str, Any] = dict(
            dj_database_url.parse(_word("DATABASE_URL") or default, conn_max_age=60, conn_health_checks=True)
        )
    except ValueError:
        raise WrongEnvironment(
            f"DATABASE_URL is not a database's address: write it as {DATABASE_EXAMPLE}, "
            "and a special character of the password as its code, such as %40 for @."
        ) from None
    if not parsed["NAME"]:
        raise WrongEnvironment(f"DATABASE_URL names no database: end it with the name, as {DATABASE_EXAMPLE}.")
    try:
        load_backend(parsed["ENGINE"])
    except ImproperlyConfigured:
        raise WrongEnvironment(
            f"DATABASE_URL names a kind of database whose driver is not installed: name another, as {DATABASE_EXAMPLE}."
        ) from None
    if parsed["ENGINE"] == "django.db.backends.sqlite3":
        parsed["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    return parsed


def endpoint() -> str:
    """The address of the engine; empty for AWS, and in development for an engine of its own."""
    word = _word(ENDPOINT)
    try:
        parts = urlsplit(word)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        is_address = False
    if word and not is_address:
        raise WrongEnvironment(f"{ENDPOINT} is {word!r}: set it to an address, as http://127.0.0.1:8001.")
    return word


def bind() -> str:
    """The address of this machine at which the web server serves: by default for this machine alone."""
    host = _word("BIND") or LOOPBACK
    try:
        socket.getaddrinfo(host, None, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise WrongEnvironment(f"BIND is {host!r}: set it to an address of this machine, as 0.0.0.0.") from None
    return host


def log_format() -> str:
    """How the lines of the log are written: as text for people, or as JSON for programs."""
    return choice("LOG_FORMAT", ["text", "json"], default="json" if in_production() else "text")


def settings_module() -> str:
    """The module of the settings, by default that for development."""
    name = os.environ.get("DJANGO_SETTINGS_MODULE", DEVELOPMENT)
    try:
        is_there = importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # also its folder is missing, or it is no name
        is_there = False
    if not is_there:
        raise WrongEnvironment(f"DJANGO_SETTINGS_MODULE is {name!r}: set it to {PRODUCTION} or {DEVELOPMENT}.")
    return name


def stop_seconds() -> int:
    """After so many seconds nothing of a stopping web server is left."""
    seconds, delay = count("STOP_SECONDS", default=20, least=1), stop_delay()
    if delay >= seconds:
        raise WrongEnvironment(f"STOP_DELAY is {delay}: set it below STOP_SECONDS, which is {seconds}.")
    return seconds


port = partial(count, "PORT", default=8000, least=1, most=65535)
debug = partial(flag, "DEBUG")
everybody_may_add_projects = partial(flag, "EVERYBODY_MAY_ADD_PROJECTS")
keep_alive = partial(count, "KEEP_ALIVE", default=75, least=1)
proxies = partial(count, "PROXIES")
sends_by = partial(choice, "SEQUENCES_CLIENT", ["lean", "boto3"], default="lean")
stop_delay = partial(count, "STOP_DELAY")
throttles = partial(flag, "THROTTLE", default=True)
web_threads = partial(count, "WEB_THREADS", default=16, least=1)
web_workers = partial(count, "WEB_WORKERS", default=2, least=1)

ALWAYS: list[Callable[[], object]] = [
    settings_module,
    partial(database, "sqlite://:memory:"),
    endpoint,
    bind,
    hosts,
    trusted_proxy,
    port,
    debug,
    everybody_may_add_projects,
    keep_alive,
    log_format,
    proxies,
    sends_by,
    stop_delay,
    stop_seconds,
    throttles,
    web_threads,
    web_workers,
]
IN_PRODUCTION: list[Callable[[], object]] = [
    secret_key,
    allowed_hosts,
    trusted_origins,
    # Accounts that are lost with a machine are no default.
    partial(required, "DATABASE_URL", f"name the database of the accounts, as {DATABASE_EXAMPLE}"),
]


def refuse_faults(*, production: bool) -> None:
    """Raise WrongEnvironment with all that is wrong, if anything is. No engine and no database is asked."""
    said = (_fault(rule) for rule in [*(IN_PRODUCTION if production else []), *ALWAYS])
    if faults := list(dict.fromkeys(filter(None, said))):
        raise WrongEnvironment("\n".join(faults))


def _fault(rule: Callable[[], object]) -> str:
    try:
        rule()
    except WrongEnvironment as error:
        return str(error)
    return ""


def _word(name: str) -> str:
    return os.environ.get(name, "").strip()


def in_production() -> bool:
    """Whether `DJANGO_SETTINGS_MODULE` names other settings than those for development and of the proofs."""
    name = os.environ.get("DJANGO_SETTINGS_MODULE", DEVELOPMENT)
    return name != DEVELOPMENT and not name.startswith(PROOF)


def has_own_database() -> bool:
    """Whether a run keeps its accounts in the SQLite file of its folder: not if DATABASE_URL names a database."""
    return not in_production() and not os.environ.get("DATABASE_URL")


def needs_own_engine() -> bool:
    """Whether a run starts an engine: not in production, and not if the environment names an engine."""
    return not in_production() and not os.environ.get(ENDPOINT)
