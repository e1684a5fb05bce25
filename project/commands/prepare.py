"""Prepares the databases before a run: migrations, static files, tables, and samples for development.

This is a program of its own, which ends before the web server starts. It is safe to run again.
"""

import io
import logging
import os
import sys

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError

DEMO = "demo"


def main() -> int:
    """Prepare the databases. If `DEMO_PASSWORD` is set, load samples and make a demo administrator."""
    password = os.environ.get("DEMO_PASSWORD")
    try:
        django.setup()
        logging.disable(logging.INFO)  # leave out the log line of each sample's number
        call_command("migrate", verbosity=0, interactive=False)
        # A development run owns its data, so tables of an older layout are changed without asking.
        call_command("create_tables", move_expiry=bool(password), stdout=io.StringIO())
        if settings.STATIC_ROOT:
            call_command("collectstatic", verbosity=0, interactive=False)
        if password:
            call_command("load_sample_projects", verbosity=0)
            call_command("load_sample_sales", verbosity=0)
            make_demo_administrator(password)
    except (CommandError, ImproperlyConfigured, OperationalError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def make_demo_administrator(password: str) -> None:
    """Give the demo administrator this password. Make the account if it is missing."""
    from django.contrib.auth.models import User

    demo, _ = User.objects.get_or_create(username=DEMO)
    demo.is_staff = demo.is_superuser = demo.is_active = True
    demo.set_password(password)
    demo.save()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
    sys.exit(main())
