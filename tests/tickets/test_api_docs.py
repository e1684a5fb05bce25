"""The page that shows the API."""

import pytest
from django.test import Client


def test_who_is_not_signed_in_is_asked_to(db: None) -> None:
    """The page asks a stranger to sign in, and is where they come back to."""
    response = Client().get("/api/docs/")
    assert response.status_code == 302
    assert response["Location"] == "/login/?next=/api/docs/"


def test_the_page_has_the_sites_header(browser: Client) -> None:
    """The page stands in the site's frame, and has Swagger's scripts from this site."""
    page = browser.get("/api/docs/").content.decode()
    assert 'class="site"' in page
    assert 'id="swagger-ui"' in page
    assert "://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize("method", ["options", "post", "delete"])
def test_other_methods(browser: Client, method: str) -> None:
    """A page is read and nothing else; another method is answered as everywhere."""
    response = getattr(browser, method)("/api/docs/")
    assert response.status_code == (200 if method == "options" else 405)


def test_the_script(browser: Client) -> None:
    """The script that starts Swagger is served by the same address."""
    response = browser.get("/api/docs/?script=")
    assert response.status_code == 200
    assert response["Content-Type"].startswith("application/javascript")
