"""Prepares the databases before a run: migrations, tables, and samples for development.

With the argument `--static` it collects the static files, too. With `--accept-tables` it takes the tables in DynamoDB
for those of the SQL database, although that knows others; in development it always does. The demo administrator is made
in the SQLite file of this folder only: another database may be shared, and its accounts are not for a run to change.

This is a program of its own, which ends before the web server starts. It is safe to run again, and several times at
once: in PostgreSQL the second run waits for the first.
"""

import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import Error, connection

from project import environment
from project.commands.bootstrap import fail
from sequences.exceptions import SequenceUnsound
from sequences.start import require_sound

STATIC = "--static"
"""The argument that asks for the static files: a container has them in its image."""
ACCEPT_TABLES = "--accept-tables"
"""The argument that says: these are the tables from now on, as after a restore."""
DEMO = "demo"
ANN, BEN = "ann", "ben"  # an owner of the sample project SHOP, and a reporter in it
SALES = (
    "add_project",
    "view_order",
    "add_order",
    "view_invoice",
    "add_invoice",
    "issue_invoice",
    "void_invoice",
    "add_company",
)


def main() -> int:
    """Prepare the databases, in development with samples. If `DEMO_PASSWORD` is set, make sample people."""
    password, in_development = os.environ.get("DEMO_PASSWORD"), not environment.in_production()
    try:
        environment.refuse_faults(production=environment.in_production())
        django.setup()
        logging.disable(logging.INFO)  # leave out the log line of each sample's number
        with one_at_a_time():
            call_command("migrate", verbosity=0, interactive=False)
            prepare_tables(in_development=in_development)
            if in_development:
                call_command("load_samples", verbosity=0)
            if password:
                make_sample_people(make_demo_administrator(password))
        if settings.STATIC_ROOT and STATIC in sys.argv:
            collect_static(settings.STATIC_ROOT)
    except environment.WrongEnvironment as error:
        return fail(error)
    except (CommandError, Error, ImproperlyConfigured, SequenceUnsound) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def prepare_tables(*, in_development: bool) -> None:
    """Make the tables that are missing, unless others belong to the SQL database.

    A development run owns its data: tables of an older layout are changed, and other tables are taken, without asking.
    """
    from tickets import known_tables

    if not in_development and ACCEPT_TABLES not in sys.argv:
        known_tables.require_known()
    call_command("create_tables", move_expiry=in_development, stdout=io.StringIO())
    require_sound()
    known_tables.remember()


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


def collect_static(folder: Path) -> None:
    """Collect the static files, unless all are there already: to compress them takes longer than all the rest."""
    complete, kind = folder.with_suffix(".complete"), settings.STORAGES["staticfiles"]["BACKEND"]
    said = io.StringIO()
    call_command("collectstatic", interactive=False, dry_run=True, stdout=said)
    if said.getvalue().strip().startswith("0 static files") and complete.exists() and complete.read_text() == kind:
        return
    complete.unlink(missing_ok=True)
    call_command("collectstatic", verbosity=0, interactive=False)
    complete.write_text(kind)


def make_demo_administrator(password: str) -> str:
    """Give the demo administrator this password. Make the account if it is missing. Returns the hash."""
    from django.contrib.auth.models import User

    demo, _ = User.objects.get_or_create(username=DEMO)
    demo.is_staff = demo.is_superuser = demo.is_active = True
    if not demo.password or not demo.check_password(password):  # a new hash of it would end all sessions
        demo.set_password(password)
    demo.save()
    return demo.password


def make_sample_people(hashed: str) -> None:
    """Give Ann and Ben this hash of a password. Ann may make projects, sell and bill; Ben files tickets in hers."""
    from django.contrib.auth.models import Permission, User

    from tickets.access import members
    from tickets.exceptions import NotFound

    for name in (ANN, BEN):
        person, is_new = User.objects.get_or_create(username=name)
        person.password = hashed
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
