"""Which lines a scope may have: they must be right, in order, no lower than before, and apart from all other texts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import chain

from ..exceptions import InvalidChange, InvalidScope, InvalidSequence
from ..formats import Format, Written, may_meet, may_repeat
from ..formats.periods import KINDS
from ..formats.template import has_letters
from ..registry import configured, strategies
from ..rows.lines import Line
from ..rows.numbers import LARGEST
from ..rows.options import Option, one_of, whole
from .lines import NewLines

LONGEST_CODE = 100
MOST_LINES = 100
_KEPT = ("start", "step", "period", "strategy", "valid_from")
_LEAST = {"start": 0, "step": 1, "maximum": 1, "warn_at": 1}
_DATE = Option(None, lambda value: type(value) is date, "a date, or None")
_TEXT = Option(None, lambda value: isinstance(value, str), "a text, or None")
_FIELDS: Mapping[str, Option] = {
    **{name: whole(least, least, f"a whole number from {least}", LARGEST) for name, least in _LEAST.items()},
    "valid_from": _DATE,
    "valid_to": _DATE,
    "warn_on": _DATE,
    "format": _TEXT,
    "strategy": _TEXT,
    "period": one_of(*KINDS),
    "code": Option(
        "",
        lambda code: isinstance(code, str) and len(code) <= LONGEST_CODE and (code == "" or code.isprintable()),
        f"a text of up to {LONGEST_CODE} printable characters",
    ),
}


def check_lines(new: NewLines) -> None:
    """Raise InvalidChange, which names the line and the field, for lines that may not be."""
    for problem in _problems(new):
        raise InvalidChange(problem)


def _problems(new: NewLines) -> Iterator[str]:
    lines = new.lines.lines
    if len(lines) > MOST_LINES:
        yield f"{new.scope!r} has {len(lines)} lines; a scope has {MOST_LINES} at the most."
    for place, line in enumerate(lines):
        wrong = chain(_wrong_fields(line), _empty(new, line), _out_of_place(new, place), _changed_too_late(new, place))
        yield from (f"Line {place + 1} of {new.scope!r}: {problem}." for problem in wrong)
    yield from _wrong_rules(new)
    written = [_written(new, place) for place in range(len(lines))]
    for place in range(len(lines)):
        for met in chain(_meeting(new, place), _repeating(new, place, written)):
            yield (
                f"format is {new.strategy(place).config.format!r}; a text could also be one of {met}: let texts begin "
                "with something of their own, such as other letters, or put {scope} into it."
            )


def _wrong_fields(line: Line) -> Iterator[str]:
    """What is wrong with a line by itself."""
    for name, field in _FIELDS.items():
        value = getattr(line, name)
        if value is not None and not field.accepts(value):
            yield f"{name} is {value!r}; it must be {field.wanted}"
    if line.valid_from and line.valid_to and line.valid_to < line.valid_from:
        yield f"valid_to is {line.valid_to}; it must not be before valid_from, {line.valid_from}"


def _empty(new: NewLines, line: Line) -> Iterator[str]:
    """A maximum below the start, each as the line or the settings have it."""
    config = line.config(new.settings)
    if config.maximum < config.start:
        yield f"maximum is {config.maximum}; it must be a whole number from {config.start}"


def _out_of_place(new: NewLines, place: int) -> Iterator[str]:
    """What does not fit the settings, or the lines before it."""
    line, kind = new.lines.lines[place], new.settings.period.kind
    if kind == "never" and new.period(line).kind != kind:
        yield f"period is {line.period!r}; the sequence has no PERIOD, so that its items have no place for one"
    elif "partition" in new.settings.options and new.period(line).kind != kind:
        yield f"period is {line.period!r}; it must be {kind!r}: the option 'partition' says where its items are found"
    if place == 0:
        if line.valid_from:
            yield "valid_from must be left out: the first line begins at once"
        return
    former, now = (one.config(new.settings) for one in new.lines.lines[place - 1 : place + 1])
    begun = max((one.valid_from for one in new.lines.lines[:place] if one.valid_from), default=None)
    if line.valid_from and begun and line.valid_from <= begun:
        yield f"valid_from is {line.valid_from}; it must be after {begun}, as a line before it"
    if former.period != now.period:
        return
    if now.step != former.step:
        yield f"step is {now.step}; a scope keeps its step, which is {former.step}"
    if now.start < former.start or (now.start - former.start) % now.step:
        yield f"start is {now.start}; it must be {former.start} or a later value by its step"
    if line.valid_from is None and now.start <= former.maximum and now.start != former.start:
        yield f"start is {now.start}; it must be above the maximum of the line before it, {former.maximum}"


def _changed_too_late(new: NewLines, place: int) -> Iterator[str]:
    """What a line that has begun must keep, because numbers were given by it."""
    line = new.lines.lines[place]
    if place >= len(new.before):
        if line.valid_from and line.valid_from < new.today:
            yield f"valid_from is {line.valid_from}; it must be {new.today} or later"
        return
    before = new.before.lines[place]
    yield from _too_low(new, before, line)
    if before.valid_from and before.valid_from > new.today:
        return
    if (wrong := [name for name in _KEPT if getattr(before, name) != getattr(line, name)]) and new.has_numbers:
        yield f"{wrong[0]} must stay {getattr(before, wrong[0])!r}: the line has begun. Add another line"


def _too_low(new: NewLines, before: Line, line: Line) -> Iterator[str]:
    """A maximum below numbers that the line may have given: their texts would be those of no number, or of others."""
    maximum, last = line.config(new.settings).maximum, new.last(before)
    if last is not None and maximum < min(last, before.config(new.settings).maximum):
        yield f"maximum is {maximum}; the last number is {last} already"


def _wrong_rules(new: NewLines) -> Iterator[str]:
    """What makes no strategy: the same errors as for a key of SEQUENCES, in the words of a line."""
    for place, line in enumerate(new.lines.lines):
        try:
            made = new.strategy(place)
        except ImportError as error:
            yield f"strategy is {line.strategy!r}, which cannot be imported: {error}."
        except InvalidSequence as error:
            yield f"Line {place + 1} of {new.scope!r}: {_in_words_of_lines(str(error))}"
        else:
            if made.counter is None:
                yield f"strategy is {made.config.strategy!r}; it must be one with a counter."
            try:
                made.naming.format.check_scope(new.scope)
            except InvalidScope as error:
                yield _in_words_of_lines(str(error))
            if clash := made.config.format is not None and made.naming.format.clash():
                yield f"format is {made.config.format!r}; {clash.text!r} is of {clash.one} and of {clash.other}."
    names = {line.config(new.settings).strategy for line in new.lines.lines}
    if len(names) > 1:
        yield f"strategy: all lines of {new.scope!r} count in one way, not by {' and by '.join(sorted(names))}."


def _meeting(new: NewLines, place: int) -> Iterator[str]:
    """The other scopes, lines and sequences that could write a text of a line."""
    made = new.strategy(place)
    if made.config.format is None:
        return
    form = made.naming.format
    for name, other, scope in _others(new, place):
        is_own = scope is None and other.uses_scope and other.template == form.template
        if not is_own and may_meet(form, other, new.scope, scope):
            yield name


def _repeating(new: NewLines, place: int, written: Sequence[tuple[Written | None, list[Written]]]) -> Iterator[str]:
    """The lines of the same counter by which another number may have a text that a line is still to write."""
    coming, _ = written[place]
    if coming is None:
        return
    period, values, last = new.period(new.lines.lines[place]), coming.values, _last_of_all(new, place)
    if last is not None:
        coming = coming._replace(values=range(max(values.start, last + 1), values.stop))
    for other, (line, (present, former)) in enumerate(zip(new.lines.lines, written, strict=True)):
        others = [present, *former] if present and other != place else former
        if new.period(line) == period and any(may_repeat(one, coming, new.scope) for one in others):
            yield f"another number by line {other + 1}, whose former texts count"


def _written(new: NewLines, place: int) -> tuple[Written | None, list[Written]]:
    """The FORMAT of a line with all its numbers, and former ones with those that were given."""
    made, begin = new.strategy(place), new.lines.lines[place].config(new.settings).start
    texts = [Written(form, range(begin, form.maximum + 1)) for form in made.naming.forms]
    present = texts.pop(0) if made.config.format is not None else None
    if (last := _last_of_all(new, place)) is not None:
        return present, [Written(form, range(begin, last + 1)) for form, _ in texts]
    return present, texts if new.has_numbers and made.config.period.kind != "never" else []


def _last_of_all(new: NewLines, place: int) -> int | None:
    """The last number in the counter of a line; None where each period begins anew, and before the first one."""
    line = new.lines.lines[place]
    return new.last(line) if new.period(line).kind == "never" else None


def _others(new: NewLines, place: int) -> Iterator[tuple[str, Format, str | None]]:
    """The FORMATs of all others, former ones too: of other scopes, of lines that count apart, and by the settings."""
    for scope, lines in new.book.rows.every():
        if scope != new.scope:
            for strategy in new.book.by_each(scope, lines):
                yield from ((f"the scope {scope!r}", form, scope) for form in strategy.naming.forms)
    for other, line in enumerate(new.lines.lines):
        if new.period(line) != new.period(new.lines.lines[place]):
            yield from ((f"line {other + 1}", form, new.scope) for form in new.strategy(other).naming.forms)
    for alias in configured():
        with suppress(InvalidSequence):
            yield from _by_settings(new, alias)


def _by_settings(new: NewLines, alias: str) -> Iterator[tuple[str, Format, None]]:
    """The FORMATs of a sequence, but for bare numbers; of another one, only where it names no scopes."""
    is_own = alias == new.settings.alias
    for form in strategies[alias].naming.forms:
        is_named = form.uses_scope or has_letters(form.template)
        is_of_this_scope = is_own and new.scope is None and not form.uses_scope
        if is_named and not is_of_this_scope and (is_own or not form.uses_scope):
            yield f"{alias!r} by its settings", form, None


def _in_words_of_lines(error: str) -> str:
    """An error about a key of SEQUENCES in the words of a line."""
    return re.sub(r"SEQUENCES\['[^']*'\](\['OPTIONS'\])?\['(\w+)'\]", lambda found: found[2].lower(), error)
