"""The keyboard alone is enough."""

from typing import Any

import pytest

from tests.browser.support import path

MOST_TABS = 80


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until the focus, which is always to be seen, is on what the selector names."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body || document.hasFocus()")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            assert page.evaluate("document.activeElement.matches(':focus-visible')")
            return
    pytest.fail(f"Tab does not lead to {selector} on {page.url}")


def test_a_ticket_is_filed_found_and_closed(page: Any, key: str) -> None:
    """Tab, Enter, the arrows and letters file a ticket, find it by its words, and close it."""
    page.goto(f"/{key}/")
    tab_to(page, "#quick")
    page.keyboard.type("Leak in the roof")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Leak in the roof").wait_for()
    page.goto(f"/{key}/")
    tab_to(page, ".find input[name=text]")
    page.keyboard.type("roof")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="text: roof").wait_for()
    tab_to(page, ".tickets a")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{key}-1/")
    tab_to(page, ".progress select")
    page.keyboard.press("D")
    tab_to(page, ".progress button")
    page.keyboard.press("Enter")
    page.get_by_text("Status: Open → Done").wait_for()
    assert path(page) == f"/{key}-1/"


def test_the_first_tab_skips_to_the_content(page: Any, key: str) -> None:
    """Who reads by the keyboard need not go through the header on every page."""
    page.goto(f"/{key}/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
