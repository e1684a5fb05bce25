"""The views of comments and histories: validate, call, serialize, respond. What all views share is in `tickets.api`."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from sequences.rest.idempotency import replay_headers
from tickets.access.actions import Action
from tickets.access.checks import history_in_sight, require_in_sight
from tickets.accounts.sign_in import author
from tickets.api.bodies import CHANGE_PARSERS
from tickets.api.requests import REPEATABLE, PageQuery, asked, key_of, page_of, page_response, sent
from tickets.api.versions import IF_MATCH, expected_version, tagged
from tickets.api.views import ProjectView
from tickets.selectors import get_ticket
from tickets.timeline import selectors, services
from tickets.timeline.api import serializers as shapes
from tickets.timeline.types import Event
from tickets.types import TicketKey


class CommentList(ProjectView):
    """The comments of a ticket."""

    needs = {"GET": Action.READ, "POST": Action.COMMENT}

    @extend_schema("tickets_comments_list", parameters=[PageQuery], responses=page_of(shapes.CommentSerializer))
    def get(self, request: Request, key: TicketKey) -> Response:
        """One page of comments, the oldest first. Those that were withdrawn keep their places."""
        page = selectors.list_comments(get_ticket(key), **asked(request))
        return page_response(request, page, shapes.CommentSerializer)

    @extend_schema(parameters=REPEATABLE, request=shapes.NewComment, responses={201: shapes.CommentSerializer})
    def post(self, request: Request, key: TicketKey) -> Response:
        """Comment on the ticket, under the next number of its timeline. A void ticket takes no comment.

        The version of the ticket stays. It costs 2 reads and 4 write units, and 2 more with a key.
        """
        content, token = sent(request, shapes.NewComment), key_of(request)
        made = services.add_comment(key, **content, by=author(request), idempotency_token=token)
        require_in_sight(request.user, made)
        location = reverse("api:comment", [made.ticket.key, made.comment.number], request=request)
        headers = {"Location": location, **replay_headers(made.replayed)}
        return comment_response(made.comment, status=201, headers=headers)


class CommentDetail(ProjectView):
    """One comment."""

    needs = {"GET": Action.READ, "PATCH": Action.COMMENT, "DELETE": Action.COMMENT}
    parser_classes = CHANGE_PARSERS

    @extend_schema(responses=shapes.CommentSerializer)
    def get(self, request: Request, key: TicketKey, number: int) -> Response:
        """The comment."""
        return comment_response(selectors.get_comment(get_ticket(key), number))

    @extend_schema(parameters=[IF_MATCH], request=shapes.CommentChange, responses=shapes.CommentSerializer)
    def patch(self, request: Request, key: TicketKey, number: int) -> Response:
        """Change the text of the comment, as its author. A stale version is refused with 409, a stale ETag with 412.

        It costs 1 read and 1 write unit.
        """
        change = sent(request, shapes.CommentChange)
        with expected_version(request, change, of=key) as version:
            text, by = change["text"], author(request)
            comment = services.edit_comment(get_ticket(key), number, text=text, by=by, version=version)
        return comment_response(comment)

    @extend_schema(parameters=[IF_MATCH], request=shapes.CommentWithdrawal, responses={200: shapes.CommentSerializer})
    def delete(self, request: Request, key: TicketKey, number: int) -> Response:
        """Withdraw the comment, as its author: its text is removed, and its number stays.

        It costs 1 read and 1 write unit.
        """
        with expected_version(request, sent(request, shapes.CommentWithdrawal), of=key) as version:
            comment = services.withdraw_comment(get_ticket(key), number, by=author(request), version=version)
        return comment_response(comment)


class History(ProjectView):
    """The timeline of a ticket."""

    needs = {"GET": Action.READ}

    @extend_schema("tickets_history_list", parameters=[shapes.HistoryQuery], responses=page_of(shapes.EventSerializer))
    def get(self, request: Request, key: TicketKey) -> Response:
        """One page of the comments and changes, the oldest first, or the newest. They are numbered without gaps.

        A page looks at up to 1,000 of them, so that it may be short although `next` leads on. `skipped` stands for a
        number that an operator has skipped. It costs 1 read and 1 query.
        """
        wanted = asked(request, shapes.HistoryQuery)
        newest_first = wanted.pop("order") == "newest"
        page = selectors.list_events(get_ticket(key), **wanted, newest_first=newest_first)
        return page_response(request, history_in_sight(page, request.user), shapes.EventSerializer)


def comment_response(comment: Event, **options: Any) -> Response:
    """The answer with a comment and its ETag."""
    return tagged(shapes.CommentSerializer.shown(comment), comment.version, **options)
