"""Which Regions write a sequence: a START for each Region.

With `{"START": {"eu-central-1": 1, "us-east-1": 2}, "STEP": 2}` one Region gives 1, 3, 5 and the other 2, 4, 6. No two
Regions write the same row, so that the numbers differ although the Regions learn of each other's writes later.
"""

from collections.abc import Mapping
from typing import Any

from ..exceptions import InvalidSequence
from ..rows.numbers import whole_number
from ..rows.options import is_region


def starts_of(where: str, entry: Mapping[str, Any], step: int) -> dict[str, int]:
    """The START of each Region; empty if there is one START for all.

    Raises InvalidSequence if two Regions could give the same number: their STARTs must differ modulo STEP.
    """
    starts = entry.get("START")
    if not isinstance(starts, Mapping):
        return {}
    if "HOME_REGION" in entry:
        raise InvalidSequence(f"{where}['START'] has Regions that write, and 'HOME_REGION' names one: leave one out.")
    if not starts or not all(map(is_region, starts)):
        raise InvalidSequence(f"{where}['START'] is {starts!r}; its keys must be names of Regions, as 'eu-central-1'.")
    for region, start in starts.items():
        whole_number(f"{where}['START'][{region!r}]", start, 0)
    if step < len(starts):
        raise InvalidSequence(
            f"{where}['STEP'] is {step}; it must be at least {len(starts)}, as START has so many Regions."
        )
    by_rest: dict[int, str] = {}
    for region, start in starts.items():
        other = by_rest.setdefault(start % step, region)
        if other != region:
            raise InvalidSequence(
                f"{where}['START'] is {starts[other]} in {other!r} and {start} in {region!r}; by a STEP of {step} both "
                "come to the same numbers: choose STARTs that differ by no multiple of STEP."
            )
    return dict(starts)


def start_here(where: str, starts: Mapping[str, int], region: str, client: str) -> int:
    """The START of this Region. Raises InvalidSequence if it has none."""
    if region not in starts:
        here = f"the client {client!r} is in {region!r}" if region else f"the client {client!r} has no Region"
        raise InvalidSequence(
            f"{where}['START'] has {', '.join(map(repr, starts))}, and {here}: add its START, or set "
            "AWS_DEFAULT_REGION or the REGION of the client."
        )
    return starts[region]
