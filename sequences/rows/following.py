"""Whether counters follow the items of another strategy, as a switch between the two is under way. See `switches`."""

from contextlib import suppress
from math import inf

from ..exceptions import TableMissing
from .layout import Send
from .reading import stored_row
from .rules_row import RulesRow

FOLLOW_SECONDS = 60.0  # how long a process may go on following items after the end of a switch
BY_ITEMS = "SortKeyMaximum"


class Following:
    """What the row of the rules says of it, beside the history."""

    def __init__(self, rules: RulesRow) -> None:
        self._rules = rules
        self._until = -inf

    def now(self, send: Send) -> bool:
        """Whether counters follow items. One read."""
        place = self._rules.places[-1]
        return BY_ITEMS in stored_row(place.schema.table, place.key, send).get("switching", ())

    def of_late(self, send: Send) -> bool:
        """Whether they did within FOLLOW_SECONDS: a yes is remembered for so long."""
        clock = self._rules.clock
        if clock() >= self._until and self._rules.history.is_apart:
            with suppress(TableMissing):  # no change was ever made
                if self.now(send):
                    self._until = clock() + FOLLOW_SECONDS
        return clock() < self._until
