"""The arguments that several commands have: the scopes and periods that they name, and who runs them."""

import getpass
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from typing import Any

from sequences.changes import EveryScope
from sequences.services.arguments import has_controls
from sequences.types import named_scope, scope_text

Options = Mapping[str, Any]


def add_scope(parser: Any, without: str, **more: Any) -> None:
    """The argument for one scope; `without` says what is meant if it is left out."""
    parser.add_argument("--scope", help=f"one scope, {scope_text(None)!r} for none; without it, {without}", **more)


def add_prefix(parser: ArgumentParser | Any) -> None:
    """The argument for the scopes that begin with a text."""
    parser.add_argument("--prefix", type=_beginning, help="every scope whose name begins with this text")


def add_period(parser: ArgumentParser, without: str) -> None:
    """The argument for the period; `without` says which are meant if it is left out. Without words it is required."""
    about = 'the period, such as "2026"' + (f"; without it, {without}" if without else "")
    parser.add_argument("--period", required=not without, help=about)


def _beginning(text: str) -> str:
    if not text:  # as a variable of the shell that is not set, which must not mean every scope
        raise ArgumentTypeError("it is empty: give the first characters of the scopes")
    if has_controls(text):
        raise ArgumentTypeError("it has control characters, which no scope has: leave them out")
    return text


def one_scope(options: Options) -> str | None:
    """The scope that is named; none without the argument."""
    return named_scope(options["scope"])


def scopes(options: Options) -> str | EveryScope | None:
    """The scope that is named; every scope, or those with a prefix, without the argument."""
    return EveryScope(options.get("prefix") or "") if options["scope"] is None else one_scope(options)


def login() -> str:
    """The login name of who runs the command; empty in a process without one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a process without a login name
        return ""
