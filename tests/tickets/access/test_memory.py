"""What a process remembers of who may do what, so that a check costs no request."""

import pytest

from tickets.access import memory
from tickets.access.memory import MOST_PROJECTS, REMEMBERED_SECONDS, Accesses
from tickets.types import Access, Opening


class Scene:
    """A memory, the partitions that it has read, and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        self.now, self.table = 100.0, "tickets"
        self.accesses = Accesses(self._read, lambda: self.table)
        monkeypatch.setattr(memory, "monotonic", lambda: self.now)

    def _read(self, partition: str) -> Access:
        self.read.append(partition)
        return Access(partition=partition, open=Opening.NO, archived=False, version=len(self.read))


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """An empty memory."""
    return Scene(monkeypatch)


def test_an_access_is_read_once(scene: Scene) -> None:
    """A second question costs no read, until REMEMBERED_SECONDS are over."""
    first = scene.accesses.of("ABC")
    scene.now += REMEMBERED_SECONDS - 0.1
    assert scene.accesses.of("ABC") is first
    scene.now += 0.2
    assert scene.accesses.of("ABC").version == 2
    assert scene.read == ["ABC", "ABC"]


def test_tables_are_told_apart(scene: Scene) -> None:
    """The same partition of another table is another project."""
    scene.accesses.of("ABC")
    scene.table = "others"
    assert scene.accesses.missing(["ABC"]) == {"ABC"}
    assert scene.accesses.of("ABC").version == 2


def test_what_is_missing_costs_nothing(scene: Scene) -> None:
    """Only what is not remembered is missing, and nothing is read for the answer."""
    scene.accesses.of("ABC")
    assert scene.accesses.missing(["ABC", "XYZ"]) == {"XYZ"}
    assert scene.read == ["ABC"]
    scene.accesses.of("XYZ")
    assert scene.accesses.missing(["ABC", "XYZ"]) == set()


def test_a_read_that_began_before_a_change(scene: Scene) -> None:
    """What was read before `forget` was called is not remembered: it may be older than the change."""
    remember = scene.accesses.remembering()
    scene.accesses.forget()
    old = remember("ABC", Access(partition="ABC", open=Opening.NO, archived=False, version=1))
    assert old.version == 1
    assert scene.accesses.missing(["ABC"]) == {"ABC"}


def test_it_does_not_grow_without_end(scene: Scene) -> None:
    """With MOST_PROJECTS in it, it begins again."""
    for number in range(MOST_PROJECTS + 1):
        scene.accesses.of(f"P{number}")
    assert scene.accesses.missing(["P0", f"P{MOST_PROJECTS}"]) == {"P0"}
