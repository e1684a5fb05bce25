"""Scopes are found by the keys of their rows, or listed by their names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import Settings

from sequences.exceptions import InvalidScope
from sequences.ops.register import _pattern, _scope, register
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.types import Dated, Scope
from tests.sequences.support import Wire

PATH = "sequences.strategies"
NONE = "no scope has this key"


def scope_of(entry: dict[str, Any], key: str, settings: Settings) -> Scope:
    """The scope whose rows have this partition key, or NONE."""
    settings.SEQUENCES = {"letters": entry}
    found = _pattern(strategies["letters"]).fullmatch(key)
    return _scope(found) if found else NONE


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        ("letters#A", "A"),
        ("letters#A#B\n", "A#B\n"),
        ("letters##", None),
        ("letters###", NONE),
        ("letters#", NONE),
        ("lettersx#A", NONE),
        ("#letters#A", NONE),
        ("#counter#letters#A", NONE),
    ],
)
def test_the_keys_of_items(key: str, scope: Scope, settings: Settings) -> None:
    """They have the name of the sequence and the scope, in which there may be any characters."""
    assert scope_of({"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum"}, key, settings) == scope


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        ("A of 2026 in A", Dated("A", "2026")),
        ("A of 2026 in B", NONE),
        ("# of 2026 in #", Dated(None, "2026")),
        ("A of 20#26 in A", NONE),
    ],
)
def test_the_keys_of_periods(key: str, scope: Scope, settings: Settings) -> None:
    """Their places are those of the option `partition`; what stands there twice is twice the same."""
    options = {"partition": "{scope} of {period} in {scope}"}
    entry = {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", "PERIOD": "year", "OPTIONS": options}
    assert scope_of(entry, key, settings) == scope


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        ("#counter#letters#A", "A"),
        ("#counter#letters##", None),
        ("#counter#lettersx#A", NONE),
        ("letters#A", NONE),
    ],
)
def test_the_keys_of_counters(key: str, scope: Scope, settings: Settings) -> None:
    """Where counters are beside the items, theirs tell the scopes."""
    options = {"counter_table": "sequence_items"}
    entry = {"STRATEGY": f"{PATH}.transactional.TransactionalCounter", "OPTIONS": options}
    assert scope_of(entry, key, settings) == scope


@pytest.mark.usefixtures("configured")
class TestNamed:
    def test_scopes_by_their_names(self, scope: str, wire: Wire) -> None:
        """Each is listed when it is taken; no table is read for them."""
        listed = register("sort-key", [scope, None])
        assert wire.operations == []
        assert list(listed) == [scope, None]
        assert "Scan" not in wire.operations

    def test_their_period(self, scope: str, install: Callable[..., Strategy]) -> None:
        """They are listed in the period that is named, or in today's."""
        install("sort-key", PERIOD="year")
        assert list(register("sort-key", [scope], period="2019")) == [Dated(scope, "2019")]
        assert list(register("sort-key", [scope])) == [Dated(scope, f"{datetime.now(UTC):%Y}")]

    def test_what_is_no_scope(self, scope: str) -> None:
        """A name that no scope has is refused before it is listed."""
        with pytest.raises(InvalidScope):
            list(register("sort-key", ["a\nb"]))
