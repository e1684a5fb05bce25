"""From the setting SEQUENCES to strategies: one object an alias, and a clear word for every mistake."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any
from unittest import mock

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.test import override_settings
from pytest_django import Settings

from sequences import dynamodb, registry
from sequences.exceptions import InvalidSequence, SequenceUnavailable
from sequences.formats.periods import Period
from sequences.ops.checks import check_sequences
from sequences.registry import DEFAULT_TABLE, Registry, made_of, parse_config, strategies
from sequences.rows.soundness import SAME_NUMBER
from sequences.strategies import AtomicCounter, BlockAllocator, SortKeyMaximum, Strategy
from sequences.testing.callers import at_once
from sequences.types import Dated, SequenceConfig
from tests.sequences.one_file import ReadThenPut
from tests.sequences.support import SEQUENCES

ATOMIC = "sequences.strategies.atomic.AtomicCounter"
SORT_KEY = "sequences.strategies.sort_key.SortKeyMaximum"


class Silent(Strategy):
    """A strategy that leaves two questions open."""

    gapless = supports_reserve = needs_transactions = ordered_across_processes = writes_together = False
    requests = "1"
    assign = ReadThenPut.assign
    number_taken = ReadThenPut.number_taken
    last_value = ReadThenPut.last_value


MISTAKES: list[tuple[Any, str]] = [
    ("a text", "'STRATEGY'"),
    ({}, "'STRATEGY'"),
    ({"STRATEGY": AtomicCounter}, "'STRATEGY'"),
    ({"STRATEGY": "no.such.Module"}, "cannot import 'no.such.Module'"),
    ({"STRATEGY": "AtomicCounter"}, "cannot import 'AtomicCounter'"),
    ({"STRATEGY": "sequences.strategies.atomic.NoSuch"}, "cannot import"),
    ({"STRATEGY": "sequences.services.put_next"}, "is not a strategy class"),
    ({"STRATEGY": "sequences.types.Counter"}, "is not a strategy class"),
    ({"STRATEGY": "sequences.strategies.base.Strategy"}, "is not a strategy class"),
    ({"STRATEGY": "tests.sequences.test_registry.Silent"}, "lacks exactly_once, units"),
    ({"STRATEGY": ATOMIC, "BLOCK": 1}, "unknown key 'BLOCK'"),
    ({"STRATEGY": ATOMIC, "START": "1"}, r"\['START'\] is '1'"),
    ({"STRATEGY": ATOMIC, "START": -1}, r"\['START'\] is -1"),
    ({"STRATEGY": ATOMIC, "START": True}, r"\['START'\] is True"),
    ({"STRATEGY": ATOMIC, "START": 10**38}, r"\['START'\].*38 digits"),
    ({"STRATEGY": ATOMIC, "STEP": 0}, r"\['STEP'\] is 0"),
    ({"STRATEGY": ATOMIC, "STEP": 1.5}, r"\['STEP'\] is 1.5"),
    ({"STRATEGY": ATOMIC, "START": 10, "MAXIMUM": 9}, r"\['MAXIMUM'\] is 9.* from 10"),
    ({"STRATEGY": ATOMIC, "TABLE": "no"}, r"\['TABLE'\]"),
    ({"STRATEGY": ATOMIC, "TABLE": "a table"}, r"\['TABLE'\]"),
    ({"STRATEGY": ATOMIC, "TABLE": None}, r"\['TABLE'\]"),
    ({"STRATEGY": ATOMIC, "OPTIONS": ["group"]}, r"\['OPTIONS'\]"),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"no_such": 1}}, "no option 'no_such'; it has .*group"),
    (
        {"STRATEGY": ATOMIC, "OPTIONS": {"scope_must_exist": True}},
        r"AtomicCounter has no option 'scope_must_exist'; it has check_items, .*, value_name\.$",
    ),
    (
        {"STRATEGY": ATOMIC, "OPTIONS": {"group": "yes"}},
        r"^SEQUENCES\['mine'\]\['OPTIONS'\]\['group'\] is 'yes'; it must be True or False\.$",
    ),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"deadline": 0}}, r"\['deadline'\] is 0; it must be a number above 0"),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"marker_seconds": True}}, r"\['marker_seconds'\] is True"),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"partition": "all"}}, r"\['partition'\].*\{scope\}"),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"key_names": ["pk"]}}, r"\['key_names'\].*two names"),
    (
        {"STRATEGY": ATOMIC, "OPTIONS": {"key_types": ["S"]}},
        r"\['key_types'\] is \['S'\]; it must have a type for each",
    ),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"key_names": ["a", "b", "c"]}}, r"\['key_names'\].*one or two names"),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"ignore_in_repeat": "at"}}, r"\['ignore_in_repeat'\].*a list"),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"scopes": 1}}, r"\['scopes'\].*dotted path"),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"counter_table": ""}}, r"\['counter_table'\].*name of a table"),
    *(
        ({"STRATEGY": ATOMIC, "OPTIONS": {"sort_key": template}}, r"\['sort_key'\].*in 1 to 38 digits")
        for template in ("{value:00d}", "{value:039d}", "{value}", "T1{value:04d}", "{value:04d}#", "{x}{value:04d}", 6)
    ),
    ({"STRATEGY": ATOMIC, "GIVEN": 1}, r"\['GIVEN'\] is 1; it must be True or False"),
    ({"STRATEGY": SORT_KEY, "STEP": 2}, r"\['STEP'\] must be 1"),
    ({"STRATEGY": "sequences.strategies.OptimisticCounter", "OPTIONS": {"write": "add"}}, "'update', 'put'"),
    ({"STRATEGY": ATOMIC, "OPTIONS": {"marker_seconds": 0.5}}, r"\['marker_seconds'\] is 0.5.*whole number above 0"),
    ({"STRATEGY": "sequences.strategies.BlockAllocator", "OPTIONS": {"block_size": 0}}, r"\['block_size'\]"),
    ({"STRATEGY": "sequences.strategies.BlockAllocator", "OPTIONS": {"block_size": True}}, r"\['block_size'\]"),
    (
        {"STRATEGY": "sequences.strategies.BlockAllocator", "OPTIONS": {"block_size": 10**9 + 1}},
        r"\['block_size'\] is 1000000001; it must be a whole number from 1 to 1,000,000,000\.",
    ),
    (
        {"STRATEGY": "sequences.strategies.BlockAllocator", "OPTIONS": {"max_block_size": 10**30}},
        r"\['max_block_size'\] .* a whole number up to 1,000,000,000, 0 for 100 blocks\.",
    ),
    ({"STRATEGY": "sequences.strategies.BlockAllocator", "OPTIONS": {"max_block_size": -1}}, r"\['max_block_size'\]"),
]


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket can be made."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("it talks to the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(dynamodb, "call", refuse)


@pytest.fixture
def unconfigured() -> Iterator[None]:
    """A fresh registry, before the test and after it."""
    strategies.reset()
    yield
    strategies.reset()


class TestMistakes:
    @pytest.mark.parametrize(("entry", "message"), MISTAKES)
    def test_one_clear_word(self, entry: Any, message: str, unconfigured: None) -> None:
        """Each mistake in the setting is refused, with the alias and the key at fault and what is wanted."""
        with override_settings(SEQUENCES={"mine": entry}), pytest.raises(InvalidSequence, match=message) as caught:
            strategies["mine"]
        assert "SEQUENCES['mine']" in str(caught.value)

    @pytest.mark.parametrize("entry", [entry for entry, _ in MISTAKES][::12])
    def test_the_system_check(self, entry: Any, unconfigured: None, no_network: None) -> None:
        """The system check reports such a mistake as sequences.E001, and talks to no network."""
        with override_settings(SEQUENCES={"mine": entry, "good": {"STRATEGY": ATOMIC}}):
            (error,) = [error for error in run_checks() if error.id == "sequences.E001"]
        assert "SEQUENCES['mine']" in error.msg

    @pytest.mark.parametrize("alias", ["", "a b", "a#b", "ä", "x" * 101])
    def test_an_alias(self, alias: str, unconfigured: None) -> None:
        """An alias is 1 to 100 letters, digits, '_' or '-'."""
        with pytest.raises(InvalidSequence, match="1 to 100 letters"):
            parse_config(alias, {"STRATEGY": ATOMIC})

    @pytest.mark.parametrize("setting", [None, [], "atomic"])
    def test_no_dict(self, setting: Any, unconfigured: None) -> None:
        """A setting that is not a dict is refused, also by the check."""
        with override_settings(SEQUENCES=setting):
            with pytest.raises(InvalidSequence, match="must be a dict"):
                strategies["mine"]
            assert [error.id for error in check_sequences()] == ["sequences.E001"]

    def test_an_unknown_alias(self, unconfigured: None) -> None:
        """An unknown alias is refused with the names of those that exist."""
        known = override_settings(SEQUENCES={"mine": {"STRATEGY": ATOMIC}})
        with known, pytest.raises(InvalidSequence, match=r"no sequence 'yours'.*there is 'mine'"):
            strategies["yours"]
        with override_settings(SEQUENCES={}), pytest.raises(InvalidSequence, match="there is none"):
            strategies["mine"]

    def test_all_mistakes_at_once(self, unconfigured: None) -> None:
        """The check reports the mistakes of all sequences."""
        mine, yours = {"STRATEGY": "no.such.Module"}, {"STRATEGY": ATOMIC, "STEP": 0}
        with override_settings(SEQUENCES={"mine": mine, "yours": yours, "good": {"STRATEGY": ATOMIC}}):
            assert len(list(check_sequences())) == 2

    def test_manage_check(self, unconfigured: None, no_network: None, capsys: pytest.CaptureFixture[str]) -> None:
        """`manage.py check` fails for a mistake, passes without one, and talks to no network."""
        with override_settings(SEQUENCES=SEQUENCES):
            call_command("check")
        with (
            override_settings(SEQUENCES={"mine": {"STRATEGY": "no.such.Module"}}),
            pytest.raises(CommandError, match="identified some issues") as caught,
        ):
            call_command("check")
        assert "sequences.E001" in str(caught.value)

    def test_create_tables(self, unconfigured: None) -> None:
        """`manage.py create_tables` says what is wrong in one line."""
        wrong = override_settings(SEQUENCES={"mine": {"STRATEGY": "no.such.Module"}})
        with wrong, pytest.raises(CommandError, match=r"cannot import 'no\.such\.Module'"):
            call_command("create_tables")


A_TABLE = "a table's name: 3 to 255 letters, digits, '_', '-' or '.'"
DAYS = "a dict of 'past' and 'future', each a whole number from 0 to 36,500 of days"


class TestKeys:
    def test_defaults(self) -> None:
        """An entry needs its strategy alone."""
        assert parse_config("mine", {"STRATEGY": ATOMIC}) == SequenceConfig(
            alias="mine",
            strategy=ATOMIC,
            table=DEFAULT_TABLE,
            start=1,
            step=1,
            maximum=10**38 - 1,
            client="default",
            period=Period.of_config("", {}),
            format=None,
            options={},
        )

    def test_every_key(self, settings: Settings) -> None:
        """What an entry says is in its configuration; the Region is the one of its client."""
        settings.SEQUENCES_CLIENTS = {"archive": {"REGION": "eu-west-1"}}
        period = {
            "PERIOD": "fiscal-year",
            "FISCAL_START": "04-01",
            "FISCAL_NAMED_BY": "start",
            "TIME_ZONE": "Asia/Tokyo",
        }
        entry = {
            **period,
            "STRATEGY": ATOMIC,
            "TABLE": "mine",
            "START": 5,
            "STEP": 2,
            "MAXIMUM": 99,
            "CLIENT": "archive",
            "FORMAT": "M-{period}-{value}",
            "ALSO_READ": ["{value}"],
            "SERIES": "series",
            "DIGEST": "digest",
            "OPTIONS": {"group": False},
            "HOME_REGION": "us-east-1",
            "ACCEPT": [SAME_NUMBER],
            "GIVEN": True,
            "INDEXES": {"gsi1": {"gsi1pk": "S"}},
            "DATE_ORDER": "refuse",
            "DATES": {"past": 0, "future": 36_500},
        }
        assert parse_config("mine", entry) == SequenceConfig(
            alias="mine",
            strategy=ATOMIC,
            table="mine",
            start=5,
            step=2,
            maximum=99,
            client="archive",
            period=Period.of_config("", period),
            format="M-{period}-{value}",
            also_read=("{value}",),
            series="series",
            digest="digest",
            options={"group": False},
            region="eu-west-1",
            home_region="us-east-1",
            accepted=frozenset({SAME_NUMBER}),
            given=True,
            indexes={"gsi1": {"gsi1pk": "S"}},
            date_order="refuse",
            dates={"past": 0, "future": 36_500},
        )

    def test_a_start_for_each_region(self, settings: Settings) -> None:
        """A sequence of several Regions has the START of this one, and room for the highest of them."""
        settings.SEQUENCES_CLIENTS = {"default": {"REGION": "eu-west-1"}}
        entry = {"STRATEGY": ATOMIC, "START": {"eu-west-1": 3, "us-east-1": 4}, "STEP": 2, "MAXIMUM": 4}
        config = parse_config("mine", entry)
        assert (config.start, config.region, config.starts) == (3, "eu-west-1", {"eu-west-1": 3, "us-east-1": 4})
        with pytest.raises(InvalidSequence, match="must be a whole number from 4"):
            parse_config("mine", {**entry, "MAXIMUM": 3})

    @pytest.mark.parametrize(
        ("key", "value", "wanted"),
        [
            ("TABLE", "a b", A_TABLE),
            ("SERIES", "a b", A_TABLE),
            ("OPTIONS", [], "a dict"),
            ("INDEXES", [], "the keys of each index with their types, as {'gsi1': {'gsi1pk': 'S', 'gsi1sk': 'S'}}"),
            ("FORMAT", 5, "a text such as 'INV-{period}-{value:06d}'"),
            ("ALSO_READ", "{value}", "a list of former texts of FORMAT"),
            ("DATE_ORDER", "never", "one of 'any', 'refuse'"),
            ("DIGEST", "", "the name of an attribute, or None"),
            ("DATES", [], DAYS),
            *(
                ("DATES", {key: days}, DAYS)
                for key, days in (("later", 1), ("past", -1), ("future", 36_501), ("past", True))
            ),
            ("CLIENT", "mine", "in SEQUENCES_CLIENTS, which has 'default', 'archive'"),
        ],
    )
    def test_what_a_key_must_be(self, key: str, value: object, wanted: str, settings: Settings) -> None:
        """A wrong value is named, with all that the key may be."""
        settings.SEQUENCES_CLIENTS = {"archive": {}}
        with pytest.raises(InvalidSequence) as caught:
            parse_config("mine", {"STRATEGY": ATOMIC, key: value})
        assert str(caught.value) == f"SEQUENCES['mine'][{key!r}] is {value!r}; it must be {wanted}."

    @pytest.mark.parametrize("key", ["FORMAT", "SERIES", "DIGEST"])
    def test_a_key_without_a_value(self, key: str) -> None:
        """None is the same as no such key."""
        assert parse_config("mine", {"STRATEGY": ATOMIC, key: None}) == parse_config("mine", {"STRATEGY": ATOMIC})


class TestRegistry:
    def test_every_configuration(self, configured: str) -> None:
        """Every alias of the setting is listed and has its strategy."""
        assert list(strategies) == list(SEQUENCES)
        assert {strategies[alias].alias for alias in strategies} == set(SEQUENCES)

    @pytest.mark.parametrize("width", [1, 38])
    def test_the_narrowest_and_the_widest(self, unconfigured: None, width: int) -> None:
        """A padded number may have 1 to 38 digits, which are as many as DynamoDB keeps."""
        options = {"sort_key": f"{{value:0{width}d}}"}
        with override_settings(SEQUENCES={"mine": {"STRATEGY": SORT_KEY, "OPTIONS": options}}):
            assert strategies["mine"].numbers.maximum == 10**width - 1

    def test_one_object_a_process(self, unconfigured: None) -> None:
        """Threads that ask at the same moment get one object, made once."""
        with override_settings(SEQUENCES={"mine": {"STRATEGY": ATOMIC}}):
            assert len({id(strategy) for strategy in at_once(16, lambda _: strategies["mine"])}) == 1

    def test_a_strategy_that_another_thread_makes(self, unconfigured: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """A caller waits for it no longer than a call may take, and is told that nothing was stored."""
        monkeypatch.setattr(registry, "DEADLINE_SECONDS", 0.01)
        begun, finish = threading.Event(), threading.Event()

        def make(registry: Registry, alias: str) -> object:
            begun.set()
            assert finish.wait(30)
            return alias

        monkeypatch.setattr(Registry, "_make", make)
        with ThreadPoolExecutor(1) as threads:
            other = threads.submit(strategies.__getitem__, "mine")
            assert begun.wait(30)
            with pytest.raises(
                SequenceUnavailable, match=r"'mine' is still being made .* nothing was stored"
            ) as caught:
                strategies["mine"]
            assert (caught.value.attempts, caught.value.seconds) == (0, 0.01)
            finish.set()
            other.result(30)
        del strategies._made["mine"]

    def test_a_strategy_that_an_interrupted_call_makes(self, unconfigured: None) -> None:
        """A signal's handler cannot wait for the call that it interrupts, and is refused; later calls are not."""
        with override_settings(SEQUENCES={"mine": {"STRATEGY": ATOMIC}}):
            strategies._imports = True
            with pytest.raises(SequenceUnavailable, match="the call that a signal interrupted") as caught:
                strategies["mine"]
            assert (caught.value.attempts, caught.value.seconds) == (0, 0.0)
            strategies._imports = False
            assert strategies["mine"] is strategies["mine"]
            assert not strategies._imports

    def test_it_is_stopped_when_it_is_dropped(self, unconfigured: None) -> None:
        """Who drops the strategies or the rules of scopes stops what they have in the background."""
        made, lines = mock.Mock(), mock.Mock()
        strategies._made, strategies._lines = {"mine": made}, {"mine": lines}
        strategies.forget()
        assert made.mock_calls == [mock.call.forget()]
        strategies.drop()
        assert (made.mock_calls[1:], lines.mock_calls) == ([mock.call.stop()], [mock.call.stop()])
        assert (strategies._made, strategies._lines) == ({}, {})

    def test_settings_that_change(self, unconfigured: None) -> None:
        """A change of SEQUENCES or TABLE_PREFIX makes strategies anew; another setting does not."""
        with override_settings(SEQUENCES={"mine": {"STRATEGY": ATOMIC}}, TABLE_PREFIX="a_"):
            first = strategies["mine"]
            with override_settings(LANGUAGE_CODE="de"):
                assert strategies["mine"] is first
            with override_settings(SEQUENCES={"mine": {"STRATEGY": SORT_KEY}}):
                assert isinstance(strategies["mine"], SortKeyMaximum)
            assert isinstance(strategies["mine"], AtomicCounter)
            assert strategies["mine"].schema.table == f"a_{DEFAULT_TABLE}"
            with override_settings(TABLE_PREFIX="b_"):
                assert strategies["mine"].schema.table == f"b_{DEFAULT_TABLE}"

    def test_clients_outlast_settings_that_change(self, endpoint: str, settings: Settings) -> None:
        """The clients stay when SEQUENCES or TABLE_PREFIX change, as they take longest to make."""
        client = dynamodb.shared_client()
        settings.SEQUENCES = {"mine": {"STRATEGY": ATOMIC}}
        settings.TABLE_PREFIX = "a_"
        assert dynamodb.shared_client() is client
        settings.SEQUENCES_CLIENTS = {}
        assert dynamodb.shared_client() is not client

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    def test_a_forked_child(self, unconfigured: None) -> None:
        """A forked child has strategies and a client of its own, whatever locks were held when it was forked."""
        with override_settings(SEQUENCES={"mine": {"STRATEGY": "sequences.strategies.BlockAllocator"}}):
            mine, client = strategies["mine"], dynamodb.shared_client()
            assert isinstance(mine, BlockAllocator)
            with strategies._lock:
                child = os.fork()
                if child == 0:
                    os._exit(0 if _is_anew(mine, client) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert strategies["mine"] is mine
            assert dynamodb.shared_client() is client

    def test_nothing_is_read_at_import(self) -> None:
        """The app can be imported and set up without the setting, as long as it is not used."""
        assert "sequences.registry" in sys.modules
        with override_settings():
            from django.conf import settings

            del settings.SEQUENCES
            with pytest.raises(InvalidSequence, match="setting SEQUENCES"):
                strategies["mine"]


RULED = {"ruled": {"STRATEGY": ATOMIC, "SERIES": "series"}, "plain": {"STRATEGY": ATOMIC}}


class TestRulesOfScopes:
    @pytest.fixture(autouse=True)
    def _ruled(self, unconfigured: None) -> Iterator[None]:
        with override_settings(SEQUENCES={**RULED, "items": {"STRATEGY": SORT_KEY}, "wrong": "a text"}):
            yield

    @pytest.fixture
    def lines(self) -> mock.Mock:
        """The rules of the sequence that has SERIES."""
        assert isinstance(strategies["ruled"], AtomicCounter)
        lines = mock.Mock()
        strategies._lines["ruled"] = lines
        return lines

    def test_which_sequences_may_have_some(self) -> None:
        """Those with SERIES, whether their strategies are made already or not; nothing is made to tell that."""
        for _ in range(2):
            told = [strategies.has_lines(alias) for alias in ("ruled", "plain", "wrong", "unknown")]
            assert told == [True, False, False, False]
            assert {*strategies._made} in ({*()}, {*RULED})
            assert [strategies.lines(alias) is None for alias in RULED] == [False, True]

    def test_the_strategy_of_a_scope(self, lines: mock.Mock) -> None:
        """It is the one by the rules of the scope, for its date or period, or else the one of the sequence."""
        ruled, plain, day = strategies["ruled"], strategies["plain"], date(2026, 3, 5)
        lines.strategy.side_effect = lambda scope, date=None, period=None, **_: (scope, date, period) if scope else None
        found: list[Any] = [strategies.of("ruled", "a", day, "2026"), strategies.of("ruled", None)]
        assert found == [("a", day, "2026"), ruled]
        found = [strategies.by_lines(ruled, scope) for scope in (Dated.of("a", "2026"), "a", None)]
        assert found == [("a", None, "2026"), ("a", None, ""), ruled]
        assert strategies.of("plain", "a") is strategies.by_lines(plain, "a") is plain

    @pytest.mark.parametrize("goes_on", [True, False])
    def test_whether_a_call_goes_on(self, lines: mock.Mock, goes_on: bool) -> None:
        """The rules of scopes decide whether a call is repeated after an error; without rules none is."""
        error = SequenceUnavailable("x", attempts=1, seconds=1.0)
        lines.goes_on.return_value = goes_on
        assert strategies.go_on(strategies["ruled"], "a", error) is goes_on
        lines.goes_on.assert_called_once_with(strategies["ruled"], "a", error)
        assert strategies.go_on(strategies["plain"], "a", error) is False

    def test_which_takes_values_at_once(self) -> None:
        """A strategy that is made, serves every scope, and takes values before their items."""
        assert strategies.taking("plain") is None
        plain, *_ = [strategies[alias] for alias in ("plain", "ruled", "items")]
        assert [strategies.taking(alias) for alias in ("plain", "ruled", "items")] == [plain, None, None]


def test_options_that_a_strategy_does_not_know() -> None:
    """They are refused, and dropped for a caller that reads former settings."""
    entry = {"STRATEGY": ATOMIC, "OPTIONS": {"group": False, "block_size": 5}}
    with pytest.raises(InvalidSequence, match="has no option 'block_size'"):
        made_of("mine", entry)
    assert made_of("mine", entry, lenient=True).config.options == {"group": False}


def _is_anew(mine: object, client: object) -> bool:
    """In the child: both can be had at once, and neither is the parent's."""
    try:
        return strategies["mine"] is not mine and dynamodb.shared_client() is not client
    except BaseException:  # noqa: BLE001 - the child must end here, whatever happens
        return False


def test_a_mistake_says_where_it_is() -> None:
    """The message begins with the place in the settings, as one writes it."""
    with pytest.raises(InvalidSequence, match=r"^SEQUENCES\['mine'\]\['STEP'\] is 0; "):
        parse_config("mine", {"STRATEGY": ATOMIC, "STEP": 0})


def test_a_sequence_may_start_at_0() -> None:
    """0 is a value as any other."""
    assert parse_config("mine", {"STRATEGY": ATOMIC, "START": 0}).start == 0


def test_what_there_is_instead(unconfigured: None) -> None:
    """An unknown alias is answered with all that there are, or that there is none."""
    one = {"STRATEGY": ATOMIC}
    for known, words in [({"mine": one, "ours": one}, "'mine', 'ours'"), ({}, "none")]:
        with override_settings(SEQUENCES=known), pytest.raises(InvalidSequence, match=rf"; there is {words}\.$"):
            strategies["yours"]


def test_a_registry_of_ones_own(unconfigured: None) -> None:
    """A new registry has nothing in memory, and serves."""
    with override_settings(SEQUENCES={"mine": {"STRATEGY": ATOMIC}}):
        assert isinstance(Registry()["mine"], AtomicCounter)


class SlowCounter(AtomicCounter):
    """A strategy whose making takes as long as a test says."""

    making = staticmethod(lambda: None)

    def __init__(self, *args: Any, **clocks: Any) -> None:
        self.making()
        super().__init__(*args, **clocks)


class TestMeeting:
    @pytest.fixture(autouse=True)
    def _slow_and_quick(self, unconfigured: None) -> Iterator[None]:
        slow, quick = {"STRATEGY": f"{__name__}.SlowCounter"}, {"STRATEGY": ATOMIC}
        with override_settings(SEQUENCES={"slow": slow, "quick": quick}):
            yield

    def test_it_is_made_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However long a strategy takes to make, threads that ask for it meanwhile get the same one."""
        monkeypatch.setattr(SlowCounter, "making", staticmethod(lambda: time.sleep(0.05)))
        assert len({id(strategy) for strategy in at_once(8, lambda _: strategies["slow"])}) == 1

    def test_others_do_not_wait(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """While one strategy is being made, one that was made before is to be had."""
        quick, begun, release = strategies["quick"], threading.Event(), threading.Event()

        def making() -> None:
            begun.set()
            release.wait(30)

        monkeypatch.setattr(SlowCounter, "making", staticmethod(making))
        with ThreadPoolExecutor(2) as threads:
            slow = threads.submit(strategies.__getitem__, "slow")
            assert begun.wait(30)
            try:
                assert threads.submit(strategies.__getitem__, "quick").result(30) is quick
            finally:
                release.set()
            assert isinstance(slow.result(30), SlowCounter)
