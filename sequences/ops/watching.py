"""What can be watched: alarms of the template, and Markdown tables of metrics, of lines of the log, and of the alarms.

Filters count lines of the log by fields whose values never change (`sequences.logs`). Nothing rings for what is
designed: a scope at its ceiling is throttled, loses races and waits, all without harm. What harms callers is counted
where they notice it, as failed and slow requests, whatever its cause. Two more fields are those of an access log, as
the sample has one: `status`, and `milliseconds` of the whole request.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import exceptions
from ..capabilities import as_table
from ..logs import ABOUT_FIELDS, EVENTS
from ..metrics import INSTRUMENTS, Instrument

Json = dict[str, Any]

SLOW_MILLISECONDS = 5000
"""Half of a call's deadline: callers at a scope's ceiling, who wait by design, are served sooner."""
SEVERAL = 5
"""So many failed requests a minute are no accident of one client."""
LIMITS = tuple(
    f"{kind}{limit}ThrottleEvents" for limit in ("MaxOnDemandThroughput", "AccountLimit") for kind in ("Write", "Read")
)
"""The refusals that a table's guard of costs and the account's quota cause. Those of one key are designed."""

OF_STACK: Json = {"Namespace": {"Ref": "AWS::StackName"}}


def _errors(*kinds: type[exceptions.SequenceError]) -> str:
    return "{ " + " || ".join(f'($.error = "{kind.__name__}")' for kind in kinds) + " }"


FILTERS: Mapping[str, str] = {
    "WentBack": _errors(exceptions.SequenceWentBack),
    "Refused": _errors(
        exceptions.AccessRefused,
        exceptions.InvalidSequence,
        exceptions.NotConfigured,
        exceptions.RulesChanged,
        exceptions.SequenceUnsound,
        exceptions.StorageRefused,
        exceptions.TableMissing,
        exceptions.TableRestored,
    ),
    "UsedUp": _errors(exceptions.SequenceExhausted),
    "NearlyUsedUp": '{ $.event = "nearly_used_up" }',
    "GaveUp": _errors(exceptions.SequenceContention, exceptions.SequenceUnavailable),
    "Requests": "{ $.status >= 100 }",
    "FailedRequests": "{ $.status >= 500 }",
    "SlowRequests": f"{{ ($.status >= 100) && ($.milliseconds >= {SLOW_MILLISECONDS}) }}",
}
"""Which lines of the log each metric counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Alarm:
    """Rings if the threshold is reached in `of` of the last `periods`: by a sum, or by a percentage of all requests."""

    about: str
    threshold: int = 1
    seconds: int = 60
    of: int = 1
    periods: int = 1
    share: bool = False

    @property
    def rings_if(self) -> str:
        """The threshold in words."""
        many = f"{self.threshold} % of the requests, and {SEVERAL}," if self.share else f"{self.threshold}"
        again = f", in {self.of} of {self.periods} such spans" if self.periods > 1 else ""
        return f"at least {many} in {self.seconds // 60} min{again}"


ALARMS: Mapping[str, _Alarm] = {
    "WentBack": _Alarm(about="A scope is lower than what it gave, as after a restore. It gives nothing: recover it."),
    "Refused": _Alarm(about="DynamoDB or the settings refuse what will not heal by itself. The log has the remedy."),
    "UsedUp": _Alarm(about="A scope has used all of its values."),
    "NearlyUsedUp": _Alarm(about="A scope has used nearly all of its values.", seconds=300),
    "GaveUp": _Alarm(about="Calls give up at their deadline, minute after minute.", threshold=SEVERAL, of=3, periods=5),
    "FailedRequests": _Alarm(about="1 % of the requests fail, minute after minute.", of=3, periods=5, share=True),
    "SlowRequests": _Alarm(about="1 % of the requests take 5 s or more.", of=3, periods=5, share=True),
}
"""The alarms of the log, each about the metric of its name."""
LIMIT = _Alarm(about="The guard of costs or the account's quota refuses.", threshold=300, seconds=300, of=3, periods=3)
"""Once a second for a quarter of an hour: less is sent again without harm."""


def alarms_of_log() -> Iterator[tuple[str, Json]]:
    """The filters and the alarms about the log, each with its name, if the stack knows its log group."""
    for name, pattern in FILTERS.items():
        counted = {"MetricNamespace": {"Ref": "AWS::StackName"}, "MetricName": name, "MetricValue": "1"}
        group = {"Ref": "LogGroupName"}
        made = {"LogGroupName": group, "FilterPattern": pattern, "MetricTransformations": [counted]}
        yield f"{name}Filter", {"Type": "AWS::Logs::MetricFilter", "Condition": "HasLog", "Properties": made}
    for name, alarm in ALARMS.items():
        summed = {**OF_STACK, "MetricName": name, "Statistic": "Sum", "Period": alarm.seconds}
        watched = _share(name, alarm.seconds) if alarm.share else summed
        yield f"{name}Alarm", {"Condition": "HasLog", **_resource(alarm, watched)}


def alarms_of_table(resource: str) -> Iterator[tuple[str, Json]]:
    """The alarm about a table, which has this beginning of the names of its resources."""
    named = [{"Name": "TableName", "Value": {"Ref": f"{resource}Table"}}]
    metrics = [
        _part(f"m{index}", {"Namespace": "AWS/DynamoDB", "MetricName": metric, "Dimensions": named}, LIMIT.seconds)
        for index, metric in enumerate(LIMITS)
    ]
    yield f"{resource}Limit", _resource(LIMIT, _expression("SUM(METRICS())", "Refusals", metrics))


def _share(name: str, seconds: int) -> Json:
    """The percentage that these are of all requests; 0 while they are few."""
    parts = {"bad": name, "requests": "Requests"}
    metrics = [_part(part, {**OF_STACK, "MetricName": of}, seconds) for part, of in parts.items()]
    return _expression(f"IF(bad >= {SEVERAL}, 100 * bad / requests, 0)", "Percent", metrics)


def _part(name: str, metric: Json, seconds: int) -> Json:
    return {"Id": name, "ReturnData": False, "MetricStat": {"Metric": metric, "Period": seconds, "Stat": "Sum"}}


def _expression(text: str, label: str, metrics: list[Json]) -> Json:
    return {"Metrics": [{"Id": "watched", "Expression": text, "Label": label}, *metrics]}


def _resource(alarm: _Alarm, watched: Json) -> Json:
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmDescription": alarm.about,
            **watched,
            "EvaluationPeriods": alarm.periods,
            "DatapointsToAlarm": alarm.of,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "Threshold": alarm.threshold,
            "TreatMissingData": "notBreaching",
            "AlarmActions": {"Fn::If": ["HasTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]},
        },
    }


def metrics_table(instruments: Iterable[Instrument] = INSTRUMENTS) -> str:
    """Every instrument under its name for Prometheus, with its labels."""
    rows = [
        [f"`{_for_prometheus(one)}`", ", ".join(f"`{label}`" for label in one.labels), one.about] for one in instruments
    ]
    return as_table(["Metric", "Labels", "Tells"], rows)


def _for_prometheus(instrument: Instrument) -> str:
    endings = [instrument.unit, "" if instrument.buckets else "total"]
    return "_".join([*instrument.name.split("."), *filter(None, endings)])


def log_tables() -> str:
    """Every event of the log, by which alarms go, and every field of a line."""
    events = as_table(["`event`", "Means"], [[f"`{name}`", about] for name, about in EVENTS.items()])
    fields = as_table(["Field", "Is"], [[f"`{name}`", about] for name, about in ABOUT_FIELDS.items()])
    return f"{events}\n\n{fields}"


def alarms_table() -> str:
    """Every alarm of the template, with what makes it ring."""
    rows = [[f"`{name}`", one.about, one.rings_if] for name, one in {**ALARMS, "Limit": LIMIT}.items()]
    return as_table(["Alarm", "Means", "Rings if"], rows)
