"""`manage.py sequences engine`: an engine with the tables of SEQUENCES on this machine, until Ctrl-C."""

import os
import warnings
from argparse import ArgumentParser, ArgumentTypeError
from contextlib import suppress
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from sequences.management.arguments import Options
from sequences.ops.tables import create_tables

ENVIRONMENT = ("AWS_ENDPOINT_URL_DYNAMODB",), ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION")
LAST_PORT = 65535


def add_engine(parser: ArgumentParser) -> None:
    """The arguments of the engine. It needs no environment, so that nobody is warned of what it is about to print."""
    parser.add_argument("--port", type=_port, default=8001, help="on which it listens, of this machine alone (8001)")
    parser.add_argument("--path", type=Path, metavar="FILE", help="keeps its data; without it, they are in memory")
    parser.set_defaults(skip_checks=True)


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= LAST_PORT):
        raise ArgumentTypeError(f"{text!r}; give a port from 0 to {LAST_PORT}")
    return int(text)


def run_engine(command: BaseCommand, options: Options) -> None:
    """Start the embedded engine, make the tables, say how to reach it, and wait until it ends or for Ctrl-C.

    moto's server replaces an engine that is not installed, and says so. Raises SequenceError and CommandError.
    """
    from sequences.testing.embedded import FALLBACK_WARNING, Engine, EngineError  # not needed by other commands
    from sequences.testing.engines import all_clients_here, engine_at

    try:
        engine = Engine(options["path"], options["port"])
        if engine.fallback:
            command.stderr.write(command.style.ERROR(FALLBACK_WARNING))
        with warnings.catch_warnings(action="ignore"), suppress(KeyboardInterrupt), engine:
            with engine_at(engine.endpoint), all_clients_here():
                tables = ", ".join(create_tables())
                lines = ["export " + " ".join(f"{name}={os.environ[name]}" for name in names) for names in ENVIRONMENT]
            kept = "nowhere: they are in memory" if engine.path is None or engine.fallback else f"in {engine.path}"
            about = f"# Tables: {tables}. Data are kept {kept}. Ctrl-C ends the engine."
            command.stdout.write("\n".join([about, *lines]))
            command.stdout.flush()
            raise CommandError(f"The engine ended by itself, with code {engine.process.wait()}.")
    except EngineError as error:
        raise CommandError(str(error)) from error
