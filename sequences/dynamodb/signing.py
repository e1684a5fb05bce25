"""AWS Signature Version 4 with the key of a day kept, in place of botocore's for plain requests.

Four of the five keyed hashes of a signature make the same key all day; botocore makes them for each request, and reads
each header by the parser for e-mails several times. That takes a fifth of the time of a small request.
The algorithm: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hmac
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SIGNED_HEADERS_BLACKLIST, SIGV4_TIMESTAMP, SigV4Auth

from .connections import host_header

_UNSIGNED = frozenset(SIGNED_HEADERS_BLACKLIST)
_SPECIAL = frozenset({"authorization", "date", "host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"})
_ALGORITHM, _END = "AWS4-HMAC-SHA256", "aws4_request"


class DayKeyAuth:
    """Signs as botocore's `auth` does, with its credentials and for its Region and service."""

    def __init__(self, auth: Any) -> None:
        self._auth = auth

    def add_auth(self, request: Any) -> None:
        """Sign a request of botocore's. Raises NoCredentialsError."""
        headers = _plain_headers(request) if self._auth.credentials else None
        if headers is None:
            self._auth.add_auth(request)
            return
        stamp = request.context["timestamp"] = time.strftime(SIGV4_TIMESTAMP, time.gmtime())
        added = {"X-Amz-Date": stamp}
        if token := self._auth.credentials.token:
            added["X-Amz-Security-Token"] = token
        signed = headers | {name.lower(): value for name, value in added.items()}
        added["Authorization"] = self._authorization(stamp, signed, request.data)
        for name, value in added.items():
            request.headers[name] = value

    def _authorization(self, stamp: str, headers: Mapping[str, str], body: bytes) -> str:
        auth, names = self._auth, sorted(headers)
        lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
        canonical = f"POST\n/\n\n{lines}\n{';'.join(names)}\n{sha256(body).hexdigest()}"
        scope = (stamp[:8], auth._region_name, auth._service_name, _END)
        signed = "\n".join((_ALGORITHM, stamp, "/".join(scope), sha256(canonical.encode()).hexdigest()))
        signature = hmac.digest(_key(auth.credentials.secret_key, scope), signed.encode(), "sha256").hex()
        credential = "/".join((auth.credentials.access_key, *scope))
        return f"{_ALGORITHM} Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature}"


def with_day_key(get_auth: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of a signer's `get_auth_instance`: the same, but for botocore's own Signature Version 4."""

    def get(**given: Any) -> Any:
        auth = get_auth(**given)
        return DayKeyAuth(auth) if type(auth) is SigV4Auth else auth

    return get


def _plain_headers(request: Any) -> dict[str, str] | None:
    """The headers to sign, in lower case; None if an event's handler made the request a special one."""
    pairs = [(name.lower(), value) for name, value in request.headers.items()]
    headers, context, host = dict(pairs), request.context, _host(request.url)
    plain = (
        len(headers) == len(pairs)
        and _SPECIAL.isdisjoint(headers)
        and all(isinstance(value, str) for value in headers.values())
        and (request.method, request.params, type(request.data)) == ("POST", {}, bytes)
        and context.get("payload_signing_enabled", True)
        and "checksum" not in context
        and host
    )
    return {"host": host} | {name: value for name, value in pairs if name not in _UNSIGNED} if plain else None


@lru_cache(64)
def _host(url: str) -> str:
    """The Host of a request to this address; empty if it has another path than "/", or a query."""
    parts = urlsplit(url)
    return host_header(parts.scheme, parts.hostname or "", parts.port) if (parts.path, parts.query) == ("/", "") else ""


@lru_cache(16)
def _key(secret: str, scope: tuple[str, ...]) -> bytes:
    """The key of a day, a Region and a service."""
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return key
