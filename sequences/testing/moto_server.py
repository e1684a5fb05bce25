"""moto in place of the engine: as a server (run this file as a program), or within a process, with kept tables."""

import copy
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock


@contextmanager
def patched_moto() -> Iterator[None]:
    """Make every call to moto atomic, as in DynamoDB, and its transactions bearable.

    Without this, moto gives duplicates to threads, and copies the whole table for every action of a transaction.
    """
    from moto.dynamodb import models
    from moto.dynamodb.responses import DynamoHandler

    lock, call_action = threading.Lock(), DynamoHandler.call_action

    def call_alone(handler: DynamoHandler) -> object:
        tables: dict[int, Any] = {}  # the copies of one call, each made before the call changes its table

        def deepcopy(value: object) -> object:
            return copy.deepcopy(value, tables if type(value).__name__ == "Table" else None)

        with lock, mock.patch.object(models, "copy", SimpleNamespace(deepcopy=deepcopy), create=True):
            return call_action(handler)

    with mock.patch.object(DynamoHandler, "call_action", call_alone):
        yield


def is_active() -> bool:
    """Whether moto answers in place of AWS in this process."""
    moto: Any = sys.modules.get("moto.core.models")
    return bool(moto and moto.botocore_stubber.enabled)


def anew(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Copies of these tables, as made now: nothing that was remembered of an earlier copy holds for them."""
    from moto.core.utils import utcnow

    copies: dict[str, Any] = copy.deepcopy(dict(tables))
    for table in copies.values():
        table.created_at = utcnow()
    return copies


if __name__ == "__main__":
    from moto.server import main

    with patched_moto():
        main(["-H", sys.argv[1], "-p", sys.argv[2]])
