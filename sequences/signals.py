"""Signals for an application that counts, records or alarms. They cost nothing while nobody listens.

A receiver runs after the value is final, in the caller's thread, or for awaited functions in the thread that served the
call. If it raises, Django logs that, and the caller gets its value all the same. The sender is the class of the
strategy.
"""

from django.dispatch import Signal

__all__ = ["contention", "nearly_used_up", "value_allocated", "value_voided"]

value_allocated = Signal()
"""Values were handed out. Arguments: `sequence`, `scope`, `period`, `values` (in increasing order), and `replayed`.

`get_next_values` sends it once for all its values, `put_next_many` once for each item.
"""

contention = Signal()
"""A call lost every race until its deadline, and gave up. Arguments: `sequence`, `scope`, `period`, and `error`.

The error is a `SequenceContention`, with `attempts` and `seconds`.
"""

nearly_used_up = Signal()
"""At least 90 % of the values up to `limit` are used.

Arguments: `sequence`, `scope`, `period`, `value`, `limit`, and `percent`. The limit is MAXIMUM, or the last value that
fits the width in FORMAT if that is lower. It is sent once for each percent, in each process.
"""

value_voided = Signal()
"""`sequences.changes.void` has withdrawn a number, by whatever door: a call, the command, or the administration.

Argument: `change`, a `types.Change` with the sequence, scope, period and reason; its `after` is the value. A repeat
sends it again, so that a receiver that failed gets another chance.
"""
