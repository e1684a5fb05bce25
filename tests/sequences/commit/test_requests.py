"""The parts of a group commit: what a request takes of a write, its one answer, and which writes exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

from sequences.actions import Check
from sequences.commit.requests import (
    Committer,
    Decision,
    Pending,
    PreparedWrite,
    PutRequest,
    Refusal,
    ReserveRequest,
    Role,
    allocated,
)
from sequences.commit.retries import Deadline
from sequences.exceptions import CancellationReason, InvalidItem, SequenceExhausted, WriteCancelled

RIDER = Check("customers", {"pk": "Ann"})
BROUGHT = {"pk": {"S": "a key"}}


def write(*values: int, roles: tuple[Role, ...] = ()) -> PreparedWrite:
    """A write that uses these values."""
    return PreparedWrite(operation="", request={}, pendings=(), values=values, token="", roles=roles)


@pytest.mark.parametrize(
    ("asked", "items", "actions", "units"),
    [
        (PutRequest(item={}), 1, 1, 1),
        (PutRequest(item={}, size=3000), 1, 1, 3),
        (PutRequest(item={}, token="one"), 1, 2, 2),
        (PutRequest(item=None, token="one", count=5), 0, 1, 1),
        (PutRequest(item={}, more=(({}, None), ({}, None)), count=3, token="one", size=1500), 3, 4, 4),
        (PutRequest(item={}, also=(RIDER,)), 1, 2, 2),
    ],
)
def test_what_a_request_takes(asked: PutRequest, items: int, actions: int, units: int) -> None:
    """It takes an action for each item, its marker and what rides with it, and a unit for each of them or each KB."""
    assert (len(asked.items), asked.actions, asked.units) == (items, actions, units)


def test_the_items_of_a_request() -> None:
    """Items come in the order of their values, each with the key that it brings."""
    request = PutRequest(item={"n": {"N": "1"}}, own_key=BROUGHT, more=(({"n": {"N": "2"}}, None),))
    assert request.items == (({"n": {"N": "1"}}, BROUGHT), ({"n": {"N": "2"}}, None))


def test_what_two_requests_must_not_share() -> None:
    """A key that is brought, a token, and a row of what rides with it; without them no two requests share anything."""
    plain = PutRequest(item={})
    assert plain.identities == (f"{id(plain)}",)
    assert PutRequest(item={}, own_key=BROUGHT).identities == (repr(BROUGHT),)
    full = PutRequest(item={}, own_key=BROUGHT, token="one", more=(({}, BROUGHT), ({}, None)), also=(RIDER,))
    assert full.identities == (repr(BROUGHT), "token one", repr(BROUGHT), "customers {'pk': 'Ann'}")
    values = ReserveRequest(count=5)
    assert values.identities == (f"{id(values)}",)
    assert (values.actions, values.units, values.size, values.also) == (1, 1, 0, ())


def test_what_a_askedhas_cost() -> None:
    """A new request has cost nothing, and each share is added to the others of its kind."""
    pending = Pending(PutRequest(item={}))
    assert (pending.value, pending.rest, pending.attempts, pending.group_size, pending.deadline) == (
        None,
        (),
        0,
        0,
        None,
    )
    pending.charge()
    assert (pending.write_units, pending.read_units) == (0.0, 0.0)
    pending.charge(write_units=2.0)
    pending.charge(write_units=0.5, read_units=1.5)
    assert (pending.write_units, pending.read_units) == (2.5, 1.5)


def test_its_one_answer() -> None:
    """The first answer counts, and the first refusal; an error is raised."""
    pending = Pending(PutRequest(item={}))
    first, second = SequenceExhausted("The first."), InvalidItem("The second.")
    assert (pending.answer, pending.refusal) == (None, None)
    for error in (first, second):
        pending.refuse(error)
        pending.settle(error)
    assert (pending.answer, pending.refusal) == (first, first)
    with pytest.raises(SequenceExhausted):
        allocated(pending)


@pytest.mark.parametrize(
    ("one", "other", "excludes"), [((1, 2), (2, 3), True), ((1, 2), (3, 4), False), ((), (), False), ((5,), (5,), True)]
)
def test_writes_that_exclude_each_other(one: tuple[int, ...], other: tuple[int, ...], excludes: bool) -> None:
    """At most one of two writes that use the same value can be stored."""
    assert write(*one).excludes(write(*other)) is excludes


def test_why_each_action_was_refused() -> None:
    """Each action has its reason; a write that is no transaction has but one, and no roles."""
    roles, reasons = (Role("counter"), Role("item", 3)), (CancellationReason("None"), CancellationReason("Other"))
    error = WriteCancelled("no", reasons)
    assert Role("counter") == ("counter", 0, 0)
    assert Refusal("ABC", write(1, roles=roles), error, Deadline()).reasons == [*zip(roles, reasons, strict=True)]
    assert Refusal("ABC", write(1), error, Deadline()).reasons == []


def test_what_a_committer_does_by_itself() -> None:
    """It takes no turns, and what is refused decides nothing of earlier writes."""
    refusal = Refusal("ABC", write(1), WriteCancelled("no", ()), Deadline(), undecided=(write(2),))
    committer = _Committer()
    assert committer.decide(refusal) == Decision(refusal, None, ())
    with committer.exclusively("ABC", Deadline()) as others_wait:
        assert others_wait is False


class _Committer(Committer):
    """One that prepares nothing."""

    def prepare(self, *_: Any) -> None:
        """Nothing is prepared."""

    def committed(self, *_: Any) -> None:
        """Nothing is stored."""

    def refused(self, *_: Any) -> None:
        """Nothing is refused."""
