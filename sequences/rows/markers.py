"""Markers: stored beside the items, they remember which value each idempotency token got."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from .. import dynamodb
from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline, read
from ..dynamodb import expressions
from ..dynamodb.expressions import MARKER_EXPIRY, KeySchema
from ..types import Scope, parted, scope_text
from .put_requests import own_places


class Markers:
    """The markers of one sequence. Each expires `seconds` after it is written."""

    def __init__(
        self,
        alias: str,
        schema: KeySchema,
        *,
        seconds: int,
        ignored: Collection[str],
        template: str | None,
        wall: Callable[[], float],
    ) -> None:
        self.alias = alias
        self.schema = schema
        self._template = template
        self._seconds = seconds
        self._ignored = ignored
        self.wall = wall

    def partition(self, scope: Scope) -> str:
        """The partition key of a scope's markers. No scope's items can have it.

        It is without the period, so that a repeat in the next period finds the first answer.
        """
        return f"#marker#{self.alias}#{scope_text(parted(scope)[0])}"

    def key(self, scope: Scope, token: str) -> dict[str, Any]:
        """The key of a token's marker."""
        return self.schema.key(self.partition(scope), expressions.marker_number(token))

    def put(self, scope: Scope, request: PutRequest, value: int, sign: str) -> dict[str, Any]:
        """The action that stores a request's marker, on the condition that there is none, or only an expired one.

        `sign` tells the write that stores it from every other write. The marker also has the FORMAT of the texts, for
        a repeat after that has changed. It tells how many items the request has, and which of them have keys of their
        own: the audit asks.
        """
        now = int(self.wall())
        fields = {
            "token": request.token,
            "request": sign,
            "value": value,
            "digest": request.digest,
            MARKER_EXPIRY: now + self._seconds,
            **({"count": request.count} if request.item is None else {"items": request.count}),
            **({"own_keys": own_keys} if (own_keys := own_places(request)) else {}),
            **({"period": parted(scope)[1], "day": request.day.isoformat()} if request.day else {}),
            **({"format": self._template} if self._template and request.item is not None else {}),
        }
        marker = {**self.key(scope, request.token), **dynamodb.marshal(fields)}
        return expressions.put_marker(self.schema, marker, now=now)

    def find(self, scope: Scope, pending: Pending[PutRequest], deadline: Deadline) -> Mapping[str, Any] | None:
        """The marker of a request's token; None if there is none, or only an expired one. One consistent read."""
        request = expressions.read_item(self.schema.table, self.key(scope, pending.request.token))
        answer = read("get_item", request, deadline=deadline)
        pending.charge(read_units=dynamodb.used_units(answer))
        marker = dynamodb.unmarshal(answer.get("Item", {}))
        return marker if marker.get(MARKER_EXPIRY, 0) > self.wall() else None

    def digest(self, item: Mapping[str, Any]) -> str:
        """A fingerprint of the item without the attributes in `ignore_in_repeat`. A repeat must have the same."""
        return dynamodb.fingerprint({name: value for name, value in item.items() if name not in self._ignored})
