"""All scenarios of a strategy: groups of one to three requests, what they depend on, and what becomes of each send."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from tests.model.world import OWN_KEYS, TAKES_FIRST, Scenario

__all__ = ["scenarios"]

FIRST = ("lost", "never", "late", "later", "last", "twice", "ok", "conflict")
SECOND = ("ok", "lost", "late", "last", "bare", "busy", "unreasoned")
THIRD = ("ok", "late", "last", "bare")
OF_THE_COUNTER = ("ok", "lost", "late")

KINDS = ("check", "grow", "own", "plain", "pair")
OTHERS: tuple[tuple[str, ...], ...] = ((), ("plain",), ("plain", "plain"), ("plain", "check"))
EVENTS = (
    (),
    ("", "turn"),
    ("", "back"),
    ("rival",),
    ("", "rival"),
    ("", "", "rival"),
    ("", "back", "turn"),
    ("", "back", "rival"),
    ("", "back", "", "turn"),
    ("", "back", "", "rival", "turn"),
)


def scenarios(strategy: str, *, stride: int = 1, begin: int = 0) -> Iterator[Scenario]:
    """Every `stride`-th scenario from this place on."""
    return islice(_all(strategy), begin, None, stride)


def _all(strategy: str) -> Iterator[Scenario]:
    owns = strategy in OWN_KEYS
    for first, others in product(KINDS, OTHERS):
        if first == "own" and not owns:
            continue
        kinds = (first, *others)
        for tokens, joins, holds in product(_tokens(len(kinds)), range(3 if others else 1), (True, False)):
            for events, fates in product(EVENTS, _fates(strategy)):
                yield Scenario(
                    strategy=strategy,
                    kinds=kinds,
                    tokens=tokens,
                    joins=joins,
                    fates=fates,
                    events=events,
                    holds_at_first=holds,
                )


def _tokens(count: int) -> Iterator[tuple[bool, ...]]:
    """Which requests have a token: each of the first two, or not."""
    for first in product((False, True), repeat=min(count, 2)):
        yield first + (False,) * (count - len(first))


def _fates(strategy: str) -> Iterator[tuple[str, ...]]:
    """What becomes of the first sends. Where values are taken first, the first send is that of the counter."""
    return product(*([OF_THE_COUNTER] if strategy in TAKES_FIRST else []), FIRST, SECOND, THIRD)
