"""The one address of whatever has a key, the index of the API, and the methods of every address."""

import re
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver
from django.utils import timezone
from rest_framework.test import APIClient

from tickets import project_services, services, store
from tickets.addresses import reserved_words
from tickets.api.urls import urlpatterns
from tickets.types import Project, Ticket

TICKET = "ABC-1"
WORDS = {"key": "ABC", "number": "1001", "text": "INV-2026-000001", "name": "orders", "user": "ann"}

SPELLINGS = {
    "/abc/": "/ABC/",
    "/Abc/edit/?x=1&y=%C3%A4": "/ABC/edit/?x=1&y=%C3%A4",
    "/abc-1/": "/ABC-1/",
    "/ABC-0001/edit/": "/ABC-1/edit/",
    "/api/projects/abc/tickets/?limit=5": "/api/projects/ABC/tickets/?limit=5",
    "/api/projects/abc/tickets.csv": "/api/projects/ABC/tickets.csv",
    "/api/tickets/abc-01/move/": "/api/tickets/ABC-1/move/",
    "/ABC": "/ABC/",
    "/abc-01?x=1": "/ABC-1/?x=1",
    "/orders": "/orders/",
    "/invoices/R%3F2026%23-1%25": "/invoices/R%3F2026%23-1%25/",
    "/api/projects": "/api/projects/",
    "/api/tickets/abc-01/move": "/api/tickets/ABC-1/move/",
}
NO_SPELLINGS = ["/ABC-0/", "/abc-000/", "/abc/nothing/", "/abc_d/", "/a/", "/ABCDEFGHIJK/", "/ABC-1234567890123456/"]
NO_SPELLINGS += ["/api/tickets/ABC/", "/api/projects/abc-1/", "/api/tickets/abc-1/nothing/", "/api/orders/abc/x/"]


class TestSpellings:
    def test_another_spelling_leads_to_the_address(self, browser: Client, ticket: Ticket) -> None:
        """Small letters, zeros and a missing slash lead to the one address, with the query, and with the method."""
        for (typed, address), method in product(SPELLINGS.items(), ("get", "head", "post", "patch", "delete")):
            response = getattr(browser, method)(typed)
            assert (response.status_code, response["Location"]) == (308, address), (typed, method)

    def test_a_program_needs_no_csrf_token_to_be_sent_on(self, ticket: Ticket) -> None:
        """A request without a session is sent on, too: who asks is checked at the address itself."""
        program = APIClient(enforce_csrf_checks=True)
        assert program.patch("/api/tickets/abc-1/", {}).status_code == 308
        assert program.patch("/api/tickets/abc-1/", {}, follow=True).status_code == 401

    def test_what_is_no_spelling_is_not_found(self, browser: Client, ticket: Ticket) -> None:
        """What no spelling makes an address is not found at once."""
        assert [address for address in NO_SPELLINGS if browser.get(address).status_code != 404] == []

    def test_pages_come_before_projects(self, browser: Client, tables: str) -> None:
        """A project whose key is the word of a page does not hide it, and has its own address."""
        store.projects.insert_project(
            Project(key="ORDERS", name="Orders", description=""), owner="ann", created_at=timezone.now(), token=None
        )
        assert b"ORD-" in browser.get("/orders/").content or b"no orders" in browser.get("/orders/").content
        assert browser.get("/ORDERS/").context["project"].key == "ORDERS"

    def test_words_of_the_site_are_no_keys(self, api: APIClient, abc: Project) -> None:
        """No new project, and no renamed one, has the word of another address as its key; the answer says so."""
        for word in ("ADMIN", "API", "FIND", "LOGIN", "METRICS", "ORDERS", "PROJECTS", "STATIC", "STOREZ"):
            new = {"key": word, "name": "x"}
            answers = [api.post("/api/projects/", new), api.patch("/api/projects/ABC/", {"key": word, "version": 1})]
            assert [answer.status_code for answer in answers] == [400, 400]
            assert [answer.json()["errors"][0]["pointer"] for answer in answers] == ["/key", "/key"]
            assert f"{word} is a word of the site's own addresses" in answers[0].json()["detail"]

    def test_other_keys_are_not_reserved(self) -> None:
        """What is reserved are the first words of addresses, and no more."""
        assert not {"ABC", "NEW", "SHOP", "BULK", "TICKETS"} & reserved_words()

    def test_a_project_that_has_such_a_key_keeps_it(self, api: APIClient, tables: str) -> None:
        """A project from before is read and changed, and may have another key."""
        store.projects.insert_project(
            Project(key="API", name="x", description=""), owner="ann", created_at=timezone.now(), token=None
        )
        assert api.get("/api/projects/API/").status_code == 200
        assert api.patch("/api/projects/API/", {"key": "API", "name": "y", "version": 1}).status_code == 200
        assert api.patch("/api/projects/API/", {"key": "APIS", "version": 2}).status_code == 200

    @pytest.mark.parametrize("path", ["/metrics", "/metrics/", "/static", "/storez/"])
    def test_small_words_lead_to_no_project(self, client: Client, tables: str, path: str) -> None:
        """An address of the site that is not there is not taken for the key of a project: a monitor gets 404."""
        assert client.get(path).status_code == 404


class TestFormerKeys:
    def test_a_stranger_does_not_learn_of_renames(self, ticket: Ticket) -> None:
        """Who may not read a project is not told that it has another key."""
        project_services.update_project("ABC", changes={"key": "XYZ"}, by="ann")
        assert APIClient().get("/api/projects/ABC/").status_code == 401

    def test_no_answer_is_kept(self, api: APIClient, browser: Client, ticket: Ticket) -> None:
        """A key may come back to its project, so browsers must ask again each time."""
        project_services.update_project("ABC", changes={"key": "XYZ"}, by="ann")
        for response in (api.get("/api/tickets/ABC-1/"), browser.get("/ABC-1/?x=1")):
            assert (response.status_code, response["Cache-Control"]) == (308, "private, no-cache")
            assert response["Location"].removeprefix("/api/tickets") in ("/XYZ-1/", "/XYZ-1/?x=1")


class TestIndex:
    def test_the_api_begins_with_its_addresses(self, tables: str, api: APIClient) -> None:
        """The index names every list, and each can be read."""
        index = APIClient().get("/api/").json()
        lists = {name: f"{name}/" for name in ("projects", "orders", "invoices", "companies", "sequences")}
        others = {"token": "auth/token/", "schema": "schema/", "docs": "docs/"}
        named = {name: address.removeprefix("http://testserver/api/") for name, address in index.items()}
        assert {name: address for name, address in named.items() if "{" not in address} == {**lists, **others}
        for name in (*lists, "schema"):
            assert api.get(index[name]).status_code == 200
        assert api.get(index["docs"]).status_code == 302  # a page: people sign in by a session

    def test_each_template_is_an_address(self, abc: Project, api: APIClient) -> None:
        """The templates lead to what they name."""
        index = api.get("/api/").json()
        assert {name: index[name].removeprefix("http://testserver/api/") for name in index if "{" in index[name]} == {
            "project": "projects/{key}/",
            "tickets": "projects/{key}/tickets/",
            "ticket": "tickets/{key}/",
            "order": "orders/{number}/",
            "invoice": "invoices/{text}/",
            "sequence": "sequences/{name}/",
        }
        services.create_ticket("ABC", title="x", reporter="ann")
        for name, key in (("project", "ABC"), ("tickets", "ABC"), ("ticket", "ABC-1")):
            assert api.get(index[name].replace("{key}", key)).status_code == 200
        assert api.get(index["sequence"].replace("{name}", "orders")).status_code == 200


def addresses(patterns: list[Any], before: str = "/api/") -> list[str]:
    """All addresses of the API, for one ticket, one order, one invoice and one sequence."""
    found = []
    for one in patterns:
        if isinstance(one, URLResolver):
            found += addresses(one.url_patterns, before + _filled(str(one.pattern)))
        elif isinstance(one, URLPattern) and one.name:
            found.append(before + _filled(str(one.pattern)))
    return found


def _filled(route: str) -> str:
    """A route for one ticket, one order, one invoice, one comment and one sequence."""
    return re.sub("<([a-z_]+):([a-z]+)>", lambda part: TICKET if part[1] == "ticket_key" else WORDS[part[2]], route)


class TestMethods:
    def test_every_address_says_what_it_allows(self, api: APIClient, ticket: Ticket) -> None:
        """OPTIONS is answered with the methods in `Allow`; each of them is answered, and no other."""
        for address in (one for one in addresses(urlpatterns) if one != "/api/docs/"):  # a page
            response = api.options(address)
            assert response.status_code in (200, 204), address
            allowed = set(response["Allow"].split(", "))
            for method in ("get", "post", "put", "patch"):
                refused = getattr(api, method)(address, {}).status_code == 405
                assert refused is (method.upper() not in allowed), (address, method)

    def test_head_is_get_without_a_body(self, api: APIClient, ticket: Ticket) -> None:
        """HEAD is answered as GET is, without the body."""
        for address in addresses(urlpatterns):
            head, get = api.head(address), api.get(address)
            assert head.status_code == get.status_code, address
            assert head["Content-Type"] == get["Content-Type"], address
            assert not getattr(head, "content", b""), address


OF_PROJECT = [f"projects/ABC/{name}" for name in ("tickets/", "tickets.csv", "members/")]
OF_TICKET = ["tickets/ABC-1/comments/", "tickets/ABC-1/history/"]


def test_every_list_refuses_what_it_does_not_know(api: APIClient, ticket: Ticket) -> None:
    """A misspelt parameter does not seem to hold: the answer names it, and those that there are."""
    for name in ("projects/", "orders/", "invoices/", "sequences/", "auth/tokens/", *OF_PROJECT, *OF_TICKET):
        assert api.get(f"/api/{name}").status_code == 200, name
        refused = api.get(f"/api/{name}?colour=red")
        assert (refused.status_code, refused.json()["errors"][0]["parameter"]) == (400, "colour"), name
        assert "Known are " in refused.json()["detail"], name
