"""Audits in threads: one at a time for each scope, whose progress and result every process sees."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest
from django.core.management import CommandError
from pytest_django import Settings

from sequences import put_next_many
from sequences.exceptions import AuditRefused, OperationNotSupported, SequenceError, StorageRefused
from sequences.ops.audit import background, check, column_check
from sequences.ops.audit.background import start_audit, stop_audits
from sequences.ops.audit.results import LEASE_SECONDS, AuditResult, KeptAudits, latest_audits
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.types import scope_text
from tests.sequences.support import await_audits, delete_row, give_each_scope_its_place, make, written

pytestmark = pytest.mark.usefixtures("configured")

ALIAS = "sort-key"


@pytest.fixture
def strategy() -> Strategy:
    """The strategy that is audited here."""
    return strategies[ALIAS]


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No audit meets another one by chance, or goes on after its test."""
    give_each_scope_its_place(monkeypatch)
    monkeypatch.setattr(background, "STOP_SECONDS", 60.0)
    await_audits()
    yield
    stop_audits()


def fill(scope: str, count: int, *, without: int = 0) -> None:
    """Store so many items, and delete one of them behind the sequence's back."""
    put_next_many(ALIAS, [{"n": n} for n in range(count)], scope=scope)
    if without:
        delete_row(ALIAS, scope, without)


def test_its_result_is_kept(strategy: Strategy, scope: str) -> None:
    """An audit of several pages of numbers finds a planted gap, and keeps what it found, by whom and when."""
    fill(scope, 1200, without=1034)
    start_audit(strategy, scope, "ada")
    await_audits()
    run, result = KeptAudits(strategy).look(scope)
    assert run is not None
    assert run.ended
    assert result is not None
    assert (result.stored, result.missing, result.gaps, result.unexplained) == (1199, 1, 1, 1)
    assert (result.scope, result.by, result.last_value, result.verdict) == (
        scope,
        "ada",
        1200,
        "1 finding is unexplained",
    )
    assert result.findings == ("gap: 1034",)
    assert 0 < result.seconds < 60
    assert result.at >= run.began_at.replace(microsecond=0)
    assert result in latest_audits(strategies[ALIAS])


def test_without_a_thread(strategy: Strategy, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no thread can be started an audit is refused, and another one may begin at once."""

    def full(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    fill(scope, 3)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", full)
        with pytest.raises(AuditRefused, match="cannot start a thread"):
            start_audit(strategy, scope, "ada")
    start_audit(strategy, scope, "ada")
    await_audits()


def test_its_progress_is_kept(strategy: Strategy, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it runs, everybody sees how far it is; when the process ends it says where it stopped."""
    monkeypatch.setattr(background, "PROGRESS_SECONDS", 0)
    monkeypatch.setattr(check, "ROWS_A_PAGE", 10)
    fill(scope, 50)
    seen = threading.Event()
    renew = KeptAudits.renew

    def renewed(*given: Any) -> bool:
        stored = renew(*given)
        seen.set()
        assert background._running.ends.wait(60)
        return stored

    with monkeypatch.context() as patch:
        patch.setattr(KeptAudits, "renew", renewed)
        start_audit(strategy, scope, "ada")
        assert seen.wait(60)
        assert f"audit of {ALIAS}" in {thread.name for thread in threading.enumerate()}
        run, result = KeptAudits(strategy).look(scope)
        assert run is not None
        assert (run.done, run.wanted, run.runs, run.ended, result) == (10, 50, True, False, None)
        stop_audits()
    run, result = KeptAudits(strategy).look(scope)
    assert run is not None
    assert (run.done, run.runs, run.ended, run.problem, result) == (10, False, False, "its process ended", None)
    start_audit(strategy, scope, "bob")  # those that begin later do not stop
    await_audits()
    run, result = KeptAudits(strategy).look(scope)
    assert run is not None
    assert result is not None
    assert (run.done, run.problem, result.by, result.stored) == (50, "", "bob", 50)


def test_its_progress_is_stored_now_and_then(strategy: Strategy, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short audit stores nothing between its begin and its end."""
    monkeypatch.setattr(check, "ROWS_A_PAGE", 10)
    monkeypatch.setattr(background, "PROGRESS_SECONDS", 3600)
    monkeypatch.setattr(KeptAudits, "renew", mock.Mock(side_effect=AssertionError))
    fill(scope, 50)
    start_audit(strategy, scope, "ada")
    await_audits()
    run, result = KeptAudits(strategy).look(scope)
    assert run is not None
    assert (run.ended, result and result.stored) == (True, 50)


def test_an_end_that_cannot_be_stored(
    strategy: Strategy, scope: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so, and the lease ends all the same."""
    fill(scope, 3)
    monkeypatch.setattr(column_check, "audit", mock.Mock(side_effect=StorageRefused("the engine said no")))
    monkeypatch.setattr(KeptAudits, "stop", mock.Mock(side_effect=StorageRefused("not even that")))
    start_audit(strategy, scope, "ada")
    await_audits()
    assert [record.getMessage() for record in caplog.records if record.name == background.__name__] == [
        f"audit of {ALIAS} {scope!r} stopped: the engine said no",
        f"the end of the audit of {ALIAS} cannot be stored: not even that",
    ]
    run, _ = KeptAudits(strategy).look(scope)
    assert run is not None
    assert (run.runs, run.problem) == (True, "")


def test_two_starts_at_once_make_one(strategy: Strategy, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two processes that begin the same audit at the same moment one does, and the other is told of it."""
    looked = threading.Barrier(2)
    row = KeptAudits._row

    def meet(kept: KeptAudits, text: str) -> Any:
        found = row(kept, text)
        if threading.current_thread() not in met:
            met.add(threading.current_thread())
            looked.wait(60)
        return found

    met: set[threading.Thread] = set()
    monkeypatch.setattr(KeptAudits, "_row", meet)

    def begin(by: str) -> str:
        try:
            return KeptAudits(strategy).begin(scope, by).by
        except AuditRefused as refused:
            return str(refused)

    with ThreadPoolExecutor(2) as threads:
        ada, bob = threads.map(begin, ("ada", "bob"))
    winner, told = (ada, bob) if ada == "ada" else (bob, ada)
    assert winner in ("ada", "bob")
    assert f"An audit of the scope '{scope}' by {winner} is running here since" in told


def test_the_audit_of_a_dead_process_can_be_begun_again(scope: str) -> None:
    """Until its lease is over nobody else begins it. Then its last stand is shown, and another may begin."""
    now = [1_800_000_000.0]
    strategy = make(ALIAS)
    strategy.wall = lambda: now[0]
    kept = KeptAudits(strategy)
    dead = kept.begin(scope, "ada")
    assert kept.look(scope) == (dead, None)
    assert (dead.by, dead.done, dead.wanted, dead.runs, dead.ended) == ("ada", 0, 0, True, False)
    assert kept.renew(dead, 7, 9)
    now[0] += LEASE_SECONDS - 1
    with pytest.raises(AuditRefused):
        kept.begin(scope, "bob")
    now[0] += 2
    run, _ = kept.look(scope)
    assert run is not None
    assert (run.runs, run.ended, run.done, run.wanted) == (False, False, 7, 9)
    assert kept.begin(scope, "bob").by == "bob"
    assert not kept.renew(dead, 8, 9)
    assert not kept.stop(dead, "late")
    run, _ = kept.look(scope)
    assert run is not None
    assert (run.by, run.runs) == ("bob", True)
    assert kept.stop(run, "x" * 300)
    run, _ = kept.look(scope)
    assert run is not None
    assert (run.problem, run.runs, run.ended) == ("x" * 200, False, False)
    carol = kept.begin(scope, "carol")  # nothing is left of what was before
    assert kept.look(scope) == (carol, None)


def test_an_audit_that_fails_says_why(strategy: Strategy, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stops an audit is kept; the result of the one before stays."""
    fill(scope, 3)
    start_audit(strategy, scope, "ada")
    await_audits()

    errors: tuple[Exception, ...] = (StorageRefused("the engine said no"), ZeroDivisionError("secret"))
    for error, said in zip(errors, ("the engine said no", "an error that the log tells"), strict=True):
        monkeypatch.setattr(column_check, "audit", mock.Mock(side_effect=error))
        start_audit(strategy, scope, "bob")
        await_audits()
        run, result = KeptAudits(strategy).look(scope)
        assert run is not None
        assert (run.problem, run.ended) == (said, False)
        assert result is not None
        assert result.by == "ada"


def test_an_audit_that_lost_its_place_stops(strategy: Strategy, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit whose lease another one has taken over does not go on."""
    monkeypatch.setattr(background, "PROGRESS_SECONDS", 0)
    monkeypatch.setattr(KeptAudits, "renew", lambda *_: False)
    fill(scope, 3)
    start_audit(strategy, scope, "ada")
    await_audits()
    run, result = KeptAudits(strategy).look(scope)
    assert run is not None
    assert (run.problem, result) == ("another audit began", None)


def test_a_process_runs_few(strategy: Strategy, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process refuses more audits than it can run beside its work."""
    go_on = threading.Event()
    monkeypatch.setattr(column_check, "audit", lambda *_, **__: go_on.wait(60))
    for n in range(background.MOST_AUDITS):
        start_audit(strategy, f"{scope}-{n}", "ada")
    with pytest.raises(AuditRefused, match="This process runs 2 audits"):
        start_audit(strategy, f"{scope}-more", "ada")
    go_on.set()


def test_what_cannot_be_audited(settings: Settings, scope: str) -> None:
    """A sequence whose items cannot be listed is refused, and nothing is kept."""
    elsewhere = make("atomic", value_in="attribute")
    with pytest.raises(OperationNotSupported, match="cannot list them"):
        start_audit(elsewhere, scope, "ada")
    assert KeptAudits(elsewhere).look(scope) == (None, None)


def test_rows_are_bounded(strategy: Strategy, monkeypatch: pytest.MonkeyPatch, scope: str) -> None:
    """Scopes with the same place take turns, and what is kept of one is not shown as another's."""
    monkeypatch.setattr("sequences.ops.audit.results.PLACES", 1)
    one, other = f"{scope}-1", f"{scope}-2"
    kept = KeptAudits(strategy)
    fill(one, 1)
    start_audit(strategy, one, "ada")
    await_audits()
    run = kept.begin(scope_text(other), "bob")
    assert kept.look(one) == (None, None)
    assert kept.look(other)[1] is None
    with pytest.raises(AuditRefused, match=f"the scope '{other}'"):
        kept.begin(scope_text(one), "ada")
    kept.stop(run, "enough")


class TestCommand:
    """`manage.py sequences audit --keep` keeps what it found, too."""

    def test_a_scope(self, scope: str, strategy: Strategy) -> None:
        """The result of a scope is kept like that of one in the background."""
        fill(scope, 5, without=2)
        with pytest.raises(CommandError):
            written("sequences", "audit", ALIAS, "--scope", scope, "--keep", "--by", "eve")
        result = KeptAudits(strategy).look(scope)[1]
        assert result is not None
        assert (result.by, result.unexplained, result.scopes, result.every_scope) == ("eve", 1, 1, False)

    def test_every_scope(self, scope: str) -> None:
        """Without a scope one result is kept for all of them."""
        put_next_many("transactional", [{}, {}], scope=f"{scope}-1")
        put_next_many("transactional", [{}], scope=f"{scope}-2")
        written("sequences", "audit", "transactional", "--keep", "--by", "eve")
        (result,) = (one for one in latest_audits(strategies["transactional"]) if one.every_scope)
        assert (result.scope, result.by, result.unexplained) == (None, "eve", 0)
        assert result.scopes >= 2
        assert result.stored >= 3

    def test_every_scope_of_a_period(self, strategy: Strategy) -> None:
        """It has a place of its own: what an audit of all periods has found stays."""
        counts = {"stored": 1, "missing": 1, "gaps": 1, "voids": 0, "seconds": 1.0, "at": datetime.now(UTC)}
        named: dict[str, Any] = {"sequence": ALIAS, "scope": None, "by": "eve", "every_scope": True, **counts}
        for period, unexplained in (("", 1), ("2026", 0)):
            KeptAudits(strategy).keep(AuditResult(period=period, unexplained=unexplained, **named))
        kept = [(one.period, one.unexplained) for one in latest_audits(strategy) if one.every_scope]
        assert sorted(kept) == [("", 1), ("2026", 0)]

    def test_without_keep(self, scope: str, strategy: Strategy) -> None:
        """Without `--keep` the audit only reads."""
        fill(scope, 1)
        written("sequences", "audit", ALIAS, "--scope", scope)
        assert KeptAudits(strategy).look(scope) == (None, None)


def test_no_audit_was_kept(settings: Settings) -> None:
    """Before the first audit there are no results, and no error even if there is no table yet."""
    settings.TABLE_PREFIX = "missing_"
    assert latest_audits(strategies[ALIAS]) == []
    with pytest.raises(SequenceError):
        KeptAudits(strategies[ALIAS]).look("A")
