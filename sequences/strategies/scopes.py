"""The scopes of a sequence as people look at them: lists, one scope, and how fast it counts. Nothing takes a number."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.module_loading import import_string

from ..exceptions import InvalidSequence, OperationNotSupported
from ..rows import operator_errors
from ..rows.assignments import Assigner
from ..rows.course import Course, course_of_counter
from ..rows.history import ScopeList
from ..rows.stored_counter import StoredCounter
from ..types import Counter, Dated, Scope, begins, scope_text

KEPT = "kept"
"""The option "scopes" of a sequence that keeps a list of its scopes."""

SCOPES_A_PAGE = 100

ListScopes = Callable[..., tuple[Sequence[Any], str | None]]
"""What the option "scopes" names: (cursor, limit) -> (scopes, next cursor)."""


def _listing(alias: str, option: str | None, kept: ScopeList) -> ListScopes | None:
    """What lists the scopes of a sequence: its own list, or the function that the option "scopes" names."""
    if option in (None, KEPT):
        return kept.page if kept.keep else None
    try:
        found: ListScopes = import_string(option)
    except ImportError as error:
        where = f"SEQUENCES[{alias!r}]['OPTIONS']['scopes']"
        raise InvalidSequence(f"{where}: cannot import {option!r}: {error}") from error
    return found


class Scopes:
    """The scopes of a sequence without counters: its list has them, or a function of the application."""

    def __init__(self, assigner: Assigner) -> None:
        self.assigner, self.alias = assigner, assigner.alias
        self.naming, self.numbers, self.layout = assigner.naming, assigner.numbers, assigner.layout
        self._list_scopes = _listing(self.alias, assigner.option["scopes"], assigner.scope_list)

    def page(
        self, cursor: str | None, limit: int, *, prefix: str = "", period: str = ""
    ) -> tuple[list[Counter], str | None]:
        """One page of this sequence's scopes, in order, and the cursor of the next page. Never scans a table.

        With `prefix` only scopes whose names begin with it, and with `period` only those of a period, such as "2026". A
        sequence with a PERIOD needs a period for a prefix. A cursor belongs to the list with the same two.

        One query has the scopes; where they have no counters in a table of their own, each costs one read more. A
        function that the option "scopes" names is asked for a prefix and a period by its arguments of these names.
        Raises OperationNotSupported if nothing lists them, or if the function has no such argument; InvalidPeriod.
        """
        self._check(prefix, period)
        if self._list_scopes is None:
            raise OperationNotSupported(
                f"{self.alias!r} keeps no list of its scopes: name one scope. It keeps one if "
                f"SEQUENCES[{self.alias!r}]['OPTIONS']['scopes'] is {KEPT!r} and its history is in another table than "
                "its items."
            )
        asked = {name: text for name, text in (("prefix", prefix), ("period", period)) if text}
        for name in asked:
            if not self.searches(name):
                raise OperationNotSupported(
                    f"The scopes of {self.alias!r} cannot be searched by {name}: give the function in "
                    f"SEQUENCES[{self.alias!r}]['OPTIONS']['scopes'] an argument {name!r}."
                )
        scopes, following = self._list_scopes(cursor, limit, **asked)
        return [self.one(scope) for scope in scopes], following

    def every(self, period: str = "", *, prefix: str = "") -> Iterator[Scope]:
        """The scopes of `counters`."""
        return (counter.counted_in for counter in self.counters(period, prefix=prefix))

    def counters(self, period: str = "", *, prefix: str = "") -> Iterator[Counter]:
        """Every scope, or those of a period, or with a prefix, page by page. All are read where nothing searches.

        Raises OperationNotSupported if nothing lists them, and InvalidPeriod.
        """
        if period:
            self.check_period(period)
        named = {"period": period, "prefix": "" if self.layout.in_periods and not period else prefix}
        cursor, searched = None, {name: text for name, text in named.items() if text and self.searches(name)}
        while True:
            page, cursor = self.page(cursor, SCOPES_A_PAGE, **searched)
            yield from (one for one in page if period in ("", one.period) and begins(one.scope, prefix))
            if cursor is None:
                return

    def check_period(self, period: str) -> None:
        """Raise InvalidPeriod for what names no period of this sequence."""
        self.naming.period.check(period)

    def _check(self, prefix: str, period: str) -> None:
        if period:
            self.check_period(period)
        elif prefix and self.layout.in_periods:
            raise OperationNotSupported(f"The scopes of {self.alias!r} are searched in one period: name it.")

    def searches(self, name: str) -> bool:
        """Whether `page` takes the argument "prefix", or "period"."""
        if name == "period" and not self.layout.in_periods:
            return False
        return self._list_scopes is not None and name in inspect.signature(self._list_scopes).parameters

    def one(self, listed: str | tuple[str | None, str] | None) -> Counter:
        """One scope, or a scope with its period, as `page` lists it. Costs one read."""
        scope, period = listed if isinstance(listed, tuple) else (listed, "")
        last_value, frozen = self.look(Dated.of(scope, period))
        return Counter(
            sequence=self.alias,
            scope=scope,
            period=period,
            last_value=last_value,
            frozen=operator_errors.signature(frozen) if frozen else None,
            percent_used=self.numbers.percent_used(last_value),
        )

    def look(self, scope: Scope) -> tuple[int | None, Mapping[str, Any] | None]:
        """The last value of a scope, and by whom it is frozen if the read says that. Costs one read."""
        return self.assigner.last_value(scope), None

    def free_value(self, scope: Scope) -> int:
        """The value after the last one of a scope. Costs one read. Raises SequenceFrozen if the read says that."""
        last_value, frozen = self.look(scope)
        if frozen:
            raise operator_errors.frozen(self.alias, scope, frozen)
        return self.numbers.start if last_value is None else self.numbers.following(last_value)

    def course(self, counter: Counter, now: float, moments: Sequence[float]) -> Course | None:
        """How far a counter of a list had counted around these moments; None if that is not known. See `rates_of`."""
        return None


class CounterScopes(Scopes):
    """The scopes of a sequence with counters: their rows say everything, and are a list where they have a table."""

    def __init__(self, assigner: Assigner, counter: StoredCounter) -> None:
        super().__init__(assigner)
        self._counter = counter

    def page(
        self, cursor: str | None, limit: int, *, prefix: str = "", period: str = ""
    ) -> tuple[list[Counter], str | None]:
        if self._counter.rows.beside_items:
            return super().page(cursor, limit, prefix=prefix, period=period)
        self._check(prefix, period)
        return self._counter.rows.page(cursor, limit, begin=scope_text(Dated.of(prefix, period)))

    def searches(self, name: str) -> bool:
        if self._counter.rows.beside_items:
            return super().searches(name)
        return name != "period" or self.layout.in_periods

    def one(self, listed: str | tuple[str | None, str] | None) -> Counter:
        scope, period = listed if isinstance(listed, tuple) else (listed, "")
        return self._counter.shown(Dated.of(scope, period), self.assigner.deadline().read)

    def course(self, counter: Counter, now: float, moments: Sequence[float]) -> Course | None:
        return course_of_counter(counter, self.numbers, now)
