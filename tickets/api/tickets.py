"""The views of tickets: validate, call, serialize, respond. Errors are answered in `exceptions`."""

from functools import cache, partial
from typing import Any

from django.http import StreamingHttpResponse
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer, extend_schema
from rest_framework.fields import CharField
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from sequences.exceptions import SequenceError
from sequences.rest.idempotency import replay_headers
from tickets import bulk, moves, selectors, services, validators
from tickets.access import checks
from tickets.access.actions import Action
from tickets.accounts.sign_in import author
from tickets.api import serializers as shapes
from tickets.api.bodies import CHANGE_PARSERS
from tickets.api.exceptions import as_problem
from tickets.api.requests import (
    REPEATABLE,
    Query,
    TicketPageQuery,
    TicketsQuery,
    asked,
    key_of,
    page_of,
    page_response,
    sent,
)
from tickets.api.versions import IF_MATCH, expected_version, tagged
from tickets.api.views import ProjectView
from tickets.exceptions import TicketsError
from tickets.lists.export import export_tickets
from tickets.lists.filters import TicketFilter
from tickets.types import Order, Ticket, TicketKey, TicketStored

TICKET_PAGE = page_of(
    shapes.TicketSerializer, looked_to=CharField(allow_null=True, help_text="Null at the end of the list.")
)
BULK = PolymorphicProxySerializer(
    "NewTickets", [shapes.NewTicketsTogether, shapes.NewTicketsEach], resource_type_field_name=None
)
MOVED = OpenApiResponse(description="The ticket has moved: `Location` and `current` say to which key.")


def ticket_query(request: Request, shape: type[Query]) -> dict[str, Any]:
    """The arguments of a list of tickets: its order and its filter, and its page if the shape has one."""
    query = asked(request, shape)
    where = {name: query.pop(name) for name in [*query] if name in validators.FILTER}
    return {**query, "order": Order(query["order"]), "where": TicketFilter.of(where)}


def placed(request: Request, stored: TicketStored, *, status: int) -> Response:
    """The answer with a ticket under its new number."""
    response = stored_response(request, stored, status=status)
    before, after = _around_key(get_script_prefix())
    response["Location"] = request.build_absolute_uri(f"{before}{stored.ticket.key}{after}")
    return response


@cache
def _around_key(script_prefix: str) -> tuple[str, str]:
    """What stands before and after the key in the address of a ticket. To ask Django for each takes far longer."""
    before, _, after = reverse("api:ticket", args=["AA-1"]).rpartition("AA-1")
    return before, after


def stored_response(request: Request, stored: TicketStored, **options: Any) -> Response:
    """The answer with a ticket that this request, or one that it repeats, has stored."""
    checks.require_in_sight(request.user, stored)
    return ticket_response(stored.ticket, headers=replay_headers(stored.replayed), **options)


def ticket_response(ticket: Ticket, **options: Any) -> Response:
    """The answer with a ticket and its ETag."""
    return tagged(shapes.TicketSerializer.shown(ticket), ticket.version, **options)


class TicketList(ProjectView):
    """The tickets of a project."""

    needs = {"GET": Action.READ, "POST": Action.FILE}

    @extend_schema("projects_tickets_list", parameters=[TicketPageQuery], responses=TICKET_PAGE)
    def get(self, request: Request, key: str) -> Response:
        """One page of tickets that meet all filters. Void and moved tickets keep their places.

        With filters, a page looks at up to 1,000 tickets: `looked_to` says how far, and `next` goes on from there. So a
        page may have few tickets, or none, although others follow. Newest first, a list with `created_from` ends where
        all older tickets were filed earlier; oldest first, it begins there.

        It costs one query, and with filters at most 8. To find where `created_from` begins, oldest first, costs one
        more for each doubling of the number of tickets.
        """
        page = checks.in_sight(selectors.list_tickets(key, **ticket_query(request, TicketPageQuery)), request.user)
        response = page_response(request, page, shapes.TicketSerializer)
        response.data["looked_to"] = str(page.looked_to) if page.looked_to else None
        return response

    @extend_schema(parameters=REPEATABLE, request=shapes.NewTicket, responses={201: shapes.TicketSerializer})
    def post(self, request: Request, key: str) -> Response:
        """File a ticket under the next number of the project. `Location` is its address."""
        content = sent(request, shapes.NewTicket)
        created = services.create_ticket(key, **content, reporter=author(request), idempotency_token=key_of(request))
        return placed(request, created, status=201)


class AsSent(DefaultContentNegotiation):
    """Answers whatever the caller accepts: what is there has one form, and errors are JSON."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """The first renderer."""
        return renderers[0], renderers[0].media_type


class TicketExport(ProjectView):
    """The tickets of a project, as a file."""

    needs = {"GET": Action.READ}
    content_negotiation_class = AsSent

    @extend_schema(parameters=[TicketsQuery], responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, key: str) -> StreamingHttpResponse:
        """All tickets of the list with these filters as CSV, page by page.

        It is UTF-8 with a byte order mark, and each cell is in quotes. A cell that a spreadsheet would take for a
        formula (it begins with `=`, `+`, `-`, `@`, a tab or a line end) has an apostrophe before it.

        If the store stops answering, or the file takes more than 10 minutes, the last line begins with INCOMPLETE, and
        the connection breaks.
        """
        shown = partial(checks.without_hidden, user=request.user)
        parts = export_tickets(key, shown=shown, **ticket_query(request, TicketsQuery))
        name = {"Content-Disposition": f'attachment; filename="{key}.csv"'}
        return StreamingHttpResponse(parts, content_type="text/csv; charset=utf-8", headers=name)


class TicketBulk(ProjectView):
    """Many tickets of a project."""

    needs = {"POST": Action.FILE}

    @extend_schema(
        parameters=REPEATABLE, request=BULK, responses={200: shapes.BulkSerializer, 201: shapes.BulkSerializer}
    )
    def post(self, request: Request, key: str) -> Response:
        """File up to 99 tickets all or nothing, under numbers that follow each other; or up to 500 each on its own.

        All or nothing is answered with status 201, or with the error why nothing was filed; each on its own with 200,
        whatever became of them. The answer has the status of each ticket, and the ticket or the problem.

        All or nothing, `Idempotency-Key` names all tickets together. Otherwise it names each ticket with its place in
        the list: mend a wrong one and send all again, each in its place, to file only what is not filed yet.

        It costs at most 1 query, and 2 write units for each ticket. A key costs 2 more for all together, or 2 for each
        on its own.
        """
        wanted = sent(request, shapes.NewTickets)
        file = bulk.file_together if wanted["mode"] == "all_or_nothing" else bulk.file_each
        filed = file(key, wanted["tickets"], reporter=author(request), idempotency_token=key_of(request))
        replayed = all(isinstance(one, TicketStored) and one.replayed for one in filed)
        content = {"results": [result(one, request) for one in filed]}
        status = 201 if wanted["mode"] == "all_or_nothing" else 200
        return Response(content, status=status, headers=replay_headers(replayed))


def result(filed: TicketStored | TicketsError | SequenceError, request: Request) -> dict[str, Any]:
    """What became of one of many tickets: a status, and the ticket or the problem."""
    if isinstance(filed, TicketStored):
        filed = checks.out_of_sight(request.user, filed) or filed
    if isinstance(filed, TicketStored):
        return {"status": 201, "ticket": shapes.TicketSerializer.shown(filed.ticket), "replayed": filed.replayed}
    problem = as_problem(filed, request)
    return {"status": problem["status"], "problem": problem}


class TicketDetail(ProjectView):
    """One ticket."""

    needs = {"GET": Action.READ, "PATCH": Action.CHANGE_OWN, "DELETE": Action.VOID_OWN}
    parser_classes = CHANGE_PARSERS

    @extend_schema(responses={200: shapes.TicketSerializer, 308: MOVED})
    def get(self, request: Request, key: TicketKey) -> Response:
        """The ticket. A void ticket says by whom it was withdrawn, when and why. It costs at most three reads."""
        return ticket_response(selectors.get_ticket(key))

    @extend_schema(parameters=[IF_MATCH, *REPEATABLE], request=shapes.TicketChange, responses=shapes.TicketSerializer)
    def patch(self, request: Request, key: TicketKey) -> Response:
        """Change some fields of the ticket. A stale version is refused with 409, a stale ETag with 412.

        It costs 2 reads and 4 write units, and 2 more with a key.
        """
        changes, signed = sent(request, shapes.TicketChange), signature(request)
        own = checks.only_by(request.user, Action.CHANGE_OWN, key)
        with expected_version(request, changes, of=key) as version:
            changes.pop("version", None)
            changed = services.update_ticket(key, version=version, changes=changes, only_by=own, **signed)
        return stored_response(request, changed)

    @extend_schema(
        parameters=[IF_MATCH, *REPEATABLE], request=shapes.TicketVoiding, responses={200: shapes.TicketSerializer}
    )
    def delete(self, request: Request, key: TicketKey) -> Response:
        """Void the ticket: its content is taken out, and its number stays taken for ever.

        The content can be restored until `sealed_until`, 30 days later; then DynamoDB deletes it. The history keeps who
        changed which field, when and why, and the values in it can be read as long as the content. Comments stay: their
        authors withdraw them. A ticket that is void already stays as it is. You can void your own tickets for an hour.

        It costs 2 reads and 6 write units, and 2 more with a key.
        """
        about, signed = sent(request, shapes.TicketVoiding), signature(request)
        limits = checks.limits_of_void(request.user, key, now=timezone.now())
        with expected_version(request, about, of=key) as version:
            voided = services.void_ticket(key, **{**about, "version": version}, **signed, **limits)
        return stored_response(request, voided)


class TicketRestore(ProjectView):
    """The way of a void ticket back."""

    needs = {"POST": Action.RESTORE}

    @extend_schema(
        parameters=[IF_MATCH, *REPEATABLE], request=shapes.TicketRestoring, responses=shapes.TicketSerializer
    )
    def post(self, request: Request, key: TicketKey) -> Response:
        """Bring the content of the void ticket back, with the status that it had. One that is not void stays as it is.

        A ticket that an operator made void is not restored. It costs 3 reads and 6 write units, and 2 more with a key.
        """
        about, signed = sent(request, shapes.TicketRestoring), signature(request)
        with expected_version(request, about, required=False) as version:
            restored = services.restore_ticket(key, **{**about, "version": version}, **signed)
        return stored_response(request, restored)


def signature(request: Request) -> dict[str, Any]:
    """Who sends a request, and the name that they gave it."""
    return {"by": author(request), "idempotency_token": key_of(request)}


class TicketMoving(ProjectView):
    """The way of one ticket to another project."""

    needs = {"POST": Action.MOVE}

    @extend_schema(parameters=[IF_MATCH, *REPEATABLE], request=shapes.TicketMove, responses=shapes.TicketSerializer)
    def post(self, request: Request, key: TicketKey) -> Response:
        """Move the ticket to the next number of a project. Its former key stays taken, and leads to it for ever.

        Number and redirect are one transaction: of two moves one wins, and no number is lost. The history goes along.
        A ticket that comes back gets a new number. You must be allowed to file tickets in the other project.

        It costs 3 reads and 6 write units. If the ticket has moved before, it costs 2 write units more, and with a key
        a read for each former place.
        """
        wanted, token = sent(request, shapes.TicketMove), key_of(request)
        to = wanted["project"]
        checks.require_target(request.user, to)
        with expected_version(request, wanted, required=False) as version:
            moved = moves.move_ticket(key, to=to, version=version, by=author(request), idempotency_token=token)
        return placed(request, moved, status=200)
