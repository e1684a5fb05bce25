"""A sequence that goes from one strategy to the other while writers of both are running."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from project.proof.faults.control import Proxy
from sequences import changes, dynamodb
from sequences.changes import finish_switch, switch
from sequences.changes.switches import FOLLOWED
from sequences.exceptions import InvalidChange, OperationNotSupported, SequenceFrozen, SequenceWentBack
from sequences.ops.audit import audit
from sequences.registry import parse_config, strategies
from sequences.strategies import Strategy
from sequences.testing import engine_at
from tests.sequences.running import FAULTS, Writers, put
from tests.sequences.support import Clock, delete_row, read_counter, set_counter, stored, tapped, wait_until

pytestmark = pytest.mark.usefixtures("configured")

WHO: dict[str, Any] = {"by": "ana", "reason": "a test"}
NAME = "transactional"
BOTH = ("SortKeyMaximum", "TransactionalCounter")


def process(strategy: str, *, given: bool = False, **clocks: Any) -> Strategy:
    """A process that has one of the strategies for the sequence NAME, and was started before its rules were kept."""
    kind: Any = FOLLOWED[strategy]
    entry = {"STRATEGY": f"{kind.__module__}.{kind.__name__}", "GIVEN": given}
    made: Strategy = kind(parse_config(NAME, entry), **clocks)
    made.rules.enforced = False
    return made


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Strategy]:
    """A function that gives this process a strategy for NAME, as its settings would."""

    def now(strategy: str) -> Strategy:
        made = process(strategy)
        monkeypatch.setitem(strategies._made, NAME, made)
        return made

    return now


@pytest.fixture(autouse=True)
def _finished(now: Callable[[str], Strategy]) -> Iterator[None]:
    """No switch is under way after a test: the tests share a sequence."""
    yield
    now("SortKeyMaximum")
    finish_switch(NAME, scope="nobody", **WHO)


class TestSteps:
    def test_without_a_switch(self, now: Callable[[str], Strategy], scope: str) -> None:
        """A counter that is behind items of the other strategy is refused, and the error names the command."""
        put(now("SortKeyMaximum"), scope)
        with pytest.raises(SequenceWentBack, match=r"While two strategies .*`manage.py sequences switch`"):
            put(now("TransactionalCounter"), scope)

    @pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "begun meanwhile"])
    def test_to_a_counter(self, now: Callable[[str], Strategy], scope: str, prepared: bool) -> None:
        """Counters follow items from the switch on, also in a scope that begins after it, and after its end."""
        old = now("SortKeyMaximum")
        if prepared:
            assert [put(old, scope) for _ in range(2)] == [1, 2]
        switch(NAME, to="TransactionalCounter", scope=scope if prepared else "another", **WHO)
        if not prepared:
            assert [put(old, scope) for _ in range(2)] == [1, 2]
        new = now("TransactionalCounter")
        assert [put(new, scope), put(old, scope), put(new, scope), put(old, scope)] == [3, 4, 5, 6]
        finish_switch(NAME, scope=scope, **WHO)
        assert read_counter(NAME, scope)["last_value"] == 6
        assert put(process("TransactionalCounter"), scope) == 7

    def test_to_sort_keys(self, now: Callable[[str], Strategy], scope: str) -> None:
        """Where the counter is past the items, void rows explain it, and numbers do not go down."""
        old = now("TransactionalCounter")
        put(old, scope)
        changes.advance(NAME, to=10, scope=scope, **WHO)
        made = switch(NAME, to="SortKeyMaximum", scope=scope, **WHO)
        assert [(change.before, change.after) for change in made] == [(None, None), (1, 10)]
        new = now("SortKeyMaximum")
        assert [put(new, scope), put(old, scope), put(new, scope)] == [11, 12, 13]
        assert put(now("TransactionalCounter"), scope) == 14
        now("SortKeyMaximum")
        finish_switch(NAME, scope=scope, **WHO)
        assert audit(strategies[NAME], scope).unexplained == 0

    def test_it_is_given_up(self, now: Callable[[str], Strategy], scope: str) -> None:
        """Where the counters stay after all, their end puts them on the items of the other strategy."""
        put(now("TransactionalCounter"), scope)
        switch(NAME, to="SortKeyMaximum", scope=scope, **WHO)
        assert [put(now("SortKeyMaximum"), scope) for _ in range(2)] == [2, 3]
        now("TransactionalCounter")
        finish_switch(NAME, scope=scope, **WHO)
        assert read_counter(NAME, scope)["last_value"] == 3
        assert put(process("TransactionalCounter"), scope) == 4

    def test_gaps_from_before(self, now: Callable[[str], Strategy], scope: str) -> None:
        """A row that was deleted before the switch to a counter is missing after it, too."""
        old = now("SortKeyMaximum")
        for _ in range(3):
            put(old, scope)
        delete_row(NAME, scope, 2)
        switch(NAME, to="TransactionalCounter", scope=scope, **WHO)
        put(now("TransactionalCounter"), scope)
        report = audit(strategies[NAME], scope)
        assert (report.gaps.total, report.unexplained) == (1, 1)

    def test_after_the_end(self, now: Callable[[str], Strategy], scope: str) -> None:
        """After its end a counter that is behind its items is refused again."""
        old = now("SortKeyMaximum")
        put(old, scope)
        switch(NAME, to="TransactionalCounter", scope=scope, **WHO)
        finish_switch(NAME, scope=scope, **WHO)
        put(old, scope)
        with pytest.raises(SequenceWentBack):
            put(now("TransactionalCounter"), scope)

    def test_a_counter_that_was_set_back_is_refused(self, now: Callable[[str], Strategy], scope: str) -> None:
        """A counter is not moved to items that are lower than what it has handed out."""
        new = now("TransactionalCounter")
        switch(NAME, to="TransactionalCounter", scope=scope, **WHO)
        for _ in range(3):
            put(new, scope)
        set_counter(NAME, scope, last_value=1)
        with pytest.raises(SequenceWentBack):
            put(now("TransactionalCounter"), scope)

    def test_evidence_of_the_counter_is_kept(self, now: Callable[[str], Strategy], scope: str) -> None:
        """A counter that remembers a higher number than its items is not put on them: it must be recovered."""
        put(now("TransactionalCounter"), scope)
        set_counter(NAME, scope, last_value=None, highest=9)
        with pytest.raises(SequenceWentBack, match="--past 9"):
            switch(NAME, to="TransactionalCounter", scope=scope, **WHO)

    def test_an_audit_meanwhile(self, now: Callable[[str], Strategy], scope: str) -> None:
        """During a switch items above the counter count; without one they are stray rows."""
        old = now("SortKeyMaximum")
        put(old, scope)
        switch(NAME, to="TransactionalCounter", scope=scope, **WHO)
        new = now("TransactionalCounter")
        for writer in (new, old, old):
            put(writer, scope)
        delete_row(NAME, scope, 3)
        report = audit(strategies[NAME], scope)
        assert (report.strays.total, report.last_value, report.carried, report.missing) == (0, 4, 3, 1)
        assert any("a switch is under way" in note for note in report.notes)
        finish_switch(NAME, scope="nobody", **WHO)
        report = audit(now("TransactionalCounter"), scope)
        assert (report.strays.total, report.last_value, report.carried, report.missing) == (1, 2, 2, 0)
        assert not any("a switch is under way" in note for note in report.notes)

    def test_what_stops_both(self, now: Callable[[str], Strategy], scope: str) -> None:
        """During a switch, freeze and advance reach the writers of both strategies, whichever made them."""
        writers = [now(strategy) for strategy in BOTH]
        for writer in writers:
            now("SortKeyMaximum")
            switch(NAME, to="TransactionalCounter", scope=scope, **WHO)
            put(writer, scope)
        for maker in BOTH:
            now(maker)
            changes.freeze(NAME, scope=scope, **WHO)
            for writer in [*writers, *map(process, BOTH)]:
                with pytest.raises(SequenceFrozen):
                    put(writer, scope)
            changes.thaw(NAME, scope=scope, **WHO)
            to = (changes.advance(NAME, to=max(stored(NAME, scope)) + 50, scope=scope, **WHO)).after
            assert to is not None
            assert [put(writer, scope) for writer in writers] == [to + 1, to + 2]
        assert audit(strategies[NAME], scope).unexplained == 0

    def test_an_advance_past_a_counter_that_leads(self, now: Callable[[str], Strategy], scope: str) -> None:
        """During a switch an advance also stops a write on its way whose counter is past the items."""
        writer = now("TransactionalCounter")
        put(writer, scope)
        changes.advance(NAME, to=10, scope=scope, **WHO)
        now("TransactionalCounter")  # another process
        switch(NAME, to="TransactionalCounter", scope=scope, **WHO)
        with tapped() as wire:
            wire.before("TransactWriteItems", lambda: changes.advance(NAME, to=20, scope=scope, **WHO))
            assert put(writer, scope) == 21

    def test_the_note_is_read_once(self, now: Callable[[str], Strategy], scope: str) -> None:
        """A process that knows of the switch does not ask again at each number."""
        old = now("SortKeyMaximum")
        put(old, scope)
        switch(NAME, to="TransactionalCounter", scope=scope, **WHO)
        new = now("TransactionalCounter")
        with tapped() as wire:
            assert [put(each, scope) for each in (new, old, new, old, new)] == [2, 3, 4, 5, 6]
        asked = [body["Key"] for body in wire.bodies("GetItem")]
        assert asked.count(new.rules.places[-1].key) == 1

    def test_how_long_a_process_follows(self, now: Callable[[str], Strategy], scope: str, clock: Clock) -> None:
        """A process that has followed items goes on for a minute of its clock, and then looks for the switch again."""
        old = now("SortKeyMaximum")
        for part in ("a", "b", "c"):
            put(old, f"{scope} {part}")
        switch(NAME, to="TransactionalCounter", scope=f"{scope} a", **WHO)
        finish_switch(NAME, scope="nobody", **WHO)
        new = process("TransactionalCounter", timing=clock.timing())
        with pytest.raises(SequenceWentBack):
            put(new, f"{scope} b")
        switch(NAME, to="TransactionalCounter", scope=f"{scope} a", **WHO)
        assert put(new, f"{scope} b") == 2
        finish_switch(NAME, scope="nobody", **WHO)
        clock.now += 59
        assert put(new, f"{scope} a") == 2
        clock.now += 2
        with pytest.raises(SequenceWentBack):
            put(new, f"{scope} c")

    @pytest.mark.parametrize("to", BOTH)
    def test_a_frozen_scope(self, now: Callable[[str], Strategy], scope: str, to: str) -> None:
        """A scope that is frozen is not switched: writers of the other strategy would not see it."""
        put(now("TransactionalCounter"), scope)
        changes.freeze(NAME, scope=scope, **WHO)
        with pytest.raises(SequenceFrozen):
            switch(NAME, to=to, scope=scope, **WHO)
        assert not strategies[NAME].following.now(dynamodb.call)  # it has not begun

    def test_a_dry_run(self, now: Callable[[str], Strategy], scope: str) -> None:
        """A dry run of a switch tells what the switch does, and begins nothing."""
        old = now("TransactionalCounter")
        put(old, scope)
        changes.advance(NAME, to=10, scope=scope, **WHO)
        told = [
            [(change.kind, change.before, change.after) for change in made]
            for made in (
                switch(NAME, to="SortKeyMaximum", scope=scope, dry_run=True, **WHO),
                switch(NAME, to="SortKeyMaximum", scope=scope, **WHO),
            )
        ]
        assert told == [[("switch", None, None), ("switch", 1, 10)]] * 2

    def test_scopes_that_are_not_listed(
        self, now: Callable[[str], Strategy], scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A switch to a counter needs no list of scopes: each follows at its first number."""
        old = now("SortKeyMaximum")
        put(old, scope)
        unlisted = OperationNotSupported("It keeps no list of its scopes.")
        monkeypatch.setattr(type(old.scopes), "every", mock.Mock(side_effect=unlisted))
        (begun,) = switch(NAME, to="TransactionalCounter", **WHO)
        assert (begun.kind, begun.scope) == ("switch", None)
        assert put(now("TransactionalCounter"), scope) == 2

    def test_a_number_that_is_given_meanwhile(
        self, now: Callable[[str], Strategy], scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Until the switch is finished no number is given by hand, and the scope stays as it is."""
        put(now("SortKeyMaximum"), scope)
        switch(NAME, to="TransactionalCounter", scope=scope, **WHO)
        monkeypatch.setitem(strategies._made, NAME, process("TransactionalCounter", given=True))
        with pytest.raises(InvalidChange, match="is being switched to another strategy: finish that first"):
            changes.put_at(NAME, 7, {}, scope=scope, **WHO)
        assert sorted(stored(NAME, scope)) == [1]

    def test_what_does_not_fit(self) -> None:
        """Other strategies, steps and layouts are refused with what is wrong."""
        for name, said in (
            ("one-file", "number the same items"),
            ("transactional-from-1001-by-10", r"STEP must be 1\.$"),
        ):
            with pytest.raises(OperationNotSupported, match=said):
                switch(name, to="SortKeyMaximum", **WHO)
        with pytest.raises(InvalidChange, match=r"^to is 'Another'"):
            switch(NAME, to="Another", **WHO)

    @pytest.mark.parametrize("strategy", BOTH)
    def test_tables_of_the_other_configuration(self, install: Callable[..., Strategy], strategy: str) -> None:
        """A history or markers that the other configuration would not find are refused, with what to set."""
        example = r"to the same table in both configurations, for example '(marks|sequence\w*)'\.$"
        to, given = next(each for each in BOTH if each != strategy), {}
        name = "sort-key" if strategy == "SortKeyMaximum" else NAME
        if strategy == "TransactionalCounter":
            given["counter_table"] = "marks"
        install(name, **given)
        with pytest.raises(OperationNotSupported, match=rf"set OPTIONS\['history_table'\] {example}"):
            switch(name, to=to, counter_table="marks", **WHO)
        numeric = {"key_types": ["N", "N"], "partition": "{scope}", "history_table": "sequences"}
        install(name, **numeric, **given)
        with pytest.raises(OperationNotSupported, match=r"set OPTIONS\['marker_table'\] to the same table"):
            switch(name, to=to, counter_table="marks", **WHO)

    def test_counters_beside_the_items(self, scope: str, install: Callable[..., Strategy]) -> None:
        """Counters that are not listed may be past their items: a switch to sort keys wants the name of each scope."""
        name = "transactional-beside"
        install(name, scopes=None)
        put(strategies[name], scope)
        changes.advance(name, to=10, scope=scope, **WHO)
        with pytest.raises(OperationNotSupported, match="keeps no list of its scopes"):
            switch(name, to="SortKeyMaximum", **WHO)
        made = switch(name, to="SortKeyMaximum", scope=scope, **WHO)
        assert [(change.before, change.after) for change in made] == [(None, None), (1, 10)]
        finish_switch(name, scope=scope, **WHO)

    def test_other_layouts(self, install: Callable[..., Strategy]) -> None:
        """Items that are not in collections, and a history that would be left behind, are refused."""
        for option, said in (
            ({"value_in": "attribute"}, r"its items are not in collections \('value_in' is 'attribute'\)\.$"),
            ({"counter_table": "marks"}, "set OPTIONS.'history_table'. to the same table"),
        ):
            install(NAME, **option)
            with pytest.raises(OperationNotSupported, match=said):
                switch(NAME, to="SortKeyMaximum", **WHO)


@pytest.mark.needs_engine
@pytest.mark.parametrize("to", BOTH)
def test_writers_of_both_strategies(now: Callable[[str], Strategy], scope: str, proxy: Proxy, to: str) -> None:
    """While writers of both are running and answers are lost, no number comes twice, and none is missing."""
    old = next(strategy for strategy in BOTH if strategy != to)
    with engine_at(proxy.endpoint):
        now(old)
        proxy.follow(*FAULTS)
        before = Writers("before", scope, [process(old) for _ in range(3)])
        wait_until(lambda: len(before.told) > 10)
        switch(NAME, to=to, scope=scope, **WHO)
        after = Writers("after", scope, [process(to) for _ in range(3)])
        wait_until(lambda: len(after.told) > 20)
        before.stop()
        now(to)
        finish_switch(NAME, scope=scope, **WHO)
        wait_until(lambda: len(after.told) > 30)
        after.stop()
        proxy.calm()
        proxy.settle()
        now(to)
        rows = stored(NAME, scope)
        report = audit(strategies[NAME], scope)
    told = before.told + after.told
    assert set(told.values()) == {1}
    assert {value: rows[value]["title"] for value in told} == {**before.titles, **after.titles}
    assert sorted(rows) == list(range(1, len(rows) + 1))
    assert len({row["title"] for row in rows.values() if "title" in row}) == len(rows) - report.voids.total
    assert (report.unexplained, report.missing) == (0, 0)
