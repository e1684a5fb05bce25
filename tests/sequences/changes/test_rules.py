"""Settings that change behind the rows' back: noticed at the first write, and taken over by `adopt`."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from unittest import mock

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from sequences import dynamodb, get_next_value, get_next_values, put_next
from sequences.capabilities import strategy_classes
from sequences.changes import (
    EveryScope,
    adopt,
    advance,
    changed_settings,
    close,
    finish_switch,
    freeze,
    history,
    recover,
    reopen,
    switch,
)
from sequences.exceptions import (
    AccessRefused,
    DateRefused,
    InvalidChange,
    NotWritten,
    OperationNotSupported,
    RulesChanged,
    SequenceFrozen,
    SequenceUnsound,
)
from sequences.ops.audit import audit
from sequences.ops.doctor import diagnose
from sequences.registry import _KEYS, DEFAULT_TABLE, made_of, strategies
from sequences.rows import rules_row
from sequences.rows.rules import RULES, differences
from sequences.rows.rules_row import ASK_AGAIN_SECONDS
from sequences.rows.soundness import Verdict
from sequences.services.arguments import reserving
from sequences.start import require_sound
from sequences.strategies import Strategy, TransactionalCounter
from sequences.testing.embedded import Engine
from sequences.testing.tables import tables_of_later_settings
from tests.kept_tables import emptied_tables
from tests.sequences.support import Clock, handled, import_row, tapped_unasked, written

pytestmark = pytest.mark.usefixtures("tables", "patience")

PATH = "sequences.strategies"
ATOMIC, BLOCK = f"{PATH}.AtomicCounter", f"{PATH}.BlockAllocator"
OPTIMISTIC, TRANSACTIONAL = f"{PATH}.OptimisticCounter", f"{PATH}.TransactionalCounter"
HIGHEST = f"{PATH}.SortKeyMaximum"
WHO: dict[str, Any] = {"by": "ana", "reason": "a test"}
SCOPES = ["a", "b"]
GOOD, CAREFUL, UNSOUND = Verdict.GOOD, Verdict.CAREFUL, Verdict.UNSOUND
TABLES = {name: {"STRATEGY": ATOMIC, "OPTIONS": {"counter_table": name}} for name in ("sequences", "more_counters")}
TABLES["old"] = {"STRATEGY": HIGHEST, "TABLE": "old_items"}
TABLES["padded"] = {"STRATEGY": HIGHEST, "TABLE": "padded_items", "OPTIONS": {"sort_key": "{value:06d}"}}

Become = Callable[..., Strategy]


@pytest.fixture
def tables(engine: Engine) -> Iterator[str]:
    """All tables that settings of this file name, empty."""
    with emptied_tables(TABLES, engine.endpoint) as prefix:
        yield prefix


@pytest.fixture
def more_tables(tables: str) -> Iterator[None]:
    """Those that only the settings of the test name."""
    with tables_of_later_settings():
        yield


def list_scopes(cursor: str | None, limit: int) -> tuple[list[str], None]:
    """The scopes of a sequence without counters."""
    return SCOPES, None


LISTED = {"scopes": f"{__name__}.list_scopes"}


def entry_of(strategy: str, options: Mapping[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """The settings of a sequence."""
    return {"STRATEGY": strategy, "OPTIONS": {**(options or {})}, **keys}


@pytest.fixture
def become(settings: Settings) -> Become:
    """A function that gives the sequence "orders" other settings, as a fresh process would have them."""

    def become(strategy: str, options: Mapping[str, Any] | None = None, **keys: Any) -> Strategy:
        settings.SEQUENCES = {"orders": entry_of(strategy, options, **keys)}
        return strategies["orders"]

    return become


def put(scope: str = "a") -> int:
    """The number of the next item."""
    return put_next("orders", {}, scope=scope).value


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings about rules so far: another test may have left a thread that warns of something else."""
    about = [record for record in caplog.records if record.name == rules_row.__name__]
    return [record.getMessage() for record in about if record.levelno >= logging.WARNING]


def rows() -> list[Mapping[str, Any]]:
    """The rules of the sequence, as they are stored."""
    return [row.rules for row in strategies["orders"].rules.read(dynamodb.call)]


FORMER, PRESENT = "OLD-{scope}-{value}", "NEW-{scope}-{value:04d}"
REFUSED = {
    "to a gapless strategy": (entry_of(BLOCK), entry_of(TRANSACTIONAL)),
    "from a gapless strategy": (entry_of(TRANSACTIONAL), entry_of(ATOMIC)),
    "from counters to items": (entry_of(ATOMIC), entry_of(HIGHEST)),
    "from items to counters": (entry_of(HIGHEST, LISTED), entry_of(ATOMIC, LISTED)),
    "counter_table": (entry_of(ATOMIC), entry_of(ATOMIC, {"counter_table": "more_counters"})),
    "counter_table, gapless": (entry_of(TRANSACTIONAL), entry_of(TRANSACTIONAL, {"counter_table": "more_counters"})),
    "counter_table, beside": (
        entry_of(TRANSACTIONAL),
        entry_of(TRANSACTIONAL, {"counter_table": DEFAULT_TABLE, **LISTED}),
    ),
    "TABLE": (entry_of(HIGHEST, LISTED, TABLE="old_items"), entry_of(HIGHEST, LISTED)),
    "TABLE, counted": (entry_of(TRANSACTIONAL, TABLE="old_items"), entry_of(TRANSACTIONAL)),
    "partition": (entry_of(HIGHEST, LISTED), entry_of(HIGHEST, {"partition": "orders-{scope}", **LISTED})),
    "STEP": (entry_of(TRANSACTIONAL, STEP=10), entry_of(TRANSACTIONAL)),
    "STEP, wider": (entry_of(TRANSACTIONAL), entry_of(TRANSACTIONAL, STEP=10)),
    "START": (entry_of(TRANSACTIONAL, START=1001), entry_of(TRANSACTIONAL)),
    "START, higher": (entry_of(TRANSACTIONAL), entry_of(TRANSACTIONAL, START=1001)),
    "START, higher, of items": (entry_of(HIGHEST, LISTED), entry_of(HIGHEST, LISTED, START=1001)),
    "START, higher, of values": (entry_of(ATOMIC), entry_of(ATOMIC, START=1001)),
    "marker_table": (entry_of(TRANSACTIONAL), entry_of(TRANSACTIONAL, {"marker_table": "more_counters"})),
    "FORMAT": (entry_of(TRANSACTIONAL, FORMAT=FORMER), entry_of(TRANSACTIONAL, FORMAT=PRESENT)),
}
"""Changes that are refused: the former settings and the present ones."""


@pytest.mark.parametrize(("former", "present"), REFUSED.values(), ids=REFUSED)
class TestRefused:
    def test_the_first_write(self, become: Become, former: dict[str, Any], present: dict[str, Any]) -> None:
        """The first write by other settings is refused with the command that helps, and values are as before."""
        become(former["STRATEGY"], former["OPTIONS"], **_keys(former))
        before = [put() for _ in range(3)]
        become(present["STRATEGY"], present["OPTIONS"], **_keys(present))
        for _ in range(2):
            with pytest.raises(RulesChanged, match=r"`manage.py sequences adopt orders --reason \.\.\.`"):
                put()
        with pytest.raises(SequenceUnsound, match="'orders'"):
            require_sound()
        become(former["STRATEGY"], former["OPTIONS"], **_keys(former))
        following = put()
        assert following > before[-1]
        assert following == before[-1] + strategies["orders"].numbers.step or former["STRATEGY"] == BLOCK

    def test_adopted(self, become: Become, former: dict[str, Any], present: dict[str, Any]) -> None:
        """After the command each scope goes on above its last value, an audit is clean, and former processes stop.

        What was given and is no value by the present settings is named by the audit.
        """
        old = become(former["STRATEGY"], former["OPTIONS"], **_keys(former))
        before = {scope: [put(scope) for _ in range(3)] for scope in SCOPES}
        new = become(present["STRATEGY"], present["OPTIONS"], **_keys(present))
        rehearsed = adopt("orders", **WHO, dry_run=True)
        with pytest.raises(RulesChanged):
            put()
        made = adopt("orders", **WHO)
        assert [(one.scope, one.before, one.after) for one in made] == [
            (one.scope, one.before, one.after) for one in rehearsed
        ]
        assert {one.kind for one in history("orders")[0]} == {"adopt"}
        for scope in SCOPES:
            following = [put(scope) for _ in range(2)]
            assert min(following) > max(before[scope])
            assert not any(map(new.numbers.problem, following))
            if new.gapless:
                assert audit(new, scope).unexplained == len([*filter(new.numbers.problem, before[scope])])
        assert rows() == [new.rules.now] * len(rows())
        assert adopt("orders", **WHO) == []
        strategies._made["orders"] = old  # a process that was started before goes on
        if count_apart(old, new):
            with pytest.raises(SequenceFrozen, match="moved by adopt"):
                put()

    def test_and_back(self, become: Become, former: dict[str, Any], present: dict[str, Any]) -> None:
        """What was closed is opened again when a sequence goes back, and goes on above all that was given meanwhile."""
        become(former["STRATEGY"], former["OPTIONS"], **_keys(former))
        put()
        new = become(present["STRATEGY"], present["OPTIONS"], **_keys(present))
        adopt("orders", scope=SCOPES, **WHO)
        last = [put() for _ in range(3)][-1]
        become(former["STRATEGY"], former["OPTIONS"], **_keys(former))
        assert changed_settings("orders")[0].verdict is UNSOUND
        rehearsed = adopt("orders", scope=SCOPES, **WHO, dry_run=True)
        made = adopt("orders", scope=SCOPES, **WHO)
        assert [(one.scope, one.after) for one in rehearsed] == [(one.scope, one.after) for one in made]
        assert put() > last
        assert new.rules.enforced


@pytest.mark.parametrize(
    ("named", "left_out"), [({"scope": "a"}, "'b' of 2025"), ({"scope": EveryScope("b")}, "'a' of 2025")]
)
def test_a_scope_that_is_left_out(become: Become, named: dict[str, Any], left_out: str) -> None:
    """It would begin again at START: where scopes are known, no number of theirs comes twice."""
    become(ATOMIC, PERIOD="year")
    for scope in SCOPES:
        put_next("orders", {}, scope=scope, date=datetime.date(2025, 1, 1))
    become(ATOMIC, {"counter_table": "more_counters"}, PERIOD="year")
    for dry_run in (True, False):
        with pytest.raises(InvalidChange, match=f"{left_out} is not named, and would begin again: name all, or none"):
            adopt("orders", **named, period="2025", **WHO, dry_run=dry_run)
    adopt("orders", scope=SCOPES, period="2025", **WHO)
    assert put_next("orders", {}, scope="b", date=datetime.date(2025, 1, 1)).value == 2


@pytest.mark.parametrize("former", [{}, {"counter_table": DEFAULT_TABLE}], ids=["apart", "beside the items"])
@pytest.mark.parametrize(
    ("present", "at"),
    [
        (entry_of(TRANSACTIONAL, {"counter_table": "more_counters"}), None),
        (entry_of(ATOMIC), datetime.datetime(2126, 2, 1, tzinfo=datetime.UTC)),
    ],
)
def test_books_that_would_be_left_behind(
    become: Become, former: dict[str, Any], present: dict[str, Any], at: datetime.datetime | None
) -> None:
    """A period without numbers, or one that will be closed, is opened before: the present writers would not see it."""
    become(TRANSACTIONAL, former, PERIOD="year")
    put()
    close("orders", "2025", at=at, **WHO)
    for dry_run in (True, False):
        become(present["STRATEGY"], present["OPTIONS"], PERIOD="year")
        with pytest.raises(InvalidChange, match="'orders' of 2025 are closed, or will be: `reopen` them before"):
            adopt("orders", **WHO, dry_run=dry_run)
    become(TRANSACTIONAL, former, PERIOD="year")
    reopen("orders", "2025", **WHO)
    become(present["STRATEGY"], present["OPTIONS"], PERIOD="year")
    adopt("orders", **WHO)
    assert put() == 2


def test_other_digits_in_the_sort_key(become: Become) -> None:
    """Numbers of another width would be in another order: the first of them is refused."""
    padded = {"TABLE": "padded_items"}
    become(HIGHEST, {"sort_key": "{value:06d}", **LISTED}, **padded)
    assert put() == 1
    become(HIGHEST, {"sort_key": "{value:08d}", **LISTED}, **padded)
    with pytest.raises(RulesChanged, match="sort_key"):
        put()
    become(HIGHEST, {"sort_key": "{value:06d}", **LISTED}, **padded)
    assert put() == 2


def count_apart(old: Strategy, new: Strategy) -> bool:
    """Whether the two count in different places, and no key keeps the items of one from those of the other."""
    if old.counter:
        return not new.counter or (old.counter.table, old.counter.key("a")) != (new.counter.table, new.counter.key("a"))
    return (old.schema, old.layout.template) != (new.schema, new.layout.template)


def _keys(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: told for key, told in entry.items() if key not in ("STRATEGY", "OPTIONS")}


class TestWhatWasSeen:
    def test_blocks_that_become_gapless(self, become: Become) -> None:
        """The unused values of blocks are explained by the line of the command, and no later one is."""
        become(BLOCK, {"block_size": 100})
        assert [put() for _ in range(3)] == [1, 2, 3]
        new = become(TRANSACTIONAL)
        (line, _) = adopt("orders", **WHO)
        assert (line.before, line.after) == (None, 100)
        assert put() == 101
        report = audit(new, "a")
        assert (report.missing, report.unexplained, report.explained_gaps) == (97, 0, 1)

    def test_a_counter_table_that_moves(self, become: Become) -> None:
        """Values do not begin again in the new table, although no item tells of them."""
        become(ATOMIC, START=1001)
        assert get_next_values(52, "orders")[-1] == 1052
        become(ATOMIC, {"counter_table": "more_counters"}, START=1001)
        with pytest.raises(RulesChanged, match="counter_table was 'sequences' and is 'more_counters'"):
            get_next_value("orders")
        made = adopt("orders", **WHO)
        assert [(one.kind, one.before, one.after) for one in made] == [("adopt", 1052, 1052), ("adopt", None, None)]
        assert get_next_value("orders") == 1053

    def test_a_former_writer_meanwhile(self, become: Become) -> None:
        """A writer that takes a number between the look and the change has it alone: the command looks again."""
        old = become(ATOMIC)
        first = get_next_value("orders")
        become(ATOMIC, {"counter_table": "more_counters"})
        numbers: list[int] = []
        with tapped_unasked() as wire:
            wire.before("TransactWriteItems", lambda: numbers.append(reserving(old).next_value(None)))
            adopt("orders", **WHO)
        assert [first, *numbers, get_next_value("orders")] == [1, 2, 3]
        assert wire.operations.count("TransactWriteItems") == 3

    @pytest.mark.usefixtures("more_tables")
    def test_a_table_that_is_gone(self, become: Become) -> None:
        """Where the former table is not there any more, scopes go on above what the present one holds."""
        become(HIGHEST, LISTED, TABLE="old_items")
        put()
        become(HIGHEST, LISTED, TABLE="old_items_restored")
        dynamodb.delete_table(dynamodb.table_name("old_items"))
        with pytest.raises(OperationNotSupported, match=r"not there any more .*Name every scope"):
            adopt("orders", **WHO)
        with pytest.raises(RulesChanged):
            put()
        adopt("orders", scope=SCOPES, **WHO)
        recover("orders", scope="a", past=1, margin=0, **WHO)
        assert put() == 2

    def test_a_format_alone_moves_nothing(self, become: Become) -> None:
        """A change that only texts see is one line, whatever scopes there are."""
        become(ATOMIC)
        put()
        become(ATOMIC, FORMAT="{scope}-{value}")
        assert [(one.scope, one.before, one.after) for one in adopt("orders", **WHO)] == [(None, None, None)]

    @pytest.mark.usefixtures("more_tables")
    def test_keys_that_are_numbers(self, become: Become) -> None:
        """Where items have numbers as partition keys, the row is beside the history alone, and tells all the same."""
        options = {"partition": "{scope}", "key_types": ["N", "N"]}
        become(TRANSACTIONAL, options, TABLE="numbered_items")
        assert put("7") == 1
        assert len(rows()) == 1
        become(TRANSACTIONAL)
        with pytest.raises(RulesChanged, match="TABLE was"):
            put("7")
        adopt("orders", **WHO)
        assert put("7") == 2


class TestHarmless:
    @pytest.mark.parametrize(
        ("former", "present"),
        [
            (entry_of(ATOMIC), entry_of(BLOCK, {"block_size": 5})),
            (entry_of(BLOCK), entry_of(OPTIMISTIC, {"write": "put"})),
            (entry_of(ATOMIC, MAXIMUM=100), entry_of(ATOMIC, {"deadline": 60.0, "marker_seconds": 60}, MAXIMUM=900)),
            (entry_of(HIGHEST), entry_of(HIGHEST, {"scope_must_exist": True})),
            (entry_of(f"{PATH}.atomic.AtomicCounter"), entry_of(ATOMIC)),
            (entry_of(TRANSACTIONAL), entry_of(TRANSACTIONAL, {"text_name": "text"})),
            (entry_of(HIGHEST, FORMAT=FORMER), entry_of(HIGHEST, FORMAT=PRESENT, ALSO_READ=[FORMER])),
            (
                entry_of(HIGHEST, FORMAT=FORMER, ALSO_READ=[PRESENT]),
                entry_of(HIGHEST, FORMAT=PRESENT, ALSO_READ=[FORMER]),
            ),
        ],
    )
    def test_it_passes(
        self, become: Become, former: dict[str, Any], present: dict[str, Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        """What does no harm is not refused, nothing is said, and the row has the present rules from then on."""
        become(former["STRATEGY"], former["OPTIONS"], **_keys(former))
        before = put()
        new = become(present["STRATEGY"], present["OPTIONS"], **_keys(present))
        assert put() > before
        assert rows() == [new.rules.now] * 2
        assert changed_settings("orders") == []
        assert warned(caplog) == []

    @pytest.mark.usefixtures("more_tables")
    @pytest.mark.parametrize(
        ("changes", "key"),
        [
            ({"FORMAT": "{scope}-{value}"}, "FORMAT"),
            ({"history_table": "x_history"}, "history_table"),
        ],
    )
    def test_it_is_told(
        self, become: Become, changes: dict[str, Any], key: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A change that a reader of old rows must know of passes, is logged once, and is found until it is adopted."""
        become(TRANSACTIONAL)
        assert put() == 1
        keys = {name: told for name, told in changes.items() if name.isupper()}
        become(TRANSACTIONAL, {name: told for name, told in changes.items() if not name.isupper()}, **keys)
        assert [put(), put()] == [2, 3]
        (warning,) = warned(caplog)
        assert f"{key} was" in warning
        assert found() == (CAREFUL, True)
        adopt("orders", **WHO)
        assert found() == (GOOD, False)

    def test_texts_stay_readable(self, become: Become) -> None:
        """A FORMAT whose texts were issued is not taken out of ALSO_READ, and may be in use again."""
        become(TRANSACTIONAL, FORMAT=PRESENT, ALSO_READ=[FORMER])
        put()
        become(TRANSACTIONAL, FORMAT=PRESENT)
        with pytest.raises(RulesChanged, match="ALSO_READ was"):
            put()
        become(TRANSACTIONAL, FORMAT=FORMER, ALSO_READ=[PRESENT])
        assert put() == 2

    def test_each_key_has_a_rule(self) -> None:
        """Every key of an entry and of OPTIONS is in the table, and every rule is of such a key."""
        options = {name for strategy in strategy_classes() for name in strategy.options}
        assert set(RULES) == (_KEYS - {"OPTIONS"}) | options

    def test_the_table_of_the_history(self) -> None:
        """It is a rule where the history is not among the items."""
        strategy = made_of("orders", {"STRATEGY": ATOMIC, "OPTIONS": {"history_table": "lines"}})
        assert strategy.rules.now["history_table"] == "lines"

    def test_a_rule_that_one_side_does_not_know(self) -> None:
        """Rules of another version may have other keys: only what both have is compared."""
        rules = {"STRATEGY": "a.AtomicCounter", "START": 1, "STEP": 1}
        assert differences({**rules, "later": 1}, {**rules, "TABLE": "t"}) == []


def found() -> tuple[Verdict, bool]:
    """What the doctor finds about the settings of the sequence, and whether it says what helps."""
    (finding,) = (one for one in diagnose().findings if (one.subject, one.about) == ("sequence orders", "settings"))
    return finding.verdict, bool(finding.remedy)


class TestTheRow:
    def test_what_it_costs(self, become: Become) -> None:
        """The first process asks once and stores two rows; another one asks once; no later write asks."""
        become(ATOMIC)
        with tapped_unasked() as wire:
            get_next_value("orders")
            assert [wire.operations.count(one) for one in ("BatchGetItem", "PutItem")] == [1, 2]
            get_next_value("orders")
            assert [wire.operations.count(one) for one in ("BatchGetItem", "PutItem")] == [1, 2]
            reserving(made_of("orders", entry_of(ATOMIC))).next_value(None)
            assert [wire.operations.count(one) for one in ("BatchGetItem", "PutItem")] == [2, 2]

    def test_a_sequence_without_one(self, become: Become) -> None:
        """The rows of versions that stored none go on by whatever settings there are, and get theirs."""
        become(BLOCK).rules.enforced = False
        put()
        new = become(TRANSACTIONAL)
        assert rows() == [{}, {}]
        assert put() > 1
        assert rows() == [new.rules.now] * 2

    def test_a_place_that_was_lost(self, become: Become) -> None:
        """One of the two rows alone is enough to refuse, and is stored again in the other place if all agrees."""
        old = become(ATOMIC)
        get_next_value("orders")
        for place in old.rules.places:
            dynamodb.call("delete_item", {"TableName": place.schema.table, "Key": place.key})
            become(TRANSACTIONAL)
            with pytest.raises(RulesChanged):
                put()
            become(ATOMIC)
            get_next_value("orders")
            assert rows() == [old.rules.now] * 2

    def test_both_directions(self, become: Become) -> None:
        """After the command the former settings are refused, whichever of the tables moved."""
        for options in ({"counter_table": "more_counters"}, {}):
            become(ATOMIC, options)
            adopt("orders", **WHO)
            get_next_value("orders")
            become(ATOMIC, {} if options else {"counter_table": "more_counters"})
            with pytest.raises(RulesChanged):
                get_next_value("orders")

    @pytest.mark.parametrize("error", [AccessRefused("no"), NotWritten("slow")])
    def test_what_cannot_be_read(
        self, become: Become, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
    ) -> None:
        """Numbers go on where the rules cannot be read or stored, it is logged once, and not asked again soon."""
        strategy, asked = become(ATOMIC), []

        def fail(send: object) -> None:
            asked.append(send)
            raise error

        monkeypatch.setattr(strategy.rules, "read", fail)
        assert [get_next_value("orders") for _ in range(3)] == [1, 2, 3]
        assert len(asked) == len(warned(caplog)) == 1

    @pytest.mark.parametrize("error", [AccessRefused("not yet"), NotWritten("slow")])
    def test_it_is_asked_again(
        self, become: Become, clock: Clock, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        """Where nothing could be read, a process looks again after a minute, and is refused then if it must be."""
        become(ATOMIC).lives.bind(dynamodb.call)
        late = TransactionalCounter(become(TRANSACTIONAL).config, timing=clock.timing())
        with monkeypatch.context() as patch:
            patch.setattr(late.rules, "read", mock.Mock(side_effect=error))
            late.lives.bind(dynamodb.call)
        clock.now += ASK_AGAIN_SECONDS - 1
        late.lives.bind(dynamodb.call)
        clock.now += 1
        with pytest.raises(RulesChanged):
            late.lives.bind(dynamodb.call)

    def test_a_refused_request_is_read_singly(self, become: Become, caplog: pytest.LogCaptureFixture) -> None:
        """A role that may not read in batches reads each row by itself, and where it may read nothing numbers go on."""

        def refuse(**_: object) -> None:
            raise AccessRefused("no")

        become(ATOMIC).lives.bind(dynamodb.call)
        other = made_of("orders", entry_of(TRANSACTIONAL))
        with handled({"before-call.dynamodb.BatchGetItem": refuse}), pytest.raises(RulesChanged):
            other.lives.bind(dynamodb.call)
        with handled({"before-call.dynamodb.BatchGetItem": refuse, "before-call.dynamodb.GetItem": refuse}):
            other.lives.bind(dynamodb.call)
        assert len(warned(caplog)) == 1

    @pytest.mark.parametrize("gone", ["sequences", DEFAULT_TABLE])
    def test_a_missing_table(self, become: Become, gone: str, caplog: pytest.LogCaptureFixture) -> None:
        """Where one of the tables is missing, numbers go on, and the other one still tells."""
        strategy = {"sequences": HIGHEST, DEFAULT_TABLE: ATOMIC}[gone]
        options = {"check_items": False} if strategy is ATOMIC else {}
        become(strategy, options)
        dynamodb.delete_table(dynamodb.table_name(gone))
        strategies.reset()
        take: Callable[[], int] = put if strategy is HIGHEST else partial(get_next_value, "orders")
        assert [take() for _ in range(3)] == [1, 2, 3]
        assert sum("looked up in one place alone" in one for one in warned(caplog)) == 1
        assert rows() == [strategies["orders"].rules.now]
        become(strategy, {**options, "partition": "x-{scope}"})
        with pytest.raises(RulesChanged):
            take()

    def test_two_processes_at_once(self, become: Become, settings: Settings) -> None:
        """Of two processes that begin with different settings at the same moment, one is refused."""
        become(ATOMIC)
        entries = settings.SEQUENCES["orders"], entry_of(TRANSACTIONAL)
        first, second = (made_of("orders", entry) for entry in entries)

        with tapped_unasked() as wire:
            wire.before("PutItem", lambda: first.lives.bind(dynamodb.call))
            with pytest.raises(RulesChanged):
                second.lives.bind(dynamodb.call)
        assert rows() == [first.rules.now] * 2

    def test_two_processes_alike(self, become: Become) -> None:
        """Processes that begin with the same settings at the same moment all go on."""
        strategy = become(ATOMIC)
        others = [made_of("orders", entry_of(ATOMIC)) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda one: one.lives.bind(dynamodb.call), others))
        assert rows() == [strategy.rules.now] * 2


class TestAdopt:
    def test_it_needs_the_scopes(self, become: Become) -> None:
        """A sequence that cannot list its scopes is taken over by naming them all, and is refused until then."""
        become(HIGHEST, {"scopes": None})
        before = [put("a"), put("a"), put("b")]
        become(HIGHEST, {"scopes": None, "partition": "orders-{scope}"})
        with pytest.raises(OperationNotSupported, match="or name every scope"):
            adopt("orders", **WHO)
        with pytest.raises(RulesChanged):
            put()
        call_command("sequences", "adopt", "orders", "--scope", "a", "--scope", "b", "--reason", "a test")
        assert [*before, put("a"), put("b")] == [1, 2, 1, 3, 2]
        assert audit(strategies["orders"], "a").unexplained == 0

    @pytest.mark.parametrize("present", [(ATOMIC, {"counter_table": "more_counters"}), (TRANSACTIONAL, {})])
    def test_a_frozen_scope(self, become: Become, present: tuple[str, dict[str, str]]) -> None:
        """A scope that somebody has frozen is not opened by the way, whether its counter moves or stays."""
        become(BLOCK)
        get_next_value("orders")
        freeze("orders", **WHO)
        become(*present)
        with pytest.raises(SequenceFrozen, match="by ana"):
            adopt("orders", **WHO)
        with pytest.raises(RulesChanged):
            put_next("orders", {})

    def test_imported_rows_are_explained(self, become: Become) -> None:
        """Numbers that are skipped up to an imported row are skipped by the change."""
        become(TRANSACTIONAL)
        for _ in range(3):
            put()
        import_row("orders", "a", 7)
        strategy = become(TRANSACTIONAL, {"counter_table": "more_counters"})
        (change, *_) = adopt("orders", **WHO)
        assert (change.before, change.after) == (3, 7)
        assert (put(), audit(strategy, "a").unexplained) == (8, 0)

    def test_the_date_of_the_last_document(self, become: Become) -> None:
        """Numbers keep the order of dates wherever the counter is, also after a way back."""
        for number, tables in enumerate((("sequences", "more_counters"), ("more_counters", "sequences"))):
            former, present = ({"counter_table": table} for table in tables)
            become(TRANSACTIONAL, former, DATE_ORDER="refuse")
            put_next("orders", {}, scope="a", date=datetime.date(2026, 3, 10 + number))
            become(TRANSACTIONAL, present, DATE_ORDER="refuse")
            adopt("orders", **WHO)
            with pytest.raises(DateRefused):
                put_next("orders", {}, scope="a", date=datetime.date(2026, 3, 9 + number))

    def test_it_may_be_repeated(self, become: Become, monkeypatch: pytest.MonkeyPatch) -> None:
        """If it fails between the scopes and the row, the sequence stays refused, and a repeat goes on."""
        become(ATOMIC)
        get_next_value("orders")
        become(ATOMIC, {"counter_table": "more_counters"})
        with monkeypatch.context() as patch:
            patch.setattr("sequences.changes.adoptions._Adoption.store_rules", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                adopt("orders", **WHO)
        with pytest.raises(RulesChanged):
            get_next_value("orders")
        adopt("orders", **WHO)
        assert get_next_value("orders") == 2

    def test_settings_that_cannot_be_used_any_more(self, become: Become) -> None:
        """A former strategy that is not there any more cannot be asked; the error says what to do by hand."""
        old = become(f"{__name__}.Passing")
        put()
        row = old.rules.read(dynamodb.call)[0]
        gone = {**row.rules, "STRATEGY": "nowhere.Passing"}
        for row in old.rules.read(dynamodb.call):
            dynamodb.call("update_item", row.write(gone, "t"))
        become(TRANSACTIONAL)
        with pytest.raises(OperationNotSupported, match="delete its row '#rules#orders' in"):
            adopt("orders", **WHO)

    def test_scopes_that_nobody_lists(self, become: Become) -> None:
        """Counters that stay in their place go on, though it cannot be seen which of them a switch has closed."""
        beside: dict[str, Any] = {"options": {"counter_table": "old_items", "scopes": None}, "TABLE": "old_items"}
        become(TRANSACTIONAL, **beside)
        assert put() == 1
        become(OPTIMISTIC, **beside)
        with pytest.raises(RulesChanged):
            put()
        adopt("orders", **WHO)
        assert put() == 2

    def test_the_command(self, become: Become, capsys: pytest.CaptureFixture[str]) -> None:
        """It says what has changed and what it would do, and writes nothing with --dry-run."""
        become(ATOMIC)
        get_next_value("orders")
        become(ATOMIC, {"counter_table": "more_counters"})
        said = written("sequences", "adopt", "orders", "--dry-run", "--reason", "a test")
        assert said.startswith("would be: orders without scope: adopt at 1, by ")
        assert "counter_table was 'sequences' and is 'more_counters'" in capsys.readouterr().err
        with pytest.raises(RulesChanged):
            get_next_value("orders")
        call_command("sequences", "adopt", "orders", "--reason", "a test")
        assert get_next_value("orders") == 2
        written("sequences", "adopt", "orders", "--reason", "again")
        assert "Nothing has changed" in capsys.readouterr().err

    def test_periods_begin_anew(self, become: Become) -> None:
        """A sequence that gets periods begins at START in each, as it must, after the command."""
        become(TRANSACTIONAL)
        put()
        become(TRANSACTIONAL, PERIOD="year")
        with pytest.raises(RulesChanged, match="PERIOD was 'never' and is 'year'"):
            put()
        assert [one.scope for one in adopt("orders", **WHO)] == [None]
        assert put() == 1

    @pytest.mark.parametrize("changed", [{"FISCAL_START": "07-01"}, {"FISCAL_NAMED_BY": "start"}])
    def test_another_fiscal_year(self, become: Become, changed: dict[str, str]) -> None:
        """The name of a period would stand for other days: that needs the command."""
        fiscal = {"PERIOD": "fiscal-year", "FISCAL_START": "04-01", "FISCAL_NAMED_BY": "end"}
        become(TRANSACTIONAL, **fiscal)
        put()
        become(TRANSACTIONAL, **{**fiscal, **changed})
        with pytest.raises(
            RulesChanged, match=f"{next(iter(changed))} was '.*' and is '{next(iter(changed.values()))}'"
        ):
            put()


class Passing(TransactionalCounter):
    """A strategy that is given up later."""


class TestSwitch:
    @pytest.mark.parametrize(("former", "present"), [(HIGHEST, TRANSACTIONAL), (TRANSACTIONAL, HIGHEST)])
    @pytest.mark.parametrize("begun_by", ["former", "present"])
    def test_both_may_write_until_its_end(self, become: Become, former: str, present: str, begun_by: str) -> None:
        """A switch lets processes of both strategies begin, and at its end those of the former one are refused."""
        become(former, LISTED)
        put()
        become(present, LISTED)
        with pytest.raises(RulesChanged, match="sequences switch"):
            put()
        become(former if begun_by == "former" else present, LISTED)
        name = present.rpartition(".")[2]
        switch("orders", to=name, **WHO)
        values = []
        for strategy in (present, former, present):
            become(strategy, LISTED)
            values.append(put())
        finish_switch("orders", **WHO)
        become(present, LISTED)
        assert [*values, put()] == [2, 3, 4, 5]
        become(former, LISTED)
        with pytest.raises(RulesChanged):
            put()

    def test_counters_that_are_past_their_items(self, become: Become) -> None:
        """The counters say which scopes there are, also to a process of the new strategy, whose own list is empty."""
        become(TRANSACTIONAL)
        put()
        advance("orders", to=100, scope="a", **WHO)
        become(HIGHEST)
        assert [made.after for made in switch("orders", to="SortKeyMaximum", **WHO)] == [None, 100]
        assert put() == 101

    @pytest.mark.usefixtures("more_tables")
    def test_counters_in_another_table(self, become: Become) -> None:
        """A process of the new strategy must name the table of the counters, which would be left behind otherwise."""
        history = {"history_table": "sequences"}
        become(TRANSACTIONAL, {"counter_table": "more_counters", **history})
        put()
        advance("orders", to=100, scope="a", **WHO)
        become(HIGHEST, history)
        with pytest.raises(InvalidChange, match="counter_table must be 'more_counters'"):
            switch("orders", to="SortKeyMaximum", scope="a", **WHO)
        switch("orders", to="SortKeyMaximum", counter_table="more_counters", **WHO)
        assert put() == 101

    def test_rows_of_a_strategy_of_ones_own(self, become: Become) -> None:
        """Another class than the two may count anywhere: a process of the new strategy does not pass it by."""
        become(f"{__name__}.Passing")
        put()
        become(HIGHEST)
        with pytest.raises(OperationNotSupported, match="only SortKeyMaximum and TransactionalCounter number the same"):
            switch("orders", to="SortKeyMaximum", **WHO)

    @pytest.mark.usefixtures("more_tables")
    def test_it_is_finished_before_other_settings_are_adopted(self, become: Become) -> None:
        """What has changed beside a running switch is not adopted; it names what comes first."""
        become(HIGHEST, LISTED)
        put()
        switch("orders", to="TransactionalCounter", **WHO)
        become(TRANSACTIONAL, LISTED, TABLE="more_items")
        with pytest.raises(OperationNotSupported, match="is in a switch: finish that with its former settings"):
            adopt("orders", **WHO)

    def test_another_change_beside_it(self, become: Become) -> None:
        """A switch takes no other change with it."""
        become(HIGHEST, LISTED, TABLE="old_items")
        put()
        become(TRANSACTIONAL, LISTED)
        with pytest.raises(RulesChanged, match="TABLE was"):
            switch("orders", to="TransactionalCounter", **WHO)


class TestDoctor:
    def test_what_it_finds(self, become: Become) -> None:
        """It names a sequence whose rows are written by other settings, and writes nothing itself."""
        become(ATOMIC)
        assert found() == (GOOD, False)
        assert rows() == [{}, {}]
        put()
        assert found() == (GOOD, False)
        become(TRANSACTIONAL)
        assert found() == (UNSOUND, True)
        with pytest.raises(CommandError, match="Unsound: 1"):
            call_command("sequences", "doctor")


def test_a_row_that_the_engine_leaves_out() -> None:
    """An answer without all rows tells nothing about the one that is missing: it is none."""
    strategy = made_of("left_out", {"STRATEGY": ATOMIC})

    def left_out(operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"Responses": {}, "UnprocessedKeys": request["RequestItems"]}

    with pytest.raises(NotWritten, match="did not return all rows"):
        strategy.rules.read(left_out)
