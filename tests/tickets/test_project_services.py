"""The changes of projects without a store: what is written, and how often a change is tried."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tickets import selectors, store
from tickets.exceptions import InvalidInput, ProjectChanged, StaleVersion
from tickets.project_services import archive_project, create_project, update_project
from tickets.timeline.recording import MOST_RACES
from tickets.types import Opening, Project

ABC = Project(key="ABC", name="Alphabet", description="", version=3)
Change = tuple[Project, Project, str]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Change]:
    """What is written of project ABC, which is found by its former key OLD, too."""
    written = list[Change]()

    def change(old: Project, new: Project, *, at: Any, by: str) -> None:
        written.append((old, new, by))

    monkeypatch.setattr(selectors, "get_project", lambda key: ABC)
    monkeypatch.setattr(store.projects, "change_project", change)
    return written


def test_a_change_gives_the_next_version(written: list[Change]) -> None:
    """What is named changes, and the rest stays."""
    new = replace(ABC, name="Letters", open=Opening.READ, version=4)
    assert update_project("ABC", changes={"name": "Letters", "open": "read"}, by="ann", version=3) == new
    archived = replace(ABC, archived=True, version=4)
    assert archive_project("ABC", by="bob") == archived
    assert update_project("ABC", changes={"key": "XYZ"}, by="ann").key == "XYZ"
    assert written == [(ABC, new, "ann"), (ABC, archived, "bob"), (ABC, replace(ABC, key="XYZ", version=4), "ann")]


def test_a_change_of_nothing_writes_nothing(written: list[Change]) -> None:
    """A repeat gets the project as it is, by any key that it had."""
    assert update_project("OLD", changes={"key": "ABC", "name": "Alphabet"}, by="ann") == ABC
    assert archive_project("ABC", archived=False, by="ann") == ABC
    assert written == []


@pytest.mark.parametrize(
    ("key", "changes", "version", "error"),
    [
        ("ABC", {"name": "x"}, 2, StaleVersion),
        ("ABC", {"name": "Alphabet"}, 4, StaleVersion),
        ("OLD", {"key": "NEW"}, None, ProjectChanged),
        ("ABC", {"key": "ADMIN"}, None, InvalidInput),
        ("ABC", {"key": "x", "name": ""}, None, InvalidInput),
    ],
)
def test_what_cannot_be_changed(
    written: list[Change], key: str, changes: dict[str, str], version: int | None, error: type[Exception]
) -> None:
    """An old version, a rename by a former key, a word of the site, and what is wrong are refused before any write."""
    with pytest.raises(error):
        update_project(key, changes=changes, by="ann", version=version)
    assert written == []


def test_a_former_key_changes_the_rest(written: list[Change]) -> None:
    """Only a rename has to name the present key."""
    assert update_project("OLD", changes={"name": "x"}, by="ann").name == "x"
    assert len(written) == 1


@pytest.mark.parametrize(("version", "tries"), [(None, MOST_RACES), (3, 1)])
def test_a_change_that_others_overtake(
    written: list[Change], monkeypatch: pytest.MonkeyPatch, version: int | None, tries: int
) -> None:
    """Of any version it is tried again on what they have made of the project; one that names its version is refused."""
    tried = list[int]()

    def lose(*_: Any, **__: Any) -> None:
        tried.append(1)
        raise StaleVersion(ABC)

    monkeypatch.setattr(store.projects, "change_project", lose)
    with pytest.raises(StaleVersion):
        update_project("ABC", changes={"name": "x"}, by="ann", version=version)
    assert len(tried) == tries


def test_a_new_project(stored: Callable[[bool], list[Any]]) -> None:
    """It is closed if nothing else is said; a repeat is answered with what the first request has stored."""
    found = stored(True)
    made = create_project(key="ABC", name=" Alphabet ", by="ann")
    project = Project(key="ABC", name="Alphabet", description="", open=Opening.NO)
    assert (made.value, made.replayed) == (project, False)
    assert found == [(project, "ann", None)]
    stored(False)
    again = create_project(key="ABC", name="Alphabet", by="ann", idempotency_token="t")
    assert (again.value, again.replayed) == (ABC, True)
    for key in ("ADMIN", "abc"):
        with pytest.raises(InvalidInput) as refused:
            create_project(key=key, name="x", by="ann")
        assert set(refused.value.message_dict) == {"key"}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[Any]]:
    """A function after which new projects are stored, or are there already; what it gives is what was asked for."""

    def answer(new: bool) -> list[Any]:
        asked = list[Any]()

        def insert(project: Project, *, owner: str, created_at: Any, token: str | None) -> bool:
            asked.append((project, owner, token))
            return new

        monkeypatch.setattr(store.projects, "insert_project", insert)
        monkeypatch.setattr(store.projects, "find_inserted", lambda project, *, token: ABC)
        return asked

    return answer
