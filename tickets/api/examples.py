"""Examples in the document of the API: of the shapes of its bodies, and of the parameters of its addresses."""

from collections.abc import Callable
from typing import Any

MOMENT = "2026-03-05T12:30:00Z"
VOID = {"by": "ana", "at": MOMENT, "reason": "Filed twice"}
NEW_TICKET = {
    "title": "Printer on fire",
    "description": "",
    "status": "open",
    "assignee": "ben",
    "labels": ["hardware"],
}
TICKET = {
    "key": "ABC-42",
    "project": "ABC",
    "number": 42,
    **NEW_TICKET,
    "reporter": "ana",
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "version": 3,
    "updated_by": "ben",
    "comments": 1,
}
COMMENT = {"number": 2, "by": "ana", "at": MOMENT, "text": "It is out.", "version": 1, "edited_at": None, "void": None}
SAID = {**COMMENT, "kind": "comment", "changes": {}}
EVENT = {**COMMENT, "number": 1, "text": "", "kind": "change", "changes": {"status": ["open", "in_progress"]}}
PROJECT = {"key": "ABC", "name": "Alphabet", "description": "", "open": "read"}
STORED_PROJECT = {**PROJECT, "archived": False, "version": 1}
MEMBER = {"user": "ben", "role": "member"}
LINE = {"text": "Ink", "quantity": 2, "price": "4.50"}
NEW_ORDER = {"customer": "Ann's Books", "lines": [LINE]}
ORDER = {
    "number": 1001,
    "text": "ORD-1001",
    **NEW_ORDER,
    "total": "9.00",
    "currency": "EUR",
    "state": "draft",
    "draft": {"by": "ana", "at": MOMENT},
    "invoice": None,
    "voided": [],
    "created_by": "ana",
    "created_at": MOMENT,
    "version": 2,
    "void": None,
}
COMPANY = {"key": "NORD", "name": "Nordic Branch", "format": "INV-{scope}-{period}-{value:06d}", "start": 1}
INVOICE = {
    "text": "INV-2026-000001-2",
    "year": 2026,
    "number": 1,
    "company": "",
    "date": "2026-03-05",
    "order": 1001,
    **NEW_ORDER,
    "total": "9.00",
    "currency": "EUR",
    "issued_by": "ana",
    "digest": "5f0c1d7e2b9a48366c1f0e9d8b7a65544332211000fedcba9876543210abcdef",
    "issued_at": MOMENT,
    "void": None,
}
API_TOKEN = {
    "id": 7,
    "name": "CI",
    "created_at": MOMENT,
    "expires_at": None,
    "last_used_at": MOMENT,
    "read_only": True,
    "project": "ABC",
}
SEQUENCE = {
    "name": "orders",
    "strategy": "AtomicCounter",
    "gapless": False,
    "supports_reserve": True,
    "needs_transactions": False,
    "ordered_across_processes": True,
    "exactly_once": False,
    "takes_own_keys": True,
    "writes_together": False,
    "scope": None,
    "last_value": 1001,
}
LAST_PAGE = {"next": None, "prev": None}

OF_SHAPES: dict[str, Any] = {
    "ApiToken": API_TOKEN,
    "ApiTokenPage": {"results": [API_TOKEN], **LAST_PAGE},
    "Bulk": {"results": [{"status": 201, "ticket": TICKET, "replayed": False}]},
    "Comment": COMMENT,
    "CommentChange": {"text": "It is out, and wet.", "version": 1},
    "CommentPage": {"results": [COMMENT], **LAST_PAGE},
    "CommentWithdrawal": {"version": 1},
    "Company": COMPANY,
    "CompanyPage": {"results": [COMPANY], **LAST_PAGE},
    "Credentials": {"username": "ana", "password": "correct horse"},
    "EventPage": {"results": [EVENT, SAID], **LAST_PAGE},
    "GivenToken": {"token": "tkt_k2qZ7mX4"},
    "Invoice": INVOICE,
    "InvoicePage": {
        "results": [INVOICE],
        **LAST_PAGE,
        "numbers": {"newest": 1, "oldest": 1, "missing": [], "skipped": []},
    },
    "InvoiceVoiding": {"reason": "Wrong customer"},
    "Issuing": {"date": "2026-03-05", "version": 2},
    "MadeToken": {**API_TOKEN, "token": "tkt_k2qZ7mX4"},
    "Member": MEMBER,
    "MemberPage": {"results": [MEMBER], **LAST_PAGE},
    "MemberRole": {"role": "member"},
    "NewApiToken": {"password": "correct horse", "name": "CI", "days": 90, "read_only": True, "project": "ABC"},
    "NewCompany": COMPANY,
    "NewComment": {"text": "It is out."},
    "NewOrder": NEW_ORDER,
    "NewProject": PROJECT,
    "NewTicket": NEW_TICKET,
    "NewTicketsEach": {"mode": "each", "tickets": [NEW_TICKET]},
    "NewTicketsTogether": {"mode": "all_or_nothing", "tickets": [NEW_TICKET]},
    "Order": ORDER,
    "OrderPage": {"results": [ORDER], **LAST_PAGE},
    "Project": STORED_PROJECT,
    "ProjectArchiving": {"version": 1},
    "ProjectChange": {"name": "Alphabet and more", "version": 1},
    "ProjectPage": {"results": [STORED_PROJECT], **LAST_PAGE},
    "Sequence": SEQUENCE,
    "SequencePage": {"results": [SEQUENCE], **LAST_PAGE},
    "TakeValues": {"count": 3},
    "Ticket": TICKET,
    "TicketChange": {"status": "done", "version": 3},
    "TicketMove": {"project": "XYZ"},
    "TicketPage": {"results": [TICKET], **LAST_PAGE, "looked_to": None},
    "TicketRestoring": {"reason": "Not a double"},
    "TicketVoiding": {"reason": "Filed twice", "version": 3},
    "Values": {"values": [1002, 1003, 1004], "texts": ["ORD-1002", "ORD-1003", "ORD-1004"]},
}

OF_PARAMETERS: dict[str, Callable[[str], Any]] = {
    "key": lambda path: "ABC-42" if "/tickets/{key}" in path else "ABC",
    "number": lambda path: {"orders": 1001, "auth": 7}.get(path.split("/")[2], 2),
    "user": lambda path: "ben",
    "text": lambda path: "INV-2026-000001-2" if "{text}" in path else "fire",
    "name": lambda path: "orders",
    "company": lambda path: "NORD",
    "Idempotency-Key": lambda path: "2c1e7f6e-9d3b-4d57-8f57-0c6f8f1f5b0a",
    "If-Match": lambda path: '"3-1a2b3c4d"',
    "If-None-Match": lambda path: '"3-1a2b3c4d"',
}
"""By the name of the parameter, for the path of an operation."""
