"""`make fuzz`: schemathesis sends what the API's document allows, and what it forbids, to the whole product.

Every answer must be as the document says: status, headers, body; and nothing may be a server error. It ends with 1 if
an answer is not. ARGS are schemathesis' own, such as `--max-examples 200` or `--seed 7`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from project.proof.faults.stack import Stack, running_stack
from tickets.api.examples import COMPANY

__all__ = ["fuzz", "main"]

SCHEMA = "/api/schema/"
HOOKS, CONFIG = Path(__file__).with_name("fuzz_hooks.py"), Path(__file__).with_name("schemathesis.toml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz a fresh site that has projects, tickets, an order with a draft, and a company."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder), through_proxy=False) as stack,
    ):
        fill(stack)
        return fuzz(stack, sys.argv[1:] if arguments is None else arguments)


def fill(stack: Stack) -> None:
    """Store something under the names that the document's examples have."""
    for key in ("ABC", "XYZ"):
        stack.ask("POST", "/api/projects/", {"key": key, "name": "Alphabet"})
    for title in ("Printer on fire", "Paper", "Ink"):
        stack.ask("POST", "/api/projects/ABC/tickets/", {"title": title})
    lines = [{"text": "Ink", "quantity": 2, "price": "4.50"}]
    stack.ask("POST", "/api/orders/", {"customer": "Ann", "lines": lines})
    stack.ask("POST", "/api/orders/1001/invoice/")
    stack.ask("POST", "/api/companies/", COMPANY)


def fuzz(stack: Stack, options: Sequence[str]) -> int:
    """Run schemathesis with all its checks. Returns its exit code."""
    address = f"{stack.address}{SCHEMA}?format=json"
    command = [Path(sys.executable).with_name("schemathesis"), "--config-file", CONFIG, "run", address]
    flags = ["--checks=all", f"--header=Authorization: Token {stack.token}", "--continue-on-failure", *options]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)}
    return subprocess.run([*map(str, command), *flags], cwd=stack.folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
