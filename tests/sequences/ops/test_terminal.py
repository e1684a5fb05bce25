"""What commands draw at a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from sequences.ops import terminal


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def at(stream: StringIO) -> Iterator[None]:
    """Have the body write to this stream. A fixture cannot do that, because pytest captures each phase anew."""
    with redirect_stdout(stream), redirect_stderr(stream):
        yield


def test_a_table_is_aligned() -> None:
    """Names begin below each other, and figures end below each other."""
    rows = [["AtomicCounter", "12"], ["published-atomic", "0"]]
    assert terminal.table(["strategy", "gaps"], rows, "What counts") == (
        "strategy          gaps\nAtomicCounter       12\npublished-atomic     0\nWhat counts"
    )


def test_a_line_is_removed() -> None:
    """A line is written over the last one, and the last is removed also after an error."""
    screen = Terminal()

    def fail_after(lines: int) -> None:
        with at(screen), terminal.progress() as advance:
            for line in range(lines):
                advance("orders", line, lines)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_after(2)
    assert screen.getvalue().split("\r\033[K") == ["", "orders: 0 of 2", "orders: 1 of 2", ""]


def test_a_pipe_gets_no_progress() -> None:
    """What is no terminal gets nothing."""
    pipe = StringIO()
    with at(pipe), terminal.progress() as advance:
        advance("orders", 1, 2)
    assert pipe.getvalue() == ""
