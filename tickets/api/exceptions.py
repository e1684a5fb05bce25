"""The only room that knows which error is which HTTP status. Every answer is JSON.

400 for fields that are wrong, `{field: [messages]}`; for all others `{"detail": message}`, with `current`
where a ticket is not as its changer thought, and `outcome_unknown` where the store did not answer.
"""

import logging
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import exception_handler as default_handler

from sequences.exceptions import (
    IdempotencyMismatch,
    InvalidScope,
    OperationNotSupported,
    ScopeNotFound,
    SequenceError,
    SequenceExhausted,
    SequenceWentBack,
    StorageRefused,
)
from tickets.api.serializers import TicketSerializer
from tickets.exceptions import ChangeRefused, InvalidInput, NotFound, ProjectExists, StaleVersion

logger = logging.getLogger(__name__)

RETRY_SECONDS = 5
NOT_REACHED = (
    "The store cannot be reached just now. Send the request again in a moment; if it has an Idempotency-Key, "
    "with the same one it is carried out once."
)
REFUSED = "The store refuses this, and will again: an administrator finds the reason in the log."
USED_BEFORE = (
    "This Idempotency-Key was used before, for a request with other content. "
    "Use a new key for a new request, and repeat a request unchanged."
)
TOO_DEEP = "JSON parse error - the document is nested too deeply."
MESSAGES = {IdempotencyMismatch: USED_BEFORE, RecursionError: TOO_DEEP}
# Where a caller knows a field by another name than the services do.
NAMES = {NON_FIELD_ERRORS: api_settings.NON_FIELD_ERRORS_KEY, "idempotency_token": "Idempotency-Key"}

# The first class that fits decides; any other error of the store is 503.
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidInput, 400),
    (InvalidScope, 400),
    (RecursionError, 400),
    (NotFound, 404),
    (ScopeNotFound, 404),
    (ProjectExists, 409),
    (ChangeRefused, 409),
    (OperationNotSupported, 409),
    (SequenceExhausted, 409),
    (SequenceWentBack, 409),
    (IdempotencyMismatch, 422),
)


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer to an error that a view of the API raised; None for a fault of ours."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), None)
    if status is not None:
        return Response(_body(error), status=status)
    if isinstance(error, SequenceError):
        logger.error("%s could not be served: %s", context["request"].path, error)
        return _unavailable(error)
    return default_handler(error, context)


def _body(error: Exception) -> dict[str, Any]:
    body: dict[str, Any] = {"detail": MESSAGES.get(type(error), str(error))}
    match error:
        case InvalidInput():
            body = {NAMES.get(field, field): messages for field, messages in error.message_dict.items()}
        case InvalidScope():
            body = {"scope": [str(error)]}
        case ChangeRefused():
            body["current"] = TicketSerializer(error.current).data
            if isinstance(error, StaleVersion) and error.outcome_unknown:
                body["outcome_unknown"] = True
    return body


def _unavailable(error: Exception) -> Response:
    detail = REFUSED if isinstance(error, StorageRefused) else NOT_REACHED
    body = {"detail": detail, "outcome_unknown": getattr(error, "outcome_unknown", False)}
    return Response(body, status=503, headers={"Retry-After": str(RETRY_SECONDS)})
