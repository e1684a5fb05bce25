"""A short soak: the whole product under fire, as `make soak` does it for longer."""

from __future__ import annotations

from pathlib import Path

from tests.faults.soak import Settings, Verdict, soak


def test_every_create_is_one_ticket(tmp_path: Path) -> None:
    """Lost answers, rejections, hangs, killed workers and engines: every promise of the soak is kept."""
    settings = Settings(creates=600, projects=4, worker_kills=3, engine_kills=1, seed=3)
    verdict = soak(settings, tmp_path)
    assert verdict.violations == []
    assert len(verdict.answers) == 600
    assert verdict.kills == {"worker": 3, "engine": 1}
    assert verdict.proxy is not None
    assert len(verdict.proxy.faults) > 10


def test_a_broken_promise_is_a_violation() -> None:
    """A claim that does not hold is told, one that holds is not."""
    verdict = Verdict()
    verdict.claim(True, "this holds")
    verdict.claim(False, "this does not")
    assert verdict.violations == ["this does not"]
    assert "VIOLATION this does not\n1 violations" in verdict.summary()
