"""The fixture that the attacks share: the timer of the process."""

from collections.abc import Iterator

import pytest

from tests.attacks.interruptions import Alarm, ringing


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    """The timer of the process. Its signal interrupts the main thread."""
    with ringing() as alarm:
        yield alarm
