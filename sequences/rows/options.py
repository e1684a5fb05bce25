"""The keys of OPTIONS: which a strategy has, and the error for a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from ..exceptions import InvalidSequence
from ..types import SequenceConfig


@dataclass(frozen=True, slots=True)
class Option:
    """One key of OPTIONS: its default, the test of its value, and the words that say what it must be."""

    default: Any
    accepts: Callable[[Any], bool]
    wanted: str


def one_of(*choices: str) -> Option:
    """An option with a few choices; the first is the default."""
    return Option(choices[0], choices.__contains__, f"one of {', '.join(map(repr, choices))}")


def boolean(default: bool) -> Option:
    """An option that is True or False."""
    return Option(default, lambda value: isinstance(value, bool), "True or False")


def positive(default: float) -> Option:
    """An option that is a number above 0."""
    return Option(
        default,
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value > 0,
        "a number above 0",
    )


def whole(default: int, least: int, wanted: str, most: float = inf) -> Option:
    """An option that is a whole number from `least` to `most`."""
    return Option(default, lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= most, wanted)


def is_name(value: Any) -> bool:
    """Whether a value is a text of at least one character."""
    return isinstance(value, str) and value != ""


def is_names(value: Any) -> bool:
    """Whether a value is a list of names."""
    return isinstance(value, list | tuple) and all(map(is_name, value))


def is_region(value: Any) -> bool:
    """Whether a value may be the name of a Region."""
    return isinstance(value, str) and value.replace("-", "").isalnum() and value.isascii()


def is_indexes(value: Any) -> bool:
    """Whether a value has one or two key attributes, with the types "S" or "N", for each name of an index."""
    return isinstance(value, Mapping) and all(
        isinstance(name, str)
        and re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", name)
        and isinstance(keys, Mapping)
        and len(keys) in (1, 2)
        and all(map(is_name, keys))
        and {*keys.values()} <= {"S", "N"}
        for name, keys in value.items()
    )


def checked_options(known: Mapping[str, Option], config: SequenceConfig) -> dict[str, Any]:
    """OPTIONS with the defaults filled in. Raises InvalidSequence, which names the wrong key and what it must be."""
    where = f"SEQUENCES[{config.alias!r}]['OPTIONS']"
    if unknown := [name for name in config.options if name not in known]:
        having = f"{config.strategy.rpartition('.')[2]} has no option {unknown[0]!r}; it has {', '.join(sorted(known))}"
        raise InvalidSequence(f"{where}: {having}.")
    return checked(where, known, config.options)


def checked(where: str, known: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The known keys with their values, or their defaults. Raises InvalidSequence, which says what one must be."""
    for name, option in known.items():
        if name in given and not option.accepts(given[name]):
            raise InvalidSequence(f"{where}[{name!r}] is {given[name]!r}; it must be {option.wanted}.")
    return {name: given.get(name, option.default) for name, option in known.items()}
