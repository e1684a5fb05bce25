"""What a process knows of lines, and when it reads them again."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from sequences.rows.line_rows import KnownLines, LineRows
from sequences.rows.lines import Lines
from tests.sequences.support import Clock

FORMER, PRESENT = Lines(version=1), Lines(version=2)


@pytest.fixture
def rows() -> Mock:
    """Rows that say first one thing, then another."""
    return Mock(spec=LineRows, of=Mock(side_effect=[FORMER, PRESENT]))


@pytest.fixture
def known(rows: Mock, clock: Clock) -> KnownLines:
    """What is known of them."""
    return KnownLines(rows, clock, lambda: Mock(name="send"))


def test_they_are_read_once(known: KnownLines, rows: Mock, clock: Clock) -> None:
    """A scope is read once in an hour, and again after it."""
    assert known.of("a") is FORMER
    clock.now += 3600
    assert known.of("a") is FORMER
    clock.now += 0.1
    assert known.of("a") is PRESENT
    assert rows.of.call_count == 2


def test_whether_there_are_newer_ones(known: KnownLines, clock: Clock) -> None:
    """It is asked again after a second."""
    assert known.of("a") is FORMER
    clock.now += 1
    assert not known.are_newer("a", 1)
    clock.now += 0.1
    assert known.are_newer("a", 1)
    assert not known.are_newer("a", 2)
    assert known.of("a") is PRESENT


def test_a_read_counts_from_its_beginning(rows: Mock, clock: Clock) -> None:
    """What was read is as old as the request."""

    def send() -> Mock:
        clock.now += 1
        return Mock()

    known = KnownLines(rows, clock, send)
    assert known.read("a") is FORMER
    clock.now += 3600
    assert known.of("a") is PRESENT


@pytest.mark.parametrize("everything", [True, False])
def test_forgetting(known: KnownLines, everything: bool) -> None:
    """Forgotten lines are read again."""
    known.of("a")
    if everything:
        known.clear()
    else:
        known.forget("a")
    assert known.of("a") is PRESENT


def test_many_scopes(known: KnownLines, rows: Mock, clock: Clock) -> None:
    """Those that are not known are read together, and known then; one that was left out is not."""
    known.of("a")
    rows.of_many.return_value = {"b": PRESENT}
    known.read_many(["a", "b", "c"])
    (asked, _), _ = rows.of_many.call_args
    assert asked == ["b", "c"]
    clock.now += 3600
    assert known.of("b") is PRESENT
    known.of("c")
    assert [call.args[0] for call in rows.of.call_args_list] == ["a", "c"]
