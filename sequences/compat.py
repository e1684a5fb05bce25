"""The functions and the class of django-sequences, for code that used it: change `sequences` to `sequences.compat`.

    from sequences.compat import Sequence, delete, get_last_value, get_next_value, get_next_values

    SEQUENCES = {"default": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"}}

Each `sequence_name` is a scope of the sequence "default" in SEQUENCES; `using` names another one. Its START is the
least `initial_value` that is possible: set it to 0 if you use that.

What differs from django-sequences:

- A rollback of the SQL transaction leaves a gap, because the counter is not in that database. Where a gap is forbidden,
  use `SequenceField(on_commit=True)` or `put_next`.
- Nobody waits for the transaction of somebody else. So `nowait` changes nothing.
- `using` names a key of SEQUENCES, not one of DATABASES.
- A name is a scope: 1 to 255 characters, not beginning with '#'.
- With `reset_value` the counter itself counts on, and the value is the place in the round. So all calls must give the
  same `initial_value` and `reset_value`; `Sequence.get_last_value` tells the place in the round, and the function
  `get_last_value`, which has no `reset_value`, how far the counter is. A `Sequence` with `reset_value` has no
  `get_next_values`.
- After `delete`, a process that remembers values of the sequence refuses to begin it again (SequenceWentBack), but for
  the process that deleted it. Delete what nobody counts in any more.

The first call of a process with an `initial_value` that is not START costs one more read, and writes the counter once.
The functions raise what those of `sequences` raise, and ValueError as django-sequences does.
"""

from collections.abc import Iterator

from . import services
from .exceptions import InvalidSequence
from .registry import configured, strategies
from .services.arguments import check_scope
from .strategies.base import Strategy
from .strategies.counter_strategy import advance_to, counter_of, delete_counter

__all__ = ["Sequence", "delete", "get_last_value", "get_next_value", "get_next_values"]


def get_last_value(sequence_name: str = "default", *, using: str | None = None) -> int | None:
    """Return the last value of a sequence, or None if there was none yet."""
    return services.get_last_value(_strategy(using).alias, scope=sequence_name)


def get_next_value(
    sequence_name: str = "default",
    initial_value: int = 1,
    reset_value: int | None = None,
    *,
    nowait: bool = False,
    using: str | None = None,
) -> int:
    """Return the next value of a sequence, which begins at `initial_value`, and again when it reaches `reset_value`."""
    _check_reset_value(initial_value, reset_value)
    alias = _begun(sequence_name, initial_value, using)
    return _in_round(services.get_next_value(alias, scope=sequence_name), initial_value, reset_value)


def get_next_values(
    batch_size: int,
    sequence_name: str = "default",
    initial_value: int = 1,
    *,
    nowait: bool = False,
    using: str | None = None,
) -> range | list[int]:
    """Return the next values of a sequence."""
    return services.get_next_values(batch_size, _begun(sequence_name, initial_value, using), scope=sequence_name)


def delete(sequence_name: str = "default", *, using: str | None = None) -> bool:
    """Delete a sequence; return whether there was one."""
    check_scope(sequence_name)
    return delete_counter(_strategy(using), sequence_name)


class Sequence:
    """The parameters of a sequence, its functions as methods, and an endless iterator over its values."""

    def __init__(
        self,
        sequence_name: str = "default",
        initial_value: int = 1,
        reset_value: int | None = None,
        *,
        using: str | None = None,
    ) -> None:
        _check_reset_value(initial_value, reset_value)
        self.sequence_name = sequence_name
        self.initial_value = initial_value
        self.reset_value = reset_value
        self.using = using

    def get_last_value(self) -> int | None:
        """Return the last value of the sequence."""
        value = get_last_value(self.sequence_name, using=self.using)
        return None if value is None else _in_round(value, self.initial_value, self.reset_value)

    def get_next_value(self, *, nowait: bool = False) -> int:
        """Return the next value of the sequence."""
        return get_next_value(self.sequence_name, self.initial_value, self.reset_value, nowait=nowait, using=self.using)

    def get_next_values(self, batch_size: int, *, nowait: bool = False) -> range | list[int]:
        """Return the next values of the sequence. Raises ValueError with `reset_value`."""
        if self.reset_value is not None:
            raise ValueError(
                f"get_next_values has no reset_value, and {self.sequence_name!r} has {self.reset_value}: "
                "call get_next_value for each value."
            )
        return get_next_values(batch_size, self.sequence_name, self.initial_value, nowait=nowait, using=self.using)

    def delete(self) -> bool:
        """Delete the sequence."""
        return delete(self.sequence_name, using=self.using)

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        return self.get_next_value()


def _check_reset_value(initial_value: int, reset_value: int | None) -> None:
    if reset_value is not None and reset_value <= initial_value:
        raise ValueError("reset_value must be greater than initial_value")


def _strategy(using: str | None) -> Strategy:
    """The strategy that counts. Raises InvalidSequence with what must be in SEQUENCES."""
    alias = using or "default"
    if alias not in configured():
        raise InvalidSequence(
            f"sequences.compat counts in SEQUENCES[{alias!r}], which is missing: add it, for example "
            "{'STRATEGY': 'sequences.strategies.atomic.AtomicCounter'}, or name another key by `using`."
        )
    strategy = strategies[alias]
    if strategy.config.step != 1:
        raise InvalidSequence(f"SEQUENCES[{alias!r}]['STEP'] must be 1: sequences.compat counts by one.")
    if strategy.layout.in_periods:
        raise InvalidSequence(f"SEQUENCES[{alias!r}]['PERIOD']: leave it out, for sequences.compat never begins again.")
    return strategy


def _begun(sequence_name: str, initial_value: int, using: str | None) -> str:
    """The alias of the sequence, in which this name has begun, or begins at `initial_value`."""
    strategy = _strategy(using)
    start = strategy.config.start
    if not isinstance(initial_value, int) or initial_value < start:
        raise ValueError(
            f"initial_value is {initial_value!r}; it must be a whole number from SEQUENCES[{strategy.alias!r}]"
            f"['START'], which is {start}."
        )
    check_scope(sequence_name)
    if initial_value > start and counter_of(strategy).evidence.known(sequence_name) is None:
        advance_to(strategy, sequence_name, initial_value - 1, only_new=True)
    return strategy.alias


def _in_round(value: int, initial_value: int, reset_value: int | None) -> int:
    """The value that a counter without `reset_value` stands for."""
    if reset_value is None:
        return value
    return initial_value + (value - initial_value) % (reset_value - initial_value)
