"""The page that shows the API, and the document of which it is made."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
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


def test_the_page_says_every_operation(browser: Client, api: APIClient) -> None:
    """The page stands in the site's frame, and has each operation of the document, each shape, and a call to copy."""
    page = browser.get("/api/docs/").content.decode()
    document = api.get("/api/schema/?format=json").json()
    assert 'class="site"' in page
    operations = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(operations) > 40
    objects = [name for name, shape in document["components"]["schemas"].items() if "properties" in shape]
    assert {*re.findall('<section class="operation" id="([^"]+)"', page)} == {*operations, *objects}
    assert "curl -H &quot;$AUTH&quot; $API/tickets/ABC-42/" in page
    assert "None" not in page.replace("If-None-Match", "")


def test_every_link_of_the_page_leads_somewhere(browser: Client) -> None:
    """Each link within the page has its place in it, and no place is there twice."""
    page = browser.get("/api/docs/").content.decode()
    places = re.findall(' id="([^"]+)"', page)
    assert len(places) == len({*places})
    assert {*re.findall('href="#([^"]+)"', page)} <= {*places}


def test_the_page_is_light_with_its_document(browser: Client) -> None:
    """The page, its files and the document weigh less than 100,000 bytes on their way. It needs no script."""
    page = browser.get("/api/docs/", headers={"Accept-Encoding": "gzip"})
    text = gzip.decompress(page.content).decode()
    files = re.findall(r'(?:href|src)="/static/([^"]+)"', text)
    assert "tickets/api_docs.css" in files
    weight = sum(len(gzip.compress(Path(str(finders.find(file))).read_bytes())) for file in {*files})
    document = browser.get("/api/schema/?format=json", headers={"Accept-Encoding": "gzip"})
    assert document["Content-Encoding"] == "gzip"
    assert len(page.content) + weight + len(document.content) < 100_000
    assert "<script" not in text.partition("<main")[2]


@pytest.mark.parametrize("method", ["options", "post", "delete"])
def test_other_methods(browser: Client, method: str) -> None:
    """A page is read and nothing else."""
    assert getattr(browser, method)("/api/docs/").status_code == 405


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
