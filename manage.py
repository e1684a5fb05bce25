#!/usr/bin/env python3
"""Django's command line for this project; `make run` is the shorter way to a running one."""

import os
import sys


def main() -> None:
    """Run one command with the development settings, where the environment names no others.

    A wrong environment ends it with 2, and a line for each fault.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
    from django.core.management import execute_from_command_line

    from project import environment
    from project.commands.bootstrap import fail

    try:
        environment.settings_module()
        execute_from_command_line(sys.argv)
    except environment.WrongEnvironment as error:
        sys.exit(fail(error))


if __name__ == "__main__":
    main()
