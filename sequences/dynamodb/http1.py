"""One answer over an open connection, without http.client.

http.client reads the few headers of an answer by the parser for e-mails, and urllib3 wraps it in two more layers; both
together take longer than the engine. Here a plain answer is cut at its Content-Length. Any other answer (in chunks, up
to the end of the connection, damaged) is left to http.client.
"""

import http.client
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from urllib3.exceptions import ProtocolError

MOST_AT_ONCE = 65536
MOST_HEADERS = 65536
_END = b"\r\n\r\n"
_CODE = "latin-1"
_HEAD = re.compile(r"HTTP/1\.1 ([2-5][0-9]{2})[^\r\n]*((?:\r\n[^\s:]+:[^\r\n]*)*)\r\n\r\n")
_HEADER = re.compile(r"(\S+?):(.*)")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, its headers in lower case. `reusable` says whether the connection can take another request."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    reusable: bool


def take_answer(receive: Callable[[int], bytes], rest: Callable[[bytes], http.client.HTTPResponse]) -> Answer:
    """Read one answer. Raises ProtocolError if the connection ends too early.

    `receive` waits for bytes, at most so many; `rest` is http.client's answer, which begins with these bytes.
    """
    received = bytearray()
    while _END not in received and len(received) < MOST_HEADERS:
        received += _some(receive)
    head = _head(received)
    if head is None:
        response = rest(bytes(received))
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read(), reusable=False)
    status, headers, begin = head
    whole = begin + int(headers["content-length"])
    while len(received) < whole:
        received += _some(receive)
    reusable = len(received) == whole and headers.get("connection", "").lower() != "close"
    return Answer(status, headers, bytes(received[begin:whole]), reusable)


def _some(receive: Callable[[int], bytes]) -> bytes:
    data = receive(MOST_AT_ONCE)
    if not data:
        raise ProtocolError("The connection was closed before the end of the answer.")
    return data


def _head(received: bytearray) -> tuple[int, dict[str, str], int] | None:
    """The status, the headers in lower case, and where the body begins; None for what only http.client can judge."""
    head = _HEAD.fullmatch(received[: received.find(_END) + len(_END)].decode(_CODE))
    if head is None:
        return None
    headers = {name.lower(): value.strip() for name, value in _HEADER.findall(head[2])}
    plain = headers.get("content-length", "").isdecimal() and "transfer-encoding" not in headers
    return (int(head[1]), headers, head.end()) if plain else None
