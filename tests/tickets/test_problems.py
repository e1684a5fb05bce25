"""What every known error means for its reader: the same over REST, on a page, and in a form."""

import html
import inspect
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from sequences import exceptions as sequences
from sequences.exceptions import CancellationReason
from sequences.rest.problems import NumberTooLarge
from tickets import exceptions as tickets
from tickets import selectors, services, store
from tickets.problems import KNOWN, PROBLEMS, listed
from tickets.types import Access, Role, Status, Ticket, TicketKey

SECRET = "arn:aws:dynamodb:table/secret"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CURRENT = Ticket(
    key=TicketKey(project="ABC", number=1), title="As it is now", description="", status=Status.OPEN, assignee="",
    labels=(), reporter="bob", created_at=NOW, updated_at=NOW, version=7,
)  # fmt: skip
OPEN = Access(role=Role.REPORTER, archived=False)


@dataclass(frozen=True)
class Case:
    """An error, and its meaning in every room."""

    error: Exception
    status: int
    says: str
    retry_after: int | None = None
    unknown: bool = False
    tell: bool = False
    """Whether only an administrator can help."""

    def __str__(self) -> str:
        return type(self.error).__name__ + "-unknown" * self.unknown


def gave_up(kind: type[sequences.GaveUp], *, unknown: bool = False) -> sequences.GaveUp:
    """An error at the end of a deadline."""
    return kind(SECRET, attempts=3, seconds=10.0, outcome_unknown=unknown)


def cancelled(*, after_unknown: bool) -> sequences.WriteCancelled:
    """A cancelled write. `after_unknown` means that an earlier answer was lost."""
    error = sequences.WriteCancelled(SECRET, (CancellationReason(code="ValidationError"),))
    error.after_unknown = after_unknown
    return error


CASES = [
    Case(tickets.TicketsError("Something else."), 400, "Something else."),
    Case(tickets.InvalidInput({"title": "This must not be empty."}), 400, "This must not be empty."),
    Case(tickets.NotFound("It is not there."), 404, "It is not there."),
    Case(tickets.ProjectNotFound("XYZ"), 404, "There is no project XYZ."),
    Case(tickets.TicketNotFound("ABC-9"), 404, "There is no ticket ABC-9."),
    Case(tickets.MemberNotFound("bob", "ABC"), 404, "bob is no member of project ABC."),
    Case(tickets.NotAllowed.without_role(Role.MEMBER, "ABC", Role.READER), 403, "This needs the role member"),
    Case(tickets.ProjectArchived("ABC"), 409, "Project ABC is archived"),
    Case(tickets.LastOwner("ann", "ABC"), 409, "ann is the only owner"),
    Case(tickets.ProjectExists("ABC"), 409, "There is a project ABC already."),
    Case(tickets.ChangeRefused("It cannot be changed.", CURRENT), 409, "It cannot be changed."),
    Case(tickets.StaleVersion(CURRENT), 409, "at version 7 now. This request changed nothing."),
    Case(tickets.StaleVersion(CURRENT, "Comment 3"), 409, "Comment 3 was changed meanwhile"),
    Case(tickets.StaleTag(CURRENT), 412, "at version 7 now. This request changed nothing."),
    Case(tickets.VersionRequired(), 428, "Say which version you have read"),
    Case(tickets.NotAllowed("Only an owner can do this."), 403, "Only an owner can do this."),
    Case(tickets.CommentNotFound("ABC-1", 7), 404, "ABC-1 has no comment 7."),
    Case(tickets.ContentGone(CURRENT), 409, "cannot be restored"),
    Case(tickets.CommentVoided(CURRENT, "Comment 3"), 409, "Comment 3 was withdrawn"),
    Case(tickets.ProjectChanged("ABC", "XYZ"), 409, "Project ABC is project XYZ now"),
    Case(tickets.ProjectChanged("XYZ", "XYZ"), 409, "Project XYZ was changed meanwhile"),
    Case(tickets.TicketMoved(TicketKey(project="XYZ", number=7), CURRENT), 409, "XYZ-7 has moved: it is ABC-1 now."),
    Case(tickets.TicketVoided(CURRENT), 409, "ABC-1 was voided"),
    Case(sequences.SequenceError(SECRET), 503, "This cannot be done.", tell=True),
    Case(sequences.InvalidSequence(SECRET), 503, "not set up", tell=True),
    Case(sequences.InvalidScope("The scope is empty."), 400, "The scope is empty."),
    Case(sequences.InvalidPeriod("The period is no year."), 400, "The period is no year."),
    Case(sequences.DateRefused("The date is too early."), 400, "too early"),
    Case(sequences.InvalidText("The check digit is wrong."), 400, "The check digit is wrong."),
    Case(sequences.InvalidItem(SECRET), 400, "too long"),
    Case(sequences.InvalidChange("It only moves up."), 409, "It only moves up."),
    Case(sequences.InvalidToken("A token is printable."), 400, "A token is printable."),
    Case(sequences.OperationNotSupported(SECRET), 409, "hands out no values without an item"),
    Case(sequences.ScopeNotFound(SECRET), 404, "does not exist"),
    Case(sequences.AlsoRefused(SECRET, index=0, old={}), 409, "changed meanwhile"),
    Case(sequences.ItemExists(SECRET), 409, "stored under this key already"),
    Case(sequences.IdempotencyMismatch(SECRET), 422, "sent before with other content, which was stored"),
    Case(sequences.SequenceExhausted(SECRET), 409, "used up", tell=True),
    Case(NumberTooLarge("9007199254740992 is larger."), 409, "9007199254740992 is larger.", tell=True),
    Case(sequences.SequenceWentBack(SECRET), 409, "handed out are missing", tell=True),
    Case(sequences.SequenceUnsound(SECRET), 503, "cannot be given here", tell=True),
    Case(sequences.RulesChanged(SECRET), 503, "the settings have changed", tell=True),
    Case(sequences.TableRestored(SECRET), 503, "a table was restored", tell=True),
    Case(sequences.SequenceFrozen(SECRET), 503, "has frozen these numbers", 60),
    Case(sequences.PeriodClosed(SECRET), 409, "books of this period are closed"),
    Case(gave_up(sequences.GaveUp), 503, "cannot be reached", 5),
    Case(gave_up(sequences.SequenceContention), 503, "Too many requests", 1),
    Case(gave_up(sequences.SequenceUnavailable), 503, "cannot be reached", 5),
    Case(gave_up(sequences.SequenceUnavailable, unknown=True), 503, "cannot be reached", 5, unknown=True),
    Case(sequences.StorageError(SECRET), 503, "The store refuses this", tell=True),
    Case(cancelled(after_unknown=False), 503, "The store refuses this", tell=True),
    Case(cancelled(after_unknown=True), 503, "The store refuses this", unknown=True, tell=True),
    Case(sequences.NotWritten(SECRET), 503, "cannot be reached", 5),
    Case(sequences.Throttled(SECRET), 503, "cannot be reached", 5),
    Case(sequences.OutcomeUnknown(SECRET), 503, "cannot be reached", 5, unknown=True),
    Case(sequences.StorageRefused(SECRET), 503, "The store refuses this", tell=True),
    Case(sequences.TableMissing(SECRET), 503, "The store refuses this", tell=True),
    Case(sequences.AccessRefused(SECRET), 503, "The store refuses this", tell=True),
    Case(sequences.BudgetSpent(SECRET), 503, "The store refuses this", tell=True),
    Case(sequences.NotConfigured(SECRET), 503, "The store refuses this", tell=True),
    Case(sequences.AuditRefused(SECRET), 503, "This cannot be done.", tell=True),
]
# Errors without an entry of their own: they mean the same as their parent.
LIKE_THEIR_PARENTS = {
    tickets.ProjectNotFound: tickets.NotFound,
    tickets.MemberNotFound: tickets.NotFound,
    tickets.TicketNotFound: tickets.NotFound,
    tickets.CommentNotFound: tickets.NotFound,
    tickets.StaleVersion: tickets.ChangeRefused,
    tickets.OrderNotFound: tickets.NotFound,
    tickets.InvoiceNotFound: tickets.NotFound,
    sequences.SequenceUnavailable: sequences.GaveUp,
    sequences.WriteCancelled: sequences.StorageError,
    sequences.StorageRefused: sequences.StorageError,
    sequences.TableMissing: sequences.StorageError,
    sequences.AccessRefused: sequences.StorageError,
    sequences.BudgetSpent: sequences.StorageError,
    sequences.Throttled: sequences.NotWritten,
    sequences.AuditRefused: sequences.SequenceError,
    sequences.NotConfigured: sequences.StorageError,
}

every_case = pytest.mark.parametrize("case", CASES, ids=str)
MOVED = next(case for case in CASES if isinstance(case.error, tickets.TicketMoved))
# A ticket that has moved is no problem for who reads it: the answer leads to it.
every_problem = pytest.mark.parametrize("case", [case for case in CASES if case is not MOVED], ids=str)
KINDS = {
    (case.status, case.retry_after, case.unknown, case.tell, isinstance(case.error, tickets.ChangeRefused)): case
    for case in CASES
    if case is not MOVED
}
"""A case of each kind of problem: pages say in the words of REST what it means."""

Fail = Callable[[Exception], None]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """A function that makes the list of projects and the filing of tickets fail with this error."""

    def fail(error: Exception) -> None:
        def raise_it(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(selectors, "list_projects", raise_it)
        monkeypatch.setattr(services, "create_ticket", raise_it)
        monkeypatch.setattr(selectors, "present_key", lambda key: key)
        monkeypatch.setattr(store.members, "find_access", lambda *_: OPEN)

    return fail


OF_SALES = {
    *(tickets.OrderNotFound, tickets.InvoiceNotFound),
    *(tickets.OrderVoided, tickets.NoDraft, tickets.OrderInvoiced),
    *(tickets.CompanyExists, tickets.CompanyNotFound, tickets.FormatRefused),
}
"""The errors that the pages of orders and invoices have cases for, in tests/tickets/sales."""


def errors_of(module: ModuleType) -> set[type[Exception]]:
    """The errors that a module declares."""
    return {kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, KNOWN)}


def text_of(response: Any) -> str:
    """The text of an answer, as its reader sees it."""
    if response["Content-Type"] == "application/problem+json":
        return " ".join(json.dumps(response.json(), ensure_ascii=False).split())
    return html.unescape(response.content.decode())


def assert_means(case: Case, response: Any) -> None:
    """Assert that the answer has the right status, says what happened and what was stored, and hides the internals."""
    text = text_of(response)
    assert response.status_code == case.status
    assert case.says in text
    assert ("Nothing was changed." in text) == (SECRET in str(case.error) and not case.unknown)
    assert ("may have been carried out" in text or "may be one of" in text) == case.unknown
    assert response.headers.get("Retry-After") == (None if case.retry_after is None else str(case.retry_after))
    assert ("again in a moment" in text) == (case.retry_after is not None)
    assert ("Tell an administrator" in text) == case.tell
    assert SECRET not in text


def test_every_error_is_in_the_table() -> None:
    """Every error has an entry of its own, or its parent's on purpose; and a case here."""
    errors = errors_of(sequences) | errors_of(tickets) | {NumberTooLarge}
    entries = {kind: next(parent for parent in kind.__mro__ if parent in PROBLEMS) for kind in errors}
    assert {kind: entry for kind, entry in entries.items() if entry is not kind} == LIKE_THEIR_PARENTS
    assert {type(case.error) for case in CASES} == errors - OF_SALES


TITLES = {
    "accounts_away": "Not at the moment",
    "company_exists": "Taken already",
    "comment_void": "Not possible any more",
    "content_gone": "Not possible any more",
    "format_refused": "Not possible",
    "last_owner": "Not possible",
    "no_draft": "No draft",
    "not_allowed": "Not allowed",
    "not_possible": "Not possible",
    "order_invoiced": "Invoiced already",
    "order_void": "Not possible any more",
    "project_archived": "Archived",
    "project_changed": "Not possible any more",
    "project_exists": "Taken already",
    "stale": "Not possible any more",
    "stale_tag": "Not possible any more",
    "ticket_moved": "Moved",
    "ticket_void": "Not possible any more",
    "version_required": "Which version?",
}


def test_the_rows_of_the_table() -> None:
    """Each code has a title; those about one field name it, and the site's own say what happened in their words."""
    ours = [row for row in listed() if row.code in TITLES]
    assert {row.code: row.title for row in ours} == TITLES
    assert {row.code: row.about for row in ours if row.about} == {
        "project_exists": "key",
        "company_exists": "key",
        "format_refused": "format",
    }
    assert (PROBLEMS[tickets.CompanyNotFound].code, PROBLEMS[tickets.CompanyNotFound].about) == ("not_found", "company")
    assert [row.code for row in ours if not row.own_words] == ["accounts_away"]
    assert {row.code: row.retry_after for row in ours if row.retry_after} == {"accounts_away": 5}
    assert [(row.status, row.code) for row in listed()] == sorted({(row.status, row.code) for row in PROBLEMS.values()})


@every_case
def test_an_error_survives_pickling(case: Case) -> None:
    """An error that another process raised has the same class, words and attributes here."""
    copy = pickle.loads(pickle.dumps(case.error))
    assert (type(copy), str(copy), repr(vars(copy))) == (type(case.error), str(case.error), repr(vars(case.error)))


@every_problem
def test_json_says_it(api: APIClient, fail: Fail, case: Case, caplog: pytest.LogCaptureFixture) -> None:
    """REST answers a read and a write with the same problem.

    The cause of what the reader cannot help stands in the log, once; a reader's own mistake does not.
    """
    fail(case.error)
    read = api.get("/api/projects/")
    lines = [record.getMessage() for record in caplog.records if record.name == "sequences.rest.problems"]
    wanted = [f"/api/projects/ could not be served: {case.error}"]
    assert lines == (wanted if case.tell or case.retry_after else [])
    for response in (read, api.post("/api/projects/ABC/tickets/", {"title": "Printer"})):
        assert response["Content-Type"] == "application/problem+json"
        assert_means(case, response)
        if case.status == 503:
            assert response.json()["outcome_unknown"] is case.unknown


@pytest.mark.parametrize("case", KINDS.values(), ids=str)
def test_a_page_says_it(browser: Client, fail: Fail, case: Case) -> None:
    """A page that cannot be shown says why, with a way on."""
    fail(case.error)
    response = browser.get("/")
    assert_means(case, response)
    assert ('<a href="/">Try again</a>' in text_of(response)) == (case.retry_after is not None)
    assert "<h1></h1>" not in text_of(response)


@pytest.mark.parametrize("case", [*KINDS.values(), MOVED], ids=str)
def test_a_form_says_it_and_keeps_what_was_typed(browser: Client, fail: Fail, case: Case) -> None:
    """A form that could not be stored comes back with the reason and with all that was typed."""
    fail(case.error)
    typed = {"title": "Printer", "description": "On fire.", "assignee": "bob", "labels": "hot, new"}
    response = browser.post("/ABC/new/", {**typed, "token": "t"})
    assert_means(case, response)
    kept = {field.html_name: field.value() for field in response.context["form"]}
    assert (kept.pop("token") == "t") == (case.status != 422)  # the same request, unless it must be a new one
    assert kept == typed


def test_a_conflict_shows_the_ticket_as_it_is(browser: Client, api: APIClient, fail: Fail) -> None:
    """Where a ticket is not as its changer thought, JSON and the form show how it is."""
    fail(tickets.StaleVersion(CURRENT))
    assert api.get("/api/projects/").json()["current"]["title"] == "As it is now"
    assert "As it is now" in text_of(browser.post("/ABC/new/", {"title": "Printer"}))


def test_a_fault_of_ours_is_no_problem_of_the_reader(browser: Client, api: APIClient, fail: Fail) -> None:
    """An error that is not known is left to Django, for pages, forms and JSON."""
    fail(KeyError("ours"))
    with pytest.raises(KeyError):
        api.get("/api/projects/")
    with pytest.raises(KeyError):
        browser.get("/")
    with pytest.raises(KeyError):
        browser.post("/ABC/new/", {"title": "x"})
