"""What a release uploads: a wheel and an sdist, which anybody can build again, byte for byte."""

import shutil
import sys
import tarfile
from pathlib import Path

import pytest

import sequences
from project.paths import ROOT
from tests.outside.programs import EPOCH, run
from tests.test_docs import PACKAGE

BUILT_FROM = ("sequences", "docs", ".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml")
ADDRESSES = {"Documentation", "Changelog", "Issues", "Source"}


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The sdist, and the wheel that is built from it, both from a copy of the files in another folder."""
    copy, folder = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("uploads")
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "reference")
            shutil.copytree(ROOT / name, copy / name, ignore=ignore, copy_function=shutil.copy)
        else:
            shutil.copy(ROOT / name, copy)
    run(sys.executable, "-m", "build", "--outdir", str(folder), str(copy), environment=EPOCH)
    return sorted(folder.iterdir())


def test_the_wheel_is_the_same_by_every_way(wheel: Path, uploads: list[Path]) -> None:
    """The wheel from the sdist has the bytes of the one that is built here, at another time and in another folder."""
    assert uploads[0].name == wheel.name
    assert uploads[0].read_bytes() == wheel.read_bytes()


def test_the_sdist_is_the_same_again(uploads: list[Path], tmp_path: Path) -> None:
    """A second sdist, built here, has the bytes of the first."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", str(tmp_path), str(ROOT), environment=EPOCH)
    assert (tmp_path / uploads[1].name).read_bytes() == uploads[1].read_bytes()


def test_the_sdist_has_what_it_needs(uploads: list[Path]) -> None:
    """It has the app, its pages, the change log and the licence, and nothing that is local."""
    with tarfile.open(uploads[1]) as sdist:
        names = {name.partition("/")[2].partition("/")[0] for name in sdist.getnames()}
    assert names == {*BUILT_FROM, "PKG-INFO"}
    assert uploads[1].name == f"django_dynamodb_sequences-{sequences.__version__}.tar.gz"


def test_an_index_takes_them(uploads: list[Path]) -> None:
    """Their metadata and the long description are valid."""
    said = run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *map(str, uploads))
    assert said.count("PASSED") == len(uploads) == 2


def test_the_addresses_of_the_project() -> None:
    """Once the addresses are filled, all are there. Until then this test is skipped, and says what to fill."""
    if "urls" not in PACKAGE:
        pytest.skip("not ready for an upload: fill [project.urls] in pyproject.toml")
    assert PACKAGE["urls"].keys() == ADDRESSES
    assert all(address.startswith("https://") for address in PACKAGE["urls"].values())
