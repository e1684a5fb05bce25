"""The setting SEQUENCES_CLIENTS: which clients there are, where they lead, and in whose name they sign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from django.conf import settings

from ..exceptions import InvalidSequence
from . import foreign

DEFAULT_CLIENT = "default"
CONNECT_SECONDS = 1.0
READ_SECONDS = 3.0
CONNECTIONS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """One entry of SEQUENCES_CLIENTS, its keys in lower case. What is None comes from the environment, as in boto3."""

    region: str | None = None
    endpoint: str | None = None
    profile: str | None = None
    role: str | None = None
    """The ARN of a role to assume in the name of the other credentials; they are refreshed before they expire."""
    external_id: str | None = None
    connect_timeout: float = CONNECT_SECONDS
    read_timeout: float = READ_SECONDS
    """The most seconds that one request may take, from its first byte to the last of its answer."""
    refuse_after: float = math.inf
    """After so many seconds without any answer, new calls are refused at once until there is one (see `silence`)."""
    pool_size: int = CONNECTIONS
    """How many connections are kept; threads that find none free open more."""
    lean: bool = True
    """Leave out botocore's way along the model of the service (see docs/settings.md)."""

    def session(self) -> foreign.boto3.session.Session:
        """A session with these credentials and this Region; a role is assumed at the first request.

        Raises NoCredentialsError if there is nobody in whose name to assume the role.
        """
        session = foreign.boto3.session.Session(profile_name=self.profile, region_name=self.region)
        if self.role is None:
            return session
        source = session.get_credentials()
        if source is None:
            raise foreign.botocore.exceptions.NoCredentialsError
        inner: Any = foreign.botocore.session.Session(profile=self.profile)
        # Many calls may wait for it, and each repeats what fails.
        config = foreign.botocore.config.Config(
            connect_timeout=self.connect_timeout, read_timeout=self.read_timeout, retries={"total_max_attempts": 1}
        )
        extra = {"ExternalId": self.external_id} if self.external_id else {}
        fetcher = foreign.botocore.credentials.AssumeRoleCredentialFetcher(
            client_creator=partial(session._session.create_client, config=config),
            source_credentials=source,
            role_arn=self.role,
            extra_args={"RoleSessionName": "sequences", **extra},
        )
        inner._credentials = foreign.botocore.credentials.DeferredRefreshableCredentials(
            refresh_using=fetcher.fetch_credentials, method="assume-role"
        )
        return foreign.boto3.session.Session(botocore_session=inner, region_name=session.region_name)


def clients() -> Mapping[str, Any]:
    """The setting SEQUENCES_CLIENTS; without it there is the client of the environment. Raises InvalidSequence."""
    entries = getattr(settings, "SEQUENCES_CLIENTS", {})
    if not isinstance(entries, Mapping):
        raise InvalidSequence("The setting SEQUENCES_CLIENTS must be a dict from alias to configuration.")
    return {DEFAULT_CLIENT: {}, **entries}


def client_options(alias: str) -> ClientOptions:
    """One checked entry. Raises InvalidSequence, which names the wrong key and what it must be."""
    entries = clients()
    if alias not in entries:
        known = ", ".join(map(repr, entries))
        raise InvalidSequence(f"There is no client {alias!r} in the setting SEQUENCES_CLIENTS; there is {known}.")
    where, entry = f"SEQUENCES_CLIENTS[{alias!r}]", entries[alias]
    if not isinstance(entry, Mapping):
        raise InvalidSequence(f"{where} must be a dict.")
    known_keys = {field.name.upper(): field for field in fields(ClientOptions)}
    for key, value in entry.items():
        if key not in known_keys:
            raise InvalidSequence(f"{where}: unknown key {key!r}; known are {', '.join(sorted(known_keys))}.")
        if not _fits(value, known_keys[key].default):
            raise InvalidSequence(f"{where}[{key!r}] is {value!r}; it must be {_wanted(known_keys[key].default)}.")
    if entry.get("EXTERNAL_ID") and not entry.get("ROLE"):
        raise InvalidSequence(f"{where}['EXTERNAL_ID'] needs a ROLE, whose owner asks for it.")
    return ClientOptions(**{key.lower(): value for key, value in entry.items()})


def _fits(value: Any, default: Any) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if default is None:
        return value is None or (isinstance(value, str) and value != "")
    return isinstance(value, int if isinstance(default, int) else int | float) and value > 0


def _wanted(default: Any) -> str:
    kinds = {bool: "True or False", int: "a whole number above 0", float: "a number of seconds above 0"}
    return kinds.get(type(default), "a text, or None for what the environment says")
