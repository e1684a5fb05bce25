"""Rules that are data: the numbering of one scope, such as a branch or a tenant, made and changed while it is in use.

    from sequences.series import Line, create

    create("invoices", "branch-7", Line(format="B7-{period}-{value:05d}", start=5000), by="ann", reason="opened")

The key SERIES of a sequence names the table that keeps such rules, beside other rows. A scope without lines counts as
the settings say. Lines follow each other: the next one takes over on its date, or when the one before is used up.

Each change is a guarded one (see `changes`): with who, when and why in the history, with a dry run, and refused where
numbers would go back, or where two scopes could write the same text. All processes follow at once: the condition of
each write has the version of the rules, so that a number costs the same with rules of its own as without.

A change costs as much as other guarded changes, and one query for every hundred scopes with lines, whose texts are
compared. For a scope without numbers around today it looks for older ones: one query for each year in which the
sequence counts, and one request for a hundred periods of these years.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from .changes.apply import ChangeNote, ChangeRequest, Plan, Planner, apply_change
from .changes.arguments import check_whole
from .changes.line_checks import check_lines
from .changes.lines import Build, NewLines, book_of
from .exceptions import InvalidChange
from .registry import strategies
from .rows.lines import Line, Lines
from .services.arguments import check_scope, has_controls
from .strategies.lines import ScopeLines
from .strategies.snapshot import ScopeSnapshot
from .types import Change, Dated

__all__ = ["Line", "Lines", "add_line", "change_line", "create", "lines_of", "name_scope", "page", "preview"]

LONGEST_NAME = 200
KIND = "series"
"""How the history calls these changes."""


def create(
    sequence: str, scope: str | None, line: Line, *, by: str, reason: str, name: str = "", dry_run: bool = False
) -> Change:
    """Give a scope rules of its own, from its next number on, and perhaps a name for people (see `name_scope`).

    A scope that has numbers goes on in its counter: what it had from the settings becomes the line before.
    Raises InvalidChange, which names what is wrong, for a wrong line, for a scope that has lines already, where numbers
    would go back, and where a text could belong to two scopes; OperationNotSupported without SERIES.
    """

    def build(lines: Lines) -> Sequence[Line]:
        if lines:
            raise InvalidChange(f"{scope!r} of {sequence!r} has lines already: add one, or change one.")
        return [line]

    if name:
        _check_name(name)
    return _changed(sequence, scope, build, ChangeRequest(KIND, by, reason, dry_run), name=name)


def add_line(sequence: str, scope: str | None, line: Line, *, by: str, reason: str, dry_run: bool = False) -> Change:
    """Let a line follow the last one: on its `valid_from`, or when that one is used up. Without lines it is the first.

    Raises what `create` raises.
    """
    return _changed(sequence, scope, _added(line), ChangeRequest(KIND, by, reason, dry_run))


def change_line(
    sequence: str, scope: str | None, line: Line, *, place: int = 0, by: str, reason: str, dry_run: bool = False
) -> Change:
    """Put a line in the place of another one, counted from 0.

    A line that has begun keeps its start, step, period, strategy and date. Its former FORMAT is still read.
    Raises what `create` raises, and InvalidChange for a place without a line.
    """
    return _changed(sequence, scope, _put_at(place, line), ChangeRequest(KIND, by, reason, dry_run))


def lines_of(sequence: str, scope: str | None) -> Lines:
    """The lines of a scope, in their order, and its name; no lines where the settings hold.

    This process goes by them from now on. One consistent read.
    """
    check_scope(scope)
    return book_of(sequence).known.read(scope)


def page(
    sequence: str, cursor: str | None = None, limit: int = 100
) -> tuple[list[tuple[str | None, Lines]], str | None]:
    """Some scopes with their lines, sorted by scope, and the cursor of the next page. One query."""
    return book_of(sequence).rows.page(cursor, limit)


def preview(sequence: str, scope: str | None, line: Line, *, place: int | None = None, count: int = 3) -> list[str]:
    """The texts of the next numbers if a line were added, or put in a place; fewer where the last line ends.

    Nothing is written.

    Raises what `create` raises.
    """
    texts: list[str] = []
    build = _added(line) if place is None else _put_at(place, line)
    request = ChangeRequest(KIND, "preview", "preview", dry_run=True)  # nobody signs what is not written
    _changed(sequence, scope, build, request, lambda new: texts.extend(new.texts(count)))
    return texts


def name_scope(sequence: str, scope: str | None, name: str, *, by: str, reason: str, dry_run: bool = False) -> Change:
    """Give a scope a name for people, as a tenant has after a change of it: the scope and its numbers stay.

    Lists, audits and pages show it beside the scope, for no request more. Raises InvalidChange for a name of another
    form (1 to 200 characters, no control characters), and OperationNotSupported without SERIES.
    """
    book = book_of(sequence)
    _check_name(name)

    def plan(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
        return Plan.in_place(seen, book.rows.named(scope, name))

    return _apply(book, sequence, scope, ChangeRequest(KIND, by, reason, dry_run), plan)


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= len(name) <= LONGEST_NAME or has_controls(name):
        raise InvalidChange(f"name is {name!r}; it must have 1 to {LONGEST_NAME} characters, no control characters.")


def _added(line: Line) -> Build:
    return lambda lines: [*lines.lines, line]


def _put_at(place: int, line: Line) -> Build:
    check_whole("place", place)

    def build(lines: Lines) -> Sequence[Line]:
        if place >= len(lines):
            raise InvalidChange(f"place is {place}; there are {len(lines)} lines, counted from 0.")
        before = lines.lines[place]
        former = [one for one in (*before.former, before.format) if one and one != line.format]
        changed = replace(line, former=tuple(dict.fromkeys(former)))
        return [*lines.lines[:place], changed, *lines.lines[place + 1 :]]

    return build


def _changed(
    sequence: str,
    scope: str | None,
    build: Build,
    request: ChangeRequest,
    look: Callable[[NewLines], object] = bool,
    *,
    name: str = "",
) -> Change:
    """Make a change of lines; `look` sees what they will be. With a name the scope has that one from now on."""
    book = book_of(sequence)

    def plan(seen: ScopeSnapshot, note: ChangeNote) -> Plan:
        new = NewLines(book, build, seen, name)
        check_lines(new)
        look(new)
        is_same = new.lines.lines == new.before.lines
        return Plan.in_place(seen) if is_same else Plan.in_place(seen, *new.actions(note))

    return _apply(book, sequence, scope, request, plan)


def _apply(book: ScopeLines, sequence: str, scope: str | None, request: ChangeRequest, plan: Planner) -> Change:
    """Make a change of the row of a scope, which this process reads anew then."""
    try:
        check_scope(scope)
        strategy = strategies.of(sequence, scope, even_ended=True)
        period = strategy.config.period  # the scope may be one that the FORMAT of the settings does not take
        counted = Dated.of(scope, period.name(period.date_of(None, strategy.wall())))
        return apply_change(sequence, counted, request, plan)
    finally:
        book.read_again(scope)
