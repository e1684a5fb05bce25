"""Finds turns of phrase that a reader of plain English stumbles over, and says what reads better.

python -m project.commands.prose
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from project.paths import ROOT

TURNS = {
    "whoever": "name who: the caller, a process, anybody who",
    "is told": "gets, sees, learns; or name who says it",
    "are told": "get, see, learn; or name who says it",
    "tells of": "says, shows, is sent for",
    "of which": "two sentences",
    "that of": "the noun again",
}
PLACES = ("README.md", "docs/*.md", "sequences/**/*.py", "tickets/**/*.py", "project/**/*.py")


def main() -> int:
    """Print each turn with its place. Returns 1 if there is one."""
    files = sorted(file for pattern in PLACES for file in ROOT.glob(pattern) if file != Path(__file__))
    found = [line for file in files for line in turns_of(file)]
    print("\n".join(found))
    return 1 if found else 0


def turns_of(file: Path) -> Iterator[str]:
    """The turns of one page, or of one module."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        for turn in re.findall(rf"\b({'|'.join(TURNS)})\b", line, re.IGNORECASE):
            yield f"{file.relative_to(ROOT)}:{number}: {turn!r}: better {TURNS[turn.lower()]}"


if __name__ == "__main__":
    sys.exit(main())
