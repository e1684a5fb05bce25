"""What every known error means for the person who reads it: the table of `sequences.rest`, and our own rows.

The rooms only format it: `api.exceptions` as JSON, `middleware` as a page, `forms` beside what was typed.
"""

from collections.abc import Mapping
from dataclasses import replace

from django.db import InterfaceError, OperationalError

from sequences.exceptions import SequenceError
from sequences.rest.problems import INVALID, MISSING, Problem, Remedy, problem_of
from sequences.rest.problems import PROBLEMS as ROWS
from tickets import exceptions as errors

ACCOUNTS_AWAY = (OperationalError, InterfaceError)
KNOWN = (SequenceError, errors.TicketsError, *ACCOUNTS_AWAY)

# fmt: off
PROBLEMS: Mapping[type[Exception], Problem] = {
    **ROWS,
    **dict.fromkeys(
        ACCOUNTS_AWAY,
        Problem(503, "accounts_away", "Not at the moment",
            "The database with the accounts does not answer.", Remedy.REPEAT, retry_after=5),
    ),
    errors.VersionRequired: Problem(428, "version_required", "Which version?",
        "A change says which version it is based on.",
        own_words=True, advice="Read it, and send its ETag in If-Match, or its `version`."),
    errors.StaleTag: Problem(412, "stale_tag", "Not possible any more",
        "Somebody else has changed this since its ETag was read.",
        own_words=True, advice="Compare it with `current`. If you still want the change, send it for that version."),
    errors.ContentGone: Problem(409, "content_gone", "Not possible any more",
        "The ticket was withdrawn, and its content cannot be restored.", own_words=True, advice="File another ticket."),
    errors.CommentVoided: Problem(409, "comment_void", "Not possible any more",
        "The comment was withdrawn, and cannot be changed any more.", own_words=True, advice="Write another comment."),
    errors.OrderVoided: Problem(409, "order_void", "Not possible any more",
        "An operator has withdrawn the order.", own_words=True, advice="Store another order."),
    errors.TicketsError: Problem(400, "not_possible", "Not possible", "This is not possible.", own_words=True),
    errors.InvalidInput: INVALID,
    errors.NotFound: MISSING,
    errors.NotAllowed: Problem(403, "not_allowed", "Not allowed",
        "Your role in the project, or your permissions, do not suffice for this.",
        own_words=True, advice="Ask an owner of the project for the role, or an administrator for the permission."),
    errors.ProjectArchived: Problem(409, "project_archived", "Archived",
        "The project is archived: it can only be read.",
        own_words=True, advice="Ask an owner to take it out of the archive."),
    errors.LastOwner: Problem(409, "last_owner", "Not possible",
        "A project needs an owner.", own_words=True, advice="Make somebody else an owner first."),
    errors.ProjectExists: Problem(409, "project_exists", "Taken already",
        "The key names a project, perhaps one that has another key now.",
        own_words=True, about="key", advice="Choose another key."),
    errors.CompanyNotFound: replace(MISSING, about="company"),
    errors.FormatRefused: Problem(409, "format_refused", "Not possible",
        "The texts of the invoices could belong to something else.",
        own_words=True, about="format", advice="Choose other texts."),
    errors.CompanyExists: Problem(409, "company_exists", "Taken already",
        "The key names a company, which has other rules.",
        own_words=True, about="key", advice="Choose another key, or change the rules of that company."),
    errors.ProjectChanged: Problem(409, "project_changed", "Not possible any more",
        "Somebody else has changed the project meanwhile.", own_words=True, advice="Read it again, then change it."),
    errors.ChangeRefused: Problem(409, "stale", "Not possible any more",
        "Somebody else has changed this meanwhile, so that this change does not fit any more.",
        own_words=True, advice="Compare it with `current`. If you still want the change, send it for that version."),
    errors.TicketMoved: Problem(409, "ticket_moved", "Moved",
        "The ticket has another key now.", own_words=True, advice="Use the key in `current`."),
    errors.TicketVoided: Problem(409, "ticket_void", "Not possible any more",
        "The ticket was withdrawn, and cannot be changed any more.", own_words=True, advice="File another ticket."),
    errors.NoDraft: Problem(409, "no_draft", "No draft",
        "The order has no draft of an invoice.", own_words=True, advice="Draft the invoice, then issue it."),
    errors.OrderInvoiced: Problem(409, "order_invoiced", "Invoiced already",
        "The order has an invoice already.", own_words=True, advice="Void that invoice before you make another."),
}
# fmt: on


def listed() -> list[Problem]:
    """What each code means, by its status."""
    codes = {row.code: row for row in PROBLEMS.values()}
    return sorted(codes.values(), key=lambda row: (row.status, row.code))


def explain(error: Exception, where: str) -> Problem:
    """What an error means for its reader; see `sequences.rest.problems.problem_of`."""
    return problem_of(error, where, PROBLEMS)
