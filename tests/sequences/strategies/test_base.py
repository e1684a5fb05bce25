"""What every strategy is: its options, its deadlines, what it forgets and learns, and what it shares with its lines."""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from sequences import dynamodb
from sequences.commit.requests import Pending, PutRequest
from sequences.exceptions import InvalidSequence
from sequences.strategies import Strategy
from tests.sequences.support import Clock, make

pytestmark = pytest.mark.usefixtures("configured")

GOOD: dict[str, list[Any]] = {
    "partition": ["{scope}"],
    "key_names": [("pk",), ["pk", "sk"]],
    "key_types": [None, ("S",), ["S", "N"]],
    "value_in": ["sort_key"],
    "value_name": ["n"],
    "token_name": ["t"],
    "text_name": [None, "t"],
    "sort_key": [None, "{value:010d}"],
    "ignore_in_repeat": [(), ["at"]],
    "marker_table": [None, "markers"],
    "history_table": [None, "history"],
    "marker_seconds": [1],
    "deadline": [0.5, 1],
    "group": [True, False],
    "scopes": [None, "kept", "a.b"],
}
BAD: dict[str, list[Any]] = {
    "partition": ["", 7],
    "key_names": [(), ("a", "b", "c"), "pk", ("",)],
    "key_types": [("B",), "S", ("S", "B")],
    "value_in": ["nowhere"],
    "value_name": ["", None],
    "token_name": ["", None],
    "text_name": ["", 7],
    "sort_key": ["", "{value}", 7],
    "ignore_in_repeat": ["at", [7]],
    "marker_table": ["", 7],
    "history_table": ["", 7],
    "marker_seconds": [0, 1.5],
    "deadline": [0, True],
    "group": ["yes", 1],
    "scopes": ["", "ab", 7],
}


def test_the_options() -> None:
    """Each option has its default, and takes what it says."""
    assert {name: option.default for name, option in Strategy.options.items()} == {
        "partition": "{sequence}#{scope}",
        "key_names": ("pk", "sk"),
        "key_types": None,
        "value_in": "sort_key",
        "value_name": "value",
        "token_name": "token",
        "text_name": None,
        "sort_key": None,
        "ignore_in_repeat": (),
        "marker_table": None,
        "history_table": None,
        "marker_seconds": 604_800,
        "deadline": 10.0,
        "group": True,
        "scopes": "kept",
    }
    for taken, values in ((True, GOOD), (False, BAD)):
        assert values.keys() == Strategy.options.keys()
        wrong = [(name, value) for name in values for value in values[name] if _takes(name, value) is not taken]
        assert wrong == []


def _takes(name: str, value: Any) -> bool:
    return bool(Strategy.options[name].accepts(value))


@pytest.fixture
def told() -> list[Any]:
    """What is told."""
    return []


class TestDeadlines:
    def test_of_a_call(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """A call has the seconds of the option, from now on or from when it began."""
        strategy = make("atomic", clock=clock, deadline=7.0)
        monkeypatch.setattr(time, "monotonic", lambda: 100.0)
        now, before = strategy.deadline(), strategy.deadline(97.0)
        assert (now.began, before.began) == (clock.now, clock.now - 3)
        assert (now.seconds, now.client, now.sequence, now.timing) == (7.0, "default", "atomic", strategy.timing)

    def test_by_default(self) -> None:
        """Time is the engine's, as the client knows it."""
        wall: Any = make("atomic").wall
        assert isinstance(wall, partial)
        assert (wall.func, wall.args) == (dynamodb.now, ("default",))


class TestMemory:
    @pytest.mark.parametrize("name", ["transactional", "sort-key"])
    def test_what_it_learns(self, name: str) -> None:
        """A value that a marker or a change tells is known to be handed out; without a value nothing is told."""
        strategy = make(name)
        assert strategy.evidence is not None
        strategy.handed_out("A", 5)
        strategy.changed("B", 6)
        strategy.changed("C", None)
        assert [strategy.evidence.known(scope) for scope in "ABC"] == [5, 6, None]

    def test_a_strategy_without_evidence(self) -> None:
        """One that remembers nothing is told in vain."""
        strategy = make("one-file")
        strategy.evidence = None
        strategy.handed_out("A", 5)
        strategy.changed("A", 5)

    @pytest.mark.parametrize(
        ("name", "all_told"), [("transactional", ["list", "counter", "more"]), ("sort-key", ["list", "more"])]
    )
    def test_what_it_forgets(
        self, name: str, all_told: list[str], told: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It forgets its list of scopes, its counters, and whatever else is of the same tables."""
        strategy = make(name)
        monkeypatch.setattr(strategy.scope_list, "forget", lambda: told.append("list"))
        if strategy.counter:
            monkeypatch.setattr(strategy.counter.memory, "forget", lambda: told.append("counter"))
        strategy.forget_too.append(lambda: told.append("more"))
        strategy.forget()
        assert told == all_told

    def test_what_it_shares_with_its_lines(self) -> None:
        """A strategy by the rules of one scope has the lives and the rules of its sequence."""
        parent = make("transactional")
        made = type(parent)(parent.config, parent=parent)
        alone = type(parent)(parent.config)
        for shared in ("lives", "rules"):
            assert getattr(made, shared) is getattr(parent, shared)
            assert getattr(alone, shared) is not getattr(parent, shared)
        assert made.percents is not parent.percents


@pytest.mark.parametrize("name", ["sort-key", "transactional"])
def test_a_put(name: str, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Items are stored in known tables, in a scope that can be, those of the tables' life."""
    strategy, now = make(name), make(name).deadline()
    one, former = Pending(PutRequest(item={})), Pending(PutRequest(item={}))
    monkeypatch.setattr(type(strategy.layout), "check_scope", lambda layout, scope: told.append(("scope", scope)))
    monkeypatch.setattr(strategy.lives, "bind", lambda send, deadline: told.append(("bind", deadline)))
    monkeypatch.setattr(strategy.lives, "takeable", lambda pendings: pendings[:1])
    monkeypatch.setattr(strategy.items, "submit", lambda *submitted: told.append(submitted))
    strategy.put("ABC", [one, former], now)
    assert told == [("scope", "ABC"), ("bind", now), ("ABC", [one], now)]


@pytest.mark.parametrize("name", ["sort-key", "atomic"])
def test_a_put_on_a_wrong_day(name: str, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only some days are right, the others are answered before anything is stored."""
    strategy, now = make(name), make(name).deadline()
    one, wrong = Pending(PutRequest(item={})), Pending(PutRequest(item={}))

    def allowed(scope: str, pendings: Any, repeat: object, deadline: object) -> Any:
        assert (scope, repeat, deadline) == ("ABC", strategy.item_writer.answers.repeat_if_marked, now)
        return pendings[:1]

    monkeypatch.setattr(strategy.naming, "limits", SimpleNamespace(allowed=allowed))
    monkeypatch.setattr(strategy.lives, "bind", lambda send, deadline: None)
    monkeypatch.setattr(strategy.items, "submit", lambda *submitted: told.append(submitted))
    strategy.put("ABC", [one, wrong], now)
    assert told == [("ABC", [one], now)]


@pytest.mark.parametrize(
    ("name", "options", "keeps"),
    [
        ("sort-key", {}, True),
        ("sort-key", {"scopes": None}, False),
        ("transactional-beside", {}, True),
        ("transactional", {}, False),
    ],
)
def test_who_keeps_a_list_of_scopes(name: str, options: dict[str, Any], keeps: bool) -> None:
    """A sequence keeps one unless it is told not to, or the table of its counters is one."""
    assert make(name, **options).scope_list.keep is keeps


class TestTogether:
    @pytest.mark.parametrize(
        ("name", "group", "queues", "most"),
        [
            ("sort-key", True, True, 100),
            ("sort-key", False, False, 100),
            ("transactional", True, True, 99),
            ("atomic", True, False, 100),
        ],
    )
    def test_who_is_written_together(self, name: str, group: bool, queues: bool, most: int) -> None:
        """Hosts line up where one request writes the items of many callers, unless the option says otherwise."""
        strategy = make(name, group=group)
        assert (strategy.item_writer.line is not None, strategy.items._joins) == (queues, queues)
        assert strategy.item_writer.most_actions == most

    @pytest.mark.parametrize(
        ("starts", "queue"), [({}, "sort-key"), ({"us-east-1": 1, "eu-west-1": 2}, "sort-key@us-east-1")]
    )
    def test_the_queue_of_a_region(self, starts: dict[str, int], queue: str) -> None:
        """Hosts of Regions that count on their own have lines of their own, and gaps beside each other."""
        strategy = make("sort-key")
        config = dataclasses.replace(strategy.config, region="us-east-1", starts=starts, step=2 if starts else 1)
        striped = type(strategy)(config)
        assert striped.item_writer.line is not None
        assert striped.item_writer.line.key("ABC") == striped.schema.key(f"#line#{queue}#ABC", 0)
        assert striped.gapless is (not starts)


@pytest.mark.parametrize("starts", [{}, {"us-east-1": 1}])
def test_where_its_rules_are(starts: dict[str, int]) -> None:
    """They are beside its items; where Regions count on their own, no table is the one on which numbers depend."""
    strategy = make("atomic")
    made = type(strategy)(dataclasses.replace(strategy.config, region="us-east-1", starts=starts))
    assert made.rules.items == made.schema
    assert bool(made.rules.numbering) is not bool(starts)
    assert made.rules.clock == made.timing.clock


class TestRefused:
    def test_regions(self) -> None:
        """A strategy whose rows two Regions would write cannot count by Regions."""
        strategy = make("one-file")
        config = dataclasses.replace(strategy.config, region="us-east-1", starts={"us-east-1": 1})
        with pytest.raises(InvalidSequence, match=r"\['one-file'\]\['START'\] must be a number: ReadThenPut"):
            type(strategy)(config)

    @pytest.mark.parametrize(("name", "starts"), [("atomic", {}), ("transactional", {"us-east-1": 1})])
    def test_the_order_of_dates(self, name: str, starts: dict[str, int]) -> None:
        """A strategy that could lose a value by it keeps no order of dates, nor do Regions beside each other."""
        strategy = make(name)
        config = dataclasses.replace(strategy.config, region="us-east-1", starts=starts, date_order="refuse")
        with pytest.raises(InvalidSequence, match=rf"\['{name}'\]\['DATE_ORDER'\] must be 'any'"):
            type(strategy)(config)
        kept = dataclasses.replace(make("transactional").config, date_order="refuse")
        assert type(make("transactional"))(kept).config.date_order == "refuse"
