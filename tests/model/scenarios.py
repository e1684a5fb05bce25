"""All scenarios of a strategy: groups of one to three requests, what they depend on, and what becomes of each send."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, product
from typing import Any

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
DEPENDING = {"check", "grow", "own"}
RIVALS = ((), ("rival",), ("", "rival"), ("", "", "rival"), ("", "", "", "rival"))
"""The events that differ where no request is DEPENDING on anything."""


def scenarios(strategy: str, *, stride: int = 1, begin: int = 0) -> Iterator[Scenario]:
    """Every `stride`-th scenario from this place on."""
    parts = chain.from_iterable(_parts(strategy))
    for kinds, tokens, joins, holds, events, fates in islice(parts, begin, None, stride):
        yield Scenario(
            strategy=strategy,
            kinds=kinds,
            tokens=tokens,
            joins=joins,
            fates=fates,
            events=events,
            holds_at_first=holds,
        )


def _parts(strategy: str) -> Iterator[Iterator[Any]]:
    """The parts of the scenarios of each group of requests, without those that play like another.

    Where values are taken first, all requests are one call: none joins later.
    """
    for first, others in product(KINDS, OTHERS):
        if first == "own" and strategy not in OWN_KEYS:
            continue
        kinds = (first, *others)
        joins = range(3 if others and strategy not in TAKES_FIRST else 1)
        holds, events = ((True, False), EVENTS) if DEPENDING & {*kinds} else ((True,), RIVALS)
        yield product([kinds], _tokens(len(kinds)), joins, holds, events, _fates(strategy))


def _tokens(count: int) -> Iterator[tuple[bool, ...]]:
    """Which requests have a token: each of the first two, or not."""
    for first in product((False, True), repeat=min(count, 2)):
        yield first + (False,) * (count - len(first))


def _fates(strategy: str) -> Iterator[tuple[str, ...]]:
    """What becomes of the first sends. Where values are taken first, the first send is that of the counter."""
    return product(*([OF_THE_COUNTER] if strategy in TAKES_FIRST else []), FIRST, SECOND, THIRD)
