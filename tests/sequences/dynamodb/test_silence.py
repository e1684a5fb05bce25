"""While DynamoDB answers nothing, calls end at once, and each says truly what became of its request."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, NoCredentialsError, ReadTimeoutError
from pytest_django import Settings

from sequences import dynamodb, get_last_value, get_next_value, put_next
from sequences.commit.retries import DEADLINE_SECONDS
from sequences.dynamodb import silence
from sequences.dynamodb.silence import Silence
from sequences.exceptions import NotWritten, OutcomeUnknown, SequenceUnavailable
from tests.sequences.support import Clock, Impostor, tapped

NO_CONNECTION, NO_ANSWER = ConnectTimeoutError(endpoint_url=""), ReadTimeoutError(endpoint_url="")


def answered(status: int) -> ClientError:
    """An answer of this status, as botocore raises it."""
    return ClientError({"ResponseMetadata": {"HTTPStatusCode": status}}, "Query")  # type: ignore[typeddict-item]


class House:
    """What a process has heard, by a clock that only requests move."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.silence = Silence()

    def ask(self, end: Exception | None = None, *, seconds: float = 0.0, meanwhile: Callable[[], object] = int) -> None:
        """Send a request that takes so long and ends so."""

        def send(*_: object) -> dict[str, Any]:
            meanwhile()
            self.clock.now += seconds
            if end:
                raise end
            return {}

        with contextlib.suppress(BotoCoreError, ClientError):
            self.silence.sent(send, "query", {})

    @property
    def refuses(self) -> bool:
        """Whether a request is refused now."""
        try:
            self.silence.refuse()
        except NotWritten:
            return True
        return False


@pytest.fixture
def house(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> House:
    """A process that has sent nothing yet."""
    monkeypatch.setattr(silence, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return House(clock)


class TestWhatIsHeard:
    def test_nobody_asks(self, house: House) -> None:
        """One request without an answer is no silence, however long nobody asks again."""
        house.ask(NO_ANSWER, seconds=0.1)
        house.clock.now += 9
        assert house.silence.seconds == pytest.approx(0.1)

    def test_at_first(self, house: House) -> None:
        """Who has asked nothing knows of no silence."""
        assert house.silence.seconds < 0

    @pytest.mark.parametrize("end", [NO_CONNECTION, NO_ANSWER, answered(500), answered(503)])
    def test_a_silence(self, house: House, end: Exception) -> None:
        """It began with the first request without an answer, and ends with an answer to any."""
        house.ask(end)
        assert house.silence.seconds == 0
        house.clock.now += 1
        house.ask(end, seconds=2)
        assert house.silence.seconds == 3
        house.ask()
        assert house.silence.seconds < 0

    @pytest.mark.parametrize("end", [None, answered(400), answered(403)])
    def test_an_answer(self, house: House, end: Exception | None) -> None:
        """A refusal is one, too, however long it took."""
        house.ask(NO_ANSWER, seconds=3)
        house.ask(end, seconds=3)
        assert house.silence.seconds < 0

    def test_an_answer_to_another(self, house: House) -> None:
        """One that hangs while others are answered tells nothing."""
        house.ask(NO_ANSWER, seconds=3, meanwhile=house.ask)
        assert house.silence.seconds < 0

    def test_a_silence_of_long_ago(self, house: House) -> None:
        """What nobody has looked into for a while counts no more, and does not make the next one older."""
        house.ask(NO_ANSWER, seconds=3)
        house.clock.now += 10.5
        assert house.silence.seconds < 0
        house.ask(NO_ANSWER, seconds=1)
        assert house.silence.seconds == 1

    def test_an_error_of_ours(self, house: House) -> None:
        """A request that cannot be sent tells nothing."""
        house.ask(NoCredentialsError(), seconds=3)
        assert house.silence.seconds < 0


class TestWhoAsks:
    def test_one_at_a_time(self, house: House) -> None:
        """Not who just got no answer, but one a little later, and then the next."""
        house.ask(NO_ANSWER)
        assert house.refuses
        house.clock.now += 0.5
        assert [house.refuses for _ in range(3)] == [False, True, True]
        house.clock.now += 0.5
        assert not house.refuses

    def test_an_answer_meanwhile(self, house: House) -> None:
        """Nobody is refused once DynamoDB has answered to another."""
        house.ask(NO_ANSWER, seconds=3)
        house.ask()
        assert not house.refuses

    def test_the_log(self, house: House, logged: pytest.LogCaptureFixture) -> None:
        """The log has one line when it begins to refuse, and one when DynamoDB answers again."""
        house.ask(NO_ANSWER, seconds=3)
        assert house.refuses
        assert house.refuses
        house.ask()
        house.ask()
        begin, end = logged.messages
        assert begin.startswith("DynamoDB has answered nothing for 3.0 s.")
        assert end == "DynamoDB answers again."


@pytest.fixture
def deaf(impostor: type[Impostor], settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that answers too late for every caller, and a client that soon refuses to ask it, for long."""
    monkeypatch.setattr(silence, "ASK_SECONDS", 60.0)
    settings.SEQUENCES_CLIENTS = {"default": {"READ_TIMEOUT": 0.1, "REFUSE_AFTER": 0.05}}
    impostor.pause = 0.02
    dynamodb.reset()
    dynamodb.shared_client()


class TestCalls:
    @pytest.mark.parametrize("call", [get_next_value, lambda name: put_next(name, {}), get_last_value])
    def test_what_was_not_sent(self, configured: str, deaf: None, call: Callable[[str], object]) -> None:
        """A call that begins in the silence ends before it has sent anything, and says that nothing was stored."""
        with pytest.raises(OutcomeUnknown):
            dynamodb.call("list_tables", {})
        with pytest.raises(SequenceUnavailable, match=r"answered nothing .* nothing was stored") as caught:
            call("atomic")
        assert not caught.value.outcome_unknown
        assert caught.value.seconds < DEADLINE_SECONDS / 2

    def test_what_may_be_stored(
        self, configured: str, scope: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A call whose write got no answer ends, too, and says that it may be stored. Later all is well by itself."""
        settings.SEQUENCES_CLIENTS = {"default": {"REFUSE_AFTER": 1e-6}}
        monkeypatch.setattr(silence, "ASK_SECONDS", 0.05)
        dynamodb.reset()
        with tapped() as wire:
            assert get_next_value("atomic", scope=scope) == 1
            wire.lose("UpdateItem", 1)
            with pytest.raises(SequenceUnavailable, match="may have been stored") as caught:
                get_next_value("atomic", scope=scope)
            assert (caught.value.attempts, caught.value.outcome_unknown) == (1, True)
            time.sleep(0.05)
            assert get_last_value("atomic", scope=scope) == 2
            assert get_next_value("atomic", scope=scope) == 3

    def test_without_the_setting(self, configured: str, deaf: None, settings: Settings) -> None:
        """By default a call tries until its deadline, whatever others have heard."""
        settings.SEQUENCES_CLIENTS = {"default": {"READ_TIMEOUT": 0.1}}
        dynamodb.reset()
        for _ in range(2):
            with pytest.raises(OutcomeUnknown):
                dynamodb.call("list_tables", {})
        assert not dynamodb.is_silent()
