"""The scopes of a sequence, as lists and pages look at them."""

from __future__ import annotations

import pytest

from sequences import changes, put_next
from sequences.exceptions import OperationNotSupported, SequenceFrozen
from sequences.registry import strategies
from tests.sequences.support import make

pytestmark = pytest.mark.usefixtures("configured")


def listed(cursor: str | None, limit: int, period: str = "", prefix: str = "") -> tuple[list[str], str | None]:
    """Two scopes, whatever is asked for."""
    return ["a", "b"], None


def bare(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """Two scopes, by a function that cannot search."""
    return ["a", "b"], None


@pytest.mark.parametrize("name", ["sort-key", "transactional", "transactional-beside"])
def test_a_period_is_searched_where_there_is_one(name: str) -> None:
    """A sequence without periods has none to search by, though its function would take one."""
    function = f"{__name__}.listed"
    assert make(name, scopes=function).scopes.searches("prefix")
    assert not make(name, scopes=function).scopes.searches("period")
    assert make(name, scopes=function, PERIOD="year").scopes.searches("period")


@pytest.mark.parametrize(("name", "searches"), [("sort-key", False), ("transactional", True)])
def test_a_list_by_itself(name: str, searches: bool) -> None:
    """The table of counters is a list whatever the option says; elsewhere nothing is searched without one."""
    scopes = make(name, scopes=None, PERIOD="year").scopes
    assert [scopes.searches(asked) for asked in ("prefix", "period")] == [searches, searches]


def test_a_function_that_cannot_search() -> None:
    """What the function does not take is refused by name, and all scopes are listed without it."""
    scopes = make("sort-key", scopes=f"{__name__}.bare").scopes
    with pytest.raises(OperationNotSupported, match=r"cannot be searched by prefix: .* an argument 'prefix'"):
        scopes.page(None, 10, prefix="a")
    counters, cursor = scopes.page(None, 10)
    assert ([counter.scope for counter in counters], cursor) == (["a", "b"], None)


def test_the_free_value(scope: str) -> None:
    """It is START, then the value after the last one, and none while the scope is frozen."""
    scopes = strategies["sort-key"].scopes
    assert scopes.free_value(scope) == 1
    put_next("sort-key", {}, scope=scope)
    assert scopes.free_value(scope) == 2
    changes.freeze("sort-key", scope=scope, by="ada", reason="a test")
    with pytest.raises(SequenceFrozen, match="ada"):
        scopes.free_value(scope)
