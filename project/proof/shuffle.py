"""`make shuffle`: all tests pass many times in a row, in random order, beside a busy loop on each core.

    python -m project.proof.shuffle [--times 20] [--seed 1] [-- arguments of pytest]

A test that passes by chance, because another ran before it or the machine was quick, fails in one of the runs. Each run
prints the seed of its order, with which it can be repeated. The exit status is 1 if a test failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

__all__ = ["busy", "main", "run"]

BUSY = [sys.executable, "-c", "while True: pass"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-n", "4", "--dist", "worksteal", "-p", "randomly"]
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep this many cores busy."""
    processes = [subprocess.Popen(BUSY) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(seed: int, arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Run the tests in one random order: whether all passed, and the names of those that did not."""
    # `random` itself is left alone: tests that draw names would all draw the same ones
    order = ["-p", "randomly", f"--randomly-seed={seed}", "--randomly-dont-reset-seed"]
    done = subprocess.run([*PYTEST, *order, *arguments], check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stdout, flush=True)
    return done.returncode == 0, FAILED.findall(done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests as often as asked; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each later one has the next")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, after --")
    options = parser.parse_args(arguments)
    failures, red = Counter[str](), 0
    with busy(os.cpu_count() or 1):
        for seed in range(options.seed, options.seed + options.times):
            passed, names = run(seed, options.pytest)
            failures.update(names)
            red += not passed
            print(f"seed {seed}: {'passed' if passed else f'{len(names)} failed'}", flush=True)
    for name, times in failures.most_common():
        print(f"{times:3} x {name}")
    print(f"{options.times - red} of {options.times} runs passed.")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
