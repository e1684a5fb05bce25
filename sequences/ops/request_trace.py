"""What became of one request, by its idempotency token."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from .. import dynamodb
from ..dynamodb import expressions
from ..dynamodb.expressions import MARKER_EXPIRY
from ..rows.layout import signed_void
from ..strategies import Strategy
from ..types import Dated, Scope

REQUESTS_OF_A_REQUEST = 2


def trace(strategy: Strategy, scope: str | None, token: str) -> dict[str, Any]:
    """What became of a request of a scope, in any period: its marker, and the item under the marker's value.

    `value` is None if nothing is known. `stored_at` is when the marker was stored, as far as its expiry tells.
    `is_expired`: a repeat would be a new request by now. `item` says what is under the value now.
    Cost: at most REQUESTS_OF_A_REQUEST reads. Raises SequenceUnavailable and StorageRefused.
    """
    send = strategy.deadline().read
    answer = send("get_item", expressions.read_item(strategy.markers.schema.table, strategy.markers.key(scope, token)))
    marker = dynamodb.unmarshal(answer.get("Item", {}))
    value, expires = marker.get("value"), marker.get(MARKER_EXPIRY)
    if not isinstance(value, int) or not isinstance(expires, int) or marker.get("token") != token:
        return {"value": None}
    counted, count = Dated.of(scope, marker.get("period", "")), marker.get("count", 1)
    until = datetime.datetime.fromtimestamp(expires, datetime.UTC)
    last = value + strategy.numbers.step * (count - 1)
    day = datetime.date.fromisoformat(marker["day"]) if "day" in marker else None
    return {
        "value": value,
        "count": count,
        "period": marker.get("period", ""),
        "texts": [strategy.naming.text_or_number(one, counted, day) for one in dict.fromkeys((value, last))],
        "stored_at": until - datetime.timedelta(seconds=strategy.option["marker_seconds"]),
        "until": until,
        "is_expired": expires <= strategy.wall(),
        "key": strategy.layout.key_text(counted, value),
        "item": _item_of(strategy, counted, marker, send),
    }


def _item_of(strategy: Strategy, scope: Scope, marker: Mapping[str, Any], send: Any) -> str:
    """What is stored under a marker's value, in words."""
    if "count" in marker:
        return "It took values without items."
    layout, key = strategy.layout, strategy.layout.key(scope, marker["value"])
    if len(key) != len(layout.key_names):
        return "Its item has a key of its own, which the application knows."
    row = dynamodb.unmarshal(send("get_item", expressions.read_item(layout.schema.table, key)).get("Item", {}))
    if not row:
        own = ", or it has a key of its own" if layout.may_own_key else ""
        return f"Its item is not there any more{own}."
    if row.get(layout.token_name) != marker["token"]:
        return "The item under this number belongs to another request."
    return "Its item is stored, and void." if signed_void(row) else "Its item is stored."
