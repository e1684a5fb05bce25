"""How often a caller may send requests and try to sign in, counted by all processes together."""

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from uuid import uuid4

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.cache.backends.db import DatabaseCache
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.test import Client, RequestFactory
from pytest_django import DjangoAssertNumQueries, Settings
from rest_framework.test import APIClient

from tickets.accounts import heavy, services, sign_in, throttles
from tickets.accounts.models import ApiToken
from tickets.accounts.sign_in import address_of, warn_of_proxies
from tickets.accounts.throttles import Rate, once, parse_rate, take, take_place


def in_memory() -> dict[str, dict[str, str]]:
    """The setting for a cache in memory, which is empty."""
    return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": uuid4().hex}}


class Clock:
    """A clock that the test moves, at the begin of a minute and an hour."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        """The time."""
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """A clock for the throttles, which hold nothing yet."""
    clock = Clock()
    assert clock.now % 3600 == 0
    monkeypatch.setattr(throttles, "time", clock)
    throttles.forget()
    yield clock
    throttles.forget()


@pytest.fixture
def limited(db: None, settings: Settings) -> Settings:
    """The settings, with few requests a minute."""
    sign_ins = {"sign-in": "3/minute", "sign-in-address": "6/minute", "sign-in-name": "6/minute"}
    settings.THROTTLES = {"user": "40/minute", **sign_ins}
    return settings


def test_the_first_free_place_is_claimed(settings: Settings) -> None:
    """The places that others have count as taken, also one that another process takes at the same moment."""
    settings.CACHES = in_memory()
    cache.add("c", True)
    assert throttles._claim("abcde", {"a": True}, True, 60) == ("b", 3)
    assert throttles._claim("abcde", {"a": True, "b": True}, True, 60) == ("d", 1)
    assert throttles._claim("ab", {"a": True, "b": True}, True, 60) == ("", 0)


def counts(name: str, caller: str, requests: int) -> int:
    """How many of these requests are allowed."""
    verdicts = [take(name, caller) for _ in range(requests)]
    return sum(bool(verdict and verdict.allowed) for verdict in verdicts)


class TestRates:
    @pytest.mark.parametrize("text", ["", "5", "0/minute", "-1/minute", "5/minutes", "x/hour", "5/"])
    def test_a_wrong_rate_is_refused_by_name(self, text: str) -> None:
        """A rate that cannot be read is refused with an example."""
        with pytest.raises(ImproperlyConfigured, match=r"THROTTLES\['user'\].*5/minute"):
            parse_rate("user", text)

    def test_what_a_rate_says(self) -> None:
        """A rate counts in seconds, minutes, hours or days, and is taken in 20 blocks."""
        rates = [parse_rate("user", f"400/{span}") for span in ("second", "minute", "hour", "day")]
        assert [(rate.name, rate.count) for rate in rates] == [("user", 400)] * 4
        assert [rate.seconds for rate in rates] == [1, 60, 3600, 86_400]
        assert [Rate("x", count, 60).block for count in (1, 39, 40, 400)] == [1, 1, 2, 20]
        assert parse_rate("user", "1/second").count == 1

    def test_a_rate_that_is_missing_limits_nothing(self, limited: Settings) -> None:
        """A name without a rate, and one with an empty rate, is not counted."""
        limited.THROTTLES = {"user": ""}
        assert (take("user", "ann"), take("address", "ann"), take_place("user", "ann")) == (None, None, None)

    @pytest.mark.parametrize(("weight", "allowed"), [(1, 40), (3, 13), (20, 2), (40, 1), (100, 1)])
    def test_a_heavy_request_counts_more(self, limited: Settings, weight: int, allowed: int) -> None:
        """It takes as many places as it counts for, over several blocks; the whole rate suffices for any."""
        verdicts = [take("user", "ann", weight) for _ in range(41)]
        assert sum(bool(verdict and verdict.allowed) for verdict in verdicts) == allowed
        assert counts("user", "ann", 41) == max(0, 40 - allowed * weight)

    @pytest.mark.parametrize("count", [1, 7, 19, 20, 21, 40, 399, 6000])
    def test_no_more_than_the_rate_are_allowed(self, limited: Settings, count: int) -> None:
        """One process allows at most the rate in a window, and at least nine tenths of it."""
        limited.THROTTLES = {"user": f"{count}/minute"}
        assert 0.9 * count <= counts("user", "ann", count + 5) <= count


class TestWindows:
    def test_a_new_window_begins_anew(self, limited: Settings, clock: Clock) -> None:
        """When the minute is over, as many requests are allowed again; until then the verdict says the seconds."""
        assert counts("user", "ann", 50) == 40
        clock.now += 45.5
        verdict = take("user", "ann")
        assert verdict
        assert (verdict.allowed, verdict.left, verdict.seconds) == (False, 0, 15)
        clock.now += 14.5
        assert counts("user", "ann", 50) == 40

    def test_callers_do_not_limit_each_other(self, limited: Settings, caplog: pytest.LogCaptureFixture) -> None:
        """Another caller has a count of its own, whatever is in their names."""
        assert [counts("user", caller, 50) for caller in ("ann", "bob", "\ud800", "a" * 10_000)] == [40] * 4
        assert caplog.messages == []

    def test_processes_share_the_count(self, limited: Settings) -> None:
        """What one process has taken, another does not get: together they allow the rate."""
        first = counts("user", "ann", 17)
        throttles.forget()  # a process that holds nothing
        assert first == 17
        assert counts("user", "ann", 50) == 40 - 18  # a block of 2 has one left in the first process

    def test_threads_share_the_count(self, limited: Settings) -> None:
        """Threads that ask at the same time get no more than the rate."""
        limited.CACHES = in_memory()
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(lambda _: counts("user", "ann", 20), range(8))) <= 40

    def test_most_requests_ask_no_cache(
        self, limited: Settings, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        """Within a block, and after the last one, nothing is asked."""
        limited.THROTTLES = {"user": "400/minute"}
        take("user", "ann")
        with django_assert_num_queries(0):
            assert counts("user", "ann", 19) == 19
        counts("user", "ann", 400)
        with django_assert_num_queries(0):
            assert counts("user", "ann", 5) == 0

    def test_places_come_back_one_by_one(
        self, limited: Settings, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In any minute, not only from one full minute to the next, there are no more than the rate.

        Whoever is refused is told when the next place is free.
        """
        limited.CACHES = in_memory()
        monkeypatch.setattr(time, "time", clock.time)  # which the cache reads
        verdicts = []
        for seconds in (50, 5, 5, 5, 45.1, 0, 5, 0):
            clock.now += seconds
            verdict, _ = take_place("sign-in", "ann") or pytest.fail("not limited")
            verdicts.append(verdict)
        assert [verdict.seconds for verdict in verdicts if not verdict.allowed] == [45, 5, 5]
        assert [verdict.allowed for verdict in verdicts] == [True, True, True, False, True, False, True, False]

    def test_a_place_is_given_back(self, limited: Settings) -> None:
        """A place that is given back can be taken again, by any process."""
        for _ in range(10):
            verdict, place = take_place("sign-in", "ann") or pytest.fail("not limited")
            assert verdict.allowed
            throttles.give_back(place)

    def test_once_is_for_who_has_done_it(self, limited: Settings) -> None:
        """What has ended with an error can be done again. Whose turn it is not takes nothing back."""
        for wanted in (True, False, False):
            with once("a") as is_first:
                assert is_first is wanted
            with suppress(KeyError), once("a") as is_first:
                assert not is_first
                raise KeyError
            with suppress(KeyError), once("b") as is_first:
                assert is_first
                raise KeyError

    def test_the_memory_is_bounded(self, limited: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process holds requests for at most `MOST_CALLERS`."""
        monkeypatch.setattr(throttles, "MOST_CALLERS", 3)
        for number in range(10):
            take("user", str(number))
            assert len(throttles._held) <= 3


class TestRest:
    @pytest.fixture
    def program(self, limited: Settings, ann: User) -> APIClient:
        """A program with a token of Ann's."""
        return APIClient(headers={"Authorization": f"Bearer {services.make_token(ann, name='x', days=1)[1]}"})

    def test_headers_say_how_many_are_left(self, program: APIClient) -> None:
        """Each answer names the rate, what is left of it, and until when, as the IETF's draft writes it."""
        for left in (39, 38):
            response = program.get("/api/auth/tokens/")
            assert response["RateLimit-Policy"] == '"user";q=40;w=60'
            assert response["RateLimit"] == f'"user";r={left};t=60'

    def test_too_many_requests_are_429(self, program: APIClient, clock: Clock) -> None:
        """Beyond the rate the answer is 429, with the seconds to wait."""
        clock.now += 45
        answers = [program.get("/api/auth/tokens/") for _ in range(41)]
        assert [answer.status_code for answer in answers] == [200] * 40 + [429]
        assert "Retry-After" in answers[-1].json()["detail"]
        assert "Idempotency-Key" not in answers[-1].json()["detail"]  # nothing was begun
        assert answers[-1]["Retry-After"] == "15"
        assert answers[-1]["RateLimit"] == '"user";r=0;t=15'

    def test_making_tokens_has_a_rate_of_its_own(self, program: APIClient, ann: User, limited: Settings) -> None:
        """Only so many tokens a minute can be made, while reading them goes on."""
        limited.THROTTLES = {"tokens": "2/minute"}
        ann.set_password("ann's password")
        ann.save()
        wanted = {"name": "x", "password": "ann's password"}
        made = [program.post("/api/auth/tokens/", wanted) for _ in range(3)]
        assert [answer.status_code for answer in made] == [201, 201, 429]
        assert [answer["RateLimit"] for answer in made] == [f'"tokens";r={left};t=60' for left in (1, 0, 0)]
        assert made[-1]["Retry-After"] == "60"
        read = program.get("/api/auth/tokens/")
        assert (read.status_code, read.has_header("RateLimit")) == (200, False)

    def test_unknown_tokens_have_a_rate_of_their_address(self, limited: Settings) -> None:
        """Tokens are not looked up without end for an address."""
        limited.THROTTLES = {"address": "2/minute"}
        guess = APIClient(headers={"Authorization": f"Bearer {'0' * 40}"})
        answers = [guess.get("/api/projects/") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [401, 401, 429]
        assert [answer.get("RateLimit") for answer in answers] == [None, None, '"address";r=0;t=60']
        assert answers[-1]["Retry-After"] == "60"

    def test_right_tokens_do_not_use_it_up(self, program: APIClient, limited: Settings) -> None:
        """A token that opened the API is looked up again without a count, until a look-up finds it revoked."""
        limited.THROTTLES, limited.TOKEN_SECONDS = {"address": "2/minute"}, 0
        assert [program.get("/api/auth/tokens/").status_code for _ in range(5)] == [200] * 5
        ApiToken.objects.all().delete()
        assert [program.get("/api/auth/tokens/").status_code for _ in range(4)] == [401, 401, 429, 429]

    def test_callers_without_an_account_share_no_limit(self, limited: Settings) -> None:
        """Where the API begins, everybody is served: it costs nothing."""
        limited.THROTTLES = {"user": "1/minute"}
        assert [APIClient().get("/api/").status_code for _ in range(3)] == [200] * 3

    def test_a_cache_that_is_away_limits_nothing(
        self, program: APIClient, ann: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """While the cache does not answer, requests and sign-ins are served without a limit, and the log says so."""

        def away(*_: object, **__: object) -> None:
            raise ConnectionError("It is away.")

        for name in ("get_many", "add", "delete"):
            monkeypatch.setattr(cache, name, away)
        ann.set_password("ann's password")
        ann.save()
        answers = [program.get("/api/auth/tokens/") for _ in range(41)]
        answers += [APIClient().post("/api/auth/token/", {"username": "ann", "password": "ann's password"})]
        assert {answer.status_code for answer in answers} == {200}
        assert "requests are not limited: It is away." in caplog.text

    def test_a_cache_that_cannot_be_written_limits_nothing(
        self, limited: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Django's cache in a database that is read-only, or whose disk is full, takes no place, and raises nothing."""
        monkeypatch.setattr(DatabaseCache, "_base_set", lambda *_: False)
        assert (take("user", "ann"), take_place("sign-in", "ann")) == (None, None)
        assert caplog.text.count("requests are not limited: It cannot be written.") == 2

    def test_they_can_be_switched_off(self, program: APIClient, limited: Settings) -> None:
        """Without rates there are no limits and no headers."""
        limited.THROTTLES = {}
        assert not program.get("/api/auth/tokens/").has_header("RateLimit")


DOORS = ["/login/", "/admin/login/", "/api/auth/token/"]


class TestSigningIn:
    @pytest.fixture(autouse=True)
    def _password(self, limited: Settings, ann: User) -> None:
        limited.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick, for tests only
        ann.set_password("right")
        ann.is_staff = True
        ann.save()

    def sign_in(self, door: str, password: str, name: str = "ann", address: str = "192.0.2.1", **more: str) -> int:
        """The status of the answer to a sign-in."""
        content = {"username": name, "password": password, **more}
        return int(Client().post(door, content, REMOTE_ADDR=address).status_code)

    @pytest.mark.parametrize("door", DOORS)
    def test_tries_for_a_name_at_an_address_are_limited(self, door: str, caplog: pytest.LogCaptureFixture) -> None:
        """After some failures even the right password must wait; another name there, or it elsewhere, need not."""
        assert [self.sign_in(door, "wrong") == 429 for _ in range(4)] == [False, False, False, True]
        refused = "A sign-in as 'ann' from 192.0.2.1 was refused: too many tries."
        assert [message for message in caplog.messages if "refused" in message] == [refused]
        assert self.sign_in(door, "right") == 429
        assert self.sign_in(door, "wrong", "bob") != 429
        assert self.sign_in(door, "right", address="192.0.2.9") in (200, 302)

    def test_tries_for_a_name_are_limited(self) -> None:
        """After many failures from anywhere even the right password must wait; another name need not."""
        wrong = [self.sign_in("/login/", "wrong", address=f"192.0.2.{n}") == 429 for n in range(7)]
        assert wrong == [False] * 6 + [True]
        assert self.sign_in("/login/", "right", address="192.0.2.9") == 429
        assert self.sign_in("/login/", "wrong", "bob", address="192.0.2.9") != 429

    def test_tries_of_an_address_are_limited(self) -> None:
        """After many failures with any names an address must wait; another need not."""
        assert [self.sign_in("/login/", "wrong", f"name {n}") == 429 for n in range(7)] == [False] * 6 + [True]
        assert self.sign_in("/login/", "right", address="192.0.2.2") in (200, 302)

    def test_who_is_signed_in_has_a_count_of_their_own(self, ann: User) -> None:
        """Whatever others at the address or with the name have tried, a program makes a token by the password.

        Its own wrong passwords are limited.
        """
        for number in range(7):
            self.sign_in("/login/", "wrong", address="127.0.0.1" if number < 6 else f"192.0.2.{number}")
        assert self.sign_in("/login/", "right", address="127.0.0.1") == 429
        program = APIClient(headers={"Authorization": f"Bearer {services.make_token(ann, name='x', days=1)[1]}"})

        def made(password: str) -> int:
            return int(program.post("/api/auth/tokens/", {"name": "x", "password": password}).status_code)

        assert [made("right") for _ in range(4)] == [201] * 4
        assert [made("wrong") for _ in range(4)] == [401, 401, 401, 429]

    def test_few_are_looked_at_at_once(self, limited: Settings) -> None:
        """To check a password takes long: of an address few are under way at once, whatever their names."""
        limited.HEAVY_AT_ONCE = 0
        for door in DOORS:
            answer = Client().post(door, {"username": "ann", "password": "right"})
            assert (answer.status_code, answer["Retry-After"]) == (429, "1")

    def test_an_office_may_sign_in_together(self, limited: Settings) -> None:
        """Of an address more sign-ins are under way than heavy calls of one account: people share it."""
        limited.HEAVY_AT_ONCE = 1
        requests = [RequestFactory().get("/login/") for _ in range(5)]
        assert [heavy.begin(one, "sign-in x", sign_in.PEOPLE) for one in requests] == [True] * 4 + [False]
        for one in requests[:-1]:
            response = HttpResponse()
            heavy.end_with(response, one)
            response.close()
        assert not heavy._under_way["sign-in x"]

    @pytest.mark.parametrize("door", DOORS)
    def test_who_knows_the_password_is_never_counted(self, door: str) -> None:
        """Sign-ins that succeed count for nothing, however many they are."""
        assert 429 not in [self.sign_in(door, "right") for _ in range(8)]

    def test_who_has_something_to_send_is_never_counted(self) -> None:
        """Neither does a sign-in count that keeps what was typed into another form."""
        assert [self.sign_in("/login/", "right", **{"kept.title": "x"}) for _ in range(8)] == [200] * 8

    def test_the_doors_count_together(self) -> None:
        """A page, the administration and REST share the count."""
        assert [self.sign_in(door, "wrong") for door in DOORS] == [200, 200, 401]
        assert [self.sign_in(door, "wrong") for door in DOORS] == [429, 429, 429]

    def test_names_are_one_in_any_case(self) -> None:
        """Capital letters are no way around the limit of a name."""
        assert [self.sign_in("/login/", "x", name) for name in ("ann", "Ann", "ANN", "aNN")] == [200] * 3 + [429]

    @pytest.mark.parametrize("door", DOORS)
    def test_the_answer_says_how_long_to_wait(self, door: str) -> None:
        """A refusal has Retry-After and the rate's headers."""
        for _ in range(4):
            answer = Client().post(door, {"username": "ann", "password": "wrong"})
        assert answer.status_code == 429
        assert 0 < int(answer["Retry-After"]) <= 60
        assert '"sign-in";q=3;w=60' in answer["RateLimit-Policy"]

    @pytest.mark.parametrize("door", ["/login/", "/admin/login/"])
    def test_a_page_says_it_in_words(self, door: str) -> None:
        """A person reads how long to wait."""
        for _ in range(4):
            answer = Client().post(door, {"username": "ann", "password": "wrong"})
        assert f"Wait {answer['Retry-After']} seconds, then try again." in answer.content.decode()

    @pytest.mark.parametrize("door", DOORS)
    def test_a_failure_is_logged(self, door: str, caplog: pytest.LogCaptureFixture) -> None:
        """The log has the name, the address and the place of a failed sign-in, and no password."""
        with caplog.at_level(logging.WARNING, "tickets.accounts"):
            self.sign_in(door, "a wrong password")
        assert f"A sign-in as 'ann' from 192.0.2.1 failed at {door}." in caplog.messages
        assert "a wrong password" not in caplog.text

    def test_a_failure_of_a_program_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        """A sign-in that no request makes is in the log, too."""
        with caplog.at_level(logging.WARNING, "tickets.accounts"):
            assert authenticate(username="ann", password="wrong") is None
        assert "A sign-in as 'ann' from nowhere failed at a program." in caplog.messages

    def test_a_name_cannot_write_lines_into_the_log(self, caplog: pytest.LogCaptureFixture) -> None:
        """A line end in a name is written as an escape."""
        with caplog.at_level(logging.WARNING, "tickets.accounts"):
            self.sign_in("/login/", "x", "ann\n2026 INFO all is well")
        line = r"A sign-in as 'ann\n2026 INFO all is well' from 192.0.2.1 failed at /login/."
        assert line in caplog.messages
        assert all("\n" not in message for message in caplog.messages)


class TestAddresses:
    @pytest.mark.parametrize(
        ("proxies", "forwarded", "found"),
        [
            (0, "203.0.113.1", "192.0.2.1"),
            (1, "203.0.113.1", "203.0.113.1"),
            (1, "198.51.100.9, 203.0.113.1", "203.0.113.1"),
            (2, "198.51.100.9, 203.0.113.1, 203.0.113.2", "203.0.113.1"),
            (2, "203.0.113.1", "203.0.113.1"),
            (1, "", "192.0.2.1"),
        ],
    )
    def test_only_our_proxies_are_believed(self, settings: Settings, proxies: int, forwarded: str, found: str) -> None:
        """X-Forwarded-For counts as far as our own proxies have written it."""
        settings.PROXIES = proxies
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        assert address_of(RequestFactory().get("/", headers=headers, REMOTE_ADDR="192.0.2.1")) == found

    def test_a_proxy_that_is_not_known_is_logged_once(
        self, settings: Settings, caplog: pytest.LogCaptureFixture
    ) -> None:
        """An operator who has forgotten PROXIES reads why all people share one limit; not again with each request."""
        settings.PROXIES = 0
        warn_of_proxies.cache_clear()
        with caplog.at_level(logging.WARNING, "tickets.accounts"):
            for headers in ({}, {"X-Forwarded-For": "203.0.113.1"}, {"X-Forwarded-For": "203.0.113.2"}):
                address_of(RequestFactory().get("/", headers=headers))
        assert len(caplog.messages) == 1
        assert "set PROXIES to their number" in caplog.text

    def test_a_network_of_ipv6_is_one_address(self) -> None:
        """The half of an address of IPv6 that its owner chooses does not matter."""
        addresses = {
            address_of(RequestFactory().get("/", REMOTE_ADDR=address))
            for address in ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1")
        }
        assert addresses == {"2001:db8::/64", "2001:db8:0:1::/64"}

    def test_ipv4_by_ipv6_is_ipv4(self) -> None:
        """At a socket of IPv6 each address of IPv4 remains one of its own."""
        assert address_of(RequestFactory().get("/", REMOTE_ADDR="::ffff:192.0.2.1")) == "192.0.2.1"
