"""What people do on the pages, each with and without scripts, wide and narrow, light and dark."""

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.browser.support import WIDE, Look, path, sign_in, visit
from tests.project.site import Program, Site


def filed(program: Program, key: str, *titles: str, **about: Any) -> None:
    """File tickets by REST."""
    for title in titles:
        assert program.post(f"/api/projects/{key}/tickets/", title=title, **about).status == 201


def titles(page: Any) -> list[str]:
    """The titles of the tickets in the list on the page."""
    return page.locator(".tickets .title").all_inner_texts()  # type: ignore[no-any-return]


def test_a_project_is_made_and_its_tickets_are_filed(page: Any, key: str) -> None:
    """A project by its form, two tickets by their titles alone, one by the whole form."""
    made = f"{key}N"
    page.goto("/")
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Key", exact=True).fill(made)
    page.get_by_label("Name").fill("Made by hand")
    page.get_by_role("button", name="Make project").click()
    for title in ("First", "Second"):
        page.get_by_label("Title of a new ticket").fill(title)
        page.get_by_role("button", name="File", exact=True).click()
        page.locator(".tickets").get_by_role("link", name=title).wait_for()
        assert page.locator("#quick").input_value() == ""
    page.get_by_role("button", name="New ticket").click()
    page.get_by_label("Title", exact=True).fill("Third")
    page.get_by_label("Description").fill(f"After **{made}-2**: {made}-1.")
    page.get_by_label("Labels").fill("paper, ink")
    page.get_by_role("button", name="File ticket").click()
    page.wait_for_url(f"**/{made}-3/")
    assert [link.get_attribute("href") for link in page.locator("a.mention").all()] == [f"/{made}-2/", f"/{made}-1/"]
    page.goto(f"/{made}/")
    assert titles(page) == ["Third", "Second", "First"]


def test_tickets_are_found(page: Any, key: str, program: Program) -> None:
    """By a word, by a label that is a link, and no longer when the chip is taken away; and by the key in the header."""
    filed(program, key, "Printer on fire", "Printer out of paper", labels=["printer"])
    filed(program, key, "Coffee")
    page.goto(f"/{key}/")
    page.get_by_label("Words of the title or the description").fill("fire")
    page.get_by_role("button", name="Find", exact=True).click()
    page.get_by_role("link", name="text: fire").wait_for()
    assert titles(page) == ["Printer on fire"]
    page.get_by_role("link", name="printer", exact=True).click()
    page.get_by_role("link", name="label: printer").wait_for()
    assert titles(page) == ["Printer out of paper", "Printer on fire"]
    page.get_by_role("link", name="label: printer").click()
    page.get_by_role("link", name="Coffee").wait_for()
    assert page.locator(".filters").count() == 0
    go = page.get_by_role("search", name="All projects").get_by_role("searchbox")
    go.fill(f"{key.lower()}-2")
    go.press("Enter")
    page.wait_for_url(f"**/{key}-2/")


def test_words_are_found_in_all_projects(page: Any, key: str, program: Program) -> None:
    """The box of the header finds tickets by their words, and "My tickets" those that one works on."""
    filed(program, key, f"Lamp {key} flickers", assignee="demo")
    page.goto("/")
    box = page.get_by_role("search", name="All projects").get_by_role("searchbox")
    box.fill(f"lamp {key}")
    box.press("Enter")
    page.get_by_role("heading", name=f"Tickets with “lamp {key}”").wait_for()
    assert titles(page) == [f"Lamp {key} flickers"]
    page.get_by_role("link", name="My tickets").click()
    mine = page.locator(".tickets .title", has_text=f"Lamp {key} flickers")
    page.get_by_role("heading", name="My tickets").wait_for()
    while not mine.count():  # a page looks at ten projects, and other tests make some
        page.goto(page.get_by_role("link", name="Next page").evaluate("link => link.href"))


def test_a_number_says_how_it_was_made(page: Any, key: str) -> None:
    """Who files a ticket may ask how its number was made, and is led to the page that shows it."""
    page.goto(f"/{key}/")
    page.get_by_label("Title of a new ticket").fill("First")
    page.get_by_role("button", name="File", exact=True).click()
    cost = page.get_by_text("It took")
    page.get_by_text("How?").click()
    cost.wait_for()
    page.get_by_role("link", name="the highest sort key plus one").click()
    page.wait_for_url("**/numbers/")


def test_a_list_is_taken_away(page: Any, key: str, program: Program) -> None:
    """The list on the page is a file for spreadsheets, with its filters."""
    filed(program, key, "Leak", "Drip")
    page.goto(f"/{key}/?text=drip")
    with page.expect_download() as taken:
        page.get_by_role("link", name="CSV").click()
    with Path(taken.value.path()).open(encoding="utf-8-sig", newline="") as lines:
        assert [line[:2] for line in csv.reader(lines)][1:] == [[f"{key}-2", "Drip"]]


def test_a_ticket_goes_its_way(page: Any, key: str, program: Program) -> None:
    """It is assigned and closed in place, commented on, edited, moved, voided and restored."""
    filed(program, key, "Leak", "Drip")
    assert program.post("/api/projects/", key=f"{key}M", name="Elsewhere").status == 201
    page.goto(f"/{key}-1/")
    page.get_by_label("Assignee").fill("ann")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Assignee: nothing → ann").wait_for()
    page.get_by_role("button", name="Start").click()
    page.get_by_text("Status: open → in_progress").wait_for()
    page.get_by_role("button", name="Close", exact=True).first.click()
    page.get_by_text("Status: in_progress → done").wait_for()
    page.locator("#timeline textarea").fill("It is **dry** now.")
    page.locator("#timeline").get_by_role("button", name="Comment").click()
    page.locator("#timeline strong", has_text="dry").wait_for()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Title", exact=True).fill("Leak in the roof")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Leak in the roof").wait_for()
    page.get_by_role("link", name="Move to another project").click()
    page.get_by_label("To project").fill(f"{key}M")
    page.get_by_role("button", name=f"Move {key}-1").click()
    page.wait_for_url(f"**/{key}M-1/")
    page.goto(f"/{key}-2/")
    page.get_by_role("link", name="Void this ticket").click()
    page.get_by_label("Why?").fill("It was the leak.")
    page.get_by_role("button", name=f"Void {key}-2").click()
    page.get_by_text("Its number is not used again.").wait_for()
    page.get_by_role("link", name="Restore this ticket").click()
    page.get_by_role("button", name=f"Restore {key}-2").click()
    page.get_by_role("heading", name="Drip").wait_for()


def test_a_comment_is_mended_and_withdrawn(page: Any, key: str, program: Program) -> None:
    """Its writer changes its text, then takes it back; its place stays."""
    filed(program, key, "Leak")
    assert program.post(f"/api/tickets/{key}-1/comments/", text="Frist").status == 201
    page.goto(f"/{key}-1/")
    page.get_by_role("link", name="Edit comment 1").click()
    page.get_by_label("Comment").fill("First")
    page.get_by_role("button", name="Save").click()
    page.locator("#event-1", has_text="First").wait_for()
    page.get_by_role("link", name="Edit comment 1").click()
    page.get_by_role("button", name="Withdraw the comment").click()
    page.locator("#event-1 .empty").wait_for()
    assert "First" not in page.locator("#event-1").inner_text()


def test_two_people_edit_one_ticket(page: Any, key: str, program: Program) -> None:
    """The second sees what the first has changed beside what they typed, and nothing is lost."""
    filed(program, key, "Leak")
    page.watched.awaited.add(409)
    page.goto(f"/{key}-1/edit/")
    other = page.context.new_page()
    other.goto(f"/{key}-1/edit/")
    other.get_by_label("Title", exact=True).fill("Leak in the roof")
    other.get_by_role("button", name="Save").click()
    other.get_by_role("heading", name="Leak in the roof").wait_for()
    page.get_by_label("Title", exact=True).fill("Leak in the wall")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Leak in the roof").wait_for()
    assert page.get_by_label("Title", exact=True).input_value() == "Leak in the wall"
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Leak in the wall").wait_for()


def test_an_ended_session_loses_nothing(page: Any, key: str, site: Site) -> None:
    """A ticket that is typed when the session ends is filed after signing in again, as it was typed."""
    page.goto(f"/{key}/new/")
    page.get_by_label("Title", exact=True).fill("Typed before lunch")
    page.get_by_label("Description").fill("And *a lot* of it.")
    page.context.clear_cookies(name="sessionid")
    page.watched.awaited.update({401, 403})  # the sign-in, and the form of the earlier session
    page.get_by_role("button", name="File ticket").click()
    page.get_by_text("Your session has ended.").wait_for()
    sign_in(page, "demo", site.password)
    page.get_by_role("button", name="Send it").click()
    page.wait_for_url(f"**/{key}-1/")
    assert "And a lot of it." in page.inner_text(".description")


def test_a_reload_files_nothing_again(page: Any, key: str) -> None:
    """A reload of the page after a form shows the ticket, which is there once."""
    page.goto(f"/{key}/new/")
    page.get_by_label("Title", exact=True).fill("Once")
    page.get_by_role("button", name="File ticket").click()
    page.wait_for_url(f"**/{key}-1/")
    page.reload()
    page.goto(f"/{key}/")
    assert titles(page) == ["Once"]


def test_a_project_is_renamed_and_archived(page: Any, key: str, program: Program) -> None:
    """Its name is changed; archived, it can only be read, until it is taken out again."""
    filed(program, key, "Leak")
    page.goto(f"/{key}/edit/")
    page.get_by_label("Name", exact=True).fill("Another name")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Another name").wait_for()
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("button", name=f"Archive {key}").click()
    page.get_by_text("This project is archived").wait_for()
    assert page.locator("#quick").count() == 0
    page.get_by_role("button", name="Take it out of the archive").click()
    page.locator("#quick").wait_for()


def test_a_wrong_field_is_told_beside_it(page: Any, key: str) -> None:
    """What is wrong is said at its field, and everything typed stays."""
    page.watched.awaited.add(400)
    page.goto(f"/{key}/new/")
    page.get_by_label("Title", exact=True).fill("T" * 201)
    page.get_by_label("Description").fill("All of it.")
    page.get_by_role("button", name="File ticket").click()
    page.locator(".errorlist").first.wait_for()
    assert page.get_by_label("Title", exact=True).input_value() == "T" * 201
    assert page.get_by_label("Description").input_value() == "All of it."


def test_members_get_roles(page: Any, key: str) -> None:
    """The owner of a project adds a reporter, makes a member of them, and removes them."""
    page.goto(f"/{key}/")
    page.get_by_role("link", name="Members").click()
    page.get_by_label("User name").fill("ben")
    page.locator("form[novalidate]").get_by_label("Role").select_option("reporter")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Role of ben").select_option("member")
    page.locator("li", has_text="ben").get_by_role("button", name="Save").click()
    assert page.get_by_label("Role of ben").input_value() == "member"
    page.get_by_role("button", name="Remove ben").click()
    page.get_by_label("Role of ben").wait_for(state="detached")


def test_orders_are_billed(page: Any, program: Program) -> None:
    """An order gets its invoice, which is issued, voided and issued again; the list of the year tells both."""
    page.goto("/orders/")
    page.get_by_role("button", name="New order").click()
    page.get_by_label("Customer").fill("Ada")
    page.get_by_label("Line 1: what").fill("Paper")
    page.get_by_label("Line 1: pieces").fill("3")
    page.get_by_label("Line 1: price of one in euros").fill("4.50")
    page.get_by_role("button", name="Store order").click()
    issued = [issue(page)]
    page.emulate_media(media="print")
    assert page.get_by_text("Total").is_visible()
    assert not page.locator("header.site, body > footer, nav, .withdraw").filter(visible=True).count()
    page.emulate_media(media="screen")
    page.get_by_role("link", name="Void this invoice").click()
    page.get_by_label("Why?").fill("Wrong address.")
    page.get_by_role("button", name=f"Void {issued[0]}").click()
    page.get_by_text("Wrong address.").wait_for()
    page.locator("main").get_by_role("link", name="ORD-").first.click()
    issued.append(issue(page))
    page.get_by_role("link", name="Invoices", exact=True).first.click()
    assert "no number missing" in page.inner_text("#found")
    assert [line.split()[0] for line in page.locator(".tickets > li").all_inner_texts()][:2] == issued[::-1]


def issue(page: Any) -> str:
    """Draft and issue the invoice of the order on the page. Returns its text."""
    page.get_by_role("button", name="Draft invoice").click()
    page.get_by_label("Date of the invoice").wait_for()
    page.get_by_role("button", name="Issue invoice").click()
    page.wait_for_url("**/INV-*/")
    return path(page).strip("/").rpartition("/")[2]


def test_a_token_is_made_and_revoked(page: Any, key: str, look: Look) -> None:
    """A person makes a token for a program, sees it once, and revokes it. On a wide page each token is one line."""
    page.goto("/tokens/")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("Name").fill(key)
    page.get_by_role("button", name="Make token").click()
    page.get_by_text("never shown again").wait_for()
    page.goto("/tokens/")
    if look.width == WIDE:
        heights = page.locator(".tokens > li").evaluate_all("rows => rows.map((row) => row.offsetHeight)")
        assert max(heights) < 60
    page.get_by_role("link", name=f"Revoke {key}").click()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("link", name=f"Revoke {key}").wait_for(state="detached")


@pytest.mark.parametrize("name", ["ben"])
def test_a_reporter_sees_what_they_may_do(
    browser: Any, site: Site, look: Look, sessions: dict[str, Any], name: str
) -> None:
    """A reporter files in the project SHOP, and finds no way to the administration, orders or members' roles."""
    with visit(browser, site, look, sessions[name]) as page:
        page.goto("/SHOP/")
        page.get_by_label("Title of a new ticket").fill("From a reporter")
        page.get_by_role("button", name="File", exact=True).click()
        page.get_by_role("link", name="From a reporter").first.wait_for()
        assert page.get_by_role("link", name="Admin").count() == 0
        assert page.get_by_role("link", name="Orders").count() == 0
