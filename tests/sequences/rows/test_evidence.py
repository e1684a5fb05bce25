"""What a process remembers of values that were handed out."""

from __future__ import annotations

from unittest import mock

import pytest

from sequences.commit import host_memory
from sequences.rows.counter_memory import Evidence
from sequences.rows.lives import TableLives
from sequences.rows.lru import LRU
from sequences.rows.numbers import Numbers


def evidence(*others: int, life: str = "", own: LRU[int] | None = None) -> Evidence:
    """The evidence of one process; `others` are the first values of other Regions; a `life` is known."""
    numbers = Numbers(alias="orders", start=1, step=1 + len(others), maximum=99, others=others)
    lives = mock.Mock(spec=TableLives, known_as=life)
    return Evidence(numbers, lives, "items", str, own=LRU() if own is None else own)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What the processes of the host remember."""
    memory: dict[str, int] = {}
    monkeypatch.setattr(host_memory, "remembered", memory.get)
    monkeypatch.setattr(host_memory, "remember", memory.__setitem__)
    monkeypatch.setattr(host_memory, "forget", memory.pop)
    return memory


def test_it_only_rises() -> None:
    """A lower value that is confirmed later changes nothing; a higher one counts."""
    known = evidence()
    for value, highest in ((5, 5), (3, 5), (7, 7)):
        known.note("ABC", value)
        assert known.known("ABC") == highest
    assert known.known("XYZ") is None


def test_other_regions_do_not_count() -> None:
    """A value of another Region is not remembered here, and one of this Region is."""
    known = evidence(2)
    known.note(None, 4)
    assert known.known(None) is None
    known.note(None, 3)
    assert known.known(None) == 3


def test_what_is_left_to_other_processes(host: dict[str, int]) -> None:
    """A higher value is left, under a name that has the life of the tables, and the kind and the place of the scope."""
    known = evidence(life="first")
    known.note("ABC", 5)
    assert host == {"first|items ABC": 5}
    host.clear()
    known.note("ABC", 5)
    known.note("ABC", 4)
    assert host == {}


def test_what_other_processes_have_left(host: dict[str, int]) -> None:
    """The higher one of what this process and others know counts."""
    known = evidence(life="first")
    known.note("ABC", 5)
    for others, highest in ((4, 5), (6, 6)):
        host["first|items ABC"] = others
        assert known.known("ABC") == highest
    assert evidence(life="second").known("ABC") is None


def test_a_life_that_is_not_known(host: dict[str, int]) -> None:
    """Nothing is left or found where one life of a table cannot be told from the next."""
    host["|items ABC"] = host[""] = 9
    known = evidence()
    known.note("ABC", 5)
    assert known.known("ABC") == 5
    known.forget_scope("ABC")
    assert known.known("ABC") is None
    assert host == {"|items ABC": 9, "": 9}


def test_forgetting(host: dict[str, int]) -> None:
    """A scope that may begin again is forgotten on the host, too; with other tables, what this process knows is."""
    known = evidence(life="first")
    for scope in ("ABC", "XYZ"):
        known.note(scope, 5)
    known.forget_scope("ABC")
    assert (known.known("ABC"), host) == (None, {"first|items XYZ": 5})
    host.clear()
    assert known.known("XYZ") == 5
    known.forget()
    assert known.known("XYZ") is None


def test_a_memory_that_is_given() -> None:
    """It is used in the place of one of its own."""
    own: LRU[int] = LRU(1)
    evidence(own=own).note("ABC", 5)
    assert own.get("ABC") == 5
