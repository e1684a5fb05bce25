"""Signatures with the key of a day kept are the ones that botocore makes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from unittest import mock

import pytest
from botocore import UNSIGNED
from botocore.auth import SIGV4_TIMESTAMP, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import NoCredentialsError
from hypothesis import given, settings
from hypothesis import strategies as st

from sequences.dynamodb.lean import DayKeyAuth, with_day_key

texts = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
values = st.text(st.sampled_from("a B\t/=;,"), max_size=12)
names = st.from_regex(r"[A-Za-z][A-Za-z-]{0,8}[a-z]", fullmatch=True)
credentials = st.builds(ReadOnlyCredentials, texts, texts, st.none() | texts)
HEADERS = {"X-Amz-Target": "DynamoDB_20120810.PutItem", "Content-Type": "application/x-amz-json-1.0", "User-Agent": "u"}
URLS = [
    "http://localhost:8000/",
    "https://dynamodb.eu-west-3.amazonaws.com/",
    "https://dynamodb.eu-west-3.amazonaws.com:443/",
    "http://[::1]:80/",
]


def request(body: bytes = b"{}", url: str = URLS[1], **headers: str) -> AWSRequest:
    """A request as the lean client makes it."""
    return AWSRequest("POST", url, {**HEADERS, **headers}, body)


def signed_headers(auth: Any, request: AWSRequest) -> list[tuple[str, str]]:
    """The headers of a request after it is signed."""
    auth.add_auth(request)
    return sorted(request.headers.items())


def judged(
    keys: ReadOnlyCredentials, ours: AWSRequest, theirs: AWSRequest, region: str = "eu-west-3", *, plain: bool = True
) -> None:
    """Sign a request by ours, and an equal one by botocore's at the same second: they have the same headers."""
    auth = SigV4Auth(keys, "dynamodb", region)
    with mock.patch.object(auth, "add_auth", wraps=auth.add_auth) as left_to_botocore:
        found = signed_headers(DayKeyAuth(auth), ours)
    assert left_to_botocore.called is not plain
    now = datetime.strptime(ours.context["timestamp"], SIGV4_TIMESTAMP)  # noqa: DTZ007 - as botocore has it
    with mock.patch("botocore.auth.get_current_datetime", return_value=now):
        assert found == signed_headers(auth, theirs)


@settings(max_examples=50)
@given(credentials, texts, st.sampled_from(URLS), st.dictionaries(names, values), st.binary())
def test_as_botocore_signs(
    keys: ReadOnlyCredentials, region: str, url: str, headers: Mapping[str, str], body: bytes
) -> None:
    """Whatever the keys, the Region, the address, the headers and the body."""
    extra = {f"X-{name}": value for name, value in headers.items()}
    plain = len({name.lower() for name in extra}) == len(extra)
    judged(keys, request(body, url, **extra), request(body, url, **extra), region, plain=plain)


def test_a_new_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of one day signs nothing of the next."""
    for day in [time.gmtime(1_790_000_000 + days * 24 * 3600) for days in range(3)]:
        monkeypatch.setattr(time, "gmtime", mock.Mock(return_value=day))
        judged(ReadOnlyCredentials("key", "secret", None), request(), request())


def test_what_a_handler_changed() -> None:
    """A request that is not plain any more is signed by botocore."""

    def changed(change: Mapping[str, Any]) -> AWSRequest:
        made = request(url=change.get("url", URLS[1]))
        made.headers["X-Twice"] = "1"
        for name, value in change.get("headers", {}).items():
            made.headers[name] = value
        made.params = change.get("params", {})
        made.method = change.get("method", "POST")
        made.data = change.get("data", b"{}")
        made.context.update(change.get("context", {}))
        return made

    changes: list[dict[str, Any]] = [
        {"headers": {"X-Twice": "2"}},
        {"headers": {"Date": "Thu, 26 Nov 2026 12:00:00 GMT"}},
        {"headers": {"Host": "elsewhere"}},
        {"headers": {"Authorization": "an earlier one"}},
        {"headers": {"X-Amz-Date": "20261126T120000Z"}},
        {"headers": {"X-Amz-Security-Token": "another"}},
        {"headers": {"X-Amz-Content-SHA256": "its digest"}},
        {"url": "http://localhost/a/path"},
        {"url": "http://localhost/?a=b"},
        {"params": {"a": "b"}},
        {"method": "GET"},
        {"data": "a text"},
        {"context": {"payload_signing_enabled": False}},
        {"context": {"checksum": {"request_algorithm": {"in": "trailer"}}}},
    ]
    for change in changes:
        judged(ReadOnlyCredentials("key", "secret", None), changed(change), changed(change), plain=False)


def test_without_credentials() -> None:
    """Without credentials nothing is signed."""
    nobody: Any = None
    with pytest.raises(NoCredentialsError):
        DayKeyAuth(SigV4Auth(nobody, "dynamodb", "eu-west-3")).add_auth(request())


def test_other_signers_stay() -> None:
    """Another version of signatures, or a class of the application's own, signs for itself."""

    class Own(SigV4Auth):
        pass

    keys = ReadOnlyCredentials("key", "secret", None)
    own, plain = Own(keys, "dynamodb", ""), SigV4Auth(keys, "dynamodb", "")
    get = with_day_key(lambda auth, **_: auth)
    assert get(auth=own) is own
    assert get(auth=UNSIGNED) is UNSIGNED
    assert isinstance(get(auth=plain), DayKeyAuth)
