"""The proof that a scope's values are all carried: what is missing, withdrawn or astray among its items.

`audit` reads one scope by pages, in bounded memory, and writes nothing. It proves the values up to the last value as
it was when the audit began; writers may go on meanwhile. How a report is shown is not known here.
"""

from .check import audit
from .reading import list_scopes
from .report import AuditReport, Findings, Gap, Orphan, Stray, Void

__all__ = ["AuditReport", "Findings", "Gap", "Orphan", "Stray", "Void", "audit", "list_scopes"]
