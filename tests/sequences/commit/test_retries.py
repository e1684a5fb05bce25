"""Deadlines and single requests: what is sent again, how long the pauses are, and what the error says at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sequences import dynamodb
from sequences.commit import retries
from sequences.commit.retries import (
    DEADLINE_SECONDS,
    Deadline,
    Timing,
    is_retryable,
    may_conceal,
    new_token,
    read,
    write_once,
)
from sequences.exceptions import (
    AccessRefused,
    BudgetSpent,
    CancellationReason,
    NotWritten,
    OutcomeUnknown,
    SequenceContention,
    SequenceUnavailable,
    WriteCancelled,
)
from tests.sequences.support import Clock

REQUEST = {"TableName": "t"}
LOST, THROTTLED, REFUSED = OutcomeUnknown("lost"), NotWritten("throttled"), AccessRefused("no")
CONFLICT = WriteCancelled("met", (CancellationReason("TransactionConflict"),))
OURS = WriteCancelled("ours", (CancellationReason("ConditionalCheckFailed", {"token": "t"}),))
OTHERS = WriteCancelled("another's", (CancellationReason("ConditionalCheckFailed", {"token": "u"}),))


class Engine:
    """Ends each request as planned, and well when the plan is over."""

    def __init__(self) -> None:
        self.plan: list[Exception] = []
        self.always: Exception | None = None
        self.requests: list[Mapping[str, Any]] = []

    def __call__(self, operation: str, request: Mapping[str, Any], *, seconds: float = 0.0, **_: Any) -> dict[str, Any]:
        self.requests.append(request)
        error = self.plan.pop(0) if self.plan else self.always
        if error:
            raise error
        return {"answer": len(self.requests)}


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """What stands in for the engine."""
    line = Engine()
    monkeypatch.setattr(dynamodb, "call", line)
    return line


@pytest.fixture
def deadline(clock: Clock) -> Deadline:
    """A deadline by a clock that only sleeps move."""
    return Deadline(timing=clock.timing())


class TestDeadline:
    def test_full_jitter(self, clock: Clock) -> None:
        """Each pause is a random time between 0 and a bound; the bound doubles up to the longest pause."""
        bounds: list[tuple[float, float]] = []

        def third(low: float, high: float) -> float:
            bounds.append((low, high))
            return high / 3

        timing = clock.timing(uniform=third, first_pause=0.01, longest_pause=0.5)
        deadline = Deadline(timing=timing)
        for _ in range(10):
            deadline.pause()
        highs = [high for _, high in bounds]
        assert {low for low, _ in bounds} == {0}
        assert 0.01 <= highs[0] <= 0.02
        assert highs == [min(highs[0] * 2**n, 0.5) for n in range(10)]
        assert clock.sleeps == [high / 3 for high in highs]

    def test_many_attempts(self, clock: Clock) -> None:
        """The bound stays what it is after thousands of attempts."""
        deadline = Deadline(timing=clock.timing(), attempts=5000)
        deadline.pause()
        assert clock.sleeps[0] <= 1.0

    def test_the_deadline(self, clock: Clock, deadline: Deadline) -> None:
        """A deadline is over when its seconds have passed."""
        clock.now += DEADLINE_SECONDS - 0.001
        assert not deadline.over
        clock.now += 0.001
        assert deadline.over
        assert deadline.spent == pytest.approx(DEADLINE_SECONDS)

    def test_the_defaults(self) -> None:
        """By default a deadline rests on a clock that goes on while the machine sleeps, a real sleep, and chance."""
        timing = Timing()
        assert (timing.clock, timing.sleep) == (dynamodb.elapsed, time.sleep)
        assert len({timing.uniform(0, 1) for _ in range(10)}) > 1

    @pytest.mark.parametrize(
        ("error", "unknown", "kind"),
        [
            (OTHERS, False, SequenceContention),
            (CONFLICT, False, SequenceContention),
            (OTHERS, True, SequenceUnavailable),
            (LOST, True, SequenceUnavailable),
            (THROTTLED, False, SequenceUnavailable),
        ],
    )
    def test_giving_up(
        self, clock: Clock, deadline: Deadline, error: Any, unknown: bool, kind: type[Exception]
    ) -> None:
        """Giving up says whether it was contention, how often and how long, what became of it, and why."""
        deadline.pause()
        clock.now += 3
        gave_up = deadline.give_up(error, outcome_unknown=unknown)
        assert type(gave_up) is kind
        assert (gave_up.attempts, gave_up.outcome_unknown) == (1, unknown)
        assert gave_up.seconds == pytest.approx(3 + clock.sleeps[0])
        assert not deadline.give_up(error).outcome_unknown
        assert gave_up.__cause__ is error

    def test_tokens(self) -> None:
        """No two tokens are equal."""
        assert len({new_token() for _ in range(1000)}) == 1000

    def test_tokens_of_copies(self) -> None:
        """Two processes that go on from one image of a memory make other tokens."""
        image = retries._chance.getstate()
        token = new_token()
        retries._chance.setstate(image)
        assert new_token() != token


HEALING = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "TransactionCanceled"]


@pytest.mark.parametrize("codes", [[HEALING[0]], [HEALING[1]], [HEALING[2]], [*HEALING, "None"]])
def test_cancellations_that_heal(codes: list[str]) -> None:
    """A write that was cancelled for retryable reasons only may succeed unchanged, whichever actions they hit."""
    assert is_retryable(tuple(map(CancellationReason, codes)))
    assert not is_retryable(tuple(map(CancellationReason, [*codes, "ConditionalCheckFailed"])))


@pytest.mark.parametrize("codes", [[], ["None"]])
def test_nothing_to_heal(codes: list[str]) -> None:
    """A cancellation without a reason is not retryable."""
    assert not is_retryable(tuple(map(CancellationReason, codes)))


@pytest.mark.parametrize(
    ("codes", "hidden"), [(["ConditionalCheckFailed"], False), (["ValidationError", "TransactionConflict"], True)]
)
def test_what_may_be_hidden(codes: list[str], hidden: bool) -> None:
    """An action with a conflict was refused before its condition was checked: it may already be stored."""
    assert may_conceal(tuple(map(CancellationReason, codes))) is hidden


def test_a_request_that_is_too_late(line: Engine, deadline: Deadline, clock: Clock) -> None:
    """After the deadline no request is sent, and the error contains that of the last one."""
    line.plan = [THROTTLED]
    with pytest.raises(NotWritten):
        deadline.send("put_item", REQUEST)
    clock.now += 1000.0
    with pytest.raises(NotWritten, match=f"not sent, because the deadline has passed. {THROTTLED}"):
        deadline.send("put_item", REQUEST)
    assert line.requests == [REQUEST]


Send = Callable[[Deadline], object]
READ: Send = lambda deadline: read("get_item", REQUEST, deadline=deadline)  # noqa: E731
WRITE: Send = lambda deadline: write_once("put_item", REQUEST, token="t", deadline=deadline)  # noqa: E731
both = pytest.mark.parametrize("send", [READ, WRITE], ids=["read", "write"])


class TestSingleRequests:
    @both
    def test_what_heals(self, send: Send, line: Engine, deadline: Deadline, clock: Clock) -> None:
        """After a lost answer or a retryable error the same request is sent again, after a pause."""
        line.plan = [LOST, THROTTLED, LOST]
        assert send(deadline) == {"answer": 4}
        assert line.requests == [REQUEST] * 4
        assert len(clock.sleeps) == 3

    @pytest.mark.parametrize(("sent", "unknown"), [([THROTTLED], False), ([LOST], True)])
    def test_a_silent_engine(
        self, line: Engine, deadline: Deadline, clock: Clock, monkeypatch: pytest.MonkeyPatch, sent: Any, unknown: bool
    ) -> None:
        """Nobody waits for it. What was sent before may be stored."""
        monkeypatch.setattr(dynamodb, "is_silent", lambda client: True)
        line.plan = sent
        with pytest.raises(SequenceUnavailable) as caught:
            WRITE(deadline)
        assert caught.value.outcome_unknown is unknown
        assert (len(line.requests), caught.value.attempts, clock.sleeps) == (1, 1, [0])

    @both
    def test_what_never_heals(self, send: Send, line: Engine, deadline: Deadline, clock: Clock) -> None:
        """A permanent error is raised at once."""
        line.plan = [REFUSED]
        with pytest.raises(AccessRefused):
            send(deadline)
        assert (len(line.requests), clock.sleeps) == (1, [])

    @both
    def test_the_deadline(self, send: Send, line: Engine, deadline: Deadline, clock: Clock) -> None:
        """At the deadline one gives up."""
        line.always = THROTTLED
        with pytest.raises(SequenceUnavailable) as caught:
            send(deadline)
        assert caught.value.seconds >= DEADLINE_SECONDS
        assert caught.value.attempts == len(line.requests)
        assert not caught.value.outcome_unknown

    @both
    def test_without_deadline_of_its_own(self, send: Send, line: Engine) -> None:
        """A request without a deadline gets the default one."""
        assert read("get_item", REQUEST) == {"answer": 1}
        assert write_once("put_item", REQUEST, token="t") == {"answer": 2}


class TestWriteOnce:
    @pytest.mark.parametrize("lost", [1, 3])
    def test_found_again(self, line: Engine, deadline: Deadline, lost: int) -> None:
        """A write whose answer was lost is found again by its token."""
        line.plan = [LOST] * lost + [OURS]
        assert WRITE(deadline) == {}

    def test_without_a_token(self, line: Engine, deadline: Deadline) -> None:
        """A write without a token finds itself in no row, also not in one of an application whose `token` is empty."""
        line.plan = [WriteCancelled("taken", (CancellationReason("ConditionalCheckFailed", {"token": ""}),))]
        with pytest.raises(WriteCancelled):
            write_once("put_item", REQUEST, token="", deadline=deadline)

    def test_refused(self, line: Engine, deadline: Deadline) -> None:
        """A condition that fails on another's item is raised."""
        line.plan = [LOST, OTHERS]
        with pytest.raises(WriteCancelled, match="another's"):
            WRITE(deadline)

    def test_a_conflict(self, line: Engine, deadline: Deadline) -> None:
        """A conflict with a transaction is retryable; at the deadline it is contention."""
        line.plan = [CONFLICT]
        assert WRITE(deadline) == {"answer": 2}
        line.always = CONFLICT
        with pytest.raises(SequenceContention):
            WRITE(deadline)

    @pytest.mark.parametrize("then", [THROTTLED, CONFLICT, LOST])
    def test_an_unknown_outcome_stays_unknown(self, line: Engine, deadline: Deadline, then: Exception) -> None:
        """Once an answer was lost, giving up says that the write may be stored."""
        line.plan, line.always = [LOST], then
        with pytest.raises(SequenceUnavailable) as caught:
            WRITE(deadline)
        assert caught.value.outcome_unknown

    @pytest.mark.parametrize("end", [BudgetSpent("no time"), dynamodb.ClientNotMade("no client")])
    @pytest.mark.parametrize(("before", "unknown"), [(LOST, True), (THROTTLED, False)])
    def test_a_call_that_must_end(
        self, line: Engine, deadline: Deadline, before: Exception, unknown: bool, end: Exception
    ) -> None:
        """Where the time of a page is over, or no client is made, a lost answer before leaves the outcome unknown."""
        line.plan = [before, end]
        with pytest.raises(SequenceUnavailable) as caught:
            WRITE(deadline)
        assert caught.value.outcome_unknown is unknown
        assert "nothing was stored" not in str(caught.value) or not unknown

    def test_refused_after_a_lost_answer(self, line: Engine, deadline: Deadline) -> None:
        """A permanent refusal after a lost answer leaves the outcome unknown."""
        line.plan = [LOST, REFUSED]
        with pytest.raises(SequenceUnavailable) as caught:
            WRITE(deadline)
        assert caught.value.outcome_unknown
