"""What an administrator sees of the numbers at work, and does to them."""

from typing import Any

from tests.project.site import Program

OVERVIEW = "/admin/sequences/sequence/"


def row(page: Any, name: str) -> list[str]:
    """The cells of the table row that this names."""
    return [
        text.strip()
        for text in page.locator("tr", has=page.get_by_role("rowheader", name=name)).inner_text().split("\t")
    ]


def file(program: Program, key: str, count: int) -> None:
    """File so many tickets."""
    for number in range(1, count + 1):
        assert program.post(f"/api/projects/{key}/tickets/", title=f"Title {number}").status == 201


def test_the_overview_counts_a_known_load(page: Any, program: Program, key: str) -> None:
    """Seven tickets are seven of the last hour, day and month, and the scope is found by how it begins."""
    file(program, key, 7)
    page.goto(OVERVIEW)
    page.get_by_label("Sequence", exact=True).select_option("tickets")
    page.get_by_label("Scopes that begin with").fill(key)
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name=key, exact=True).wait_for()
    name, last, _, hour, day, month, *_ = row(page, key)
    assert (name, last, hour, day, month) == (key, "7", "7", "7", "7")
    page.get_by_role("link", name=key, exact=True).click()
    assert row(page, "Last value")[1] == "7"
    assert row(page, "Next numbers")[1].split("\n")[0] == "8, 9, 10"
    assert row(page, "7")[-1] == f"{key} / 7"


def test_a_scope_is_frozen_and_thawed(page: Any, program: Program, key: str) -> None:
    """A change is shown before it is made, with its reason; while the scope is frozen nothing is filed."""
    file(program, key, 1)
    scope = f"{OVERVIEW}tickets/scope/?scope={key}"
    page.goto(scope)
    change(page, "Freeze", "Count the stock.")
    refused = program.post(f"/api/projects/{key}/tickets/", title="Meanwhile")
    assert (refused.status, refused.content["code"]) == (503, "frozen")
    page.goto(scope)
    assert "Count the stock." in row(page, "Frozen")[1]
    change(page, "Thaw", "It is counted.")
    assert program.post(f"/api/projects/{key}/tickets/", title="Afterwards").status == 201
    page.goto(scope)
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
    page.goto(f"{OVERVIEW}tickets/scope/?scope={key}")
    page.get_by_role("link", name="Audit this scope").click()
    page.get_by_role("button", name="Begin an audit").click()
    page.get_by_role("rowheader", name="Verdict").wait_for()  # the page loads itself again until then
    assert row(page, "Numbers with an item or a row")[1] == "3"
    assert row(page, "Unexplained")[1] == "0"


def test_the_tables_are_judged(page: Any) -> None:
    """The health of the tables is told line by line, with what helps."""
    page.goto(f"{OVERVIEW}health/")
    assert row(page, "latency")[1] == "good"
    assert row(page, "latency")[-1] == "nothing to do"
