"""Heavy calls: what each counts, and how many of a caller are under way at once."""

from collections import Counter
from collections.abc import Iterator
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import get_resolver
from pytest_django import Settings
from rest_framework.test import APIClient

from tests.tickets.accounts.test_throttles import Clock
from tickets.accounts import heavy, services, throttles
from tickets.types import Project

LISTS = ["api:ticket_list", "api:order_list", "api:invoice_list", "tickets:project", "tickets:find"]
LISTS += ["sales:order_list", "sales:invoice_year"]
EXPORT, LIST, PAGE = "/api/projects/ABC/tickets.csv", "/api/projects/ABC/tickets/", "/ABC/"


@pytest.fixture(autouse=True)
def _limits(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The limits of the sample, which nobody has used, in a minute that does not end."""
    monkeypatch.setattr(throttles, "time", Clock())
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": uuid4().hex}}
    settings.THROTTLES, settings.HEAVY_AT_ONCE = {"user": "6000/minute"}, 2
    throttles.forget()
    heavy._under_way.clear()  # another test may have left an answer open
    yield
    throttles.forget()
    assert not heavy._under_way


@pytest.fixture
def program(ann: User, abc: Project) -> APIClient:
    """A program with a token of Ann's."""
    return APIClient(headers={"Authorization": f"Bearer {services.make_token(ann, name='x', days=1)[1]}"})


@pytest.fixture
def browser(ann: User, abc: Project) -> Client:
    """A browser in which Ann is signed in."""
    browser = Client()
    browser.force_login(ann)
    return browser


def test_the_addresses_are_there() -> None:
    """Each name in the tables is that of an address."""
    names = {f"{space}:{name}" for space in ("api", "tickets", "sales") for name in names_of(space)}
    assert names >= {*heavy.ALWAYS, *heavy.LISTS}


def names_of(space: str) -> set[str]:
    """The names of the addresses in a namespace."""
    return {key for key in get_resolver().namespace_dict[space][1].reverse_dict if isinstance(key, str)}


@pytest.mark.parametrize(
    ("address", "counts"),
    [
        (EXPORT, 100),
        (f"{EXPORT}?status=open", 100),
        (f"{LIST}?text=x", 20),
        (f"{LIST}?status=open&status=done&limit=5", 20),
        (f"{LIST}?limit=200", 5),
        (f"{LIST}?limit=50&order=oldest", 1),
        (LIST, 1),
        ("/api/projects/ABC/", 1),
    ],
)
def test_what_a_call_counts(program: APIClient, address: str, counts: int) -> None:
    """A call takes what it counts from the rate of its account."""
    before = int(program.get("/api/projects/")["RateLimit"].split("r=")[1].partition(";")[0])
    answer = program.get(address)
    b"".join(answer) if answer.streaming else None
    assert answer.status_code == 200
    assert int(answer["RateLimit"].split("r=")[1].partition(";")[0]) == before - counts


@pytest.mark.parametrize(
    ("method", "name", "query", "counts"),
    [
        ("GET", "api:ticket_export", "", 100),
        ("POST", "api:ticket_export", "", 100),
        ("GET", "tickets:mine", "", 20),
        *[("GET", name, "text=x", 20) for name in LISTS],
        *[("GET", name, "text=", 1) for name in LISTS],
        *[("GET", "api:order_list", f"{name}=1", 1) for name in ("archived", "cursor", "limit", "order")],
        ("GET", "api:order_list", "text=&text=x", 20),
        ("GET", "api:order_list", "order=changed", 20),
        ("GET", "api:order_list", "limit=99", 1),
        ("GET", "api:order_list", "limit=100", 5),
        ("HEAD", "api:order_list", "text=x", 20),
        ("POST", "api:order_list", "text=x", 1),
        ("GET", "api:order", "text=x", 1),
        ("GET", None, "text=x", 1),
    ],
)
def test_the_weight_of_a_request(method: str, name: str | None, query: str, counts: int) -> None:
    """Whole lists and lists with a filter count most, then long pages; what is no list counts once."""
    request = RequestFactory().generic(method, f"/?{query}")
    request.resolver_match = name and Mock(view_name=name)  # type: ignore[assignment]
    assert heavy.weight(request) == counts


def test_pages_with_a_filter_count_too(browser: Client, program: APIClient) -> None:
    """A page with a filter takes as much from the same rate; one without takes nothing."""
    assert not browser.get(PAGE).has_header("RateLimit")
    assert not browser.get(f"{PAGE}?text=&status=").has_header("RateLimit")
    for times, asked in enumerate(("text=x", "order=changed"), 1):
        assert browser.get(f"{PAGE}?{asked}")["RateLimit"].startswith(f'"user";r={6000 - times * heavy.SEARCH};')
    assert program.get("/api/projects/")["RateLimit"].startswith(f'"user";r={6000 - 2 * heavy.SEARCH - 1};')


def test_searches_of_all_projects_count(browser: Client) -> None:
    """What one has filed, and words in the field on top, are looked for in many projects."""
    assert browser.get("/find/mine/")["RateLimit"].startswith(f'"user";r={6000 - heavy.SEARCH};')
    assert browser.get("/find/?text=printer")["RateLimit"].startswith(f'"user";r={6000 - 2 * heavy.SEARCH};')


def test_few_are_under_way_at_once(program: APIClient, browser: Client, ann: User) -> None:
    """While answers are not sent to their end, the next heavy call is refused at once, and nothing else is.

    REST and pages of an account count together. When one is sent, or its client is gone, there is another.
    """
    first, second = program.get(EXPORT), program.get(EXPORT)
    refused = program.get(f"{LIST}?text=x")
    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    assert refused["Content-Type"] == "application/problem+json"
    page = browser.get(f"{PAGE}?text=x")
    assert (page.status_code, page["Retry-After"]) == (429, "1")
    assert "Wait 1 second, then try again." in page.content.decode()
    assert (program.get(LIST).status_code, browser.get(PAGE).status_code) == (200, 200)

    b"".join(first)
    first.close()
    assert program.get(f"{LIST}?text=x").status_code == 200
    assert browser.get(f"{PAGE}?text=x").status_code == 200
    second.close()


def test_accounts_do_not_limit_each_other(program: APIClient) -> None:
    """Another account has calls of its own."""
    mine, bob = [program.get(EXPORT) for _ in range(3)], User.objects.create_user("bob", is_staff=True)
    other = APIClient(headers={"Authorization": f"Bearer {services.make_token(bob, name='x', days=1)[1]}"})
    theirs = other.get(EXPORT)
    assert [answer.status_code for answer in (*mine, theirs)] == [200, 200, 429, 200]
    for answer in (*mine, theirs):
        answer.close()


def test_a_call_that_fails_is_over(program: APIClient) -> None:
    """Errors leave nothing behind."""
    assert [program.get(f"{LIST}?nothing=x").status_code for _ in range(5)] == [400] * 5
    assert [program.get(EXPORT.replace("ABC", "NONE")).status_code for _ in range(5)] == [404] * 5


def test_one_changes_the_counts_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under way is counted under a lock, also at the end: a lost count would keep its caller out for ever."""
    locked = []

    class Counts(Counter[str]):
        def __setitem__(self, caller: str, count: int) -> None:
            locked.append(heavy._lock.locked())
            super().__setitem__(caller, count)

        def __delitem__(self, caller: object) -> None:
            locked.append(heavy._lock.locked())
            super().__delitem__(caller)

    monkeypatch.setattr(heavy, "_under_way", Counts())
    assert heavy.begin(RequestFactory().get("/"), "ana")
    heavy._end("ana")
    assert locked == [True, True, True]
    assert not heavy._under_way
