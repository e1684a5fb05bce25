"""Audits in threads of this process, whose progress and result every process sees (see `results`).

There is one audit of a scope at a time. At a regular end of the process its audits stop, and say so. If the process
dies, their leases end, and another process may begin them again: an audit writes nothing but its own row.
"""

import atexit
import logging
import os
import threading
import time
from functools import reduce

from django.db import DatabaseError, connections

from ...exceptions import AuditRefused, SequenceError
from ...strategies.base import Strategy
from ...types import Scope, scope_text
from .check import require_collections
from .column_check import reports_on
from .results import AuditResult, AuditRun, KeptAudits, results_of

PROGRESS_SECONDS = 2.0
STOP_SECONDS = 5.0
MOST_AUDITS = 2  # in one process, whose other work they slow down

logger = logging.getLogger(__name__)


class _Running:
    """The threads of this process that audit. A forked child has none of them."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.threads: set[threading.Thread] = set()
        self.lock = threading.Lock()
        self.ends = threading.Event()


_running = _Running()
os.register_at_fork(after_in_child=_running.reset)


class _Stopped(Exception):
    """The audit is to end before its end; the message says why."""


def start_audit(strategy: Strategy, scope: Scope, by: str) -> AuditRun:
    """Begin an audit of a scope in a thread, and return at once. It reads the items, the rows of models, or both.

    Cost: one read and one write at the start, one write every PROGRESS_SECONDS and one at the end, beside what `audit`
    and `audit_columns` read. Raises AuditRefused while another audit of the scope runs, this process has MOST_AUDITS or
    no thread for one; OperationNotSupported for items that are not in collections, SequenceUnavailable and
    StorageRefused.
    """
    require_collections(strategy)
    with _running.lock:
        _running.threads = {thread for thread in _running.threads if thread.is_alive()}
        if len(_running.threads) >= MOST_AUDITS:
            raise AuditRefused(f"This process runs {MOST_AUDITS} audits: wait for the end of one.")
        kept = KeptAudits(strategy)
        run = kept.begin(scope_text(scope), by)
        thread = threading.Thread(target=_run, args=(kept, scope, run), name=f"audit of {strategy.alias}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # there are too many threads, or the interpreter ends
            _stop(kept, run, "no thread could be started")
            raise AuditRefused("This process cannot start a thread for an audit now: try again later.") from error
        _running.threads.add(thread)
    return run


def stop_audits() -> None:
    """Have the audits of this process stop after the page that they read, and wait STOP_SECONDS for it."""
    _running.ends.set()
    until = time.monotonic() + STOP_SECONDS
    for thread in list(_running.threads):
        thread.join(max(until - time.monotonic(), 0.0))
    _running.ends.clear()


atexit.register(stop_audits)


def _run(kept: KeptAudits, scope: Scope, run: AuditRun) -> None:
    try:
        _audit(kept, scope, run)
    except _Stopped as stopped:
        _stop(kept, run, str(stopped))
    except (SequenceError, DatabaseError) as error:
        logger.error("audit of %s %r stopped: %s", kept.strategy.alias, scope, error)
        _stop(kept, run, str(error))
    except Exception:
        logger.exception("audit of %s %r stopped", kept.strategy.alias, scope)
        _stop(kept, run, "an error that the log tells")
    finally:
        connections.close_all()  # those of this thread


def _audit(kept: KeptAudits, scope: Scope, run: AuditRun) -> None:
    told = time.monotonic()

    def progress(done: int, wanted: int) -> None:
        nonlocal told
        if _running.ends.is_set():
            raise _Stopped("its process ended")
        if time.monotonic() - told >= PROGRESS_SECONDS:
            if not kept.renew(run, done, wanted):
                raise _Stopped("another audit began")
            told = time.monotonic()

    reports = reports_on(kept.strategy, scope, progress)
    result = reduce(AuditResult.with_rows, (result for _, result in results_of(reports, run.by)))
    kept.finish(run, result)
    logger.info("audit of %s %r by %s: %s", result.sequence, scope, run.by, result.verdict)


def _stop(kept: KeptAudits, run: AuditRun, problem: str) -> None:
    """Tell why it stopped. If that cannot be stored, its lease ends all the same."""
    try:
        kept.stop(run, problem)
    except SequenceError as error:
        logger.error("the end of the audit of %s cannot be stored: %s", kept.strategy.alias, error)
