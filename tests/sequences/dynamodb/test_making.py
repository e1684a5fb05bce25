"""Which answers are damaged, and how callers wait for a client that is being made."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from unittest import mock

import pytest
from botocore.exceptions import ChecksumError, ResponseStreamingError

from sequences.dynamodb.configuration import ClientOptions
from sequences.dynamodb.errors import refuse_damaged
from sequences.dynamodb.making import Making

WHOLE = b'{"Item": {}}\n'


def verify(status: int, body: bytes, **headers: str) -> None:
    """Judge an answer with these headers, whose names are written with "_"."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    refuse_damaged({"status_code": status, "body": body, "headers": named})


class TestBody:
    @pytest.mark.parametrize(
        ("status", "body", "headers"),
        [
            (200, WHOLE, {}),
            (200, WHOLE, {"x_amz_crc32": str(zlib.crc32(WHOLE)), "content_length": str(len(WHOLE))}),
            (200, WHOLE, {"content_length": "many"}),
            (304, b"", {"content_length": "12"}),
            (300, b"<html>", {}),
            (400, b"<html>", {"content_length": "6"}),
        ],
    )
    def test_what_botocore_may_read(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """A whole object is read, and so is any page that is no success; some answers have a length and no body."""
        verify(status, body, **headers)

    @pytest.mark.parametrize("status", [200, 400])
    def test_another_checksum(self, status: int) -> None:
        """A body with another checksum is damaged."""
        with pytest.raises(ChecksumError):
            verify(status, WHOLE, x_amz_crc32="1")

    @pytest.mark.parametrize("status", [200, 303, 305, 400])
    def test_another_length(self, status: int) -> None:
        """A body that is longer or shorter than was said is damaged."""
        for length in (len(WHOLE) - 1, len(WHOLE) + 1):
            with pytest.raises(ResponseStreamingError, match=f"{len(WHOLE)} bytes of {length}"):
                verify(status, WHOLE, content_length=str(length))

    @pytest.mark.parametrize(
        ("status", "body"), [(201, WHOLE), (204, b""), (299, WHOLE), (200, b""), (200, b"[{}]"), (200, b'{"Item": {')]
    )
    def test_no_whole_object(self, status: int, body: bytes) -> None:
        """DynamoDB answers with status 200 and one object; everything else that says success is damaged."""
        with pytest.raises(ResponseStreamingError, match=f"HTTP {status} without a whole JSON object"):
            verify(status, body, content_length="12" if status == 204 else str(len(body)))


def test_how_callers_wait() -> None:
    """A caller looks now and then whether the client is made by another, and lets those go on who wait with him."""
    making = Making(ClientOptions)
    making._running = running = mock.Mock()

    def another_makes_it(timeout: float) -> bool:
        is_made = len(running.acquire.call_args_list) == 2
        making.made = mock.Mock() if is_made else None
        return is_made

    running.acquire.side_effect = another_makes_it
    making.wait(30.0)
    assert [0 < call.kwargs["timeout"] <= 2 for call in running.acquire.call_args_list] == [True, True]
    running.release.assert_called_once_with()
