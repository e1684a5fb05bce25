"""A recorder for OpenTelemetry: the instruments, a span for each call, and one for each request to DynamoDB.

It needs the extra `otel`. What becomes of both is up to the SDK that the application sets up. The spans have the
attributes of the semantic conventions for databases, and nothing of keys, values, scopes and items.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from opentelemetry.metrics import Counter, Histogram, get_meter
from opentelemetry.trace import SpanKind, StatusCode, get_tracer

from .instruments import Instrument, Recorder

__all__ = ["OpenTelemetry"]

SCOPE = "sequences"
UNITS = {"seconds": "s"}


class OpenTelemetry(Recorder):
    """Gives the instruments to the meter, and the spans to the tracer, that are both called "sequences"."""

    def record(self, instrument: Instrument, amount: float, labels: tuple[str, ...]) -> None:
        metric = _metric(instrument)
        attributes = dict(zip(instrument.labels, labels, strict=True))
        if isinstance(metric, Counter):
            metric.add(amount, attributes)
        else:
            metric.record(amount, attributes)

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, str], *, to_dynamodb: bool) -> Iterator[None]:
        """A span of the current one. The text of an error stays out of it, as it may name a token or a key."""
        kind = SpanKind.CLIENT if to_dynamodb else SpanKind.INTERNAL
        with get_tracer(SCOPE).start_as_current_span(
            name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise


@cache
def _metric(instrument: Instrument) -> Counter | Histogram:
    meter, unit = get_meter(SCOPE), UNITS.get(instrument.unit, "1")
    if not instrument.buckets:
        return meter.create_counter(instrument.name, unit, instrument.about)
    return meter.create_histogram(
        instrument.name, unit, instrument.about, explicit_bucket_boundaries_advisory=instrument.buckets
    )
