"""What a race shows, in plain words: for each recipe and strategy, what it does and why its race ends as it does.

The sentences hold for every run, as the tests of the record check; counts are left to the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from project.lab.races import Race

__all__ = ["WORDS", "Words"]


@dataclass(frozen=True, slots=True)
class Words:
    """What it does, and why: with all answers, with one lost, and, for ours, both in one process."""

    does: str
    answered: str
    lost: str
    together: str = ""
    lost_together: str = ""

    def why(self, race: Race) -> str:
        """The sentence for a race."""
        if race.apart:
            return self.lost if race.loses else self.answered
        return self.lost_together if race.loses else self.together


READ_THEN_WRITE = (
    "All writers read the same count before one of them had written the next. So all got the same number, and each "
    "item replaced the one before it."
)
OVERWRITES_ALL_THE_SAME = (
    "The lost answer harms nothing here, as the same write may be repeated. But all writers had read the same count: "
    "all got the same number, and each item replaced the one before it."
)
ONE_WINS = (
    "All writers read the same count, and one of them wins. All others have paid for a refused write, read again, and "
    "fight for the next number."
)
OWN_UPDATE = (
    "The engine had stored the first update, but the answer was lost. boto3 sent it again, and its condition failed on "
    "the writer's own update. The writer took that for a lost race and went on: its first number has no item."
)
OWN_ITEM = (
    "The engine had stored the first item, but the answer was lost. boto3 sent it again, and found the number taken: "
    "by itself. The recipe took that for a lost race and stored the item once more, under another number."
)
ADDS_AGAIN = (
    "The engine had added one, but the answer was lost. boto3 sent the addition again, and it was added again: the "
    "first number has no item."
)
ONE_WRITE = (
    "All writers are threads of one process. The first to come writes for itself, and then one write serves all others"
)
ONE_ADDITION = (
    "All writers are threads of one process. The first to come takes a number for itself, then one write of the "
    "counter takes numbers for all others, and each stores its own item."
)
KNOWN_AGAIN = (
    "The same write was sent again, with the same numbers and the same token. By the token it was known as stored."
)

WORDS: Mapping[str, Words] = {
    "published-atomic": Words(
        "Add one to a counter, then put the item under the answer.",
        "DynamoDB carries out one addition after another, and each writer gets the result of its own. Nobody loses, "
        "and no number is given twice.",
        ADDS_AGAIN,
    ),
    "published-number-first": Words(
        "Read the counter, write it back plus one, then put the item.", READ_THEN_WRITE, OVERWRITES_ALL_THE_SAME
    ),
    "published-item-first": Words(
        "Read the counter, put the item, then write the counter back plus one.",
        READ_THEN_WRITE,
        OVERWRITES_ALL_THE_SAME,
    ),
    "published-placeholder": Words(
        "Put the item with 0 for its number, add one to a counter, then write the number into the item.",
        "No number is given twice. But from its first write to its last everybody sees an item without a number.",
        ADDS_AGAIN,
    ),
    "published-conditional-update": Words(
        "Read the counter, update it if it is still what was read, start over if not; then put the item.",
        ONE_WINS,
        OWN_UPDATE,
    ),
    "published-conditional-put": Words(
        "Read the counter, put it back whole if it is still what was read, start over if not; then put the item.",
        ONE_WINS,
        OWN_UPDATE,
    ),
    "published-conditional-add": Words(
        "Read the counter, add one if nobody else has since, try 11 times at most; then put the item.",
        ONE_WINS,
        OWN_UPDATE,
    ),
    "published-transaction": Words(
        "Read the counter, then move it on and put the item in one transaction; start over when the counter had moved.",
        f"{ONE_WINS} A cancelled transaction costs as much as one that is stored.",
        "boto3 names each transaction, so that sending it again stores nothing twice, for ten minutes. But all writers "
        "fight for every number, and each cancelled transaction is charged.",
    ),
    "published-sort-key-increment": Words(
        "Query the highest sort key, put the item at plus one if that is free; if not, go on to the next number.",
        "All writers find the same highest number and put the next one. One wins, and all others go on to the next "
        "number, where one wins.",
        OWN_ITEM,
    ),
    "published-sort-key-requery": Words(
        "Query the highest sort key, put the item at plus one if that is free; if not, query again.",
        "All writers find the same highest number and put the next one. One wins, and all others query again.",
        OWN_ITEM,
    ),
    "AtomicCounter": Words(
        "Add values to a counter for all who wait, then put each item under its value.",
        "One addition after another, and each writer gets the result of its own. Nobody loses.",
        "The first addition was stored, but its answer was lost, and others had added since. So nobody can know whose "
        "that number was: it is left out, and never given twice.",
        ONE_ADDITION,
        "The counter keeps the token of its last write. So the addition was known as stored when it was sent again, "
        "and no value was lost.",
    ),
    "BlockAllocator": Words(
        "Take a block of values by one write, and hand them out from memory.",
        "Each process took a block of 5 values, and used one. The others wait in its memory for its next writers; "
        "until then they are gaps.",
        "As with all answers; and one more block is left out, because nobody can know whether it was taken.",
        "All writers are threads of one process, and take their numbers from the blocks that it holds.",
        "The first block was known by its token when the write was sent again. All writers take their numbers from the "
        "blocks of their process.",
    ),
    "OptimisticCounter": Words(
        "Read the counter, write it if it is unchanged, then put the item.",
        f"{ONE_WINS} A pause by chance keeps them from doing so in step.",
        "The first update was stored, but its answer was lost. It was sent again and known by its token, unless "
        "another process had written the counter since; then its value is left out.",
        ONE_ADDITION,
        "The counter keeps the token of its last write. So the first update was known when it was sent again.",
    ),
    "SortKeyMaximum": Words(
        "Put the items under the highest sort keys, on the condition that they are free.",
        "Writers of different hosts know nothing of each other: one wins each number, and the others pause by chance "
        "and go on. Every number up to the last has its item.",
        "The item was sent again under the same number, and known by its token. No copy, and no gap.",
        f"{ONE_WRITE} at once.",
        KNOWN_AGAIN,
    ),
    "TransactionalCounter": Words(
        "Store the counter and the items in one transaction.",
        "Writers of different hosts know nothing of each other: one wins, and the others pause by chance and go on. "
        "Counter and item are stored together, so no number is without its item.",
        "The transaction was sent again with the same token, and known as stored. No copy, and no gap.",
        f"{ONE_WRITE} at once, together with the counter.",
        KNOWN_AGAIN,
    ),
}
