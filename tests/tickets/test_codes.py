"""Every code of an error, provoked by a real request where that is possible: its status, its page, its shape."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient
from rest_framework.throttling import BaseThrottle

from sequences import changes, dynamodb, exceptions
from sequences.changes import close, void
from sequences.registry import strategies
from sequences.rest.answers import ProblemAnswers
from tests.tickets.support import problem_of
from tickets import moves, project_services, services
from tickets.api.tickets import TicketList
from tickets.problems import PROBLEMS
from tickets.timeline import services as comments
from tickets.types import Ticket, TicketKey

ABC_1 = TicketKey(project="ABC", number=1)
TICKETS = "/api/projects/ABC/tickets/"
ORDER = {"customer": "Ada", "lines": [{"text": "Paper", "quantity": 1, "price": "1"}]}
# No request to the sample can cause these: it checks before, has no such table, or no such race in one thread.
RAISED = {
    "accounts_away": OperationalError("x"),
    "cannot_be_stored": exceptions.InvalidItem("x"),
    "change_refused": exceptions.InvalidChange("x"),
    "changed_meanwhile": exceptions.AlsoRefused("x", index=0, old={}),
    "exists": exceptions.ItemExists("x"),
    "scope_not_found": exceptions.ScopeNotFound("x"),
    "sequence_error": exceptions.SequenceError("x"),
    "too_busy": exceptions.SequenceContention("x", attempts=1, seconds=1.0),
    "went_back": exceptions.SequenceWentBack("x"),
}


@dataclass
class Scene:
    """A ticket ABC-1 of Ann's, and all that a test needs to make a request go wrong."""

    api: APIClient
    browser: Client
    settings: Settings
    monkeypatch: pytest.MonkeyPatch
    go_away: Callable[[], None]

    def configure(self, name: str, **entries: Any) -> None:
        """Change the settings of a sequence."""
        self.settings.SEQUENCES = {**self.settings.SEQUENCES, name: {**self.settings.SEQUENCES[name], **entries}}

    def fail(self, error: Exception) -> None:
        """Let the filing of tickets fail."""

        def raise_it(*_: object, **__: object) -> None:
            raise error

        self.monkeypatch.setattr(services, "create_ticket", raise_it)

    def file(self, **headers: str) -> Any:
        """File a ticket."""
        return self.api.post(TICKETS, {"title": "x"}, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def ordered(self) -> str:
        """The address of a new order."""
        return f"/api/orders/{self.api.post('/api/orders/', ORDER).json()['number']}/"


@pytest.fixture
def scene(
    api: APIClient,
    browser: Client,
    ticket: Ticket,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    store_away: Callable[[], None],
) -> Scene:
    """A ticket ABC-1, and its surroundings."""
    return Scene(api, browser, settings, monkeypatch, store_away)


def permission_denied(scene: Scene) -> Any:
    """A browser writes without the token that other sites cannot know."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.get(username="ann"))
    return browser.post(TICKETS, {"title": "x"}, content_type="application/json")


def internal_error(scene: Scene) -> Any:
    """A fault of ours."""
    scene.fail(KeyError("secret"))
    client = APIClient(raise_request_exception=False)
    client.force_authenticate(User.objects.get(username="ann"))
    return client.post(TICKETS, {"title": "x"})


def too_large(scene: Scene) -> Any:
    """A body above the limit."""
    scene.settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    return scene.browser.post("/api/projects/", {"key": "XYZ", "name": "x" * 200}, content_type="application/json")


def throttled(scene: Scene) -> Any:
    """Too many requests in a short time."""

    class Closed(BaseThrottle):
        def allow_request(self, *_: object) -> bool:
            return False

        def wait(self) -> float:
            return 2.5

    scene.monkeypatch.setattr(TicketList, "throttle_classes", [Closed])
    return scene.file()


def sequence_not_set_up(scene: Scene) -> Any:
    """The settings name a strategy that does not exist."""
    scene.configure("tickets", STRATEGY="nowhere.Nothing")
    return scene.file()


def rules_changed(scene: Scene) -> Any:
    """The settings of the tickets change while rows of the former ones are stored."""
    scene.file()
    scene.configure("tickets", START=0)
    return scene.file()


def restored(scene: Scene) -> Any:
    """The rows came from another table."""
    scene.file()
    [row] = [row for row in strategies["tickets"].rules.read(dynamodb.call) if row.read_in]
    dynamodb.call("update_item", replace(row, written_in="another").write(row.rules, "token"))
    scene.configure("tickets")
    return scene.file()


def sequence_unsound(scene: Scene) -> Any:
    """Another Region writes the numbers."""
    scene.configure("tickets", HOME_REGION="eu-central-1")
    return scene.file()


def used_up(scene: Scene) -> Any:
    """The last number was given."""
    scene.configure("tickets", MAXIMUM=1)
    return scene.file()


def number_too_large(scene: Scene) -> Any:
    """A sequence is beyond what JSON can carry."""
    scene.configure("orders", START=2**53, MAXIMUM=2**60)
    return scene.api.post("/api/sequences/orders/next/")


def frozen(scene: Scene) -> Any:
    """An administrator has frozen the numbers of ABC."""
    changes.freeze("tickets", scope="ABC", by="bob", reason="Stocktaking.")
    return scene.file()


def store_away(scene: Scene) -> Any:
    """The store does not answer."""
    scene.go_away()
    return scene.file()


def store_refuses(scene: Scene) -> Any:
    """A table is missing."""
    scene.settings.TABLE_PREFIX = "nowhere_"
    return scene.file()


def idempotency_mismatch(scene: Scene) -> Any:
    """Another ticket under a key that was used."""
    scene.api.post(TICKETS, {"title": "y"}, headers={"Idempotency-Key": "k"})
    return scene.file(Idempotency_Key="k")


def project_changed(scene: Scene) -> Any:
    """A rename of a key that is not the present one."""
    project_services.update_project("ABC", changes={"key": "NEW"}, by="bob")
    return scene.api.patch("/api/projects/ABC/", {"key": "OTHER", "version": 2})


def stale(scene: Scene) -> Any:
    """A change of a version that is not the present one."""
    services.update_ticket(ABC_1, version=1, changes={"title": "y"}, by="bob")
    return scene.api.patch("/api/tickets/ABC-1/", {"version": 1, "title": "z"})


def ticket_void(scene: Scene) -> Any:
    """A change of a void ticket."""
    services.void_ticket(ABC_1, by="bob")
    return scene.api.patch("/api/tickets/ABC-1/", {"version": 2, "title": "z"})


def content_gone(scene: Scene) -> Any:
    """A restore of what an operator made void."""
    void("tickets", 1, scope="ABC", by="root", reason="Wrong.")
    return scene.api.post("/api/tickets/ABC-1/restore/")


def comment_of(scene: Scene, by: str, *, withdrawn: bool = False) -> Any:
    """Ann's change of a comment by this person, which may be withdrawn."""
    made = comments.add_comment(ABC_1, text="x", by=by)
    if withdrawn:
        comments.withdraw_comment(made.ticket, 1, by=by)
    return scene.api.patch("/api/tickets/ABC-1/comments/1/", {"text": "y"}, headers={"If-Match": "*"})


def order_void(scene: Scene) -> Any:
    """A draft for an order that an operator made void."""
    address = scene.ordered()
    void("orders", 1001, by="root", reason="Wrong.")
    return scene.api.post(f"{address}invoice/")


def stale_tag(scene: Scene) -> Any:
    """A change of an earlier ETag."""
    return scene.api.patch("/api/tickets/ABC-1/", {"title": "z"}, headers={"If-Match": '"7-00000000"'})


def ticket_moved(scene: Scene) -> Any:
    """A change of a ticket under its former key."""
    project_services.create_project(key="XYZ", name="Rest", by="bob")
    moves.move_ticket(ABC_1, to="XYZ", by="bob")
    project_services.update_project("XYZ", changes={"open": "read"}, by="bob")
    return scene.api.patch("/api/tickets/ABC-1/", {"version": 2, "title": "z"})


def items_only(scene: Scene) -> Any:
    """Values of a sequence that numbers stored items only, in a scope that is open to REST."""
    scene.settings.REST_SCOPES = {"tickets": ["ABC"]}
    return scene.api.post("/api/sequences/tickets/next/", {"scope": "ABC"})


def project_archived(scene: Scene) -> Any:
    """A ticket for an archived project."""
    scene.api.post("/api/projects/ABC/archive/")
    return scene.file()


def order_invoiced(scene: Scene) -> Any:
    """A draft for an order that has an invoice."""
    address = scene.ordered()
    scene.api.post(f"{address}invoice/")
    scene.api.post(f"{address}invoice/issue/")
    return scene.api.post(f"{address}invoice/")


def company_exists(scene: Scene) -> Any:
    """A company whose key has another series."""
    company = {"key": "NORD", "name": "Nordic Branch", "format": "N/{period}/{value}", "start": 1}
    scene.api.post("/api/companies/", company)
    return scene.api.post("/api/companies/", {**company, "start": 2})


def period_closed(scene: Scene) -> Any:
    """An invoice of a year whose books are closed."""
    address = scene.ordered()
    scene.api.post(f"{address}invoice/")
    close("invoices", period="2025", by="ann", reason="The audit is done.")
    return scene.api.post(f"{address}invoice/issue/", {"date": "2025-12-31"})


def format_refused(scene: Scene) -> Any:
    """A company whose invoices would have the texts of the main one."""
    company = {"key": "NORD", "name": "Nordic Branch", "format": "INV-{period}-{value:06d}-{check:damm}", "start": 1}
    return scene.api.post("/api/companies/", company)


PROVOKED: dict[str, tuple[int, Callable[[Scene], Any]]] = {
    "authentication_failed": (
        401,
        lambda scene: APIClient().get("/api/projects/", headers={"Authorization": f"Token {'0' * 40}"}),
    ),
    "company_exists": (409, company_exists),
    "format_refused": (409, format_refused),
    "frozen": (503, frozen),
    "period_closed": (409, period_closed),
    "idempotency_mismatch": (422, idempotency_mismatch),
    "internal_error": (500, internal_error),
    "invalid": (400, lambda scene: scene.api.post(TICKETS, {})),
    "items_only": (409, items_only),
    "last_owner": (409, lambda scene: scene.api.delete("/api/projects/ABC/members/ann/")),
    "malformed": (400, lambda scene: scene.api.generic("POST", TICKETS, "{", content_type="application/json")),
    "comment_void": (409, lambda scene: comment_of(scene, "ann", withdrawn=True)),
    "content_gone": (409, content_gone),
    "order_void": (409, order_void),
    "stale_tag": (412, stale_tag),
    "version_required": (428, lambda scene: scene.api.patch("/api/tickets/ABC-1/", {"title": "z"})),
    "method_not_allowed": (405, lambda scene: scene.api.put(TICKETS, {})),
    "no_draft": (409, lambda scene: scene.api.post(f"{scene.ordered()}invoice/issue/")),
    "not_acceptable": (406, lambda scene: scene.api.get(TICKETS, headers={"Accept": "text/html"})),
    "not_allowed": (403, lambda scene: scene.api.post("/api/sequences/orders/next/", {"scope": "north"})),
    "not_authenticated": (401, lambda scene: APIClient().get(TICKETS)),
    "not_found": (404, lambda scene: scene.api.get("/api/nothing/")),
    "number_too_large": (409, number_too_large),
    "order_invoiced": (409, order_invoiced),
    "permission_denied": (403, permission_denied),
    "project_changed": (409, project_changed),
    "project_archived": (409, project_archived),
    "project_exists": (409, lambda scene: scene.api.post("/api/projects/", {"key": "ABC", "name": "Second"})),
    "sequence_not_set_up": (503, sequence_not_set_up),
    "restored": (503, restored),
    "rules_changed": (503, rules_changed),
    "sequence_unsound": (503, sequence_unsound),
    "stale": (409, stale),
    "store_away": (503, store_away),
    "store_refuses": (503, store_refuses),
    "throttled": (429, throttled),
    "ticket_moved": (308, ticket_moved),
    "ticket_void": (409, ticket_void),
    "too_large": (413, too_large),
    "unsupported_media_type": (
        415,
        lambda scene: scene.api.generic("POST", TICKETS, "title=x", content_type="application/x-www-form-urlencoded"),
    ),
    "used_up": (409, used_up),
}
CODES = {row.code: row for row in PROBLEMS.values()}
REPEATS_HELP = {"accounts_away", "frozen", "store_away", "throttled", "too_busy"}


def test_every_code_is_provoked() -> None:
    """Each code of the table has a request here that provokes it, or an error that stands for one."""
    assert PROVOKED.keys() | RAISED.keys() == CODES.keys() - {"not_possible"}  # which is for errors without a row
    assert PROVOKED.keys() & RAISED.keys() == set()


def test_a_code_has_one_meaning() -> None:
    """All rows of a code have its status, its title, its words and its remedy."""
    for row in PROBLEMS.values():
        same = CODES[row.code]
        assert (row.status, row.title, row.detail, row.remedy) == (same.status, same.title, same.detail, same.remedy)
        assert re.fullmatch("[a-z_]+", row.code)


def test_a_key_that_is_taken_is_pointed_at(scene: Scene) -> None:
    """A conflict about one field says which."""
    answer = scene.api.post("/api/projects/", {"key": "ABC", "name": "Another", "description": "", "open": "read"})
    assert [one["pointer"] for one in problem_of(answer)["errors"]] == ["/key"]


def test_when_a_repeat_may_help() -> None:
    """What soon passes says after how many seconds; nothing else has `Retry-After`."""
    told = {code: row.retry_after for code, row in CODES.items() if row.retry_after}
    assert told == {"throttled": 60, "frozen": 60, "store_away": 5, "too_busy": 1, "accounts_away": 5}


@pytest.mark.parametrize("code", PROVOKED)
def test_a_request_that_goes_wrong_has_its_code(scene: Scene, code: str) -> None:
    """The answer has the status and the code, and says a time exactly if a repeat may help."""
    status, provoke = PROVOKED[code]
    response = provoke(scene)
    problem = problem_of(response)
    assert (response.status_code, problem["code"]) == (status, code)
    assert ("Retry-After" in response) == (code in REPEATS_HELP)
    assert problem["type"] == f"http://testserver/problems/#{code}"
    assert problem["title"] == CODES[code].title
    assert problem["instance"] == response.wsgi_request.path
    assert problem["request_id"] == response["X-Request-Id"]
    assert ("outcome_unknown" in problem) == (status >= 500)
    assert "secret" not in response.content.decode()


@pytest.mark.parametrize("code", RAISED)
def test_an_error_that_no_request_causes_has_its_code(scene: Scene, code: str) -> None:
    """An error that the sample does not cause is answered like those that it does."""
    scene.fail(RAISED[code])
    response = scene.file()
    assert problem_of(response)["code"] == code
    assert ("Retry-After" in response) == (code in REPEATS_HELP)


def test_the_page_explains_every_code(client: Client, db: None) -> None:
    """Everybody can read what each code means: its status, its words, what helps, and whether a repeat does."""
    page = client.get("/problems/")
    assert page.status_code == 200
    sections = dict(re.findall(r'<section id="(\w+)">(.*?)</section>', page.content.decode(), re.DOTALL))
    assert sections.keys() == CODES.keys()
    for code, section in sections.items():
        assert f"<dd>{CODES[code].status}, " in section
        assert ("Yes, after" in section) == (code in REPEATS_HELP)
        assert not re.search(r"<dd>\s*</dd>", section)


@pytest.mark.parametrize("address", ["/api/nothing/", "/api/schema/?format=nonsense", "/api/tickets/XYZ-1/move/"])
def test_every_refusal_below_the_api_is_a_problem(scene: Scene, address: str) -> None:
    """Whatever the address, the method and the wanted format, a refusal is a problem; HEAD has its headers."""
    accepts = ("text/html", "application/yaml", "*/*", "application/json; indent=4")
    methods = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
    for method, accept, client in product(methods, accepts, (scene.api, APIClient())):
        response = client.generic(method.upper(), address, headers={"Accept": accept})
        if method == "head":
            assert response.content == b"", accept
            assert response["Content-Type"] == "application/problem+json", accept
        elif response.status_code >= 400:
            assert problem_of(response)["code"] in CODES, (method, accept)
        else:
            assert method == "options", (method, accept)


def test_a_wrong_host_is_a_problem(client: Client, db: None) -> None:
    """A request for a host that the site does not have is refused without that host in the answer."""
    response = client.get("/api/projects/", headers={"Host": "evil.example"})
    assert problem_of(response)["type"] == "/problems/#malformed"
    assert "evil" not in response.content.decode()


UNREADABLE: dict[str | bytes, str] = {
    "{": "The body is not JSON: Expecting property name enclosed in double quotes in line 1, column 2.",
    '{"title": NaN}': "The body has a number that is none in JSON, such as NaN.",
    b"\xff": "The body is not UTF-8: byte 1 cannot be read.",
    "9" * 10_000: "The body has a number with too many digits.",
    "[" * 100_000: "The body is nested too deeply.",
    '{"title": "a", "title": "b"}': "The field 'title' is sent more than once in one object. Send it once.",
    '[{"a": {"\\ud800": 1, "b": 1, "\\ud800": 1}}]': (
        "The field '\\\\ud800' is sent more than once in one object. Send it once."
    ),
}


@pytest.mark.usefixtures("uncollected")
def test_a_body_that_cannot_be_read_is_told_why(scene: Scene) -> None:
    """What is wrong with a body is said in words for who sent it, not in Python's."""
    for body, says in UNREADABLE.items():
        response = scene.api.generic("POST", TICKETS, body, content_type="application/json")  # type: ignore[arg-type]
        assert problem_of(response)["detail"] == says


def test_a_pointer_leads_to_what_is_wrong(scene: Scene) -> None:
    """Each wrong place of a body is named by its JSON pointer."""
    wrong: list[tuple[str, Any, set[str]]] = [
        (TICKETS, {"title": "x", "labels": ["a", "b,c", "d", 5 * "x" * 40]}, {"/labels/1"}),
        (TICKETS, {"title": "x", "labels": ["a", {}]}, {"/labels/1"}),
        (TICKETS, {"title": "x", "a/b~c": 1}, {"/a~1b~0c"}),
        (TICKETS, [], {""}),
        ("/api/orders/", {**ORDER, "lines": [*ORDER["lines"], {"text": "x"}]}, {"/lines/1/quantity", "/lines/1/price"}),
        ("/api/tickets/ABC-1/move/", {"project": "ABC"}, {"/project"}),
    ]
    for address, body, places in wrong:
        assert {error["pointer"] for error in problem_of(scene.api.post(address, body))["errors"]} == places


def test_who_accepts_problems_or_says_nothing_gets_json(scene: Scene) -> None:
    """An answer is JSON for who accepts problems alone, and for who says nothing."""
    for accept in ("", "application/problem+json", "application/problem+json;q=1, ", "*/*"):
        answer = scene.api.get(TICKETS, headers={"Accept": accept})
        assert (answer.status_code, answer["Content-Type"]) == (200, "application/json"), accept


def test_a_quality_of_nothing_refuses(scene: Scene) -> None:
    """Who does not want JSON, by a quality of 0, gets no other form: 406."""
    for accept in ("application/json;q=0", "application/problem+json, */*; q=0.000", "*/*;q=0"):
        assert problem_of(scene.api.get(TICKETS, headers={"Accept": accept}))["code"] == "not_acceptable", accept


def test_an_absent_ticket_is_not_found(scene: Scene) -> None:
    """OPTIONS says so as GET does, and so does a change without a version, whether or not there is the project."""
    parts = ("", "comments/", "comments/1/", "history/", "move/", "restore/")
    for absent, part in product(("ABC-99", "XYZ-1"), parts):
        path, content = f"/api/tickets/{absent}/{part}", {"text": "x"} if part else {"title": "x"}
        answers = [scene.api.options(path), scene.api.get(path), scene.api.patch(path, content), scene.api.delete(path)]
        for answer in (answer for answer in answers if answer.status_code != 405):
            said = problem_of(answer)
            assert (said["code"], f"no ticket {absent}" in said["detail"]) == ("not_found", True), path


@pytest.mark.parametrize("query", ["limit=0", "cursor=x"])
def test_a_wrong_parameter_is_named(scene: Scene, query: str) -> None:
    """What is wrong in an address is named as its parameter."""
    (error,) = problem_of(scene.api.get(f"{TICKETS}?{query}"))["errors"]
    assert error["parameter"] == query.partition("=")[0]


MALFORMED = {
    "ключ\u200b": "'ключ\\u200b' has the character U+200B, which is not printable. Use another key.",
    "": "A key has 1 to 255 printable characters; this one has 0.",
    "8f14e45f,c51ce410": "Send one Idempotency-Key, without a comma in it.",
    "ä" * 256: "A key has 1 to 255 printable characters; this one has 256.",
}


def test_a_malformed_key_is_shown_as_it_was_sent(scene: Scene) -> None:
    """A key that cannot be is refused in the caller's own characters, though WSGI reads their bytes as Latin-1."""
    bodies: dict[str, Any] = {"/api/projects/": {"key": "XYZ", "name": "x"}, TICKETS: {"title": "x"}}
    bodies |= {"/api/orders/": ORDER, "/api/sequences/orders/next/": {}}
    for (address, body), (key, says) in product(bodies.items(), MALFORMED.items()):
        response = scene.api.post(address, body, HTTP_IDEMPOTENCY_KEY=key.encode().decode("latin-1"))
        assert response.status_code == 400, address
        assert problem_of(response)["errors"] == [{"header": "Idempotency-Key", "detail": says}], address


@pytest.mark.parametrize(
    ("address", "body", "other"),
    [
        ("/api/projects/", {"key": "XYZ", "name": "Rest"}, {"key": "XYZ", "name": "Other"}),
        ("/api/projects/", {"key": "XYZ", "name": "Rest"}, {"key": "OTHER", "name": "Rest"}),
        (TICKETS, {"title": "x"}, {"title": "y"}),
        ("/api/orders/", ORDER, {**ORDER, "customer": "Bob"}),
        ("/api/sequences/orders/next/", {"count": 2}, {"count": 3}),
    ],
)
def test_every_creation_is_repeatable(scene: Scene, address: str, body: Any, other: Any) -> None:
    """A repeat with the same key of 255 characters has the same status, says so, and shows the same thing."""
    headers = {"Idempotency-Key": "ж" * 255}
    first, again, wrong = (scene.api.post(address, sent, headers=headers) for sent in (body, body, other))
    assert first.status_code == again.status_code in (200, 201)
    assert first.json() == again.json()
    assert ("Idempotent-Replayed" in first, again["Idempotent-Replayed"]) == (False, "true")
    assert problem_of(wrong)["code"] == "idempotency_mismatch"


def test_a_key_names_one_request_where_it_is_stored(scene: Scene) -> None:
    """One key is refused for two requests about a project, a ticket's events, or orders; elsewhere it is another."""
    key = {"Idempotency-Key": "70efdf2e"}
    each, together = ({"mode": mode, "tickets": [{"title": "A"}]} for mode in ("each", "all_or_nothing"))
    scene.api.post("/api/projects/", {"key": "XYZ", "name": "Rest"})
    ticket = f"/api/tickets/{scene.api.post(TICKETS, {'title': 'Ink'}, headers=key).json()['key']}/"
    asked: list[tuple[int, str, str, Any]] = [
        (422, "post", f"{TICKETS}bulk/", together),
        (200, "post", f"{TICKETS}bulk/", each),  # whose tickets have a name each, by their places
        (201, "post", TICKETS.replace("ABC", "XYZ"), {"title": "Ink"}),
        (201, "post", f"{ticket}comments/", {"text": "x"}),
        (422, "patch", ticket, {"title": "y", "version": 1}),
        (422, "delete", ticket, {"version": 1}),
        (200, "post", f"{ticket}move/", {"project": "XYZ"}),  # which the ticket itself remembers, for ever
        (201, "post", "/api/orders/", ORDER),
        (422, "post", "/api/sequences/orders/next/", {}),
    ]
    for status, method, path, body in asked:
        assert getattr(scene.api, method)(path, body, headers=key).status_code == status, (method, path)


def test_a_key_of_values_or_of_many_tickets_is_no_other(scene: Scene) -> None:
    """In the other order too, one key does not take values and store an order, or file many tickets and one."""
    key = {"Idempotency-Key": "70efdf2e"}
    many = {"mode": "all_or_nothing", "tickets": [{"title": "A"}, {"title": "B"}]}
    assert scene.api.post("/api/sequences/orders/next/", {}, headers=key).status_code == 200
    assert problem_of(scene.api.post("/api/orders/", ORDER, headers=key))["code"] == "idempotency_mismatch"
    assert scene.api.post(f"{TICKETS}bulk/", many, headers=key).status_code == 201
    assert problem_of(scene.api.post(TICKETS, {"title": "A"}, headers=key))["code"] == "idempotency_mismatch"


def test_the_document_has_the_problems(api: APIClient, tables: str) -> None:
    """Each operation of the document names the problems it may answer with, and their shape has every code."""
    document = api.get("/api/schema/?format=json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            answers = operation["responses"].items()
            problems = {status for status, said in answers if "application/problem+json" in said.get("content", {})}
            assert problems >= {"400", "401", "403", "503"} | ({"404"} if "{" in path else set()), (path, method)
    assert document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == sorted(CODES)


def test_a_handler_without_a_page_has_no_address(scene: Scene) -> None:
    """Where no page explains the codes, the type is the one of the standard that says so."""
    request = scene.api.get("/api/nothing/").wsgi_request
    assert ProblemAnswers().body(request, CODES["not_found"])["type"] == "about:blank"
