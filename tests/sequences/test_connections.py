"""The parts of a connection on which a request has so many seconds in all; what they make together is in
`test_deadlines`."""

from __future__ import annotations

import io
import queue
import socket
from unittest import mock

import botocore.httpsession
import pytest

from sequences.dynamodb import connections
from sequences.dynamodb.connections import LEAST_SECONDS, within

SOCKET = mock.Mock(spec=socket.socket)


class TestLimits:
    def test_what_is_left(self) -> None:
        """A step of a request gets what is left of the whole."""
        with within(5.0):
            assert 4.0 < connections._left(None) <= 5.0

    def test_nothing_is_left(self) -> None:
        """A step of a request that is late gets a moment: a time-out of 0 would mean a socket that never waits."""
        with within(-5.0):
            assert connections._left(None) == LEAST_SECONDS

    def test_one_inside_another(self) -> None:
        """A request of a signal's handler has a limit of its own, and without one the socket's time-out counts."""
        with within(5.0) as outer:
            with within(9.0):
                assert connections._left(None) > 5.0
            assert connections._here.limit is outer
        assert connections._left("its own") == "its own"


class TestIdle:
    def test_the_last_first(self) -> None:
        """The connection that was used last is used next; it is the least likely to be closed by the engine."""
        idle = connections._Idle(3)
        for connection in ("a", "b"):
            idle.put(connection, block=False)
        assert idle.qsize() == 2
        assert [idle.get(block=False, timeout=None) for _ in range(2)] == ["b", "a"]

    def test_bounds(self) -> None:
        """A pool that is full or empty says so, as `queue.LifoQueue` does."""
        idle = connections._Idle(1)
        idle.put("a")
        with pytest.raises(queue.Full):
            idle.put("b")
        assert idle.get() == "a"
        with pytest.raises(queue.Empty):
            idle.get()


def test_both_schemes() -> None:
    """Requests have limits over HTTP and over HTTPS."""
    pools = vars(botocore.httpsession.URLLib3Session())["_pool_classes_by_scheme"]
    assert set(connections.POOLS) == set(pools)


def test_a_closed_answer_lets_go_of_its_socket() -> None:
    """Closing an answer closes what it reads from."""
    raw = io.FileIO("/dev/null")
    connections._Reader(raw, SOCKET).close()
    assert raw.closed
