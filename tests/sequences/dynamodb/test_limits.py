"""What is left of the time of a request."""

from sequences.dynamodb.limits import LEAST_SECONDS, _thread, in_request, left, mark_sent, within


def test_what_is_left() -> None:
    """A step of a request gets what is left of the whole."""
    with within(5.0):
        assert 4.0 < left(None) <= 5.0


def test_nothing_is_left() -> None:
    """A step of a request that is late gets a moment: a time-out of 0 would mean a socket that never waits."""
    with within(-5.0):
        assert left(None) == LEAST_SECONDS


def test_one_inside_another() -> None:
    """A request of a signal's handler has a limit of its own, and without one the socket's time-out counts."""
    with within(5.0) as outer:
        with within(9.0):
            assert left(None) > 5.0
        assert _thread.limit is outer
    assert left("its own") == "its own"


def test_what_was_sent() -> None:
    """A request says whether a part of it was sent; without a limit nobody is asked."""
    with within(5.0) as limit:
        assert (limit.sent, in_request()) == (False, True)
        mark_sent()
    assert (limit.sent, in_request()) == (True, False)
    mark_sent()
