"""The tables in DynamoDB that belong to this SQL database: others in their place are noticed before a site serves.

They have another ARN or another `TableId`: a table that was made anew or restored, another TABLE_PREFIX, Region or
account. It cannot notice rows that are put back into the same table, nor anything with an SQL database that is new.
"""

from django.core.exceptions import ImproperlyConfigured
from django.db import Error

from sequences.start import table_identities
from tickets.models import KnownTable


class OtherTables(ImproperlyConfigured):
    """The tables are not those to which the accounts of the SQL database belong."""


def require_known() -> None:
    """Raise OtherTables if a table is missing, or another one than before. Where nobody knows that, go on.

    Cost: one query, and a request for each table that this process has not asked about.
    """
    try:
        known = dict(KnownTable.objects.values_list("name", "identity"))
    except Error:  # away, or without the table yet
        return
    now = table_identities()
    if others := sorted(name for name in known if now.get(name, known[name]) != known[name]):
        first = others[0]
        raise OtherTables(
            f"The accounts in this SQL database belong to other tables than {', '.join(others)}: {first} was "
            f"{known[first]} and is {now[first] or 'missing'}. If TABLE_PREFIX, the Region or the account is mistyped, "
            "mend it. If tables were restored, go by docs/restore.md. To go on with these tables, run "
            "`python -m project.commands.prepare --accept-tables`."
        )


def remember() -> None:
    """Note that these tables belong to the SQL database, from now on."""
    for name, identity in table_identities().items():
        if identity:
            KnownTable.objects.update_or_create(name=name, defaults={"identity": identity})
