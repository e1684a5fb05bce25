"""What needs a hand, in tables, clients, sequences and scopes: `read_facts` asks DynamoDB, `findings_of` judges it.

Judging needs no network, so a page and a command say the same. Whether a sequence keeps its promises on its tables is
judged in `soundness`, by which a process refuses its first write, too.
"""

from ...rows.soundness import Verdict
from .facts import ClientFacts, Facts, Finding, Hand, ScopeFacts, SequenceFacts, TableFacts, Unknown, Use
from .judging import findings_of
from .reading import READS, read_facts
from .scopes import EXAMINED_SCOPES, facts_of, needs_a_hand, of_scope

__all__ = [
    "EXAMINED_SCOPES",
    "READS",
    "ClientFacts",
    "Facts",
    "Finding",
    "Hand",
    "ScopeFacts",
    "SequenceFacts",
    "TableFacts",
    "Unknown",
    "Use",
    "Verdict",
    "facts_of",
    "findings_of",
    "needs_a_hand",
    "of_scope",
    "read_facts",
]
