"""What a command draws at a terminal: how far it is, and tables. By rich where that is installed, otherwise plainly.

No other module imports rich.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

__all__ = ["Advance", "Cell", "progress", "table"]

Advance = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

Cell = tuple[str, str]
"""A text, and its style in the words of rich, for example "bold red"."""

PIPE_WIDTH = 150


@contextmanager
def progress() -> Iterator[Advance]:
    """Draw on standard error how far the body is, and remove it at the end. Nothing is drawn if that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda text, done, total: None
    elif _has_rich():
        with _bar() as advance:
            yield advance
    else:
        try:
            yield lambda text, done, total: _write_line(f"{text}: {done} of {total}")
        finally:
            _write_line("")


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str, *, left: int = 1) -> str:
    """A table for standard output: the first columns, so many, are aligned to the left, and the others to the right."""
    return (_rich_table if _has_rich() else _plain_table)(headings, rows, caption, left)


def _has_rich() -> bool:
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def _bar() -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda text, done, total: bar.update(task, description=text, completed=done, total=total)


def _write_line(line: str) -> None:
    """Write over the line of the last call."""
    sys.stderr.write(f"\r\033[K{line}")
    sys.stderr.flush()


def _rich_table(headings: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str, left: int) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    result = Table(caption=caption)
    for index, heading in enumerate(headings):
        result.add_column(heading, justify="left" if index < left else "right", no_wrap=not index)
    for row in rows:
        result.add_row(*(Text(text, style) for text, style in row))
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else PIPE_WIDTH, force_terminal=is_terminal)
    with console.capture() as captured:
        console.print(result)
    return captured.get().rstrip("\n")


def _plain_table(headings: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str, left: int) -> str:
    columns = zip(headings, *([text for text, _ in row] for row in rows), strict=True)
    aligned = [_aligned(column, "<" if index < left else ">") for index, column in enumerate(columns)]
    return "\n".join([*("  ".join(line).rstrip() for line in zip(*aligned, strict=True)), caption])


def _aligned(column: Sequence[str], side: str) -> list[str]:
    width = max(map(len, column))
    return [f"{text:{side}{width}}" for text in column]
