"""Makes requests from items, and divides many requests into parts that fit into one transaction."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..actions import Action, check_actions
from ..commit.requests import MOST_BYTES, Pending, PutRequest
from ..dynamodb import filled, has_blanks, item_size, marshal
from ..exceptions import InvalidItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What a sequence asks of its requests.

    `own_key` gives the key that an item brings, `own_row` says why an action must leave its row alone (see `own_rows`),
    `digest` gives what a repeat must have alike, and `sample` writes a text by its template. They raise InvalidItem.
    """

    own_key: Callable[[Mapping[str, Any]], dict[str, Any] | None]
    own_row: Callable[[Mapping[str, Any]], str]
    digest: Callable[[Mapping[str, Any]], str]
    sample: Callable[[str], str]


def put_request(
    item: Mapping[str, Any],
    token: str | None,
    checks: Checks,
    *,
    more: Sequence[Mapping[str, Any]] = (),
    also: Sequence[Action] = (),
    day: datetime.date | None = None,
) -> PutRequest:
    """The request for an item, with or without an idempotency token of the caller. Raises InvalidItem.

    `more` has the items that follow it.
    """
    wire = _wire(item)
    key, size = checks.own_key(wire), item_size(wire)
    if also != ():
        size += check_actions(also, checks.own_row, checks.sample)
    request = PutRequest(item=wire, size=size, own_key=key, also=tuple(also), day=day)
    if more:
        request.more = tuple((wire, checks.own_key(wire)) for wire in map(_wire, more))
        request.count += len(request.more)
        request.size += sum(item_size(wire) for wire, _ in request.more)
    wires = [one for one, _ in request.items]
    if any(map(has_blanks, wires)):
        request.has_blanks = True
        for one in wires:
            filled(one, 0, checks.sample)  # a template that does not fit the sequence is refused at once
    if token is not None:
        request.token = token
        request.digest = checks.digest(wire) if not more else _digest_of_all(request, checks.digest)
    return request


def _wire(item: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise InvalidItem(f"The item is {item!r}; it must map attribute names to values.")
    return marshal(item)


def _digest_of_all(request: PutRequest, digest: Callable[[Mapping[str, Any]], str]) -> str:
    return digest({"#items": {"L": [{"S": digest(wire)} for wire, _ in request.items]}})


def reservation(
    count: int, token: str, period: str, *, day: datetime.date | None, digest: Callable[[Mapping[str, Any]], str]
) -> PutRequest:
    """The request for `count` values that a repeat with the same token gets again. Nothing but a marker is stored.

    Bare values do not show their period, so a repeat in another period is another request.
    """
    wanted = digest({"#count": {"N": str(count)}, **({"#period": {"S": period}} if period else {})})
    return PutRequest(item=None, token=token, count=count, digest=wanted, day=day)


def own_places(request: PutRequest) -> list[int]:
    """Which of its items have keys of their own, so that no row is under their values; the first is 0."""
    return [place for place, (_, own_key) in enumerate(request.items) if own_key]


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
