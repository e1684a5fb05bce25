"""Many tickets by one request: all or nothing, or each on its own."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from sequences.exceptions import NotWritten, SequenceUnavailable
from tests.tickets.lists.conftest import Asked
from tests.tickets.support import places
from tickets import bulk, moves, project_services, selectors, services, store
from tickets.exceptions import InvalidInput, ProjectNotFound
from tickets.types import Project, TicketKey, TicketStored

BULK = "/api/projects/ABC/tickets/bulk/"
MODES = ["all_or_nothing", "each"]


def send(api: APIClient, mode: str, tickets: Any, key: str | None = None, address: str = BULK) -> Any:
    """File these tickets."""
    headers = {"Idempotency-Key": key} if key else {}
    return api.post(address, {"mode": mode, "tickets": tickets}, headers=headers)


def titled(count: int) -> list[dict[str, Any]]:
    """So many tickets."""
    return [{"title": f"x{number}"} for number in range(1, count + 1)]


def listed() -> list[tuple[int, str]]:
    """The numbers and titles of all tickets."""
    return [(ticket.number, ticket.title) for ticket in reversed(selectors.list_tickets("ABC", limit=1000).results)]


@pytest.mark.parametrize("mode", MODES)
class TestBoth:
    def test_all_fields_are_stored(self, api: APIClient, abc: Project, mode: str) -> None:
        """A ticket has the fields that one that comes alone has, and is answered in its place."""
        one = {"title": "a", "description": "b", "status": "done", "assignee": "bob", "labels": ["hot"]}
        response = send(api, mode, [one, {"title": "x"}])
        assert response.status_code == (201 if mode == "all_or_nothing" else 200)
        first, second = response.json()["results"]
        assert (first["status"], first["replayed"], second["status"]) == (201, False, 201)
        assert one.items() < first["ticket"].items()
        assert api.get("/api/tickets/ABC-1/").json() == first["ticket"]
        assert api.get("/api/tickets/ABC-2/").json() == second["ticket"]

    def test_a_repeat_files_nothing(self, api: APIClient, abc: Project, mode: str) -> None:
        """A repeat with the same key is answered with the same tickets, and says that it is one."""
        first, again = (send(api, mode, titled(60), "k") for _ in range(2))
        assert first.status_code == again.status_code
        assert "Idempotent-Replayed" not in first
        assert again["Idempotent-Replayed"] == "true"
        assert [one["ticket"] for one in first.json()["results"]] == [one["ticket"] for one in again.json()["results"]]
        assert {one["replayed"] for one in again.json()["results"]} == {True}
        assert listed() == [(number, f"x{number}") for number in range(1, 61)]

    def test_keys_belong_to_persons_and_modes(self, abc: Project, mode: str) -> None:
        """The same key of another person, or of the other mode, is another request; a single ticket is one together."""
        file: list[Callable[..., Any]] = [bulk.file_together, bulk.file_each]
        for one in file:
            for person in ("ann", "bob"):
                one("ABC", titled(1), reporter=person, idempotency_token="k")
        services.create_ticket("ABC", title="x1", reporter="ann", idempotency_token="k")
        assert len(listed()) == 4

    @pytest.mark.parametrize("tickets", [[], "x", {"title": "x"}, None, 5])
    def test_what_is_no_list_is_refused(self, api: APIClient, abc: Project, mode: str, tickets: Any) -> None:
        """Anything but a list of tickets is refused by name."""
        response = send(api, mode, tickets)
        assert (response.status_code, places(response)) == (400, {"/tickets"})
        assert listed() == []

    def test_a_project_that_does_not_exist(self, api: APIClient, abc: Project, mode: str) -> None:
        """An unknown project is not found, whether or not the tickets are good."""
        for tickets in (titled(2), [{"title": ""}] if mode == "each" else titled(1)):
            assert send(api, mode, tickets, address="/api/projects/XYZ/tickets/bulk/").status_code == 404

    def test_the_store_is_away(self, api: APIClient, abc: Project, mode: str, store_away: Callable[[], None]) -> None:
        """While the store is away, the answer says so."""
        store_away()
        assert send(api, mode, titled(3), "k").status_code == 503


class TestAllOrNothing:
    def test_the_limit(self, api: APIClient, abc: Project) -> None:
        """99 tickets are filed by one transaction, with or without a key; 100 are refused."""
        for key in ("k", None):
            assert send(api, "all_or_nothing", titled(99), key).status_code == 201
        refused = send(api, "all_or_nothing", titled(100))
        assert (refused.status_code, places(refused)) == (400, {"/tickets"})
        assert [number for number, _ in listed()] == list(range(1, 199))

    def test_each_wrong_field_is_named_with_its_place(self, api: APIClient, abc: Project) -> None:
        """If a ticket is wrong, nothing is filed, and every wrong field is named with the place of its ticket."""
        wrong = [{"title": "good"}, {"title": "", "labels": ["a,b"]}, 5, {"titel": "x"}, {"title": "x", "labels": {}}]
        assert places(send(api, "all_or_nothing", wrong)) == {
            "/tickets/1/title", "/tickets/1/labels", "/tickets/2", "/tickets/3/title", "/tickets/3/titel",
            "/tickets/4/labels",
        }  # fmt: skip
        assert listed() == []

    def test_where_a_field_is_wrong(self, abc: Project) -> None:
        """The error has the path of each wrong field, for those who point to it."""
        with pytest.raises(InvalidInput) as caught:
            bulk.file_together("ABC", [{"title": "x"}, {"title": ""}], reporter="ann")
        assert [error.path for error in caught.value.error_dict["tickets"]] == [(1, "title")]  # type: ignore[attr-defined]

    def test_a_key_stands_for_its_tickets(self, api: APIClient, abc: Project) -> None:
        """The same key with other tickets, with fewer, or in another order is refused, and nothing is filed."""
        send(api, "all_or_nothing", titled(3), "k")
        for other in (titled(2), titled(4), titled(3)[::-1], [*titled(2), {"title": "y"}]):
            assert send(api, "all_or_nothing", other, "k").status_code == 422
        assert len(listed()) == 3

    def test_what_it_costs(self, abc: Project, asked: Asked) -> None:
        """The tickets are filed by one transaction; a repeat reads all of them by one request."""
        for _ in range(2):
            bulk.file_together("ABC", titled(20), reporter="ann", idempotency_token="k")
        assert asked.writes == ["transact_write_items"] * 2
        assert asked.reads in (1, 2)  # the last number, which a process may know, and the tickets

    def test_a_former_key(self, api: APIClient, abc: Project) -> None:
        """A former key of the project leads to the present address, where the tickets are filed."""
        project_services.update_project("ABC", changes={"key": "NEW"}, by="ann")
        there = send(api, "all_or_nothing", titled(2))["Location"]
        found = send(api, "all_or_nothing", titled(2), address=there).json()["results"]
        assert [one["ticket"]["key"] for one in found] == ["NEW-1", "NEW-2"]

    def test_a_lost_answer(self, abc: Project, lose_answer: Callable[[], None]) -> None:
        """After a lost answer all tickets are there once."""
        lose_answer()
        filed = bulk.file_together("ABC", titled(5), reporter="ann")
        assert [one.ticket.number for one in filed] == [1, 2, 3, 4, 5]
        assert len(listed()) == 5


class TestEach:
    def test_the_limit(self, api: APIClient, abc: Project) -> None:
        """500 tickets are filed at once; 501 are refused."""
        assert {one["status"] for one in send(api, "each", titled(500), "k").json()["results"]} == {201}
        assert send(api, "each", titled(501)).status_code == 400
        assert len(listed()) == 500

    def test_the_good_ones_are_filed(self, api: APIClient, abc: Project) -> None:
        """A wrong ticket is answered with its problem in its place; the others are filed without a gap."""
        results = send(api, "each", [{"title": "a"}, {"title": ""}, 5, {"titel": 1}, {"title": "b"}]).json()["results"]
        assert [one["status"] for one in results] == [201, 400, 400, 400, 201]
        assert [wrong["pointer"] for wrong in results[1]["problem"]["errors"]] == ["/title"]
        assert listed() == [(1, "a"), (2, "b")]

    def test_a_field_that_cannot_be_named(self, api: APIClient, abc: Project) -> None:
        """A field whose name is no text is refused, and named as it was sent."""
        body = rb'{"mode": "each", "tickets": [{"title": "x", "\ud800": 1}]}'
        response = api.generic("POST", BULK, body, content_type="application/json")  # type: ignore[arg-type] # as Django's
        assert response.json()["results"][0]["status"] == 400
        assert rb"\\ud800" in response.content

    def test_a_repeat_files_what_was_wrong(self, api: APIClient, abc: Project) -> None:
        """A repeat in which a wrong ticket is mended files that one, and says so of each."""
        send(api, "each", [{"title": "a"}, {"title": ""}], "k")
        again = send(api, "each", [{"title": "a"}, {"title": "b"}], "k")
        assert [one["replayed"] for one in again.json()["results"]] == [True, False]
        assert "Idempotent-Replayed" not in again
        assert listed() == [(1, "a"), (2, "b")]

    def test_a_key_stands_for_each_ticket_in_its_place(self, api: APIClient, abc: Project) -> None:
        """With the same key, another ticket in a place is refused, and the others are repeats."""
        send(api, "each", titled(3), "k")
        results = send(api, "each", [{"title": "x1"}, {"title": "other"}, {"title": "x3"}], "k").json()["results"]
        assert [one["status"] for one in results] == [201, 422, 201]
        assert len(listed()) == 3

    def test_a_ticket_that_has_moved_since(self, api: APIClient, abc: Project) -> None:
        """A repeat is answered with a ticket as it is now, wherever it is."""
        project_services.create_project(key="XYZ", name="Rest", by="ann")
        send(api, "each", titled(2), "k")
        moves.move_ticket(TicketKey(project="ABC", number=2), to="XYZ", by="ann")
        results = send(api, "each", titled(2), "k").json()["results"]
        assert [one["ticket"]["key"] for one in results] == ["ABC-1", "XYZ-1"]

    def test_a_repeat_while_the_store_cannot_be_read(self, abc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was filed before and cannot be read has the error in its place, after one try for all of them."""
        bulk.file_each("ABC", titled(3), reporter="ann", idempotency_token="k")
        tries = []

        def refuse(*_: Any) -> None:
            tries.append(1)
            raise NotWritten("It is away.")

        monkeypatch.setattr(store.tickets, "find_rows", refuse)
        answers = bulk.file_each("ABC", titled(4), reporter="ann", idempotency_token="k")
        assert [type(one) for one in answers] == [SequenceUnavailable] * 3 + [TicketStored]
        assert len(tries) == 1

    def test_a_missing_project_is_an_error(self, tables: str) -> None:
        """A project that does not exist is no answer in the place of each ticket."""
        with pytest.raises(ProjectNotFound):
            bulk.file_each("ABC", titled(2), reporter="ann")
