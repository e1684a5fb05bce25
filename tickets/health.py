"""Whether a process lives, whether it takes requests, and whether its stores answer; without signing in.

`/healthz` says that the process answers, for the program that starts it anew. `/readyz` says whether it takes requests,
for load balancers: 503 in a process that is asked to stop. Both ask no store, since a store that is away is away for
all processes: none may be killed or left out for it. `/storez` is for people and monitors: 503 if DynamoDB or the SQL
database does not answer within a second.

The middleware stands first, so that neither the host's name, nor HTTPS, nor a throttle, nor the log of requests is
asked.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock
from time import monotonic

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin

from tickets.store.places import ROWS

SECONDS = 1.0
REMEMBERED_SECONDS = 1.0  # so that asking often costs no more

STOPPING = Event()
"""Set by the web server when it is asked to stop: then a load balancer is to send its requests elsewhere."""

logger = logging.getLogger(__name__)


def ask_dynamodb() -> None:
    """Read a row that does not exist. One read unit."""
    ROWS.get("#health", 0)


def ask_sql() -> None:
    """Ask the SQL database for a constant, over a connection of its own."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()


def begun(ask: Callable[[], None], name: str) -> "Future[None]":
    """What asks a store in a thread of its own, so that nobody need wait for its end."""
    executor = ThreadPoolExecutor(1, thread_name_prefix=name)
    asked = executor.submit(ask)
    executor.shutdown(wait=False)
    return asked


@dataclass
class Stores:
    """What the stores answered last. Each is asked by one thread, however many requests wait."""

    stores: Mapping[str, Callable[[], None]]
    _lock: Lock = field(default_factory=Lock)
    _asked: dict[str, Future[None]] = field(default_factory=dict)
    _answer: dict[str, str] = field(default_factory=dict)
    _until: float = 0.0

    def answer(self) -> dict[str, str]:
        """For each store "ok", or why it is not."""
        with self._lock:
            if monotonic() >= self._until:
                self._answer = self._ask()
                self._until = monotonic() + REMEMBERED_SECONDS
            return self._answer

    def _ask(self) -> dict[str, str]:
        deadline = monotonic() + SECONDS
        for name, ask in self.stores.items():
            if name not in self._asked or self._asked[name].done():
                self._asked[name] = begun(ask, f"storez-{name}")
        return {name: self._reason(name, future, deadline) for name, future in self._asked.items()}

    def _reason(self, name: str, future: "Future[None]", deadline: float) -> str:
        try:
            error = future.exception(max(0.0, deadline - monotonic()))
        except TimeoutError:
            return f"no answer within {SECONDS:g} s"
        if error is None:
            return "ok"
        logger.warning("%s does not answer: %s", name, error)
        return type(error).__name__


STORES = Stores({"dynamodb": ask_dynamodb, "sql": ask_sql})


def healthz() -> HttpResponse:
    """The process lives."""
    return JsonResponse({"status": "ok"})


def readyz() -> HttpResponse:
    """This process takes requests."""
    stopping = STOPPING.is_set()
    return JsonResponse({"status": "stopping" if stopping else "ok"}, status=503 if stopping else 200)


def storez() -> HttpResponse:
    """The stores answer."""
    stores = STORES.answer()
    well = set(stores.values()) == {"ok"}
    return JsonResponse({"status": "ok" if well else "unavailable", **stores}, status=200 if well else 503)


OWN_STATE = frozenset({"/healthz", "/readyz"})
"""What is answered at once, without a store: a web server need not keep a thread for it."""


class Health(MiddlewareMixin):
    """Answers these addresses before anything else looks at the request."""

    answers: Mapping[str, Callable[[], HttpResponse]] = {"/healthz": healthz, "/readyz": readyz, "/storez": storez}

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """The state, for HEAD without the body; None for other addresses."""
        answer = self.answers.get(request.path)
        if answer is None:
            return None
        if request.method not in {"GET", "HEAD"}:
            return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
        response = answer()
        response["Cache-Control"], response["Content-Length"] = "no-store", str(len(response.content))
        if request.method == "HEAD":
            response.content = b""
        return response
