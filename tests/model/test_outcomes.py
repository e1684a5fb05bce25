"""No answer contradicts what is stored in the end, whatever becomes of the sends of a write.

There are 500,000 to 740,000 scenarios of each strategy, and a run looks at every STRIDE-th. `MODEL_STRIDE=1` looks at
all of them, which takes hours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import product

import pytest
from pytest_django import Settings

from sequences.commit.requests import PreparedWrite
from sequences.rows.refusals import Refusals
from sequences.types import Allocation
from tests.model.scenarios import scenarios
from tests.model.world import OWN_KEYS, STRATEGIES, TAKES_FIRST, Scenario, World, violations

STRIDE = int(os.environ.get("MODEL_STRIDE", "1801"))  # a prime, so that it meets every combination of a few choices
SHARDS = 2


@pytest.fixture(autouse=True)
def _configured(settings: Settings) -> None:
    settings.TABLE_PREFIX, settings.SEQUENCES = "", {}


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_answers_are_true(strategy: str, shard: int) -> None:
    """Every request is stored as it was told, once, and refused for certain only if it is never stored."""
    chosen = scenarios(strategy, stride=STRIDE * SHARDS, begin=STRIDE * shard)
    assert [f"{text}: {scenario}" for scenario in chosen for text in violations(scenario)] == []


def late_and_refused(strategy: str, kind: str, before: str = "") -> Iterator[Scenario]:
    """A first send that arrives late, and whose repeat is refused because of the first request.

    The first scenarios are those that go wrong soonest.
    """
    of_the_counter = (("ok",),) if strategy in TAKES_FIRST else ()
    some_fates = product(*of_the_counter, ("later", "late", "last"), ("ok",), ("ok", "busy", "conflict"))
    some_events = (("back", "turn"), ("back",), ("back", "", "turn"))
    some_requests = ((("plain",), False), (("plain",), True), ((), False))
    for fates, events, (others, has_token) in product(some_fates, some_events, some_requests):
        yield Scenario(
            strategy=strategy,
            kinds=(kind, *others),
            tokens=(has_token, *[False for _ in others]),
            fates=fates,
            events=("",) * (len(fates) - 3) + (before, *events),
        )


def found(strategy: str, kind: str, before: str = "") -> Iterator[str]:
    """What the model finds there, without numbers and the rest of the error."""
    for scenario in late_and_refused(strategy, kind, before):
        for text in violations(scenario):
            yield re.sub(r"\(['\"].*|: \[.*", "", text)


def finds(strategy: str, kind: str, *wanted: str) -> bool:
    """Whether the model finds all of these there. When it has, it looks no further."""
    missing = {*wanted}
    for text in found(strategy, kind):
        missing.discard(text)
        if not missing:
            return True
    return False


class TestBrokenRules:
    """The model finds what goes wrong when a part of the rule is taken out."""

    @pytest.mark.parametrize(
        ("kind", "error"), [("check", "AlsoRefused"), ("grow", "InvalidItem"), ("own", "ItemExists")]
    )
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_a_refusal_that_ends_a_write(
        self, strategy: str, kind: str, error: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If a refusal ends a write whose first send may arrive, others are stored twice, and it is stored itself."""
        if kind == "own" and strategy not in OWN_KEYS:
            return
        assert [*found(strategy, kind)] == []
        decide = Refusals.decide
        monkeypatch.setattr(Refusals, "decide", lambda *given: decide(*given)._replace(undecided=()))
        assert finds(strategy, kind, f"A was refused for certain ({error}", "B is stored 2 times")

    @pytest.mark.parametrize("strategy", ["sort-key", "transactional", "one-file"])
    def test_a_number_that_is_not_shared(self, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """If others are written under numbers that the undecided write does not have, they are stored twice."""
        monkeypatch.setattr(PreparedWrite, "excludes", lambda self, other: True)
        assert finds(strategy, "check", "B is stored 2 times")

    @pytest.mark.parametrize("strategy", ["sort-key", "one-file"])
    def test_a_token_that_is_taken_for_a_sign(self, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the markers of undecided requests are not read, one that is stored under its number is refused."""
        monkeypatch.setattr(Refusals, "_signs_of_tokens", lambda *given: ())
        assert finds(strategy, "check", "A was refused for certain (AlsoRefused")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_table_life_that_becomes_known(strategy: str) -> None:
    """A write that was prepared before the life of the tables was known stays undecided when it is known."""
    assert [*found(strategy, "check", "known")] == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_engine_that_leaves_old_rows_out(strategy: str) -> None:
    """A lost answer costs nothing, although no refusal has the row on which its condition failed."""
    first = ("ok",) if strategy in TAKES_FIRST else ()
    bare = Scenario(strategy=strategy, kinds=("plain",), tokens=(False,), fates=(*first, "lost", *["bare"] * 50))
    (asked,) = World(bare).run()
    assert isinstance(asked.answer, Allocation)
    assert asked.answer.value == 1
