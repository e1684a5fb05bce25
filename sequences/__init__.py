"""Numbers that people can say aloud, from DynamoDB, which has no auto-increment.

A *sequence* is a name in the setting SEQUENCES. Each *scope* of a sequence counts on its own. Most applications need
one function:

    from sequences import put_next

    allocation = put_next("tickets", {"title": "Printer on fire"}, scope="ABC", idempotency_token=request_id)
    allocation.value  # 42: already stored, never given again, and the same for every repeat of this request

`put_next_many` stores many items, `put_next_each` says of each whether it was stored, and `put_next_together` stores
all of them under values that follow each other, or none.
`get_item` reads an item back by its value, `find` by the text that people type, and `items` gives those of a scope.
`get_next_value` takes a value before its item is stored, if the strategy can do that. `get_last_value` takes none.
`format_value` writes a value for people, as "INV-2026-000042", `parse` reads what they type, and `preview` shows what
comes next.
Each function has a twin for event loops: `await aput_next(...)`.
The class docstrings in `sequences.strategies` say what each strategy guarantees and what it costs.

Public are the functions here, and these modules; everything else may change:

    actions               other rows that ride in the transaction of an item
    capabilities          what each strategy can do and costs
    changes               guarded changes, as to put a sequence past the numbers of earlier data
    compat                the functions of django-sequences
    exceptions            everything that can go wrong
    fields, operations    numbers in Django models, and what their migrations need
    logs                  lines of the log as JSON
    metrics               instruments and recorders of an application's own
    metrics.prometheus, metrics.opentelemetry
                          recorders for the setting SEQUENCES_METRICS
    ops.spreadsheets      cells of CSV files that are no formulas
    rates                 how fast scopes count
    registry              the strategies that SEQUENCES configures
    rest.answers, rest.cursors, rest.fields, rest.idempotency, rest.pages, rest.problems, rest.request_ids, rest.views
                          parts of a REST API, for Django REST framework
    series                rules for single scopes, made and changed while numbers are given
    signals               what an application may count or record
    start                 what a web process asks before it serves
    storage               an application's own rows beside its numbers
    strategies            the strategies, and the class for one of your own
    testing, testing.contract
                          a kit for the tests of applications
    types                 what the functions return
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .asynchronous import (
        afind,
        aget_item,
        aget_last_value,
        aget_next_value,
        aget_next_values,
        aitems,
        aput_next,
        aput_next_each,
        aput_next_many,
        aput_next_together,
    )
    from .services import (
        get_last_value,
        get_next_value,
        get_next_values,
        put_next,
        put_next_each,
        put_next_many,
        put_next_together,
    )
    from .services.items import find, get_item, items
    from .services.texts import format_value, parse, preview

__all__ = [
    "afind",
    "aget_item",
    "aget_last_value",
    "aget_next_value",
    "aget_next_values",
    "aitems",
    "aput_next",
    "aput_next_each",
    "aput_next_many",
    "aput_next_together",
    "find",
    "format_value",
    "get_item",
    "get_last_value",
    "get_next_value",
    "get_next_values",
    "items",
    "parse",
    "preview",
    "put_next",
    "put_next_each",
    "put_next_many",
    "put_next_together",
]

__version__ = "0.2.0"

_MODULES = ("asynchronous", "services", "services.items", "services.texts")


def __getattr__(name: str) -> object:
    """A public function, imported when it is first asked for: each program of a project imports this package."""
    if name in __all__:
        for module in (import_module(f"{__name__}.{module}") for module in _MODULES):
            found = vars(module).get(name)
            if getattr(found, "__module__", "") == module.__name__:  # others import it from there
                globals()[name] = found
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
