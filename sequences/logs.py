"""Lines of the log as JSON, for programs that collect them: one object a line, with the fields that are named here.

    LOGGING = {"formatters": {"json": {"()": "sequences.logs.JSONFormatter", "fields": ["tenant"]}}, ...}

Whatever else a record has stays out of it: other libraries put whole requests there, with their queries.

Alarms go by the fields `event` and `error`: their values never change, while the words of a line may.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

__all__ = ["EVENTS", "FIELDS", "JSONFormatter"]

EVENTS: Mapping[str, str] = {
    "call_failed": "A call ended with an error that its operator should know: `error` is the name of its class.",
    "nearly_used_up": "A scope has used 90 % of its values or more: once for each further percent and process.",
    "request_failed": "A request was answered with the problem `code`, because of an error that no line had before.",
}
"""What the field `event` says."""
ABOUT_FIELDS: Mapping[str, str] = {
    "event": "What happened: one of the events, whose names never change.",
    "error": "The name of the error's class in `sequences.exceptions`.",
    "code": "The code of the problem that `sequences.rest` answered with.",
    "request_id": "The id of the caller's request, also where another caller's write has stored its item.",
    "sequence": "The name of the sequence.",
    "scope": "The scope, if the sequence has scopes.",
    "period": "The period, if the sequence has a PERIOD.",
    "value": "The number that was given.",
    "attempts": "How many writes were sent with the item.",
    "replayed": "Whether a repeat got the value of an earlier request.",
    "write_units": "The item's share of the write units that DynamoDB reported.",
    "read_units": "The item's share of the read units that DynamoDB reported.",
    "milliseconds": "How long the whole call took.",
    "group_size": "How many items the same write stored; 0 for a repeat.",
}
FIELDS = (*ABOUT_FIELDS,)
"""What the lines of `sequences` have beside their text, and the id of the request that `sequences.rest` gives them."""


class JSONFormatter(logging.Formatter):
    """Writes time (UTC), level, logger and message, then FIELDS and the `fields` of the application, if it has them.

    The other arguments are those that Python's configuration of logs gives to any formatter. They change no line.
    """

    def __init__(
        self,
        fmt: str | None = None,
        datefmt: str | None = None,
        style: Literal["%", "{", "$"] = "%",
        validate: bool = True,
        *,
        fields: Iterable[str] = (),
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(fmt, datefmt, style, validate, defaults=defaults)
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
