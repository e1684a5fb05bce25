"""Numbers that people can say aloud, from DynamoDB, which has no auto-increment.

A *sequence* is a name in the setting SEQUENCES; each of its *scopes* counts on its own. One function does for all:

    from sequences import put_next

    allocation = put_next("tickets", {"title": "Printer on fire"}, scope="ABC", idempotency_token=request_id)
    allocation.value  # 42: stored already, never given again, and the same for every repeat of this request

`get_next_value` takes a value before an item carries it, where the strategy can; `get_last_value` only looks.
What each strategy guarantees, and what it costs, is in its class docstring under `sequences.strategies`.

Public are the functions here and four modules: `exceptions`, `storage` (an application's own rows beside its numbers),
`registry` (the strategies that SEQUENCES configures) and `capabilities` (what they can do). All else may change.
"""

from .services import get_last_value, get_next_value, get_next_values, put_next, put_next_many

__all__ = ["get_last_value", "get_next_value", "get_next_values", "put_next", "put_next_many"]
