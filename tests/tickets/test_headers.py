"""The headers of answers, and that no page needs more than its policy allows."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import Group, User
from django.http import FileResponse, HttpResponse, JsonResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from rest_framework.test import APIClient

from tests.tickets.access.test_doors import TABLE, address
from tests.tickets.sales.support import LINES, issued
from tickets import services
from tickets.accounts.services import make_token
from tickets.cursors import PAGE_SIZE
from tickets.headers import Headers, is_page
from tickets.sales import services as sales
from tickets.timeline.services import add_comment
from tickets.types import Project, Ticket, TicketKey

ABC_1 = TicketKey(project="ABC", number=1)
PAGE = {
    "default-src": "'none'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
DATA = {"default-src": "'none'", "frame-ancestors": "'none'"}
FEATURES = """
    accelerometer autoplay browsing-topics camera clipboard-read display-capture encrypted-media fullscreen gamepad
    geolocation gyroscope hid identity-credentials-get idle-detection keyboard-map local-fonts magnetometer microphone
    midi otp-credentials payment picture-in-picture publickey-credentials-create publickey-credentials-get
    screen-wake-lock serial storage-access sync-xhr usb window-management xr-spatial-tracking
"""
FEATURES_OFF = ", ".join(["clipboard-write=(self)", *(f"{feature}=()" for feature in FEATURES.split())])
NOTHING = "default-src 'none'; frame-ancestors 'none'"
# No page links to these: they are answers to forms, or lead elsewhere.
UNLINKED = [
    "/ABC/archive/", "/ABC/unarchive/", "/ABC/members/change/", "/ABC-1/comments/", "/ABC-2/restore/", "/ABC-99/",
    "/orders/1002/draft/", "/orders/1002/issue/", "/orders/ord-1001/", "/find/", "/password/", "/problems/", "/login/",
    "/admin/login/", "/admin/password_change/done/", "/admin/accounts/apitoken/add/",
    "/admin/sequences/sequence/tickets/scope/request/", "/nothing/",
    "/admin/sequences/sequence/invoices/rules/", "/admin/sequences/sequence/invoices/scope/rules/",
]  # fmt: skip
NOT_READ = {"logout", "admin:logout", "admin:login", "admin:jsi18n", "admin:autocomplete", "admin:view_on_site"}
NOT_READ.add("admin:password_change")  # /password/ stands in its place
NOT_READ |= {"admin:sequences_sequence_export", "tickets:preview"}  # a file, and an answer to what is typed
PAGES: dict[str, Any] = {}


def policy(response: Any) -> dict[str, str]:
    """What an answer lets its page load, by directive."""
    parts = (part.partition(" ") for part in response["Content-Security-Policy"].split("; "))
    return {name: sources for name, _, sources in parts}


class Reader(HTMLParser):
    """Reads where a page leads, what it loads or sends to, and what it has inside that belongs into files."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.inline: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort what one tag has."""
        for name, value in attrs:
            if name in ("src", "href", "action", "formaction", "srcset", "data", "poster"):
                (self.links if tag == "a" else self.loaded).append(value or "")
            elif name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}")
        if tag == "style" or (tag == "script" and "src" not in dict(attrs)):
            self.inline.append(tag)


@pytest.fixture
def pages(db: None, tables: str, request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Every page of the site and of the administration, by its path, as this module's first test has seen them."""
    if not PAGES:
        request.getfixturevalue("ticket")
        PAGES.update(pages_of(request.getfixturevalue("admin_user"), request.getfixturevalue("admin_client")))
    return PAGES


def pages_of(admin: User, browser: Client) -> Iterator[tuple[str, Any]]:
    """All pages that links lead to, and the unlinked ones, on a site that has one of everything."""
    add_comment(ABC_1, text="| a |\n|:-:|\n| b |\n\n<b style=x> https://example.com", by=admin.get_username())
    services.create_ticket("ABC", title="Void", reporter="ann")
    services.void_ticket(replace(ABC_1, number=2), reason="Twice", by="ann")
    issued()
    sales.create_order(customer="Bob", lines=LINES, by="ann")
    make_token(admin, name="CI", days=3)
    Group.objects.create(name="Writers")
    return crawl(browser, "/", "/admin/", "/ABC-1/progress/", "/ABC-1/comments/1/withdraw/", *UNLINKED)


def crawl(client: Client, *starts: str) -> Iterator[tuple[str, Any]]:
    """The pages at these paths, and all that their links lead to. Queries and parts of pages are left out."""
    ahead, seen = list(starts), set(starts)
    while ahead:
        path = ahead.pop()
        response = client.get(path, follow=True)
        if not response["Content-Type"].startswith("text/html"):
            continue
        yield path, response
        for link in Reader(response.content.decode()).links:
            parts = urlsplit(urljoin(response.wsgi_request.path, link))
            if not parts.netloc and parts.path not in seen and not parts.path.endswith("/logout/"):
                seen.add(parts.path)
                ahead.append(parts.path)


def views(resolver: URLResolver, namespace: str = "") -> Iterator[str]:
    """The names of all addresses but those of REST."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLPattern):
            yield f"{namespace}{pattern.name}"
        elif pattern.namespace != "api":
            yield from views(pattern, f"{pattern.namespace}:" if pattern.namespace else namespace)


def test_every_page_is_looked_at(pages: Mapping[str, Any]) -> None:
    """The tests below see every page: links lead to it, or it is named above."""
    looked_at = {resolve(urlsplit(path).path).view_name for path in pages}
    assert {view for view in views(get_resolver()) if "None" not in view} - looked_at == NOT_READ


def test_a_page_loads_what_it_needs_and_nothing_else(pages: Mapping[str, Any]) -> None:
    """Scripts and styles of this site alone, which ask this site alone."""
    assert {path: found for path, page in pages.items() if (found := policy(page)) != PAGE} == {}


def test_scripts_evaluate_nothing(pages: Mapping[str, Any]) -> None:
    """htmx runs no text as a script, adds no style of its own, and stores no page in the browser."""
    (found,) = re.findall("<meta name=\"htmx-config\" content='([^']*)'>", pages["/ABC/"].content.decode())
    said = json.loads(found)
    assert [said[name] for name in ("allowEval", "allowScriptTags", "includeIndicatorStyles")] == [False] * 3
    assert said["historyCacheSize"] == 0


def test_a_first_visit_weighs_little(browser: Client, abc: Project) -> None:
    """A list of 50 tickets with all that it loads is less than 60 KB on its way."""
    for number in range(PAGE_SIZE):
        services.create_ticket("ABC", title=f"Printer {number} is on fire", labels=["hot", "wet"], reporter="ann")
    page = browser.get("/ABC/")
    files = {path for path in Reader(page.content.decode()).loaded if path.startswith("/static/")}
    assert len(files) == 5
    answers = [browser.get(path, headers={"Accept-Encoding": "gzip"}) for path in ("/ABC/", *files)]
    assert sum(len(answer.getvalue()) for answer in answers) < 60_000


def test_no_page_has_a_script_or_a_style_inside(pages: Mapping[str, Any]) -> None:
    """Scripts and styles are files: the policy would stop others."""
    assert {path: found for path, page in pages.items() if (found := Reader(page.content.decode()).inline)} == {}


def test_no_page_knows_another_host(pages: Mapping[str, Any]) -> None:
    """All that pages load, and all that their forms are sent to, is of this site."""
    loaded = {path: Reader(page.content.decode()).loaded for path, page in pages.items()}
    assert {path: urls for path, urls in loaded.items() if any(urlsplit(url).netloc for url in urls)} == {}


def test_every_page_names_its_icon(pages: Mapping[str, Any]) -> None:
    """No browser asks for /favicon.ico, which is not there."""
    assert [path for path, page in pages.items() if '<link rel="icon" ' not in page.content.decode()] == []


def test_a_page_may_use_no_feature(pages: Mapping[str, Any]) -> None:
    """Camera and all the others are off on every page, but that it may copy a key to the clipboard."""
    assert {response["Permissions-Policy"] for response in pages.values()} == {FEATURES_OFF}


def test_only_its_reader_keeps_a_page(pages: Mapping[str, Any]) -> None:
    """No cache between the site and the browser keeps a page, and the browser asks before it shows it again."""
    for path, response in pages.items():
        assert {"private", "no-cache"} <= set(response["Cache-Control"].split(", ")), path
        assert {"Cookie", "HX-Request"} <= set(re.split(", *", response["Vary"])), path


def test_rest_answers_with_data(ann: User, browser: Client, ticket: Ticket) -> None:
    """An answer of REST, also an error, loads nothing, is kept by its caller alone, and says what it depends on."""
    text = make_token(ann, name="CI", days=3)[1]
    program = APIClient(headers={"Authorization": f"Bearer {text}"})
    names = [name for name in TABLE if name.startswith("api:") and name != "api:docs"]
    asking: list[tuple[Client, set[str]]] = [(program, set()), (browser, {"Cookie"}), (APIClient(), {"Cookie"})]
    for name, (client, asked) in product(names, asking):
        response = client.get(address(name, "ABC"))
        assert policy(response) == DATA, name
        assert response["Cache-Control"] == "private, no-cache", name
        without_session = asked if name != "api:token" else set()
        varied = set(re.split(", *", response["Vary"])) - {"Accept-Encoding"}  # of those that are worth compressing
        assert varied == {"Authorization", "Accept"} | without_session, name
        assert "Permissions-Policy" not in response, name


def test_answers_of_rest_are_compressed(ann: User, api: APIClient, ticket: Ticket) -> None:
    """A list is short on its way. Answers with a token, and files that are written while they are sent, stay plain."""
    ann.set_password("ann's password")
    ann.save()
    zipped = {"Accept-Encoding": "gzip"}
    read, plain = (api.get("/api/projects/ABC/tickets/", headers=headers) for headers in (zipped, {}))
    assert read["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in read["Vary"]
    assert gzip.decompress(read.content) == plain.content
    assert read["ETag"] == f"W/{plain['ETag']}"
    assert api.get("/api/projects/ABC/tickets/", headers={**zipped, "If-None-Match": read["ETag"]}).status_code == 304
    change = {"title": "Ink " * 40}
    tag = api.get("/api/tickets/ABC-1/", headers=zipped)["ETag"]
    assert api.patch("/api/tickets/ABC-1/", change, headers={**zipped, "If-Match": tag}).status_code == 200
    new = {"name": "CI" * 50, "password": "ann's password"}
    for answer in (
        api.post("/api/auth/tokens/", new, headers=zipped),
        api.get("/api/projects/ABC/tickets.csv", headers=zipped),
    ):
        assert len(answer.getvalue()) > 200
        assert "Content-Encoding" not in answer


def test_an_etag_still_spares_the_body(api: APIClient, ticket: Ticket) -> None:
    """Who asks again with the ETag gets 304, with the same words for caches."""
    read = api.get("/api/tickets/ABC-1/")
    again = api.get("/api/tickets/ABC-1/", headers={"If-None-Match": read["ETag"]})
    assert again.status_code == 304
    assert again["Cache-Control"] == read["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize("path", ["/tokens/new/", "/admin/"])
def test_what_nobody_may_keep_stays_so(admin_client: Client, path: str) -> None:
    """A view that says no-store is not overruled."""
    assert "no-store" in admin_client.get(path)["Cache-Control"]


@pytest.mark.parametrize("path", ["/static/tickets/tickets.css", "/healthz"])
def test_what_is_for_everybody_has_no_policy(client: Client, path: str) -> None:
    """Static files and the health of the site are as they were."""
    response = client.get(path)
    assert response.status_code == 200
    assert "private" not in response["Cache-Control"]
    assert "Content-Security-Policy" not in response


@pytest.mark.parametrize("request_headers", [{"Host": "elsewhere.test"}, {"Content-Length": "1000000000"}])
def test_an_early_error_is_a_page_like_the_others(client: Client, request_headers: dict[str, str]) -> None:
    """What is refused before any view has the same headers."""
    response = client.get("/", headers=request_headers)
    assert response.status_code in (400, 413)
    assert policy(response) == PAGE
    assert response["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("path", "answer", "headers"),
    [
        (
            "/ABC/",
            HttpResponse("x"),
            {"Cache-Control": "private, no-cache", "Permissions-Policy": FEATURES_OFF, "Vary": "HX-Request"},
        ),
        ("/ABC.json", JsonResponse({}), {"Cache-Control": "private, no-cache", "Content-Security-Policy": NOTHING}),
        (
            "/api/projects/",
            JsonResponse({}, headers={"Cache-Control": "no-store", "Content-Security-Policy": "x", "Vary": "Cookie"}),
            {"Cache-Control": "no-store", "Content-Security-Policy": "x", "Vary": "Cookie, Authorization, Accept"},
        ),
        (
            "/api/docs/",
            HttpResponse("x", headers={"Cache-Control": "no-store", "Permissions-Policy": "x"}),
            {"Cache-Control": "no-store", "Permissions-Policy": "x", "Vary": "Authorization, Accept, HX-Request"},
        ),
        ("/static/x.css", FileResponse([b"x"], content_type="text/css"), {}),
    ],
)
def test_what_an_answer_gets(path: str, answer: Any, headers: dict[str, str]) -> None:
    """A page, data, an answer that says more itself, and a file, which keeps the headers that it has."""
    told: Any = Headers(lambda _: answer)(RequestFactory().get(path))
    names = ("Cache-Control", "Content-Security-Policy", "Permissions-Policy", "Vary")
    found = {name: told[name] for name in names if name in told}
    if is_page(answer):
        assert "script-src 'self'" in found.pop("Content-Security-Policy")
    assert found == headers
