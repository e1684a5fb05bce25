"""The tables of the configured sequences, made for one test and deleted after it, and what a commit would do in one."""

import contextlib
import unittest
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from django.core.signals import setting_changed
from django.db import DEFAULT_DB_ALIAS

from .. import dynamodb
from ..exceptions import InvalidSequence, StorageRefused, TableMissing
from ..ops.tables import create_tables, schemas_of
from ..registry import configured, strategies
from ..rows.rules_row import RULES_KEY
from . import moto_server
from .engines import embedded_engine, moto_engine

if TYPE_CHECKING:
    from django.test import SimpleTestCase
else:
    SimpleTestCase = object

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""The items of each table, with attribute values."""


@contextmanager
def sequence_tables(rows: Rows | None = None) -> Iterator[list[str]]:
    """Make the tables of all configured sequences, with these rows, and delete them at the end.

    A test that overrides SEQUENCES meanwhile gets the tables of its own sequences at once. The value
    is the list of the tables made so far. A table that is there already is used as it is, and stays.
    """
    with tables_of_later_settings() as made:
        made.extend(_make())
        for table, items in (rows or {}).items():
            for item in items:
                dynamodb.call("put_item", {"TableName": table, "Item": item})
        yield made


@contextmanager
def tables_of_later_settings() -> Iterator[list[str]]:
    """Make the tables of sequences that a test configures from now on, and delete them at the end."""
    made: list[str] = []

    def make(*, setting: str, enter: bool, **_: object) -> None:
        if enter and setting == "SEQUENCES":
            made.extend(_make())

    setting_changed.connect(make)  # after the registry, which has forgotten the former setting by then
    try:
        yield made
    finally:
        setting_changed.disconnect(make)
        for table in made:
            with contextlib.suppress(TableMissing):
                dynamodb.delete_table(table)


def _make() -> list[str]:
    """Make what is missing. A test may configure something wrong on purpose: its use raises."""
    made: list[str] = []
    with contextlib.suppress(InvalidSequence, StorageRefused):
        wanted = {(schema.table, schema.client) for alias in strategies for schema in schemas_of(strategies[alias])}
        on_moto = _tables_on_moto()
        made += sorted(_missing(wanted, on_moto))
        if on_moto == {}:
            _fill(on_moto)
        elif made:
            create_tables()
    return made


def _tables_on_moto() -> dict[str, Any] | None:
    """The tables of moto by their names, if moto in this process is the engine; those that are put in are there."""
    endpoint, _, region = dynamodb.account().partition("|")
    if not moto_server.is_active() or ".amazonaws.com" not in endpoint:
        return None
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.dynamodb.models import dynamodb_backends

    tables: dict[str, Any] = dynamodb_backends[DEFAULT_ACCOUNT_ID][region].tables
    return tables


def _missing(wanted: Iterable[tuple[str, str]], on_moto: Mapping[str, Any] | None) -> Iterator[str]:
    """The tables that are not there, of these with their clients."""
    for table, client in wanted:
        try:
            if on_moto is None:
                dynamodb.table_keys(table, client)
            elif table not in on_moto:
                yield table
        except TableMissing:
            yield table


_empty: dict[str, Mapping[str, Any]] = {}
"""moto's tables as earlier tests with the same settings began: to copy them takes a fraction of making them."""


def _fill(on_moto: dict[str, Any]) -> None:
    key = f"{dynamodb.account()} {dynamodb.table_name('')} {configured()}"
    if key not in _empty:
        create_tables()
        _empty[key] = moto_server.anew(on_moto)
    else:
        on_moto.update(moto_server.anew(_empty[key]))


def stored_rows(tables: Sequence[str]) -> Rows:
    """All items of these tables, but for the rows of rules: those may not come to another table."""
    pages = dynamodb.shared_client().get_paginator("scan")
    found = {table: [item for page in pages.paginate(TableName=table) for item in page["Items"]] for table in tables}
    return {table: [item for item in items if not _is_of_rules(item)] for table, items in found.items()}


def _is_of_rules(item: Mapping[str, Any]) -> bool:
    return any(str(value.get("S")).startswith(RULES_KEY) for value in item.values())


def committed(using: str = DEFAULT_DB_ALIAS) -> AbstractContextManager[Any]:
    """Do at the end of the block what its commit would: rows whose numbers follow a commit get them.

    For a `TestCase` and pytest-django's `db`, in which nothing is committed. Errors then are logged, as after a commit.
    """
    from django.test import TestCase

    return TestCase.captureOnCommitCallbacks(using=using, execute=True)


def _count_fixtures() -> None:
    """Move the counters past the numbers of `fixtures`, whose transaction is never committed in a `TestCase`."""
    from ..fields.sequence_field import loaded_here

    for waiting in loaded_here():
        waiting()


class SequenceTablesMixin(SimpleTestCase):
    """Empty tables of the configured sequences for each test; write it before the test case among the bases.

        class OrderTests(SequenceTablesMixin, TestCase): ...

    What `setUpTestData` stores is there again in every test, as Django's own rows are: a test that follows goes on
    from the same last value, and after the numbers of `fixtures`. A `setUp` of your own calls `super().setUp()` first.
    """

    sequence_engine: ClassVar[Literal["moto", "embedded"]] = "moto"
    """Where the tables are: on moto in this process, or on the embedded engine, which other processes see too."""

    _rows: ClassVar[Rows]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse the mixin after a test case, whose `setUpClass` would never reach the mixin's."""
        super().__init_subclass__(**kwargs)
        order = cls.__mro__
        if unittest.TestCase in order and order.index(unittest.TestCase) < order.index(SequenceTablesMixin):
            raise TypeError(f"{cls.__name__} has no tables: write SequenceTablesMixin before the test case.")

    @classmethod
    def setUpClass(cls) -> None:
        engines = {"moto": moto_engine, "embedded": embedded_engine}
        if cls.sequence_engine not in engines:
            raise ValueError(f"{cls.__name__}.sequence_engine is {cls.sequence_engine!r}; it is 'moto' or 'embedded'.")
        cls.enterClassContext(engines[cls.sequence_engine]())
        with sequence_tables() as made:
            super().setUpClass()
            _count_fixtures()
            cls._rows = stored_rows(made)

    def setUp(self) -> None:
        self.enterContext(sequence_tables(self._rows))
        super().setUp()
