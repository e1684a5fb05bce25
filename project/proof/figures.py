"""What `make bars` and `make bench-peers` have measured, as committed in figures.json: rows of tables for docs/.

The file has a text for each figure of `bars.BARS` and for each case of `peers.web.CASES`, and when they were measured.
A new measurement is written there by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from project.proof.bars import BARS
from project.proof.peers.web import CASES

__all__ = ["FIGURES", "Figures"]

FIGURES = Path(__file__).with_name("figures.json")


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one time: of the bars by their names, of the cases by their texts and columns."""

    conditions: Mapping[str, str]
    bars: Mapping[str, str]
    peers: Mapping[str, Mapping[str, str]]

    @classmethod
    def recorded(cls, path: Path = FIGURES) -> Self:
        """Those that are committed."""
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(**record)

    def bar_rows(self) -> list[list[str]]:
        """A row for each bar, in their order: what, the bar, the figure."""
        return [[bar.text, bar.promise, self.bars[bar.figure]] for bar in BARS]

    def peer_rows(self) -> list[list[str]]:
        """A row for each case beside the peer, in their order: the case, its bar, its figures."""
        return [[case.text, f"at least {case.bar:g}", *self.peers[case.text].values()] for case in CASES]

    def peer_columns(self) -> list[str]:
        """The headings of these rows."""
        return ["Case", "Bar", *self.peers[CASES[0].text]]
