"""An app with numbered rows, which is installed for the tests of `sequences.fields` alone."""

from typing import Any

SEQUENCES: dict[str, dict[str, Any]] = {
    "orders": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "START": 1001},
    "deliveries": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"},
    "invoices": {"STRATEGY": "sequences.strategies.transactional.TransactionalCounter"},
    "contracts": {
        "STRATEGY": "sequences.strategies.atomic.AtomicCounter",
        "PERIOD": "year",
        "FORMAT": "CT-{period}-{value:04d}",
    },
    "bills": {
        "STRATEGY": "sequences.strategies.transactional.TransactionalCounter",
        "PERIOD": "year",
        "FORMAT": "INV-{period}-{value:06d}",
    },
    "receipts": {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum", "TABLE": "receipts"},
}
