"""Answers requests for items: with the allocation of what a write stored, or with the first answer to their token.

Markers, stored beside the items, remember which value each idempotency token got.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .. import dynamodb
from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline, read
from ..dynamodb import expressions
from ..dynamodb.expressions import MARKER_EXPIRY, KeySchema
from ..exceptions import IdempotencyMismatch, InvalidSequence
from ..formats import Format, Inserts
from ..types import Allocation, Dated, Scope, parted, scope_text
from .assignments import Assigner
from .put_requests import own_places


class Markers:
    """The markers of one sequence. Each expires `seconds` after it is written. `template` is its FORMAT."""

    def __init__(self, assigner: Assigner, schema: KeySchema) -> None:
        self.alias, self.schema, self.wall = assigner.alias, schema, assigner.wall
        self.seconds: int = assigner.option["marker_seconds"]
        self.ignored: Collection[str] = assigner.option["ignore_in_repeat"]
        self.template = assigner.config.format or "{value}"

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
            MARKER_EXPIRY: now + self.seconds,
            **({"count": request.count} if request.item is None else {"items": request.count}),
            **({"own_keys": own_keys} if (own_keys := own_places(request)) else {}),
            **({"period": parted(scope)[1], "day": request.day.isoformat()} if request.day else {}),
            **({"format": self.template} if request.item is not None else {}),
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
        return dynamodb.fingerprint({name: value for name, value in item.items() if name not in self.ignored})


class Answers:
    """The answers of one sequence."""

    def __init__(self, assigner: Assigner, markers: Markers) -> None:
        self._assigner = assigner
        self._markers = markers
        self._format = assigner.naming.format
        self._inserts = Inserts(self._format)
        self.sample = self._inserts.sample
        """Another text of any value. Raises InvalidItem for a template that does not fit the sequence."""

    def value(self, first: int, place: int) -> int:
        """The value of an item, from the value of the first item of its request."""
        return first + self._assigner.numbers.step * place

    def writing(self, value: int, scope: Scope, day: datetime.date | None) -> Callable[[str], str]:
        """What writes the other texts of a value, each by its template (see `actions.value_text`)."""
        form, (plain, period) = self._assigner.naming.form_of(value), parted(scope)
        inserts = self._inserts if form is self._format else Inserts(form)  # an earlier line's
        return lambda template: inserts.write(template, value, plain, day, period)

    def allocate(
        self,
        scope: Scope,
        pending: Pending[PutRequest],
        value: int,
        day: datetime.date | None,
        *,
        replayed_by: Format | None = None,
    ) -> None:
        """Answer a request with the allocation of each of its items. They share what it cost.

        A repeat has the texts that its items were given, by the FORMAT of then.
        """
        form, (plain, period) = replayed_by or self._format, parted(scope)
        count = pending.request.count if pending.request.more else 1
        first = Allocation(
            sequence=self._assigner.alias,
            scope=plain,
            value=value,
            attempts=pending.attempts,
            replayed=replayed_by is not None,
            write_units=pending.write_units / count,
            read_units=pending.read_units / count,
            period=period,
            text=form.text(value, plain, day, period),
        )
        if count > 1:
            following = [self.value(value, place) for place in range(1, count)]
            pending.rest = tuple(
                replace(first, value=one, text=form.text(one, plain, day, period)) for one in following
            )
        pending.settle(first)

    def repeat_if_marked(self, scope: Scope, pending: Pending[PutRequest], deadline: Deadline) -> None:
        """Answer a request whose token already has a marker, before it takes a value. One consistent read."""
        if pending.request.token and (marker := self._markers.find(scope, pending, deadline)):
            self.repeat(scope, pending, marker)

    def repeat(self, scope: Scope, pending: Pending[PutRequest], marker: Mapping[str, Any]) -> None:
        """Answer a repeat with the first answer, or refuse it if its item differs."""
        if marker.get("digest") != pending.request.digest:
            pending.settle(
                IdempotencyMismatch(
                    f"The idempotency token {pending.request.token!r} was used in {self._assigner.alias!r} for another "
                    "item. Use a new token for a new request, and repeat a request unchanged."
                )
            )
        if "value" not in marker:
            return
        value, scope = int(marker["value"]), Dated.of(parted(scope)[0], marker.get("period", ""))
        day = datetime.date.fromisoformat(marker["day"]) if "day" in marker else pending.request.day
        form = format_of(marker, self._format)  # an earlier answer stays
        self.allocate(scope, pending, value, day, replayed_by=form)
        self._assigner.handed_out(scope, value)


def format_of(marker: Mapping[str, Any], present: Format) -> Format:
    """The FORMAT of a marker, under a PERIOD that fits it; the present one where it cannot be used any more."""
    template, period = marker.get("format", present.template), present.period.named(marker.get("period", ""))
    with suppress(InvalidSequence):
        return replace(present, template=template, period=period)
    return present
