"""A request as one text, with its signature.

Four of the five keyed hashes of a signature make the same key all day, which is kept; botocore makes them for each
request, and carries each header through the parser for e-mails several times.

The algorithm: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hmac
import time
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SIGV4_TIMESTAMP
from botocore.handlers import add_recursion_detection_header

_ALGORITHM, _END = "AWS4-HMAC-SHA256", "aws4_request"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Template:
    """What all requests of an operation to one address have in common."""

    host: str
    target: str
    content_type: str
    user_agent: str

    def request(self, auth: Any, body: bytes) -> bytes:
        """The request with this body, signed in the name of botocore's `auth` by AWS Signature Version 4."""
        stamp = time.strftime(SIGV4_TIMESTAMP, time.gmtime())
        # These are signed, in the order of the alphabet.
        headers = {"content-type": self.content_type, "host": self.host, "x-amz-date": stamp}
        if auth.credentials.token:
            headers["x-amz-security-token"] = auth.credentials.token
        headers["x-amz-target"] = self.target
        authorization = _authorization(auth, stamp, headers, body)
        add_recursion_detection_header({"headers": headers})
        headers |= {
            "user-agent": self.user_agent,
            "accept-encoding": "identity",
            "authorization": authorization,
            "content-length": str(len(body)),
        }
        lines = "\r\n".join(map(": ".join, headers.items()))
        return f"POST / HTTP/1.1\r\n{lines}\r\n\r\n".encode("ascii") + body


def _authorization(auth: Any, stamp: str, headers: dict[str, str], body: bytes) -> str:
    names = ";".join(headers)
    lines = "\n".join(map(":".join, headers.items()))
    canonical = f"POST\n/\n\n{lines}\n\n{names}\n{sha256(body).hexdigest()}"
    scope = (stamp[:8], auth._region_name, auth._service_name, _END)
    signed = f"{_ALGORITHM}\n{stamp}\n{'/'.join(scope)}\n{sha256(canonical.encode()).hexdigest()}"
    signature = hmac.digest(_key(auth.credentials.secret_key, scope), signed.encode(), "sha256").hex()
    credential = "/".join((auth.credentials.access_key, *scope))
    return f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"


@lru_cache(16)
def _key(secret: str, scope: tuple[str, ...]) -> bytes:
    """The key of a day, a Region and a service."""
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def host_of(url: str) -> str:
    """The header Host, without the port that the scheme implies, as botocore signs it.

    It is empty for an address with a path or a query.
    """
    parts = urlsplit(url)
    if parts.path not in ("", "/") or parts.query or not parts.hostname:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return host if parts.port in (None, _PORTS[parts.scheme]) else f"{host}:{parts.port}"


@lru_cache(16)
def is_plain(text: str) -> bool:
    """Whether a header may hold the text as it is, and its signature knows it in no other form."""
    return text.isascii() and text.isprintable() and " " not in text
