"""Requests as one text are the ones that botocore makes, with the signature that it makes."""

from __future__ import annotations

import time
from datetime import datetime
from unittest import mock

import pytest
from botocore import auth
from botocore.auth import SIGV4_TIMESTAMP, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import given, settings
from hypothesis import strategies as st

from sequences.dynamodb.signing import Template, host_of, is_plain

texts = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
credentials = st.builds(ReadOnlyCredentials, texts, texts, st.none() | texts)
TARGET, CONTENT_TYPE, USER_AGENT = "DynamoDB_20120810.PutItem", "application/x-amz-json-1.0", "sequences Boto3/1.2"
URLS = [
    "http://localhost:8000/",
    "https://dynamodb.eu-west-3.amazonaws.com/",
    "https://dynamodb.eu-west-3.amazonaws.com:443/",
    "http://[::1]:80/",
]


def sent(keys: ReadOnlyCredentials, region: str = "eu-west-3", url: str = URLS[1], body: bytes = b"{}") -> bytes:
    """A request as the lean client makes it."""
    template = Template(host_of(url), TARGET, CONTENT_TYPE, USER_AGENT)
    return template.request(SigV4Auth(keys, "dynamodb", region), body)


def headers_of(request: bytes) -> dict[str, str]:
    """The headers of a request, in lower case."""
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return dict(line.split(": ", 1) for line in lines)


def judge(keys: ReadOnlyCredentials, region: str = "eu-west-3", url: str = URLS[1], body: bytes = b"{}") -> None:
    """Make a request by ours, and by botocore's at the same second: they have the same headers."""
    ours = headers_of(sent(keys, region, url, body))
    theirs = AWSRequest("POST", url, {"X-Amz-Target": TARGET, "Content-Type": CONTENT_TYPE}, body)
    now = datetime.strptime(ours["x-amz-date"], SIGV4_TIMESTAMP)  # noqa: DTZ007 - as botocore has it
    with mock.patch("botocore.auth.get_current_datetime", return_value=now):
        SigV4Auth(keys, "dynamodb", region).add_auth(theirs)
    found = {name.lower(): value for name, value in theirs.prepare().headers.items()}
    assert ours == found | {"host": host_of(url), "user-agent": USER_AGENT, "accept-encoding": "identity"}


@settings(max_examples=50)
@given(credentials, texts, st.sampled_from(URLS), st.binary())
def test_as_botocore_signs(keys: ReadOnlyCredentials, region: str, url: str, body: bytes) -> None:
    """Whatever the keys, the Region, the address and the body."""
    judge(keys, region, url, body)


def test_a_new_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of one day signs nothing of the next."""
    for day in [time.gmtime(1_790_000_000 + days * 24 * 3600) for days in range(3)]:
        monkeypatch.setattr(time, "gmtime", mock.Mock(return_value=day))
        judge(ReadOnlyCredentials("key", "secret", None))


def test_its_text() -> None:
    """The request line, the headers, an empty line, and the body."""
    request = sent(ReadOnlyCredentials("key", "secret", "token"), body=b"\x00 a body\r\n")
    assert request.startswith(b"POST / HTTP/1.1\r\ncontent-type: application/x-amz-json-1.0\r\n")
    assert request.endswith(b"\r\ncontent-length: 10\r\n\r\n\x00 a body\r\n")


def test_on_lambda(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request of a function of AWS names the call that it belongs to, as botocore's requests do."""
    keys = ReadOnlyCredentials("key", "secret", None)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-2-3;Parent=4")
    headers = headers_of(sent(keys))
    assert headers["X-Amzn-Trace-Id"] == "Root=1-2-3;Parent=4"
    assert "x-amzn-trace-id" not in headers["authorization"].lower()


@pytest.mark.parametrize("url", URLS)
def test_the_host(url: str) -> None:
    """The host of a request is the one that botocore signs."""
    assert host_of(url) == host_of(url.rstrip("/")) == auth._host_from_url(url)  # type: ignore[attr-defined]


@pytest.mark.parametrize("url", ["http://localhost/a/path", "http://localhost/?a=b", "http:///"])
def test_no_host(url: str) -> None:
    """An address with a path or a query has another text of requests."""
    assert host_of(url) == ""


def test_what_a_header_holds() -> None:
    """Spaces are signed in another form, and a line break would begin another header."""
    assert all(map(is_plain, ["AKIA/+=~", ""]))
    assert not any(map(is_plain, ["a b", "ä", "a\nb", "\r", "\t"]))
