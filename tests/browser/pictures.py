"""The pictures of the README: `.local/venv/bin/python -m tests.browser.pictures`, where `make browser` has run."""

import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from project.paths import ROOT
from project.proof.copies import copy_project
from tests.browser.support import ARGUMENTS, EXECUTABLE, Look, sign_in, visit
from tests.project.site import Program, Site, free_port, running_site

FOLDER = ROOT / "docs" / "pictures"
LOOK = Look(1040, "light")
SIZE = {"width": 1040, "height": 640}
# Where each is taken, and from how many pixels below the top.
PLACES = {
    "list": ("/SHOP/", 0),
    "ticket": ("/SHOP-3/", 0),
    "overview": ("/admin/sequences/sequence/", 0),
    "numbers": ("/numbers/?strategy=SortKeyMaximum", 250),
}


def main() -> None:
    """Take them on a fresh site with the samples."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        site = Site(copy_project(Path(folder) / "project"), free_port())
        browser = driver.chromium.launch(executable_path=EXECUTABLE, args=ARGUMENTS)
        with running_site(site), visit(browser, site, LOOK) as page:
            converse(Program(site))
            page.goto("/login/")
            sign_in(page, "demo", site.password)
            take(page)
        browser.close()


def converse(program: Program) -> None:
    """Say something about the ticket that is shown."""
    text = "Seen again in **1.4**, together with SHOP-2:\n\n- the second page is empty\n- `Retry-After` is missing"
    assert program.post("/api/tickets/SHOP-3/comments/", text=text).status == 201


def take(page: Any) -> None:
    """Store a picture of each place."""
    FOLDER.mkdir(exist_ok=True)
    page.set_viewport_size(SIZE)
    for name, (place, below) in PLACES.items():
        page.goto(place)
        page.evaluate("below => scrollTo(0, below)", below)
        page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
