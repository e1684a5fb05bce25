"""The row with the rules of a sequence, as it is in one place: what it says, without any engine."""

from __future__ import annotations

import pytest

from sequences.dynamodb.expressions import KeySchema
from sequences.rows.rules_row import Place, StoredRules

PLACE = Place(KeySchema(table="sequences"), {})
RULES = {"STRATEGY": "sequences.strategies.AtomicCounter"}


@pytest.mark.parametrize(
    ("rules", "read_in", "written_in", "lacks", "restored"),
    [
        (RULES, "one", "", True, False),
        (RULES, "one", "one", False, False),
        (RULES, "one", "other", False, True),
        (RULES, "", "one", False, False),
        (RULES, "", "", False, False),
        ({}, "one", "", False, False),
    ],
)
def test_where_it_was_written(
    rules: dict[str, str], read_in: str, written_in: str, lacks: bool, restored: bool
) -> None:
    """Only a row that is there can lack its table, and only two tables that are known can differ."""
    row = StoredRules(PLACE, read_in, rules, written_in)
    assert (row.lacks_table, row.is_restored) == (lacks, restored)


def test_who_may_write() -> None:
    """The strategy of the rules may write; while a switch is under way, both."""
    both = ("AtomicCounter", "BlockAllocator")
    assert [*StoredRules(PLACE, "", RULES).strategies] == ["AtomicCounter"]
    assert [*StoredRules(PLACE, "", {}).strategies] == []
    assert StoredRules(PLACE, "", RULES, switching=both).strategies == both
