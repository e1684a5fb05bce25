"""What commands draw at a terminal, by rich and without it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from sequences.ops import terminal

HEADINGS = ["strategy", "gaps"]
ROWS = [[("AtomicCounter", "bold"), ("12", "bold red")], [("published-atomic", ""), ("0", "")]]


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def at(stream: StringIO) -> Iterator[None]:
    """Have the body write to this stream. A fixture cannot do that, because pytest captures each phase anew."""
    with redirect_stdout(stream), redirect_stderr(stream):
        yield


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal with colours."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


@pytest.fixture(params=["rich", "plain"])
def drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How it is drawn: by rich, or in plain lines because rich cannot be imported."""
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "rich", None)
    return str(request.param)


def test_a_table_says_the_same_either_way(drawing: str) -> None:
    """A table has its headings, every cell and its caption, and a row is one line."""
    lines = terminal.table(HEADINGS, ROWS, "What counts").splitlines()
    words = [[word for word in line.split() if word.isascii()] for line in lines]
    assert [line for line in words if line] == [
        ["strategy", "gaps"],
        ["AtomicCounter", "12"],
        ["published-atomic", "0"],
        ["What", "counts"],
    ]


def test_a_plain_table_is_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rich, names begin below each other, and figures end below each other."""
    monkeypatch.setitem(sys.modules, "rich", None)
    assert terminal.table(HEADINGS, ROWS, "What counts") == (
        "strategy          gaps\nAtomicCounter       12\npublished-atomic     0\nWhat counts"
    )


def test_a_terminal_gets_colours_from_rich(screen: Terminal) -> None:
    """With rich, a fault is red at a terminal."""
    with at(screen):
        assert "\033[1;31m  12" in terminal.table(HEADINGS, ROWS, "What counts")


def test_a_terminal_shows_how_far_a_command_is(drawing: str, screen: Terminal) -> None:
    """What is being done, how much is done, and how much there is are all shown."""
    with at(screen), terminal.progress() as advance:
        advance("orders 2026", 17, 4711)
    shown = screen.getvalue()
    assert "orders 2026" in shown
    assert "17" in shown
    assert "4711" in shown


def test_a_plain_line_is_removed(screen: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rich, a line is written over the last one, and the last is removed also after an error."""
    monkeypatch.setitem(sys.modules, "rich", None)

    def fail_after(lines: int) -> None:
        with at(screen), terminal.progress() as advance:
            for line in range(lines):
                advance("orders", line, lines)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_after(2)
    assert screen.getvalue().split("\r\033[K") == ["", "orders: 0 of 2", "orders: 1 of 2", ""]


def test_a_pipe_gets_no_progress(drawing: str) -> None:
    """What is no terminal gets nothing."""
    pipe = StringIO()
    with at(pipe), terminal.progress() as advance:
        advance("orders", 1, 2)
    assert pipe.getvalue() == ""
