"""The audit of a scope: does every value up to the last one have a stored item?

`audit` reads one scope page by page, in bounded memory, and writes nothing. It checks the values up to the last value
at its start; writers may go on meanwhile.
"""

from .check import audit
from .report import AuditReport, Findings, Gap, Orphan, Stray, Void, findings_in_words

__all__ = ["AuditReport", "Findings", "Gap", "Orphan", "Stray", "Void", "audit", "findings_in_words"]
