"""moto in place of the engine: as a server (run this file as a program), or within a process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_call_at_a_time", "serve"]


@contextmanager
def one_call_at_a_time() -> Iterator[None]:
    """Make every call to moto atomic, as in DynamoDB. Without this, moto gives duplicates to threads."""
    from moto.dynamodb.responses import DynamoHandler

    lock, original = threading.Lock(), DynamoHandler.call_action

    def call_action(handler: DynamoHandler) -> object:
        with lock:
            return original(handler)

    DynamoHandler.call_action = call_action  # type: ignore[method-assign]
    try:
        yield
    finally:
        DynamoHandler.call_action = original  # type: ignore[method-assign]


def serve(host: str, port: str) -> None:
    """Serve this address until the process ends."""
    from moto.server import main

    with one_call_at_a_time():
        main(["-H", host, "-p", port])


if __name__ == "__main__":
    serve(*sys.argv[1:])
