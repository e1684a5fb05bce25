"""An app with numbered rows, which is installed for the tests of `sequences.fields` alone."""

from typing import Any

SEQUENCES: dict[str, dict[str, Any]] = {
    "orders": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "START": 1001},
    "deliveries": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"},
    "invoices": {"STRATEGY": "sequences.strategies.transactional.TransactionalCounter"},
    "receipts": {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum", "TABLE": "receipts"},
}
