"""Every page, with every field at its limit: open to all, no wider than the window, and light on the wire."""

import re
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from project.paths import ROOT
from tests.browser.limits import FAR, PERSON, PROJECT, fill
from tests.browser.support import (
    BUSY,
    LOOKS,
    MIDDLE,
    NARROW,
    WIDE,
    arrive,
    faults,
    hold_still,
    misplaced,
    overflow,
    session,
    show,
    visit,
)
from tests.project.site import Browser, Program, Site

# What is no page, and Django's own forms for accounts, whose widgets lack labels.
LEFT_OUT = re.compile(r"/logout/|/static/|/api/(?!docs/)|/export/|/admin/(auth|accounts)/\w+/.")
UNLINKED = (
    "/login/", "/nothing/", f"/{PROJECT}-{FAR + 50}/", f"/orders/{FAR + 50}/", "/invoices/INV-1999-000001/",
    "/admin/nothing/",
)  # fmt: skip
PARTS = 4  # of all pages, for a test each
SHOWN = [(WIDE, "light"), (MIDDLE, "dark"), (NARROW, "dark")]
JUDGED = [(WIDE, "light"), (NARROW, "dark")]
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
    found, ahead = dict[str, str](), [f"/{PROJECT}/", f"/{limits}/", "/", "/admin/", *UNLINKED]
    seen, kinds = set(ahead), set[str]()
    while ahead:
        path = ahead.pop(0)
        while (answer := browser.get(path)).status == BUSY:
            pass
        if answer.status != 200 and path not in UNLINKED:
            continue  # as those: one page says that nothing was found
        found.setdefault(answer.url, path)
        for link in re.findall(r'<a [^>]*?href="([^"#?]*)', answer.text) if answer.status == 200 else ():
            parts = urlsplit(urljoin(answer.url, link))
            local = f"{parts.scheme}://{parts.netloc}" == site.address
            if local and parts.path not in seen and kind(parts.path) not in kinds and not LEFT_OUT.search(parts.path):
                kinds.add(kind(parts.path))
                seen.add(parts.path)
                ahead.append(parts.path)
    assert len(found) > 70
    return [*found.values()]


def kind(path: str) -> str:
    """The path without keys and numbers; in PROJECT, whose tickets have all that may be, without those of forms."""
    if PROJECT in path:
        return re.sub(r"-\d+/(?=\w)", "-n/", path)
    return re.sub(r"\b[A-Z]{2,9}\b(?!-20)|\d+", "n", path)


@pytest.mark.timeout(900)  # a slow machine takes seconds for each page
@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_is_open_to_all(browser: Any, site: Site, part: int, paths: list[str]) -> None:
    """axe finds nothing, and no text lies on another, is cut off, or is outside the window."""
    wrong: dict[str, list[str]] = {}
    with visit(browser, site, LOOKS[0], session(site, PERSON)) as page:
        page.watched.awaited.update({403, 404})
        for path in paths[part::PARTS]:
            show(page, WIDE, "light")
            arrive(page, path)
            if found := at_all_widths(page):
                wrong[path] = found
    assert not wrong, "\n".join(f"{path}\n    " + "\n    ".join(found) for path, found in wrong.items())


def at_all_widths(page: Any) -> list[str]:
    """What is wrong with a page that is WIDE and light, then in each look. All rules of axe hold for two of them.

    No width has colours of its own, and no colours have a layout of their own (see below).
    """
    found = list[str]()
    hold_still(page)
    for width, scheme in SHOWN:
        show(page, width, scheme)
        wrong = misplaced(page)
        if (width, scheme) in JUDGED:
            wrong += faults(page)
        if (over := overflow(page)) > 0:
            wrong.append(f"{over} pixels too wide")
        found += [f"{width} {scheme}: {one}" for one in wrong]
    return found


def test_no_width_has_colours_of_its_own() -> None:
    """Styles for some widths of the window say nothing of colours: who can read a page in them can at any width."""
    found = 0
    for styles in (ROOT / "tickets" / "static" / "tickets").glob("*.css"):
        for rules in re.findall(r"@media \((?:min|max)-width.*?\n}", styles.read_text(encoding="utf-8"), re.DOTALL):
            found += 1
            assert not re.search(r"colou?r|background|opacity|filter|shadow|visibility", rules), styles
    assert found > 3


def test_no_colours_have_a_layout_of_their_own() -> None:
    """Styles for dark colours set variables alone: what has its place in light colours has it in dark ones."""
    dark = [
        rules
        for styles in (*ROOT.glob("tickets/static/*/*.css"), *ROOT.glob("project/*/static/*/*.css"))
        for rules in re.findall(r"@media \(prefers-color-scheme.*?\n}", styles.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(dark) > 1
    assert {name[:2] for rules in dark for name in re.findall(r"[{;]\s*([\w-]+):", rules)} == {"--"}


def test_the_sign_in_is_open_to_all(browser: Any, site: Site) -> None:
    """Who is not signed in meets one page."""
    with visit(browser, site, LOOKS[0]) as page:
        page.goto("/")
        assert at_all_widths(page) == []


@pytest.mark.parametrize("path", ["/login/", "/", "/SHOP/", "/SHOP-1/"])
def test_a_first_visit_is_light(browser: Any, site: Site, sessions: dict[str, Any], path: str) -> None:
    """A page and all that it loads are under 60 KB over the wire, for a browser that has seen nothing of the site."""
    with visit(browser, site, LOOKS[0], () if path == "/login/" else sessions["ann"], is_first=True) as page:
        wire, sizes = page.context.new_cdp_session(page), list[float]()
        wire.send("Network.enable")
        wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        page.goto(path)
        page.wait_for_load_state("networkidle")
        assert len(sizes) > 3  # the page, its styles and its icon
        assert sum(sizes) < FIRST_VISIT, sizes


def test_the_page_of_a_comment_leads_to_it(browser: Any, site: Site, sessions: dict[str, Any], limits: str) -> None:
    """A permalink shows the comment that it names, below the header and inside the window."""
    with visit(browser, site, LOOKS[1], sessions["demo"]) as page:
        page.goto(f"/{limits}/#event-1")
        box = page.locator("#event-1 .what").bounding_box()
        assert 0 <= box["y"] < page.viewport_size["height"]
