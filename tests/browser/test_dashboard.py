"""What an administrator sees of the numbers at work, and does to them."""

from typing import Any

import pytest

from tests.browser.support import HEIGHT, LOOKS, MIDDLE, NARROW, WIDE, Look, arrive, misplaced, overflow, visit
from tests.project.site import Program, Site

OVERVIEW = "/admin/sequences/sequence/"


def row(page: Any, name: str) -> list[str]:
    """The first lines of the cells of the table row that this names, as soon as the page has it."""
    cells = page.locator("tr", has=page.get_by_role("rowheader", name=name)).locator("th, td")
    cells.first.wait_for()
    return [text.strip().split("\n")[0] for text in cells.all_inner_texts()]


def file(program: Program, key: str, count: int) -> None:
    """File so many tickets."""
    for number in range(1, count + 1):
        assert program.post(f"/api/projects/{key}/tickets/", title=f"Title {number}").status == 201


def test_the_overview_counts_a_known_load(page: Any, program: Program, key: str) -> None:
    """Seven tickets are seven of the last hour, day and month, and the scope is found by how it begins."""
    file(program, key, 7)
    arrive(page, OVERVIEW)
    page.get_by_label("Sequence", exact=True).select_option("tickets")
    page.get_by_label("Scopes that begin with").fill(key)
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name=key, exact=True).wait_for()
    name, last, hour, day, month, *_ = row(page, key)
    assert (name, last, hour, day, month) == (key, "7", "7", "7", "7")
    page.get_by_role("link", name=key, exact=True).click()
    assert row(page, "Last value")[1] == "7"
    assert row(page, "Next numbers")[1] == "8, 9, 10"
    assert row(page, "7")[-1] == f"{key} / 7"


def test_a_scope_is_frozen_and_thawed(page: Any, program: Program, key: str) -> None:
    """A change is shown before it is made, with its reason; while the scope is frozen nothing is filed."""
    file(program, key, 1)
    scope = f"{OVERVIEW}tickets/scope/?scope={key}"
    arrive(page, scope)
    change(page, "Freeze", "Count the stock.")
    refused = program.post(f"/api/projects/{key}/tickets/", title="Meanwhile")
    assert (refused.status, refused.content["code"]) == (503, "frozen")
    arrive(page, scope)
    assert "Count the stock." in row(page, "Frozen")[1]
    change(page, "Thaw", "It is counted.")
    assert program.post(f"/api/projects/{key}/tickets/", title="Afterwards").status == 201
    arrive(page, scope)
    assert row(page, "Frozen")[1] == "No"


def change(page: Any, name: str, reason: str) -> None:
    """Make a guarded change of the scope on the page."""
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name="Show what it would do").click()
    page.get_by_role("button", name=f"Yes, {name.lower()}").click()
    page.locator(".messagelist").wait_for()


def test_a_scope_is_audited(page: Any, program: Program, key: str) -> None:
    """An audit runs in the background, and its result is kept."""
    file(program, key, 3)
    arrive(page, f"{OVERVIEW}tickets/scope/?scope={key}")
    page.get_by_role("link", name="Audit this scope").click()
    page.get_by_role("button", name="Begin an audit").click()
    page.get_by_role("rowheader", name="Verdict").wait_for()  # the page loads itself again until then
    assert row(page, "Numbers with an item or a row")[1] == "3"
    assert row(page, "Unexplained")[1] == "0"


def test_the_tables_are_judged(page: Any) -> None:
    """The health of the tables is told line by line, with what helps."""
    arrive(page, f"{OVERVIEW}health/")
    assert row(page, "latency")[1] == "good"
    assert row(page, "latency")[-1] == "nothing to do"


def requests_of(page: Any) -> list[str]:
    """The addresses of pages that are asked for from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if OVERVIEW in request.url else None)
    return asked


def test_a_page_stays_while_its_figures_are_renewed(clocked: Any, program: Program, key: str, look: Look) -> None:
    """What is open, where the focus and the scroll are, stay; the figures are new. Pause stops it."""
    file(program, key, 2)
    arrive(clocked, f"{OVERVIEW}tickets/?q={key}")
    clocked.get_by_role("link", name=key, exact=True).wait_for()
    pause = clocked.get_by_role("button", name="Pause")
    assert pause.count() == look.script
    if not look.script:
        assert clocked.get_by_text("Read at 20").is_visible()
        return
    clocked.get_by_label("About tickets").click()
    clocked.get_by_label("Scopes that begin with").fill("typed")
    clocked.get_by_role("link", name=key, exact=True).focus()
    clocked.set_viewport_size({"width": look.width, "height": 400})
    clocked.evaluate("scrollTo(0, 100)")
    program.post(f"/api/projects/{key}/tickets/", title="Another")
    clocked.clock.run_for(11_000)
    clocked.locator("[data-label='Last value'] span").get_by_text("3", exact=True).wait_for()
    assert clocked.evaluate("document.activeElement.textContent") == key
    assert clocked.evaluate("scrollY") == 100
    assert clocked.get_by_text("A thousand numbers with items").is_visible()
    assert clocked.get_by_label("Scopes that begin with").input_value() == "typed"
    pause.click()
    asked = requests_of(clocked)
    clocked.clock.run_for(60_000)
    assert asked == []


@pytest.mark.parametrize("look", [LOOKS[0]], ids=str)
def test_it_rests_while_nobody_sees_it(clocked: Any) -> None:
    """A hidden tab asks for nothing, and at once when it is seen again."""
    arrive(clocked, OVERVIEW)
    asked = requests_of(clocked)
    hide = "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true}); }"
    clocked.evaluate(hide, True)
    clocked.clock.run_for(60_000)
    assert asked == []
    clocked.evaluate(hide, False)
    with clocked.expect_response(f"**{OVERVIEW}"):
        clocked.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_day_of_the_line_can_be_pointed_at(page: Any, program: Program, key: str, look: Look) -> None:
    """A day, or an hour, says its count under the pointer; the arrow keys go on from it, and a table has them all."""
    file(program, key, 3)
    arrive(page, f"{OVERVIEW}tickets/scope/?scope={key}")
    days = page.locator(".chart").last
    points = days.locator(".point")
    assert points.count() == 30
    points.last.hover()
    assert days.locator(".point text:visible").text_content().endswith(": 3")
    page.mouse.move(0, 0)
    if look.script:
        points.last.focus()
        page.keyboard.press("ArrowLeft")
        assert days.locator(".point text:visible").text_content().endswith(": 0")
    days.get_by_text("As a table").click()
    assert days.locator("tbody tr").first.inner_text().split()[-1] == "3"


def test_nothing_is_cut(browser: Any, site: Site, sessions: dict[str, Any], program: Program, key: str) -> None:
    """With all that can be opened, no text lies on another or is cut off, from a telephone to a wide screen."""
    file(program, key, 2)
    pages = [f"tickets/scope/{more}?scope={key}" for more in ("", "audit/", "freeze/")]
    with visit(browser, site, LOOKS[0], sessions["demo"]) as page:
        for path in ("", "health/", "tickets/", *pages):
            arrive(page, f"{OVERVIEW}{path}")
            for details in page.locator("#content-main summary").all():
                details.click()
            for width in (WIDE, 1040, MIDDLE, NARROW):
                page.set_viewport_size({"width": width, "height": HEIGHT})
                assert misplaced(page) == [], (path, width)
                assert overflow(page) <= 0, (path, width)
