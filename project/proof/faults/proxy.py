"""The fault proxy: a process between application and engine that follows a seeded plan.

    python -m project.proof.faults.proxy --upstream http://localhost:8001 --plan '{"rules": [{"fault": "delay"}]}'

prints one line of JSON, `{"endpoint": ..., "control": ...}`, and runs until it is stopped. The endpoint speaks
DynamoDB. The control address is a second port, so it also answers during a partition:

    POST /plan         the body is a plan; counts and log start again
    POST /partition    the endpoint refuses connections, and open ones are reset
    POST /heal         the endpoint answers again
    GET  /log          {"seed": 7, "faults": [[seq, operation, fault], ...], "counts": {"late": 3},
                        "requests": {"PutItem": 12}, "late": requests that the engine has not answered yet,
                        "units": {"stored": 40, "throttled": 2}}

The log lists the last 10,000 faults, and counts all of them. The faults are described in `plans`; `control` starts and
controls a proxy from a test.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import socket
import struct
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit
from zlib import crc32

from project.proof.faults.messages import Message, altered, answer, read_message, with_new_token
from project.proof.faults.partitions import Partitions
from project.proof.faults.plans import CHANGES, CUTS, LOSSES, Plan, Request, Rule, rejection
from sequences.testing.embedded import PORTS
from sequences.testing.processes import HOST, port_is_free

__all__ = ["FaultProxy", "free_port", "main"]

_LARGEST: Final = 32 * 1024 * 1024
_LISTED: Final = 10_000
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def _bound(port: int) -> socket.socket:
    """A socket that has the port, and refuses connections until it listens. Several of this process may have it."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind((HOST, port))
    return bound


class FaultProxy:
    """Passes requests on to `upstream` (host, port), with the faults of the plan."""

    def __init__(self, upstream: tuple[str, int], plan: Plan) -> None:
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._held: socket.socket | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._late: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self.follow(plan)

    def follow(self, plan: Plan) -> None:
        """Begin a plan, with a new log and new counts."""
        self._plan = plan
        self._requests: Counter[str] = Counter()
        self._faults: deque[tuple[int, str, str]] = deque(maxlen=_LISTED)
        self._counts: Counter[str] = Counter()
        self._partitions = Partitions(plan.limits) if plan.limits else None

    async def listen(self, port: int) -> None:
        """Accept connections on a loopback port."""
        self._server = await asyncio.start_server(self._serve, sock=_bound(port), limit=_LARGEST, backlog=512)
        if self._held is not None:
            self._held.close()

    def cut_off(self) -> None:
        """Refuse new connections, and reset the open ones. The port is held, so that nobody else takes it meanwhile."""
        if self._server is not None:
            self._held = _bound(self._server.sockets[0].getsockname()[1])
            self._server.close()
        for writer in list(self._open):
            _reset(writer)

    def log(self) -> str:
        """The log of the plan so far, as JSON."""
        content = {
            "seed": self._plan.seed,
            "faults": list(self._faults),
            "counts": self._counts,
            "requests": self._requests,
            "late": len(self._late) + self._under_way,
            "units": self._partitions.used if self._partitions else {},
        }
        return json.dumps(content)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client. It has its own connection to the engine."""
        self._open.add(writer)
        upstream: _Streams | None = None
        try:
            while True:
                message = await read_message(reader)
                upstream = await self._connected(upstream)
                if not await self._handle(message, (reader, writer), upstream):
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass  # one side closed its connection, so the other one is closed as well
        finally:
            self._open.discard(writer)
            for stream in (writer, upstream and upstream[1]):
                if stream is not None:
                    stream.close()

    async def _connected(self, upstream: _Streams | None = None) -> _Streams:
        """The connection to the engine; a new one if the engine has closed the old one."""
        if upstream is not None and not upstream[0].at_eof():
            return upstream
        if upstream is not None:
            upstream[1].close()
        return await asyncio.open_connection(*self._upstream, limit=_LARGEST)

    async def _handle(self, message: Message, client: _Streams, upstream: _Streams) -> bool:
        """Pass one request on, or apply its fault. Returns False if the connection must be closed."""
        request = Request(message.header(b"x-amz-target").rpartition(b".")[2].decode(), message.body)
        self._requests[request.operation] += 1
        rule = self._plan.fault_for(request)
        if rule is None and self._partitions:
            return await self._limited(message, request, client, upstream)
        if rule is None:
            return await _send(client, (await self._exchange(message, upstream)).wire)
        self._faults.append((sum(self._requests.values()), request.operation, rule.fault))
        self._counts[rule.fault] += 1
        if rule.fault in LOSSES:
            return await self._lose(rule, await self._exchange(message, upstream), client)
        if rule.fault in CUTS:
            return await self._cut(rule, message, client)
        if rule.fault in CHANGES:
            reply = await self._exchange(await self._changed(rule, message, request), upstream)
            if rule.fault == "duplicate" and reply.succeeded:
                self._deliver_later(message, rule.seconds)
            return await _send(client, reply.wire)
        return await _send(client, answer(*rejection(rule, request)))

    async def _limited(self, message: Message, request: Request, client: _Streams, upstream: _Streams) -> bool:
        """Pass a request on with its latency, if its partitions take it."""
        partitions = self._partitions
        assert partitions is not None
        half = partitions.limits.latency / 2
        await asyncio.sleep(half)
        admission = partitions.admit(request, asyncio.get_running_loop().time())
        if isinstance(admission, Rule):
            self._counts[admission.fault] += 1
            await asyncio.sleep(half)
            return await _send(client, answer(*rejection(admission, request)))
        stored = False
        try:
            reply = await self._exchange(message, upstream)
            stored = reply.succeeded
            await asyncio.sleep(half)
        finally:
            if admission:
                partitions.release(admission, stored=stored)
        return await _send(client, reply.wire)

    async def _changed(self, rule: Rule, message: Message, request: Request) -> Message:
        """The request that the engine gets, for a fault whose answer arrives."""
        if rule.fault == "forget-request-token":
            return with_new_token(message, request)
        if rule.fault == "delay":
            await self._wait(rule.seconds)
        return message

    async def _wait(self, seconds: float) -> None:
        """Hold a request back. The engine gets it even if the client gives up in between."""
        self._under_way += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._under_way -= 1

    async def _lose(self, rule: Rule, truth: Message, client: _Streams) -> bool:
        """Send the client something else than the engine's answer `truth`, or nothing."""
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
        """Send the client nothing. The engine gets the request later, or never."""
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
    """Send nothing until the client gives up, for at most `seconds` if they are given."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(client[0].read(), seconds)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with an RST: with a linger time of zero, unsent data is dropped."""
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Control:
    """The control port, with the commands of the module's docstring."""

    def __init__(self, proxy: FaultProxy, port: int) -> None:
        self._proxy = proxy
        self._commands: dict[str, Callable[[bytes], Awaitable[None]]] = {
            "/plan": self._plan,
            "/partition": self._partition,
            "/heal": lambda _: proxy.listen(port),
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection: its commands, until it is closed."""
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                writer.write(await self._obey(await read_message(reader)))

    async def _obey(self, message: Message) -> bytes:
        command = self._commands.get(message.head.split(b" ", 2)[1].decode())
        try:
            if command:
                await command(message.body)
        except (TypeError, ValueError) as error:
            return answer(400, str(error).encode())
        return answer(200, self._proxy.log().encode())

    async def _plan(self, body: bytes) -> None:
        self._proxy.follow(Plan.from_json(body))

    async def _partition(self, body: bytes) -> None:
        self._proxy.cut_off()


def free_port() -> int:
    """A free port below the range of outgoing connections: no client takes it in a partition, and no seed draws it."""
    return next(port for port in random.SystemRandom().sample(PORTS, len(PORTS)) if port_is_free(port))


async def run(options: argparse.Namespace) -> None:
    """Open both ports, print their addresses, and serve until the process is stopped."""
    where = urlsplit(options.upstream)
    proxy = FaultProxy((where.hostname or HOST, where.port or 80), Plan.from_json(options.plan))
    port = free_port()
    await proxy.listen(port)
    control = await asyncio.start_server(Control(proxy, port).serve, HOST, 0)
    addresses = {
        "endpoint": f"http://{HOST}:{port}",
        "control": f"http://{HOST}:{control.sockets[0].getsockname()[1]}",
    }
    print(json.dumps(addresses), flush=True)
    await control.serve_forever()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", required=True, help="the engine's address")
    parser.add_argument("--plan", default="{}", help="a plan as JSON")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
