"""The errors that an operator mends, each with the command that does it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from ..exceptions import PeriodClosed, RulesChanged, SequenceFrozen, SequenceWentBack
from ..types import Scope, parted, scope_text


def command(verb: str, alias: str, scope: Scope, *more: str) -> str:
    """The command that makes a guarded change of a scope."""
    plain, period = parted(scope)
    text = scope_text(plain)
    named = [f"--scope={text}"] if text.startswith("-") else ["--scope", text]  # otherwise it is read as an option
    given = [alias, *named, *(["--period", period] if period else []), *more]
    return f"`manage.py sequences {verb} {shlex.join(given)} --reason ...`"


def signature(about: Mapping[str, Any]) -> str:
    """By whom, since when and why a scope is frozen; or its period is closed, which it says first."""
    since = re.sub(r"\.\d+", "", str(about.get("at", "an unknown time")))  # people need no parts of a second
    closed = "closed " if about.get("closed") else ""
    return f"{closed}by {about.get('by', 'somebody')} since {since}: {about.get('reason') or 'no reason given'}"


def frozen(alias: str, scope: Scope, about: Mapping[str, Any]) -> SequenceFrozen:
    """The error of every write in a frozen scope, or in a closed period."""
    if about.get("closed"):
        return PeriodClosed(
            f"The books of {alias!r}, scope {scope!r}, are {signature(about)}. For a correction: "
            f"{command('reopen', alias, scope)}, and `close` again."
        )
    return SequenceFrozen(
        f"The sequence {alias!r}, scope {scope!r}, is frozen {signature(about)}. To go on: "
        f"{command('thaw', alias, scope)}."
    )


def gapless(alias: str, scope: Scope, *, after: str) -> RulesChanged:
    """The error of every write by a strategy that may leave gaps, in a scope that was switched to a gapless one."""
    return RulesChanged(
        f"The sequence {alias!r}, scope {scope!r}, leaves no number out after {after}: it was switched to a gapless "
        "strategy, and this process has another one. Nothing was written. Start this process again with the present "
        f"settings. To switch back: {command('switch', alias, scope, '--to', 'BlockAllocator')}."
    )


def went_back(alias: str, scope: Scope, *, found: int | None, known: int) -> SequenceWentBack:
    """The error for a counter that is lower than a value it handed out."""
    remedy = _recover(alias, scope, known)
    return SequenceWentBack(
        f"The counter of {alias!r}, scope {scope!r}, says {found}, but {known} was handed out: it was set back, or "
        f"restored, or its items were numbered without it. To go on: {remedy}. While two strategies number the same "
        "items, they need `manage.py sequences switch`."
    )


def items_went_back(alias: str, scope: Scope, *, found: int | None, known: int) -> SequenceWentBack:
    """The error for a scope without a counter whose items end below a value that was handed out."""
    return SequenceWentBack(
        f"The items of {alias!r}, scope {scope!r}, end at {'nothing' if found is None else found}, but {known} was "
        "handed out: rows were deleted, or the table was restored. To go on: "
        f"{_recover(alias, scope, known)}."
    )


def offered_again(alias: str, scope: Scope, *, known: int) -> SequenceWentBack:
    """The error for a counter that offers values of blocks again that this process has taken from it."""
    return SequenceWentBack(
        f"The counter of {alias!r}, scope {scope!r}, offers values again that this process took because others had "
        f"given them back: it was set back, or restored. To go on: {_recover(alias, scope, known)}."
    )


def _recover(alias: str, scope: Scope, known: int) -> str:
    return command("recover", alias, scope, "--past", str(known))
