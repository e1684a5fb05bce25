"""The page that shows the API."""

from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from tickets.api import docs

JSON = "application/vnd.oai.openapi+json"


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


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The versions of which the document is made from now on, for a process that has none yet."""
    versions, parse = list[str | None](), SchemaGenerator.parse

    def note(self: Any, *args: Any) -> Any:
        versions.append(self.api_version)
        return parse(self, *args)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(SchemaGenerator, "parse", note)
    monkeypatch.setattr(docs, "_kept", {})
    return versions


def test_the_document_is_made_once_in_each_form(api: APIClient, made: list[str | None]) -> None:
    """A second reader gets the same bytes under the same name, without the work of making them."""
    for form in ("application/vnd.oai.openapi", JSON):
        first, second = (api.get("/api/schema/", headers={"Accept": form}) for _ in range(2))
        assert first.content == second.content
        assert first["Content-Type"].partition(";")[0] == form
        for name in ("Content-Type", "Content-Disposition"):
            assert first[name] == second[name]
    assert len(made) == 2
    assert api.get("/api/schema/?format=json").json()["openapi"] == "3.1.1"


def test_another_version_is_not_kept(api: APIClient, made: list[str | None]) -> None:
    """Who asks for another version gets it, and the next reader the usual one."""
    versions = [api.get(f"/api/schema/?format=json{more}").json()["info"]["version"] for more in ("&version=2", "")]
    assert versions == ["1 (2)", "1"]
    assert made == ["2", None]
