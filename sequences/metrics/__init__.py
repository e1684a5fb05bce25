"""Measures what numbers cost and how long they take, for the recorders that the setting SEQUENCES_METRICS names.

Without the setting nothing is imported and nothing is measured: who measures asks `metrics.on` first.
In the folder:

    instruments     what is measured: the names, units and labels
    events          what happened in the core, and the recorders that get it
    prometheus      a recorder for prometheus-client, and the text that Prometheus reads
    opentelemetry   a recorder for OpenTelemetry, with spans

    SEQUENCES_METRICS = ["sequences.metrics.prometheus.Prometheus"]
"""

from .events import NOTHING, metrics, recorders
from .instruments import INSTRUMENTS, TIMES, Instrument, Recorder

__all__ = ["INSTRUMENTS", "NOTHING", "TIMES", "Instrument", "Recorder", "metrics", "recorders"]
