"""The running site, the browser, and pages for people who are signed in."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from project.proof.copies import copy_project
from tests.browser.support import ARGUMENTS, EXECUTABLE, LOOKS, Look, session, visit
from tests.project.site import Program, Site, free_port, running_site

COUNT = itertools.count(1)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """What `make run` starts, for all tests of a worker."""
    folder = copy_project(tmp_path_factory.mktemp("site") / "project")
    with running_site(Site(folder, free_port())) as site:
        yield site


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=EXECUTABLE, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def program(site: Site) -> Program:
    """A client of the REST API, to store what tests look at."""
    return Program(site)


@pytest.fixture(scope="session")
def sessions(site: Site) -> dict[str, Any]:
    """The sessions of the administrator, of Ann, who owns the project SHOP, and of Ben, who reports there."""
    return {name: session(site, name) for name in ("demo", "ann", "ben")}


@pytest.fixture(params=LOOKS, ids=str)
def look(request: pytest.FixtureRequest) -> Look:
    """How the person of a test looks at the site."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def page(browser: Any, site: Site, look: Look, sessions: dict[str, Any]) -> Iterator[Any]:
    """A page for the administrator."""
    with visit(browser, site, look, sessions["demo"]) as page:
        yield page


@pytest.fixture
def clocked(browser: Any, site: Site, look: Look, sessions: dict[str, Any]) -> Iterator[Any]:
    """A page for the administrator with a clock that the test sets. It stays in its profile, which nobody else gets."""
    with visit(browser, site, look, sessions["demo"], is_first=True) as page:
        page.clock.install()
        yield page


@pytest.fixture
def key(program: Program) -> str:
    """The key of a project of the test's own."""
    key = f"T{next(COUNT)}"
    assert program.post("/api/projects/", key=key, name=f"Project {key}").status == 201
    return key
