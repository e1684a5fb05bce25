"""HTTP messages as the fault proxy reads, makes and damages them."""

from __future__ import annotations

import asyncio
import secrets
from http import HTTPStatus
from typing import NamedTuple
from zlib import crc32

from project.proof.faults.plans import Request

__all__ = ["Message", "altered", "answer", "read_message", "with_new_token"]


class Message(NamedTuple):
    """One HTTP request or answer: `head` is the first line and the headers; `wire` is the whole message."""

    head: bytes
    body: bytes

    @property
    def wire(self) -> bytes:
        return self.head + self.body

    @property
    def succeeded(self) -> bool:
        """Whether it is the answer to a request that the engine carried out."""
        return self.head.startswith(b"HTTP/1.1 200")

    def header(self, name: bytes) -> bytes:
        """The value of a header, named in lower case; empty if it is missing."""
        for line in self.head.split(b"\r\n")[1:]:
            found, _, value = line.partition(b":")
            if found.lower() == name:
                return value.strip()
        return b""


async def read_message(reader: asyncio.StreamReader) -> Message:
    """The next message of a connection, never in chunks. Raises IncompleteReadError if the other side has closed it."""
    head = Message(await reader.readuntil(b"\r\n\r\n"), b"")
    if head.header(b"transfer-encoding").lower() == b"chunked":
        return _in_one(head.head, await _chunks(reader))
    length = int(head.header(b"content-length") or 0)
    return Message(head.head, await reader.readexactly(length) if length else b"")


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """The body of a message that comes in chunks, which DynamoDB Local does with large answers."""
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += (await reader.readexactly(size + len(b"\r\n")))[:size]
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return body


def _in_one(head: bytes, body: bytes) -> Message:
    lines = [line for line in head.rstrip().split(b"\r\n") if not line.lower().startswith(b"transfer-encoding:")]
    return Message(b"\r\n".join([*lines, b"content-length: %d" % len(body), b"\r\n"]), body)


def answer(status: int, body: bytes, checksum: int | None = None) -> bytes:
    """An answer in DynamoDB's form, with the right checksum unless another one is given."""
    return (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        f"content-type: application/x-amz-json-1.0\r\ncontent-length: {len(body)}\r\n"
        f"x-amzn-requestid: FAULT\r\nx-amz-crc32: {crc32(body) if checksum is None else checksum}\r\n\r\n"
    ).encode() + body


def altered(body: bytes) -> bytes:
    """The body with other digits. It is still valid JSON: only the checksum shows that it is wrong."""
    digits = bytes.maketrans(b"12345678", b"23456781")
    changed = body.translate(digits)
    return changed if changed != body else b'{"altered":1}'


def with_new_token(message: Message, request: Request) -> Message:
    """The same transaction with a new ClientRequestToken of the same length."""
    token = str(request.content.get("ClientRequestToken", "")).encode()
    fresh = secrets.token_hex(len(token)).encode()[: len(token)]
    return message._replace(body=message.body.replace(token, fresh) if token else message.body)
