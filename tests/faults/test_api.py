"""The requests of the Python API in the soak: what is drawn, what an answer means, and what is found stored."""

from __future__ import annotations

import random
from typing import Any

import pytest

import sequences
from project.proof.faults import api
from project.proof.faults.api import STRATEGIES, ThirdClient, ask_api, drawn, stored_by_api
from project.proof.faults.control import Proxy
from project.proof.faults.history import Asked, Word
from sequences.exceptions import AlsoRefused, InvalidItem, ItemExists, SequenceUnavailable, SequenceUnsound
from sequences.testing.embedded import Engine
from tests.faults.conftest import PREFIX


@pytest.fixture
def third(behind_proxy: Proxy, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> ThirdClient:
    """A third client beside the configured sequences."""
    monkeypatch.setattr(api, "PREFIX", PREFIX)
    return ThirdClient(engine.endpoint)


def stored(engine: Engine, asked: Asked) -> dict[str, list[Any]]:
    """What is stored in the scope of a request: the numbers of its items and notes, and the tally."""
    lines = list(stored_by_api(engine.endpoint, asked.scope))
    return {
        "stored": [line["number"] for line in lines if line["what"] == "stored"],
        "note": [line["number"] for line in lines if line["what"] == "note"],
        "tally": [line["count"] for line in lines if line["what"] == "tally"],
    }


def test_every_kind_is_drawn() -> None:
    """Requests for one item and for several, with and without a token, riders and a key of their own are drawn."""
    draws = random.Random(1)
    asked = [drawn(draws, f"{name}.A", "t", own_key=7) for name in STRATEGIES for _ in range(200)]
    assert {one.size for one in asked} == {1, 2, 3, 4, 5}
    assert {rider for one in asked for rider in one.also} == {"tally", "note", "flag", "vote"}
    assert {one.marked for one in asked} == {True, False}
    assert {one.scope for one in asked if one.own_key == 7} == {
        f"{name}.A" for name in STRATEGIES if name != "sort-key"
    }


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_rides_is_found(third: ThirdClient, engine: Engine, name: str, scope: str) -> None:
    """The tally and the note of a stored item are found, and those of a refused one are not."""
    asked = Asked(f"{name}.{scope}", "t", "t 1", also=("tally", "note", "flag", "vote"))
    third.change(asked.scope, 7, holds=False)
    assert ask_api(asked).what == "fail"
    assert stored(engine, asked) == {"stored": [], "note": [], "tally": [0]}
    third.change(asked.scope, 7, holds=True)
    word = ask_api(asked)
    assert word == Word("ok", word.number)
    assert stored(engine, asked) == {"stored": [word.number], "note": [word.number], "tally": [1]}


@pytest.mark.parametrize("name", STRATEGIES)
def test_items_together_are_found(third: ThirdClient, engine: Engine, name: str, scope: str) -> None:
    """Items that are asked for together have numbers that follow each other, and a repeat is a replay."""
    asked = Asked(f"{name}.{scope}", "t", "t 1", size=3)
    word = ask_api(asked)
    assert word.number is not None
    assert stored(engine, asked)["stored"] == [word.number, word.number + 1, word.number + 2]
    assert ask_api(asked) == word._replace(replayed=True)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "sort-key"])
def test_own_keys_are_found(third: ThirdClient, engine: Engine, name: str, scope: str) -> None:
    """A row of the third client is in the way of an item with its key, until it is gone. The item stays."""
    asked = Asked(f"{name}.{scope}", "t", "t 1", marked=False, own_key=7)
    third.change(asked.scope, 7, holds=False)
    assert ask_api(asked) == Word("fail", why="ItemExists")
    third.change(asked.scope, 7, holds=True)
    word = ask_api(asked)
    third.change(asked.scope, 7, holds=True)
    assert ask_api(asked) == Word("fail", why="ItemExists")
    assert stored(engine, asked)["stored"] == [word.number]


GAVE_UP = SequenceUnavailable("It is away.", attempts=1, seconds=1, outcome_unknown=True)
REFUSED = AlsoRefused("no", index=0, old={})


@pytest.mark.parametrize(
    ("asked", "error", "word"),
    [
        (Asked("atomic.A", "t", "t 1"), GAVE_UP, Word("unknown", why="SequenceUnavailable")),
        (Asked("atomic.A", "t", "t 1", also=("flag",)), REFUSED, Word("fail", why="AlsoRefused")),
        (Asked("atomic.A", "t", "t 1", also=("vote",)), InvalidItem("no"), Word("fail", why="InvalidItem")),
        (Asked("atomic.A", "t", "t 1", own_key=7), ItemExists("no"), Word("fail", why="ItemExists")),
        (Asked("atomic.A", "t", "t 1"), REFUSED, Word("fail", why=repr(REFUSED), wrong=True)),
        (Asked("atomic.A", "t", "t 1"), ItemExists("no"), Word("fail", why="ItemExists('no')", wrong=True)),
        (Asked("atomic.A", "t", "t 1"), SequenceUnsound("no"), Word("fail", why="SequenceUnsound('no')", wrong=True)),
        (Asked("atomic.A", "t", "t 1"), RuntimeError("no"), Word("unknown", why="RuntimeError('no')", wrong=True)),
    ],
)
def test_what_an_error_means(asked: Asked, error: Exception, word: Word, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that the request cannot cause is wrong. Any other one says whether the item may be stored."""

    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(sequences, "put_next", fail)
    assert ask_api(asked) == word
