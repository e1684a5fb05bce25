"""Answers requests for items: with the allocation of what a write stored, or with the first answer to their token."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..commit.requests import Pending, PutRequest
from ..commit.retries import Deadline
from ..exceptions import IdempotencyMismatch, InvalidSequence
from ..formats import Format, Inserts
from ..types import Allocation, Dated, Scope, parted
from .assignments import Assigner
from .markers import Markers


class Answers:
    """The answers of one sequence."""

    def __init__(self, assigner: Assigner, markers: Markers, format: Format) -> None:  # noqa: A002 - the key FORMAT
        self._assigner = assigner
        self._markers = markers
        self._format, self._inserts = format, Inserts(format)

    def value(self, first: int, place: int) -> int:
        """The value of an item, from the value of the first item of its request."""
        return first + self._assigner.numbers.step * place

    def text(self, value: int, scope: Scope, day: datetime.date | None) -> str:
        """A value as FORMAT writes it."""
        return self._text(self._format, value, scope, day)

    @staticmethod
    def _text(form: Format, value: int, scope: Scope, day: datetime.date | None) -> str:
        plain, period = parted(scope)
        return form.text(value, plain, day, period)

    def writing(self, value: int, scope: Scope, day: datetime.date | None) -> Callable[[str], str]:
        """What writes the other texts of a value, each by its template (see `actions.value_text`)."""
        plain, period = parted(scope)
        return lambda template: self._inserts.write(template, value, plain, day, period)

    def sample(self, template: str) -> str:
        """Another text of any value. Raises InvalidItem for a template that does not fit the sequence."""
        return self._inserts.sample(template)

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
        form = replayed_by or self._format
        plain, period = parted(scope)
        count = pending.request.count if pending.request.more else 1
        first = Allocation(
            sequence=self._markers.alias,
            scope=plain,
            value=value,
            attempts=pending.attempts,
            replayed=replayed_by is not None,
            write_units=pending.write_units / count,
            read_units=pending.read_units / count,
            period=period,
            text=self._text(form, value, scope, day),
        )
        if count > 1:
            following = [self.value(value, place) for place in range(1, count)]
            pending.rest = tuple(replace(first, value=one, text=self._text(form, one, scope, day)) for one in following)
        pending.settle(first)

    def repeat_if_marked(self, scope: Scope, pending: Pending[PutRequest], deadline: Deadline) -> None:
        """Answer a request whose token already has a marker, before it takes a value. One consistent read."""
        if pending.request.marked and (marker := self._markers.find(scope, pending, deadline)):
            self.repeat(scope, pending, marker)

    def repeat(self, scope: Scope, pending: Pending[PutRequest], marker: Mapping[str, Any]) -> None:
        """Answer a repeat with the first answer, or refuse it if its item differs."""
        if marker.get("digest") != pending.request.digest:
            pending.settle(
                IdempotencyMismatch(
                    f"The idempotency token {pending.request.token!r} was used in {self._markers.alias!r} for another "
                    "item. Use a new token for a new request, and repeat a request unchanged."
                )
            )
        if "value" not in marker:
            return
        value, scope = int(marker["value"]), Dated.of(parted(scope)[0], marker.get("period", ""))
        day = datetime.date.fromisoformat(marker["day"]) if "day" in marker else pending.request.day
        self.allocate(scope, pending, value, day, replayed_by=self._formerly(marker))  # an earlier answer stays
        self._assigner.handed_out(scope, value)

    def _formerly(self, marker: Mapping[str, Any]) -> Format:
        """The FORMAT of a marker; the present one where that one cannot be used any more."""
        with suppress(InvalidSequence):
            return replace(self._format, template=marker.get("format", self._format.template))
        return self._format
