"""A circuit breaker for each client of a process, so that not every call waits for its deadline in vain.

Nothing asks in the background: the calls find out themselves.

    requests get no answer for REFUSE_AFTER s, and no other does meanwhile  -->  silent: one request each ASK_SECONDS
    an answer, to whichever request                                         -->  all go on

A call whose request is not sent, or not answered, gives up then. What it says of its writes is as certain as ever.
An answer is whatever comes from DynamoDB, also a refusal, but no failure of the engine (5xx).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from typing import Any

from ..exceptions import NotWritten
from . import foreign
from .errors import answer_lost, never_sent
from .making import Send

ASK_SECONDS = 0.5
STALE_SECONDS = 10.0  # after which what is known of a silence is too old, as nobody has asked

logger = logging.getLogger(__name__)


class Silence:
    """What this process has heard from DynamoDB. Each step is atomic, as signal handlers send requests, too."""

    __slots__ = ("_ask_at", "_heard_at", "_missed_at", "_refused", "_since")

    def __init__(self) -> None:
        self._since = math.inf
        self._heard_at = self._missed_at = self._ask_at = -math.inf
        self._refused = False

    @property
    def seconds(self) -> float:
        """For so long DynamoDB has answered nothing to those who asked; below 0 if it answers, as far as is known."""
        return self._missed_at - self._since if time.monotonic() < self._ask_at + STALE_SECONDS else -math.inf

    def refuse(self) -> None:
        """Raise NotWritten, unless it is time to ask whether DynamoDB answers again. The log has the first refusal."""
        now, seconds = time.monotonic(), self.seconds
        if seconds < 0:  # an answer has come meanwhile
            return
        if now >= self._ask_at:
            self._ask_at = now + ASK_SECONDS
            return
        said = f"DynamoDB has answered nothing for {seconds:.1f} s."
        if not self._refused:
            self._refused = True
            logger.warning("%s Calls are refused until it answers.", said)
        raise NotWritten(said)

    def sent(self, send: Send, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request. Raises what `send` raises."""
        began = time.monotonic()
        try:
            answer = send(operation, request)
        except foreign.botocore.exceptions.ClientError as error:
            if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", math.inf) < 500:
                self._hear()
            else:
                self._miss(began)
            raise
        except (*never_sent(), *answer_lost()):
            self._miss(began)
            raise
        self._hear()
        return answer

    def _miss(self, began: float) -> None:
        if self._heard_at < began:
            self._since = min(self._since, began) if self.seconds >= 0 else began
            self._missed_at = time.monotonic()
            self._ask_at = self._missed_at + ASK_SECONDS

    def _hear(self) -> None:
        self._heard_at, self._since = time.monotonic(), math.inf
        if self._refused:
            self._refused = False
            logger.warning("DynamoDB answers again.")
