"""The page that lets people watch numbers being made: the recorded races, and the recorded comparisons.

It shows no data of anybody and sends no request to DynamoDB, so everybody may see it.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from project.lab.exhibits import comparison_titles, strategies, the_comparison, the_race
from tickets.exceptions import InvalidInput

# What the page shows if the address does not say.
USUAL = {"strategy": "SortKeyMaximum", "answers": "all", "writers": "apart", "comparison": "1"}
ANSWERS = {"all": "every answer arrives", "lost": "one answer is lost"}
WRITERS = {"apart": "on hosts of their own", "together": "in one process"}

Labels = Mapping[str, str]


@login_not_required
@require_safe
@gzip_page  # it has nothing that an attacker could want to guess by its length
def numbers(request: HttpRequest) -> HttpResponse:
    """The race and the comparison that the address chooses, with links to the others. Costs no request to DynamoDB."""
    ours, published = strategies()
    titles = {str(place): title for place, title in enumerate(comparison_titles(), start=1)}
    labels = {
        "strategy": {name: name.removeprefix("published-") for name in (*ours, *published)},
        "answers": ANSWERS,
        "writers": WRITERS,
        "comparison": titles,
    }
    chosen = _chosen(request, labels)
    apart = chosen["writers"] == "apart"
    if not apart and chosen["strategy"] in published:
        raise InvalidInput({"writers": "Writers by a published recipe share nothing: leave it out."})
    links = {name: _links(chosen, name, labels[name]) for name in labels}
    content = {
        "links": links,
        "ours": links["strategy"][: len(ours)],
        "published": _links({**chosen, "writers": "apart"}, "strategy", labels["strategy"])[len(ours) :],
        **the_race(chosen["strategy"], apart=apart, loses=chosen["answers"] == "lost"),
        **the_comparison(titles[chosen["comparison"]]),
    }
    return render(request, "lab/numbers.html", content)


def _chosen(request: HttpRequest, labels: Mapping[str, Labels]) -> dict[str, str]:
    """What the address chooses. Raises InvalidInput with what there is to choose from."""
    chosen = {name: request.GET.get(name, usual) for name, usual in USUAL.items()}
    wrong = {
        name: f"It must be one of {', '.join(labels[name])}." for name in labels if chosen[name] not in labels[name]
    }
    if wrong:
        raise InvalidInput(wrong)
    return chosen


def _links(chosen: Mapping[str, str], name: str, labels: Labels) -> list[dict[str, Any]]:
    """A link for each value of one choice, to the page with all other choices as they are."""
    found = []
    for value, label in labels.items():
        changed = {key: one for key, one in {**chosen, name: value}.items() if one != USUAL[key]}
        found.append({"label": label, "address": f"?{urlencode(changed)}", "is_chosen": value == chosen[name]})
    return found
