"""Nobody stops the site: whatever one account of the lowest role asks for at once, another person gets their page."""

import socket
from collections.abc import Iterator

import pytest

from project.proof.calm import KINDS, Visitor, asking, filled
from project.proof.faults.stack import READER, Stack
from project.settings import base

pytestmark = pytest.mark.needs_engine

WORKERS = 2


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The running product with its limits, and a project of 3 MB, which is more than the sockets take."""
    with filled(tmp_path_factory.mktemp("calm"), tickets=147) as stack:
        yield stack


@pytest.fixture(scope="module")
def visitor(stack: Stack) -> Visitor:
    """Another person, who is signed in."""
    return Visitor(stack)


@pytest.fixture(scope="module")
def token(stack: Stack) -> str:
    """A token of an account without any rights."""
    return stack.token_of(READER)


def status(client: socket.socket) -> int:
    """The status of the answer that a client gets, of which it reads no more."""
    return int(client.recv(12).rpartition(b" ")[2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [64, 256, 1000])
def test_a_page_is_answered_while_they_hang(stack: Stack, visitor: Visitor, token: str, kind: str, count: int) -> None:
    """Before any of them has read anything, another person gets page after page.

    All are answered, too: few exports of an account are under way at once, and the others are refused.
    """
    with asking(stack.address, KINDS[kind], count, token) as clients:
        assert [visitor.look() for _ in range(3)] == [200] * 3
        statuses = [status(client) for client in clients]
        assert {*statuses} <= {200, 429}
        most = base.HEAVY_AT_ONCE
        assert most
        assert kind != "exports" or 0 < statuses.count(200) <= WORKERS * most
        assert visitor.look() == 200
