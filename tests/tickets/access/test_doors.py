"""Every address with every method, for people of every role, in their own project and in one that they may not see.

The table says what each address takes. An address without a row fails.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse
from rest_framework.test import APIClient, APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from tests.tickets.access.conftest import PEOPLE
from tickets.access import members
from tickets.addresses import ANY_SPELLING
from tickets.api.permissions import Door
from tickets.api.reference import reference
from tickets.types import Project, Role, TicketKey


class Takes(Enum):
    """What an address takes that is about no project."""

    NOTHING = 0
    SIGN_IN = 1
    PERMISSION = 2


NOTHING, SIGN_IN, PERMISSION = Takes
READER, REPORTER, MEMBER, OWNER = Role
Row = Mapping[str, Takes | Role]

READ: Row = {"GET": READER}
SOLD: Row = {"GET": PERMISSION}
SOLD_FORM: Row = {"GET": PERMISSION, "POST": PERMISSION}
OWNED_FORM: Row = {"GET": OWNER, "POST": OWNER}
TABLE: Mapping[str, Row] = {
    "api:token": {"POST": NOTHING},
    "api:token_list": {"GET": SIGN_IN, "POST": SIGN_IN},
    "api:token_detail": {"GET": SIGN_IN, "DELETE": SIGN_IN},
    "accounts:tokens": {"GET": SIGN_IN},
    "accounts:token_new": {"GET": SIGN_IN, "POST": SIGN_IN},
    "accounts:token_revoke": {"GET": SIGN_IN, "POST": SIGN_IN},
    "accounts:password": {"GET": SIGN_IN, "POST": SIGN_IN},
    "api:project_list": {"GET": SIGN_IN, "POST": PERMISSION},
    "api:project": {"GET": READER, "PATCH": OWNER},
    "api:project_archive": {"POST": OWNER},
    "api:project_unarchive": {"POST": OWNER},
    "api:member_list": READ,
    "api:member": {"GET": READER, "PUT": OWNER, "DELETE": OWNER},
    "api:ticket_list": {"GET": READER, "POST": REPORTER},
    "api:ticket_bulk": {"POST": REPORTER},
    "api:ticket_export": READ,
    "api:ticket": {"GET": READER, "PATCH": MEMBER, "DELETE": OWNER},  # of another person's ticket
    "api:ticket_move": {"POST": MEMBER},
    "api:ticket_restore": {"POST": OWNER},
    "api:comment_list": {"GET": READER, "POST": REPORTER},
    "api:comment": {"GET": READER, "PATCH": REPORTER, "DELETE": REPORTER},
    "api:history": READ,
    "api:order_list": {"GET": PERMISSION, "POST": PERMISSION},
    "api:order": SOLD,
    "api:order_invoice": {"POST": PERMISSION},
    "api:order_invoice_issue": {"POST": PERMISSION},
    "api:company_list": {"GET": PERMISSION, "POST": PERMISSION},
    "api:invoice_list": SOLD,
    "api:invoice": SOLD,
    "api:invoice_void": {"POST": PERMISSION},
    "api:sequence_list": SOLD,
    "api:sequence": SOLD,
    "api:sequence_next": {"POST": PERMISSION},
    "api:schema": {"GET": SIGN_IN},
    "api:docs": {"GET": SIGN_IN},
    "tickets:project_list": {"GET": SIGN_IN},
    "tickets:project_new": SOLD_FORM,
    "tickets:project": READ,
    "tickets:project_edit": OWNED_FORM,
    "tickets:project_archive": OWNED_FORM,
    "tickets:project_unarchive": OWNED_FORM,
    "tickets:project_members": READ,
    "tickets:project_member": OWNED_FORM,
    "tickets:ticket_new": {"GET": REPORTER, "POST": REPORTER},
    "tickets:ticket": READ,
    "tickets:ticket_edit": {"GET": MEMBER, "POST": MEMBER},  # of another person's ticket
    "tickets:ticket_progress": {"GET": MEMBER, "POST": MEMBER},  # of another person's ticket
    "tickets:comment_edit": {"GET": REPORTER, "POST": REPORTER},
    "tickets:comment_withdraw": {"GET": REPORTER, "POST": REPORTER},
    "tickets:ticket_move": {"GET": MEMBER, "POST": MEMBER},
    "tickets:ticket_void": {"GET": OWNER, "POST": OWNER},  # of another person's ticket
    "tickets:ticket_restore": OWNED_FORM,
    "tickets:ticket_comment": {"GET": REPORTER, "POST": REPORTER},
    "sales:order_list": SOLD,
    "sales:order_new": SOLD_FORM,
    "sales:order": SOLD,
    "sales:order_draft": SOLD_FORM,
    "sales:order_issue": SOLD_FORM,
    "sales:order_by_text": SOLD,
    "sales:company_list": SOLD,
    "sales:company_new": SOLD_FORM,
    "sales:invoices": SOLD,
    "sales:invoice_year": SOLD,
    "sales:invoice": SOLD,
    "sales:invoice_void": SOLD_FORM,
    "tickets:find": {"GET": SIGN_IN},
    "tickets:mine": {"GET": SIGN_IN},
    "tickets:preview": {"POST": SIGN_IN},
}
BODIES: Mapping[str, Mapping[str, Any]] = {
    "api:project PATCH": {"version": 1, "name": "Other"},
    "api:ticket PATCH": {"version": 1, "title": "Other"},
    "api:ticket DELETE": {"version": 1},
    "api:comment DELETE": {"version": 1},
    "tickets:ticket_edit POST": {"version": 1, "title": "Other", "status": "open"},
    "tickets:ticket_progress POST": {"version": 1, "status": "done"},
    "tickets:comment_withdraw POST": {"version": 1, "text": "x"},
    "tickets:ticket_void POST": {"version": 1},
}
SAME = {"X-Request-Id": "same"}  # otherwise each answer has its own
OUTSIDE = {
    "login",
    "logout",
    "problems",
    "numbers",
    "admin/login/",
    "admin/password_change/",
    "api:index",
    f"api:^(?:projects|tickets)/{ANY_SPELLING}$",
    f"tickets:^{ANY_SPELLING}$",
}  # they take nothing and tell nothing; the administration has tests of its own
VALUES = {"number": 1001, "text": "INV-2026-1-5", "year": 2026, "name": "orders", "user": "gone"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
STAFF = ("staff", "superuser")
PROJECTS = {  # NEW is the hidden project, and OLD its former key; readers of ABC are strangers there
    "reader": ("ABC", "NEW"),
    "stranger": ("ABC", "OLD"),
    "staff": ("NEW", "OLD"),
    "superuser": ("NEW",),
}
PASSED = {200, 201, 204, 302, 308, 400, 409}


def patterns(
    resolver: URLResolver, namespace: str = "", kinds: Mapping[str, Any] = {}
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The named addresses of the site without the administration, each with the converters of its parts."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLPattern):
            yield f"{namespace}{pattern.name or pattern.pattern}", {**kinds, **pattern.pattern.converters}
        elif pattern.app_name != "admin":
            inner = f"{pattern.namespace}:" if pattern.namespace else namespace
            yield from patterns(pattern, inner, {**kinds, **pattern.pattern.converters})


ADDRESSES = dict(patterns(get_resolver()))


def address(name: str, project: str) -> str:
    """An address in a project."""
    kinds = ADDRESSES[name]
    key = TicketKey(project=project, number=1) if "TicketKey" in type(kinds.get("key")).__name__ else project
    return reverse(name, kwargs={kind: key if kind == "key" else VALUES[kind] for kind in kinds})


def need(name: str, method: str) -> Takes | Role | None:
    """What the table says that a method takes; None for a method that the address does not have."""
    reads = ("HEAD", "OPTIONS") if name.startswith("api:") and name != "api:docs" else ("HEAD",)
    return TABLE[name].get("GET" if method in reads else method)


def in_project(name: str) -> bool:
    """Whether an address is in a project."""
    return "key" in ADDRESSES[name]


def expected(name: str, method: str, person: str, *, sees: bool) -> set[int]:
    """The statuses with which a person may be answered."""
    rest, takes = name.startswith("api:") and name != "api:docs", need(name, method)
    if takes is NOTHING:
        return {400}
    if person == "anonymous" and name != "api:token":
        return {401} if rest else {403 if method == "POST" and not rest else 302}
    if in_project(name) and not sees:
        return {404}
    passed = allowed(takes, person)
    return (
        {*passed, 404} if "number" in ADDRESSES[name] and in_project(name) and 200 in passed else passed
    )  # there is no such comment


def allowed(takes: Takes | Role | None, person: str) -> set[int]:
    """The statuses for a person who is signed in, and sees the project if there is one."""
    match takes:
        case Role():
            return PASSED if rank(person) >= takes.rank else {403}
        case Takes.PERMISSION:
            return {*PASSED, 404} if person == "superuser" else {403}
        case Takes.SIGN_IN:
            return {*PASSED, 404}
        case _:  # refused, told which methods there are, or led to the present key
            return {200, 302, 308, 403, 405}


def rank(person: str) -> int:
    """The rank of a person in the shared project."""
    return Role(person).rank if person in list(Role) else OWNER.rank


def persons(name: str, method: str, project: str) -> list[str]:
    """Who is tried with a method: by ranks, only the last person who is refused and the first who is let in.

    HEAD and OPTIONS take what GET does: they are tried in one project, and not by the staff. A method that the address
    does not have is answered to everybody in the same way who may see the project, and all such methods alike: POST and
    one more are tried.
    """
    takes, known = need(name, method), ["anonymous", "stranger"]
    lacking = [other for other in ("PUT", "PATCH", "DELETE") if not need(name, other)]
    if (
        method in lacking[1:]
        or (method in ("HEAD", "OPTIONS") and project != "ABC")
        or (project, takes) == ("OLD", None)
    ):
        return []
    if isinstance(takes, Role):
        known += [role.value for role in Role if takes.rank - 1 <= role.rank <= takes.rank]
    elif takes:
        known += ["owner"]
    return known if method in ("HEAD", "OPTIONS") else [*known, *STAFF] if takes else [*known, "superuser"]


def test_every_address_has_a_row() -> None:
    """The table knows each address of REST and each page, and nothing else."""
    assert set(ADDRESSES) - OUTSIDE == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_who_comes_in(
    name: str,
    shared: Project,
    hidden: Project,
    program: Callable[[str], APIClient],
    known_browser_of: Callable[[str], Client],
) -> None:
    """An address lets in who has what it takes; who may not see its project is told that there is none."""
    rest, wrong = name.startswith("api:") and name != "api:docs", []
    for person in ("anonymous", *PEOPLE):
        client = program(person) if rest else known_browser_of(person)
        for project in PROJECTS.get(person, ("ABC",)) if in_project(name) else ("ABC",):
            sees = person in STAFF or (project == "ABC" and person != "stranger")
            where = address(name, project)
            for method in (method for method in METHODS if person in persons(name, method, project)):
                if name == "api:member":
                    give_role("gone", project)
                kind = {} if rest else {"content_type": "application/json"} if method in ("PUT", "PATCH") else {}
                answer = getattr(client, method.lower())(where, BODIES.get(f"{name} {method}", {}), **kind)
                if answer.status_code not in expected(name, method, person, sees=sees):
                    wrong.append(f"{person} {method} {project}: {answer.status_code}")
                if answer.status_code == 302 and person != "anonymous":
                    assert not answer["Location"].startswith("/login/")
    assert wrong == []


def give_role(user: str, project: str) -> None:
    """Make somebody a reader who has an account."""
    from django.contrib.auth.models import User

    User.objects.get_or_create(username=user)
    members.set_member(project, user, role="reader", by="owner")


def test_a_view_without_a_declaration_is_closed(ann: User) -> None:
    """A view that does not say what it takes lets nobody in, and the answer says why."""
    view = APIView.as_view(permission_classes=[Door])
    request = APIRequestFactory().get("/")
    force_authenticate(request, ann)
    answer = view(request)
    assert (answer.status_code, b"`needs`" in answer.content) == (403, True)


def test_the_page_of_the_api_says_what_each_operation_takes() -> None:
    """What is said of an operation ends with the role of its row, or with a permission."""
    for one in (one for group in reference()["groups"].values() for one in group):
        row = TABLE.get(resolve("/api" + one["call"].rpartition("$API")[2]).view_name, {})
        takes = row.get(one["method"], NOTHING)
        said = re.findall(r"(?:It takes the|, and)(?: role| permission)? <code>([\w.]+)</code>", one["about"])
        if isinstance(takes, Role):
            assert said[-1] == takes, one["path"]
        else:
            assert ["." in name for name in said] == [True] * (takes is PERMISSION), one["path"]


@pytest.mark.parametrize("name", [name for name in TABLE if in_project(name)])
def test_a_hidden_project_is_as_a_missing_one(
    name: str, hidden: Project, program: Callable[[str], APIClient], known_browser_of: Callable[[str], Client]
) -> None:
    """The answer about a project that somebody may not see is, but for the key, the one about a missing project."""
    client = program("stranger") if name.startswith("api:") else known_browser_of("stranger")
    for method in ("get", "post"):
        unseen, missing = (getattr(client, method)(address(name, key), headers=SAME) for key in ("NEW", "XXX"))
        assert unseen.status_code == missing.status_code == 404
        assert (
            unseen.content.decode().replace("NEW", "XXX").split("csrf")[0] == missing.content.decode().split("csrf")[0]
        )


@pytest.mark.parametrize("person", PEOPLE)
def test_pages_offer_what_may_be_done(shared: Project, known_browser_of: Callable[[str], Client], person: str) -> None:
    """No link and no form of a page leads to where its reader is refused, or where there is nothing."""
    browser, offered = known_browser_of(person), set[str]()
    for page in ("/", "/ABC/", "/ABC/members/", "/ABC-1/"):
        found = set(re.findall('(?:href|action)="(/(?!static/)[^"]*)"', browser.get(page).content.decode()))
        assert "/" in found
        offered |= found - {"/logout/"}
    answers = {address: browser.get(address, follow=True).status_code for address in offered}
    assert {address: status for address, status in answers.items() if status not in (200, 405, 409)} == {}
