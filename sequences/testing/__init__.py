"""For the tests of applications: tables for each test, the check for gaps, and the contract of every strategy.

    class OrderTests(SequenceTablesMixin, TestCase):
        def test_orders_follow_each_other(self):
            place_order()
            place_order()
            assert_gapless("orders")

With pytest, `pytest_plugins = ["sequences.testing.plugin"]` in the outermost conftest.py gives the same tables as
fixtures. `contract.StrategyContract` holds a strategy of your own to what every strategy guarantees. docs/testing.md
has examples. `embedded` starts the embedded engine, or moto's server. Nothing else in the app imports this package.
It needs moto, or the embedded engine, and its modules `plugin` and `contract` need pytest.
"""

from .callers import assert_gapless
from .engines import embedded_engine, engine_at, moto_engine
from .tables import SequenceTablesMixin, committed, sequence_tables

__all__ = [
    "SequenceTablesMixin",
    "assert_gapless",
    "committed",
    "embedded_engine",
    "engine_at",
    "moto_engine",
    "sequence_tables",
]
