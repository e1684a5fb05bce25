"""Every page, with every field at its limit: open to all, no wider than the window, and light on the wire."""

import re
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from tests.browser.limits import FAR, PERSON, PROJECT, fill
from tests.browser.support import (
    COLOURS,
    LOOKS,
    MIDDLE,
    NARROW,
    WIDE,
    Look,
    faults,
    misplaced,
    overflow,
    repaint,
    sign_in,
    visit,
)
from tests.project.site import Browser, Program, Site

# What is no page, and Django's own forms for accounts, whose widgets lack labels.
LEFT_OUT = re.compile(r"/logout/|/static/|/api/(?!docs/)|/export/|/admin/(auth|accounts)/\w+/.")
UNLINKED = (
    "/login/", "/nothing/", f"/{PROJECT}-{FAR + 50}/", f"/orders/{FAR + 50}/", "/invoices/INV-1999-000001/",
    "/admin/nothing/",
)  # fmt: skip
PARTS = 2  # of all pages, for a test each
FIRST_VISIT = 60_000  # bytes over the wire, with everything that the page loads


@pytest.fixture(scope="session")
def limits(site: Site, program: Program) -> str:
    """The key of a ticket among things whose every field is as long as it may be."""
    return fill(site, program)


@pytest.fixture(scope="session")
def paths(site: Site, limits: str) -> list[str]:
    """The paths of all pages that links lead to, with one page of each kind of the samples."""
    browser = Browser(site)
    browser.sign_in(PERSON)
    found, ahead = list[str](), [f"/{PROJECT}/", f"/{limits}/", "/", "/admin/", *UNLINKED]
    seen, kinds = set(ahead), set[str]()
    while ahead:
        path = ahead.pop(0)
        answer = browser.get(path)
        found.append(path)
        for link in re.findall(r'<a [^>]*?href="([^"#?]*)', answer.text):
            parts = urlsplit(urljoin(answer.url, link))
            kind = parts.path if PROJECT in parts.path else re.sub(r"\b[A-Z]{2,9}\b(?!-20)|\d+", "n", parts.path)
            local = f"{parts.scheme}://{parts.netloc}" == site.address
            if local and kind not in kinds | seen and not LEFT_OUT.search(parts.path):
                kinds.add(kind)
                seen.add(parts.path)
                ahead.append(parts.path)
    return found


@pytest.mark.timeout(900)  # a slow machine takes a second for each look, and there are some hundreds
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("widths", [(MIDDLE, WIDE), (NARROW,)], ids=str)
def test_every_page_is_open_to_all(
    browser: Any, site: Site, widths: tuple[int, ...], part: int, paths: list[str]
) -> None:
    """axe finds nothing, and no text lies on another, is cut off, or is outside the window, in either colours."""
    wrong: dict[str, list[str]] = {}
    with visit(browser, site, Look(widths[-1], "light")) as page:
        page.goto("/login/")
        sign_in(page, PERSON, site.password)
        page.watched.awaited.update({403, 404})
        for path in paths[part::PARTS]:
            page.emulate_media(color_scheme="light")
            page.goto(path)
            found = faults(page) + ([f"{over} pixels too wide"] if (over := overflow(page)) > 0 else [])
            found += misplaced(page, widths)
            repaint(page, "dark")
            if found := found + faults(page, COLOURS) + misplaced(page, widths):
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


def test_the_page_of_a_comment_leads_to_it(browser: Any, site: Site, states: dict[str, Any], limits: str) -> None:
    """A permalink shows the comment that it names, below the header and inside the window."""
    with visit(browser, site, Look(NARROW, "light"), states["demo"]) as page:
        page.goto(f"/{limits}/#event-1")
        box = page.locator("#event-1 .what").bounding_box()
        assert 0 <= box["y"] < page.viewport_size["height"]
