"""The export of tickets as CSV."""

import csv
import io
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from sequences.exceptions import SequenceUnavailable
from sequences.ops.spreadsheets import harmless
from tests.tickets.lists.conftest import BEGAN, LARGE
from tests.tickets.support import places
from tickets import moves, project_services, services
from tickets.lists import export
from tickets.lists.export import COLUMNS, INCOMPLETE, PAGE, export_tickets
from tickets.lists.filters import TicketFilter
from tickets.types import Order, Project, Ticket, TicketKey

EXPORT = "/api/projects/ABC/tickets.csv"


def rows(content: bytes) -> list[dict[str, str]]:
    """The rows of a file."""
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def exported(api: APIClient, query: str = "") -> list[dict[str, str]]:
    """The rows of the export of ABC."""
    response = api.get(EXPORT + query)
    assert response.status_code == 200
    return rows(b"".join(response))


class TestContent:
    def test_a_file_has_all_fields(self, api: APIClient, abc: Project) -> None:
        """Every field comes as it was stored, in UTF-8, with its commas, quotes and line ends."""
        text = 'Größe, "quoted"\nsecond line; 🎫'
        ticket = services.create_ticket(
            "ABC", title="Drücker; x", description=text, assignee="bob", labels=["hot", "neu"], reporter="ann"
        ).ticket
        (row,) = exported(api)
        now = ticket.created_at.isoformat()
        assert row == {
            "key": "ABC-1",
            "title": "Drücker; x",
            "status": "open",
            "assignee": "bob",
            "labels": "hot, neu",
            "reporter": "ann",
            "created_at": now,
            "updated_at": now,
            "version": "1",
            "description": text,
            **dict.fromkeys(("void_by", "void_at", "void_reason", "moved_to"), ""),
        }
        assert tuple(row) == COLUMNS

    def test_void_and_moved_tickets_keep_their_places(self, api: APIClient, ticket: Ticket) -> None:
        """A void ticket has by whom and why, and a moved one where it went."""
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        services.create_ticket("ABC", title="x", reporter="ann")
        ended = services.void_ticket(TicketKey(project="ABC", number=1), by="bob", reason="A duplicate.").ticket.void
        moves.move_ticket(TicketKey(project="ABC", number=2), to="XYZ", by="ann")
        moved, void = exported(api)
        assert ended
        assert [void[name] for name in COLUMNS[-4:]] == ["bob", ended.at.isoformat(), "A duplicate.", ""]
        assert [moved[name] for name in COLUMNS[-4:]] == ["", "", "", "XYZ-1"]
        assert (void["status"], moved["status"]) == ("void", "moved")

    def test_a_hidden_project_is_an_empty_cell(self, api: APIClient, ticket: Ticket) -> None:
        """Where a ticket went is left out if the reader may not see the project there."""
        project_services.create_project(key="XYZ", name="Rest", by="bob")
        moves.move_ticket(ticket.key, to="XYZ", by="bob")
        (moved,) = exported(api)
        assert (moved["status"], moved["moved_to"]) == ("moved", "")

    @pytest.mark.parametrize("first", [*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
    def test_no_cell_is_a_formula(self, first: str) -> None:
        """A cell that a spreadsheet would calculate gets an apostrophe before it."""
        assert harmless(f"{first}1+1") == f"'{first}1+1"
        assert harmless(f"1{first}") == f"1{first}"

    def test_every_cell_is_made_harmless(self, api: APIClient, abc: Project) -> None:
        """What people type into any field is no formula in the file."""
        evil = "=1+1"
        services.create_ticket("ABC", title=evil, description=evil, assignee=evil, labels=[evil], reporter=evil)
        (row,) = exported(api)
        fields = ("title", "description", "assignee", "labels", "reporter")
        assert [row[field] for field in fields] == ["'=1+1"] * 5

    def test_a_file_says_what_it_is(self, api: APIClient, ticket: Ticket) -> None:
        """The file has a name and a type, whatever the caller accepts, and begins with the mark of UTF-8."""
        for accept in ("text/csv", "text/html", "*/*"):
            response = api.get(EXPORT, headers={"Accept": accept})
            assert response["Content-Type"] == "text/csv; charset=utf-8"
            assert response["Content-Disposition"] == 'attachment; filename="ABC.csv"'
            assert b"".join(response).startswith(b'\xef\xbb\xbf"key",')

    def test_filters_and_order_hold(self, api: APIClient, abc: Project) -> None:
        """The file has what the list with the same parameters has, in its order."""
        for number in range(1, 5):
            services.create_ticket("ABC", title=f"x{number}", labels=["odd"] if number % 2 else [], reporter="ann")
        assert [row["title"] for row in exported(api, "?label=odd&order=oldest")] == ["x1", "x3"]
        assert [row["title"] for row in exported(api)] == ["x4", "x3", "x2", "x1"]

    @pytest.mark.parametrize("query", ["?limit=5", "?cursor=x", "?status=opened", "?fo=1"])
    def test_wrong_parameters_are_refused(self, api: APIClient, abc: Project, query: str) -> None:
        """A file has no pages; a wrong parameter is refused in JSON before it begins."""
        response = api.get(EXPORT + query)
        assert response.status_code == 400
        assert places(response) == {query[1:].partition("=")[0]}

    def test_what_cannot_be_exported(self, api: APIClient, tables: str) -> None:
        """An unknown project is not found, and a stranger is not let in: both in JSON."""
        assert "detail" in api.get(EXPORT, headers={"Accept": "text/csv"}).json()
        assert APIClient().get(EXPORT).status_code == 401

    def test_the_page_leads_to_it(self, browser: Client, abc: Project) -> None:
        """The page of a project links the file with its filters, and the file is there."""
        services.create_ticket("ABC", title="x", labels=["a&b"], reporter="ann")
        services.create_ticket("ABC", title="y", reporter="ann")
        page = browser.get("/ABC/?label=a%26b&status=open&utm_source=x").content.decode()
        _, _, rest = page.partition(f'href="{EXPORT}')
        address = EXPORT + rest.partition('"')[0].replace("&amp;", "&")
        response: Any = browser.get(address)
        assert [row["title"] for row in rows(b"".join(response))] == ["x"]


def most_bytes(count: int) -> int:
    """The most memory that an export of the newest tickets of LARGE takes at a time."""
    newest = TicketFilter(created_from=BEGAN + timedelta(minutes=LARGE - count + 1))
    tracemalloc.start()
    lines = sum(part.count(b"\r\n") for part in export_tickets("LARGE", where=newest))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines == count + 1
    return peak


class TestLength:
    def test_a_large_project_takes_little_memory(self, projects: None) -> None:
        """A file is made page by page, in a few megabytes: four times as many tickets take not 100 bytes more each."""
        list(export_tickets("SMALL"))
        few, many = most_bytes(600), most_bytes(2_400)
        assert many < 4_000_000
        assert many - few < 1_800 * 100

    def test_a_large_project_is_whole(self, projects: None) -> None:
        """The file of 2,500 tickets has a line for each."""
        assert sum(part.count(b"\r\n") for part in export_tickets("LARGE")) == LARGE + 1

    def test_pages_are_read_when_they_are_wanted(self, projects: None, asked: Any) -> None:
        """Who stops reading the file stops the reading of the project."""
        parts = export_tickets("LARGE")
        for _ in range(3):
            next(parts)
        parts.close()  # type: ignore[attr-defined] # it is a generator
        assert asked.reads == 2

    def test_no_part_is_empty(self, projects: None) -> None:
        """A page on which no ticket meets the filter adds no part: an empty one would end the answer."""
        parts = list(export_tickets("LARGE", where=TicketFilter(text="Straße"), order=Order.NEWEST))
        assert len(parts) == 2
        assert all(parts)


class TestFailure:
    def test_a_store_that_fails_is_told_in_the_file(
        self, projects: None, store_away: Callable[[], None], caplog: pytest.LogCaptureFixture
    ) -> None:
        """If the store stops answering, the last line says that the file is incomplete, and the error is raised.

        The log says it, too.
        """
        parts = export_tickets("LARGE")
        written = next(parts) + next(parts)
        store_away()
        written += next(parts)
        with pytest.raises(SequenceUnavailable):
            next(parts)
        assert len(rows(written)) == PAGE + 1
        assert rows(written)[-1]["key"] == INCOMPLETE
        assert "export of project LARGE: incomplete: " in caplog.text

    def test_a_slow_reader_gets_a_part(self, projects: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the file takes too long, the last line says that it is incomplete, and the error is raised."""
        monkeypatch.setattr(export, "MOST_SECONDS", -1)
        parts = export_tickets("LARGE")
        written = b"".join(next(parts) for _ in range(3))
        with pytest.raises(TimeoutError):
            next(parts)
        assert [row["key"] for row in rows(written)][PAGE:] == [export.TOO_LONG]

    def test_a_store_that_is_away_from_the_beginning(
        self, api: APIClient, abc: Project, store_away: Callable[[], None]
    ) -> None:
        """If the first page cannot be read, the answer is an error, and no file."""
        store_away()
        assert api.get(EXPORT).status_code == 503

    def test_the_answer_fails(self, projects: None, api: APIClient, store_away: Callable[[], None]) -> None:
        """Over HTTP, too, a file that was cut short ends with its last line, and not as a complete answer does.

        How the web server ends what fails is tested in `tests/project/test_sending.py`.
        """
        response: Any = api.get(EXPORT.replace("ABC", "LARGE"))
        parts = iter(response)
        written = next(parts) + next(parts)
        store_away()
        written += next(parts)
        with pytest.raises(SequenceUnavailable):
            next(parts)
        assert rows(written)[-1]["key"] == INCOMPLETE
