"""How many requests a caller may send, counted by all processes together in Django's cache.

A rate such as "3000/minute" counts in windows that begin with the minute, the hour or the day. It is divided into
blocks. A process takes a block from the cache by `add`, which only one process can do for one block, and serves the
requests of the block from memory. So nothing is counted twice, and only one request in many asks the cache. A caller
whose requests reach several processes may be refused a little early: up to a block is left in each of them.

Sign-ins are too few for blocks: each takes one of `count` places by itself, and has it for the seconds of the rate
(`take_place`). So in any such span, not only from one full minute to the next, there are no more.

While the cache does not answer, nothing is limited, and the log says so.
"""

import hashlib
import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as remembered
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured

logger = logging.getLogger(__name__)

T = TypeVar("T")

BLOCKS = 20
MOST_CALLERS = 10_000
SECONDS: Mapping[str, int] = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` requests in each window of so many seconds."""

    name: str
    count: int
    seconds: int

    @property
    def block(self) -> int:
        """How many requests a process takes at once."""
        return max(1, self.count // BLOCKS)

    @property
    def policy(self) -> str:
        """The rate, as the header RateLimit-Policy says it."""
        return f'"{self.name}";q={self.count};w={self.seconds}'


ONCE = Rate("once", 1, SECONDS["day"])


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request is allowed, how many more are, and in how many seconds there will be others."""

    rate: Rate
    allowed: bool
    left: int
    seconds: int

    @property
    def wait(self) -> int:
        """The seconds after which to try again; 0 if the request is allowed."""
        return 0 if self.allowed else self.seconds

    @property
    def header(self) -> str:
        """The verdict, as the header RateLimit says it."""
        return f'"{self.rate.name}";r={self.left};t={self.seconds}'


@dataclass(slots=True)
class Held:
    """What a process holds for a caller: requests of its block, and how many it saw in the cache."""

    window: int
    left: int = 0
    elsewhere: int = 0
    used_up: bool = False


@remembered
def parse_rate(name: str, text: str) -> Rate:
    """The rate in a text such as "5/minute". Raises ImproperlyConfigured."""
    count, _, span = text.partition("/")
    if not count.isdecimal() or int(count) < 1 or span not in SECONDS:
        raise ImproperlyConfigured(f"THROTTLES[{name!r}] is {text!r}: write it like 5/minute (or second, hour, day).")
    return Rate(name, int(count), SECONDS[span])


def rate_of(name: str) -> Rate | None:
    """The rate of this name in THROTTLES; None if it has none."""
    text = settings.THROTTLES.get(name)
    return parse_rate(name, text) if text else None


_held: dict[tuple[str, str], Held] = {}
_lock = Lock()


def take(name: str, caller: str, count: int = 1) -> Verdict | None:
    """Count so many requests of this caller. None if the rate of this name is not limited. Mostly asks no cache."""
    return _counted(name, caller, partial(_take, count))


def _take(count: int, rate: Rate, caller: str) -> Verdict:
    window, passed = divmod(time.time(), rate.seconds)
    held = _held_for((rate.name, caller), int(window))
    count = min(count, rate.count)
    while not (allowed := _take_from_block(held, count)) and not held.used_up:
        _take_block(held, rate, caller)
    left = held.left + held.elsewhere if allowed else 0
    return Verdict(rate, allowed, left, max(1, math.ceil(rate.seconds - passed)))


def take_place(name: str, caller: str) -> tuple[Verdict, str] | None:
    """Count one request by itself. The text gives it back (`give_back`). None if this rate is not limited.

    One read of the cache, and a write if the request is allowed.
    """
    return _counted(name, caller, _take_place)


def _take_place(rate: Rate, caller: str) -> tuple[Verdict, str]:
    now = time.time()
    places = [_key(rate, caller, number) for number in range(rate.count)]
    taken = cache.get_many(places)
    place, free = _claim(places, taken, now + rate.seconds, rate.seconds)
    first = min((until - now for until in taken.values()), default=rate.seconds)
    return Verdict(rate, bool(place), free, max(1, math.ceil(first))), place


def give_back(place: str) -> None:
    """A request that was counted by itself counts no more."""
    _unless_away(cache.delete, place)


@contextmanager
def once(what: str) -> Iterator[bool]:
    """Around what is done once a day. False if it was done. An error in the `with` block takes it back."""
    taken = _unless_away(_take_place, ONCE, what)
    try:
        yield taken is None or taken[0].allowed
    except BaseException:
        if taken and taken[0].allowed:
            give_back(taken[1])
        raise


def _counted(name: str, caller: str, count: Callable[[Rate, str], T]) -> T | None:
    rate = rate_of(name)
    return None if rate is None else _unless_away(count, rate, caller)


def _unless_away(ask: Callable[..., T], *asked: Any) -> T | None:
    try:
        return ask(*asked)
    except Exception as error:  # noqa: BLE001 - each cache has errors of its own
        logger.warning("The cache does not answer, and requests are not limited: %s", error)
        return None


def forget() -> None:
    """Forget what this process holds. The cache still knows which blocks are taken."""
    _held.clear()


def _held_for(key: tuple[str, str], window: int) -> Held:
    held = _held.get(key)
    if held is None or held.window != window:
        if len(_held) >= MOST_CALLERS:
            _held.clear()
        held = _held[key] = Held(window)
    return held


def _take_from_block(held: Held, count: int) -> bool:
    with _lock:
        if held.left < count:
            return False
        held.left -= count
        return True


def _take_block(held: Held, rate: Rate, caller: str) -> None:
    blocks = [_key(rate, caller, held.window, number) for number in range(rate.count // rate.block)]
    place, free = _claim(blocks, cache.get_many(blocks), True, rate.seconds + 1)
    with _lock:
        held.elsewhere = free * rate.block
        if place:
            held.left += rate.block
        else:
            held.used_up = True


def _claim(places: Sequence[str], taken: Collection[str], value: object, seconds: int) -> tuple[str, int]:
    """The first of these places that nobody has; empty if there is none. And how many others are free.

    Raises OSError if the cache stores nothing: Django's in a database that cannot be written says so in no other way.
    """
    free = [place for place in places if place not in taken]
    for number, place in enumerate(free, 1):
        if cache.add(place, value, seconds):
            return place, len(free) - number
        if cache.get(place) is None:
            raise OSError("It cannot be written.")
    return "", 0


def _key(rate: Rate, caller: str, *numbers: int) -> str:
    who = hashlib.sha256(caller.encode(errors="backslashreplace")).hexdigest()[:32]
    return ":".join(map(str, ("throttle", rate.name, rate.count, rate.seconds, who, *numbers)))
