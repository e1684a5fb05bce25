"""The clients of a site, in a process of their own: keep-alive connections in threads, and requests encoded before.

    python -m project.proof.peers.load < job > result

It reads a `Job` and prints a `Result`, both as JSON. It does not look into the answers beyond their status.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """`count` requests to the paths in turn, by some clients at a time. Every answer should have this status."""

    host: str
    port: int
    token: str
    method: str
    paths: list[str]
    body: str
    clients: int
    count: int
    status: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """The time that all requests took, the latency and the body of each good answer, and the failures by kind."""

    seconds: float
    milliseconds: list[float]
    bodies: list[str]
    failures: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer. `failure` is empty if it is good, or another status, or the name of an error."""

    milliseconds: float
    body: bytes = b""
    failure: str = ""


def main() -> None:
    """Do the job that stands on standard input, and print its result."""
    print(json.dumps(asdict(carry_out(Job(**json.load(sys.stdin))))))


def carry_out(job: Job) -> Result:
    """Send all requests. A client that has its answer takes the next request, so all clients end together."""
    encoded = [encode(job, path) for path in job.paths]
    requests = iter([encoded[index % len(encoded)] for index in range(job.count)])
    start = threading.Barrier(job.clients + 1)
    with ThreadPoolExecutor(job.clients) as pool:
        clients = [pool.submit(send_all, job, requests, start) for _ in range(job.clients)]
        start.wait()
        began = time.perf_counter()
        answers = [answer for client in clients for answer in client.result()]
        seconds = time.perf_counter() - began
    good = [answer for answer in answers if not answer.failure]
    return Result(
        seconds=seconds,
        milliseconds=[answer.milliseconds for answer in good],
        bodies=[answer.body.decode() for answer in good],
        failures=dict(Counter(answer.failure for answer in answers if answer.failure)),
    )


def encode(job: Job, path: str) -> bytes:
    """One request as it is sent."""
    body = job.body.encode()
    headers = {"Host": f"{job.host}:{job.port}", "Authorization": f"Token {job.token}"}
    if body:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines = [f"{job.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def send_all(job: Job, requests: Iterator[bytes], start: threading.Barrier) -> list[Answer]:
    """Send requests over one connection until none is left. The connection is opened again after a failure."""
    connection = http.client.HTTPConnection(job.host, job.port, timeout=TIMEOUT_SECONDS)
    start.wait()
    answers = [send(connection, request, job.status) for request in requests]
    connection.close()
    return answers


def send(connection: http.client.HTTPConnection, request: bytes, status: int) -> Answer:
    """Send one request, once, and read its answer."""
    began = time.perf_counter()
    try:
        connection.send(request)
        response = http.client.HTTPResponse(connection.sock)
        response.begin()
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return Answer(milliseconds=_since(began), failure=type(error).__name__)
    if response.will_close:
        connection.close()
    failure = "" if response.status == status else str(response.status)
    return Answer(milliseconds=_since(began), body=body, failure=failure)


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
