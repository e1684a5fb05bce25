"""`make check`: the checks that do not run the application.

All checks run, even if one fails.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from django.core.management.utils import get_random_secret_key

from project import environment

HADOLINT = str(Path(sys.executable).with_name("hadolint"))  # a program, no module of Python

CHECKS = {
    "lint": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy"],
    "prose": ["project.commands.prose"],
    "template": ["cfnlint.runner.cli", "deploy/dynamodb.json"],
    "container": [HADOLINT, "deploy/Dockerfile"],
    "migrations": ["manage", "makemigrations", "--check", "--dry-run"],
    "system": ["manage", "check", "--fail-level", "WARNING"],
    "production": [
        "manage",
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
        "--settings",
        environment.PRODUCTION,
    ],
}


def main() -> int:
    """Run every check. Returns 1 if a check failed."""
    os.environ.setdefault("SECRET_KEY", get_random_secret_key())
    os.environ.setdefault("ALLOWED_HOSTS", "example.com")
    os.environ.setdefault("DATABASE_URL", "postgres://localhost/tickets")
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    failed = [name for name, command in CHECKS.items() if not passes(name, command)]
    print(f"Failed: {', '.join(failed)}." if failed else f"All {len(CHECKS)} checks passed.")
    return 1 if failed else 0


def passes(name: str, command: list[str]) -> bool:
    """Run one check, and print its result and its duration."""
    print(f"--- {name}: {' '.join(command)}", flush=True)
    started = time.monotonic()
    program = command if command[0] == HADOLINT else [sys.executable, "-m", *command]
    passed = subprocess.run(program, check=False).returncode == 0
    print(f"    {'passed' if passed else 'FAILED'} in {time.monotonic() - started:.1f} s", flush=True)
    return passed


if __name__ == "__main__":
    sys.exit(main())
