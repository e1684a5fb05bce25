"""Lines of the log as JSON, for programs that collect them: one object a line, with the fields that are named here.

    LOGGING = {"formatters": {"json": {"()": "sequences.logs.JSONFormatter"}}, ...}

Whatever else a record has stays out of it: other libraries put whole requests there, with their queries.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

__all__ = ["FIELDS", "JSONFormatter"]

FIELDS = (
    *("request_id", "sequence", "scope", "period", "value", "attempts", "replayed", "write_units", "read_units"),
    *("milliseconds", "group_size"),
)
"""What the lines of `sequences` have beside their text, and the id of the request that `sequences.rest` gives them."""


class JSONFormatter(logging.Formatter):
    """Writes time (UTC), level, logger and message, then FIELDS and the `fields` of the application, if it has them."""

    def __init__(self, fields: Iterable[str] = ()) -> None:
        super().__init__()
        self.fields = (*FIELDS, *fields)

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: vars(record)[name] for name in self.fields if name in vars(record)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
