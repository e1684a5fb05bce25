"""Tables that were restored or copied: noticed by the row of the rules, refused until every scope is recovered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from sequences import dynamodb, get_last_value, put_next
from sequences.changes import EveryScope, adopt, changed_settings, freeze, recover, switch
from sequences.dynamodb import TableLife, client
from sequences.dynamodb.tables import SOON_SECONDS
from sequences.exceptions import (
    AccessRefused,
    OperationNotSupported,
    RulesChanged,
    SequenceUnsound,
    TableMissing,
    TableRestored,
    Throttled,
)
from sequences.ops.audit import audit
from sequences.ops.doctor import diagnose
from sequences.registry import made_of, strategies
from sequences.rows import rules_row
from sequences.rows.rules import RESTORED
from sequences.start import require_sound
from sequences.testing.callers import at_once
from tests.restoring import restore, save
from tests.sequences.changes.test_rules import ATOMIC, BLOCK, HIGHEST, TRANSACTIONAL, WHO, Become, become, tables
from tests.sequences.support import handled, on_dynamodb_local

__all__ = ["become", "tables"]

# moto and DynamoDB Local have no TableId, by which a restored table is known: docs/restore.md says so
pytestmark = [
    pytest.mark.needs_engine,
    pytest.mark.skipif(on_dynamodb_local(), reason="it has no TableId"),
    pytest.mark.usefixtures("patience"),
]

EVERY = [ATOMIC, BLOCK, HIGHEST, TRANSACTIONAL]


def put(scope: str = "a") -> int:
    """The number of the next item."""
    return put_next("orders", {}, scope=scope).value


@pytest.fixture
def elsewhere(tables: str, endpoint: str, settings: Settings) -> Callable[[], None]:
    """A function that restores all tables, as they are, under other names, and goes on with these."""

    def elsewhere() -> None:
        saved, prefix = save(endpoint), f"t{uuid4().hex[:12]}_"
        restore(saved, endpoint, prefix)
        settings.TABLE_PREFIX = prefix

    return elsewhere


@pytest.fixture
def again(tables: str, endpoint: str) -> Callable[[], None]:
    """A function that restores all tables, as they are, under the names that they have, as another process would."""

    def again() -> None:
        restore(save(endpoint), endpoint, tables)
        strategies.forget()
        dynamodb.forget_lives()

    return again


def test_by_callers_that_wait_for_the_first_look(
    become: Become, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused with it: nobody goes on to write while another thread looks, nor who has waited long enough."""
    monkeypatch.setattr(rules_row, "WAIT_SECONDS", 60.0)
    become(ATOMIC)
    put()
    elsewhere()
    rules = strategies["orders"].rules

    def slow(operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        time.sleep(0.1)
        return dynamodb.call(operation, request)

    def looks(_: int) -> None:
        with pytest.raises(TableRestored):
            rules.require(slow)

    at_once(4, looks)
    monkeypatch.setattr(rules_row, "WAIT_SECONDS", 0.01)
    with rules._lock:
        at_once(4, looks)


def test_by_callers_beside_the_first_look(
    become: Become, again: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one thread looks at restored tables, another one that waits in vain looks itself, and is refused."""
    monkeypatch.setattr(rules_row, "WAIT_SECONDS", 0.01)
    become(ATOMIC)
    put()
    again()
    lives, looking, refused = strategies["orders"].lives, Event(), Event()

    def slow(operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if operation == "batch_get_item":
            looking.set()
            assert refused.wait(30)
        return dynamodb.call(operation, request)

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(lives.bind, slow)
        try:
            assert looking.wait(30)
            with pytest.raises(TableRestored):
                lives.bind(dynamodb.call)
        finally:
            refused.set()
        with pytest.raises(TableRestored):
            first.result(30)


def test_by_who_comes_before_the_first_look(
    become: Become, again: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody goes on to write after another thread has found another life, and before it looks at the rules."""
    become(ATOMIC)
    put()
    again()
    lives = strategies["orders"].lives
    required = lives._require_sound

    def required_later(found: tuple[TableLife, ...]) -> None:
        monkeypatch.setattr(lives, "_require_sound", required)
        with pytest.raises(TableRestored):
            lives.bind(dynamodb.call)
        required(found)

    monkeypatch.setattr(lives, "_require_sound", required_later)
    with pytest.raises(TableRestored):
        lives.bind(dynamodb.call)


@pytest.mark.parametrize("strategy", EVERY)
class TestRefused:
    def test_until_it_is_recovered(self, become: Become, elsewhere: Callable[[], None], strategy: str) -> None:
        """No write and no other change goes on in restored tables, and no web process starts; then all do."""
        become(strategy)
        before = [put(scope) for scope in ("a", "b", "a")]
        elsewhere()
        for _ in range(2):
            with pytest.raises(TableRestored, match="sequences recover orders --all-scopes --margin N"):
                put()
        with pytest.raises(TableRestored):
            freeze("orders", scope="a", **WHO)
        with pytest.raises(SequenceUnsound, match="'orders'"):
            require_sound()
        recover("orders", margin=10, **WHO)
        assert min(put(scope) for scope in ("a", "b")) > max(before) + 9
        require_sound()

    def test_a_replaced_table(self, become: Become, again: Callable[[], None], strategy: str) -> None:
        """A table that was restored under its own name is another one, too."""
        become(strategy)
        put()
        again()
        with pytest.raises(TableRestored):
            put()

    def test_while_a_process_runs(self, become: Become, endpoint: str, tables: str, strategy: str) -> None:
        """A process that finds its tables missing looks at those that come in their place."""
        become(strategy)
        put()
        saved = save(endpoint)
        for name in saved:
            dynamodb.call("delete_table", {"TableName": f"{tables}{name}"})
        with pytest.raises(TableMissing):
            put("b")
        restore(saved, endpoint, tables)
        with pytest.raises(TableRestored):
            put("b")

    def test_while_a_process_was_idle(
        self, become: Become, endpoint: str, tables: str, strategy: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A process that sent nothing meanwhile, and knows nothing higher, notices it too."""
        become(strategy)
        put()
        restore(save(endpoint), endpoint, tables)
        later = dynamodb.elapsed() + 3600
        monkeypatch.setattr(client, "elapsed", lambda: later)
        with pytest.raises(TableRestored):
            put()

    def test_while_a_table_cannot_be_asked(
        self, become: Become, elsewhere: Callable[[], None], strategy: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A process that cannot ask for the id of a table at first is refused as soon as it can."""

        def throttle(**_: object) -> None:
            raise Throttled("describe_table: Rate exceeded.")

        become(strategy)
        put()
        elsewhere()
        with handled({"before-call.dynamodb.DescribeTable": throttle}):
            put("b")
        later = dynamodb.elapsed() + SOON_SECONDS
        monkeypatch.setattr(client, "elapsed", lambda: later)
        for _ in range(2):
            with pytest.raises(TableRestored):
                put("b")

    def test_by_a_role_that_reads_singly(self, become: Become, again: Callable[[], None], strategy: str) -> None:
        """Who may not read in batches notices a table that was restored under its own name, too."""

        def refuse(**_: object) -> None:
            raise AccessRefused("no")

        become(strategy)
        strategies.reset()
        with handled({"before-call.dynamodb.BatchGetItem": refuse}):
            put()
            again()
            with pytest.raises(TableRestored):
                put()

    def test_reads_go_on(self, become: Become, elsewhere: Callable[[], None], strategy: str) -> None:
        """What was stored is read, listed and audited before anything is recovered."""
        become(strategy)
        put()
        elsewhere()
        last = get_last_value("orders", scope="a")
        assert last is not None
        assert [one.last_value for one in strategies["orders"].scopes.page(None, 10)[0]] == [last]
        assert audit(strategies["orders"], "a").carried == 1

    def test_a_table_made_anew(self, become: Become, endpoint: str, tables: str, strategy: str) -> None:
        """A process that still knows the former table does not store its id, by which others would be refused."""
        become(strategy)
        put()
        restore({name: (keys, []) for name, (keys, _) in save(endpoint).items()}, endpoint, tables)
        made_of("orders", {"STRATEGY": strategy}).lives.bind(dynamodb.call)
        strategies.forget()
        dynamodb.forget_lives()
        put("b")

    def test_a_part_is_not_enough(self, become: Become, elsewhere: Callable[[], None], strategy: str) -> None:
        """Neither one scope, nor those with a prefix, nor a rehearsal let the others go on."""
        become(strategy)
        put()
        elsewhere()
        for some in ({"scope": "a"}, {"scope": EveryScope("a")}, {"dry_run": True}):
            recover("orders", **some, **WHO)
            with pytest.raises(TableRestored):
                put()


def test_one_of_two_tables(become: Become, endpoint: str, tables: str) -> None:
    """Where counters have a table of their own, each of the two is enough to refuse."""
    become(TRANSACTIONAL)
    put()
    saved = save(endpoint)
    for name in ("sequences", "sequence_items"):
        restore({name: saved[name]}, endpoint, tables)
        strategies.forget()
        dynamodb.forget_lives()
        with pytest.raises(TableRestored):
            put()
        recover("orders", **WHO)
        put()


def test_another_setting_as_well(become: Become, again: Callable[[], None]) -> None:
    """What has changed besides is named first, and `adopt` does not take a restored table for recovered."""
    become(TRANSACTIONAL)
    put()
    again()
    become(TRANSACTIONAL, START=0)
    with pytest.raises(RulesChanged, match="START"):
        recover("orders", **WHO)
    adopt("orders", **WHO)
    with pytest.raises(TableRestored):
        put()
    recover("orders", margin=0, **WHO)
    assert put() == 2


def test_adopted_as_it_is(become: Become, elsewhere: Callable[[], None]) -> None:
    """A copy whose numbers meet nobody, or a sequence that lists no scopes, goes on by `adopt`, where it was."""
    become(HIGHEST, {"scopes": None})
    assert put() == 1
    elsewhere()
    assert [one.key for one in changed_settings("orders")] == [RESTORED]
    with pytest.raises(OperationNotSupported, match="recover orders"):
        adopt("orders", **WHO)
    adopt("orders", copied=True, **WHO)
    assert put() == 2


def test_no_switch_of_a_restored_table(become: Become, elsewhere: Callable[[], None]) -> None:
    """A switch stores the rules, too, and does not hide that a table was restored."""
    become(HIGHEST)
    put()
    elsewhere()
    with pytest.raises(TableRestored):
        switch("orders", to="TransactionalCounter", **WHO)


def test_the_doctor(become: Become, elsewhere: Callable[[], None]) -> None:
    """It names the finding and the command."""
    become(ATOMIC)
    put()
    elsewhere()
    [found] = [one for one in diagnose().findings if (one.subject, one.about) == ("sequence orders", "settings")]
    assert "restored or copied" in found.found
    assert "recover orders --all-scopes" in found.remedy


@pytest.mark.parametrize("changes", [{}, {"FORMAT": "{scope}-{value}"}])
def test_rows_of_before(become: Become, elsewhere: Callable[[], None], changes: dict[str, Any]) -> None:
    """A row that does not tell its table gets that from the next process, also beside a change that waits for adopt."""
    strategy = become(HIGHEST)
    put()
    for row in strategy.rules.read(dynamodb.call):
        gone = {"UpdateExpression": "REMOVE table_id", "TableName": row.place.schema.table, "Key": row.place.key}
        dynamodb.call("update_item", gone)
    become(HIGHEST, **changes)
    put()
    assert [one.key for one in changed_settings("orders")] == [*changes]
    elsewhere()
    with pytest.raises(TableRestored):
        put()


def test_a_global_table(tables: str) -> None:
    """Copies of a global table share the row, and have ids of their own: nothing is compared there."""

    def table_id(**more: Any) -> str:
        about = {"TableId": "own", "TableArn": "arn:aws:dynamodb:eu-west-1:1:table/t", **more}
        return dynamodb.life_of(uuid4().hex, send=lambda *_: {"Table": about}).table_id

    assert [table_id(), table_id(Replicas=[{"RegionName": "us-east-1"}])] == ["own", ""]
