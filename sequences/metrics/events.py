"""What happens in the core, as amounts of the instruments, for the recorders of this process."""

import logging
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from time import perf_counter
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from ..exceptions import InvalidSequence, NotWritten, OutcomeUnknown, StorageError, WriteCancelled
from ..types import Allocation
from . import instruments
from .instruments import Instrument, Recorder

logger = logging.getLogger(__name__)

WRITES = frozenset({"put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item"})
THROTTLED = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})
"""The cancellation reasons of DynamoDB that mean it has no capacity."""
NOTHING: AbstractContextManager[None] = nullcontext()
"""Held in place of `Metrics.call` and `Metrics.request` while nothing is measured."""

# Held while a recorder runs, so that a fork finds no lock of theirs taken.
_lock = threading.RLock()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class _ThreadState(threading.local):
    """What this thread has still to tell: a signal handler may make a call while its thread is in a recorder."""

    def __init__(self) -> None:
        self.busy = False
        self.later: deque[tuple[Instrument, float, tuple[str, ...]]] = deque()


_thread = _ThreadState()


class MeasuredRequest:
    """One request to DynamoDB that is under way; its sender says which `units` it took."""

    units = 0.0


class Metrics:
    """Tells the recorders what happens. While `on` is False nobody calls its other methods."""

    __slots__ = ("on", "recorders")

    def __init__(self) -> None:
        self.use(())

    def use(self, recorders: Sequence[Recorder]) -> None:
        """Tell these recorders from now on, and no others."""
        self.recorders = tuple(recorders)
        self.on = bool(recorders)

    def configure(self) -> None:
        """Use the recorders of the setting. If it is wrong, say so and use none: numbers do not wait for metrics."""
        try:
            self.use(recorders())
        except InvalidSequence as error:
            self.use(())
            logger.error("%s Nothing is measured.", error)

    def call(self, verb: str, sequence: str) -> AbstractContextManager[object]:
        """Held during a call that puts or takes."""
        return self._span(f"{verb} {sequence}", {"sequences.sequence": sequence})

    def answered(self, sequence: str, answers: Iterable[object], seconds: float, *, replayed: bool = False) -> None:
        """A call has ended. An answer is an allocation, a range or list of values, or an error."""
        self.tell(instruments.CALL, seconds, sequence)
        for answer in answers:
            if isinstance(answer, Allocation):
                self._answered(sequence, "stored", 1, replayed=answer.replayed)
            elif isinstance(answer, range | list):
                self._answered(sequence, "taken", len(answer), replayed=replayed)
            else:
                self.tell(instruments.ANSWERS, 1, sequence, type(answer).__name__)

    def _answered(self, sequence: str, outcome: str, values: int, *, replayed: bool) -> None:
        self.tell(instruments.ANSWERS, 1, sequence, "replayed" if replayed else outcome)
        if not replayed:
            self.tell(instruments.VALUES, values, sequence)

    def sending(self, pendings: Iterable[Any]) -> None:
        """A write is sent for these pending requests."""
        for pending in pendings:
            if pending.attempts == 1 and pending.deadline:
                self.tell(instruments.WAIT, pending.deadline.spent, pending.deadline.sequence)

    def failed(self, sequence: str, error: StorageError) -> None:
        """An attempt failed, and is made again."""
        self.tell(instruments.FAILED_ATTEMPTS, 1, sequence, _outcome(error))

    def wrote(self, sequence: str, of: str, size: int) -> None:
        """A write has stored so many "items", or taken so many "values" from a counter."""
        if size:
            self.tell(instruments.GROUP, size, sequence, of)

    @contextmanager
    def request(self, sequence: str, operation: str) -> Iterator[MeasuredRequest]:
        """Held during one request to DynamoDB."""
        began, request, outcome, name = perf_counter(), MeasuredRequest(), "ok", operation_name(operation)
        attributes = {"db.system.name": "aws.dynamodb", "db.operation.name": name, "sequences.sequence": sequence}
        try:
            with self._span(f"DynamoDB.{name}", attributes, to_dynamodb=True):
                yield request
        except StorageError as error:
            outcome = _outcome(error)
            raise
        finally:
            self.tell(instruments.REQUEST, perf_counter() - began, name)
            self.tell(instruments.REQUESTS, 1, sequence, name, outcome)
            if request.units:
                self.tell(instruments.UNITS, request.units, sequence, name, "write" if operation in WRITES else "read")

    def _span(
        self, name: str, attributes: Mapping[str, str], *, to_dynamodb: bool = False
    ) -> AbstractContextManager[object]:
        spans = ExitStack()
        for recorder in self.recorders:
            spans.enter_context(recorder.span(name, attributes, to_dynamodb=to_dynamodb))
        return spans

    def tell(self, instrument: Instrument, amount: float, *labels: str) -> None:
        """Give an amount to every recorder. Its labels are in the order of the instrument's."""
        _thread.later.append((instrument, amount, labels))
        if _thread.busy:
            return  # a signal handler struck inside a recorder, which may hold a lock: it gets this below
        _thread.busy = True
        try:
            with _lock:
                while _thread.later:
                    self._record(*_thread.later.popleft())
        finally:
            _thread.busy = False

    def _record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
        """Give it to every recorder. One that fails gets nothing more: no caller loses a number by it."""
        for recorder in self.recorders:
            try:
                recorder.record(instrument, amount, labels)
            except Exception:
                logger.exception("%s failed; it is not told of anything from now on.", type(recorder).__name__)
                self.use([one for one in self.recorders if one is not recorder])


def _outcome(error: StorageError) -> str:
    """What became of a request, in one word."""
    if isinstance(error, WriteCancelled):
        return "throttled" if any(reason.code in THROTTLED for reason in error.reasons) else "conflict"
    if isinstance(error, NotWritten):
        if error.code == "ReplicatedWriteConflictException":
            return "conflict"
        return "throttled" if error.code else "not_sent"
    return "lost" if isinstance(error, OutcomeUnknown) else "refused"


@cache
def operation_name(operation: str) -> str:
    """The name that DynamoDB has for an operation, as PutItem for "put_item"."""
    return operation.title().replace("_", "")


def recorders() -> list[Recorder]:
    """The recorders that SEQUENCES_METRICS names. Raises InvalidSequence, which says what is wrong with it."""
    paths = getattr(settings, "SEQUENCES_METRICS", ())
    if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
        raise InvalidSequence(f"SEQUENCES_METRICS is {paths!r}; it must be a list of dotted paths of recorders.")
    return [_made(path) for path in paths]


def _made(path: str) -> Recorder:
    try:
        made = import_string(path)
    except ImportError as error:
        raise InvalidSequence(
            f"SEQUENCES_METRICS: cannot import {path!r}: {error}. Are the extras installed "
            "(pip install 'django-dynamodb-sequences[metrics]', or [otel])?"
        ) from error
    recorder = made() if isinstance(made, type) else made
    if not isinstance(recorder, Recorder):
        raise InvalidSequence(f"SEQUENCES_METRICS: {path!r} is no recorder: make it a subclass of Recorder.")
    return recorder


metrics = Metrics()


def _settings_changed(*, setting: str, **_: object) -> None:
    if setting == "SEQUENCES_METRICS":
        metrics.configure()


setting_changed.connect(_settings_changed)
