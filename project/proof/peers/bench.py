"""`make bench-peers`: measures ours beside others on this machine, in turns, and prints speeds and ratios.

    python -m project.proof.peers.bench [--runs 3] [--only libraries,http] [--scale 1] [--json]

`libraries` compares numbers in process, `http` tickets over HTTP. The median of the rounds counts. JSON has every run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from datetime import UTC, datetime
from typing import Any

from project.proof.peers import libraries, web
from project.proof.peers.environment import BenchError, install_peers, requirements
from project.proof.peers.postgresql import version
from sequences.testing.embedded import EngineError

PARTS = {"libraries": libraries, "http": web}


def main() -> None:
    """Install the peers, measure, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="rounds; the median counts")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="the length of a run: 0.1 for a quick look")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}. Known are {', '.join(PARTS)}.")
    try:
        install_peers()
        about = {"runs": options.runs, "machine": machine()}
        result = {**about, **{name: PARTS[name].measure(options.runs, options.scale) for name in names}}
    except (BenchError, EngineError, TimeoutError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(json.dumps(result, indent=2) if options.json else as_tables(result))


def machine() -> str:
    """The date, the cores and the versions, without which figures mean nothing."""
    versions = [f"Python {platform.python_version()}", *requirements(), version()]
    return f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {', '.join(versions)}"


def as_tables(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    tables = [PARTS[name].as_table(result[name]) for name in PARTS if name in result]
    return "\n\n".join([f"{result['machine']}. Medians of {result['runs']} rounds.", *tables])


if __name__ == "__main__":
    main()
