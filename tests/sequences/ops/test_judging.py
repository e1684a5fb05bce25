"""How the doctor judges each fact about clients and sequences: on both sides of every limit."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sequences.ops.doctor import Finding, Unknown, Verdict, judging
from sequences.rows.rules import RESTORED, Difference

GOOD, CAREFUL, UNSOUND, UNKNOWN = Verdict.GOOD, Verdict.CAREFUL, Verdict.UNSOUND, Verdict.UNKNOWN
OTHER_FORMAT = Difference("FORMAT", "{value}", "{value}-{scope}", CAREFUL)
OTHER_START = Difference("START", 1, 1001, UNSOUND)
OTHER_LIFE = Difference(RESTORED, "", "items", UNSOUND)
ADOPT = "Put the settings back, or run `manage.py sequences adopt tickets --reason ...`."
RECOVER = "Run `manage.py sequences recover tickets --all-scopes --margin N --reason ...`, as after every restore."


def is_told(finding: Finding, about: str, verdict: Verdict, found: str) -> None:
    """Assert what a finding of the client says, that its reason is one, and that it has a remedy if it needs one."""
    assert (finding.subject, finding.about, finding.verdict, finding.found) == ("client a", about, verdict, found)
    assert finding.reason.endswith(".")
    assert bool(finding.remedy) == (verdict is CAREFUL)


@pytest.mark.parametrize(
    ("seconds", "verdict", "found"),
    [
        ([0.001, 0.9, 0.002, 0.003, 0.9], GOOD, "3.0 ms for a read, the median of 5"),
        ([0.05], GOOD, "50.0 ms for a read, the median of 1"),
        ([0.0501] * 3, CAREFUL, "50.1 ms for a read, the median of 3"),
        (Unknown("It is away."), UNKNOWN, "not known"),
    ],
)
def test_latency(seconds: Sequence[float] | Unknown, verdict: Verdict, found: str) -> None:
    """The median of the reads counts: up to 50 ms it is good."""
    is_told(judging.of_latency("client a", seconds), "latency", verdict, found)


@pytest.mark.parametrize(
    ("ahead", "verdict", "found"),
    [
        (0.0, GOOD, "both clocks agree"),
        (5.0, GOOD, "both clocks agree"),
        (-5.0, GOOD, "both clocks agree"),
        (5.4, CAREFUL, "the engine is 5 s ahead of this machine"),
        (-60.0, CAREFUL, "the engine is 60 s behind this machine"),
    ],
)
def test_clock(ahead: float, verdict: Verdict, found: str) -> None:
    """A clock may be five seconds off in either direction."""
    is_told(judging.of_clock("client a", ahead), "clock", verdict, found)


@pytest.mark.parametrize(
    ("caller", "verdict", "found"),
    [
        ("arn:aws:iam::1:role/web", GOOD, "arn:aws:iam::1:role/web"),
        (Unknown("It is refused."), UNKNOWN, "not known"),
    ],
)
def test_names(caller: str | Unknown, verdict: Verdict, found: str) -> None:
    """Who asks."""
    is_told(judging.of_caller("client a", caller), "who am I", verdict, found)


@pytest.mark.parametrize(
    ("limits", "verdict", "table", "account"),
    [
        ({"TableMaxWriteCapacityUnits": 1000, "AccountMaxWriteCapacityUnits": 80000}, GOOD, "1,000", "80,000"),
        ({"TableMaxWriteCapacityUnits": 999, "AccountMaxWriteCapacityUnits": 80000}, CAREFUL, "999", "80,000"),
        ({}, CAREFUL, "0", "0"),
    ],
)
def test_limits(limits: Mapping[str, Any], verdict: Verdict, table: str, account: str) -> None:
    """Whether a table may take what one busy scope needs."""
    found = f"{table} write units a second for a table, {account} for the account in this Region"
    is_told(judging.of_limits("client a", limits), "limits", verdict, found)


@pytest.mark.parametrize(
    ("limits", "reason"), [(Unknown("It is refused."), "It is refused."), (None, "It was not read.")]
)
def test_limits_that_nobody_knows(limits: Unknown | None, reason: str) -> None:
    """Quotas that could not be read are unknown."""
    finding = judging.of_limits("client a", limits)
    is_told(finding, "limits", UNKNOWN, "not known")
    assert finding.reason == reason


@pytest.mark.parametrize(
    ("lacks", "verdict", "found"),
    [
        ("", GOOD, "as the settings ask for"),
        (
            "no attribute '_signer'",
            CAREFUL,
            "boto3's own client, as the lean transport does not fit botocore: no attribute '_signer'",
        ),
    ],
)
def test_transport(lacks: str, verdict: Verdict, found: str) -> None:
    """Requests that do not go the lean way are told, with what botocore lacks."""
    is_told(judging.of_transport("client a", lacks), "transport", verdict, found)


@pytest.mark.parametrize(
    ("changed", "verdict", "remedy"),
    [
        ((), GOOD, ""),
        ([OTHER_FORMAT], CAREFUL, ADOPT),
        ([OTHER_START, OTHER_FORMAT], UNSOUND, ADOPT),
        (
            [OTHER_LIFE],
            UNSOUND,
            RECOVER,
        ),
        ([OTHER_LIFE, OTHER_FORMAT], UNSOUND, ADOPT),
        (Unknown("AccessDenied", "Allow it."), UNKNOWN, "Allow it."),
    ],
)
def test_settings_that_changed(changed: Sequence[Difference] | Unknown, verdict: Verdict, remedy: str) -> None:
    """Settings by which the rows are not written are a finding, as bad as the first of them, with a remedy."""
    finding = judging.of_settings("tickets", changed)
    assert (finding.subject, finding.about, finding.verdict) == ("sequence tickets", "settings", verdict)
    assert finding.remedy == remedy
    if not isinstance(changed, Unknown):
        told = "; ".join(map(str, changed)) if changed else "those by which its rows are written"
        assert finding.found == told
