"""Regions that write one sequence: the keys of SEQUENCES, and two engines that learn of each other's writes later."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from uuid import uuid4

import boto3
import pytest
from django.test import override_settings
from django.utils.module_loading import import_string
from pytest_django import Settings

from sequences import changes, dynamodb, get_last_value, put_next
from sequences.exceptions import InvalidSequence, OperationNotSupported, SequenceFrozen, SequenceWentBack
from sequences.ops.audit import audit
from sequences.ops.scope_report import look_at
from sequences.ops.tables import create_tables, schemas_of
from sequences.registry import parse_config, strategies
from sequences.services.texts import format_value, parse
from sequences.strategies import Strategy, sort_key
from sequences.strategies.counter_strategy import counter_of
from sequences.testing import engine_at
from sequences.testing.embedded import Engine
from tests.sequences.running import put
from tests.sequences.support import OWN, SEQUENCES, make

PROCESSES, THREADS = 2, 3  # in each Region
ITEMS = 8
EAST, WEST = "us-east-1", "us-west-2"
STARTS = {EAST: 1, WEST: 2}
STRIPES: dict[str, Any] = {"START": STARTS, "STEP": 2}
STRIPED = [name for name in SEQUENCES if name not in OWN and "by-10" not in name]
ATOMIC = SEQUENCES["atomic"]


class TestKeys:
    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ({"HOME_REGION": 3}, r"\['HOME_REGION'\] is 3; it must be the name of a Region"),
            ({"HOME_REGION": ""}, r"\['HOME_REGION'\] is ''; it must be the name of a Region"),
            ({"HOME_REGION": EAST, **STRIPES}, r"\['START'\] has Regions that write, and 'HOME_REGION' names one"),
            (
                {"ACCEPT": ["gaps"]},
                r"\['ACCEPT'\] is \['gaps'\]; it must be a list of risks: regions-give",
            ),
            ({"ACCEPT": "regions-give-the-same-number"}, r"\['ACCEPT'\] is .* it must be a list"),
            ({"START": {}}, r"\['START'\] is {}; its keys must be names of Regions"),
            ({"START": {7: 1}}, r"\['START'\] is {7: 1}; its keys must be names of Regions"),
            ({"START": {EAST: -1}}, r"\['START'\]\['us-east-1'\] is -1; it must be a whole number from 0"),
            ({"START": {EAST: True}}, r"\['START'\]\['us-east-1'\] is True; it must be a whole number"),
            ({"START": STARTS}, r"\['STEP'\] is 1; it must be at least 2, as START has so many Regions"),
            ({"START": {EAST: 1, WEST: 3}, "STEP": 2}, r"1 in 'us-east-1' and 3 in 'us-west-2'; by a STEP of 2 both"),
            ({"START": {"eu-west-1": 1}}, r"has 'eu-west-1', and the client 'default' is in 'us-east-1': add its"),
            ({**STRIPES, "START": {EAST: 1, WEST: 10}, "MAXIMUM": 9}, r"\['MAXIMUM'\] is 9; .* from 10"),
            ({**STRIPES, "MAXIMUM": 1}, r"\['MAXIMUM'\] is 1; it must be a whole number from 2"),
        ],
    )
    @pytest.mark.usefixtures("configured")
    def test_what_is_wrong(self, entry: Mapping[str, Any], message: str) -> None:
        """Each wrong key is named with what it must be, before anything is numbered."""
        with pytest.raises(InvalidSequence, match=message):
            parse_config("orders", {**ATOMIC, **entry})

    @pytest.mark.usefixtures("configured")
    def test_what_is_right(self) -> None:
        """The START of this Region counts; the risks and the home are taken as they are."""
        config = parse_config("orders", {**ATOMIC, **STRIPES, "ACCEPT": ["transactions-are-refused"]})
        assert (config.start, config.step, config.stripe) == (1, 2, EAST)
        assert config.accepted == {"transactions-are-refused"}
        config = parse_config("orders", {**ATOMIC, "HOME_REGION": WEST})
        assert (config.home_region, config.region, config.stripe) == (WEST, EAST, "")

    def test_without_a_region(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who has no Region has no START, and reads where to set one."""
        for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
        with pytest.raises(InvalidSequence, match="the client 'default' has no Region: add its START, or set AWS_DEF"):
            parse_config("orders", {**ATOMIC, **STRIPES})

    @pytest.mark.usefixtures("configured")
    def test_a_strategy_that_cannot(self) -> None:
        """A strategy of somebody's own counts by Regions only if it says so."""
        with pytest.raises(InvalidSequence, match=r"ReadThenPut cannot count by Regions\. Set HOME_REGION"):
            make("one-file", **STRIPES)

    @pytest.mark.usefixtures("configured")
    def test_no_strategy_is_gapless_in_stripes(self) -> None:
        """The numbers of one Region leave out those of the others."""
        assert not any(make(name, **STRIPES).gapless for name in STRIPED)
        assert make("sort-key").gapless


@dataclass(frozen=True)
class Given:
    """A number that a process in a Region got, and the title of the item that it stored."""

    region: str
    value: int
    title: str


class World:
    """Two Regions: each has an engine, and its processes reach that engine alone. What one writes, the other has later.

    The later write of a row wins, as in an eventually consistent global table.
    """

    def __init__(self, entry: Mapping[str, Any], endpoints: Mapping[str, str]) -> None:
        self.entry = entry
        self.wires = {region: _wire(region, endpoint) for region, endpoint in endpoints.items()}
        self.processes = {region: [self.process(region) for _ in range(PROCESSES)] for region in endpoints}
        self.tables = {schema.table for schema in schemas_of(self.processes[EAST][0])}
        self.given: list[Given] = []
        self._known: dict[tuple[str, str, str], Any] = {}

    def process(self, region: str) -> Strategy:
        """The strategy of a new process in a Region."""
        config = parse_config("tickets", {**self.entry, "CLIENT": region})
        kind: type[Strategy] = import_string(config.strategy)
        return kind(config)

    @contextmanager
    def inside(self, region: str) -> Iterator[Strategy]:
        """Let this process be in a Region."""
        with override_settings(SEQUENCES={"tickets": {**self.entry, "CLIENT": region}}):
            yield strategies["tickets"]

    def put(self, region: str, process: Strategy, scope: str, title: str, token: str | None = None) -> int:
        """Store an item, and note what it got."""
        value = put(process, scope, title, token)
        self.given.append(Given(region, value, title))
        return value

    def write(self, scope: str, count: int) -> None:
        """Store so many items in each Region, by threads of its processes, half of them with tokens."""
        name = uuid4().hex[:6]
        with ThreadPoolExecutor(len(self.processes) * PROCESSES * THREADS) as pool:
            running = [
                pool.submit(self.put, region, process, scope, title, title if number % 2 else None)
                for number in range(count // PROCESSES)
                for region, processes in self.processes.items()
                for which, process in enumerate(processes)
                for title in [f"{name} {region} {which} {number}"]
            ]
            for one in running:
                one.result(timeout=90)

    @contextmanager
    def replicating(self) -> Iterator[None]:
        """Replicate all the time, while the body runs."""
        over = threading.Event()

        def go_on() -> None:
            while not over.wait(0.01):
                self.replicate()

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(go_on)
            try:
                yield
            finally:
                over.set()
            running.result(timeout=90)

    def replicate(self) -> None:
        """Bring what each Region has written since the last time to the other one."""
        changed: dict[tuple[str, str], dict[str, Any]] = {}
        for region, wire in self.wires.items():
            for table in self.tables:
                for row in _rows(wire, table):
                    key = repr([row[name] for name in (("pk", "sk") if "pk" in row else ("sequence", "scope"))])
                    if self._known.get((region, table, key)) != row:
                        changed.setdefault((table, key), {})[region] = row
        for (table, key), rows in changed.items():
            winner = rows[max(rows)]  # nobody knows which of two was the later one
            for region, wire in self.wires.items():
                self._known[region, table, key] = winner
                if rows.get(region) != winner:
                    wire.put_item(TableName=table, Item=winner)

    def titles(self, region: str, scope: str) -> dict[int, str]:
        """The titles of the stored items by their numbers, as a Region has them."""
        strategy = self.processes[region][0]
        partition, schema = strategy.layout.partition(scope), strategy.schema
        rows = [dynamodb.unmarshal(row) for row in _rows(self.wires[region], schema.table)]
        return {schema.number(row): row["title"] for row in rows if row["pk"] == partition and "title" in row}

    def voids(self, region: str, scope: str) -> list[int]:
        """The numbers of the void rows of a scope, as a Region has them."""
        strategy = self.processes[region][0]
        rows = [dynamodb.unmarshal(row) for row in _rows(self.wires[region], strategy.schema.table) if "void" in row]
        return [strategy.schema.number(row) for row in rows if row["pk"] == strategy.layout.partition(scope)]

    @property
    def twice(self) -> set[int]:
        """The numbers that were given more than once."""
        return {value for value, count in Counter(one.value for one in self.given).items() if count > 1}


@cache
def _wire(region: str, endpoint: str) -> Any:
    """A client of a Region. To make one takes longer than to write its items."""
    given = {"aws_access_key_id": "tests", "aws_secret_access_key": "tests", "endpoint_url": endpoint}
    return boto3.client("dynamodb", region_name=region, **given)  # type: ignore[call-overload]


def _rows(wire: Any, table: str) -> Iterator[dict[str, Any]]:
    for page in wire.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from page["Items"]


@pytest.fixture(scope="module")
def endpoints(engine: Engine) -> Iterator[Mapping[str, str]]:
    """The engines of two Regions."""
    with Engine().start() as other:
        yield {EAST: engine.endpoint, WEST: other.endpoint}


@pytest.fixture
def world(endpoints: Mapping[str, str], table_prefix: str, settings: Settings) -> Iterator[Callable[..., World]]:
    """A function that makes the tables of a sequence in both Regions, and their processes."""
    with engine_at(endpoints[EAST]):

        def make_world(name: str, **keys: Any) -> World:
            entry = {**SEQUENCES[name], **keys}
            settings.SEQUENCES_CLIENTS = {
                region: {"REGION": region, "ENDPOINT": endpoint} for region, endpoint in endpoints.items()
            }
            settings.SEQUENCES = {region: {**entry, "CLIENT": region} for region in endpoints}
            create_tables()
            return World(entry, endpoints)

        yield make_world


class TestStripes:
    @pytest.mark.parametrize("name", STRIPED)
    def test_no_number_twice(self, name: str, world: Callable[..., World], scope: str) -> None:
        """Two Regions write one scope at a time, before, while and after they learn of each other.

        No number is given twice, and no item is lost: each Region has all of them in the end.
        """
        regions = world(name, **STRIPES)
        regions.write(scope, ITEMS)
        regions.replicate()
        with regions.replicating():
            regions.write(scope, ITEMS)
        regions.replicate()
        regions.write(scope, ITEMS)
        regions.replicate()
        regions.replicate()
        assert regions.twice == set()
        assert len(regions.given) == 2 * 3 * ITEMS
        assert {one.region: one.value % 2 for one in regions.given} == {EAST: 1, WEST: 0}
        assert all((one.value % 2 == 1) == (one.region == EAST) for one in regions.given)
        wanted = {one.value: one.title for one in regions.given}
        assert regions.titles(EAST, scope) == regions.titles(WEST, scope) == wanted

    @pytest.mark.parametrize("name", ["sort-key", "atomic"])
    def test_without_stripes_numbers_are_given_twice(self, name: str, world: Callable[..., World], scope: str) -> None:
        """What the stripes prevent: both Regions give the same numbers, and items are lost."""
        regions = world(name)
        regions.write(scope, ITEMS)
        regions.replicate()
        assert regions.twice
        assert len(regions.titles(EAST, scope)) < len(regions.given)

    @pytest.mark.parametrize("name", ["sort-key", "atomic", "transactional"])
    def test_each_region_is_audited(self, name: str, world: Callable[..., World], scope: str) -> None:
        """The other Region's items and markers are neither strays nor orphans, and its numbers are no gaps."""
        regions = world(name, **STRIPES)
        regions.write(scope, ITEMS)
        for region in (EAST, WEST):
            with regions.inside(region) as strategy:
                with dynamodb.at_most(50) as alone:
                    before = audit(strategy, scope)
                regions.replicate()
                with dynamodb.at_most(50) as budget:
                    report = audit(strategy, scope)
                assert budget.sent <= alone.sent
                assert (report.strays.total, report.orphans.total) == (0, 0)
                assert report.carried == before.carried == ITEMS
                assert report.markers == ITEMS // 2
                assert any(f"Of the values of {region} alone" in note for note in report.notes)
                if strategy.exactly_once:
                    assert report.missing == 0

    @pytest.mark.parametrize("name", ["sort-key", "block", "transactional"])
    def test_a_repeat_elsewhere(self, name: str, world: Callable[..., World], scope: str) -> None:
        """The caveat: before it is replicated, a token is new to another Region. After that a repeat is answered.

        What the other Region learns of the first one's numbers does not stop its own.
        """
        regions = world(name, **STRIPES)
        east, west = regions.process(EAST), regions.process(WEST)
        for _ in range(5):
            regions.put(EAST, east, scope, "before")
        first = regions.put(EAST, east, scope, "once", token="t")
        regions.replicate()
        assert put(west, scope, "once", token="t") == first
        following = regions.put(WEST, west, scope, "its own")
        assert following % 2 == 0
        another = regions.put(EAST, east, scope, "twice", token="u")
        assert put(west, scope, "twice", token="u") not in (another, following)

    def test_numbers_of_items_go_on_above_all(
        self, world: Callable[..., World], scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A Region that counts the items goes on above the highest that it has, whosever it is."""
        monkeypatch.setattr(sort_key, "TAIL_SECONDS", -1.0)
        regions = world("sort-key", **STRIPES)
        for _ in range(9):
            regions.put(EAST, regions.processes[EAST][0], scope, "")
        assert regions.put(WEST, regions.process(WEST), scope, "") == 2
        regions.replicate()
        assert regions.put(WEST, regions.process(WEST), scope, "") == 18
        with regions.inside(WEST) as strategy:
            regions.put(EAST, regions.process(EAST), scope, "")
            regions.replicate()
            assert strategy.layout.highest(scope, partial(dynamodb.call, client=WEST))[0] == 19
            assert get_last_value("tickets", scope=scope) == 18
            assert strategy.scopes.free_value(scope) == 20
            found = look_at(strategy, scope)
            assert (found["last_value"], found["upcoming"]) == (18, ["20", "22", "24"])
            changes.advance("tickets", to=21, scope=scope, by="ann", reason="a test")
            assert regions.put(WEST, regions.process(WEST), scope, "") == 22
            assert changes.advance("tickets", to=101, scope=scope, by="ana", reason="a test").after == 100
            assert put_next("tickets", {}, scope=scope).value == 102
            with pytest.raises(OperationNotSupported, match="would hide a freeze"):
                changes.freeze("tickets", scope=scope, by="ana", reason="a test")
        assert {number % 2 for number in regions.voids(WEST, scope)} == {0}

    def test_a_counter_beside_items_of_another_region(self, world: Callable[..., World], scope: str) -> None:
        """They are none of its numbers: what a page shows, and a change says, is of its own."""
        regions = world("transactional", **STRIPES)
        for _ in range(9):
            regions.put(EAST, regions.processes[EAST][0], scope, "")
        regions.put(WEST, regions.process(WEST), scope, "")
        regions.replicate()
        with regions.inside(WEST) as strategy:
            found = look_at(strategy, scope)
            assert (found["last_value"], found["upcoming"]) == (2, ["4", "6", "8"])

    @pytest.mark.parametrize("name", [name for name in STRIPED if "sort-key" not in name])
    def test_each_region_has_its_counters(self, name: str, world: Callable[..., World], scope: str) -> None:
        """A Region lists, tells and changes its own counters alone."""
        regions = world(name, **STRIPES)
        regions.put(EAST, regions.process(EAST), scope, "")
        regions.put(WEST, regions.process(WEST), scope, "")
        regions.replicate()
        with regions.inside(EAST):
            changes.freeze("tickets", scope=scope, by="ana", reason="a test")
            with pytest.raises(SequenceFrozen):
                put_next("tickets", {}, scope=scope)
        regions.replicate()
        with regions.inside(WEST) as strategy:
            assert put_next("tickets", {}, scope=scope).value % 2 == 0
            if strategy.counter and not strategy.counter.rows.beside_items:
                assert [counter.scope for counter in strategy.scopes.page(None, 10)[0]] == [scope]
            assert changes.advance("tickets", to=1001, scope=scope, by="ana", reason="a test").after == 1000

    @pytest.mark.parametrize("name", ["atomic", "transactional"])
    def test_a_counter_that_went_back(self, name: str, world: Callable[..., World], scope: str) -> None:
        """The evidence of a Region's own numbers is found among newer ones of another Region."""
        regions = world(name, **STRIPES)
        for region, count in ((WEST, 3), (EAST, 9)):
            for _ in range(count):
                regions.put(region, regions.processes[region][0], scope, "")
        regions.replicate()
        again = regions.process(WEST)
        counter = counter_of(again)
        regions.wires[WEST].delete_item(TableName=counter.table, Key=counter.key(scope))
        with pytest.raises(SequenceWentBack):
            put(again, scope)

    def test_texts_are_read_everywhere(self, world: Callable[..., World]) -> None:
        """A text that one Region wrote is read in the other one."""
        regions = world("atomic", **STRIPES, FORMAT="T-{value:04d}")
        for region in (EAST, WEST):
            with regions.inside(region):
                assert [parse(text, "tickets").value for text in ("T-0007", "T-0008")] == [7, 8]
                assert format_value(7, "tickets") == "T-0007"
                assert format_value(8, "tickets") == "T-0008"
                with pytest.raises(ValueError, match="below START"):
                    format_value(0, "tickets")
