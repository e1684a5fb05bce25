"""What the administration's page about the health of the tables shows: the findings of the doctor, by subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from .. import dynamodb
from ..exceptions import InvalidSequence
from ..ops.doctor import READS, Verdict, diagnose

__all__ = ["health_content"]

MOST_TABLES = 25
MOST_CLIENTS = 5
MOST_REQUESTS = 3 * MOST_TABLES + READS * MOST_CLIENTS
MOST_SECONDS = 4.0


def health_content() -> Mapping[str, Any]:
    """The findings by subject, and how many there are of each verdict; its `status` is 503 if DynamoDB is away.

    Sends at most MOST_REQUESTS requests, and none after MOST_SECONDS.
    """
    with dynamodb.at_most(MOST_REQUESTS, seconds=MOST_SECONDS) as budget:
        try:
            found = diagnose(most_tables=MOST_TABLES)
        except InvalidSequence as error:
            return {"trouble": str(error)}
    counts = Counter(finding.verdict for finding in found.findings)
    uses = {table.name: list(table.uses.items()) for table in found.tables}
    return {
        "subjects": [
            {"name": name, "uses": uses.get(name, ()), "findings": list(of_one)}
            for name, of_one in groupby(found.findings, key=lambda finding: finding.subject)
        ],
        "counts": [(verdict.value, counts[verdict]) for verdict in Verdict],
        "away": found.away,
        "left_out": found.left_out,
        "budget": budget,
        "status": 503 if found.away else 200,
    }
