"""Prepares the databases before a run: migrations, tables, and samples for development.

With the argument `--static` it collects the static files, too. The demo administrator is made in the SQLite file of
this folder only: another database may be shared, and its accounts are not for a run to change.

This is a program of its own, which ends before the web server starts. It is safe to run again, and several times at
once: in PostgreSQL the second run waits for the first.
"""

import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from project import environment

STATIC = "--static"
"""The argument that asks for the static files: a container has them in its image."""
DEMO = "demo"
ANN, BEN = "ann", "ben"  # an owner of the sample project SHOP, and a reporter in it
SALES = ("add_project", "view_order", "add_order", "view_invoice", "add_invoice", "issue_invoice", "void_invoice")


def main() -> int:
    """Prepare the databases, in development with samples. If `DEMO_PASSWORD` is set, make sample people."""
    password, in_development = os.environ.get("DEMO_PASSWORD"), not environment.in_production()
    try:
        django.setup()
        logging.disable(logging.INFO)  # leave out the log line of each sample's number
        with one_at_a_time():
            call_command("migrate", verbosity=0, interactive=False)
            # A development run owns its data, so tables of an older layout are changed without asking.
            call_command("create_tables", move_expiry=in_development, stdout=io.StringIO())
            call_command("index_projects", verbosity=0)
            if in_development:
                call_command("load_samples", verbosity=0)
            if password:
                make_demo_administrator(password)
                make_sample_people(password)
        if settings.STATIC_ROOT and STATIC in sys.argv:
            call_command("collectstatic", verbosity=0, interactive=False)
    except (CommandError, ImproperlyConfigured, OperationalError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let one run after another work on the same database; each SQLite file belongs to one run anyway."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:  # the lock ends with the connection, however this run ends
        cursor.execute("SELECT pg_advisory_lock(hashtext('project.commands.prepare'))")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(hashtext('project.commands.prepare'))")


def make_demo_administrator(password: str) -> None:
    """Give the demo administrator this password. Make the account if it is missing."""
    from django.contrib.auth.models import User

    demo, _ = User.objects.get_or_create(username=DEMO)
    demo.is_staff = demo.is_superuser = demo.is_active = True
    if not demo.check_password(password):  # a new hash of the same password would end all sessions
        demo.set_password(password)
    demo.save()


def make_sample_people(password: str) -> None:
    """Give Ann and Ben this password. Ann may make projects, sell and bill; Ben files tickets in her project."""
    from django.contrib.auth.models import Permission, User

    from tickets.access import members
    from tickets.exceptions import NotFound

    for name in (ANN, BEN):
        person, is_new = User.objects.get_or_create(username=name)
        person.set_password(password)
        person.save()
        if is_new and name == ANN:
            person.user_permissions.set(
                Permission.objects.filter(content_type__app_label="tickets", codename__in=SALES)
            )
        if is_new and name == BEN:
            with suppress(NotFound):  # other projects than the samples
                members.set_member("SHOP", BEN, role="reporter", by=ANN)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
    sys.exit(main())
