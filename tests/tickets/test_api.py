"""The REST API, as a program calls it."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from sequences import get_next_value
from sequences.rest.request_ids import RequestIdFilter
from tests.tickets.support import wrong_fields
from tickets import selectors, services
from tickets.types import Project, Ticket, TicketKey

ABC_1 = TicketKey(project="ABC", number=1)
TICKETS = "/api/projects/ABC/tickets/"
ADDRESSES = [
    "/api/projects/",
    "/api/projects/ABC/",
    TICKETS,
    "/api/tickets/ABC-1/",
    "/api/sequences/",
    "/api/sequences/orders/",
    "/api/schema/",
]


def file(api: APIClient, title: str = "x", **headers: str) -> Any:
    """File a ticket with this title."""
    return api.post(TICKETS, {"title": title}, headers={name.replace("_", "-"): headers[name] for name in headers})


class TestSigningIn:
    @pytest.mark.parametrize("address", [*ADDRESSES, "/api/tickets/ABC-1/move/", "/api/sequences/orders/next/"])
    def test_a_call_without_credentials_is_refused(self, db: None, address: str) -> None:
        """Nothing is told or done without credentials, and the answer says which are wanted."""
        for response in (APIClient().get(address), APIClient().post(address, {})):
            assert response.status_code == 401
            assert response["WWW-Authenticate"] == 'Bearer realm="tickets"'

    def test_a_name_and_password_give_a_token(self, ann: User, tables: str) -> None:
        """The token that a name and a password give opens the API; another does not."""
        ann.set_password("ann's password")
        ann.save()
        given = APIClient().post("/api/auth/token/", {"username": "ann", "password": "ann's password"})
        for token, status in ((given.json()["token"], 200), ("0" * 40, 401)):
            headers = {"Authorization": f"Token {token}"}
            assert APIClient().get("/api/projects/", headers=headers).status_code == status

    def test_a_wrong_password_gives_none(self, ann: User) -> None:
        """A wrong password is a clear error."""
        response = APIClient().post("/api/auth/token/", {"username": "ann", "password": "wrong"})
        assert response.status_code == 401
        assert "token" not in response.json()

    def test_a_session_needs_its_csrf_token(self, ann: User, abc: Project) -> None:
        """A signed-in browser may read, and may only write with the token that other sites cannot know."""
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(ann)
        assert browser.get(TICKETS).status_code == 200
        refused = browser.post(TICKETS, {"title": "x"}, content_type="application/json")
        assert refused.status_code == 403
        assert "CSRF" in refused.json()["detail"]


class TestProjects:
    def test_a_project_is_made_read_and_listed(self, api: APIClient, tables: str) -> None:
        """A project is what the contract says, wherever it is read."""
        made = api.post("/api/projects/", {"key": "ABC", "name": "Alphabet", "description": "A to C."})
        assert made.status_code == 201
        assert made["Location"] == "http://testserver/api/projects/ABC/"
        assert made.json() == {
            "key": "ABC", "name": "Alphabet", "description": "A to C.", "open": "no", "archived": False, "version": 1,
        }  # fmt: skip
        assert api.get("/api/projects/ABC/").json() == made.json()
        assert api.get("/api/projects/").json() == {"results": [made.json()], "next": None, "prev": None}

    def test_a_key_is_given_once(self, api: APIClient, abc: Project) -> None:
        """A key that is taken is a conflict."""
        response = api.post("/api/projects/", {"key": "ABC", "name": "Second"})
        assert response.status_code == 409
        assert "ABC" in response.json()["detail"]

    @pytest.mark.parametrize(
        ("body", "fields"),
        [
            ({}, {"key", "name"}),
            ({"key": "abc", "name": ""}, {"key", "name"}),
            ({"key": "ABC", "name": "x", "description": "x" * 2001}, {"description"}),
            ({"key": "ABC", "name": "x", "owner": "ann"}, {"owner"}),
            ({"key": ["ABC"], "name": {}}, {"key", "name"}),
            ([1], {""}),
            ("x", {""}),
        ],
    )
    def test_every_wrong_field_is_named(self, api: APIClient, tables: str, body: Any, fields: set[str]) -> None:
        """A wrong body is answered with a message for each field."""
        response = api.post("/api/projects/", body)
        assert response.status_code == 400
        assert wrong_fields(response) == fields

    def test_an_unknown_project_is_not_found(self, api: APIClient, abc: Project) -> None:
        """A project that does not exist is said in JSON, for every call."""
        for response in (
            api.get("/api/projects/XYZ/"),
            api.get("/api/projects/XYZ/tickets/"),
            api.post("/api/projects/XYZ/tickets/", {"title": "x"}),
            api.get("/api/projects/xyz/", follow=True),
        ):
            assert response.status_code == 404
            assert "detail" in response.json()


class TestTickets:
    def test_a_ticket_is_what_the_contract_says(self, api: APIClient, abc: Project) -> None:
        """A ticket has the agreed fields, wherever it is read."""
        body = {"title": "Printer", "description": "Third floor.", "assignee": "bob", "labels": ["hot"]}
        filed = api.post(TICKETS, body)
        assert filed.status_code == 201
        assert filed["Location"] == "http://testserver/api/tickets/ABC-1/"
        ticket = dict(filed.json())
        created_at = ticket.pop("created_at")
        assert created_at == ticket.pop("updated_at")
        assert created_at.endswith("Z")
        since = {"updated_by": "ann", "comments": 0}
        identity = {"key": "ABC-1", "project": "ABC", "number": 1}
        assert ticket == {**identity, **body, "status": "open", "reporter": "ann", "version": 1, **since}
        assert api.get("/api/tickets/ABC-1/").json() == filed.json()
        assert api.get(TICKETS).json() == {"results": [filed.json()], "next": None, "prev": None, "looked_to": None}

    @pytest.mark.parametrize(
        ("body", "fields"),
        [
            ({}, {"title"}),
            ({"title": ""}, {"title"}),
            ({"title": None}, {"title"}),
            ({"title": "x" * 201, "description": "x" * 20_001}, {"title", "description"}),
            ({"title": "x", "labels": "bug"}, {"labels"}),
            ({"title": "x", "labels": ["x" * 41]}, {"labels"}),
            ({"title": "x", "labels": [{}]}, {"labels"}),
            ({"title": "x", "status": "void"}, {"status"}),
            ({"title": "x", "number": 7, "titel": "y"}, {"number", "titel"}),
            ({"title": "a\x00b"}, {"title"}),
            ({"title": 5, "labels": [1.1], "description": []}, {"title", "labels", "description"}),
        ],
    )
    def test_every_wrong_field_is_named(self, api: APIClient, abc: Project, body: Any, fields: set[str]) -> None:
        """A wrong body is answered with a message for each field, and files nothing."""
        response = api.post(TICKETS, body)
        assert response.status_code == 400
        assert wrong_fields(response) == fields
        assert selectors.list_tickets("ABC").results == ()

    @pytest.mark.usefixtures("uncollected")
    @pytest.mark.parametrize(
        ("content", "content_type", "status"),
        [
            ("{", "application/json", 400),
            ('{"title": NaN}', "application/json", 400),
            ('{"title": 1e400}', "application/json", 400),
            ("\xff", "application/json", 400),
            ('{"title": "\\ud800"}', "application/json", 400),
            ('{"title": "x", "\\ud800": 7}', "application/json", 400),
            ("[" * 100_000, "application/json", 400),
            ("9" * 10_000, "application/json", 400),
            ("title=x", "application/x-www-form-urlencoded", 415),
            ("", "text/plain", 415),
        ],
    )
    def test_what_is_no_json_is_refused(
        self, api: APIClient, abc: Project, content: str, content_type: str, status: int
    ) -> None:
        """A body that cannot be read is answered in JSON, and files nothing."""
        body = content.encode("latin-1") or b" "
        response = api.generic("POST", TICKETS, body, content_type=content_type)  # type: ignore[arg-type] # as Django's
        assert response.status_code == status
        assert response["Content-Type"] == "application/problem+json"
        assert selectors.list_tickets("ABC").results == ()

    @pytest.mark.parametrize(("coding", "status"), [("gzip", 415), ("br, identity", 415), ("Identity", 201), ("", 201)])
    def test_a_coded_body_is_refused(self, api: APIClient, abc: Project, coding: str, status: int) -> None:
        """The answer names the header, whether the body is coded or not."""
        response = api.post(TICKETS, {"title": "x"}, headers={"Content-Encoding": coding})
        assert response.status_code == status
        assert ("Content-Encoding" in response.json().get("detail", "")) is (status == 415)

    def test_nobody_and_nothing_may_be_null(self, api: APIClient, abc: Project) -> None:
        """A null in an optional text is an empty text."""
        response = api.post(TICKETS, {"title": "x", "assignee": None, "description": None})
        assert (response.json()["assignee"], response.json()["description"]) == ("", "")

    def test_a_wrong_method_is_refused(self, api: APIClient, ticket: Ticket) -> None:
        """A method that an address does not have is said in JSON."""
        for response in (api.put("/api/tickets/ABC-1/", {}), api.delete(TICKETS)):
            assert response.status_code == 405
            assert "detail" in response.json()


class TestRepeating:
    def test_a_repeat_with_the_same_key_files_one_ticket(self, api: APIClient, abc: Project) -> None:
        """A repeat is answered with the first ticket, and says that it is a repeat."""
        first, again = file(api, Idempotency_Key="k"), file(api, Idempotency_Key="k")
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert "Idempotent-Replayed" not in first
        assert again["Idempotent-Replayed"] == "true"
        assert file(api).json()["number"] == 2

    def test_a_key_stands_for_one_content(self, api: APIClient, abc: Project) -> None:
        """The same key with another content is refused."""
        file(api, Idempotency_Key="k")
        response = file(api, "y", Idempotency_Key="k")
        assert response.status_code == 422
        assert "Idempotency-Key" in response.json()["detail"]

    @pytest.mark.parametrize("key", ["", "x" * 256])
    def test_a_wrong_key_is_refused(self, api: APIClient, abc: Project, key: str) -> None:
        """A key has 1 to 255 characters."""
        response = file(api, Idempotency_Key=key)
        assert response.status_code == 400
        assert wrong_fields(response) == {"Idempotency-Key"}

    def test_a_store_that_is_away_says_what_to_do(
        self, api: APIClient, abc: Project, store_away: Callable[[], None]
    ) -> None:
        """While the store is away every call says whether it may have been carried out and when to repeat it."""
        store_away()
        for response in (file(api), api.get(TICKETS), api.get("/api/sequences/")):
            assert response.status_code == 503
            assert int(response["Retry-After"]) > 0
            assert response.json()["outcome_unknown"] is False
            assert "Idempotency-Key" in response.json()["detail"]

    def test_a_missing_table_is_no_server_error(
        self, api: APIClient, abc: Project, settings: Settings, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Without tables the caller learns that a repeat is in vain, and the log says what to do."""
        settings.TABLE_PREFIX = "nowhere_"
        response = api.get(TICKETS)
        assert response.status_code == 503
        assert "Retry-After" not in response
        assert "nowhere" not in response.json()["detail"]
        assert "create_tables" in caplog.text

    @pytest.mark.parametrize("doing", [lambda api: api.get(TICKETS), file], ids=["a read", "a write"])
    def test_a_failed_request_is_one_line(
        self,
        api: APIClient,
        abc: Project,
        settings: Settings,
        caplog: pytest.LogCaptureFixture,
        doing: Callable[[APIClient], Any],
    ) -> None:
        """Beside the access log one line has its reason, with the id of the request, and Django adds none."""
        settings.TABLE_PREFIX = "nowhere_"
        with caplog.filtering(RequestIdFilter()):
            answered = doing(api)
        assert answered.status_code == 503
        (line,) = [vars(record) for record in caplog.records if record.levelno >= logging.WARNING]
        assert (line["request_id"], line["error"]) == (answered["X-Request-Id"], "TableMissing")

    def test_a_fault_is_one_line_with_its_traceback(
        self, api: APIClient, abc: Project, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What nobody expects is Django's line, within the request."""
        monkeypatch.setattr("tickets.selectors.list_tickets", lambda *_, **__: 1 / 0)
        api.raise_request_exception = False
        with caplog.filtering(RequestIdFilter()):
            answered = api.get(TICKETS)
        assert answered.status_code == 500
        (line,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
        assert (line.name, vars(line)["request_id"]) == ("django.request", answered["X-Request-Id"])
        assert "ZeroDivisionError" in caplog.text


class TestChanging:
    address = "/api/tickets/ABC-1/"

    def test_a_change_touches_what_it_names(self, api: APIClient, ticket: Ticket) -> None:
        """A change answers with the ticket as it then is."""
        response = api.patch(self.address, {"version": 1, "status": "done"})
        assert response.status_code == 200
        assert (response.json()["status"], response.json()["version"]) == ("done", 2)
        assert response.json()["title"] == ticket.title
        assert api.get(self.address).json() == response.json()

    def test_a_stale_version_is_a_conflict(self, api: APIClient, ticket: Ticket) -> None:
        """A change of an old version is refused and told how the ticket is."""
        api.patch(self.address, {"version": 1, "title": "Out"})
        response = api.patch(self.address, {"version": 1, "title": "Lost"})
        assert response.status_code == 409
        assert response.json()["current"] == api.get(self.address).json()
        assert response.json()["current"]["title"] == "Out"

    @pytest.mark.parametrize(
        ("body", "fields"),
        [
            ({"version": "one", "title": "x"}, {"version"}),
            ({"version": 10**40, "title": "x"}, {"version"}),
            ({"version": 1, "title": ""}, {"title"}),
            ({"version": 1, "reporter": "bob"}, {"reporter"}),
        ],
    )
    def test_every_wrong_field_is_named(self, api: APIClient, ticket: Ticket, body: Any, fields: set[str]) -> None:
        """A wrong change is answered with a message for each field, and changes nothing."""
        response = api.patch(self.address, body)
        assert response.status_code == 400
        assert wrong_fields(response) == fields
        assert selectors.get_ticket(ABC_1) == ticket

    def test_a_change_of_nothing(self, api: APIClient, ticket: Ticket) -> None:
        """A change without fields is carried out: the ticket stays as it is. The version counts all the same."""
        for change in ({"version": 1}, {"version": 1, "title": ticket.title}):
            assert api.patch(self.address, change).json()["version"] == 1
        assert api.patch(self.address, {"version": 2}).status_code == 409
        assert selectors.get_ticket(ABC_1) == ticket

    def test_deleting_voids(self, api: APIClient, ticket: Ticket) -> None:
        """A deleted ticket is answered as void, with who, when and why, and its number is not given again."""
        void = api.delete(self.address, {"reason": "A duplicate.", "version": 1}).json()
        assert (void["status"], void["title"], void["labels"]) == ("void", "", [])
        assert {**void["void"], "at": None} == {"by": "ann", "at": None, "reason": "A duplicate."}
        assert api.get(self.address).json() == void
        assert api.delete(self.address, headers={"If-Match": "*"}).json() == void
        assert file(api).json()["number"] == 2

    def test_a_void_ticket_cannot_be_changed(self, api: APIClient, ticket: Ticket) -> None:
        """A change of a void ticket is a conflict."""
        services.void_ticket(ABC_1, by="bob")
        response = api.patch(self.address, {"version": 2, "title": "Back"})
        assert response.status_code == 409
        assert response.json()["current"]["status"] == "void"

    def test_what_does_not_exist_cannot_be_changed(self, api: APIClient, abc: Project) -> None:
        """A number that was not given is not found, whatever is asked of it."""
        for response in (
            api.get(self.address),
            api.patch(self.address, {"version": 1, "title": "x"}),
            api.delete(self.address, {"version": 1}),
        ):
            assert response.status_code == 404
            assert "ABC-1" in response.json()["detail"]


class TestLists:
    def test_a_list_goes_on_at_next(self, api: APIClient, abc: Project) -> None:
        """Following `next` to its end gives every ticket once, newest first."""
        for number in range(5):
            services.create_ticket("ABC", title=f"x{number}", reporter="ann")
        address, found = f"{TICKETS}?limit=2", []
        while address:
            page = api.get(address).json()
            found += [ticket["number"] for ticket in page["results"]]
            address = page["next"]
        assert found == [5, 4, 3, 2, 1]

    @pytest.mark.parametrize(
        ("query", "field"),
        [("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"), ("cursor=5:x", "cursor")],
    )
    def test_a_wrong_page_is_refused(self, api: APIClient, abc: Project, query: str, field: str) -> None:
        """A limit or a cursor that cannot be is answered by name."""
        for address in (TICKETS, "/api/projects/"):
            response = api.get(f"{address}?{query}")
            assert response.status_code == 400
            assert wrong_fields(response) == {field}


class TestSequences:
    def test_the_sequences_say_what_they_guarantee(self, api: APIClient, tables: str) -> None:
        """Every configured sequence is listed with its strategy's guarantees and its last value."""
        found = {sequence["name"]: sequence for sequence in api.get("/api/sequences/").json()["results"]}
        assert found["tickets"]["strategy"] == "SortKeyMaximum"
        assert (found["tickets"]["gapless"], found["orders"]["gapless"]) == (True, False)
        assert (found["tickets"]["supports_reserve"], found["orders"]["supports_reserve"]) == (False, True)
        assert found["orders"]["last_value"] is None

    def test_values_are_handed_out_once(self, api: APIClient, tables: str) -> None:
        """The values that were asked for go on from the last, and the last one is told."""
        assert api.post("/api/sequences/orders/next/").json() == {"values": [1001], "texts": ["ORD-1001"]}
        assert api.post("/api/sequences/orders/next/", {"count": 3}).json()["values"] == [1002, 1003, 1004]
        assert api.get("/api/sequences/orders/").json()["last_value"] == 1004

    def test_a_repeat_with_the_same_key_gets_the_same_values(self, api: APIClient, tables: str) -> None:
        """A repeat takes no values; another count with the same key is refused."""
        first, again = (
            api.post("/api/sequences/orders/next/", {"count": 2}, headers={"Idempotency-Key": "k"}) for _ in range(2)
        )
        assert first.json() == again.json() == {"values": [1001, 1002], "texts": ["ORD-1001", "ORD-1002"]}
        other = api.post("/api/sequences/orders/next/", {"count": 3}, headers={"Idempotency-Key": "k"})
        assert other.status_code == 422
        assert api.get("/api/sequences/orders/").json()["last_value"] == 1002

    def test_values_of_a_date_have_its_texts(self, api: APIClient, tables: str, settings: Settings) -> None:
        """A sequence that counts each year wants the date of the document; one that does not refuses it."""
        address, yearly = "/api/sequences/orders/next/", {"PERIOD": "year", "FORMAT": "ORD-{period}-{value}"}
        assert wrong_fields(api.post(address, {"date": "2025-12-31"})) == {"date"}
        settings.SEQUENCES = {**settings.SEQUENCES, "orders": {**settings.SEQUENCES["orders"], **yearly}}
        for wrong in (None, "2025", "0999-12-31", "20251231", "2025-W01-1", "2025-1-1", 20251231):
            response = api.post(address, {"date": wrong})
            assert (response.status_code, wrong_fields(response)) == (400, {"date"})
        taken = [api.post(address, {"date": f"{year}-12-31"}).json() for year in (2025, 2024)]
        assert [one["texts"] for one in taken] == [["ORD-2025-1001"], ["ORD-2024-1001"]]

    def test_scopes_count_on_their_own(self, api: APIClient, ticket: Ticket, settings: Settings) -> None:
        """A scope has values and a last value of its own; a sequence whose FORMAT has no scope refuses one."""
        assert api.post("/api/sequences/orders/next/", {"scope": "north"}).status_code == 403
        settings.REST_SCOPES = {"orders": ["north"]}
        assert wrong_fields(api.post("/api/sequences/orders/next/", {"scope": "north"})) == {"scope"}
        scoped = {**settings.SEQUENCES["orders"], "FORMAT": "{scope}-{value}"}
        settings.SEQUENCES = {**settings.SEQUENCES, "orders": scoped}
        taken = api.post("/api/sequences/orders/next/", {"scope": "north"}).json()
        assert taken == {"values": [1001], "texts": ["north-1001"]}
        assert api.get("/api/sequences/orders/?scope=north").json()["last_value"] == 1001
        assert api.get("/api/sequences/orders/?scope=south").json()["last_value"] is None
        assert api.get("/api/sequences/tickets/?scope=ABC").json()["last_value"] == 1

    def test_the_most_values_at_once_are_1000(self, api: APIClient, tables: str) -> None:
        """A thousand values are handed out together."""
        values = api.post("/api/sequences/orders/next/", {"count": 1000}).json()["values"]
        assert values == list(range(1001, 2001))

    @pytest.mark.parametrize(
        ("body", "field"),
        [({"count": 0}, "count"), ({"count": 1001}, "count"), ({"count": "x"}, "count"), ({"scope": "#x"}, "scope"),
         ({"scope": ""}, "scope"), ({"scope": "x" * 256}, "scope"), ({"scope": "a\x07"}, "scope"), ({"n": 1}, "n")],
    )  # fmt: skip
    def test_a_wrong_wish_is_refused(
        self, api: APIClient, tables: str, settings: Settings, body: Any, field: str
    ) -> None:
        """A wrong count or scope is answered by name, and no value is taken."""
        settings.REST_SCOPES = {"orders": [body.get("scope")]}
        response = api.post("/api/sequences/orders/next/", body)
        assert response.status_code == 400
        assert wrong_fields(response) == {field}
        assert api.get("/api/sequences/orders/").json()["last_value"] is None

    def test_a_sequence_that_numbers_items_alone_says_so(
        self, api: APIClient, abc: Project, settings: Settings
    ) -> None:
        """A sequence that cannot hand out values without items refuses with a reason."""
        settings.REST_SCOPES = {"tickets": ["ABC"]}
        response = api.post("/api/sequences/tickets/next/", {"scope": "ABC"})
        assert response.status_code == 409
        assert "tickets" in response.json()["detail"]

    def test_an_unknown_sequence_is_not_found(self, api: APIClient, tables: str) -> None:
        """A name that the settings do not hold is not found."""
        for response in (api.get("/api/sequences/x/"), api.post("/api/sequences/x/next/")):
            assert response.status_code == 404
            assert "detail" in response.json()

    def test_numbers_that_json_cannot_carry_are_refused(self, api: APIClient, tables: str, settings: Settings) -> None:
        """A value beyond 2^53 - 1 is not told wrongly, but refused."""
        beyond = {**settings.SEQUENCES["orders"], "START": 2**53 - 1, "MAXIMUM": 2**60}
        settings.SEQUENCES = {**settings.SEQUENCES, "orders": beyond}
        assert api.post("/api/sequences/orders/next/").json()["values"] == [2**53 - 1]
        response = api.post("/api/sequences/orders/next/")
        assert response.status_code == 409
        assert str(2**53 - 1) in response.json()["detail"]

    def test_a_last_value_is_exact(self, api: APIClient, tables: str, settings: Settings) -> None:
        """A last value has all its digits, also beyond 2^53 - 1, where some readers round."""
        beyond = {**settings.SEQUENCES["orders"], "START": 10**37 + 1, "MAXIMUM": 10**38 - 1}
        settings.SEQUENCES = {**settings.SEQUENCES, "orders": beyond}
        get_next_value("orders")
        assert f'"last_value":{10**37 + 1}' in api.get("/api/sequences/orders/").content.decode().replace(": ", ":")


class TestSchema:
    def test_the_schema_names_every_address(self, api: APIClient, tables: str) -> None:
        """The description of the API holds all that the contract names."""
        paths = api.get("/api/schema/?format=json").json()["paths"]
        assert set(paths) >= {
            "/api/auth/token/",
            "/api/auth/tokens/",
            "/api/auth/tokens/{number}/",
            "/api/projects/",
            "/api/projects/{key}/",
            "/api/projects/{key}/tickets/",
            "/api/tickets/{key}/",
            "/api/tickets/{key}/move/",
            "/api/sequences/",
            "/api/sequences/{name}/",
            "/api/sequences/{name}/next/",
        }

    def test_an_address_that_leads_nowhere_is_json(self, client: Client, db: None) -> None:
        """Below /api/ also what does not exist is said in JSON."""
        response = client.get("/api/nothing/")
        assert response.status_code == 404
        assert response["Content-Type"] == "application/problem+json"
