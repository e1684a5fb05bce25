"""The system checks of what sequences would do to each other's tables, and of the installation."""

import socket
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.test import override_settings

from sequences.ops.checks import (
    check_client,
    check_former_texts,
    check_keys,
    check_namesake,
    check_prefix,
    check_tables,
    check_texts,
)

ATOMIC = "sequences.strategies.atomic.AtomicCounter"
SORT_KEY = "sequences.strategies.sort_key.SortKeyMaximum"


def atomic(**options: Any) -> dict[str, Any]:
    """A counter in the default tables."""
    return {"STRATEGY": ATOMIC, "OPTIONS": options}


def sort_key(table: str = "tickets", **options: Any) -> dict[str, Any]:
    """A sequence whose highest number is its highest sort key."""
    return {"STRATEGY": SORT_KEY, "TABLE": table, "OPTIONS": options}


def found(check: Any, **sequences: Any) -> list[CheckMessage]:
    """What a check says about these sequences, which all the checks together say as well."""
    with override_settings(SEQUENCES=sequences):
        said: list[CheckMessage] = list(check())
        assert [message for message in run_checks() if message in said] == said
        return said


class TestPrefix:
    @pytest.mark.parametrize("prefix", [None, 5, "prod/"])
    def test_one_that_cannot_be(self, prefix: Any) -> None:
        """It is said once, and not of each sequence."""
        with override_settings(TABLE_PREFIX=prefix):
            (error,) = found(check_prefix, a=atomic(), b=sort_key())
            assert error.id == "sequences.E011"
            assert f"TABLE_PREFIX is {prefix!r}" in error.msg
            with override_settings(SEQUENCES={"a": atomic(), "b": sort_key()}):
                assert [message.id for message in run_checks() if "TABLE_PREFIX" in message.msg] == [error.id]

    def test_one_that_can_be(self) -> None:
        """Letters, digits, '_', '-' and '.' begin a table's name, and so does nothing."""
        with override_settings(TABLE_PREFIX="Prod-1.eu_"):
            assert found(check_prefix, a=atomic()) == []


class TestKeys:
    def test_sequences_share_a_table(self) -> None:
        """By default sequences may share a table, also if the name of one begins like another's."""
        assert found(check_keys, a=atomic(), ab=atomic(), b=sort_key("sequence_items")) == []

    def test_the_same_partition(self) -> None:
        """Two sequences whose items would have the same keys are an error that names both, the table and the remedy."""
        (error,) = found(check_keys, tickets=sort_key(partition="{scope}"), notes=sort_key(partition="{scope}"))
        assert error.id == "sequences.E003"
        assert (
            "'tickets' and 'notes' have their items in the table 'tickets' under the same keys, '{scope}'" in error.msg
        )
        assert "another TABLE" in (error.hint or "")

    def test_another_table(self) -> None:
        """The same partition keys in different tables are no problem."""
        assert (
            found(check_keys, a=sort_key("first", partition="{scope}"), b=sort_key("second", partition="{scope}")) == []
        )

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("{scope}", "{sequence}#{scope}"),  # scopes of the first may begin like the keys of the second
            ("{sequence}-{scope}", "a-b-{scope}"),
            ("{scope}", "{scope}#notes"),
        ],
    )
    def test_keys_that_may_meet(self, one: str, other: str) -> None:
        """Partition keys that are equal only for different scopes are a warning that shows both."""
        (warning,) = found(check_keys, a=sort_key(partition=one), b=sort_key(partition=other))
        assert warning.id == "sequences.W003"
        assert repr(one.replace("{sequence}", "a")) in warning.msg
        assert repr(other.replace("{sequence}", "b")) in warning.msg

    @pytest.mark.parametrize(
        ("one", "other"), [("ticket#{scope}", "note#{scope}"), ("{scope}#tickets", "{scope}#notes")]
    )
    def test_keys_that_never_meet(self, one: str, other: str) -> None:
        """Partition keys that begin or end differently are no problem."""
        assert found(check_keys, a=sort_key(partition=one), b=sort_key(partition=other)) == []

    def test_keys_of_their_own(self) -> None:
        """Items that bring their own keys are left to their application."""
        own = atomic(value_in="attribute", key_names=["id"], partition="{scope}")
        assert found(check_keys, a=own, b=own) == []

    @pytest.mark.parametrize(("template", "ids"), [("order-{value}", ["sequences.E003"]), ("{sequence}-{value}", [])])
    def test_values_as_partition_keys(self, template: str, ids: list[str]) -> None:
        """Two sequences whose values are partition keys must not use the same text."""
        entry = atomic(value_in="partition_key", key_names=["id"], partition=template)
        assert [error.id for error in found(check_keys, a=entry, b=entry)] == ids

    def test_every_pair(self) -> None:
        """Each two sequences are compared."""
        same = sort_key(partition="{scope}")
        assert len(found(check_keys, a=same, b=same, c=same)) == 3


class TestTables:
    def test_tables_may_be_shared(self) -> None:
        """Sequences that need the same keys may share a table, and a counter may be beside its items."""
        assert found(check_tables, a=atomic(), b=atomic(), c=atomic(counter_table="sequence_items")) == []

    @pytest.mark.parametrize(
        ("other", "keys"),
        [
            (sort_key(key_names=["project", "number"]), "project (S), number (N)"),
            (sort_key(sort_key="{value:010d}"), "pk (S), sk (S)"),
            (atomic(counter_table="tickets"), "sequence (S), scope (S)"),
        ],
    )
    def test_other_keys(self, other: dict[str, Any], keys: str) -> None:
        """A table that two sequences need with different keys is an error that names both and their keys."""
        (error,) = found(check_tables, tickets=sort_key(), other=other)
        assert error.id == "sequences.E004"
        assert error.msg == (
            f"The sequence 'other' needs the table 'tickets' with the keys {keys}, "
            "and 'tickets' needs it with the keys pk (S), sk (N)."
        )
        assert "another table" in (error.hint or "")

    def test_the_order_of_the_keys_counts(self) -> None:
        """Which attribute is the partition key matters."""
        turned = sort_key(key_names=["sk", "pk"])
        assert [error.id for error in found(check_tables, a=sort_key(), b=turned)] == ["sequences.E004"]


class TestTexts:
    def test_a_period_that_no_text_tells(self) -> None:
        """A FORMAT without the year of a yearly sequence is an error that shows one text of two values."""
        (error,) = found(check_texts, invoices={"STRATEGY": ATOMIC, "PERIOD": "year", "FORMAT": "INV-{value}"})
        assert error.id == "sequences.E007"
        assert error.msg == (
            "SEQUENCES['invoices']['FORMAT'] is 'INV-{value}'; the text 'INV-1' belongs to 1 of the period '2024', "
            "and to 1 of the period '2025'."
        )
        assert "{period}" in (error.hint or "")

    @pytest.mark.parametrize(("former", "warns"), [("B1{value}", True), ("A{value}", False)])
    def test_texts_of_a_former_format(self, former: str, warns: bool) -> None:
        """A FORMAT that could write for a later value what a former one has written is warned of, with both."""
        entry = {"STRATEGY": ATOMIC, "FORMAT": "B{value}", "ALSO_READ": [former, "B{value:06d}"]}
        warnings = found(check_former_texts, bills=entry)
        said = f"SEQUENCES['bills']['FORMAT'] is 'B{{value}}'; a text could also be one that {former!r} has written."
        assert [(one.id, one.msg) for one in warnings] == [("sequences.W006", said)] * warns

    def test_a_scope_that_runs_into_the_value(self) -> None:
        """A FORMAT with nothing between scope and value is an error with such an example, and another remedy."""
        (error,) = found(check_texts, orders={"STRATEGY": ATOMIC, "FORMAT": "{scope}{value}"})
        assert error.msg.endswith("'A11' belongs to 11 of the scope 'A', and to 1 of the scope 'A1'.")
        assert "between {scope} and {value}" in (error.hint or "")

    def test_texts_that_differ(self) -> None:
        """A FORMAT that tells all values apart is no problem, and neither is a sequence without FORMAT."""
        yearly = {"STRATEGY": ATOMIC, "PERIOD": "year"}
        assert found(check_texts, invoices={**yearly, "FORMAT": "INV-{period}-{value}"}, plain=yearly) == []


class TestClient:
    @pytest.fixture(autouse=True)
    def _no_settings_of_aws(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_DYNAMODB"):
            monkeypatch.delenv(name, raising=False)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            monkeypatch.setenv(name, str(tmp_path / name))

        def refuse(*args: object) -> None:
            raise AssertionError("it talks to the network")

        monkeypatch.setattr(socket.socket, "connect", refuse)

    def test_a_region_is_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a Region nothing is said: credentials may come from a role, which takes the network to find out."""
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        assert found(check_client, a=atomic()) == []

    @pytest.mark.parametrize(
        ("environment", "words"),
        [
            ({}, "specify a region"),
            ({"AWS_DEFAULT_REGION": "no region"}, "'no region'"),
            ({"AWS_DEFAULT_REGION": "eu-central-1", "AWS_PROFILE": "nobody"}, "nobody"),
            ({"AWS_DEFAULT_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "x"}, "AWS_SECRET_ACCESS_KEY"),
            ({"AWS_DEFAULT_REGION": "eu-central-1", "AWS_ENDPOINT_URL_DYNAMODB": "localhost:1"}, "localhost:1"),
        ],
    )
    def test_what_is_wrong(self, environment: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A client that cannot be made is a warning with the reason, the remedy, and how to silence it."""
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        (warning,) = found(check_client, a=atomic())
        assert warning.id == "sequences.W005"
        assert words in warning.msg
        assert "Set AWS_" in warning.msg
        assert "sequences.W005" in (warning.hint or "")

    def test_a_broken_configuration_file(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A file of AWS that cannot be read is a warning too."""
        (tmp_path / "AWS_CONFIG_FILE").write_text("[broken")
        (warning,) = found(check_client, a=atomic())
        assert "AWS_CONFIG_FILE" in warning.msg

    def test_without_sequences(self) -> None:
        """Without a sequence no client is needed."""
        assert found(check_client) == []


class TestNamesake:
    def test_it_is_not_installed(self) -> None:
        """Without django-sequences nothing is said."""
        assert found(check_namesake) == []

    def test_it_is_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If django-sequences is installed, an error says why that is wrong and what to do."""
        folder = tmp_path / "django_sequences-3.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: django-sequences\nVersion: 3.0\n")
        monkeypatch.syspath_prepend(tmp_path)
        (error,) = found(check_namesake)
        assert error.id == "sequences.E006"
        assert "django-sequences is installed" in error.msg
        assert "pip uninstall django-sequences" in (error.hint or "")


def test_a_wrong_sequence_hides_nothing() -> None:
    """The sequences beside one that cannot be used are checked; that one is left to sequences.E001."""
    same = sort_key(partition="{scope}")
    (error,) = found(check_keys, wrong={}, a=same, b=same)
    assert "'a' and 'b'" in error.msg


@pytest.mark.parametrize("check", [check_client, check_keys, check_tables])
def test_a_setting_that_is_no_dict_is_left_to_its_own_check(check: Any) -> None:
    """Without usable settings these checks have nothing to say."""
    with override_settings(SEQUENCES=None):
        assert list(check()) == []
