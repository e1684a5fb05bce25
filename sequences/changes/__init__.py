"""Guarded changes of a sequence: each says who makes it, when and why, and stays in a history that is kept.

    advance    the next numbers begin above a given one
    seed       the same, above the numbers that are there already
    recover    the same, above all that is stored or remembered, after a restore
    freeze     nothing is numbered, until
    thaw       it goes on
    close      nothing is numbered in a period, in any scope, until it is opened by `reopen`
    give       items are stored under numbers of another system (`put_at`, `put_all_at`)
    void       a number is withdrawn, and keeps its place
    switch     writers of two strategies number the same items, side by side, until `finish_switch`
    adopt      settings that have changed take effect; `changed_settings` names them

A change and its line in the history are stored in one transaction: both or neither. None of them makes a number come
again. `by` (1 to 200 printable characters) and `reason` (1 to 500) are required. A sequence with
a PERIOD is changed in the `period` that is named, such as "2026", or in the one of today. With `dry_run` the answer is
the same, and nothing is written.

Cost of a change of one scope: 2 to 4 reads (3 read units or more, see `SortKeyMaximum` for large items), and one
transaction of 2 to 4 rows, each 2 write units. All of it again after a lost race. Each raises, besides what it says:
InvalidChange, InvalidSequence, InvalidScope, ScopeNotFound, SequenceContention and SequenceUnavailable (10 s),
StorageRefused, and TableMissing if `manage.py create_tables` has not made the table of the history yet.
"""

from ..registry import strategies
from ..services.arguments import check_scope
from ..types import Change, begins
from .adoptions import adopt, changed_settings
from .arguments import EVERY_SCOPE, EveryScope, Scopes, check_whole
from .closings import close, reopen
from .freezes import freeze, thaw
from .given import put_all_at, put_at
from .moves import advance, recover, seed
from .switches import finish_switch, switch
from .voids import void

__all__ = [
    "EVERY_SCOPE",
    "EveryScope",
    "adopt",
    "advance",
    "changed_settings",
    "close",
    "finish_switch",
    "freeze",
    "history",
    "put_all_at",
    "put_at",
    "recover",
    "reopen",
    "seed",
    "switch",
    "thaw",
    "void",
]


def history(
    sequence: str,
    *,
    scope: Scopes = EVERY_SCOPE,
    period: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> tuple[list[Change], str | None]:
    """One page of a sequence's history, the newest change first, and the cursor of the next page.

    The history is one partition for all scopes and periods. So a page of one of them reads the lines of the others as
    well, and may have fewer than `limit` changes, or none. Changes within one second may change places. Cost: one
    query, 1 read unit for 4 KB, about 15 lines.
    Raises InvalidChange for a limit below 1 and a cursor of another history, InvalidSequence, InvalidScope,
    InvalidPeriod, SequenceUnavailable and StorageRefused.
    """
    strategy = strategies[sequence]
    check_whole("limit", limit, 1)
    if not isinstance(scope, EveryScope):
        check_scope(scope)
    if period is not None:
        strategy.scopes.check_period(period)
    changes, following = strategy.history.page(cursor, limit)
    if isinstance(scope, EveryScope):
        changes = [change for change in changes if begins(change.scope, scope.prefix)]
    else:
        changes = [change for change in changes if change.scope == scope]
    return [change for change in changes if period is None or change.period == period], following
