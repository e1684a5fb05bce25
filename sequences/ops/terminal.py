"""What a command draws at a terminal: how far it is, and tables."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

Advance = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@contextmanager
def progress() -> Iterator[Advance]:
    """Draw on standard error how far the body is, and remove it at the end. Nothing is drawn if that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda text, done, total: None
        return
    try:
        yield lambda text, done, total: _write_line(f"{text}: {done} of {total}")
    finally:
        _write_line("")


def _write_line(line: str) -> None:
    """Write over the line of the last call."""
    sys.stderr.write(f"\r\033[K{line}")
    sys.stderr.flush()


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str, *, left: int = 1) -> str:
    """A table for standard output: the first columns, so many, are aligned to the left, and the others to the right."""
    columns = zip(headings, *rows, strict=True)
    aligned = [_aligned(column, "<" if index < left else ">") for index, column in enumerate(columns)]
    return "\n".join([*("  ".join(line).rstrip() for line in zip(*aligned, strict=True)), caption])


def _aligned(column: Sequence[str], side: str) -> list[str]:
    width = max(map(len, column))
    return [f"{text:{side}{width}}" for text in column]
