"""Nobody stops the site: whatever one account of the lowest role asks for at once, another person gets their page."""

import socket
from pathlib import Path

import pytest

from project.proof.calm import KINDS, Visitor, asking, filled
from project.proof.faults.stack import READER
from project.settings import base

pytestmark = pytest.mark.needs_engine

CROWD = 48  # connections, three times as many as a process has threads
MOST_EXPORTS = base.HEAVY_AT_ONCE or 0


def status(client: socket.socket) -> int:
    """The status of the answer that a client gets, of which it reads no more."""
    return int(client.recv(12).rpartition(b" ")[2])


def test_a_page_is_answered_while_they_hang(tmp_path: Path) -> None:
    """Before any of them has read anything, another person gets page after page. All are answered, too.

    It is one test, as each process that runs tests would start a site of its own. The project has 3 MB, which is more
    than the sockets take.
    """
    with filled(tmp_path, tickets=147, workers=1) as stack:
        visitor, token = Visitor(stack), stack.token_of(READER)
        for kind, path in KINDS.items():
            with asking(stack.address, path, CROWD, token) as clients:
                assert [visitor.look() for _ in range(3)] == [200] * 3, kind
                statuses = [status(client) for client in clients]
                assert {*statuses} <= {200, 429}, kind
                assert kind != "exports" or 0 < statuses.count(200) <= MOST_EXPORTS
                assert visitor.look() == 200, kind
