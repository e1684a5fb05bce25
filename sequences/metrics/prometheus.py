"""A recorder for prometheus-client, and the text that Prometheus reads. It needs the extra `metrics`.

With several worker processes set PROMETHEUS_MULTIPROC_DIR to an empty folder before they start: each process keeps its
sums in files there, and every process answers with the sums of all, also of those that have ended.
"""

import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from .instruments import Instrument, Recorder

__all__ = ["CONTENT_TYPE", "Prometheus", "exposition"]

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Prometheus(Recorder):
    """Keeps the instruments in the default registry of prometheus-client, beside those of others."""

    def record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
        _adding(instrument, labels)(amount)


@cache  # to look up labels takes as long as to add
def _adding(instrument: Instrument, labels: tuple[str, ...]) -> Callable[[float], None]:
    """What adds an amount to an instrument under these labels."""
    labelled = _metric(instrument).labels(*labels)
    return labelled.inc if isinstance(labelled, Counter) else labelled.observe


@cache
def _metric(instrument: Instrument) -> Counter | Histogram:
    """The metric of an instrument: one in a process, as the registry takes a name once."""
    name = instrument.name.replace(".", "_")
    if not instrument.buckets:
        return Counter(name, instrument.about, instrument.labels, unit=instrument.unit)
    return Histogram(name, instrument.about, instrument.labels, unit=instrument.unit, buckets=instrument.buckets)


def exposition() -> bytes:
    """The text that Prometheus reads: the sums of all processes that share PROMETHEUS_MULTIPROC_DIR, or of this one."""
    if not (folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR")):
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    registry.register(_AllProcesses(Path(folder)))
    return generate_latest(registry)


class _AllProcesses:
    """The sums of all files of a folder. A process makes its file empty, and in that moment nobody can read it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        begun = [str(file) for file in self._folder.glob("*.db") if _size(file)]
        return MultiProcessCollector.merge(begun)  # type: ignore[no-any-return]


def _size(file: Path) -> int:
    """The size of a file; 0 if it was removed meanwhile, because its process has ended."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
