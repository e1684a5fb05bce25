"""How the lines of the log are written: as text for people, or as JSON for programs, which is the way in production."""

import logging
from typing import Any

from project import environment
from sequences.logs import JSONFormatter

# No line says these, so that nothing need look them up (`Optimization` in the howto of logging).
logging.logMultiprocessing = logging.logProcesses = logging.logThreads = False
logging._srcfile = None  # where in the code it was written

ACCESS = ["method", "path", "status", "bytes", "user"]
"""The fields of the access log, beside the milliseconds."""

FORMATTERS: dict[str, dict[str, Any]] = {
    "text": {"format": "{asctime} {levelname} {name} [{request_id}]: {message}", "style": "{"},
    "json": {"()": JSONFormatter, "fields": ACCESS},
}


def is_fault(record: logging.LogRecord) -> bool:
    """Whether a line of `django.request` says what no other does.

    Each answer has a line in the access log, and each known error one with its reason.
    """
    if not record.exc_info:
        return False
    from tickets.problems import KNOWN  # the settings must be complete before

    return not isinstance(record.exc_info[1], KNOWN)


def formatter_of_others() -> logging.Formatter | None:
    """The formatter for programs with a format of their own, as gunicorn; None where text is read."""
    return JSONFormatter(fields=ACCESS) if environment.log_format() == "json" else None
