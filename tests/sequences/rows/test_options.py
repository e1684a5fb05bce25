"""The keys of OPTIONS: which values each kind takes, and what is said of a wrong one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sequences.exceptions import InvalidSequence
from sequences.registry import parse_config
from sequences.rows.options import (
    Option,
    boolean,
    checked,
    checked_options,
    is_indexes,
    is_name,
    is_names,
    one_of,
    positive,
    whole,
)

CHOICE, FLAG, SECONDS, COUNT = one_of("update", "put"), boolean(True), positive(2.5), whole(7, 1, "a number from 1")


@pytest.mark.parametrize(
    ("option", "default", "wanted", "taken", "refused"),
    [
        (CHOICE, "update", "one of 'update', 'put'", ["update", "put"], ["add", "", None]),
        (FLAG, True, "True or False", [True, False], [0, 1, "True", None]),
        (SECONDS, 2.5, "a number above 0", [0.5, 1], [0, 0.0, -1, True, "1", None]),
        (COUNT, 7, "a number from 1", [1, 2], [0, -1, True, 1.0, "1", None]),
    ],
    ids=["one_of", "boolean", "positive", "whole"],
)
def test_each_kind(option: Option, default: Any, wanted: str, taken: list[Any], refused: list[Any]) -> None:
    """Each kind of option has a default, says what it must be, and takes that and nothing else."""
    assert (option.default, option.wanted) == (default, wanted)
    assert all(map(option.accepts, [default, *taken]))
    assert not any(map(option.accepts, refused))


def test_names() -> None:
    """A name is a text that is not empty; names are a list or a tuple of these, or none."""
    assert is_name("pk")
    assert not any(map(is_name, ["", None, 7]))
    assert all(map(is_names, [["pk", "sk"], ("pk",), []]))
    assert not any(map(is_names, ["pk", {"pk": "S"}, ["pk", ""], [7], None]))


@pytest.mark.parametrize(
    "indexes",
    [{}, {"abc": {"day": "S"}}, {"by-day_1.A": {"day": "S", "number": "N"}}, {"a" * 255: {"number": "N"}}],
    ids=["none", "one key", "two keys", "a long name"],
)
def test_indexes(indexes: Any) -> None:
    """An index has a name as DynamoDB takes it, and one or two keys with their types."""
    assert is_indexes(indexes)


@pytest.mark.parametrize(
    "indexes",
    [
        ["abc"],
        {"ab": {"day": "S"}},
        {"a" * 256: {"day": "S"}},
        {"by day": {"day": "S"}},
        {7: {"day": "S"}},
        {"abc": {}},
        {"abc": {"a": "S", "b": "S", "c": "S"}},
        {"abc": "S"},
        {"abc": {"": "S"}},
        {"abc": {"day": "B"}},
        {"abc": {"day": "S"}, "def": {}},
    ],
    ids=repr,
)
def test_no_indexes(indexes: Any) -> None:
    """What DynamoDB does not take as an index is refused, also beside another one."""
    assert not is_indexes(indexes)


def test_the_values() -> None:
    """What is given counts, and what is left out has its default."""
    known = {"write": CHOICE, "check": FLAG}
    assert checked("OPTIONS", known, {"write": "put"}) == {"write": "put", "check": True}
    assert checked("OPTIONS", known, {"check": False}) == {"write": "update", "check": False}


def test_a_wrong_value() -> None:
    """The message says which key is wrong, what it has, and what it must be."""
    wrong = "OPTIONS['check'] is 1; it must be True or False."
    with pytest.raises(InvalidSequence, match=f"^{re.escape(wrong)}$"):
        checked("OPTIONS", {"write": CHOICE, "check": FLAG}, {"write": "put", "check": 1})


def test_an_unknown_key() -> None:
    """The message names the sequence, its strategy without its module, and the options that this has."""
    config = parse_config("mine", {"STRATEGY": "sequences.strategies.AtomicCounter", "OPTIONS": {"check": False}})
    assert checked_options({"check": FLAG}, config) == {"check": False}
    wrong = "SEQUENCES['mine']['OPTIONS']: AtomicCounter has no option 'check'; it has group, write."
    with pytest.raises(InvalidSequence, match=f"^{re.escape(wrong)}$"):
        checked_options({"write": CHOICE, "group": FLAG}, config)
