"""Clients of the product: how they send a request, what an answer means, and how often they repeat it.

Over HTTP and over the Python API (`api`), an answer becomes one word of `history`. It is "fail" only if the product
says that nothing was stored. It is "unknown" if the product says that it does not know, or does not answer.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

import urllib3

from project.proof.faults.history import Asked, Recorder, Word
from project.proof.faults.stack import Reply, Stack

__all__ = ["MOST_ATTEMPTS", "SAYS_REPLAYED", "Caller", "ask_web", "meaning"]

MOST_ATTEMPTS = 100
REPEATED = 0.05
SAYS_REPLAYED = "Idempotent-Replayed"
HEAL = {409, 429}


class Caller:
    """One client. It sends one request at a time and records it.

    It makes at most `attempts` attempts until a request is "ok", and sometimes repeats an earlier request. A request
    that must not be repeated gets one attempt. `words` counts the last words. `unanswered` lists the requests of a
    patient client that never became "ok".
    """

    def __init__(
        self, name: str, recorder: Recorder, send: Callable[[Asked], Word], *, attempts: int = MOST_ATTEMPTS, seed: int
    ) -> None:
        self.name = name
        self.words: Counter[str] = Counter()
        self.unanswered: list[str] = []
        self._recorder = recorder
        self._send = send
        self._attempts = attempts
        self._draws = random.Random(f"{seed}:{name}")
        self._recent: deque[Asked] = deque(maxlen=20)

    def serve(self, wanted: Iterable[Asked]) -> None:
        """Send these requests one after the other, and repeat some of them."""
        for asked in wanted:
            self.words[self.ask(asked).what] += 1
            if asked.repeatable:
                self._recent.append(asked)
            if self._recent and self._draws.random() < REPEATED:
                self.ask(self._draws.choice(self._recent))

    def ask(self, asked: Asked) -> Word:
        """Send a request until the answer is "ok" or wrong, or the attempts are used up."""
        attempts = self._attempts if asked.repeatable else 1
        for attempt in range(1, attempts + 1):
            word = self._recorder.call(self.name, asked, self._send)
            if word.what == "ok" or word.wrong:
                return word
            if attempt < attempts:
                time.sleep(self._draws.uniform(0, min(1.0, 0.02 * 2**attempt)))
        if attempts == MOST_ATTEMPTS:
            self.unanswered.append(f"{asked.token} was not answered in {MOST_ATTEMPTS} attempts: {word}")
        return word


def ask_web(stack: Stack, patience: float) -> Callable[[Asked], Word]:
    """A function that files a ticket over HTTP, and waits up to `patience` seconds for the answer."""

    def send(asked: Asked) -> Word:
        path, headers = f"/api/projects/{asked.scope}/tickets/", {"Idempotency-Key": asked.token}
        try:
            reply = stack.ask("POST", path, {"title": asked.content}, headers, patience=patience)
        except urllib3.exceptions.HTTPError as error:
            return Word("unknown", why=type(error).__name__)
        return meaning(reply)

    return send


def meaning(reply: Reply) -> Word:
    """The meaning of an HTTP answer for the requested ticket.

    If the answer has `outcome_unknown`, that decides. Any other 4xx means that nothing was stored; except for conflicts
    and throttling it is wrong, because all our requests are valid. After any other answer the outcome is unknown. A 500
    is wrong, too: it means an unexpected error in the product.
    """
    content = reply.content
    if reply.status in (200, 201):
        return Word("ok", content["number"], content["title"], reply.headers.get(SAYS_REPLAYED) == "true")
    why = f"{reply.status} {str(content.get('detail', content)).partition('. ')[0]}"[:100]
    if "outcome_unknown" in content:
        return Word("unknown" if content["outcome_unknown"] else "fail", why=why)
    if 400 <= reply.status < 500:
        return Word("fail", why=why, wrong=reply.status not in HEAL)
    return Word("unknown", why=why, wrong=reply.status == 500)
