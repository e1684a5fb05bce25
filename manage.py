#!/usr/bin/env python3
"""Django's command line for this project; `make run` is the shorter way to a running one."""

import os
import sys


def main() -> None:
    """Run one command with the development settings, where the environment names no others."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
