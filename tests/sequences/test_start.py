"""What a web process asks before it serves: where the settings are wrong, and what tells tables apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_django import Settings

import sequences
from sequences import dynamodb, start
from sequences.commit.retries import Deadline
from sequences.exceptions import AccessRefused, TableMissing
from sequences.start import require_sound, table_identities
from tests.sequences.support import Clock


@pytest.mark.parametrize("setting", [["a"], {"a": {"STRATEGY": "nothing"}}, {"a": {"UNKNOWN": 1}}], ids=repr)
def test_wrong_settings(settings: Settings, setting: Any) -> None:
    """A process begins with settings that cannot be read: Django's checks name what is wrong."""
    settings.SEQUENCES = setting
    require_sound()


def test_what_tells_tables_apart(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table has its identity, a missing one an empty one; what is global, or not to be seen, is left out."""
    found = {"local": "local-id", "global": "", "missing": TableMissing("no"), "closed": AccessRefused("no")}

    def life_of(table: str, **_: object) -> SimpleNamespace:
        told = found.get(table.removeprefix("mine_"), "id")
        if isinstance(told, Exception):
            raise told
        return SimpleNamespace(identity=f"arn of {table}", table_id=told)

    monkeypatch.setattr(dynamodb, "life_of", life_of)
    settings.TABLE_PREFIX = "mine_"
    settings.SEQUENCES = {name: {"STRATEGY": "sequences.strategies.AtomicCounter", "TABLE": name} for name in found}
    told = table_identities()
    assert {name: told.get(name) for name in found} == {
        "local": "arn of mine_local",
        "global": None,
        "missing": "",
        "closed": None,
    }
    assert told["sequences"] == "arn of mine_sequences"  # the counters


@pytest.mark.parametrize(("seconds", "asks_all"), [(0.9, True), (2.5, False)])
def test_a_slow_engine(seconds: float, asks_all: bool, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the engine answers, every table is asked about. When it hangs, its other tables are not waited for."""
    clock, asked = Clock(), list[str]()

    def life_of(table: str, *, send: Callable[..., object], **_: object) -> SimpleNamespace:
        send("describe_table", {})
        return SimpleNamespace(identity=table, table_id=table)

    def call(operation: str, request: Mapping[str, Any], **_: object) -> dict[str, Any]:
        asked.append(operation)
        clock.sleep(seconds)
        return {}

    monkeypatch.setattr(dynamodb, "life_of", life_of)
    monkeypatch.setattr(dynamodb, "call", call)
    monkeypatch.setattr(start, "Deadline", partial(Deadline, timing=clock.timing()))
    one = {"STRATEGY": "sequences.strategies.SortKeyMaximum"}
    settings.SEQUENCES = {name: {**one, "TABLE": name} for name in ("first", "second", "third")}
    found = table_identities()
    assert len(asked) == (6 if asks_all else 1)  # of each sequence its own table and the history
    assert ({"first", "second", "third"} <= {*found}) == asks_all


@pytest.mark.parametrize("name", sequences.__all__)
def test_a_function_of_the_package(name: str) -> None:
    """Each public function is found when it is first asked for, and is the one of its module."""
    function = sequences.__getattr__(name)
    assert function is getattr(sequences, name)
    assert vars(sequences)[name] is function


@pytest.mark.parametrize("name", ["reserve_values", "nothing"])
def test_what_is_no_function_of_the_package(name: str) -> None:
    """What a module has for other rooms is none of the package."""
    with pytest.raises(AttributeError, match=f"module 'sequences' has no attribute '{name}'"):
        sequences.__getattr__(name)
