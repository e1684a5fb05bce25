"""The writes and the reads of projects and tickets."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings

from sequences import dynamodb
from sequences.dynamodb.making import Send
from sequences.exceptions import (
    AccessRefused,
    IdempotencyMismatch,
    NotWritten,
    OutcomeUnknown,
    SequenceUnavailable,
    StorageError,
)
from sequences.registry import parse_config, strategies
from tests.sequences.support import look_at_the_tables
from tickets import project_services, selectors, services, store
from tickets.exceptions import (
    InvalidInput,
    ProjectExists,
    ProjectNotFound,
    StaleVersion,
    TicketNotFound,
    TicketVoided,
)
from tickets.timeline.selectors import list_events
from tickets.types import Project, Status, Stored, Ticket, TicketKey, TicketStored

ABC_1 = TicketKey(project="ABC", number=1)


def file(title: str, project: str = "ABC", *, reporter: str = "ann", token: str | None = None) -> TicketStored:
    """File a ticket with this title."""
    return services.create_ticket(project, title=title, reporter=reporter, idempotency_token=token)


def requests_from_now() -> list[str]:
    """A list that gets the operation of every request after this call."""
    operations: list[str] = []
    look_at_the_tables()

    def noting(send: Send) -> Send:
        def noted(operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
            operations.append(operation.title().replace("_", ""))
            return send(operation, request)

        return noted

    dynamodb.wrap_sending(noting)
    return operations


def titles_given(key: TicketKey) -> list[Any]:
    """The title that each change of a ticket gave it, in their order."""
    events = list_events(selectors.get_ticket(key)).results
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    return [(event.changes["title"] or ("", ""))[1] for event in events]


def change_elsewhere(title: str) -> None:
    """Change the title of ABC-1 as another machine does: without the queue and the host lock of this one."""
    entry = settings.SEQUENCES["timeline"]
    alone = parse_config("timeline", {**entry, "OPTIONS": {**entry["OPTIONS"], "group": False}})
    elsewhere = type(strategies["timeline"])(alone)
    with patch.dict(strategies._made, {"timeline": elsewhere}):
        current = selectors.get_ticket(ABC_1)
        services.update_ticket(ABC_1, version=current.version, changes={"title": title}, by="bob")


def stored_titles(project: str = "ABC") -> list[str]:
    """The titles of a project's tickets, oldest first."""
    return [ticket.title for ticket in reversed(selectors.list_tickets(project).results)]


class TestProjects:
    def test_a_new_project_is_found_and_listed(self, tables: str) -> None:
        """A project is found by its key, and in the register."""
        made = project_services.create_project(key="ABC", name=" Alphabet ", description="A to C.", by="ann").value
        assert made == Project(key="ABC", name="Alphabet", description="A to C.")
        assert selectors.get_project("ABC") == made
        assert selectors.list_projects().results == (made,)

    def test_a_key_is_given_once(self, abc: Project) -> None:
        """A second project with the same key is refused, and the first stays as it was."""
        with pytest.raises(ProjectExists, match="ABC already"):
            project_services.create_project(key="ABC", name="Other", by="bob")
        assert selectors.get_project("ABC") == abc

    def test_a_repeat_with_the_same_token_makes_one_project(self, tables: str) -> None:
        """The same request sent twice succeeds twice and makes one project; another person's token is another."""
        for _ in range(2):
            project_services.create_project(key="ABC", name="Alphabet", by="ann", idempotency_token="t")
        with pytest.raises(ProjectExists):
            project_services.create_project(key="ABC", name="Alphabet", by="bob", idempotency_token="t")
        assert len(selectors.list_projects().results) == 1

    def test_a_new_project_costs_one_request(self, tables: str) -> None:
        """A new project is known without being read; a repeat reads what asked for it, and the project as it is now."""
        store.places.renames.key("ABC")  # this process has used the table before
        operations = requests_from_now()
        made = project_services.create_project(key="ABC", name="Alphabet", by="ann", idempotency_token="t")
        assert operations == ["TransactWriteItems"]
        changed = project_services.update_project("ABC", changes={"key": "XYZ", "name": "Rest"}, by="bob")
        operations.clear()
        again = project_services.create_project(key="ABC", name="Alphabet", by="ann", idempotency_token="t")
        assert again == Stored(value=changed, replayed=True)
        assert not made.replayed
        assert operations == ["TransactWriteItems", "GetItem", "GetItem"]

    @pytest.mark.parametrize("other", [{"name": "Other"}, {"description": "Other."}, {"key": "XYZ"}])
    def test_a_token_stands_for_one_project(self, tables: str, other: dict[str, str]) -> None:
        """The same token for another project is refused, and makes none."""
        asked = {"key": "ABC", "name": "Alphabet", "by": "ann", "idempotency_token": "t"}
        made = project_services.create_project(**asked)
        with pytest.raises(IdempotencyMismatch):
            project_services.create_project(**asked | other)
        assert selectors.list_projects().results == (made.value,)

    @pytest.mark.needs_engine
    def test_a_lost_answer_makes_one_project(self, tables: str, lose_answer: Callable[[], None]) -> None:
        """A project whose first answer was lost exists once; the same request is sent again, and nothing is read."""
        operations = requests_from_now()
        lose_answer()
        made = project_services.create_project(key="ABC", name="Alphabet", by="ann").value
        assert operations == ["TransactWriteItems", "TransactWriteItems"]
        assert selectors.list_projects().results == (made,)

    @pytest.mark.parametrize("refusal", [NotWritten, AccessRefused])
    def test_a_project_that_is_stored_is_not_denied(
        self, tables: str, unreadable: Callable[[type[StorageError]], None], refusal: type[StorageError]
    ) -> None:
        """A repeat that cannot read what is stored does not say that nothing was stored."""
        project_services.create_project(key="ABC", name="Alphabet", by="ann", idempotency_token="t")
        unreadable(refusal)
        with pytest.raises(SequenceUnavailable, match="may have been stored") as caught:
            project_services.create_project(key="ABC", name="Alphabet", by="ann", idempotency_token="t")
        assert caught.value.outcome_unknown

    def test_the_register_is_in_alphabetical_order(self, tables: str) -> None:
        """Projects are listed by their keys, whatever their length, page by page."""
        keys = ["ZZ", "AB", "ABC", "A1", "B2B", "ABCDEFGHIJ", "ABD", "A9ZZZZZZZZ"]
        for key in keys:
            project_services.create_project(key=key, name=key, by="ann")
        found, cursor = selectors.list_scopes(None, 3)
        while cursor is not None:
            more, cursor = selectors.list_scopes(cursor, 3)
            found += more
        assert found == sorted(keys)

    def test_the_register_is_searched_by_the_beginning_of_a_key(self, tables: str) -> None:
        """The scopes that begin with a text are found page by page, in any case; what no key has finds nothing."""
        keys = ["AB", "ABC", "ABCDEFGHIJ", "ABD", "AC", "A1", "B2B"]
        for key in keys:
            project_services.create_project(key=key, name=key, by="ann")
        for prefix in ("AB", "ab", "ABC", "A", "ABCDEFGHIJ", "B3", "Z", "AB-", "é", "A" * 11):
            found, cursor = selectors.list_scopes(None, 2, prefix)
            while cursor is not None:
                more, cursor = selectors.list_scopes(cursor, 2, prefix)
                found += more
            assert found == sorted(key for key in keys if key.startswith(prefix.upper()))

    def test_places_in_the_register_fit_a_json_number(self) -> None:
        """The last possible key has a place that every reader of JSON keeps exactly."""
        assert store.places.place_in_register("ZZZZZZZZZZ") < 2**53

    def test_an_unknown_project_is_not_found(self, tables: str) -> None:
        """What does not exist, or is no key at all, is not found."""
        for key in ("ABC", "#projects", ""):
            with pytest.raises(ProjectNotFound):
                selectors.list_tickets(key)
        with pytest.raises(ProjectNotFound):
            selectors.get_project("ABC")


class TestFiling:
    def test_tickets_are_numbered_from_1_per_project(self, abc: Project) -> None:
        """Every project counts on its own."""
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        keys = [str(file("x", project).ticket.key) for project in ("ABC", "ABC", "XYZ", "ABC")]
        assert keys == ["ABC-1", "ABC-2", "XYZ-1", "ABC-3"]

    def test_a_filed_ticket_is_what_is_stored(self, abc: Project) -> None:
        """What filing returns is what is read afterwards."""
        filed = services.create_ticket(
            "ABC", title=" T ", description="D\r\nE", status="done", assignee="bob", labels=["b", "a"], reporter="ann"
        )
        assert not filed.replayed
        assert filed.ticket == selectors.get_ticket(filed.ticket.key)
        assert (filed.ticket.title, filed.ticket.description, filed.ticket.version) == ("T", "D\nE", 1)
        assert (filed.ticket.labels, filed.ticket.status) == (("b", "a"), Status.DONE)

    @pytest.mark.parametrize("key", ["XYZ", "#projects", "abc"])
    def test_an_unknown_project_is_refused(self, abc: Project, key: str) -> None:
        """No ticket is filed in what is no project, be it a part of the table."""
        with pytest.raises(ProjectNotFound):
            file("x", key)
        assert [project.key for project in selectors.list_projects().results] == ["ABC"]

    def test_an_unknown_project_costs_two_requests(self, abc: Project) -> None:
        """The query for the highest number says that there is no project, and another one that none was renamed."""
        file("x", "ABC")  # this process has used the table before
        operations = requests_from_now()
        with pytest.raises(ProjectNotFound):
            file("x", "XYZ")
        assert operations == ["Query", "Query"]

    def test_every_wrong_field_is_named(self, abc: Project) -> None:
        """Nothing is stored when a field is wrong, and the next ticket is number 1."""
        with pytest.raises(InvalidInput) as caught:
            services.create_ticket("ABC", title="", labels=["x" * 41], reporter="ann")
        assert set(caught.value.message_dict) == {"title", "labels"}
        assert file("x").ticket.number == 1

    def test_a_repeat_with_the_same_token_files_one_ticket(self, abc: Project) -> None:
        """A repeat returns the first ticket as it is now, and says that it is a repeat."""
        first = file("x", token="t")
        services.update_ticket(first.ticket.key, version=1, changes={"title": "y"}, by="bob")
        again = file("x", token="t")
        assert again.replayed
        assert again.ticket.key == first.ticket.key
        assert again.ticket.title == "y"
        assert stored_titles() == ["y"]

    @pytest.mark.parametrize(
        ("refusal", "message"),
        [(NotWritten, r"It cannot be read\. Gave up after"), (AccessRefused, r"Gave up after 1 attempts and 0\.0 s")],
    )
    def test_a_ticket_that_is_stored_is_not_denied(
        self,
        abc: Project,
        unreadable: Callable[[type[StorageError]], None],
        refusal: type[StorageError],
        message: str,
    ) -> None:
        """A repeat that finds its ticket, but cannot read it, does not say that nothing was stored."""
        file("x", token="t")
        unreadable(refusal)
        with pytest.raises(SequenceUnavailable, match=message) as caught:
            file("x", token="t")
        assert caught.value.outcome_unknown
        assert "nothing was stored" not in str(caught.value)

    def test_a_token_stands_for_one_content(self, abc: Project) -> None:
        """The same token with another content is refused, and files nothing."""
        file("x", token="t")
        with pytest.raises(IdempotencyMismatch):
            file("y", token="t")
        assert stored_titles() == ["x"]

    def test_two_people_may_use_the_same_token(self, abc: Project) -> None:
        """Tokens belong to who uses them, also where names and tokens run into each other."""
        for reporter, token in (("ann", "t"), ("bob", "t"), ("ann:t", "u"), ("ann", "t:u")):
            assert not file("x", reporter=reporter, token=token).replayed
        assert len(stored_titles()) == 4

    @pytest.mark.parametrize("token", ["", " ", "x" * 256, "a\nb"])
    def test_a_token_has_limits(self, abc: Project, token: str) -> None:
        """A token is 1 to 255 characters without control characters."""
        with pytest.raises(InvalidInput) as caught:
            file("x", token=token)
        assert set(caught.value.message_dict) == {"idempotency_token"}

    def test_the_longest_names_and_tokens_are_accepted(self, abc: Project) -> None:
        """The largest ticket that the limits allow, from the longest name with the longest token, is stored."""
        filed = services.create_ticket(
            "ABC",
            title="🎫" * 200,
            description="🎫" * 20_000,
            assignee="🎫" * 150,
            labels=[f"{number:02}{'🎫' * 38}" for number in range(20)],
            reporter="x" * 150,
            idempotency_token="é " * 100,
        )
        assert selectors.get_ticket(filed.ticket.key) == filed.ticket

    @pytest.mark.parametrize("token", [None, "t"])
    def test_a_lost_answer_files_one_ticket(
        self, abc: Project, lose_answer: Callable[[], None], token: str | None
    ) -> None:
        """A ticket whose first answer was lost is there once, with or without a token."""
        lose_answer()
        assert file("x", token=token).ticket.number == 1
        assert stored_titles() == ["x"]

    def test_many_at_once_leave_no_gap(self, abc: Project) -> None:
        """Sixteen people who file together get the numbers 1 to 160, each once."""
        with ThreadPoolExecutor(16) as pool:
            filed = list(pool.map(lambda number: file(f"x{number}"), range(160)))
        assert sorted(one.ticket.number for one in filed) == list(range(1, 161))
        assert len(set(selectors.list_tickets("ABC", limit=100).results)) == 100

    def test_a_store_that_is_away_is_said(self, abc: Project, store_away: Callable[[], None]) -> None:
        """Without the store every write and read raises that it is unavailable."""
        store_away()
        with pytest.raises(SequenceUnavailable):
            file("x")
        with pytest.raises(SequenceUnavailable):
            selectors.get_project("ABC")


class TestChanging:
    def test_a_change_touches_what_it_names(self, ticket: Ticket) -> None:
        """Only the fields that are named change, and the version counts up."""
        changed = services.update_ticket(
            ABC_1, version=1, changes={"status": "done", "labels": [], "assignee": "bob"}, by="bob"
        ).ticket
        assert (changed.status, changed.labels, changed.assignee, changed.version) == (Status.DONE, (), "bob", 2)
        assert (changed.title, changed.description, changed.reporter) == (
            "Printer on fire",
            "Third floor.",
            "ann",
        )
        assert changed.created_at == ticket.created_at < changed.updated_at
        assert selectors.get_ticket(ABC_1) == changed

    def test_a_stale_version_is_refused_with_the_ticket_as_it_is(self, ticket: Ticket) -> None:
        """Of two changes of one version the second is refused and told what the first has made of the ticket."""
        current = services.update_ticket(ABC_1, version=1, changes={"title": "Out"}, by="bob").ticket
        with pytest.raises(StaleVersion, match="version 2") as caught:
            services.update_ticket(ABC_1, version=1, changes={"title": "Lost"}, by="ann")
        assert caught.value.current == current == selectors.get_ticket(ABC_1)

    def test_a_lost_answer_changes_once(self, ticket: Ticket, lose_answer: Callable[[], None]) -> None:
        """A change whose first answer was lost is made once, and is not taken for somebody else's."""
        lose_answer()
        changed = services.update_ticket(ABC_1, version=1, changes={"title": "Out"}, by="ann").ticket
        assert (changed.title, changed.version) == ("Out", 2)
        assert selectors.get_ticket(ABC_1) == changed

    def test_a_change_keeps_the_name_of_the_request_that_filed(self, abc: Project) -> None:
        """The row's token outlives changes: who filed it and lost the answer still recognises it."""
        key = {"TableName": dynamodb.table_name("tickets"), "Key": dynamodb.marshal({"pk": "ABC", "sk": 1})}
        file("x")
        before = dynamodb.call("get_item", key)["Item"]["token"]
        services.update_ticket(ABC_1, version=1, changes={"title": "y"}, by="ann")
        services.void_ticket(ABC_1, by="ann")
        assert dynamodb.call("get_item", key)["Item"]["token"] == before

    @pytest.mark.parametrize("changes", [{"title": ""}, {"number": 5}, {"status": "void"}])
    def test_a_wrong_change_is_refused(self, ticket: Ticket, changes: dict[str, object]) -> None:
        """A change by a wrong value, of what cannot be changed, or to void, changes nothing."""
        with pytest.raises(InvalidInput):
            services.update_ticket(ABC_1, version=1, changes=changes, by="ann")
        assert selectors.get_ticket(ABC_1) == ticket

    def test_what_does_not_exist_cannot_be_changed(self, abc: Project) -> None:
        """Changing or voiding a number that was not given makes no ticket."""
        with pytest.raises(TicketNotFound):
            services.update_ticket(ABC_1, version=1, changes={"title": "x"}, by="ann")
        with pytest.raises(TicketNotFound):
            services.void_ticket(ABC_1, by="ann")
        assert file("x").ticket.number == 1


class TestVoiding:
    def test_a_void_ticket_keeps_its_number_and_why(self, ticket: Ticket) -> None:
        """The content is gone from the store, who and why is kept, and the number is not given again."""
        void = services.void_ticket(ABC_1, by="bob", reason="A duplicate.").ticket
        assert void == selectors.get_ticket(ABC_1)
        assert void.void is not None
        assert (void.void.by, void.void.reason, void.status) == ("bob", "A duplicate.", Status.VOID)
        assert (void.title, void.description, void.labels, void.assignee) == ("", "", (), "")
        assert file("next").ticket.number == 2

    def test_the_last_ticket_leaves_its_number_taken(self, ticket: Ticket) -> None:
        """Voiding the newest ticket does not free its number, also for a process that remembers nothing."""
        services.void_ticket(ABC_1, by="bob")
        dynamodb.reset()
        assert file("next").ticket.number == 2

    def test_voiding_again_changes_nothing(self, ticket: Ticket) -> None:
        """The first voiding stands."""
        first = services.void_ticket(ABC_1, by="bob", reason="First.").ticket
        assert services.void_ticket(ABC_1, by="ann", reason="Second.").ticket == first
        assert selectors.get_ticket(ABC_1) == first

    def test_a_lost_answer_voids_once(self, ticket: Ticket, lose_answer: Callable[[], None]) -> None:
        """A voiding whose first answer was lost is done, once."""
        lose_answer()
        assert services.void_ticket(ABC_1, by="bob").ticket.version == 2

    def test_a_stale_version_is_not_voided(self, ticket: Ticket) -> None:
        """Who names a version does not void what somebody changed meanwhile."""
        services.update_ticket(ABC_1, version=1, changes={"title": "Out"}, by="ann")
        with pytest.raises(StaleVersion):
            services.void_ticket(ABC_1, by="bob", version=1)
        assert selectors.get_ticket(ABC_1).void is None

    def test_a_void_ticket_cannot_be_changed(self, ticket: Ticket) -> None:
        """A change of a void ticket is refused, whatever version it names."""
        void = services.void_ticket(ABC_1, by="bob").ticket
        with pytest.raises(TicketVoided):
            services.update_ticket(ABC_1, version=void.version, changes={"title": "Back"}, by="ann")
        with pytest.raises(TicketVoided):
            selectors.get_changeable_ticket(ABC_1)


class TestLists:
    def test_tickets_come_newest_first_by_pages(self, abc: Project) -> None:
        """Pages follow one another without a gap or a double, and the last one has no cursor."""
        for number in range(1, 8):
            file(f"x{number}")
        pages: list[list[int]] = []
        cursor = None
        while not pages or cursor:
            page = selectors.list_tickets("ABC", cursor=cursor, limit=3)
            pages.append([ticket.number for ticket in page.results])
            cursor = page.next_cursor
        assert pages == [[7, 6, 5], [4, 3, 2], [1]]

    def test_a_full_last_page_is_the_last(self, abc: Project) -> None:
        """A page that holds exactly what is left has no cursor to an empty one."""
        for number in range(3):
            file(f"x{number}")
        assert selectors.list_tickets("ABC", limit=3).next_cursor is None

    def test_a_void_ticket_stays_in_its_place(self, ticket: Ticket) -> None:
        """A void ticket is listed as void."""
        file("second")
        services.void_ticket(ABC_1, by="ann", reason="A duplicate.")
        assert [ticket.status for ticket in selectors.list_tickets("ABC").results] == [Status.OPEN, Status.VOID]

    def test_a_list_may_leave_the_descriptions_out(self, ticket: Ticket) -> None:
        """Descriptions are only read for a list that wants them."""
        assert selectors.list_tickets("ABC", whole=False).results[0].description == ""
        assert selectors.list_tickets("ABC").results == (ticket,)

    def test_pages_that_would_be_too_large_are_shorter(self, abc: Project) -> None:
        """Where the store ends a page at 1 MB, the list goes on there and loses nothing."""
        for number in range(15):
            services.create_ticket("ABC", title=f"x{number}", description="🎫" * 20_000, reporter="ann")
        first = selectors.list_tickets("ABC")
        rest = selectors.list_tickets("ABC", cursor=first.next_cursor)
        assert len(first.results) < 15
        assert [ticket.number for ticket in (*first.results, *rest.results)] == list(range(15, 0, -1))

    @pytest.mark.parametrize("cursor", ["", "5", "5:", "5:forged", "\x00", "é"])
    def test_a_made_up_cursor_is_refused(self, abc: Project, cursor: str) -> None:
        """A cursor that this list did not give is refused by name."""
        with pytest.raises(InvalidInput) as caught:
            selectors.list_tickets("ABC", cursor=cursor)
        assert set(caught.value.message_dict) == {"cursor"}

    def test_a_cursor_belongs_to_its_list(self, abc: Project) -> None:
        """A cursor of one project is no cursor of another."""
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        for number in range(2):
            file(f"x{number}")
        cursor = selectors.list_tickets("ABC", limit=1).next_cursor
        with pytest.raises(InvalidInput):
            selectors.list_tickets("XYZ", cursor=cursor)


class TestImportedRows:
    def test_a_row_of_somebody_else_is_a_ticket(self, abc: Project) -> None:
        """A row that lacks what ours have is shown, listed, and can be changed; the numbers go on after it."""
        row = {"pk": "ABC", "sk": 1, "title": "Imported"}
        dynamodb.call("put_item", {"TableName": dynamodb.table_name("tickets"), "Item": dynamodb.marshal(row)})
        imported = selectors.get_ticket(ABC_1)
        assert (imported.status, imported.reporter, imported.version) == (Status.OPEN, "", 1)
        assert imported.created_at == imported.updated_at == datetime(1970, 1, 1, tzinfo=UTC)
        assert stored_titles() == ["Imported"]
        with pytest.raises(StaleVersion):
            services.update_ticket(ABC_1, version=2, changes={"status": "done"}, by="ann")
        changed = services.update_ticket(ABC_1, version=1, changes={"status": "done"}, by="ann").ticket
        assert (changed.status, changed.version) == (Status.DONE, 2)
        with pytest.raises(StaleVersion):
            services.update_ticket(ABC_1, version=1, changes={"status": "open"}, by="ann")
        assert file("Ours").ticket.key.number == 2

    def test_it_is_restored(self, abc: Project) -> None:
        """A row without a status is open again after it was void."""
        row = {"pk": "ABC", "sk": 1, "title": "Imported"}
        dynamodb.call("put_item", {"TableName": dynamodb.table_name("tickets"), "Item": dynamodb.marshal(row)})
        services.void_ticket(ABC_1, by="ann")
        restored = services.restore_ticket(ABC_1, by="ann").ticket
        assert (restored.status, restored.void, restored.title) == (Status.OPEN, None, "Imported")


class TestLostChanges:
    def test_a_change_that_others_have_changed_since(self, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """After a lost answer a change is recognised by its event, also below two changes by others."""
        changed = self._lose_and_change(monkeypatch, stored=True, others=2)
        assert (changed.title, changed.version) == ("Mine", 2)
        assert selectors.get_ticket(ABC_1).title == "Other 2"
        assert titles_given(ABC_1) == ["Mine", "Other 1", "Other 2"]

    def test_a_change_that_was_not_stored(self, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the version that follows is somebody else's, the change is not there."""
        with pytest.raises(StaleVersion) as caught:
            self._lose_and_change(monkeypatch, stored=False, others=1)
        assert caught.value.current.title == "Other 1"
        assert titles_given(ABC_1) == ["Other 1"]

    @staticmethod
    def _lose_and_change(monkeypatch: pytest.MonkeyPatch, *, stored: bool, others: int) -> Ticket:
        """Change the ticket and lose the answer. Others, on other machines, change it before it is sent again."""
        send, lost = dynamodb.call, False

        def call(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
            nonlocal lost
            if operation != "transact_write_items" or lost:
                return send(operation, request, **limits)
            lost = True
            if stored:
                send(operation, request, **limits)
            for n in range(1, others + 1):
                change_elsewhere(f"Other {n}")
            raise OutcomeUnknown("The answer was lost.")

        monkeypatch.setattr(dynamodb, "call", call)
        return services.update_ticket(ABC_1, version=1, changes={"title": "Mine"}, by="ann").ticket


class TestDefaults:
    def test_what_is_not_said_is_empty(self, tables: str) -> None:
        """A project needs a key and a name, a ticket a title, and who withdraws one need not say why."""
        assert project_services.create_project(key="ABC", name="Alphabet", by="ann").value.description == ""
        ticket = services.create_ticket("ABC", title="x", reporter="ann").ticket
        assert (ticket.description, ticket.assignee, ticket.labels, ticket.status) == ("", "", (), Status.OPEN)
        void = services.void_ticket(ticket.key, by="bob").ticket.void
        assert void is not None
        assert void.reason == ""


class TestLog:
    def test_a_line_for_what_cannot_be_undone(self, ticket: Ticket, caplog: pytest.LogCaptureFixture) -> None:
        """Who made a project, and who withdrew a ticket, is logged once, and not what they wrote."""
        with caplog.at_level(logging.INFO, "tickets"):
            project_services.create_project(key="XYZ", name="Rest", by="ann")
            for _ in range(2):
                services.void_ticket(ABC_1, by="bob", reason="A duplicate.")
        lines = [
            record.getMessage()
            for record in caplog.records
            if record.name in ("tickets.services", "tickets.project_services")
        ]
        assert lines == ["project XYZ created by ann", "ticket ABC-1 voided by bob"]
