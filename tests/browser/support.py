"""A browser, how a person looks at the site with it, and what no page may do."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT

from project.commands.bootstrap import CHROMIUM
from tests.project.site import Browser, Site

EXECUTABLE = next(filter(None, map(shutil.which, CHROMIUM)), None)
# So that it also runs as root, draws without a graphics card, and asks nobody for anything.
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
HEIGHT = 900
SECONDS = 20.0
AXE = "async options => (await axe.run(options)).violations"
MISPLACED = (Path(__file__).parent / "misplaced.js").read_text(encoding="utf-8")
BUSY = 503
LOST = 0  # in the place of a status: no answer came
_kept: dict[tuple[Any, "Look"], Any] = {}


@dataclass(frozen=True)
class Look:
    """How a person looks at the site. Its text names a test."""

    width: int
    scheme: str
    script: bool = True

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}-{'script' if self.script else 'plain'}"


WIDE, MIDDLE, NARROW = 1280, 768, 380
# With scripts and without, wide and narrow, light and dark. The styles are the same with scripts and without.
LOOKS = (Look(WIDE, "light"), Look(NARROW, "dark", script=False))
IN_HAND = Look(NARROW, "dark")


class Watched:
    """A page whose troubles are kept: what it says to the console, errors of its scripts, and other hosts it asks.

    An answer of 400 or more is a trouble, too, and none at all (LOST), unless its status is in `awaited`.
    """

    def __init__(self, page: Any, site: Site) -> None:
        self.page, self.awaited = page, set[int]()
        self._site, self._said = site, list[tuple[str, int | None]]()
        page.set_default_timeout(SECONDS * 1000)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._keep(f"error: {error}"))
        page.on("request", self._request)

    @property
    def troubles(self) -> list[str]:
        """What happened that should not."""
        return [text for text, status in self._said if status not in self.awaited]

    def _keep(self, text: str, status: int | None = None) -> None:
        self._said.append((f"{self.page.url}: {text}", status))

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            _, found, status = message.text.partition("the server responded with a status of ")
            lost = LOST if message.text.startswith(("Failed to load resource: net::ERR_", "htmx:")) else None
            self._keep(message.text, int(status.split()[0]) if found else lost)

    def _request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "data" and f"{parts.scheme}://{parts.netloc}" != self._site.address:
            self._keep(f"asks {request.url}")


@contextmanager
def visit(browser: Any, site: Site, look: Look, cookies: Sequence[Any] = (), is_first: bool = False) -> Iterator[Any]:
    """A page of the site for one visitor, signed in by the cookies of a `session`. Fails if the page had troubles.

    Visitors with one look come one after the other into one profile of the browser: a new one takes a second. The next
    finds no page, cookie or permission of the last, but what the browser has cached. A first visit has its own profile.
    """
    context = _profile(browser, site, look) if is_first else _kept_profile(browser, site, look)
    context.add_cookies(cookies)
    page = context.new_page()
    page.watched = Watched(page, site)
    try:
        yield page
        assert not page.watched.troubles, "\n".join(page.watched.troubles)
    finally:
        if is_first:
            context.close()
        else:
            _leave(context)


def _profile(browser: Any, site: Site, look: Look) -> Any:
    return browser.new_context(
        base_url=site.address,
        color_scheme=look.scheme,
        java_script_enabled=look.script,
        reduced_motion="reduce",
        viewport={"width": look.width, "height": HEIGHT},
    )


def _kept_profile(browser: Any, site: Site, look: Look) -> Any:
    """The profile of all visitors with a look. Its first page keeps it warm: with no page, its window would close."""
    if (browser, look) not in _kept:
        _kept[browser, look] = _profile(browser, site, look)
        _kept[browser, look].new_page().goto("/login/")
    return _kept[browser, look]


def _leave(context: Any) -> None:
    """Take away what a visitor leaves in a profile."""
    stays, *pages = context.pages
    for page in pages:
        page.close()
    stays.evaluate("localStorage.clear()")
    context.clear_cookies()
    context.clear_permissions()


def session(site: Site, name: str) -> list[dict[str, str]]:
    """The cookies of a person who has signed in."""
    browser = Browser(site)
    browser.sign_in(name)
    return [{"name": name, "value": value, "url": site.address} for name, value in browser.cookies.items()]


def sign_in(page: Any, name: str, password: str) -> None:
    """Sign in by the form on the page."""
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def arrive(page: Any, address: str) -> None:
    """Open a page of many rows. One that cannot read them in time, on a busy machine, says 503: it is asked again."""
    page.watched.awaited.add(BUSY)
    while page.goto(address).status == BUSY:
        pass  # until the test's time is over


def path(page: Any) -> str:
    """The path of the page."""
    return str(urlsplit(page.url).path)


def faults(page: Any) -> list[str]:
    """What axe finds on a page: the rule and the place."""
    options = {"preload": False, "resultTypes": ["violations"]}  # preloading styles is against the policy
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(AXE, options)
    return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]


def show(page: Any, width: int, scheme: str) -> None:
    """Show the page at another width and in other colours."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)


def hold_still(page: Any) -> None:
    """Let the page change its colours at once: axe must not see those in between."""
    page.evaluate(
        """() => {
            const still = new CSSStyleSheet();
            still.replaceSync("* { transition: none !important; }");
            document.adoptedStyleSheets = [still];
        }"""
    )


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def misplaced(page: Any) -> list[str]:
    """The texts and fields that lie on others, are cut off, broken or outside the window."""
    return list(page.evaluate(MISPLACED))
