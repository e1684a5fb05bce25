"""What a process remembers of what people may do, so that a check costs no request."""

import pytest

from tickets.access import memory
from tickets.access.memory import MOST_REMEMBERED, REMEMBERED_SECONDS, Accesses
from tickets.types import Access, Role


class Scene:
    """A memory, the people and partitions that it has read, and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[tuple[str, str]] = []
        self.now, self.table = 100.0, "tickets"
        self.accesses = Accesses(self._read, lambda: self.table)
        monkeypatch.setattr(memory, "monotonic", lambda: self.now)

    def _read(self, person: str, partition: str) -> Access:
        self.read.append((person, partition))
        return Access(role=Role.READER, archived=False)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """An empty memory."""
    return Scene(monkeypatch)


def test_an_access_is_read_once(scene: Scene) -> None:
    """A second question costs no read, until REMEMBERED_SECONDS are over."""
    first = scene.accesses.of("ann", "ABC")
    scene.now += REMEMBERED_SECONDS - 0.1
    assert scene.accesses.of("ann", "ABC") is first
    scene.now += 0.2
    assert scene.accesses.of("ann", "ABC") is not first
    assert scene.read == [("ann", "ABC")] * 2


def test_tables_are_told_apart(scene: Scene) -> None:
    """The same partition of another table is another project."""
    scene.accesses.of("ann", "ABC")
    scene.table = "others"
    assert scene.accesses.missing("ann", ["ABC"]) == {"ABC"}
    scene.accesses.of("ann", "ABC")
    assert scene.read == [("ann", "ABC")] * 2


def test_people_are_told_apart(scene: Scene) -> None:
    """What one person may do says nothing of another one."""
    scene.accesses.of("ann", "ABC")
    assert scene.accesses.missing("bob", ["ABC"]) == {"ABC"}
    scene.accesses.of("bob", "ABC")
    assert scene.read == [("ann", "ABC"), ("bob", "ABC")]


def test_what_is_missing_costs_nothing(scene: Scene) -> None:
    """Only what is not remembered is missing, and nothing is read for the answer."""
    scene.accesses.of("ann", "ABC")
    assert scene.accesses.missing("ann", ["ABC", "XYZ"]) == {"XYZ"}
    assert scene.read == [("ann", "ABC")]
    scene.accesses.of("ann", "XYZ")
    assert scene.accesses.missing("ann", ["ABC", "XYZ"]) == set()


def test_a_read_that_began_before_a_change(scene: Scene) -> None:
    """What was read before `forget` was called is not remembered: it may be older than the change."""
    remember, old = scene.accesses.remembering("ann"), Access(role=Role.OWNER, archived=False)
    scene.accesses.forget()
    assert remember("ABC", old) is old
    assert scene.accesses.missing("ann", ["ABC"]) == {"ABC"}


def test_it_does_not_grow_without_end(scene: Scene) -> None:
    """With MOST_REMEMBERED in it, it begins again."""
    for number in range(MOST_REMEMBERED + 1):
        scene.accesses.of("ann", f"P{number}")
    assert scene.accesses.missing("ann", ["P0", f"P{MOST_REMEMBERED}"]) == {"P0"}
