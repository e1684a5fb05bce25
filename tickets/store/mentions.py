"""The rows of tickets that texts mention, read together with who may see them."""

from collections.abc import Collection

from tickets.store.members import ACCESS, access_from_row, accesses
from tickets.store.places import PROJECT_ROW, ROWS, renames
from tickets.store.tickets import SUMMARY
from tickets.tables import Row
from tickets.types import TicketKey


def find_mentioned(keys: Collection[TicketKey]) -> dict[TicketKey, Row]:
    """The rows of those tickets that there are, by the keys that the texts have for them.

    The access to their projects is remembered with them, so that to ask who may see them costs nothing more. One
    consistent read for at most 50 keys, and nothing for none.
    """
    places = {key: (renames.partition(key.project), key.number) for key in keys}
    unknown = accesses.missing({partition for partition, _ in places.values()})
    remember = accesses.remembering()
    wanted = {*places.values(), *((partition, PROJECT_ROW) for partition in unknown)}
    rows = {(row["pk"], row["sk"]): row for row in ROWS.get_many(wanted, ("pk", *SUMMARY, *ACCESS))}
    for partition in unknown:
        if row := rows.get((partition, PROJECT_ROW)):
            remember(partition, access_from_row(partition, row))
    return {key: rows[place] for key, place in places.items() if place in rows}
