"""`make shuffle` finds tests that pass by chance."""

from pathlib import Path

import pytest

from project.proof import shuffle
from project.proof.shuffle import main

DEPENDENT = """
import pytest

seen = []

@pytest.mark.parametrize("place", range(4))
def test_in_order(place):
    assert len(seen) == place
    seen.append(place)

def test_alone():
    pass
"""


def test_a_test_that_needs_another_before_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails, and is named with how often; a test that needs none passes."""
    monkeypatch.setattr(shuffle, "BUSY", ["sleep", "600"])  # the busy loops are for tests that race
    (tmp_path / "test_order.py").write_text(DEPENDENT, encoding="utf-8")
    here = [str(tmp_path), "-n", "0", "-p", "no:django", "--rootdir", str(tmp_path)]
    assert main(["--times", "1", "--seed", "5", "--", *here]) == 1
    said = capfd.readouterr().out
    assert "seed 5: " in said
    assert "  1 x " in said
    assert "test_order.py::test_in_order[1]\n" in said
    assert "test_alone" not in said
    assert said.endswith("\n0 of 1 runs passed.\n")
