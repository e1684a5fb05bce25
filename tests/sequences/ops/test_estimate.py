"""The command `estimate`: its figures, its formats, and what it says about options that make no sense."""

import json
import math
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from sequences.ops.costs import PATTERNS
from sequences.ops.estimate import Traffic, Verdict, estimate
from sequences.ops.queueing import grouped, taking_turns
from sequences.strategies import AtomicCounter, BlockAllocator, SortKeyMaximum, TransactionalCounter
from tests.sequences import support

written = partial(support.written, "sequences")
SORT_KEY = "sequences.strategies.sort_key.SortKeyMaximum"
BLOCK = "sequences.strategies.block.BlockAllocator"
EVERY = sorted(strategy.__name__ for strategy in PATTERNS)


@pytest.fixture(autouse=True)
def sequences_with_options(settings: Settings) -> None:
    """Sequences of two strategies, one with options that cost."""
    settings.SEQUENCES = {
        "letters": {"STRATEGY": SORT_KEY},
        "labels": {"STRATEGY": BLOCK, "OPTIONS": {"block_size": 4}},
        "own": {"STRATEGY": "tests.sequences.one_file.ReadThenPut"},
    }


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def rows(*arguments: str) -> list[dict[str, Any]]:
    """What a command tells as JSON."""
    told: list[dict[str, Any]] = json.loads(written(*arguments, "--format", "json"))
    return told


class TestEstimate:
    def test_every_strategy(self) -> None:
        """Without a name there is a row for each strategy; each format has the same figures."""
        found = rows("estimate", "--per-second", "20", "--per-month", "1000000")
        assert [row["strategy"] for row in found] == EVERY
        lines = [
            line.split("\t") for line in written("estimate", "--per-second", "20", "--per-month", "1e6").splitlines()
        ]
        assert [line[:3] for line in lines] == [[str(cell) for cell in list(row.values())[:3]] for row in found]
        assert {row["verdict"] for row in found} == {Verdict.FITS}

    def test_at_a_terminal(self) -> None:
        """Strategies stand beside each other, with a line for each figure; what nobody has is left out."""
        screen = Screen()
        call_command("sequences", "estimate", "--per-second", "20", stdout=screen)
        shown = screen.getvalue()
        assert all(name in shown for name in (*EVERY, "write units", "ceiling per second", "without lost races"))
        assert "remedy" not in shown

    def test_one_sequence(self) -> None:
        """A sequence is estimated with its own options: a block of 4 takes a quarter of a unit a number."""
        (row,) = rows("estimate", "labels", "--per-second", "20")
        assert (row["strategy"], row["write_units"]) == ("BlockAllocator", 1.25)

    def test_money(self, settings: Settings) -> None:
        """A million of lone puts takes a million write units, at the prices of the setting."""
        settings.SEQUENCES_PRICES = {"WRITE": "2", "READ": "0"}
        (row,) = rows("estimate", "letters", "--per-second", "0.5", "--per-month", "3000000", "--processes", "1")
        assert (row["cost_of_million"], row["cost_of_month"]) == (2.0, pytest.approx(6.0, abs=0.05))

    def test_more_than_a_partition_gives(self) -> None:
        """500 a second in groups is the end of one scope; with ten scopes there is room."""
        (hot,) = rows("estimate", "letters", "--per-second", "600")
        assert (hot["ceiling_per_second"], hot["limit"]) == (500, "write units of the items' partition")
        assert hot["verdict"] == Verdict.OVER
        assert "more scopes or sequences" in hot["remedy"]
        (spread,) = rows("estimate", "letters", "--per-second", "600", "--scopes", "10")
        assert (spread["verdict"], spread["remedy"]) == (Verdict.FITS, None)

    def test_one_scope_that_needs_more(self) -> None:
        """The remedy says what keys of their own give in one scope; with them it fits."""
        hot = ("--per-second", "5000", "--writers", "256")
        remedies = {row["strategy"]: row["remedy"] for row in rows("estimate", *hot)}
        said = "TransactionalCounter with items under keys of their own (value_in) takes 10,579 a second in one scope"
        assert said in remedies["SortKeyMaximum"]
        assert said in remedies["TransactionalCounter"]
        found = {row["strategy"]: row for row in rows("estimate", *hot, "--own-keys")}
        own = found["TransactionalCounter"]
        assert (own["verdict"], own["ceiling_per_second"]) == (Verdict.FITS, pytest.approx(10_579, abs=1))
        assert own["partition"] == "counters"
        assert found["SortKeyMaximum"]["ceiling_per_second"] == 500  # it takes no such keys

    def test_keys_of_their_own_are_no_help_with_tokens(self) -> None:
        """The markers of a scope share a partition key, so that it is the tokens that limit."""
        hot = ("--per-second", "5000", "--writers", "256", "--tokens")
        assert "keys of their own" not in rows("estimate", "letters", *hot)[0]["remedy"]
        own = {row["strategy"]: row for row in rows("estimate", *hot, "--own-keys")}["TransactionalCounter"]
        assert (own["ceiling_per_second"], own["limit"]) == (500, "write units of the markers' partition")
        assert "leave the tokens out" in own["remedy"]

    def test_a_sequence_whose_items_have_keys_of_their_own(self, settings: Settings) -> None:
        """OPTIONS say so, and no flag is needed."""
        own = {"value_in": "attribute", "key_names": ["id"]}
        path = "sequences.strategies.transactional.TransactionalCounter"
        settings.SEQUENCES = {"own": {"STRATEGY": path, "OPTIONS": own}}
        (row,) = rows("estimate", "own", "--per-second", "5000", "--writers", "256")
        assert (row["verdict"], row["limit"]) == (Verdict.FITS, "one write at a time, by turns")

    def test_the_price_with_tokens_stands_beside_it(self) -> None:
        """Four units a ticket in a group with a token, at 0.625 a million; what is asked with tokens costs that."""
        (row,) = rows("estimate", "letters", "--per-second", "400")
        assert 0.63 < row["cost_of_million"] < 1.25  # some of them come alone
        assert row["cost_of_million_with_tokens"] == 2.5
        (row,) = rows("estimate", "letters", "--per-second", "400", "--tokens")
        assert row["cost_of_million"] == row["cost_of_million_with_tokens"] == 2.5

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--per-second", "0"), "--per-second is 0.0; it must be above 0."),
            (("--per-second", "nan"), "--per-second is nan; it must be above 0."),
            (("--per-second", "9", "--per-month", "-1"), "--per-month is -1.0; it must be 0 or more."),
            (("--per-second", "9", "--item-bytes", "500000"), "an item has from 1 to 409600 bytes"),
            (("--per-second", "9", "--scopes", "2", "--hottest", "0.1"), "with 2 scopes it is from 1/2 to 1"),
            (("--per-second", "9", "--writers", "2"), "--processes 4 needs as many --writers or more, not 2."),
            (("--per-second", "9", "--processor-ms", "-1"), "--processor-ms is -1.0; it must be 0 or more."),
            (("nobody", "--per-second", "9"), "There is no sequence 'nobody'"),
            (("own", "--per-second", "9"), "ReadThenPut cannot be estimated"),
        ],
    )
    def test_what_makes_no_sense(self, arguments: tuple[str, ...], said: str) -> None:
        """The error names the option or the sequence."""
        with pytest.raises(CommandError, match=said.replace("(", r"\(")):
            written("estimate", *arguments)


class TestLimits:
    """What limits a scope, worked out by hand."""

    @pytest.mark.parametrize(
        ("strategy", "changes", "ceiling", "limit"),
        [
            (SortKeyMaximum, {"writers": 1, "latency_ms": 10}, 100, "one write at a time"),
            (SortKeyMaximum, {"writers": 3, "latency_ms": 10}, 300, "one write at a time"),
            (SortKeyMaximum, {}, 500, "items' partition"),
            (SortKeyMaximum, {"item_bytes": 3000}, 1000 / 6, "items' partition"),
            (TransactionalCounter, {"item_bytes": 20_000}, 25, "items' partition"),
            (AtomicCounter, {"writers": 1, "latency_ms": 10}, 50, "the writers"),
            (AtomicCounter, {"writers": 3, "processes": 3, "latency_ms": 1}, 1000, "partition"),
            (BlockAllocator, {"tokens": True}, 500, "partition"),
            (BlockAllocator, {"processor_ms": 10}, 100, "own work"),
        ],
    )
    def test_the_ceiling(self, strategy: Any, changes: dict[str, Any], ceiling: float, limit: str) -> None:
        """Round trips, units or the processes' own work: the least of them."""
        given = {"per_second": 1, "processes": 1, "processor_ms": 0, **changes}
        found = estimate(strategy, Traffic(**given))
        assert found.ceiling == pytest.approx(ceiling)
        assert limit in found.limit

    def test_a_process_alone_waits_for_nobody(self) -> None:
        """With one process there are no turns to take: its groups are those of its own queue."""
        given = {"rate": 80.0, "seconds": 0.01, "most": 99.0, "busy": 0.001}
        assert taking_turns(**given, processes=1) == grouped(**given) != taking_turns(**given, processes=2)

    def test_who_comes_during_a_write(self) -> None:
        """Where 1 caller comes during a write of 10 ms, on average, the sizes follow Poisson's law."""
        found = grouped(rate=100.0, seconds=0.01, most=99.0, busy=0.0)
        assert [found.size, found.alone, found.wait] == pytest.approx([1.3679, 0.7358, 0.003655], rel=0.001)
        slow = grouped(rate=100.0, seconds=0.005, most=99.0, busy=0.005 / found.size)
        assert [slow.size, slow.alone, slow.wait] == pytest.approx([found.size, found.alone, found.wait], rel=0.001)

    @pytest.mark.parametrize("processes", [1, 2, 4])
    def test_little_traffic_seldom_waits(self, processes: int) -> None:
        """A caller who meets a write under way waits half of it; so many do as the share of time that writes take."""
        found = taking_turns(rate=2.0, seconds=0.01, most=99.0, busy=0.0, processes=processes)
        assert found.wait == pytest.approx(2.0 * 0.01 * 0.01 / 2, rel=0.02)
        assert [found.size, found.alone] == pytest.approx([1, 1], abs=0.001)

    def test_much_traffic_gathers(self) -> None:
        """Where every process always writes or waits, each of two has what comes during both their writes."""
        found = taking_turns(rate=2000.0, seconds=0.01, most=99.0, busy=0.0, processes=2)
        assert [found.size, found.wait] == pytest.approx([20, 0.01], rel=0.1)
        assert taking_turns(rate=20_000.0, seconds=0.01, most=99.0, busy=0.0, processes=2).wait == math.inf

    def test_counters_of_all_scopes_share_a_partition(self) -> None:
        """Each scope is far from its limit, but all counters of a sequence have one partition key."""
        lone = estimate(AtomicCounter, Traffic(per_second=900, scopes=1000, writers=64))
        assert (lone.partition, lone.verdict) == ("counters", Verdict.NEAR)
        assert lone.ceiling > 100 * lone.units.counter.write * 900 / 1000
