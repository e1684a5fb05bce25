"""Whether the site lives, and whether it can serve: for load balancers and monitors, without signing in.

`/healthz` says that the process answers. `/readyz` says whether DynamoDB and the SQL database answer within a second,
and is 503 otherwise, and in a process that is asked to stop. The middleware stands first, so that neither the host's
name, nor HTTPS, nor a throttle, nor the log of requests is asked.
"""

import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock
from time import monotonic

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse

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


@dataclass
class Readiness:
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
                executor = ThreadPoolExecutor(1, thread_name_prefix=f"ready-{name}")
                self._asked[name] = executor.submit(ask)
                executor.shutdown(wait=False)
        return {name: self._reason(name, future, deadline) for name, future in self._asked.items()}

    def _reason(self, name: str, future: "Future[None]", deadline: float) -> str:
        try:
            error = future.exception(max(0.0, deadline - monotonic()))
        except TimeoutError:
            return f"no answer within {SECONDS:g} s"
        if error is None:
            return "ok"
        logger.warning("%s is not ready: %s", name, error)
        return type(error).__name__


READINESS = Readiness({"dynamodb": ask_dynamodb, "sql": ask_sql})


def healthz() -> HttpResponse:
    """The process lives."""
    return JsonResponse({"status": "ok"})


def readyz() -> HttpResponse:
    """The stores answer, and this process goes on."""
    if STOPPING.is_set():
        return JsonResponse({"status": "stopping"}, status=503)
    stores = READINESS.answer()
    ready = set(stores.values()) == {"ok"}
    body = {"status": "ok" if ready else "unavailable", **stores}
    return HttpResponse(json.dumps(body), status=200 if ready else 503, content_type="application/json")


class Health:
    """Answers these two addresses before anything else looks at the request."""

    answers: Mapping[str, Callable[[], HttpResponse]] = {"/healthz": healthz, "/readyz": readyz}

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The state, or what the site answers."""
        answer = self.answers.get(request.path)
        if answer is None:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
        response = answer()
        response["Cache-Control"] = "no-store"
        return response
