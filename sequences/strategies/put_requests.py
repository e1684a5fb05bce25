"""Makes requests from items, and divides many requests into parts that fit into one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..commits import MOST_BYTES, Pending, PutRequest
from ..dynamodb import item_size, marshal
from ..exceptions import InvalidItem
from ..expressions import MARKER_EXPIRY
from ..retries import new_token

__all__ = ["in_transactions", "put_request"]


def put_request(
    item: Mapping[str, Any],
    token: str | None,
    *,
    key_names: Sequence[str],
    takes_own_keys: bool,
    digest: Callable[[Mapping[str, Any]], str],
) -> PutRequest:
    """The request for an item, with or without an idempotency token of the caller. Raises InvalidItem."""
    if not isinstance(item, Mapping):
        raise InvalidItem(f"The item is {item!r}; it must map attribute names to values.")
    given = [name for name in key_names if name in item]
    brings_key = len(given) == 2 and takes_own_keys
    for name in ("token", MARKER_EXPIRY, *(["value"] if brings_key else given)):
        if name in item:
            raise InvalidItem(f"The item has the attribute {name!r}, which the sequence writes itself: leave it out.")
    wire = marshal(item)
    size = item_size(wire)
    own_key = {name: wire[name] for name in key_names} if brings_key else None
    if token is None:
        return PutRequest(item=wire, token=new_token(), size=size, own_key=own_key)
    return PutRequest(
        item=wire,
        token=token,
        size=size,
        own_key=own_key,
        marked=True,
        digest=digest(wire),
        request_id=new_token(),
    )


def in_transactions(pendings: Sequence[Pending[PutRequest]], most_actions: int) -> Iterator[list[Pending[PutRequest]]]:
    """The requests in their order, in parts that fit into one transaction."""
    part: list[Pending[PutRequest]] = []
    actions = size = 0
    for pending in pendings:
        request = pending.request
        actions, size = actions + request.actions, size + request.size
        if part and (actions > most_actions or size > MOST_BYTES):
            yield part
            part, actions, size = [], request.actions, request.size
        part.append(pending)
    if part:
        yield part
