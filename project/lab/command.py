"""The command line of the comparison: its options, the question before it costs money, and where the result goes.

`project.lab.plan` says what is run, `project.lab.comparison` runs it, and `project.lab.report` shows the result.
"""

from __future__ import annotations

import itertools
import json
import os
import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from project.environment import ENDPOINT
from project.lab import records, report
from project.lab.comparison import compare
from project.lab.plan import STRATEGIES, Plan, Prices, Row, can_reserve
from project.lab.writers import LabError
from sequences import dynamodb
from sequences.exceptions import SequenceError
from sequences.ops.terminal import progress
from sequences.testing.embedded import Engine, EngineError

__all__ = ["add_arguments", "chosen_engine", "run"]

# What boto3 needs, and an engine on this machine ignores.
STAND_INS = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "lab", "AWS_SECRET_ACCESS_KEY": "lab"}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("--format", choices=["table", "json", "markdown", "html"], default="table")
    add("--output", type=Path, metavar="FILE", help="where the result goes; by default standard output")
    add("--strategies", type=_names, metavar="A,B", help="all by default")
    add("--writers", type=_whole_numbers, metavar="N[,N]", help="in total; by default 8, for html 1,8,32")
    add("--processes", type=int, default=1, metavar="N", help="that run the writers")
    add("--count", type=int, default=400, metavar="N", help="numbers for each strategy in a round")
    add("--scopes", type=int, default=1, metavar="N", help="that the writers share; 1 is like one project")
    add("--runs", type=int, default=1, metavar="N", help="rounds; figures are medians, faults are the worst")
    add("--faults", type=float, default=0.0, metavar="P", help="the share of answers to writes to lose")
    add("--seed", type=int, default=1, metavar="N", help="decides which answers are lost")
    add("--values-only", action="store_true", help="values without items, from strategies that can")
    add("--block-size", type=int, default=100, metavar="N", help="of BlockAllocator")
    add("--record", metavar="TITLE", help="keep the result in project/lab, in place of that with the same title")
    add("--aws", action="store_true", help="run on AWS, with the credentials in the environment")
    add("--yes", action="store_true", help="do not ask before spending money on AWS")
    add("--price-write", type=float, default=Prices().write, metavar="$", help="a million write units")
    add("--price-read", type=float, default=Prices().read, metavar="$", help="a million read units")


def run(command: BaseCommand, options: Mapping[str, Any]) -> None:
    """Run the comparison with these options, and show the result. Raises CommandError."""
    plan, prices = _plan(options), Prices(write=options["price_write"], read=options["price_read"])
    if options["aws"]:
        _ask(command, plan, prices, sure=options["yes"], record=options["record"])
    try:
        with chosen_engine(aws=options["aws"], own=bool(options["record"])), _progress(plan) as advance:
            rows = compare(plan, progress=advance)
    except (EngineError, LabError, SequenceError) as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        raise CommandError("Stopped. The tables of the comparison are deleted.") from None
    _show(command, _rendered(rows, prices, options["format"]), options["output"])
    if options["record"]:
        records.keep_comparison(options["record"], _typed(), rows)


def _typed() -> str:
    """The command line that was typed, without the option that records its run."""
    words = sys.argv[1:]
    if "--record" in words:
        at = words.index("--record")
        words = words[:at] + words[at + 2 :]
    return shlex.join(["manage.py", *words])


def _ask(command: BaseCommand, plan: Plan, prices: Prices, *, sure: bool, record: str | None) -> None:
    if record:
        raise CommandError("--record is for runs that everybody can repeat: leave --aws or --record out.")
    if plan.faults:
        raise CommandError("--faults needs a proxy before the engine, which --aws does not allow: leave one out.")
    if os.environ.get(ENDPOINT):
        raise CommandError(f"--aws and {ENDPOINT} exclude each other: unset the variable, or leave --aws out.")
    cost = f"about ${prices.estimate(plan):,.2f} or less in on-demand request units"
    command.stderr.write(f"This creates two tables in AWS, spends {cost}, and deletes them.")
    if not sure and not _agreed(command):
        raise CommandError("Nothing was done.")


def _agreed(command: BaseCommand) -> bool:
    command.stderr.write("Continue? [y/N] ", ending="")  # standard output is for the result
    try:
        return input().strip().lower() in {"y", "yes"}
    except EOFError:
        return False


def _show(command: BaseCommand, text: str, output: Path | None) -> None:
    if output is None:
        command.stdout.write(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--output {output} cannot be written ({error.strerror}).\n{text}") from error
    command.stderr.write(f"Written to {output}.")


def _plan(options: Mapping[str, Any]) -> Plan:
    """The plan for these options. Raises CommandError."""
    values_only = options["values_only"]
    every = tuple(filter(can_reserve, STRATEGIES)) if values_only else STRATEGIES
    try:
        return Plan(
            strategies=every if options["strategies"] is None else options["strategies"],
            writers=options["writers"] or ((1, 8, 32) if options["format"] == "html" else (8,)),
            processes=options["processes"],
            count=options["count"],
            scopes=options["scopes"],
            runs=options["runs"],
            faults=options["faults"],
            seed=options["seed"],
            values_only=values_only,
            block_size=options["block_size"],
        )
    except ValueError as error:
        raise CommandError(str(error)) from error


def _rendered(rows: Sequence[Row], prices: Prices, form: str) -> str:
    if form == "json":
        return json.dumps(rows, indent=2)
    if form == "markdown":
        return report.markdown(rows, prices)
    if form == "html":
        return report.html(rows, prices, command=_typed())
    return report.table(rows, prices)


@contextmanager
def chosen_engine(*, aws: bool = False, own: bool = False) -> Iterator[None]:
    """Use AWS or the engine in the environment; otherwise, and for what is recorded, one of our own in memory."""
    before = dict(os.environ)
    with nullcontext() if aws or (os.environ.get(ENDPOINT) and not own) else Engine() as engine:
        try:
            if aws:
                os.environ.pop(ENDPOINT, None)  # it is empty: _ask refuses any other
            if engine:
                os.environ.update({**STAND_INS, **before, ENDPOINT: engine.endpoint})
            dynamodb.reset()
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            dynamodb.reset()


@contextmanager
def _progress(plan: Plan) -> Iterator[Callable[[str], None]]:
    """Show each case at the terminal when it begins."""
    begun, total = itertools.count(), len(list(plan.cases()))
    with progress() as advance:
        yield lambda case: advance(case, next(begun), total)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _whole_numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number, or several with commas between") from None
