"""The plugin that leaves out what no test needs: marks act as ever, and nothing that goes wrong is left out."""

from __future__ import annotations

from pathlib import Path

from project.paths import ROOT
from tests.test_testing import PYTEST, last_line, runner

SETTINGS = """
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
ROOT_URLCONF = ""
STATIC_URL = "/static/"
USE_TZ = True
"""
SUITE = """
import pytest
from django.conf import settings
from django.contrib.auth.models import User


@pytest.fixture
def begins_badly():
    raise RuntimeError("it begins badly")


@pytest.fixture
def ends_badly():
    yield
    raise RuntimeError("it ends badly")


def test_that_passes(request):
    assert "_django_set_urlconf" not in request.node.fixturenames


def test_that_fails():
    raise RuntimeError("it fails")


def test_that_begins_badly(begins_badly):
    pass


def test_that_ends_badly(ends_badly):
    pass


@pytest.mark.skip("it is left out")
def test_that_is_left_out():
    pass


@pytest.mark.xfail(raises=RuntimeError)
def test_that_may_fail():
    raise RuntimeError("it may fail")


@pytest.mark.urls("other_urls")
def test_of_other_pages():
    assert settings.ROOT_URLCONF == "other_urls"


@pytest.mark.django_db
def test_of_rows():
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["plain", pytest.param("marked", marks=pytest.mark.urls("other_urls"))])
def test_of_one_mark(name):
    assert (settings.ROOT_URLCONF == "other_urls") == (name == "marked")


def test_of_a_server(live_server):
    assert not User.objects.exists()
"""


def test_what_is_said(tmp_path: Path) -> None:
    """Another process says of each test what it says without the plugin, and a test has what its marks promise."""
    (tmp_path / "settings.py").write_text(SETTINGS)
    (tmp_path / "other_urls.py").write_text("urlpatterns = []\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    with runner() as run:
        done = run(tmp_path, *PYTEST, "-n", "1", "-rA", "-p", "tests.quicker", environment={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 1
    assert "1 failed, 7 passed, 1 skipped, 1 xfailed, 2 errors in" in last_line(done), done.stdout
    for outcome in ("begins", "ends"):
        assert f"ERROR test_suite.py::test_that_{outcome}_badly - RuntimeError: it {outcome} badly" in done.stdout
