"""Whether a sequence keeps its promises on the tables that it has: one judgement from facts, without a request.

The doctor tells what it says, and the first write of a process and the start of a web process are refused by it. A
refusal that an operator knows better than to heed is overridden in `ACCEPT`, which names the risk.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from ..dynamodb import Copies
from ..types import SequenceConfig

SAME_NUMBER = "regions-give-the-same-number"
NO_TRANSACTIONS = "transactions-are-refused"
RISKS = {
    SAME_NUMBER: "two Regions write one sequence to a table that is consistent later, and give numbers twice",
    NO_TRANSACTIONS: "the table takes no transactions, and the sequence needs them",
}
"""What the key ACCEPT may name."""


class Verdict(enum.StrEnum):
    """What a finding comes to."""

    GOOD = "good"
    CAREFUL = "careful"
    UNSOUND = "unsound"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Soundness:
    """The judgement of one sequence: the verdict, what was found, why it matters, and what helps.

    `takes_transactions` is False where a write must be of one item.
    """

    verdict: Verdict
    found: str
    reason: str
    remedy: str = ""
    takes_transactions: bool = True


def judge(config: SequenceConfig, tables: Sequence[Copies | None], *, needs_transactions: bool) -> Soundness:
    """Judge a sequence by the copies of its tables; None stands for a table that could not be read.

    The first of these that holds counts: another Region is the home, copies that agree later, no transactions.
    """
    known = [copies for copies in tables if copies is not None]
    later = next((one for one in known if one.is_global and not one.strongly), None)
    single = next((one for one in known if not one.transactions), None)
    if config.is_elsewhere:
        return _elsewhere(config.home_region, config.region)
    if later:
        return _agreeing_later(config, later)
    if single:
        return _without_transactions(config, single, needs_transactions=needs_transactions)
    if len(known) < len(tables):
        reason = "Not every table could be read, so that nobody knows whether other Regions write it. Writing goes on."
        return Soundness(Verdict.UNKNOWN, "not known", reason)
    return Soundness(Verdict.GOOD, "one Region", "Conditions are checked against the only copy.")


def _elsewhere(home: str, here: str) -> Soundness:
    return Soundness(
        Verdict.UNSOUND,
        f"written in {home}, and this is {here or 'no Region'}",
        "HOME_REGION says that processes in one Region write it, so that no other gives the same number.",
        f"Send its writes to {home}. To move its home, stop the writers there, wait until all "
        "is replicated, and change HOME_REGION.",
    )


def _agreeing_later(config: SequenceConfig, copies: Copies) -> Soundness:
    """Of an eventually consistent global table: each Region checks conditions against its own copy."""
    found = copies.told
    if home := config.home_region:
        reason = f"Only {home} writes it, and conditions are checked there. Other Regions read it later."
        return Soundness(Verdict.GOOD, found, reason)
    if config.stripe:
        return Soundness(
            Verdict.GOOD,
            found,
            "Each Region gives numbers of its own. A repeat must come to the Region of the first request: "
            "another one may not know its idempotency token yet, and stores it a second time, under another number.",
        )
    return _unless_accepted(
        config,
        SAME_NUMBER,
        found,
        "Each Region checks conditions against its own copy: two Regions give the same number, silently.",
        "Set HOME_REGION to the one Region that writes, give each Region its own START, or use a strongly consistent "
        "global table.",
    )


def _without_transactions(config: SequenceConfig, copies: Copies, *, needs_transactions: bool) -> Soundness:
    """Of a table that takes single conditional writes alone."""
    if needs_transactions:
        return _unless_accepted(
            config,
            NO_TRANSACTIONS,
            copies.told,
            "The table takes no transactions, and this strategy needs one for each number.",
            "Give the sequence AtomicCounter or SortKeyMaximum, or a table in one Region of AWS.",
        )
    if NO_TRANSACTIONS in config.accepted:
        return _accepted(NO_TRANSACTIONS, copies.told)
    return Soundness(
        Verdict.CAREFUL,
        copies.told,
        "Numbers are right, but the table takes no transactions: idempotency tokens of items, `also`, "
        "`put_next_together` and guarded changes are refused, and the items of a group are written one by one.",
        "Do without them, or give the sequence a table in one Region of AWS.",
        takes_transactions=False,
    )


def _unless_accepted(config: SequenceConfig, risk: str, found: str, reason: str, remedy: str) -> Soundness:
    if risk in config.accepted:
        return _accepted(risk, found, remedy)
    return Soundness(Verdict.UNSOUND, found, reason, f"{remedy} If you know better, add {risk!r} to its ACCEPT.")


def _accepted(risk: str, found: str, remedy: str = "") -> Soundness:
    """What would be refused, but for ACCEPT."""
    return Soundness(
        Verdict.CAREFUL,
        found,
        f"ACCEPT takes the risk {risk!r}: {RISKS[risk]}.",
        f"Take it out of ACCEPT as soon as it is mended. {remedy}".strip(),
    )
