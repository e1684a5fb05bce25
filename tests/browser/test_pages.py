"""Every page, with every field at its limit: open to all, no wider than the window, and light on the wire."""

import re
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from tests.browser.support import COLOURS, LOOKS, NARROW, WIDE, Look, faults, overflow, repaint, visit
from tests.project.site import Browser, Program, Site

# What is no page, and Django's own forms for accounts, whose widgets lack labels.
LEFT_OUT = re.compile(r"/logout/|/static/|/api/(?!docs/)|/export/|/admin/(auth|accounts)/\w+/.")
UNLINKED = ("/login/", "/nothing/", "/LIMIT-99/", "/orders/9999/", "/invoices/INV-1999-000001/", "/admin/nothing/")
FIRST_VISIT = 60_000  # bytes over the wire, with everything that the page loads


@pytest.fixture(scope="session")
def limits(program: Program) -> None:
    """A project with a ticket, an order and an invoice whose every field is as long as it may be."""
    wide, lines = "W" * 200, [{"text": "W" * 200, "quantity": 10_000, "price": "1000000.00"}] * 50
    about = {"name": wide[:100], "description": f"{'W' * 1_000}\n{'W ' * 400}"}
    ticket = {"title": wide, "assignee": "a" * 150, "labels": [f"{n:02}{'L' * 38}" for n in range(20)]}
    markdown = (
        f"# {wide}\n\n|{'a|' * 30}\n|{'-|' * 30}\n|{wide}|\n\n```\n{wide * 3}\n```\n\n- {wide}\n\n> LIMIT-2 {wide}"
    )
    put = [
        program.post("/api/projects/", key="LIMIT", **about),
        program.post("/api/projects/LIMIT/tickets/", **ticket, description=markdown),
        program.post("/api/projects/LIMIT/tickets/", title="Void"),
        program.post("/api/projects/LIMIT/tickets/", title="Moved"),
        program.post("/api/tickets/LIMIT-1/comments/", text=markdown),
        program.post("/api/tickets/LIMIT-3/move/", project="SHOP"),
        program.post("/api/orders/", customer=wide, lines=lines),
    ]
    assert {answer.status for answer in put} <= {200, 201}, [answer.text[:300] for answer in put]


@pytest.fixture(scope="session")
def paths(site: Site, limits: None) -> list[str]:
    """The paths of all pages that links lead to, with one page of each kind of the samples."""
    browser = Browser(site)
    browser.sign_in()
    found, ahead = list[str](), ["/LIMIT/", "/LIMIT-1/", "/LIMIT-2/", "/", "/admin/", *UNLINKED]
    seen, kinds = set(ahead), set[str]()
    while ahead:
        path = ahead.pop(0)
        answer = browser.get(path)
        found.append(path)
        for link in re.findall(r'<a [^>]*?href="([^"#?]*)', answer.text):
            parts = urlsplit(urljoin(answer.url, link))
            kind = parts.path if "LIMIT" in parts.path else re.sub(r"\b[A-Z]{2,9}\b(?!-20)|\d+", "n", parts.path)
            local = f"{parts.scheme}://{parts.netloc}" == site.address
            if local and kind not in kinds | seen and not LEFT_OUT.search(parts.path):
                kinds.add(kind)
                seen.add(parts.path)
                ahead.append(parts.path)
    return found


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_page_is_open_to_all(
    browser: Any, site: Site, width: int, states: dict[str, Any], paths: list[str]
) -> None:
    """axe finds nothing, in either colours, and no page is wider than its window."""
    wrong: dict[str, list[str]] = {}
    with visit(browser, site, Look(width, "light"), states["demo"]) as page:
        page.watched.awaited.update({403, 404})
        for path in paths:
            page.emulate_media(color_scheme="light")
            page.goto(path)
            found = faults(page) + ([f"{over} pixels too wide"] if (over := overflow(page)) > 0 else [])
            repaint(page, "dark")
            if found := found + faults(page, COLOURS):
                wrong[path] = found
    assert len(paths) > 40
    assert not wrong, "\n".join(f"{path}\n    " + "\n    ".join(found) for path, found in wrong.items())


def test_the_sign_in_is_open_to_all(browser: Any, site: Site, painted: Look) -> None:
    """Who is not signed in meets one page."""
    with visit(browser, site, painted) as page:
        page.goto("/")
        assert faults(page) == []
        assert overflow(page) <= 0


@pytest.mark.parametrize("path", ["/login/", "/", "/SHOP/", "/SHOP-1/"])
def test_a_first_visit_is_light(browser: Any, site: Site, states: dict[str, Any], path: str) -> None:
    """A page and all that it loads are under 60 KB over the wire, for a browser that has seen nothing of the site."""
    with visit(browser, site, LOOKS[0], None if path == "/login/" else states["ann"]) as page:
        wire, sizes = page.context.new_cdp_session(page), list[float]()
        wire.send("Network.enable")
        wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        page.goto(path)
        page.wait_for_load_state("networkidle")
        assert len(sizes) > 3  # the page, its styles and its icon
        assert sum(sizes) < FIRST_VISIT, sizes


def test_the_page_of_a_comment_leads_to_it(browser: Any, site: Site, states: dict[str, Any], limits: None) -> None:
    """A permalink shows the comment that it names, below the header and inside the window."""
    with visit(browser, site, Look(NARROW, "light"), states["demo"]) as page:
        page.goto("/LIMIT-1/#event-1")
        box = page.locator("#event-1 .what").bounding_box()
        assert 0 <= box["y"] < page.viewport_size["height"]
