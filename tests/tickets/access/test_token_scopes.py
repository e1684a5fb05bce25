"""What a token opens: each address of REST with each method, by a token that only reads, and by one of one project."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.response import Response
from rest_framework.test import APIClient

from tests.tickets.access.test_doors import BODIES, METHODS, NOTHING, TABLE, address, in_project, need
from tests.tickets.test_renames import in_another_process
from tickets import moves, project_services, selectors, services
from tickets.access.token_scopes import TokenScope
from tickets.accounts.models import ApiToken
from tickets.accounts.services import make_token
from tickets.api.authentication import TokenAuthentication
from tickets.exceptions import InvalidInput
from tickets.types import Project, TicketKey

Program = Callable[..., APIClient]
PLACES = [name for name in TABLE if name.startswith("api:") and name != "api:docs"]  # a page, which takes no token
SCOPES = ("read only", "project ABC only", "project NEW only")


@pytest.fixture
def by_token(people: dict[str, User]) -> Program:
    """A function that makes a token of this scope, and gives a program that sends it."""

    def by_token(name: str, **scope: Any) -> APIClient:
        _, text = make_token(people[name], name="CI", days=1, **scope)
        return APIClient(headers={"Authorization": f"Bearer {text}"})

    return by_token


def refused(answer: Response, scope: str) -> bool:
    """Whether an answer refuses what is beyond the scope, and names the scope."""
    beyond = f"The scope of this token is: {scope}." in answer.content.decode() if not answer.streaming else False
    assert not beyond or (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    return beyond


def test_a_project_that_another_process_has_renamed(shared: Project, by_token: Program) -> None:
    """A token of one project opens it by its new key at once."""
    with in_another_process():
        project_services.update_project("ABC", changes={"key": "XYZ"}, by="owner")
    assert by_token("owner", project="ABC").get("/api/projects/XYZ/").status_code == 200


@pytest.mark.parametrize("name", PLACES)
def test_every_address(name: str, shared: Project, hidden: Project, by_token: Program) -> None:
    """The token opens what is within its scope, and nothing else; whose password is asked needs none."""
    reading = by_token("superuser", read_only=True)
    of_abc = by_token("superuser", project="ABC")
    if need(name, "POST") is NOTHING:
        assert not refused(reading.post(address(name, "ABC")), SCOPES[0])
        return
    for method in (method for method in METHODS if need(name, method) is not None):
        for project in ("ABC", "NEW") if in_project(name) else ("ABC",):
            request, body = address(name, project), BODIES.get(f"{name} {method}", {})
            read = method in ("GET", "HEAD", "OPTIONS")
            answers = [getattr(one, method.lower())(request, body) for one in (reading, of_abc)]
            if method != "HEAD":  # its answer has no body
                within = in_project(name) and project == "ABC"
                assert [refused(*one) for one in zip(answers, SCOPES, strict=False)] == [not read, not within], method


@pytest.mark.parametrize(
    ("scope", "said", "reads", "writes"),
    [
        (TokenScope(), "", [True] * 3, [True] * 3),
        (TokenScope(read_only=True), "read only", [True] * 3, [False] * 3),
        (TokenScope(project="ABC"), "project ABC only", [True, False, False], [True, False, False]),
        (
            TokenScope(read_only=True, project="ABC"),
            "read only, project ABC only",
            [True, False, False],
            [False] * 3,
        ),
    ],
)
def test_what_a_scope_allows(tables: str, scope: TokenScope, said: str, reads: list[bool], writes: list[bool]) -> None:
    """Which methods it opens in its project, in another one, and where there is none."""
    keys = (TicketKey(project="ABC", number=1), "XYZ", None)
    for method in ("GET", "HEAD", "OPTIONS"):
        assert [scope.allows(method, key) for key in keys] == reads
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert [scope.allows(method, key) for key in keys] == writes
    assert (f"{scope}", scope.refusal) == (said, f"The scope of this token is: {said}. Use a token that opens more.")
    assert scope.covers("ABC")
    assert scope.covers("XYZ") is not bool(scope.project)


@pytest.mark.parametrize("method", METHODS)
def test_without_a_scope_nothing_is_beyond(shared: Project, by_token: Program, method: str) -> None:
    """A token without a scope opens what its person may do."""
    answer = getattr(by_token("owner"), method.lower())(address("api:project", "ABC"), {})
    assert answer.status_code in {200, 405, 428}


def test_the_project_is_known_by_all_its_keys(hidden: Project, by_token: Program) -> None:
    """A token keeps opening a project that has another key now, by each of its keys."""
    program = by_token("staff", project="OLD")
    assert program.get("/api/projects/NEW/").status_code == 200
    assert program.get("/api/projects/OLD/").status_code == 308


def test_what_leads_to_other_projects(shared: Project, hidden: Project, by_token: Program) -> None:
    """A token of one project moves no ticket to another, and does not show where one has gone."""
    program = by_token("superuser", project="ABC")
    for target in ("NEW", "XXX"):
        assert refused(program.post("/api/tickets/ABC-1/move/", {"project": target}), SCOPES[1])
    assert selectors.get_ticket(TicketKey.parse("ABC-1")).moved is None
    moves.move_ticket(TicketKey.parse("ABC-1"), to="NEW", by="superuser")
    assert program.get("/api/tickets/ABC-1/").status_code == 404
    assert program.get("/api/projects/ABC/tickets/").json()["results"][0]["moved"]["to"] is None


def test_a_remembered_token_keeps_its_scope(shared: Project, by_token: Program) -> None:
    """A token that the process remembers is refused like at its first use."""
    program = by_token("owner", read_only=True)
    for _ in range(2):
        assert refused(program.patch("/api/projects/ABC/", {"version": 1, "name": "Other"}), SCOPES[0])
    assert TokenAuthentication.known


def test_both(shared: Project, by_token: Program) -> None:
    """A token may only read, and that in one project."""
    program = by_token("owner", read_only=True, project="ABC")
    assert program.get("/api/tickets/ABC-1/").status_code == 200
    assert refused(program.get("/api/projects/"), "read only, project ABC only")


@pytest.mark.parametrize("project", ["NEW", "XXX", "abc", "A/"])
def test_the_project_of_a_token_is_one_that_its_person_sees(
    shared: Project, hidden: Project, people: dict[str, User], project: str
) -> None:
    """A hidden project is refused as a missing one, and so is what is no key."""
    with pytest.raises(InvalidInput) as refusal:
        make_token(people["owner"], name="CI", days=1, project=project)
    assert "project" in refusal.value.message_dict
    assert not ApiToken.objects.exists()


def test_a_program_makes_one(shared: Project, people: dict[str, User], by_token: Program) -> None:
    """The scope is in the request that makes a token, and in the list of the tokens."""
    people["owner"].set_password("owner's password")
    people["owner"].save()
    program, new = by_token("owner"), {"name": "Dashboard", "password": "owner's password"}
    made = program.post("/api/auth/tokens/", {**new, "read_only": True, "project": "ABC"}).json()
    assert (made["read_only"], made["project"]) == (True, "ABC")
    listed = program.get("/api/auth/tokens/").json()["results"]
    assert [(one["read_only"], one["project"]) for one in listed] == [(True, "ABC"), (False, "")]
    assert program.post("/api/auth/tokens/", {**new, "project": None}).json()["project"] == ""
    wrong = program.post("/api/auth/tokens/", {**new, "read_only": "yes"}).json()
    assert wrong["errors"][0]["pointer"] == "/read_only"


def test_a_person_makes_one(shared: Project, browser_of: Callable[[str], Client]) -> None:
    """The form has both fields; the page with the token and the list say its scope."""
    browser = browser_of("owner")
    made = browser.post("/tokens/new/", {"name": "Dashboard", "days": "30", "read_only": "yes", "project": "ABC"})
    assert "read only, project ABC only" in made.content.decode()
    assert "read only, project ABC only" in browser.get("/tokens/").content.decode()
    (text,) = re.findall(r"tkt_\w+", made.content.decode())
    program = APIClient(headers={"Authorization": f"Bearer {text}"})
    assert program.get("/api/projects/ABC/").status_code == 200
    assert refused(program.post("/api/projects/ABC/tickets/", {"title": "Ink"}), "read only, project ABC only")
    wrong = browser.post("/tokens/new/", {"name": "x", "days": "30", "project": "XXX"})
    assert (wrong.status_code, "There is no project XXX" in wrong.content.decode()) == (400, True)


def test_a_session_has_no_scope(shared: Project, browser_of: Callable[[str], Client], by_token: Program) -> None:
    """What a token may not do, its person may do all the same."""
    project_services.create_project(key="OWN", name="Own", by="owner")
    services.create_ticket("OWN", title="Ink", reporter="owner")
    assert by_token("owner", project="ABC").get("/api/tickets/OWN-1/").status_code == 403
    assert browser_of("owner").get("/api/tickets/OWN-1/").status_code == 200
