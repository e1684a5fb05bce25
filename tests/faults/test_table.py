"""Strategy x fault x (same call, later call, other process): the outcome is the promised one.

A fault hits one request of a call, and in turn each request of the call. "Same call": the call goes on after the
fault. "Later call" and "other process": everything after the fault is refused, or every transaction if the fault hits
transactions alone, so that the call ends with an error. Then the request is repeated with the same idempotency token.
The flags of the strategy say what is promised:

- always: one request has one item, stored under the answered value; values are unique
- always: a fault that the call survives costs no value
- `gapless`: the items have the values 1 to n, whatever failed and was repeated
- `ordered_across_processes`: later requests have larger values
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.utils.module_loading import import_string

from project.proof.faults.control import Proxy
from project.proof.faults.elsewhere import SEQUENCES, put_elsewhere
from project.proof.faults.plans import CANCELLATIONS, CHANGES, CUTS, LOSSES, REJECTIONS, Rule
from sequences import put_next
from sequences.capabilities import strategy_classes
from sequences.commit.retries import new_token, read
from sequences.exceptions import (
    GaveUp,
    IdempotencyMismatch,
    InvalidItem,
    SequenceContention,
    SequenceError,
    SequenceUnavailable,
    StorageRefused,
)
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.testing.embedded import Engine
from sequences.types import Allocation
from tests.kept_tables import ask
from tests.sequences.support import mark_listed

CANCELLED = [f"cancel-{reason}" for reason in CANCELLATIONS]
PERMANENT = {"AccessDeniedException", "cancel-ValidationError", "cancel-ItemCollectionSizeLimitExceeded"}
AMBIGUOUS = [*LOSSES, *CUTS, "TransactionInProgressException"]
NAMESAKES = {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ServiceUnavailable"}
"""Other names for the fate of another fault; `tests/sequences/dynamodb/test_errors.py` checks the fate of each name."""
FAULTS = [*LOSSES, *CUTS, *CHANGES, *(name for name in REJECTIONS if name not in NAMESAKES), *CANCELLED]
OF_TRANSACTIONS = {*CANCELLED, "TransactionInProgressException"}
"""Faults that hit transactions alone, so that their places count transactions alone."""
CERTAIN = ["ThrottlingException", "cancel-TransactionConflict"]
"""Faults that end one sending for certain, alone and in a transaction."""
BESIDE = {"lose-close", "late", "delay", *CERTAIN}
"""The faults of `ALSO`, and of what is one transaction with a token and without: few are enough."""
ALSO = {"transactional-beside", "optimistic-put"}
"""They have another key for the counter, or another write of it: else they are `transactional`, `optimistic-update`."""
ALIKE = {"lose-reset", "lose-500", "lose-checksum", "lose-truncated", "InternalServerError", "cancel-ThrottlingError"}
"""What a strategy cannot tell from another fault: all of them see one error. Few of them show that it is the one."""

FEW = {"sort-key", "atomic"}  # whose calls have every kind of write
WRITES = {"PutItem", "UpdateItem", "TransactWriteItems"}
SECONDS = {"late": 0.02, "late-hang": 0.2, "delay": 0.02, "duplicate": 0.02}
"""The length of a fault in seconds. Hangs last longer than the client waits."""


def can_strike(sequence: str, fault: str, *, marked: bool = True) -> bool:
    """Whether a call of this sequence, with or without a token, makes a request that this fault can hit."""
    strategy: type[Strategy] = import_string(SEQUENCES[sequence]["STRATEGY"])
    transacts = marked or strategy.needs_transactions
    if fault in {*OF_TRANSACTIONS, "forget-request-token"}:
        return transacts
    if fault in {"ReplicatedWriteConflictException", "TransactionConflictException"}:
        return strategy.supports_reserve or not transacts
    return True


def table(*faults: str, marked: bool = True) -> pytest.MarkDecorator:
    """Pairs of sequences and faults, without the pairs that are impossible or add nothing."""
    pairs = [
        (sequence, fault)
        for sequence, fault in itertools.product(SEQUENCES, faults)
        if can_strike(sequence, fault, marked=marked)
        and (fault in BESIDE or not (sequence in ALSO or (sequence == "transactional" and not marked)))
        and (sequence in FEW or fault not in ALIKE)
    ]
    return pytest.mark.parametrize(("sequence", "fault"), pairs)


@dataclass(frozen=True)
class Row:
    """A stored item: its value, its token, its title."""

    value: int
    token: str
    title: str


@dataclass
class Case:
    """One call under a fault, in a scope of its own. `engine` is a connection to the engine without the proxy."""

    engine: HTTPConnection
    proxy: Proxy
    sequence: str
    fault: str
    scope: str
    may_be_late: bool = True
    """Whether a request may be on its way to the engine."""

    def put(self, token: str | None, title: str = "the one") -> Allocation:
        """Store an item from this process."""
        return put_next(self.sequence, {"title": title}, scope=self.scope, idempotency_token=token)

    def strike(self, place: int, *, then_refuse: bool = False) -> None:
        """Let the fault hit the request at this place of the next call. Optionally refuse all like it after it."""
        rules = [Rule(fault=self.fault, skip=place, count=1, seconds=SECONDS.get(self.fault, 5))]
        if then_refuse:
            alike = "TransactWriteItems" if self.fault in OF_TRANSACTIONS else "*"
            rules.append(Rule(fault="AccessDeniedException", operation=alike, skip=place))
        self.proxy.follow(*rules)

    def struck(self) -> str | None:
        """The operation that the fault hit; None if the call had no request at that place."""
        log = self.proxy.log
        self.may_be_late = log.late > 0
        return log.faults[0][1] if log.faults and log.faults[0][2] == self.fault else None

    def rows(self) -> list[Row]:
        """The stored items of the scope, in the order of their values, after late requests have arrived."""
        if self.may_be_late:
            self.proxy.settle()
        return self.rows_now()

    def rows_now(self) -> list[Row]:
        """The stored items of the scope now, without waiting for late requests."""
        strategy = strategies[self.sequence]
        request = {
            "TableName": strategy.schema.table,
            "KeyConditionExpression": "pk = :scope",
            "ExpressionAttributeValues": {":scope": {"S": strategy.layout.partition(self.scope)}},
            "ConsistentRead": True,
        }
        answer = ask(self.engine, "Query", request)
        return [Row(int(i["sk"]["N"]), i["token"]["S"], i["title"]["S"]) for i in answer["Items"]]

    def judge(self, told: list[int]) -> list[int]:
        """Assert that the stored values are the answered ones, with the order and without gaps as promised."""
        values = [row.value for row in self.rows()]
        assert sorted(told) == values
        strategy = strategies[self.sequence]
        if strategy.ordered_across_processes:
            assert told == values
        if strategy.gapless:
            assert values == list(range(1, len(values) + 1))
        return values


@pytest.fixture(scope="module")
def connection(engine: Engine) -> Iterator[HTTPConnection]:
    """A connection to the engine without the proxy."""
    with closing(HTTPConnection(urlsplit(engine.endpoint).netloc)) as connection:
        yield connection


@pytest.fixture
def cases(
    connection: HTTPConnection,
    behind_proxy: Proxy,
    scope: str,
    sequence: str,
    fault: str,
    request: pytest.FixtureRequest,
) -> Iterator[Case]:
    """A case for each place of a call, without end. The test stops when the call has no request at the place."""
    if fault.endswith("-hang"):
        request.getfixturevalue("impatient")
    strategies[sequence].lives.bind(read)  # a process asks once: whichever test comes first would meet it
    scopes = (listed(sequence, f"{scope}-{n}") for n in itertools.count())
    return (Case(connection, behind_proxy, sequence, fault, each) for each in scopes)


def listed(sequence: str, scope: str) -> str:
    """The scope, which this process takes for listed: that happens once in its life (see `test_scope_list`)."""
    mark_listed(sequence, scope)
    return scope


def attempt(case: Case, token: str | None) -> Allocation | SequenceError:
    """The answer or the error of a call. Errors of other kinds fail the test."""
    try:
        return case.put(token)
    except SequenceError as error:
        return error


@table(*FAULTS)
def test_same_call(cases: Iterator[Case]) -> None:
    """With a token a call survives a retryable fault. For a permanent one it raises, and nothing is stored."""
    _strike_every_place(cases, "a token")


@table(*FAULTS, marked=False)
def test_same_call_without_token(cases: Iterator[Case]) -> None:
    """Without a token a call survives a retryable fault too, and a lost answer makes no second item."""
    _strike_every_place(cases, None)


def _strike_every_place(cases: Iterator[Case], token: str | None) -> None:
    struck = 0
    for place, case in enumerate(cases):
        case.strike(place)
        answer = attempt(case, token)
        if case.struck() is None:
            break
        struck += 1
        if isinstance(answer, SequenceError):
            assert case.fault in PERMANENT
            assert isinstance(answer, StorageRefused | InvalidItem)
            assert case.rows() == []
            case.judge([case.put(token).value, case.put(None, "the next").value])
        else:
            assert not answer.replayed
            values = case.judge([answer.value, case.put(None, "the next").value])
            assert values == [1, 2]  # a lost answer costs no value
    assert struck


@table(*AMBIGUOUS, *CERTAIN)
def test_later_call(cases: Iterator[Case]) -> None:
    """After a call that failed, a repeat by the same process stores one item."""
    for place, case in enumerate(cases):
        told = _fail(case, place)
        if told is None:
            break
        again = case.put("a token")
        assert told in (0, again.value)
        case.judge([again.value, case.put(None, "the next").value])
        assert case.put("a token").value == again.value
    assert place, "the fault struck nothing"


@table("lose-close", "drop-close", "late", "late-hang")
def test_other_process(cases: Iterator[Case], other_process: ProcessPoolExecutor) -> None:
    """After a call that failed, a repeat by another process stores one item."""
    for place, case in enumerate(cases):
        told = _fail(case, place)
        if told is None:
            break
        item = {"title": "the one"}
        value, _ = other_process.submit(put_elsewhere, case.sequence, item, case.scope, "a token").result()
        assert told in (0, value)
        case.judge([value, case.put(None, "the next").value])
        again = case.put("a token")
        assert (again.value, again.replayed) == (value, True)
    assert place, "the fault struck nothing"


def _fail(case: Case, place: int) -> int | None:
    """Make the call fail at a place. Returns 0 if it failed, its value if not, None if it has no such place."""
    case.strike(place, then_refuse=True)
    answer = attempt(case, "a token")
    operation = case.struck()
    case.proxy.calm()
    if operation is None:
        return None
    if isinstance(answer, Allocation):
        return answer.value
    if operation in WRITES and case.fault in AMBIGUOUS:
        assert isinstance(answer, SequenceUnavailable)
        assert answer.outcome_unknown
    return 0


@table("lose-close", "late")
def test_request_token_forgotten(cases: Iterator[Case]) -> None:
    """Exactness does not rest on the engine's memory of a transaction, which lasts ten minutes."""
    for place, case in enumerate(cases):
        case.proxy.follow(Rule(fault=case.fault, skip=place, count=1, seconds=0.02), Rule(fault="forget-request-token"))
        answer = case.put("a token")
        if case.fault not in case.proxy.log.names:
            break
        assert not answer.replayed
        case.judge([answer.value, case.put(None, "the next").value])
    assert place, "the fault struck nothing"


@table("lose-close", "late")
def test_another_writer_between(cases: Iterator[Case], other_process: ProcessPoolExecutor) -> None:
    """An answer is lost, another process writes, and then the write is repeated: it is found again."""
    for place, case in enumerate(cases):
        case.proxy.follow(
            Rule(fault=case.fault, skip=place, count=1, seconds=0.02),
            Rule(fault="delay", skip=place, count=1, seconds=0.05),
        )
        with ThreadPoolExecutor(1) as thread:
            first = thread.submit(case.put, "a token")
            while not case.struck() and not first.done():
                time.sleep(0.001)
            if not case.struck():
                break
            other = other_process.submit(
                put_elsewhere, case.sequence, {"title": "the other"}, case.scope, None
            ).result()
            told = {first.result().value: "the one", other[0]: "the other"}
        assert {row.value: row.title for row in case.rows()} == told
        assert len(told) == 2
        if strategies[case.sequence].gapless:
            assert sorted(told) == [1, 2]
    assert place, "the fault struck nothing"


@table("lose-close")
def test_token_for_another_item(cases: Iterator[Case]) -> None:
    """A token that was used for another item is refused, whether or not its first answer was lost."""
    case = next(cases)
    case.strike(0)
    case.put("a token")
    case.proxy.calm()
    with pytest.raises(IdempotencyMismatch):
        case.put("a token", "another title")
    assert [row.title for row in case.rows()] == ["the one"]


def writes(fault: str, **rule: Any) -> list[Rule]:
    """Rules that hit writes and let reads pass."""
    return [Rule(fault=fault, operation=operation, **rule) for operation in sorted(WRITES)]


def hasty(case: Case) -> Case:
    """The same case for the same strategy with a short deadline."""
    sequence = f"hasty-{case.sequence}"
    strategies[sequence].lives.bind(read)
    return replace(case, sequence=sequence, scope=listed(sequence, case.scope))


def repeated(case: Case, token: str) -> int:
    """The value of a request that is repeated until it is answered: a busy engine may be slower than the deadline."""
    answers = (attempt(case, token) for _ in range(300))
    return next(answer.value for answer in answers if isinstance(answer, Allocation))


def given_up(cases: Iterator[Case], *rules: Rule) -> tuple[Case, GaveUp]:
    """A case, and the error of its call that was tried more than once, and answered each time.

    Where a busy machine lets one attempt take all the time, the next case is tried.
    """
    for case in map(hasty, itertools.islice(cases, 20)):
        case.proxy.follow(*rules)
        error = attempt(case, "a token")
        case.proxy.calm()
        answered = not any(words in str(error) for words in ("the answer was lost", "the deadline has passed"))
        if isinstance(error, GaveUp) and error.attempts > 1 and answered:
            return case, error
    pytest.fail("no call was tried again, and answered each time")


@table("lose-500", "ThrottlingException", "cancel-TransactionConflict")
def test_giving_up(cases: Iterator[Case], fault: str) -> None:
    """A fault that does not end is retried and then reported: contention or not, outcome known or unknown."""
    case, error = given_up(cases, *writes(fault))
    assert isinstance(error, SequenceContention if fault.startswith("cancel-") else SequenceUnavailable)
    assert error.outcome_unknown == (fault == "lose-500")
    assert len(case.rows()) <= error.outcome_unknown
    case.judge([repeated(case, "a token")])


@table("lose-close", "drop-close")
def test_an_unknown_outcome_stays_unknown(cases: Iterator[Case], fault: str) -> None:
    """After a lost answer, certain errors do not make the outcome known."""
    case, error = given_up(cases, *writes(fault, count=1), *writes("ThrottlingException"))
    assert isinstance(error, SequenceUnavailable)
    assert error.outcome_unknown
    case.judge([repeated(case, "a token")])


@table("AccessDeniedException", "cancel-ValidationError", "cancel-ItemCollectionSizeLimitExceeded")
@pytest.mark.parametrize("action", [0, -1])
def test_permanent_failures_are_raised_at_once(cases: Iterator[Case], fault: str, action: int) -> None:
    """A permanent error is raised after one attempt, before the deadline, and nothing is stored."""
    case = next(cases)
    case.proxy.follow(Rule(fault=fault, action=action))
    error = attempt(case, "a token")
    assert isinstance(error, StorageRefused | InvalidItem)
    assert len(case.proxy.log.faults) == 1
    case.proxy.calm()
    assert case.rows() == []


@table("delay")
def test_partition(cases: Iterator[Case]) -> None:
    """During a partition a call ends with an error and stores nothing; after it the repeat is stored once."""
    case = hasty(next(cases))
    case.proxy.partition()
    try:
        error = attempt(case, "a token")
        assert isinstance(error, SequenceUnavailable)
        assert case.rows_now() == []
    finally:
        case.proxy.heal()
    case.judge([repeated(case, "a token"), repeated(case, "another token")])


@table("lose-close")
def test_two_repeats_at_the_same_moment(cases: Iterator[Case], other_process: ProcessPoolExecutor) -> None:
    """Repeats by threads and by another process at one moment, some answers lost: one item, one answer."""
    case = next(cases)
    case.proxy.follow(Rule(fault=case.fault, probability=0.2))
    elsewhere = other_process.submit(put_elsewhere, case.sequence, {"title": "the one"}, case.scope, "a token")
    with ThreadPoolExecutor(8) as threads:
        told = {answer.value for answer in threads.map(case.put, ["a token"] * 8)}
    told.add(elsewhere.result()[0])
    case.proxy.calm()
    assert len(told) == 1
    assert [row.value for row in case.rows()] == list(told)
    if strategies[case.sequence].exactly_once:
        case.judge([*told, case.put("another token").value])


def test_every_strategy_meets_the_faults() -> None:
    """Each class that comes with the app is tested with lost answers."""
    assert set(strategy_classes()) == {import_string(entry["STRATEGY"]) for entry in SEQUENCES.values()}


def test_tokens_do_not_follow_a_seed() -> None:
    """Two processes that seed `random` alike must not take each other's items for their own."""
    random.seed(1)
    token = new_token()
    random.seed(1)
    assert new_token() != token
