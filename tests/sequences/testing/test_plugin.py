"""What the pytest plugin does with tests that need an engine, and with a run that left some out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from sequences.dynamodb import client
from sequences.testing import plugin
from sequences.testing.engines import ENGINE_MISSING

LEFT_OUT, SKIPPED = f"Skipped: {ENGINE_MISSING}", "Skipped: another reason"


def config_of(*skipped: str, accepted: bool = False) -> Any:
    """The configuration of a run in which tests were skipped for these reasons."""
    reports = [SimpleNamespace(longrepr=("a_test.py", 1, reason)) for reason in skipped]
    plugins = {"terminalreporter": SimpleNamespace(stats={"skipped": reports})}
    return SimpleNamespace(
        stash={},
        option=SimpleNamespace(without_engine=accepted),
        pluginmanager=SimpleNamespace(get_plugin=plugins.get),
        get_terminal_writer=mock.Mock(),
    )


class TestEnd:
    @pytest.mark.parametrize(
        ("skipped", "accepted", "status", "after"),
        [
            ([LEFT_OUT, SKIPPED], False, 0, 1),
            ([LEFT_OUT], False, 2, 2),
            ([LEFT_OUT], True, 0, 0),
            ([LEFT_OUT], True, 1, 1),
            ([SKIPPED], False, 0, 0),
            ([], False, 0, 0),
        ],
    )
    def test_the_exit_status(self, skipped: list[str], accepted: bool, status: int, after: int) -> None:
        """A run that would end well fails if a test was left out, unless that was accepted."""
        session: Any = SimpleNamespace(config=config_of(*skipped, accepted=accepted), exitstatus=status)
        plugin.pytest_sessionfinish(session)
        assert session.exitstatus == after

    @pytest.mark.parametrize(("accepted", "more"), [(False, " --without-engine accepts that."), (True, "")])
    def test_the_last_line(self, accepted: bool, more: str) -> None:
        """It says how many tests did not run, and how to accept it."""
        config = config_of(LEFT_OUT, SKIPPED, LEFT_OUT, accepted=accepted)
        session: Any = SimpleNamespace(config=config, exitstatus=0)
        plugin.pytest_sessionfinish(session)
        plugin.pytest_unconfigure(config)
        said = f"2 tests DID NOT RUN: {ENGINE_MISSING}.{more}"
        config.get_terminal_writer().line.assert_called_once_with(said, red=True)

    def test_nothing_was_left_out(self) -> None:
        """Then it says nothing, also of a run that never came to its end."""
        plugin.pytest_unconfigure(config := config_of())
        config.get_terminal_writer().line.assert_not_called()


class TestSetup:
    @pytest.mark.parametrize(
        ("marked", "fixtures", "needs_it"),
        [
            (True, [], True),
            (False, ["sequence_tables_on_engine"], True),
            (False, ["sequence_tables"], False),
            (False, None, False),
        ],
    )
    @pytest.mark.parametrize("binary", [None, Path("dynoxide")])
    def test_tests_that_need_the_engine(
        self,
        marked: bool,
        fixtures: list[str] | None,
        needs_it: bool,
        binary: Path | None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """They are left out where it is not installed, and no others are."""
        monkeypatch.setattr(plugin, "find_binary", lambda: binary)
        marks = {"needs_engine": True} if marked else {}
        item: Any = SimpleNamespace(get_closest_marker=marks.get)
        if fixtures is not None:
            item.fixturenames = fixtures
        if needs_it and binary is None:
            with pytest.raises(pytest.skip.Exception, match="not installed"):
                plugin.pytest_runtest_setup(item)
        else:
            plugin.pytest_runtest_setup(item)

    def test_the_option_and_the_marks(self) -> None:
        """Both are known to pytest, which refuses others."""
        parser = mock.Mock()
        plugin.pytest_addoption(parser)
        parser.getgroup.assert_called_once_with("sequences")
        (names, options) = parser.getgroup().addoption.call_args
        assert (names, options["action"]) == (("--without-engine",), "store_true")
        config = mock.Mock()
        plugin.pytest_configure(config)
        (cleanup,) = config.add_cleanup.call_args.args
        cleanup()
        told = [call.args for call in config.addinivalue_line.call_args_list]
        assert told == [
            ("markers", "needs_engine: needs the embedded engine, because moto cannot serve it"),
            ("markers", "real_dynamodb: may send requests to the engine of the environment"),
        ]


@pytest.mark.parametrize(
    ("request_", "what"),
    [(None, "PutItem"), ({}, "PutItem"), ({"TableName": "orders"}, "PutItem for the table 'orders'")],
)
def test_a_request_that_is_refused(request_: dict[str, str] | None, what: str) -> None:
    """The failure names the operation, and the table if there is one."""
    with pytest.raises(plugin.NoEngineAskedFor, match=f"^{what}: nothing was sent, as no engine was asked for here"):
        plugin._refuse("PutItem", request_)


@pytest.mark.real_dynamodb
def test_the_mark() -> None:
    """A test with it makes the clients of the environment; nothing stands before them."""
    assert client._clients == {}
    assert type(client._clients) is client.Clients


def test_without_the_mark() -> None:
    """Each client of a test refuses what it is asked, until the test has an engine."""
    assert type(client._clients) is not client.Clients
