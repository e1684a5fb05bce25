"""`manage.py sequences estimate`: what strategies do under some traffic."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sequences.capabilities import strategy_classes
from sequences.management.arguments import Options
from sequences.management.rows import FORMATS, Row, write_rows
from sequences.ops.costs import PATTERNS, cost_of_units
from sequences.ops.estimate import Estimate, Traffic, estimate
from sequences.ops.terminal import table
from sequences.registry import strategies
from sequences.strategies import Strategy

CAPTION = "units and requests of a number at the peak, without lost races"


def run_estimate(command: BaseCommand, options: Options) -> None:
    """Write a row for each strategy. Raises SequenceError, and CommandError for options that no traffic has."""
    try:
        rows = list(_estimates(options))
    except ValueError as error:
        raise CommandError(str(error)) from error
    if options["format"] == "text" and command.stdout.isatty():
        command.stdout.write(_beside(rows, CAPTION))
    else:
        write_rows(command, rows, options["format"], CAPTION, left=1)


def _beside(rows: Sequence[Row], caption: str) -> str:
    """The rows as columns of a table, as they have more figures than a terminal is wide."""
    names = [name for name in rows[0] if name != "strategy" and any(row[name] is not None for row in rows)]
    lines = [[name.replace("_", " "), *(_shown(row[name]) for row in rows)] for name in names]
    return table(["", *(row["strategy"] for row in rows)], lines, caption)


def _shown(figure: object) -> str:
    return "" if figure is None else f"{figure:.4g}" if isinstance(figure, float) else str(figure)


def _chosen(options: Options) -> Iterator[tuple[type[Strategy], Mapping[str, Any]]]:
    """The strategy of the sequence that is named, with its OPTIONS; otherwise every strategy that comes with the app.

    Raises InvalidSequence for a name that is not in the setting.
    """
    if options["alias"] is not None:
        strategy = strategies[options["alias"]]
        yield type(strategy), strategy.option
        return
    for known in strategy_classes():
        if known in PATTERNS:
            yield known, {name: option.default for name, option in known.options.items()}


def _estimates(options: Options) -> Iterator[Row]:
    asked = Traffic(**{one.name: options[one.name] for one in fields(Traffic)})
    for strategy, option in _chosen(options):
        traffic = replace(asked, own_keys=asked.own_keys or option["value_in"] != "sort_key")
        found, with_tokens = (
            estimate(strategy, one, block_size=option.get("block_size"))
            for one in (traffic, replace(traffic, tokens=True))
        )
        yield {
            "strategy": found.strategy,
            "write_units": round(found.units.write, 4),
            "read_units": round(found.units.read, 4),
            "requests": round(found.units.requests, 4),
            "group": round(found.group, 2),
            "wait_ms": None if found.wait_ms is None else round(found.wait_ms, 2),
            "partition_units_per_second": round(found.partition_units, 1),
            "partition": found.partition,
            "ceiling_per_second": round(found.ceiling, 1),
            "limit": found.limit,
            "cost_of_million": _money_of_million(found),
            "cost_of_million_with_tokens": _money_of_million(with_tokens),
            "cost_of_month": _money(*found.month_units) if found.month_units else None,
            "verdict": found.verdict,
            "remedy": found.remedy or None,
        }


def _money_of_million(found: Estimate) -> float:
    return _money(found.units.write * 10**6, found.units.read * 10**6)


def _money(write_units: float, read_units: float) -> float:
    return float(round(cost_of_units(write_units, read_units), 2))


def add_estimate(parser: ArgumentParser) -> None:
    """The arguments of the command: a sequence, what is asked of it, and the format."""
    parser.add_argument("alias", nargs="?", help="a key of the setting SEQUENCES; without it, every strategy")
    for asked in fields(Traffic):
        flag, about = f"--{asked.name.replace('_', '-')}", asked.metadata["about"]
        if isinstance(asked.default, bool):
            parser.add_argument(flag, action="store_true", help=about)
            continue
        required = asked.default is MISSING
        default = None if required else asked.default
        shown = about if default is None else f"{about} ({default:g})"
        kind = float if default is None else type(default)
        parser.add_argument(flag, type=kind, default=default, required=required, metavar="N", help=shown)
    parser.add_argument("--format", choices=FORMATS, default="text")
