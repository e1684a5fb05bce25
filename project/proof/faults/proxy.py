"""The fault proxy: a process between application and engine that follows a seeded plan.

    python -m project.proof.faults.proxy --upstream http://localhost:8001 --plan '{"rules": [{"fault": "delay"}]}'

prints one line of JSON, `{"endpoint": ..., "control": ..., "seed": ...}`, and runs until it is stopped. The
endpoint speaks DynamoDB; the control address is a second port, so that it answers during a partition:

    POST /plan         the body is a plan; counters and log start afresh
    POST /partition    the endpoint refuses connections, and those that are open are reset
    POST /heal         the endpoint answers again
    GET  /log          {"seed": 7, "faults": [[seq, operation, fault], ...], "counts": {"late": 3},
                        "requests": {"PutItem": 12}, "late": requests that the engine has yet to serve}

Of the faults the last thousands are listed; they are counted to the end.

What the faults are is told in `plans`; starting and steering a proxy from a test is `control`'s work.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import secrets
import socket
import struct
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from zlib import crc32

from project.proof.faults.plans import CHANGES, CUTS, LOSSES, Plan, Request, Rule, rejection
from sequences.lab.engine import PORTS
from sequences.lab.processes import HOST, port_is_free

__all__ = ["FaultProxy", "free_port", "main"]

_LARGEST: Final = 32 * 1024 * 1024
_LISTED: Final = 10_000
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Message(NamedTuple):
    """One HTTP request or answer: the first line, the headers, the body; `wire` is all of it."""

    head: bytes
    body: bytes

    @property
    def wire(self) -> bytes:
        return self.head + self.body

    def header(self, name: bytes) -> bytes:
        """The value of a header given in lower case; empty when it is not there."""
        for line in self.head.split(b"\r\n")[1:]:
            found, _, value = line.partition(b":")
            if found.lower() == name:
                return value.strip()
        return b""


async def read_message(reader: asyncio.StreamReader) -> Message:
    """The next message of a connection; IncompleteReadError when the other side has closed it."""
    head = Message(await reader.readuntil(b"\r\n\r\n"), b"")
    length = int(head.header(b"content-length") or 0)
    return Message(head.head, await reader.readexactly(length) if length else b"")


def answer(status: int, body: bytes, checksum: int | None = None) -> bytes:
    """An answer in DynamoDB's form, with the right checksum if no other is given."""
    return (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        f"content-type: application/x-amz-json-1.0\r\ncontent-length: {len(body)}\r\n"
        f"x-amzn-requestid: FAULT\r\nx-amz-crc32: {crc32(body) if checksum is None else checksum}\r\n\r\n"
    ).encode() + body


def altered(body: bytes) -> bytes:
    """The body with other digits, still valid JSON: only the checksum can tell that it is wrong."""
    digits = bytes.maketrans(b"12345678", b"23456781")
    changed = body.translate(digits)
    return changed if changed != body else b'{"altered":1}'


def with_new_token(message: Message, request: Request) -> Message:
    """The same transaction under a ClientRequestToken of the same length that was not seen before."""
    token = str(request.content.get("ClientRequestToken", "")).encode()
    fresh = secrets.token_hex(len(token)).encode()[: len(token)]
    return message._replace(body=message.body.replace(token, fresh) if token else message.body)


class FaultProxy:
    """Passes requests on to `upstream` (host, port), but for what the plan says."""

    def __init__(self, upstream: tuple[str, int], plan: Plan) -> None:
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._late: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self.follow(plan)

    def follow(self, plan: Plan) -> None:
        """Begin a plan, with a fresh log and fresh counts."""
        self._plan = plan
        self._requests: Counter[str] = Counter()
        self._faults: deque[tuple[int, str, str]] = deque(maxlen=_LISTED)
        self._counts: Counter[str] = Counter()

    async def listen(self, port: int) -> None:
        """Accept connections on a loopback port."""
        self._server = await asyncio.start_server(self._serve, HOST, port, limit=_LARGEST, backlog=512)

    def cut_off(self) -> None:
        """Refuse new connections and reset those that are open."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            _reset(writer)

    def log(self) -> str:
        """What was done so far, as JSON."""
        content = {
            "seed": self._plan.seed,
            "faults": list(self._faults),
            "counts": self._counts,
            "requests": self._requests,
            "late": len(self._late) + self._under_way,
        }
        return json.dumps(content)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client, which gets one of its own to the engine."""
        self._open.add(writer)
        upstream: _Streams | None = None
        try:
            while True:
                message = await read_message(reader)
                upstream = await self._connected(upstream)
                if not await self._handle(message, (reader, writer), upstream):
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass  # either side went away: so does the connection, which is what the client must see
        finally:
            self._open.discard(writer)
            for stream in (writer, upstream and upstream[1]):
                if stream is not None:
                    stream.close()

    async def _connected(self, upstream: _Streams | None = None) -> _Streams:
        """The connection to the engine, a new one when the old one was closed by a restart."""
        if upstream is not None and not upstream[0].at_eof():
            return upstream
        if upstream is not None:
            upstream[1].close()
        return await asyncio.open_connection(*self._upstream, limit=_LARGEST)

    async def _handle(self, message: Message, client: _Streams, upstream: _Streams) -> bool:
        """Pass one request on or do it harm; False when the connection must be closed."""
        request = Request(message.header(b"x-amz-target").rpartition(b".")[2].decode(), message.body)
        self._requests[request.operation] += 1
        rule = self._plan.fault_for(request)
        if rule is None:
            return await _send(client, (await self._exchange(message, upstream)).wire)
        self._faults.append((sum(self._requests.values()), request.operation, rule.fault))
        self._counts[rule.fault] += 1
        if rule.fault in LOSSES:
            return await self._lose(rule, await self._exchange(message, upstream), client)
        if rule.fault in CUTS:
            return await self._cut(rule, message, client)
        if rule.fault in CHANGES:
            changed = await self._changed(rule, message, request)
            return await _send(client, (await self._exchange(changed, upstream)).wire)
        return await _send(client, answer(*rejection(rule, request)))

    async def _changed(self, rule: Rule, message: Message, request: Request) -> Message:
        """What the engine is to see of a request whose answer arrives."""
        if rule.fault == "forget-request-token":
            return with_new_token(message, request)
        if rule.fault == "duplicate":
            self._deliver_later(message, rule.seconds)
        else:
            await self._wait(rule.seconds)
        return message

    async def _wait(self, seconds: float) -> None:
        """Hold a request back; the engine sees it even when the client has given it up by then."""
        self._under_way += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._under_way -= 1

    async def _lose(self, rule: Rule, truth: Message, client: _Streams) -> bool:
        """The engine has answered `truth`; the client gets something else, or nothing."""
        if rule.fault == "lose-500":
            failure = rejection(Rule(fault="InternalServerError"), Request("", b""))
            return await _send(client, answer(*failure))
        if rule.fault == "lose-checksum":
            status = int(truth.head.split(b" ", 2)[1])
            return await _send(client, answer(status, altered(truth.body), checksum=crc32(truth.body)))
        if rule.fault == "lose-truncated":
            await _send(client, truth.wire[: len(truth.head) + len(truth.body) // 2])
        elif rule.fault == "lose-hang":
            await _hang(client, rule.seconds)
        elif rule.fault == "lose-reset":
            _reset(client[1])
        return False

    async def _cut(self, rule: Rule, message: Message, client: _Streams) -> bool:
        """The client hears nothing; the engine hears nothing either, or hears it later."""
        if rule.fault in ("late", "late-hang"):
            self._deliver_later(message, rule.seconds)
        if rule.fault in ("drop-hang", "late-hang"):
            await _hang(client, rule.seconds if rule.fault == "drop-hang" else None)
        return False

    def _deliver_later(self, message: Message, seconds: float) -> None:
        task = asyncio.create_task(self._deliver_late(message, seconds))
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _deliver_late(self, message: Message, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            upstream = await self._connected()
            await self._exchange(message, upstream)
            upstream[1].close()

    async def _exchange(self, message: Message, upstream: _Streams) -> Message:
        """The engine's answer to a request."""
        self._under_way += 1
        try:
            upstream[1].write(message.wire)
            return await read_message(upstream[0])
        finally:
            self._under_way -= 1


async def _send(client: _Streams, wire: bytes) -> bool:
    client[1].write(wire)
    await client[1].drain()
    return True


async def _hang(client: _Streams, seconds: float | None) -> None:
    """Silence until the client gives up, at most `seconds` if they are given."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(client[0].read(), seconds)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with an RST: lingering for no time throws away what was not sent."""
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Control:
    """The second port: the commands of the module's docstring."""

    def __init__(self, proxy: FaultProxy, port: int) -> None:
        self._proxy = proxy
        self._port = port
        self._commands: dict[str, Callable[[bytes], Awaitable[None]]] = {
            "/plan": self._plan,
            "/partition": self._partition,
            "/heal": self._heal,
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One command, one answer, one connection."""
        message = await read_message(reader)
        path = message.head.split(b" ", 2)[1].decode()
        try:
            if path in self._commands:
                await self._commands[path](message.body)
            writer.write(answer(200, self._proxy.log().encode()))
        except (TypeError, ValueError) as error:
            writer.write(answer(400, str(error).encode()))
        await writer.drain()
        writer.close()

    async def _plan(self, body: bytes) -> None:
        self._proxy.follow(Plan.from_json(body))

    async def _partition(self, body: bytes) -> None:
        self._proxy.cut_off()

    async def _heal(self, body: bytes) -> None:
        await self._proxy.listen(self._port)


def free_port() -> int:
    """A free port below those of outgoing connections: no client can take it during a partition."""
    return next(port for port in random.sample(PORTS, len(PORTS)) if port_is_free(port))


async def run(options: argparse.Namespace) -> None:
    """Open both ports, tell where they are, and serve until the process is stopped."""
    plan = Plan.from_json(options.plan)
    if options.seed is not None:
        plan = Plan(plan.rules, options.seed)
    where = urlsplit(options.upstream)
    proxy = FaultProxy((where.hostname or HOST, where.port or 80), plan)
    port = options.port or free_port()
    await proxy.listen(port)
    control = await asyncio.start_server(Control(proxy, port).serve, HOST, 0)
    addresses = {
        "endpoint": f"http://{HOST}:{port}",
        "control": f"http://{HOST}:{control.sockets[0].getsockname()[1]}",
        "seed": plan.seed,
    }
    print(json.dumps(addresses), flush=True)
    await control.serve_forever()


def main() -> None:
    """The command line; `--plan` takes JSON or the name of a file that holds it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", required=True, help="the engine's address")
    parser.add_argument("--port", type=int, default=0, help="the endpoint's port (0: any free one)")
    parser.add_argument("--plan", default="{}", type=_text, help="a plan, or a file that holds one")
    parser.add_argument("--seed", type=int, help="the plan's seed, in place of the one it carries")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(parser.parse_args()))


def _text(argument: str) -> str:
    return argument if argument.lstrip().startswith("{") else Path(argument).read_text()


if __name__ == "__main__":
    main()
