"""The check of one scope: which values are missing or withdrawn, and which rows do not belong there."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from ...dynamodb import marshal, unmarshal
from ...exceptions import OperationNotSupported, ScopeNotFound
from ...rows.layout import signed_void
from ...rows.reading import Row, pages
from ...strategies.base import Strategy
from ...types import Scope
from .markers import OwnKeys, check_markers
from .report import AuditReport, Changed, Gap, Stray, Void, signed
from .values import Values

ROWS_A_PAGE = 1000

Progress = Callable[[int, int], None]
"""Called with the number of rows read so far, and the number of values to check."""

Found = Callable[[Gap | Void | Changed], None]
"""Called with every gap, every void and every changed item, in their order."""


def audit(
    strategy: Strategy,
    scope: Scope,
    *,
    progress: Progress = lambda done, wanted: None,
    found: Found = lambda finding: None,
) -> AuditReport:
    """Read one scope from end to end and report on it.

    Cost: the consistent read units of its items, of its markers, and again of the items that have markers; if there is
    a gap, those of the sequence's history, too. While a switch is under way, items above the counter count as well.
    Raises OperationNotSupported for items that are not in collections, ScopeNotFound for an empty scope if the option
    `scope_must_exist` is set, SequenceUnavailable and StorageRefused.
    """
    check = Check(strategy, scope, found)
    done = 0
    for count in chain(check.items(), check_markers(strategy, scope, check.own_keys, check.report)):
        done += count
        progress(done, check.wanted)
    if done == 0 and strategy.option.get("scope_must_exist"):
        raise ScopeNotFound.of(strategy.alias, scope, "nothing is stored for it")
    return check.finished()


def require_collections(strategy: Strategy) -> None:
    """Raise OperationNotSupported for a sequence whose items are not in collections."""
    if not strategy.layout.in_collections:
        raise OperationNotSupported(
            f"The items of {strategy.alias!r} are not in collections (its option 'value_in' is "
            f"{strategy.layout.value_in!r}): the audit cannot list them."
        )


class Check(Values):
    """The state of one audit. It takes the rows in their order.

    `stored` is called with each value that an item carries and that is not void, and with the text that is stored with
    it or "", in the order of `found`.
    Raises OperationNotSupported for items that are not in collections, and InvalidScope.
    """

    found: Found

    def __init__(
        self,
        strategy: Strategy,
        scope: Scope,
        found: Found,
        stored: Callable[[int, str], None] = lambda value, text: None,
    ) -> None:
        require_collections(strategy)
        super().__init__(strategy, scope, found)
        self.stored = stored
        self._text_name, self._digest_name = strategy.layout.text_name or "", strategy.layout.digest_name
        self._without_digest = 0
        self.own_keys = OwnKeys(strategy, unmarshal(self.counter.row or {}) if self.counter else {})

    def items(self) -> Iterator[int]:
        """Read and check the items page by page, and tell how many rows each page has."""
        partition = self.strategy.layout.partition(self.scope)
        named = ("void", *filter(None, [self._text_name]))
        for page in pages(self.strategy.schema, partition, ROWS_A_PAGE, *named, whole=bool(self._digest_name)):
            self.rows(page)
            yield len(page)
        self._end()

    def rows(self, page: Sequence[Row]) -> None:
        numbers = [self.schema.number_or_none(row) for row in page]
        self._raise_bound(numbers)
        for row, number in zip(page, numbers, strict=True):
            if number == 0 < self.numbers.start:
                continue  # the row of the scope itself, for example a project
            if self._is_foreign(number):
                continue  # another Region's, which is audited there
            problem = self._problem(number)
            if number is None or problem:
                self.report.strays.add(Stray(sort_key=str(row[self.schema.sort_name]), problem=problem))
            else:
                self._item(number, row)

    def _item(self, value: int, row: Row) -> None:
        self._carries(value)
        text = str(row.get(self._text_name, ""))
        if about := signed_void(row):
            void = Void(value=value, text=text, **signed(about))
            self.report.voids.add(void)
            self.found(void)
            self.report.unsigned_voids += not (void.by and void.at)
        else:
            self.stored(value, text)
        if self._digest_name:
            self._compare(value, text, row, row.get(self._digest_name))

    def _compare(self, value: int, text: str, row: Row, digest: object) -> None:
        """Compare a row with the digest that was stored with it."""
        if digest is None:
            self._without_digest += not signed_void(row)
        elif digest != self.strategy.layout.digest(marshal(row)):
            changed = Changed(value=value, text=text)
            self.report.changed.add(changed)
            self.found(changed)

    def _judged(self, gap: Gap) -> list[Gap]:
        self.own_keys.missing(gap.first, gap.last)
        return [gap]

    def finished(self) -> AuditReport:
        self.report.unjudged_gaps = self.own_keys.unjudged_gaps
        self.report.notes = tuple(self._notes())
        return self.report

    def _notes(self) -> Iterator[str]:
        name = type(self.strategy).__name__
        if self.counter is None:
            yield f"{name} keeps no counter: rows missing above the last value are found only by their markers."
        if self.numbers.others:
            yield f"Of the values of {self.strategy.config.stripe} alone: each Region audits its own."
        if self.counter_follows:
            yield "While a switch is under way items above the counter count, too: it follows them."
        if not self.strategy.gapless and self.report.missing:
            yield f"{name} takes a value before it stores the item: values may stay unused."
        if self._without_digest:
            yield f"{self._without_digest} items have no digest: they are older than DIGEST, or somebody removed it."
        yield from self.own_keys.notes()
