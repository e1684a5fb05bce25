"""A rehearsal: all tables are restored to an earlier moment, and docs/restore.md is followed word for word."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from project.commands.prepare import prepare_tables
from project.paths import ROOT
from sequences import dynamodb, put_next_many, start
from sequences.changes import freeze, thaw
from sequences.exceptions import SequenceFrozen, TableMissing, TableRestored
from sequences.ops import doctor
from sequences.start import require_sound
from tests.restoring import restore, save
from tests.test_docs import FENCED, MANAGE, PAGES, section, shown
from tests.tickets.sales.support import issued
from tickets.known_tables import OtherTables
from tickets.project_services import create_project
from tickets.sales.validators import today
from tickets.services import create_ticket
from tickets.timeline.services import add_comment
from tickets.types import TicketKey

PAGE = "docs/restore.md"
TABLES = ("tickets", "sales", "sequences")
MANY = 500
NEXT_YEAR = date(today().year + 1, 1, 5)
ABC_1 = TicketKey(project="ABC", number=1)


def follow(heading: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands of one section of the page. Raises what a command raises that does not end with 0."""
    for _, block in FENCED.findall(section(PAGE, heading)):
        for command, _ in shown(block):
            if command.startswith("export TABLE_PREFIX="):
                settings.TABLE_PREFIX = command.partition("=")[2]
            elif command.startswith("python -m project.commands.prepare"):
                monkeypatch.setattr(sys, "argv", shlex.split(command)[2:])
                prepare_tables(in_development=False)
            else:
                assert MANAGE.match(command), command
                call_command(*shlex.split(MANAGE.sub("", command)), verbosity=0)


@pytest.fixture
def restored(endpoint: str) -> Iterator[str]:
    """The prefix that the page gives to restored tables, under which nothing is left afterwards."""
    prefix = "restored_"
    yield prefix
    for name in TABLES:
        with suppress(TableMissing):
            dynamodb.delete_table(f"{prefix}{name}")


class Given:
    """Every number that was given in each place of a sequence."""

    def __init__(self) -> None:
        self.numbers: dict[str, list[int]] = {}

    def note(self, place: str, *numbers: int) -> None:
        """Remember numbers. Raises AssertionError if one was given before."""
        known = self.numbers.setdefault(place, [])
        assert not {*numbers} & {*known}, place
        known += numbers

    def some(self) -> None:
        """One of each kind, as the site gives it."""
        self.note("tickets ABC", create_ticket("ABC", title="Printer on fire", reporter="ann").ticket.key.number)
        self.note("comments of ABC-1", add_comment(ABC_1, text="It is.", by="ann").comment.number)
        invoice = issued()
        self.note("orders", invoice.order)
        self.note("invoices of this year", invoice.key.number)

    def many(self, place: str, sequence: str, scope: str | None, count: int, day: date | None = None) -> None:
        """So many at once."""
        made = put_next_many(sequence, [{"title": "x"}] * count, scope=scope, date=day)
        self.note(place, *(one.value for one in made))

    def many_of_each(self) -> None:
        """Many of each kind in the places that there are."""
        self.many("tickets ABC", "tickets", "ABC", MANY)
        self.many("comments of ABC-1", "timeline", "ABC#1", MANY)
        self.many("orders", "orders", None, MANY)
        self.many("invoices of this year", "invoices", None, MANY)

    def of_new_places(self, count: int) -> None:
        """In places that began after the moment: tickets of another project, and invoices of the next year."""
        self.many("tickets NEW", "tickets", "NEW", count)
        self.many("invoices of the next year", "invoices", None, count, NEXT_YEAR)


@pytest.mark.needs_engine
@pytest.mark.django_db
def test_the_page_is_enough(
    tables: str, endpoint: str, restored: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No number comes twice, nothing goes on before its step, and the audit explains the rest and ends with 0."""
    for module in (doctor, start):
        monkeypatch.setattr(module, "PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(sys, "argv", ["prepare"])
    prepare_tables(in_development=False)
    create_project(key="ABC", name="Alphabet", by="ann")
    create_project(key="XYZ", name="Closed", by="ann")
    given = Given()
    given.some()
    given.note("tickets XYZ", create_ticket("XYZ", title="x", reporter="ann").ticket.key.number)
    freeze("tickets", scope="XYZ", by="ana", reason="moving")

    saved = save(endpoint)
    thaw("tickets", scope="XYZ", by="ana", reason="moved")
    given.note("tickets XYZ", create_ticket("XYZ", title="x", reporter="ann").ticket.key.number)
    given.many_of_each()
    create_project(key="NEW", name="New", by="ann")
    given.of_new_places(MANY)

    follow("Stop", settings, monkeypatch)
    with pytest.raises(SequenceFrozen):
        given.some()
    restore(saved, endpoint, restored)
    settings.TABLE_PREFIX = restored
    with pytest.raises(TableRestored):
        given.some()
    with pytest.raises(TableRestored):
        require_sound()

    follow("Recover", settings, monkeypatch)
    with pytest.raises(OtherTables):
        prepare_tables(in_development=False)
    follow("Check", settings, monkeypatch)
    with pytest.raises(SequenceFrozen):
        create_ticket("XYZ", title="x", reporter="ann")
    follow("Start", settings, monkeypatch)

    given.some()
    given.note("tickets XYZ", create_ticket("XYZ", title="x", reporter="ann").ticket.key.number)
    given.of_new_places(1)
    call_command("sequences", "audit", verbosity=0)


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
def test_the_import_names_each_table(tmp_path: Path) -> None:
    """The two commands for the stack keep the tables alone, with what a restored table has, and find their names."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    [script] = re.findall(r"^    jq .*?(?=^    aws )", PAGES[PAGE], re.DOTALL | re.MULTILINE)
    subprocess.run(textwrap.dedent(script), shell=True, cwd=tmp_path, check=True)
    bare, names = (json.loads((tmp_path / name).read_text()) for name in ("bare.json", "names.json"))
    assert set(bare) == {"AWSTemplateFormatVersion", "Description", "Parameters", "Resources"}
    assert {one["DeletionPolicy"] for one in bare["Resources"].values()} == {"Retain"}
    has = {name for one in bare["Resources"].values() for name in one["Properties"]}
    assert has == {"TableName", "KeySchema", "AttributeDefinitions", "BillingMode"}
    named = {one["LogicalResourceId"]: one["ResourceIdentifier"]["TableName"] for one in names}
    assert named == {f"{name.title()}Table": f"restored_{name}" for name in TABLES}
