"""Where a table has copies, as `DescribeTable` says it, and which of its lives are the same."""

from __future__ import annotations

from typing import Any

import pytest

from sequences.dynamodb.lives import Copies, KnownLife, KnownLives, TableLife, copies_in

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/tickets"
HERE, AMERICA, FRANCE = ({"RegionName": name} for name in ("eu-west-1", "us-east-1", "eu-west-3"))
EVERYWHERE = ("eu-west-1", "eu-west-3", "us-east-1")


@pytest.mark.parametrize(
    ("about", "copies", "told"),
    [
        ({}, ((), True, True, ""), "one Region"),
        ({"TableArn": ARN}, ((), True, True, ""), "one Region"),
        ({"TableArn": ARN, "Replicas": [HERE]}, ((), True, True, ""), "one Region"),
        (
            {"TableArn": ARN, "Replicas": [AMERICA, HERE, FRANCE]},
            (EVERYWHERE, False, True, ""),
            "eventually consistent, with eu-west-1, eu-west-3, us-east-1",
        ),
        (
            {"TableArn": ARN, "Replicas": [AMERICA, FRANCE], "MultiRegionConsistency": "STRONG"},
            (EVERYWHERE, True, False, ""),
            "strongly consistent, with eu-west-1, eu-west-3, us-east-1",
        ),
        (
            {"TableArn": ARN, "Replicas": [FRANCE], "MultiRegionConsistency": "EVENTUAL"},
            (EVERYWHERE[:2], False, True, ""),
            "eventually consistent, with eu-west-1, eu-west-3",
        ),
        (
            {"TableArn": ARN, "GlobalTableVersion": "2017.11.29"},
            (("eu-west-1", "others"), False, True, ""),
            "eventually consistent, with eu-west-1, others",
        ),
        ({"TableArn": ARN, "GlobalTableVersion": "2019.11.21"}, ((), True, True, ""), "one Region"),
        (
            {"Replicas": [FRANCE]},
            (("this one", "eu-west-3"), False, True, ""),
            "eventually consistent, with this one, eu-west-3",
        ),
        ({"Replicas": [{}]}, ((), True, True, ""), "one Region"),
        (
            {"TableArn": "arn:scylla:alternator:ks:scylla:table/tickets"},
            ((), True, False, "ScyllaDB Alternator"),
            "ScyllaDB Alternator",
        ),
    ],
)
def test_copies(about: dict[str, Any], copies: tuple[Any, ...], told: str) -> None:
    """The Region of the table comes first, then the others that have a copy; only what agrees later takes both."""
    found = copies_in(about)
    assert (found, found.told) == (Copies(*copies), told)
    assert found.is_global is (copies[0] != ())


def test_one_region() -> None:
    """A table that is in one Region has no copies, also where that one is named."""
    assert not Copies(("eu-west-1",)).is_global


@pytest.mark.parametrize(
    ("one", "other", "is_another"),
    [
        (("here", "a", 1), ("here", "a", 2), False),
        (("here", "a", 1), ("here", "b", 1), True),
        (("here", "a", 1), ("there", "a", 1), True),
        (("here", "", 1), ("here", "a", 1), False),
        (("here", "a", 1), ("here", "", 2), True),
        (("here", "", 1), ("there", "", 1), True),
    ],
)
def test_another_life(one: tuple[str, str, int], other: tuple[str, str, int], is_another: bool) -> None:
    """Two identities tell it; without one of them only whether the table was missing in between."""
    first, second = TableLife(*one), TableLife(*other)
    assert first.is_another(second) is second.is_another(first) is is_another


def test_what_is_not_known_of_a_life() -> None:
    """A life without more has no copies, no keys and no id, and is told by its place and identity."""
    life = TableLife("here", "made", 0)
    assert (life.copies, life.keys, life.table_id, str(life)) == (None, (), "", "here|made")


def test_lives_are_forgotten() -> None:
    """No table was missing at first; when one is, nothing is known any more."""
    lives = KnownLives()
    assert lives.epoch == 0
    lives.by_table["tickets"] = KnownLife(TableLife("here", "made", lives.epoch), 1.0, 0.0)
    lives.forget()
    assert (lives.by_table, lives.epoch != 0) == ({}, True)
