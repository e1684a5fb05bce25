"""`sequences.compat`: the examples of django-sequences' README, its semantics, and what differs."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from pytest_django import Settings

from sequences.compat import Sequence, delete, get_last_value, get_next_value, get_next_values
from sequences.exceptions import InvalidScope, InvalidSequence, OperationNotSupported, SequenceWentBack
from sequences.registry import strategies
from sequences.strategies import Strategy
from sequences.strategies.counter_strategy import delete_counter
from tests.sequences.support import made_anew, set_counter, tapped

PATH = "sequences.strategies"
USING = {
    "default": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "START": 0},
    "archive": {"STRATEGY": f"{PATH}.optimistic.OptimisticCounter"},
    "blocks": {"STRATEGY": f"{PATH}.block.BlockAllocator"},
    "by-ten": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "STEP": 10},
    "yearly": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "PERIOD": "year"},
    "items": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum"},
}

# The sections of the README of django-sequences 3.1, word for word but for the import. Each begins without sequences.
# The README shows 3 and 4 as the last two answers; django-sequences itself gives 1 and 2 after the deletion above them.
README = {
    "get_next_value": """
>>> from sequences.compat import get_next_value
>>> get_next_value()
1
>>> get_next_value()
2
>>> get_next_value()
3
>>> get_next_value("cases")
1
>>> get_next_value("cases")
2
>>> get_next_value("invoices")
1
>>> get_next_value("invoices")
2
>>> get_next_value("customers", initial_value=1000)  # pro growth hacking
1000
>>> get_next_value("seconds", initial_value=0, reset_value=60)
0
""",
    "get_next_values": """
>>> from sequences.compat import get_next_values
>>> get_next_values(10)
range(1, 11)
>>> get_next_values(10)
range(11, 21)
""",
    "get_last_value": """
>>> from sequences.compat import get_last_value, get_next_value
>>> get_last_value()
None
>>> get_next_value()
1
>>> get_last_value()
1
>>> get_next_value()
2
>>> get_last_value()
2
>>> get_next_value("cases")
1
>>> get_last_value("cases")
1
>>> get_next_value("invoices")
1
>>> get_last_value("invoices")
1
""",
    "delete": """
>>> from sequences.compat import delete, get_next_value
>>> company_id = "b1f6cdef-367f-49e4-9cf5-bb0d34707af8"
>>> get_next_value(f"invoices—{company_id}")
1
>>> delete(f"invoices—{company_id}")
True
>>> delete(f"invoices—{company_id}")
False
""",
    "Sequence": """
>>> from sequences.compat import Sequence
>>> claim_ids = Sequence("claims")
>>> claim_ids.get_next_value()
1
>>> claim_ids.get_next_value()
2
>>> claim_ids.get_last_value()
2
>>> claim_ids.delete()
True
>>> next(claim_ids)
1
>>> next(claim_ids)
2
""",
    "per-date sequences": """
>>> from django.utils import timezone
>>> from sequences.compat import get_next_value
>>> get_next_value(f"books-{timezone.now().date().isoformat()}")
1
>>> get_next_value(f"prototocol-{timezone.now().year}")
1
""",
}


@pytest.fixture(autouse=True)
def _sequences(settings: Settings, request: pytest.FixtureRequest) -> None:
    """Sequences that have counted nothing."""
    settings.SEQUENCES = USING
    request.getfixturevalue("tables")


@pytest.mark.parametrize("section", README)
def test_the_readme(section: str) -> None:
    """The examples of the README give what it shows."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(README[section]):
        if example.want:
            assert repr(eval(example.source, names)) == example.want.strip(), example.source
        else:
            exec(example.source, names)
    assert names


class TestInitialValue:
    def test_only_the_first_call_counts(self) -> None:
        """`initial_value` matters for a sequence that has given no value yet, and batches begin there too."""
        assert get_next_value("a", initial_value=1000) == 1000
        assert get_next_value("a", initial_value=5000) == 1001
        assert get_next_values(3, "b", 10) == range(10, 13)
        assert get_next_values(2, "b") == range(13, 15)

    def test_another_process_has_begun(self) -> None:
        """A process that has not used the sequence goes on where another one has begun it."""
        get_next_value("a", initial_value=1000)
        strategies.reset()
        assert get_next_value("a", initial_value=5000) == 1001

    def test_two_processes_begin_together(self) -> None:
        """Of two first calls with different initial values, one begins, and the other goes on."""
        get_last_value("a")
        with tapped() as wire:
            wire.before("UpdateItem", lambda: set_counter("default", "a", last_value=7, highest=7, token="another"))
            assert get_next_value("a", initial_value=1000) == 8

    def test_later_calls_cost_one_request(self) -> None:
        """Only the first call of a process looks whether the sequence has begun."""
        get_next_value("a", initial_value=1000)
        with tapped() as wire:
            get_next_value("a", initial_value=1000)
        assert wire.operations == ["UpdateItem"]

    @pytest.mark.parametrize("value", [-1, "1", None])
    def test_wrong(self, value: Any) -> None:
        """An initial value below START, or no whole number, is refused with what it may be."""
        with pytest.raises(
            ValueError, match=r"^initial_value is .*from SEQUENCES\['default'\]\['START'\], which is 0\."
        ):
            get_next_value("a", initial_value=value)


class TestResetValue:
    def test_values_go_round(self) -> None:
        """Before `reset_value` comes `initial_value` again, and a Sequence tells its place in the round."""
        seconds = Sequence("seconds", initial_value=1, reset_value=4)
        assert seconds.get_last_value() is None
        assert list(islice(seconds, 7)) == [1, 2, 3, 1, 2, 3, 1]
        assert seconds.get_last_value() == 1

    def test_the_function_tells_how_far_the_counter_is(self) -> None:
        """`get_last_value` has no `reset_value`, and does not go round."""
        for _ in range(5):
            get_next_value("seconds", 0, 3)
        assert get_last_value("seconds") == 4

    @pytest.mark.parametrize("make", [get_next_value, Sequence])
    def test_wrong(self, make: Callable[..., object]) -> None:
        """A round without a value is refused, in the words of django-sequences."""
        with pytest.raises(ValueError, match=r"^reset_value must be greater than initial_value$"):
            make("a", 5, 5)

    def test_no_batches(self) -> None:
        """A sequence that goes round gives no batches, and says what to do."""
        with pytest.raises(ValueError, match=r"^get_next_values has no reset_value.*call get_next_value for each"):
            Sequence("a", 0, 60).get_next_values(2)


class TestUsing:
    def test_each_counts_on_its_own(self) -> None:
        """The same name in two sequences of the settings has two counters."""
        assert get_next_value("a") == get_next_value("a", using="archive") == 1
        assert Sequence("a", using="archive").get_next_values(2) == range(2, 4)
        assert (get_last_value("a"), get_last_value("a", using="archive")) == (1, 3)

    @pytest.mark.parametrize("use", [get_next_value, get_last_value, delete])
    def test_a_key_that_is_missing(self, use: Callable[..., object]) -> None:
        """The error names the key and what to put there."""
        with pytest.raises(InvalidSequence, match=r"SEQUENCES\['other'\], which is missing: add it, for example"):
            use("a", using="other")

    def test_a_step(self) -> None:
        """A sequence that does not count by one is refused."""
        with pytest.raises(InvalidSequence, match=r"^SEQUENCES\['by-ten'\]\['STEP'\] must be 1"):
            get_next_value("a", using="by-ten")

    @pytest.mark.parametrize("use", [get_next_value, get_last_value, delete])
    def test_a_period(self, use: Callable[..., object]) -> None:
        """So is one that begins again."""
        with pytest.raises(InvalidSequence, match=r"^SEQUENCES\['yearly'\]\['PERIOD'\]: leave it out"):
            use("a", using="yearly")

    def test_a_strategy_that_cannot_reserve(self) -> None:
        """A strategy that hands out a number only with its item is refused with the remedy."""
        with pytest.raises(OperationNotSupported, match="use put_next"):
            get_next_value("a", using="items")
        with pytest.raises(OperationNotSupported, match="no counter"):
            delete("a", using="items")

    def test_nowait(self) -> None:
        """Nobody waits for another's transaction, so `nowait` is accepted and changes nothing."""
        assert get_next_value("a", nowait=True) == 1
        assert Sequence("a").get_next_values(2, nowait=True) == range(2, 4)

    def test_without_a_name(self) -> None:
        """Without a name all of them mean the sequence "default"."""
        assert [get_next_value(), get_next_value("default"), *Sequence().get_next_values(1)] == [1, 2, 3]
        assert [*get_next_values(1)] == [4]
        assert get_last_value() == 4
        assert delete()
        assert get_last_value("default") is None

    @pytest.mark.parametrize("name", ["", "#a", "x" * 256])
    def test_a_wrong_name(self, name: str) -> None:
        """A name that cannot be a scope is refused."""
        for use in (get_next_value, get_last_value, delete):
            with pytest.raises(InvalidScope):
                use(name)


class TestDelete:
    @pytest.mark.parametrize("using", ["default", "archive", "blocks"])
    def test_it_begins_again(self, using: str) -> None:
        """The process that deleted a sequence begins it again, also with values left in memory."""
        numbers = Sequence("a", using=using)
        assert [next(numbers), next(numbers)] == [1, 2]
        assert numbers.delete()
        assert numbers.get_last_value() is None
        assert next(numbers) == 1

    def test_another_process_refuses(self) -> None:
        """A process that remembers values of a deleted sequence does not give them again."""
        get_next_value("a")
        elsewhere: Strategy = make_again("default")
        delete_counter(elsewhere, "a")
        with pytest.raises(SequenceWentBack):
            get_next_value("a")

    def test_a_lost_answer(self) -> None:
        """If the answer to the deletion is lost, the repeat still says that there was a sequence."""
        get_next_value("a")
        with tapped() as wire:
            wire.lose("DeleteItem")
            assert delete("a")
        assert len(wire.bodies("DeleteItem")) == 2

    @pytest.mark.usefixtures("alone_on_its_host")
    def test_a_sequence_that_begins_again_meanwhile(self) -> None:
        """The repeat after a lost answer leaves alone what another process has begun."""
        get_next_value("a")
        with tapped() as wire:
            wire.lose("DeleteItem")
            wire.after("DeleteItem", lambda: make_again("default").next_value("a"))  # type: ignore[attr-defined]
            assert delete("a")
        assert get_last_value("a") == 0


def make_again(alias: str) -> Strategy:
    """The strategy of a sequence, as another process would make it."""
    return made_anew(strategies[alias].config)
