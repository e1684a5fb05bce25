"""The values that the processes of one host remember for each other."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from sequences.commit import host_memory


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return uuid4().hex


def test_the_highest_is_remembered(topic: str) -> None:
    """Nothing is known at first; then the highest value is, in whatever order they come."""
    assert host_memory.remembered(topic) is None
    for value in (3, 7, 5):
        host_memory.remember(topic, value)
    assert host_memory.remembered(topic) == 7


def test_it_is_forgotten(topic: str) -> None:
    """A value that is forgotten may be followed by a lower one."""
    host_memory.remember(topic, 7)
    host_memory.forget(topic)
    assert host_memory.remembered(topic) is None
    host_memory.remember(topic, 1)
    assert host_memory.remembered(topic) == 1


def test_another_name_at_the_same_place(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two names that share a place the last one is remembered, and neither is told the value of the other."""
    monkeypatch.setattr(host_memory, "PLACES", 1)
    host_memory.remember(topic, 7)
    host_memory.remember(f"{topic} 2", 3)
    assert (host_memory.remembered(topic), host_memory.remembered(f"{topic} 2")) == (None, 3)
    host_memory.forget(topic)
    assert host_memory.remembered(f"{topic} 2") == 3


def test_half_of_a_value(topic: str) -> None:
    """What another process is just writing is not taken for a value."""
    host_memory.remember(topic, 7)
    memory, (offset, _) = host_memory.shared_memory(), host_memory._place(topic)
    assert memory is not None
    memory.view[offset + 32] ^= 1
    assert host_memory.remembered(topic) is None


def test_a_value_of_38_digits(topic: str) -> None:
    """A value that does not fit is left out, and the one before stays."""
    host_memory.remember(topic, 2**63 - 1)
    host_memory.remember(topic, 2**63)
    assert host_memory.remembered(topic) == 2**63 - 1


def test_a_host_without_memory(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where processes share no memory, nothing is remembered, and nothing fails."""
    monkeypatch.setattr(host_memory, "SUPPORTED", False)
    host_memory.remember(topic, 7)
    host_memory.forget(topic)
    assert host_memory.remembered(topic) is None


def test_a_place_is_empty_again(topic: str) -> None:
    """Nothing of a name stays in its place when its value is forgotten."""
    host_memory.remember(topic, 7)
    host_memory.forget(topic)
    memory, (offset, _) = host_memory.shared_memory(), host_memory._place(topic)
    assert memory is not None
    assert not any(memory.view[offset : offset + host_memory._PLACE_BYTES])


def test_where_values_are() -> None:
    """Each place is whole, in the second part of the memory: the first one belongs to the turns of the host."""
    offsets = {host_memory._place(f"a name {number}")[0] for number in range(10_000)}
    assert (min(offsets) >= 65_536, max(offsets) <= 5 * 65_536 - 64) == (True, True)
    assert {offset % 64 for offset in offsets} == {0}
    assert len(offsets) > 3_000


def test_the_name_of_a_memory() -> None:
    """It is that of its file, which all who share it have, and nobody else."""
    memory = host_memory.shared_memory()
    assert memory is not None
    status = Path(memory.path).stat()
    assert memory.name == f"{status.st_dev}-{status.st_ino}"
