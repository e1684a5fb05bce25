"""The command `estimate`: its figures, its formats, and what it says about options that make no sense."""

import json
import math
from argparse import ArgumentParser
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from sequences.management.estimates import add_estimate
from sequences.ops.costs import PATTERNS
from sequences.ops.estimate import Traffic, Verdict, estimate
from sequences.ops.queueing import Group, grouped, taking_turns
from sequences.strategies import AtomicCounter, BlockAllocator, OptimisticCounter, SortKeyMaximum, TransactionalCounter
from tests.sequences import support

written = partial(support.written, "sequences")
SORT_KEY = "sequences.strategies.sort_key.SortKeyMaximum"
BLOCK = "sequences.strategies.block.BlockAllocator"
REMEDIES = {
    "one write at a time, by turns": "Run more writers, or spread the numbers over more scopes.",
    "write units of the items' partition": "scopes or sequences, or make the items smaller.",
    "write units of the markers' partition": "scopes or sequences, or leave the tokens out.",
    "write units of the counters' partition": "Take BlockAllocator, whose processes seldom ask the counter.",
    "the writers, who wait for their requests": "Run more writers.",
    "the processes' own work": "Run more processes.",
}
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
        said = (
            "Without gaps TransactionalCounter with items under keys of their own (value_in) takes 10,579 a second in "
            "one scope; then the limit is one write at a time, by turns. Spread the numbers over"
        )
        assert str(remedies["SortKeyMaximum"]).startswith(said)
        assert str(remedies["TransactionalCounter"]).startswith(said)
        found = {row["strategy"]: row for row in rows("estimate", *hot, "--own-keys")}
        own = found["TransactionalCounter"]
        assert (own["verdict"], own["ceiling_per_second"]) == (Verdict.FITS, pytest.approx(10_579, abs=1))
        assert own["partition"] == "counters"
        assert found["SortKeyMaximum"]["ceiling_per_second"] == 500  # it takes no such keys

    def test_keys_of_their_own_are_no_help_with_tokens(self) -> None:
        """The markers of a scope share a partition key, so that it is the tokens that limit."""
        hot = ("--per-second", "5000", "--writers", "256", "--tokens")
        said = "Spread the numbers over more scopes or sequences, or make the items smaller."
        assert rows("estimate", "letters", *hot)[0]["remedy"] == said
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
            (("--per-second", "inf"), "--per-second is inf; it must be above 0."),
            (("--per-second", "9", "--latency-ms", "0"), "--latency-ms is 0.0; it must be above 0."),
            (("--per-second", "9", "--per-month", "-1"), "--per-month is -1.0; it must be 0 or more."),
            (("--per-second", "9", "--per-month", "inf"), "--per-month is inf; it must be 0 or more."),
            (("--per-second", "9", "--item-bytes", "0"), "an item has from 1 to 409600 bytes"),
            (("--per-second", "9", "--item-bytes", "500000"), "an item has from 1 to 409600 bytes"),
            (("--per-second", "9", "--scopes", "2", "--hottest", "0.1"), "with 2 scopes it is from 1/2 to 1"),
            (("--per-second", "9", "--hottest", "1.1"), "with 1 scopes it is from 1/1 to 1"),
            (("--per-second", "9", "--writers", "2"), "--processes 4 needs as many --writers or more, not 2."),
            (("--per-second", "9", "--processor-ms", "-1"), "--processor-ms is -1.0; it must be 0 or more."),
            (("--per-second", "9", "--processor-ms", "inf"), "--processor-ms is inf; it must be 0 or more."),
            (("nobody", "--per-second", "9"), "There is no sequence 'nobody'"),
            (("own", "--per-second", "9"), "ReadThenPut cannot be estimated"),
        ],
    )
    def test_what_makes_no_sense(self, arguments: tuple[str, ...], said: str) -> None:
        """The error names the option or the sequence."""
        with pytest.raises(CommandError, match=said.replace("(", r"\(")):
            written("estimate", *arguments)

    def test_its_options(self) -> None:
        """Each says what it is, and what holds without it."""
        parser = ArgumentParser()
        add_estimate(parser)
        assert {action.dest: (action.default, action.help) for action in parser._actions[1:]} == {
            "alias": (None, "a key of the setting SEQUENCES; without it, every strategy"),
            "per_second": (None, "numbers a second at the peak, in all scopes"),
            "per_month": (None, "numbers a month, for what they cost"),
            "scopes": (1, "scopes that share the numbers (1)"),
            "hottest": (None, "the share of the hottest scope, from 1/scopes to 1"),
            "item_bytes": (1000, "an item as it is stored, with its key, number and token (1000)"),
            "writers": (64, "callers that may ask at the same time, in all (64)"),
            "processes": (4, "of one host, over which the writers are spread (4)"),
            "latency_ms": (5.0, "a request there and back (5)"),
            "processor_ms": (0.3, "for which a number keeps its process busy (0.3)"),
            "tokens": (False, "every request has an idempotency token"),
            "own_keys": (False, "items have keys of their own (value_in), where the strategy takes them"),
            "format": ("text", None),
        }

    @pytest.mark.parametrize(
        "edge",
        [
            {"per_month": 0},
            {"processor_ms": 0},
            {"scopes": 4, "hottest": 0.25},
            {"scopes": 4, "hottest": 1},
            {"item_bytes": 1},
            {"item_bytes": 409_600},
            {"writers": 2, "processes": 2},
        ],
    )
    def test_what_just_makes_sense(self, edge: dict[str, Any]) -> None:
        """The least and the most of each option are traffic."""
        assert estimate(SortKeyMaximum, Traffic(per_second=0.1, **edge)).verdict == Verdict.FITS


class TestLimits:
    """What limits a scope, worked out by hand."""

    @pytest.mark.parametrize(
        ("strategy", "changes", "ceiling", "limit"),
        [
            (SortKeyMaximum, {"writers": 1, "latency_ms": 10}, 100, "one write at a time, by turns"),
            (SortKeyMaximum, {"writers": 3, "latency_ms": 10}, 300, "one write at a time, by turns"),
            (SortKeyMaximum, {"writers": 1, "processor_ms": 5}, 100, "one write at a time, by turns"),
            (SortKeyMaximum, {}, 500, "write units of the items' partition"),
            (SortKeyMaximum, {"item_bytes": 3000}, 1000 / 6, "write units of the items' partition"),
            (TransactionalCounter, {"item_bytes": 20_000}, 25, "write units of the items' partition"),
            (AtomicCounter, {"writers": 1, "latency_ms": 10}, 50, "the writers, who wait for their requests"),
            (OptimisticCounter, {"writers": 1, "tokens": True}, 50, "the writers, who wait for their requests"),
            (
                AtomicCounter,
                {"writers": 3, "processes": 3, "latency_ms": 1},
                1000,
                "write units of the items' partition",
            ),
            (AtomicCounter, {"own_keys": True, "latency_ms": 0.1}, 64_000, "write units of the counters' partition"),
            (
                TransactionalCounter,
                {"own_keys": True, "latency_ms": 0.1, "writers": 1000},
                49_500,
                "write units of the counters' partition",
            ),
            (TransactionalCounter, {"own_keys": True, "tokens": True}, 500, "write units of the markers' partition"),
            (BlockAllocator, {"tokens": True}, 500, "write units of the items' partition"),
            (BlockAllocator, {"processor_ms": 10}, 100, "the processes' own work"),
        ],
    )
    def test_the_ceiling(self, strategy: Any, changes: dict[str, Any], ceiling: float, limit: str) -> None:
        """Round trips, units or the processes' own work: the least of them. Beyond it something helps."""
        given = {"processes": 1, "processor_ms": 0, **changes}
        found = estimate(strategy, Traffic(per_second=ceiling * 0.7, **given))
        assert found.ceiling == pytest.approx(ceiling)
        assert found.limit == limit
        over = estimate(strategy, Traffic(per_second=ceiling * 1.1, **given))
        assert over.verdict == Verdict.OVER
        assert over.remedy.endswith(REMEDIES[limit])

    @pytest.mark.parametrize(("rate", "verdict"), [(350, "fits"), (351, "near"), (500, "near"), (501, "does not fit")])
    def test_the_verdict(self, rate: float, verdict: str) -> None:
        """Traffic is near the ceiling of 500 a second from 70 % of it on, and beyond it above."""
        found = estimate(SortKeyMaximum, Traffic(per_second=rate, processes=1, processor_ms=0))
        assert (found.ceiling, found.verdict, found.remedy == "") == (500, verdict, verdict == "fits")

    @pytest.mark.parametrize(
        ("strategy", "trips", "with_token"),
        [
            (SortKeyMaximum, 2, 2),  # the highest number is forgotten before the next one is wanted
            (TransactionalCounter, 1, 1),
            (AtomicCounter, 2, 3),
            (OptimisticCounter, 3, 4),
            (BlockAllocator, 1, 2),
        ],
    )
    def test_a_caller_who_comes_seldom(self, strategy: Any, trips: int, with_token: int) -> None:
        """They wait for the requests one after another, and for the process; nobody is before them."""
        for tokens, count in ((False, trips), (True, with_token)):
            given = Traffic(per_second=1e-6, latency_ms=10, processor_ms=0.5, tokens=tokens, item_bytes=5000)
            found = estimate(strategy, given)
            assert found.wait_ms == pytest.approx(10 * count + 0.5)
            assert found.group == pytest.approx(1)
            assert found.units.requests == pytest.approx(count, abs=0.02)

    @pytest.mark.parametrize(
        ("strategy", "requests", "item", "counter", "wait"),
        [
            (SortKeyMaximum, 0.7311, 1.4621, 0.0, 13.655),
            (TransactionalCounter, 0.7311, 2.0, 1.4621, 13.655),
            (AtomicCounter, 1.7311, 1.0, 0.7311, 23.655),
            (OptimisticCounter, 1.9366, 1.0, 0.4683, 39.366),
            (BlockAllocator, 1.01, 1.0, 0.01, 10.0),
        ],
    )
    def test_a_crowd_shares(self, strategy: Any, requests: float, item: float, counter: float, wait: float) -> None:
        """Where one caller comes during a request, 1.3679 share the next; where there are two requests, 2.1353 do."""
        found = estimate(strategy, Traffic(per_second=100, latency_ms=10, processes=1, processor_ms=0))
        told = [found.units.requests, found.units.item.write, found.units.counter.write, found.wait_ms]
        assert told == pytest.approx([requests, item, counter, wait], rel=0.0001)

    def test_the_highest_item_is_read_again(self) -> None:
        """Who comes when nobody came for a quarter of a second, and the time of a request, reads the highest item."""
        found = estimate(SortKeyMaximum, Traffic(per_second=1, latency_ms=50, item_bytes=4097, processes=1))
        reads = math.exp(-0.3) / found.group
        assert (found.units.item.read, found.units.requests) == pytest.approx((2 * reads, 1 / found.group + reads))

    def test_a_queue_that_never_ends(self) -> None:
        """Nobody can say how long a caller waits in it."""
        found = estimate(SortKeyMaximum, Traffic(per_second=30_000, writers=30_000))
        assert (found.wait_ms, found.group) == (None, 100)

    @pytest.mark.parametrize(("per_second", "even"), [(400.0, 0.01), (0.01, 400.0), (10.0, 0.0)])
    def test_a_month(self, per_second: float, even: float) -> None:
        """A number takes what it takes at the peak, or at an even rate: whichever is more, of writes and of reads."""
        traffic = Traffic(per_second=per_second, per_month=even * 30 * 86_400)
        found = [
            estimate(SortKeyMaximum, replace(traffic, per_second=rate)) for rate in (per_second, even or per_second)
        ]
        most = max(one.units.write for one in found), max(one.units.read for one in found)
        assert most[0] > 1.2 or not even
        assert found[0].month_units == pytest.approx([units * even * 30 * 86_400 for units in most])
        assert estimate(SortKeyMaximum, replace(traffic, per_month=None)).month_units is None

    def test_a_month_of_the_hottest_scope(self) -> None:
        """At an even rate, too, the hottest scope has its share, and its items are in groups of that size."""
        traffic = Traffic(per_second=0.01, per_month=400 * 30 * 86_400, scopes=10, hottest=0.5)
        hot = estimate(SortKeyMaximum, Traffic(per_second=200))
        found = estimate(SortKeyMaximum, traffic).month_units
        assert found is not None
        assert found[0] == pytest.approx(hot.units.write * 400 * 30 * 86_400)

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

    def test_a_process_that_is_nearly_always_busy(self) -> None:
        """Groups grow until as many callers come during a write as it takes, however long that takes to settle."""
        found = grouped(rate=100.0, seconds=0.01, most=99.0, busy=0.0095)
        load = 100.0 * (0.01 + 0.0095 * found.size)
        assert found.size == pytest.approx(load + math.exp(-load), rel=1e-9)
        assert found.size == pytest.approx(20.0, rel=0.001)

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

    def test_some_traffic_takes_turns(self) -> None:
        """Two processes, with half a caller in each during a write of 10 ms: the analysis by hand."""
        found = taking_turns(rate=100.0, seconds=0.01, most=99.0, busy=0.0, processes=2)
        assert [found.size, found.alone, found.wait] == pytest.approx([1.26395, 0.77728, 0.0049302], rel=0.0001)

    def test_too_much_traffic_never_gets_its_turn(self) -> None:
        """Where as many callers come during a write as it takes at most, all groups are full and the queue grows."""
        assert grouped(rate=100.0, seconds=0.05, most=5.0, busy=0.0) == Group(5.0, 0.0, math.inf)
        assert grouped(rate=99.0, seconds=0.05, most=5.0, busy=0.0).wait < math.inf
        most = taking_turns(rate=100.0, seconds=0.01, most=99.0, busy=0.0, processes=2).size
        assert taking_turns(100.0, 0.01, most, 0.0, processes=2) == Group(most, 0.0, math.inf)
        assert taking_turns(100.0, 0.01, most + 0.001, 0.0, processes=2).wait < math.inf

    def test_counters_of_all_scopes_share_a_partition(self) -> None:
        """Each scope is far from its limit, but all counters of a sequence have one partition key."""
        lone = estimate(AtomicCounter, Traffic(per_second=900, scopes=1000, writers=64))
        assert (lone.partition, lone.verdict) == ("counters", Verdict.NEAR)
        assert lone.ceiling > 100 * lone.units.counter.write * 900 / 1000
        assert "BlockAllocator" in lone.remedy
