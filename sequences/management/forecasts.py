"""`manage.py sequences estimate` and `simulate`: what strategies do under some traffic, by formulas or played."""

from __future__ import annotations

import math
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sequences.capabilities import strategy_classes
from sequences.exceptions import SequenceError
from sequences.management.rows import FORMATS, Row, write_rows
from sequences.ops.forecast.costs import SHAPES
from sequences.ops.forecast.estimate import READS_A_SECOND, WRITES_A_SECOND, Estimate, Traffic, estimate
from sequences.ops.forecast.simulation import Load, Outcome, simulate
from sequences.ops.forecast.table import Latency, Limits
from sequences.ops.prices import cost_of_units
from sequences.ops.terminal import table
from sequences.registry import strategies
from sequences.strategies import Strategy

__all__ = ["FORECASTS", "Forecast", "Forecasts"]

Options = Mapping[str, Any]


class Forecasts:
    """One run of one of these commands."""

    def __init__(self, command: BaseCommand) -> None:
        self.command = command

    def run(self, name: str, options: Options) -> None:
        """Write a row for each strategy. Raises CommandError for options that no traffic has."""
        forecast = FORECASTS[name]
        try:
            rows = list(forecast.rows(options))
        except (ValueError, SequenceError) as error:
            raise CommandError(str(error)) from error
        if options["format"] == "text" and self.command.stdout.isatty():
            self.command.stdout.write(_beside(rows, forecast.caption))
        else:
            write_rows(self.command, rows, options["format"], forecast.caption, left=1)


def _beside(rows: Sequence[Row], caption: str) -> str:
    """The rows as columns of a table, as they have more figures than a terminal is wide."""
    names = [name for name in rows[0] if name != "strategy" and any(row[name] is not None for row in rows)]
    lines = [[name.replace("_", " "), *(_shown(row[name]) for row in rows)] for name in names]
    return table(["", *(row["strategy"] for row in rows)], [[(cell, "") for cell in line] for line in lines], caption)


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
        if known in SHAPES:
            yield known, {name: option.default for name, option in known.options.items()}


def _estimates(options: Options) -> Iterator[Row]:
    traffic = Traffic(**{name: options[name] for name in _TRAFFIC})
    for strategy, option in _chosen(options):
        yield _estimated(estimate(strategy, traffic, block_size=option.get("block_size")))


def _estimated(found: Estimate) -> Row:
    return {
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
        "cost_of_million": _money(found.units.write * 10**6, found.units.read * 10**6),
        "cost_of_month": _money(*found.month_units) if found.month_units else None,
        "verdict": found.verdict,
        "remedy": found.remedy or None,
    }


def _money(write_units: float, read_units: float) -> float:
    return float(round(cost_of_units(write_units, read_units), 2))


def _simulations(options: Options) -> Iterator[Row]:
    load = _load(options)
    for strategy, option in _chosen(options):
        own = {name: option[name] for name in ("block_size", "deadline") if name in option}
        yield _simulated(simulate(strategy, replace(load, **own)))


def _load(options: Options) -> Load:
    """The load for these options. Raises ValueError, with the name of the option."""
    for name in ("latency_ms", "latency_p99_ms", "units", "burst"):
        if options[name] is not None and not 0 < options[name] < math.inf:
            raise ValueError(f"--{name.replace('_', '-')} is {options[name]}; it must be above 0.")
    if not 0 <= options["processor_ms"] < math.inf:
        raise ValueError(f"--processor-ms is {options['processor_ms']}; it must be 0 or more.")
    p99, processor = options["latency_p99_ms"], options["processor_ms"] / 1000
    return Load(
        **{name: options[name] for name in _LOAD if name in _FIELDS},
        latency=Latency(options["latency_ms"] / 1000, None if p99 is None else p99 / 1000),
        limits=Limits(writes=options["units"], reads=READS_A_SECOND, burst=options["burst"]),
        caller=processor / 2,  # a leader does about half of the work for others
        action=processor / 2,
    )


def _simulated(found: Outcome) -> Row:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(found).items()}


_TRAFFIC: Mapping[str, tuple[type, str]] = {
    "per_second": (float, "numbers a second at the peak, in all scopes"),
    "per_month": (float, "numbers a month, for what they cost"),
    "scopes": (int, "scopes that share the numbers"),
    "hottest": (float, "the share of the hottest scope, from 1/scopes to 1"),
    "item_bytes": (int, "an item as it is stored, with its key, number and token"),
    "writers": (int, "callers that may ask at the same time, in all"),
    "processes": (int, "of one host, over which the writers are spread"),
    "latency_ms": (float, "a request there and back"),
    "processor_ms": (float, "for which a number keeps its process busy"),
    "tokens": (bool, "every request has an idempotency token"),
}


_FIELDS: Mapping[str, Any] = {field.name: field.default for field in fields(Load)}
_LOAD: Mapping[str, tuple[type, str]] = {
    "writers": (int, "callers that may ask at the same time, in all"),
    "processes": (int, "over which the writers are spread"),
    "hosts": (int, "over which the processes are spread; those of one host take turns"),
    "scopes": (int, "scopes that the writers share"),
    "rate": (float, "numbers a second that are asked for by chance; without it, every writer asks again at once"),
    "seconds": (float, "that are measured"),
    "warm_up": (float, "seconds before that"),
    "item_bytes": (int, "an item as it is stored, with its key, number and token"),
    "latency_ms": (float, "a request there and back; the median, if there is a p99"),
    "latency_p99_ms": (float, "what one request in a hundred exceeds; without it, all take the same time"),
    "processor_ms": (float, "for which a number keeps its process busy"),
    "units": (float, "write units a second that a partition takes"),
    "burst": (float, "seconds for which a partition keeps its unused units"),
    "seed": (int, "decides what happens by chance"),
    "tokens": (bool, "every request has an idempotency token"),
}
_DEFAULTS: Mapping[str, float] = {
    "latency_ms": Traffic.latency_ms,
    "processor_ms": Traffic.processor_ms,
    "units": WRITES_A_SECOND,
    "burst": 1.0,
}


def _add_load(parser: ArgumentParser) -> None:
    _add_options(parser, _LOAD, {**_FIELDS, **_DEFAULTS})


def _add_traffic(parser: ArgumentParser) -> None:
    _add_options(parser, _TRAFFIC, {field.name: field.default for field in fields(Traffic)})


def _add_options(parser: ArgumentParser, options: Mapping[str, tuple[type, str]], defaults: Mapping[str, Any]) -> None:
    for name, (kind, about) in options.items():
        default = defaults.get(name)
        flag = f"--{name.replace('_', '-')}"
        if kind is bool:
            parser.add_argument(flag, action="store_true", help=about)
        else:
            default = None if default is MISSING else default
            told = about if default is None else f"{about} ({default:g})"
            parser.add_argument(flag, type=kind, default=default, required=name == "per_second", metavar="N", help=told)


@dataclass(frozen=True)
class Forecast:
    """One command that forecasts: what it is for, its rows, what its table says below, and its own arguments."""

    about: str
    rows: Callable[[Options], Iterator[Row]]
    caption: str
    arguments: Callable[[ArgumentParser], None]

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What both have, and what this one has."""
        parser.add_argument("alias", nargs="?", help="a key of the setting SEQUENCES; without it, every strategy")
        self.arguments(parser)
        parser.add_argument("--format", choices=FORMATS, default="text")


FORECASTS: Mapping[str, Forecast] = {
    "estimate": Forecast(
        "units, money, waits and the end of each strategy under some traffic, by formulas",
        _estimates,
        "units and requests of a number at the peak; races are for `simulate`",
        _add_traffic,
    ),
    "simulate": Forecast(
        "speed, waits, races and throttles of each strategy under some load, played event by event",
        _simulations,
        "one seed has one course; the shares are of the writes that were sent",
        _add_load,
    ),
}
