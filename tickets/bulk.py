"""The filing of many tickets by one request: all of them or none, or each on its own.

What `services` says about errors, idempotency tokens and persons holds here, too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from sequences import put_next_each, put_next_together
from sequences.exceptions import ScopeNotFound, SequenceError
from sequences.types import Allocation
from tickets import selectors, store, validators
from tickets.exceptions import InvalidInput, ProjectNotFound, TicketsError, WrongPart
from tickets.repeats import stored_already, token_of
from tickets.services import SEQUENCE, filed, in_project, new_fields
from tickets.tables import Row, to_row
from tickets.types import TicketStored

MOST_TOGETHER = 99  # and the marker of their token: a transaction has 100 rows
MOST_EACH = 500

Content = Mapping[str, Any]
Rows = Mapping[int, Row]


def file_together(
    project: str, tickets: Sequence[Content], *, reporter: str, idempotency_token: str | None = None
) -> list[TicketStored]:
    """File 1 to 99 tickets under numbers that follow each other, or none of them.

    Each has the fields that `create_ticket` takes. Raises ProjectNotFound, InvalidInput about each wrong ticket, and
    IdempotencyMismatch if the token was used for other tickets. One transaction: 2 write units for each ticket and 2
    for the token, if each row has at most 1 KB. A repeat with the same token files nothing; it reads all tickets by one
    request, and those that have moved since by two more each.
    """
    project = validators.project_key(project)
    _check_count(tickets, MOST_TOGETHER)
    fields = _all_cleaned(tickets, reporter)
    token = token_of(reporter, idempotency_token)
    rows = [to_row(one) for one in fields]

    def put(partition: str) -> list[TicketStored]:
        allocations = put_next_together(SEQUENCE, rows, scope=partition, idempotency_token=token)
        now = _rows_now(partition, allocations)
        return [filed(partition, put, one, now.get(put.value)) for put, one in zip(allocations, fields, strict=True)]

    return in_project(project, put)


def file_each(
    project: str, tickets: Sequence[Content], *, reporter: str, idempotency_token: str | None = None
) -> list[TicketStored | TicketsError | SequenceError]:
    """File 1 to 500 tickets, each on its own: for each the ticket, or the error why it is not filed.

    A repeat with the same token files what is not filed yet. In it the tickets must have the same places: each is
    known by the token and its place. Raises ProjectNotFound, and InvalidInput for a wrong number of tickets. Up to 50
    tickets with a token share a transaction, up to 100 without: 2 write units for each ticket and 2 for its token. A
    repeat reads what was filed before by one request for each 100 tickets.
    """
    project = validators.project_key(project)
    _check_count(tickets, MOST_EACH)
    cleaned = [_cleaned(ticket, reporter) for ticket in tickets]
    good = {place: one for place, one in enumerate(cleaned) if not isinstance(one, InvalidInput)}
    rows = [to_row(one) for one in good.values()]
    tokens = [token_of(reporter, idempotency_token, place) for place in good]

    def put(partition: str) -> dict[int, TicketStored | SequenceError | TicketsError]:
        answers = put_next_each(SEQUENCE, rows, scope=partition, idempotency_tokens=tokens)
        if answers and all(isinstance(answer, ScopeNotFound) for answer in answers):
            raise ProjectNotFound(project)
        answer = partial(_answer, partition, _rows_or_error(partition, answers))
        return {place: answer(one, good[place]) for place, one in zip(good, answers, strict=True)}

    if not good:
        selectors.get_project(project)
    stored = in_project(project, put) if good else {}
    return [one if isinstance(one, InvalidInput) else stored[place] for place, one in enumerate(cleaned)]


def _answer(
    partition: str, rows: Rows | SequenceError, stored: Allocation | SequenceError, fields: Content
) -> TicketStored | SequenceError | TicketsError:
    if isinstance(stored, SequenceError):
        return stored
    if isinstance(rows, SequenceError):
        return rows if stored.replayed else filed(partition, stored, fields)
    try:
        return filed(partition, stored, fields, rows.get(stored.value))
    except (SequenceError, TicketsError) as error:  # from the read of what was filed before
        return error


def _rows_now(partition: str, stored: Iterable[Allocation | SequenceError]) -> Rows:
    """The rows of the tickets that were filed before, by their numbers."""
    numbers = [one.value for one in stored if isinstance(one, Allocation) and one.replayed]
    with stored_already():
        return store.tickets.find_rows(partition, numbers)


def _rows_or_error(partition: str, stored: Iterable[Allocation | SequenceError]) -> Rows | SequenceError:
    try:
        return _rows_now(partition, stored)
    except SequenceError as error:
        return error


def _check_count(tickets: object, most: int) -> None:
    """Raise InvalidInput about `tickets` for anything but a list of 1 to `most` entries."""
    if isinstance(tickets, str | Mapping) or not isinstance(tickets, Sequence):
        raise InvalidInput({"tickets": "This must be a list of tickets."})
    if not 1 <= len(tickets) <= most:
        raise InvalidInput({"tickets": f"Send 1 to {most} tickets; these are {len(tickets)}."})


def _cleaned(ticket: object, reporter: str) -> dict[str, Any] | InvalidInput:
    """The fields of a new ticket, or what is wrong with them."""
    if not isinstance(ticket, Mapping):
        return InvalidInput({NON_FIELD_ERRORS: "This must be an object with the fields of a ticket."})
    content = {validators.readable(name): value for name, value in ticket.items()}
    try:
        return new_fields(content, reporter)
    except InvalidInput as wrong:
        return wrong


def _all_cleaned(tickets: Sequence[Content], reporter: str) -> list[dict[str, Any]]:
    """The fields of all tickets. Raises InvalidInput about `tickets`, which names the place of each wrong field."""
    good, complaints = list[dict[str, Any]](), list[ValidationError]()
    for place, one in enumerate(_cleaned(ticket, reporter) for ticket in tickets):
        if isinstance(one, InvalidInput):
            complaints += _placed(place, one)
        else:
            good.append(one)
    if complaints:
        raise InvalidInput({"tickets": complaints})
    return good


def _placed(place: int, wrong: InvalidInput) -> Iterator[WrongPart]:
    for field, messages in wrong.message_dict.items():
        about = [] if field == NON_FIELD_ERRORS else [field]
        for message in messages:
            yield WrongPart(f"{', '.join([f'Ticket {place + 1}', *about])}: {message}", place, *about)
