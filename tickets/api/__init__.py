"""The REST API: it translates between HTTP with JSON, and services and selectors.

A request passes these modules:

    urls             the addresses
    authentication   who sends the request
    permissions      who may do what: the meaning of the `needs` of each view
    views            validate, call, serialize, respond
    shapes           what all shapes of JSON have in common
    serializers      the shapes; the limits of the fields are in `tickets.validators`
    requests         what views read from a request, and pages in addresses
    exceptions       errors as JSON; their meanings are in `tickets.problems`
    schema           what the document of the API says about errors
    bodies           how they are read and written
    reference        the page of the API
"""

import sys

UNUSED = ("psycopg", "requests")
"""What Django REST framework loads wherever it is installed, and the API does not use."""


def _load_framework() -> None:
    """Load it without them: they take a sixth of the start of each process, and 16 MB. Who uses one loads it later."""
    hidden = {name: None for name in UNUSED if name not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]  # None: it is not found
    try:
        import rest_framework.compat  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]


_load_framework()
