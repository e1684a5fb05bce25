"""What needs a hand, in tables, clients, sequences and scopes: `diagnose` asks DynamoDB, and judges what it says.

A page and a command say the same. Whether a sequence keeps its promises on its tables is judged in `soundness`, by
which a process refuses its first write, too.
"""

from ...rows.soundness import Verdict
from .findings import Finding, Hand, Unknown
from .reading import READS, Diagnosis, diagnose
from .scopes import EXAMINED_SCOPES, needs_a_hand, of_scope

__all__ = [
    "EXAMINED_SCOPES",
    "READS",
    "Diagnosis",
    "Finding",
    "Hand",
    "Unknown",
    "Verdict",
    "diagnose",
    "needs_a_hand",
    "of_scope",
]
