"""Repeated requests: whose token it is, and what an error must not say when something is stored already."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sequences.exceptions import GaveUp, SequenceUnavailable, StorageError
from sequences.storage import personal_token
from tickets import validators


@contextmanager
def stored_already() -> Iterator[None]:
    """Around the read of what is already stored. If it fails, the error must not say that nothing was stored."""
    try:
        yield
    except (GaveUp, StorageError) as error:
        raise SequenceUnavailable(
            f"What was stored cannot be read: {error.__cause__ or error}",
            attempts=getattr(error, "attempts", 1),
            seconds=getattr(error, "seconds", 0.0),
            outcome_unknown=True,
        ) from error


def fingerprint(asked: Any) -> str:
    """A digest of what a request asks for. A repeat must have the same."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode(errors="surrogatepass")).hexdigest()


def token_of(person: str, token: str | None, *part: object) -> str | None:
    """The token for the store: a digest of the person and their token. Other people's tokens have other digests.

    `part` says which part of the request it is for: each has a token of its own.
    """
    if token is None:
        return None
    cleaned = validators.clean({"idempotency_token": token}, validators.REQUEST)
    return personal_token(repr((person, *part)), cleaned["idempotency_token"])
