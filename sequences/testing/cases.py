"""Tables for each test of a Django test case, under Django's runner or another, and what a commit would do in one."""

import unittest
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from django.db import DEFAULT_DB_ALIAS

from .engines import embedded_engine, moto_engine
from .tables import Rows, sequence_tables, stored_rows

if TYPE_CHECKING:
    from django.test import SimpleTestCase
else:
    SimpleTestCase = object


def committed(using: str = DEFAULT_DB_ALIAS) -> AbstractContextManager[Any]:
    """Do at the end of the block what its commit would: rows whose numbers follow a commit get them.

    For a `TestCase` and pytest-django's `db`, in which nothing is committed. Errors then are logged, as after a commit.
    """
    from django.test import TestCase

    return TestCase.captureOnCommitCallbacks(using=using, execute=True)


class SequenceTablesMixin(SimpleTestCase):
    """Empty tables of the configured sequences for each test; write it before the test case among the bases.

        class OrderTests(SequenceTablesMixin, TestCase): ...

    What `setUpTestData` stores is there again in every test, as Django's own rows are: a test that follows goes on
    from the same last value. A `setUp` of your own calls `super().setUp()` first.
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
            cls._rows = stored_rows(made)

    def setUp(self) -> None:
        self.enterContext(sequence_tables(self._rows))
        super().setUp()
