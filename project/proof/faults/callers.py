"""Clients of the product: how they ask, what an answer means, how often they ask again.

Over HTTP as over the Python API, an answer is one word of `history`: "fail" only where the product says that nothing
was stored, and "unknown" where it says that it does not know, or nothing at all.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

import urllib3

from project.proof.faults.history import Asked, Recorder, Word
from project.proof.faults.stack import Reply, Stack

__all__ = ["MOST_ATTEMPTS", "SAYS_REPLAYED", "Caller", "ask_api", "ask_web", "meaning"]

MOST_ATTEMPTS = 100
REPEATED = 0.05
SAYS_REPLAYED = "Idempotency-Replayed"
HEAL = {409, 429}


class Caller:
    """One client, which asks for one thing at a time and writes it down.

    It repeats a request until it is "ok", at most `attempts` times, and now and then asks for an earlier one again.
    `words` counts the last words; `unanswered` lists what a patient client waited for in vain.
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
        """Ask for one thing after the other, and for some of them again."""
        for asked in wanted:
            self.words[self.ask(asked).what] += 1
            self._recent.append(asked)
            if self._draws.random() < REPEATED:
                self.ask(self._draws.choice(self._recent))

    def ask(self, asked: Asked) -> Word:
        """Ask until the answer is "ok", or patience is over, or it is one that must not be."""
        for attempt in range(1, self._attempts + 1):
            word = self._recorder.call(self.name, asked, self._send)
            if word.what == "ok" or word.wrong:
                return word
            time.sleep(self._draws.uniform(0, min(1.0, 0.02 * 2**attempt)))
        if self._attempts == MOST_ATTEMPTS:
            self.unanswered.append(f"{asked.token} was not answered in {MOST_ATTEMPTS} attempts: {word}")
        return word


def ask_web(stack: Stack, patience: float) -> Callable[[Asked], Word]:
    """How a client files tickets over HTTP, if it waits so long for an answer."""

    def send(asked: Asked) -> Word:
        path, headers = f"/api/projects/{asked.scope}/tickets/", {"Idempotency-Key": asked.token}
        try:
            reply = stack.ask("POST", path, {"title": asked.content}, headers, patience=patience)
        except urllib3.exceptions.HTTPError as error:
            return Word("unknown", why=type(error).__name__)
        return meaning(reply)

    return send


def meaning(reply: Reply) -> Word:
    """What an HTTP answer says about the ticket that was asked for.

    `outcome_unknown` decides where it is told. Another 4xx refuses the request, of which nothing is stored; but for
    conflicts and throttling that is wrong, as every request of ours is right. So is a 500: it is an error that the
    product does not know. Whatever else is not a success was not made by the product.
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


def ask_api(asked: Asked) -> Word:
    """Store an item by the Python API; the scope names the sequence, a dot, and the scope in it."""
    from sequences import put_next
    from sequences.exceptions import GaveUp, SequenceError

    sequence, _, scope = asked.scope.partition(".")
    try:
        allocation = put_next(sequence, {"title": asked.content}, scope=scope, idempotency_token=asked.token)
    except GaveUp as error:
        return Word("unknown" if error.outcome_unknown else "fail", why=type(error).__name__)
    except SequenceError as error:
        return Word("fail", why=repr(error)[:100], wrong=True)
    except Exception as error:  # noqa: BLE001 - the product promises that there is no other: it is told
        return Word("unknown", why=repr(error)[:100], wrong=True)
    return Word("ok", allocation.value, replayed=allocation.replayed)
