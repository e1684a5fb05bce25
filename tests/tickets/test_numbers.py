"""The page on which people watch numbers being made."""

import gzip
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.test import Client

from project.lab import records
from project.lab.races import Race

PAGE = "/numbers/"
RACES = records.races()[1]
KINDS = {
    (race.apart, race.loses, *map(bool, (race.gaps, race.copies, race.duplicates, race.conflicts, race.repeats))): race
    for race in RACES
}
"""One race of each kind: another of its kind has other figures alone."""


def address(race: Race) -> str:
    """Where a race is shown."""
    writers, answers = "apart" if race.apart else "together", "lost" if race.loses else "all"
    return f"{PAGE}?strategy={race.strategy}&writers={writers}&answers={answers}"


def counts(page: str) -> dict[str, str]:
    """The figures above the drawing, by their names."""
    return dict(re.findall(r"<dt>([\w ]+)</dt><dd>([\d,]+)</dd>", page))


class Tables(HTMLParser):
    """Reads the cells of all tables of a page, row by row."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a row or a cell."""
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        """End a cell."""
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        """Add to the cell."""
        if self._in_cell:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("race", KINDS.values(), ids=address)
def test_the_page_shows_the_recorded_race(race: Race, client: Client, db: None) -> None:
    """The figures, the numbers as stored, and the table of writers are those of the record."""
    response = client.get(address(race))
    assert response.status_code == 200
    page = response.content.decode()
    shown = counts(page)
    assert [shown[name] for name in ("Numbers", "Requests", "Lost races", "Sent again")] == [
        str(count) for count in (len(race.values), len(race.requests), race.conflicts, race.repeats)
    ]
    assert [shown[name] for name in ("Duplicates", "Gaps", "Copies")] == [
        str(count) for count in (race.duplicates, race.gaps, race.copies)
    ]
    assert len(re.findall(r'<li class="(?:carried|shared|copy|gap)"', page)) == race.highest
    assert len(re.findall(r'<li class="gap"', page)) == race.gaps
    writers = [row for row in Tables(page).rows if len(row) == 8][1:]
    assert [row[1] for row in writers] == [str(call.value) for call in race.calls]
    assert sum(int(row[2]) for row in writers) == len(race.requests)


@pytest.mark.parametrize("place", range(1, 5))
def test_the_page_shows_the_recorded_comparison(place: int, client: Client, db: None) -> None:
    """Each strategy has a row, a bar and its figure; the day, the engine, the cores and the command are named."""
    comparison = records.comparisons()[place - 1]
    page = unescape(client.get(f"{PAGE}?comparison={place}").content.decode())
    rows = {row[0]: row for row in Tables(page).rows if len(row) == 14}
    for row in comparison.rows:
        assert rows[row["strategy"]][2] == f"{row['per_second']:,.0f}"
        assert page.count(f">{row['strategy']}</text>") == 3
    assert comparison.command in page
    assert comparison.conditions.engine in page


def test_everybody_may_see_it(client: Client, browser: Client, tables: str) -> None:
    """It takes no sign-in, and every page leads to it, as the sign-in page and the list of projects."""
    assert client.get(PAGE).status_code == 200
    for visitor, page in ((client, "/login/"), (browser, "/")):
        assert f'href="{PAGE}"' in visitor.get(page).content.decode()


def test_every_link_on_it_leads_to_a_page(client: Client, db: None) -> None:
    """All choices can be made from every page, one after another."""
    ahead, seen = [PAGE], set[str]()
    while ahead:
        response = client.get(ahead.pop())
        assert response.status_code == 200
        found = set(re.findall(r'href="(\?[^"#]*)', response.content.decode())) - seen
        seen |= found
        if len(seen) < 60:  # those that differ in the comparison alone have the same links
            ahead += [PAGE + unescape(link) for link in found]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("strategy=Nothing", "It must be one of AtomicCounter"),
        ("answers=x", "It must be one of all, lost"),
        ("writers=x", "It must be one of apart, together"),
        ("strategy=published-atomic&writers=together", "leave it out"),
        ("comparison=9", "It must be one of 1, 2, 3, 4"),
    ],
)
def test_a_made_up_choice_is_refused(query: str, said: str, client: Client, db: None) -> None:
    """The page says what there is to choose from."""
    response = client.get(f"{PAGE}?{query}")
    assert response.status_code == 400
    assert said in unescape(response.content.decode())


def test_it_can_be_read_aloud(client: Client, db: None) -> None:
    """Every drawing has a name, headings come in order, and what scrolls can be reached by the keyboard."""
    page = client.get(PAGE).content.decode()
    for drawing in re.findall(r"<svg [^>]*>", page):
        assert 'aria-hidden="true"' in drawing or 'role="img" aria-label' in drawing
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for region in re.findall(r'<(?:div|figure) class="scroll"[^>]*>', page):
        assert 'tabindex="0"' in region
        assert "aria-label=" in region


@cache
def compressed(name: str) -> int:
    """The bytes of a static file on its way."""
    path = finders.find(name)
    assert isinstance(path, str)
    return len(gzip.compress(Path(path).read_bytes()))


def test_a_first_visit_is_light(client: Client, db: None) -> None:
    """The page with all that it loads is below 60 KB on its way, whichever race it shows."""
    for race in RACES:
        response = client.get(address(race), headers={"Accept-Encoding": "gzip"})
        assert response["Content-Encoding"] == "gzip"
        page = gzip.decompress(response.content).decode()
        loaded = re.findall(r'(?:href|src)="/static/([^"]+)"', page)
        assert len({*loaded}) == 4
        total = len(response.content)
        total += sum(map(compressed, {*loaded}))
        assert total < 60_000, address(race)


def test_a_person_who_is_signed_in_sees_it_too(ann: User, browser: Client) -> None:
    """With the header of the site."""
    assert "Sign out" in browser.get(PAGE).content.decode()
