"""The option --cover leaves out combinations of parameters, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from project.paths import ROOT
from project.proof.engines import BRIEF, ROOM, SUITES, run_tests
from sequences.testing.contract import StrategyContract
from tests.fewer import COVER, fewer
from tests.sequences.support import SEQUENCES

KINDS = ["lost", "late", "doubled"]


@dataclass(eq=False)
class Item:
    """A test as pytest collects it, as far as it is looked at."""

    nodeid: str
    cls: type | None = None
    callspec: SimpleNamespace | None = None


def items(test: str, cls: type | None = None) -> list[Any]:
    """A test with every configuration and every kind of something."""
    return [
        Item(f"tests/test_some.py::{test}[{name}-{kind}]", cls, SimpleNamespace(params={"name": name, "kind": kind}))
        for name, kind in itertools.product(SEQUENCES, KINDS)
    ]


def classes(names: Iterable[str]) -> set[str]:
    """The classes of configurations."""
    return {SEQUENCES[name]["STRATEGY"] for name in names}


def shown(kept: Iterable[pytest.Item], parameter: str) -> set[str]:
    """The values of a parameter in these tests."""
    return {item.callspec.params[parameter] for item in kept}  # type: ignore[attr-defined]


def test_every_strategy_and_every_other_value() -> None:
    """A test keeps each strategy and each other value, and so many pairs of them at most as it has such values."""
    for n in range(50):
        kept = fewer(items(f"test_{n}"), "values")
        assert classes(shown(kept, "name")) == classes(SEQUENCES)
        assert shown(kept, "kind") == set(KINDS)
        assert len(kept) <= len(classes(SEQUENCES)) + len(KINDS)


def test_every_pair() -> None:
    """Each strategy meets each other value, once."""
    wanted = sorted(itertools.product(classes(SEQUENCES), KINDS))
    for n in range(50):
        kept = [item.callspec.params for item in fewer(items(f"test_{n}"), "pairs")]  # type: ignore[attr-defined]
        assert sorted((SEQUENCES[one["name"]]["STRATEGY"], one["kind"]) for one in kept) == wanted


@pytest.mark.parametrize("cover", COVER)
def test_configurations_take_turns(cover: str) -> None:
    """No configuration is left out of all tests, and the same ones stay in every process."""
    tests = [item for n in range(50) for item in items(f"test_{n}")]
    kept = fewer(tests, cover)
    assert shown(kept, "name") == set(SEQUENCES)
    assert kept == fewer(tests, cover) == [item for item in tests if item in kept]


@pytest.mark.parametrize("cover", COVER)
def test_the_contract_is_whole(cover: str) -> None:
    """Every configuration is held to every line of the contract."""
    whole = items("test_threads", type("TestContract", (StrategyContract,), {}))
    assert fewer(whole, cover) == whole


@pytest.mark.parametrize("cover", COVER)
def test_tests_without_parameters(cover: str) -> None:
    """They stay."""
    alone: Any = Item("tests/test_some.py::test_alone")
    assert fewer([alone], cover) == [alone]


@pytest.mark.parametrize("place", [*BRIEF, *itertools.chain(*SUITES.values())])
def test_places(place: str) -> None:
    """What `make engines` runs is there."""
    assert (ROOT / ROOM / place).exists()


def test_a_suite_without_tests() -> None:
    """A run of `make engines` that finds no test has failed."""
    assert run_tests(["nowhere"], options=()).failed == 1
