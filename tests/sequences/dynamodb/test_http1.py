"""One answer over an open connection: how each kind of answer is read."""

from __future__ import annotations

import http.client
import io
from unittest import mock

import pytest
from urllib3.exceptions import ProtocolError

from sequences.dynamodb.http1 import MOST_HEADERS, Answer, take_answer

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Amz-Crc32:  7 \r\n\r\nhello"
IN_CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
BOTH = IN_CHUNKS.replace(b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\n", 1)
WITHOUT_LENGTH = b"HTTP/1.1 200 OK\r\nServer: a gateway\r\n\r\nhello"
UP_TO_THE_END = b"HTTP/1.0 502 Bad Gateway\r\nServer: a gateway\r\n\r\nhello"


class _Socket:
    """What http.client reads from: the rest of an answer."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self.data)


def read(*parts: bytes) -> Answer:
    """The answer that comes in these parts, and then ends."""
    coming = list(parts)

    def receive(most: int) -> bytes:
        part = coming.pop(0) if coming else b""
        coming[:0] = [part[most:]] if part[most:] else []
        return part[:most]

    def rest(received: bytes) -> http.client.HTTPResponse:
        return http.client.HTTPResponse(_Socket(received + b"".join(coming)))  # type: ignore[arg-type]

    return take_answer(receive, rest)


class TestReading:
    @pytest.mark.parametrize("size", [1, 7, 1000])
    def test_a_plain_answer(self, size: int) -> None:
        """The status, the headers in lower case and the body, in however many parts they come."""
        parts = [PLAIN[at : at + size] for at in range(0, len(PLAIN), size)]
        assert read(*parts) == Answer(200, {"content-length": "5", "x-amz-crc32": "7"}, b"hello", reusable=True)

    @pytest.mark.parametrize(
        "answer",
        [IN_CHUNKS, BOTH, WITHOUT_LENGTH, UP_TO_THE_END],
        ids=["in chunks", "in chunks of a length", "without a length", "up to the end"],
    )
    @pytest.mark.parametrize("size", [1, 1000])
    def test_other_answers(self, answer: bytes, size: int) -> None:
        """An answer without a length is read by http.client; its connection is not used again."""
        found = read(*[answer[at : at + size] for at in range(0, len(answer), size)])
        assert (found.status, found.body, found.reusable) == (int(answer[9:12]), b"hello", False)

    def test_the_end_of_the_connection(self) -> None:
        """A connection that the other side closes after the answer is not used again."""
        assert not read(PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n")).reusable

    def test_more_than_the_answer(self) -> None:
        """What follows the answer is not part of it, and makes the connection unusable."""
        found = read(PLAIN + b"HTTP/1.1 200 OK")
        assert (found.body, found.reusable) == (b"hello", False)

    @pytest.mark.parametrize("line", [b": a", b" A: a", b"A : a"])
    def test_a_header_of_another_form(self, line: bytes) -> None:
        """An answer with such a header is left to http.client, also one that has a length."""
        assert not read(PLAIN.replace(b"OK\r\n", b"OK\r\n" + line + b"\r\n")).reusable

    def test_headers_without_an_end(self) -> None:
        """No more of them is read than http.client would take."""
        receive, rest = mock.Mock(side_effect=bytes), mock.Mock(side_effect=http.client.LineTooLong("header line"))
        with pytest.raises(http.client.LineTooLong):
            take_answer(receive, rest)
        rest.assert_called_once_with(bytes(MOST_HEADERS))

    @pytest.mark.parametrize("end", [0, 1, 20, len(PLAIN) - 1])
    def test_an_end_too_early(self, end: int) -> None:
        """An answer that ends too early is an error."""
        with pytest.raises(ProtocolError):
            read(PLAIN[:end])

    @pytest.mark.parametrize(
        "answer",
        [
            b"\x00" * 100 + b"\r\n\r\n",
            b"HTTP/1.1 abc OK\r\nContent-Length: 5\r\n\r\nhello",
            b"\r\n\r\n",
            b"SIP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n" + b"A: b\r\n" * MOST_HEADERS + b"\r\n",
        ],
    )
    def test_what_is_no_answer(self, answer: bytes) -> None:
        """What http.client refuses is refused."""
        with pytest.raises((http.client.HTTPException, ProtocolError)):
            read(answer)

    def test_a_first_answer_that_is_none(self) -> None:
        """An interim answer (100 Continue) is skipped, as http.client does."""
        assert read(b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN).body == b"hello"
