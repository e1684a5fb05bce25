"""Repeated requests: whose token it is, and what an error must not say when something is stored already."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from sequences.exceptions import GaveUp, SequenceUnavailable, StorageError
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


def token_of(person: str, token: str | None) -> str | None:
    """The token for the store: a digest of the person and their token. Other people's tokens have other digests."""
    if token is None:
        return None
    cleaned = validators.clean({"idempotency_token": token}, validators.REQUEST)
    return hashlib.sha256(repr((person, cleaned["idempotency_token"])).encode()).hexdigest()
