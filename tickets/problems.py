"""What every known error means for the person who reads it: the table of `sequences.rest`, and our own rows.

The rooms only format it: `api.exceptions` as JSON, `middleware` as a page, `forms` beside what was typed.
"""

import logging
from collections.abc import Mapping

from django.db import InterfaceError, OperationalError

from sequences.exceptions import SequenceError
from sequences.rest.problems import INVALID, MISSING, Problem, Remedy, problem_of
from sequences.rest.problems import PROBLEMS as ROWS
from tickets.exceptions import (
    ChangeRefused,
    CommentVoided,
    ContentGone,
    InvalidInput,
    LastOwner,
    NotAllowed,
    NotFound,
    ProjectArchived,
    ProjectChanged,
    ProjectExists,
    StaleTag,
    TicketMoved,
    TicketsError,
    TicketVoided,
    TooManyMembers,
    VersionRequired,
)
from tickets.sales.exceptions import NoDraft, OrderInvoiced, OrderVoided

logger = logging.getLogger(__name__)

ACCOUNTS_AWAY = (OperationalError, InterfaceError)
KNOWN = (SequenceError, TicketsError, *ACCOUNTS_AWAY)

PROBLEMS: Mapping[type[Exception], Problem] = {
    **ROWS,
    **dict.fromkeys(
        ACCOUNTS_AWAY,
        Problem(
            status=503,
            code="accounts_away",
            title="Not at the moment",
            detail="The database with the accounts does not answer.",
            remedy=Remedy.REPEAT,
            retry_after=5,
        ),
    ),
    VersionRequired: Problem(
        status=428,
        code="version_required",
        title="Which version?",
        detail="A change says which version it is based on.",
        own_words=True,
        advice="Read it, and send its ETag in If-Match, or its `version`.",
    ),
    StaleTag: Problem(
        status=412,
        code="stale_tag",
        title="Not possible any more",
        detail="Somebody else has changed this since its ETag was read.",
        own_words=True,
        advice="Compare it with `current`. If you still want the change, send it for that version.",
    ),
    ContentGone: Problem(
        status=409,
        code="content_gone",
        title="Not possible any more",
        detail="The ticket was withdrawn, and its content cannot be restored.",
        own_words=True,
        advice="File another ticket.",
    ),
    CommentVoided: Problem(
        status=409,
        code="comment_void",
        title="Not possible any more",
        detail="The comment was withdrawn, and cannot be changed any more.",
        own_words=True,
        advice="Write another comment.",
    ),
    OrderVoided: Problem(
        status=409,
        code="order_void",
        title="Not possible any more",
        detail="An operator has withdrawn the order.",
        own_words=True,
        advice="Store another order.",
    ),
    TicketsError: Problem(
        status=400, code="not_possible", title="Not possible", detail="This is not possible.", own_words=True
    ),
    InvalidInput: INVALID,
    NotFound: MISSING,
    NotAllowed: Problem(
        status=403,
        code="not_allowed",
        title="Not allowed",
        detail="Your role in the project, or your permissions, do not suffice for this.",
        own_words=True,
        advice="Ask an owner of the project for the role, or an administrator for the permission.",
    ),
    ProjectArchived: Problem(
        status=409,
        code="project_archived",
        title="Archived",
        detail="The project is archived: it can only be read.",
        own_words=True,
        advice="Ask an owner to take it out of the archive.",
    ),
    LastOwner: Problem(
        status=409,
        code="last_owner",
        title="Not possible",
        detail="A project needs an owner.",
        own_words=True,
        advice="Make somebody else an owner first.",
    ),
    TooManyMembers: Problem(
        status=409,
        code="too_many_members",
        title="Full",
        detail="A project has at most 1,000 members.",
        own_words=True,
        advice="Remove somebody first, or open the project to everybody.",
    ),
    ProjectExists: Problem(
        status=409,
        code="project_exists",
        title="Taken already",
        detail="The key names a project, perhaps one that has another key now.",
        own_words=True,
        about="key",
        advice="Choose another key.",
    ),
    ProjectChanged: Problem(
        status=409,
        code="project_changed",
        title="Not possible any more",
        detail="Somebody else has changed the project meanwhile.",
        own_words=True,
        advice="Read it again, then change it.",
    ),
    ChangeRefused: Problem(
        status=409,
        code="stale",
        title="Not possible any more",
        detail="Somebody else has changed this meanwhile, so that this change does not fit any more.",
        own_words=True,
        advice="Compare it with `current`. If you still want the change, send it for that version.",
    ),
    TicketMoved: Problem(
        status=409,
        code="ticket_moved",
        title="Moved",
        detail="The ticket has another key now.",
        own_words=True,
        advice="Use the key in `current`.",
    ),
    TicketVoided: Problem(
        status=409,
        code="ticket_void",
        title="Not possible any more",
        detail="The ticket was withdrawn, and cannot be changed any more.",
        own_words=True,
        advice="File another ticket.",
    ),
    NoDraft: Problem(
        status=409,
        code="no_draft",
        title="No draft",
        detail="The order has no draft of an invoice.",
        own_words=True,
        advice="Draft the invoice, then issue it.",
    ),
    OrderInvoiced: Problem(
        status=409,
        code="order_invoiced",
        title="Invoiced already",
        detail="The order has an invoice already.",
        own_words=True,
        advice="Void that invoice before you make another.",
    ),
}


def explain(error: Exception, where: str) -> Problem:
    """What an error means for its reader; see `sequences.rest.problems.problem_of`."""
    if isinstance(error, ACCOUNTS_AWAY):
        logger.error("%s: the database with the accounts does not answer: %s", where, error)
    return problem_of(error, where, PROBLEMS)
