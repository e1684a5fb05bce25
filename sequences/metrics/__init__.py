"""Measures what numbers cost and how long they take, for the recorders that the setting SEQUENCES_METRICS names.

Without the setting nothing is imported and nothing is measured: who measures asks `metrics.on` first.

    SEQUENCES_METRICS = ["sequences.metrics.prometheus.Prometheus"]
"""

from .events import NOTHING, metrics, recorders
from .instruments import INSTRUMENTS, TIMES, Instrument, Recorder

__all__ = ["INSTRUMENTS", "NOTHING", "TIMES", "Instrument", "Recorder", "metrics", "recorders"]
