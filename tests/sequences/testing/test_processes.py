"""Child processes: their end, and their ports."""

import socket

from sequences.testing.processes import HOST, ChildProcess, port_is_free


def test_a_child_that_does_not_listen_is_forced() -> None:
    """A process that ignores SIGTERM is gone after stop."""
    child = ChildProcess(["/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"])
    child.stop(patience=0.3)
    assert not child.is_running


def test_a_port_is_free_until_somebody_listens() -> None:
    """port_is_free says no while a server listens there, and yes before and after."""
    with socket.socket() as server:
        server.bind((HOST, 0))
        port = server.getsockname()[1]
        server.listen()
        assert not port_is_free(port)
    assert port_is_free(port)
