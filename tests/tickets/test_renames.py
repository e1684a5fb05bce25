"""Projects with another key: in the services, over REST, and on the pages."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from sequences.exceptions import ScopeNotFound
from sequences.ops.audit import audit
from sequences.registry import strategies
from tests.people import allow
from tests.tickets.test_services import ABC_1, file, requests_from_now
from tickets import moves, project_services, renames, selectors, services, store
from tickets.exceptions import InvalidInput, ProjectChanged, ProjectExists, ProjectNotFound, TicketMoved
from tickets.types import Project, Ticket, TicketKey

XYZ_1 = TicketKey(project="XYZ", number=1)


def rename(key: str = "ABC", new_key: str = "XYZ") -> Project:
    """Give a project another key, as Bob."""
    return project_services.update_project(key, changes={"key": new_key}, by="bob")


@contextmanager
def in_another_process() -> Iterator[None]:
    """This process remembers afterwards what it remembered before, as if another one had done what is done inside."""
    store.places.renames.key("ABC")
    known = store.places.renames._known
    yield
    store.places.renames._known = known


def keys_listed() -> list[str]:
    """The keys of all projects."""
    return [project.key for project in selectors.list_projects().results]


class TestRenaming:
    def test_a_project_keeps_its_tickets_and_their_numbers(self, ticket: Ticket) -> None:
        """After a rename the tickets have the new key, and the numbers go on."""
        assert rename() == Project(key="XYZ", name="Alphabet", description="", version=2)
        assert selectors.get_project("XYZ").key == "XYZ"
        assert keys_listed() == ["XYZ"]
        assert selectors.get_ticket(XYZ_1).title == ticket.title
        assert file("next", "XYZ").ticket.key == TicketKey(project="XYZ", number=2)
        assert [one.key.project for one in selectors.list_tickets("XYZ").results] == ["XYZ", "XYZ"]

    def test_the_former_key_keeps_working(self, ticket: Ticket) -> None:
        """All that can be done by the new key can be done by the former one, and is answered by the new one."""
        rename()
        assert selectors.get_project("ABC").key == "XYZ"
        assert selectors.get_ticket(ABC_1).key == XYZ_1
        assert services.update_ticket(ABC_1, version=1, changes={"title": "Out"}, by="ann").ticket.key == XYZ_1
        assert str(file("next", "ABC").ticket.key) == "XYZ-2"
        assert [str(one.key) for one in selectors.list_tickets("ABC").results] == ["XYZ-2", "XYZ-1"]
        assert services.void_ticket(ABC_1, by="ann").ticket.key == XYZ_1
        assert project_services.update_project("ABC", changes={"name": "Letters"}, by="ann").name == "Letters"

    def test_a_former_key_is_never_given_away(self, abc: Project) -> None:
        """No project can be made under a key, or renamed to a key, that another project ever had."""
        project_services.create_project(key="DEF", name="Other", by="ann")
        rename()
        rename("XYZ", "NEW")
        for taken in ("ABC", "XYZ", "NEW"):
            with pytest.raises(ProjectExists):
                project_services.create_project(key=taken, name="Thief", by="ann")
            with pytest.raises(ProjectExists):
                rename("DEF", taken)
        assert keys_listed() == ["DEF", "NEW"]
        assert selectors.get_project("DEF").name == "Other"

    def test_a_key_that_is_in_use_is_refused(self, ticket: Ticket) -> None:
        """A project cannot take the key of another one, and stays as it was."""
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        with pytest.raises(ProjectExists, match="XYZ"):
            rename()
        assert keys_listed() == ["ABC", "XYZ"]
        assert selectors.get_ticket(ABC_1) == ticket

    def test_every_key_of_a_chain_leads_to_the_project(self, ticket: Ticket) -> None:
        """Of a project that was renamed often, every key leads to its tickets."""
        chain = ["ABC", "XYZ", "DEF", "GHI"]
        for key, new_key in pairwise(chain):
            rename(key, new_key)
        for key in chain:
            assert str(selectors.get_ticket(TicketKey(project=key, number=1)).key) == "GHI-1"
        assert keys_listed() == ["GHI"]

    def test_a_project_may_take_its_own_former_key_again(self, ticket: Ticket) -> None:
        """A project that goes back to a key of its own has one entry in the list, and all its keys still work."""
        rename()
        assert rename("XYZ", "ABC").key == "ABC"
        assert keys_listed() == ["ABC"]
        assert selectors.get_ticket(XYZ_1) == selectors.get_ticket(ABC_1) == ticket
        assert rename().key == "XYZ"
        assert keys_listed() == ["XYZ"]

    def test_a_repeat_changes_nothing(self, abc: Project) -> None:
        """The same rename again is answered as the first, and writes nothing."""
        rename()
        operations = requests_from_now()
        assert rename().key == "XYZ"
        assert "TransactWriteItems" not in operations

    def test_a_late_repeat_does_not_undo_a_rename(self, abc: Project) -> None:
        """A rename from a key that is not the present one any more is refused, and told the present one."""
        rename()
        rename("XYZ", "DEF")
        with pytest.raises(ProjectChanged, match="Project ABC is project DEF now"):
            rename()
        assert selectors.get_project("ABC").key == "DEF"

    @pytest.mark.needs_engine
    def test_a_lost_answer_renames_once(self, ticket: Ticket, lose_answer: Callable[[], None]) -> None:
        """A rename whose first answer was lost is made, and known."""
        lose_answer()
        assert rename().key == "XYZ"
        assert selectors.get_ticket(ABC_1).key == XYZ_1

    def test_a_name_is_changed_alone(self, abc: Project) -> None:
        """A project that was never renamed gets another name under its key, again and again."""
        for version, name in ((2, "Letters"), (3, "Signs")):
            changed = project_services.update_project("ABC", changes={"name": name}, by="bob")
            assert changed == Project(key="ABC", name=name, description="", version=version)
            assert selectors.get_project("ABC") == changed
            assert selectors.list_projects().results == (changed,)

    def test_name_and_description_are_changed_together(self, abc: Project) -> None:
        """The project and its entry in the list have the same new fields."""
        changes = {"key": "XYZ", "name": "Letters", "description": "A to C."}
        changed = project_services.update_project("ABC", changes=changes, by="bob")
        assert changed == Project(key="XYZ", name="Letters", description="A to C.", version=2)
        assert selectors.get_project("XYZ") == changed
        assert selectors.list_projects().results == (changed,)

    def test_a_rename_is_logged_once(self, abc: Project, caplog: pytest.LogCaptureFixture) -> None:
        """The log says who gave a project another key; neither a repeat nor another change adds to it."""
        with caplog.at_level(logging.INFO, "tickets"):
            rename()
            rename()
            project_services.update_project("XYZ", changes={"name": "Letters"}, by="bob")
        lines = [record.getMessage() for record in caplog.records if record.name == "tickets.project_services"]
        assert lines == ["project ABC renamed to XYZ by bob"]

    def test_wrong_fields_are_refused(self, abc: Project) -> None:
        """What is no key, no name or no field changes nothing."""
        for changes, field in (
            ({"key": "a"}, "key"),
            ({"name": ""}, "name"),
            ({"owner": "x"}, "owner"),
        ):
            with pytest.raises(InvalidInput) as refused:
                project_services.update_project("ABC", changes=changes, by="ann")
            assert set(refused.value.message_dict) == {field}
        assert project_services.update_project("ABC", changes={}, by="ann") == selectors.get_project("ABC") == abc

    def test_an_unknown_project_is_not_found(self, abc: Project) -> None:
        """What does not exist cannot be renamed."""
        with pytest.raises(ProjectNotFound):
            rename("DEF", "XYZ")


class TestNumbers:
    def test_a_rename_does_not_touch_the_sequence(self, ticket: Ticket) -> None:
        """The scope of a project stays its first key, and its audit finds every number."""
        rename()
        file("next", "XYZ")
        assert selectors.list_scopes(None, 10) == selectors.list_scopes(None, 10, "AB") == (["ABC"], None)
        assert selectors.list_scopes(None, 10, "XY") == ([], None)
        report = audit(strategies["tickets"], "ABC")
        assert (report.carried, report.missing, report.unexplained) == (2, 0, 0)

    def test_a_repeat_finds_its_ticket_after_a_rename(self, abc: Project) -> None:
        """The same token files one ticket, whichever key of the project it is sent to."""
        first = file("x", "ABC", token="t").ticket
        rename()
        again = file("x", "XYZ", token="t")
        assert (again.replayed, again.ticket.number, str(again.ticket.key)) == (True, first.number, "XYZ-1")

    def test_tickets_move_between_renamed_projects(self, ticket: Ticket) -> None:
        """A ticket moves by former keys of both projects; its own former key and a repeat still find it."""
        project_services.create_project(key="DEF", name="Other", by="ann")
        rename()
        rename("DEF", "GHI")
        moved = moves.move_ticket(ABC_1, to="DEF", by="bob", idempotency_token="t").ticket
        assert str(moved.key) == "GHI-1"
        rename("GHI", "JKL")
        with pytest.raises(TicketMoved, match="XYZ-1 has moved: it is JKL-1 now"):
            selectors.get_ticket(XYZ_1)
        again = moves.move_ticket(ABC_1, to="DEF", by="bob", idempotency_token="t")
        assert (again.replayed, str(again.ticket.key)) == (True, "JKL-1")

    def test_a_project_is_the_same_by_all_its_keys(self, ticket: Ticket) -> None:
        """A ticket cannot be moved to its own project by a former key."""
        rename()
        with pytest.raises(InvalidInput, match="in this project already"):
            moves.move_ticket(XYZ_1, to="ABC", by="bob")


class TestOtherProcesses:
    @pytest.mark.parametrize(
        "act",
        [
            lambda: selectors.get_project("XYZ").key,
            lambda: selectors.get_ticket(XYZ_1).project,
            lambda: selectors.list_tickets("XYZ").results[0].project,
            lambda: file("x", "XYZ").ticket.project,
            lambda: services.update_ticket(XYZ_1, version=1, changes={"title": "x"}, by="ann").ticket.project,
            lambda: project_services.update_project("XYZ", changes={"key": "XYZ"}, by="ann").key,
        ],
    )
    def test_a_new_key_works_at_once(self, ticket: Ticket, act: Callable[[], str]) -> None:
        """A process that has not heard of a rename finds the project and its tickets by the new key."""
        with in_another_process():
            rename()
        assert act() == "XYZ"

    def test_a_former_key_changes_the_project_at_once(self, abc: Project) -> None:
        """A process that has not heard of a rename changes the project by its former key."""
        with in_another_process():
            rename()
        assert project_services.archive_project("ABC", by="bob").key == "XYZ"
        with in_another_process():
            rename("XYZ", "DEF")
        assert project_services.update_project("XYZ", changes={"name": "Letters"}, by="bob").key == "DEF"

    def test_the_list_of_all_projects_leads_to_their_tickets(self, ticket: Ticket) -> None:
        """What lists all projects learns of a rename, so that the tickets that it asks for next are there."""
        with in_another_process():
            rename()
        assert keys_listed() == ["XYZ"]
        assert store.places.renames.partition("XYZ") == "ABC"

    def test_a_former_key_is_shown_for_a_while(self, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that has not heard of a rename shows the former key, until it reads the renames again."""
        with in_another_process():
            rename()
        assert selectors.get_ticket(ABC_1).key == ABC_1
        later = monotonic() + renames.REMEMBERED_SECONDS
        monkeypatch.setattr("tickets.renames.monotonic", lambda: later)
        assert selectors.get_ticket(ABC_1).key == XYZ_1

    def test_reads_and_writes_cost_nothing_more(self, still: None, ticket: Ticket) -> None:
        """By any key, a process that knows of the renames sends the requests that it would send without any."""
        rename()
        selectors.get_ticket(XYZ_1)
        for key in (XYZ_1, ABC_1):
            file("x", key.project)
            operations = requests_from_now()
            selectors.get_ticket(key)
            selectors.list_tickets(key.project)
            file("x", key.project)
            assert operations == ["GetItem", "Query", "PutItem"]

    def test_what_is_not_there_costs_one_query(self, still: None, ticket: Ticket) -> None:
        """A key that is not found is looked up once among the renames."""
        selectors.get_ticket(ABC_1)
        operations = requests_from_now()
        with pytest.raises(ProjectNotFound):
            selectors.get_project("XYZ")
        assert operations == ["GetItem", "Query"]

    def test_a_rename_that_is_not_known_is_not_renamed_over(self, abc: Project) -> None:
        """A process that has not heard of a rename cannot give the project a third key by its former one."""
        with in_another_process():
            rename()
        with pytest.raises(ProjectChanged):
            rename("ABC", "DEF")

    def test_of_two_renames_at_the_same_moment_one_wins(self, abc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who comes second is told the key that the project has now, and the other key stays free."""
        change = store.projects.change_project

        def second(*args: object, **kwargs: object) -> None:
            monkeypatch.setattr(store.projects, "change_project", change)
            with in_another_process():
                rename("ABC", "DEF")
            change(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(store.projects, "change_project", second)
        with pytest.raises(ProjectChanged, match="Project ABC is project DEF now"):
            rename()
        assert selectors.get_project("ABC").key == "DEF"
        assert project_services.create_project(key="XYZ", name="Rest", by="ann").value.key == "XYZ"

    def test_many_renames_at_the_same_moment_leave_one_key(self, ticket: Ticket) -> None:
        """Of eight who rename a project at the same moment one wins, and the keys of the others stay free."""

        def try_to_rename(number: int) -> str | None:
            try:
                return rename("ABC", f"NEW{number}").key
            except ProjectChanged:
                return None

        with ThreadPoolExecutor(8) as pool:
            [winner] = filter(None, pool.map(try_to_rename, range(8)))
        assert keys_listed() == [winner]
        assert selectors.get_ticket(ABC_1).project == winner
        for number in range(8):
            if winner != f"NEW{number}":
                project_services.create_project(key=f"NEW{number}", name="Free", by="ann")

    def test_pages_of_the_list_are_full(self, abc: Project) -> None:
        """A page of projects has as many as were wanted, however many former keys are between them."""
        for number in range(4):
            rename(f"ABC{number - 1}" if number else "ABC", f"ABC{number}")
        project_services.create_project(key="DEF", name="Other", by="ann")
        page = selectors.list_projects(limit=1)
        assert [project.key for project in page.results] == ["ABC3"]
        page = selectors.list_projects(limit=1, cursor=page.next_cursor)
        assert ([project.key for project in page.results], page.next_cursor) == (["DEF"], None)


class TestREST:
    def test_a_change_answers_with_the_project(self, api: APIClient, abc: Project) -> None:
        """A project gets another key, and is read by both."""
        response = api.patch("/api/projects/ABC/", {"key": "XYZ", "description": "A to C.", "version": 1})
        assert response.status_code == 200
        about = {"key": "XYZ", "name": "Alphabet", "description": "A to C."}
        assert response.json() == {**about, "open": "no", "archived": False, "version": 2}
        assert api.get("/api/projects/ABC/", follow=True).json() == response.json()
        assert api.get("/api/projects/XYZ/").json() == response.json()

    def test_former_keys_work_in_all_addresses(self, api: APIClient, ticket: Ticket) -> None:
        """Tickets are filed, read, listed, changed and withdrawn by the former key, and answered by the new one."""
        rename()
        filed = api.post("/api/projects/ABC/tickets/", {"title": "x"}, follow=True)
        assert filed.redirect_chain == [("/api/projects/XYZ/tickets/", 308)]
        assert (filed.status_code, filed.json()["key"]) == (201, "XYZ-2")
        assert filed["Location"] == "http://testserver/api/tickets/XYZ-2/"
        one, all_of_them = "/api/tickets/ABC-1/", "/api/projects/ABC/tickets/"
        assert api.get(one, follow=True).json()["key"] == "XYZ-1"
        listed = api.get(all_of_them, {"limit": 5}, follow=True).json()["results"]
        assert [ticket["key"] for ticket in listed] == ["XYZ-2", "XYZ-1"]
        assert api.patch(one, {"version": 1, "title": "y"}, follow=True).json()["project"] == "XYZ"
        assert api.delete(one, headers={"If-Match": "*"}, follow=True).json()["key"] == "XYZ-1"

    def test_a_list_goes_on_after_a_rename(self, api: APIClient, ticket: Ticket) -> None:
        """The address of the next page, taken before a rename, still leads to it."""
        file("x")
        following = api.get("/api/projects/ABC/tickets/?limit=1").json()["next"]
        rename()
        there = api.get(following)["Location"]
        assert [one["key"] for one in api.get(there).json()["results"]] == ["XYZ-1"]

    @pytest.mark.parametrize(
        ("body", "status"),
        [({"key": "xyz"}, 400), ({"key": "DEF"}, 409), ({"owner": "ann"}, 400), ({"key": None}, 400)],
    )
    def test_a_wrong_change_is_refused(self, api: APIClient, abc: Project, body: dict[str, str], status: int) -> None:
        """A key that is none, or is taken, and an unknown field, change nothing."""
        project_services.create_project(key="DEF", name="Other", by="ann")
        assert api.patch("/api/projects/ABC/", {**body, "version": 1}).status_code == status
        assert keys_listed() == ["ABC", "DEF"]


class TestPages:
    def test_the_form_renames_a_project_and_leads_to_it(self, browser: Client, ticket: Ticket) -> None:
        """The page of a project leads to the form, which shows the project as it is."""
        assert 'href="/ABC/edit/"' in browser.get("/ABC/").content.decode()
        typed = {field.html_name: field.value() for field in browser.get("/ABC/edit/").context["form"]}
        assert typed == {"key": "ABC", "name": "Alphabet", "description": "", "open": "no", "version": 1}
        response = browser.post("/ABC/edit/", {**typed, "key": "xyz"}, follow=True)
        assert response.redirect_chain == [("/XYZ/", 302)]
        assert "XYZ-1" in response.content.decode()

    def test_a_former_key_leads_to_the_present_address(self, browser: Client, ticket: Ticket) -> None:
        """Every page of a former key leads to the same page of the present one."""
        rename()
        for rest in ("/", "/edit/", "/new/", "-1/", "-1/edit/", "-1/move/", "-1/void/"):
            response = browser.get(f"/ABC{rest}", follow=True)
            assert response.redirect_chain == [(f"/XYZ{rest}", 308)]
            assert "/ABC" not in response.content.decode(), rest
            assert "XYZ" in response.content.decode(), rest

    def test_an_open_form_of_a_former_key_is_stored(self, browser: Client, ticket: Ticket) -> None:
        """What was typed before a rename is stored, and leads to the present address."""
        rename()
        assert browser.post("/ABC/new/", {"title": "x"})["Location"] == "/XYZ-2/"
        assert browser.post("/ABC-1/void/", {"version": "1"})["Location"] == "/XYZ-1/"
        assert browser.post("/ABC-2/edit/", {"title": "y", "status": "done", "version": "1"})["Location"] == "/XYZ-2/"

    def test_a_late_rename_undoes_nothing(self, browser: Client, api: APIClient, abc: Project) -> None:
        """A rename that names a former key is refused, by form and by REST: it is not sent on to the present one."""
        rename()
        for version in (1, 2):
            assert api.patch("/api/projects/ABC/", {"key": "OTHER", "version": version}).status_code == 409
            page = browser.post("/ABC/edit/", {"key": "OTHER", "name": "x", "version": version})
            assert page.status_code == 409
        assert keys_listed() == ["XYZ"]

    def test_processes_that_disagree_do_not_send_to_and_fro(self, browser: Client, ticket: Ticket) -> None:
        """A process that has not heard that a project took its former key again shows it where it is."""
        rename()
        with in_another_process():
            rename("XYZ", "ABC")
        assert browser.get("/ABC/").status_code == 200
        assert browser.get("/ABC-1/").status_code == 200

    def test_a_key_that_is_taken_stands_beside_the_field(self, browser: Client, abc: Project) -> None:
        """A key that another project has is said at the field, and what was typed is kept."""
        project_services.create_project(key="DEF", name="Other", by="ann")
        response = browser.post("/ABC/edit/", {"key": "DEF", "name": "Letters", "version": 1})
        assert response.status_code == 409
        assert "DEF" in response.context["form"].errors["key"][0]
        assert 'value="Letters"' in response.content.decode()

    def test_the_administration_lists_by_all_keys(self, browser: Client, ticket: Ticket, ann: User) -> None:
        """The list of tickets in the administration is found by a former key, and goes on by the present one."""
        ann.is_staff = True
        ann.save()
        allow(ann, "tickets.view_ticket")
        for number in range(50):
            file(f"x{number}")
        rename()
        page = browser.get("/admin/tickets/ticket/?project=ABC")
        assert "XYZ-51" in page.content.decode()
        following = page.context["page"].next_cursor
        rest = browser.get("/admin/tickets/ticket/", {"project": "XYZ", "cursor": following})
        assert "XYZ-1<" in rest.content.decode()


class TestMemory:
    """The memory by itself: the project that was OLD, then ABC, is XYZ."""

    @pytest.fixture
    def memory(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """A memory, what it has read (`reads`), and its clock (`now`)."""
        scene = SimpleNamespace(reads=0, now=100.0)

        def read() -> list[dict[str, Any]]:
            scene.reads += 1
            return [{"partition": "OLD", "key": "XYZ", "keys": {"OLD", "ABC", "XYZ"}}]

        scene.renames = renames.Renames(read)
        monkeypatch.setattr("tickets.renames.monotonic", lambda: scene.now)
        return scene

    def test_keys_and_partitions(self, memory: Any) -> None:
        """All keys of a project name its partition, which shows the present one; others stand for themselves."""
        known = memory.renames
        assert [known.partition(key) for key in ("OLD", "ABC", "XYZ", "DEF")] == ["OLD", "OLD", "OLD", "DEF"]
        assert [known.present(key) for key in ("OLD", "ABC", "XYZ", "DEF")] == ["XYZ", "XYZ", "XYZ", "DEF"]
        assert (known.key("OLD"), known.key("ABC"), memory.reads) == ("XYZ", "ABC", 1)

    def test_it_is_read_again(self, memory: Any) -> None:
        """After thirty seconds, and when it is told to forget."""
        for now, reads in ((100.0, 1), (129.9, 1), (130.0, 2)):
            memory.now = now
            memory.renames.key("ABC")
            assert memory.reads == reads
        memory.renames.forget()
        assert memory.reads == 2
        memory.renames.key("ABC")
        assert memory.reads == 3

    def test_another_table(self, tables: str, settings: Settings) -> None:
        """What is remembered of one table says nothing of another."""
        store.places.renames.key("ABC")
        assert store.places.renames._known
        settings.TABLE_PREFIX = "another_"
        assert store.places.renames._known is None

    @pytest.mark.parametrize("error", [ProjectNotFound("ABC"), ScopeNotFound("ABC")])
    def test_what_is_not_found_is_looked_for_again(self, memory: Any, error: Exception) -> None:
        """Once, and only where the key names another partition by now."""
        tried = list[str]()

        def act(partition: str) -> str:
            tried.append(partition)
            if partition == "OLD" and len(tried) > 1:
                return "found"
            raise error

        assert memory.renames.in_partition("ABC", lambda partition: partition) == "OLD"
        memory.renames._known = renames.Known(until=1000.0)
        assert (memory.renames.in_partition("ABC", act), tried) == ("found", ["ABC", "OLD"])
        with pytest.raises(type(error)):
            memory.renames.in_partition("DEF", act)
        assert tried == ["ABC", "OLD", "DEF"]
        with pytest.raises(KeyError):
            memory.renames.in_partition("DEF", {}.__getitem__)
