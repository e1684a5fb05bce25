"""What grows with a site, and what does not: the same pages of a small and of a large one, read in turns.

Each site is in a process of its own, on an engine of its own, and is asked without a web server.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import django
from django.core.management import call_command

from project.lab.meter import Meter
from sequences import dynamodb
from sequences.testing.embedded import Engine

PAGES = (
    *("/api/projects/ABC/tickets/", "/api/projects/ABC/tickets/?status=open", "/api/tickets/ABC-50/"),
    *("/api/projects/", "/api/sequences/", "/", "/ABC/", "/ABC/?status=open", "/ABC/?order=changed", "/ABC-50/"),
    *("/find/mine/", "/admin/sequences/sequence/", "/admin/sequences/sequence/tickets/"),
    *("/TEAM/", "/TEAM/members/", "/api/projects/TEAM/members/", "/api/projects/TEAM/members/ada/"),
)
TURNS = 60
TOGETHER = 100  # tickets in a write


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """How many tickets project ABC has, how many projects there are, and how many members project TEAM has."""

    tickets: int
    projects: int
    members: int


# A page looks at up to 500 tickets for those that are asked for: the small site has as many.
SMALL, LARGE = Size(tickets=500, projects=100, members=100), Size(tickets=100_000, projects=10_000, members=1_000)


@dataclass(frozen=True, slots=True)
class Taken:
    """What a page takes, or how many times as much as another one."""

    requests: float
    units: float
    seconds: float


def growth() -> Mapping[str, float]:
    """The most that any page takes of the large site, over what it takes of the small one."""
    with _site(SMALL) as small, _site(LARGE) as large:
        over = {page: _over(page, small, large) for page in PAGES}
    for page, times in over.items():
        print(f"{page:42} {times}", file=sys.stderr)
    return {
        "growth requests": max(each.requests for each in over.values()),
        "growth units": max(each.units for each in over.values()),
        "growth time": max(each.seconds for each in over.values()),
    }


def _over(page: str, *sites: Connection) -> Taken:
    """How many times as much the second site takes for a page as the first one.

    The least requests and units count, as now and then a visit reads what was remembered for some seconds.
    """
    turns = [[_visit(page, site) for site in sites] for _ in range(TURNS)]
    few, many = zip(*turns, strict=True)
    return Taken(
        requests=min(one.requests for one in many) / min(one.requests for one in few),
        units=min(one.units for one in many) / min(one.units for one in few),
        seconds=median(after.seconds / before.seconds for before, after in turns),
    )


def _visit(page: str, site: Connection) -> Taken:
    site.send(page)
    taken: Taken = site.recv()
    return taken


@contextmanager
def _site(size: Size) -> Iterator[Connection]:
    """A site of this size, ready: it is sent the address of a page, and answers what a visit took."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, size), daemon=True)
    process.start()
    there.close()
    try:
        here.recv()
        yield here
    finally:
        here.close()
        process.join()


def _serve(asked: Connection, size: Size) -> None:
    with tempfile.TemporaryDirectory() as folder, Engine() as engine, suppress(EOFError):
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.endpoint
        os.environ["DATABASE_URL"] = f"sqlite:///{Path(folder) / 'accounts'}"
        django.setup()
        logging.disable(logging.CRITICAL)
        visit = _visitor(size)
        asked.send(None)
        while True:
            asked.send(visit(asked.recv()))


def _visitor(size: Size) -> Callable[[str], Taken]:
    """Fill the site, and sign in. Returns what reads a page, and says what it took."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    for command in ("migrate", "create_tables"):
        call_command(command, verbosity=0)
    _fill(size)
    meter, client = Meter(), Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.create_superuser("ada"))
    dynamodb.wrap_sending(meter.counting)

    def visit(page: str) -> Taken:
        meter.reset()
        began = time.perf_counter()
        answer = client.get(page)
        seconds = time.perf_counter() - began
        assert answer.status_code == 200, f"{page}: {answer.status_code}"
        return Taken(meter.usage.requests, meter.usage.read_units, seconds)

    return visit


def _fill(size: Size) -> None:
    from sequences import put_next_many
    from tickets.project_services import create_project
    from tickets.services import new_fields
    from tickets.tables import to_row

    for key in ("ABC", "TEAM", *(f"P{number:05}" for number in range(2, size.projects))):
        create_project(key=key, name=f"Project {key}", by="ada")
    row = to_row(new_fields({"title": "The export leaves out the last page", "labels": ["export"]}, "ada"))
    for _ in range(0, size.tickets, TOGETHER):
        put_next_many("tickets", [row] * TOGETHER, scope="ABC")
    _add_members(size.members)


def _add_members(count: int) -> None:
    """Give TEAM members without accounts, as an import does."""
    from django.utils import timezone

    from tickets.store.members import change_member, read_membership
    from tickets.types import Role

    for number in range(1, count):
        change_member(read_membership("TEAM", f"person{number}"), Role.READER, at=timezone.now(), by="ada")
