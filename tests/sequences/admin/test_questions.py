"""What an operator asks in the morning and at night: each answer is within two clicks from the overview."""

import re
from html import unescape
from typing import Any
from urllib.parse import urljoin

import pytest
from django.test import Client

from sequences import changes, get_next_value, get_next_values, put_next
from sequences.ops.audit.results import KeptAudits
from sequences.registry import strategies
from tests.sequences.admin.test_admin import LIST, client_with, shown
from tests.sequences.support import set_counter, wait_until
from tests.test_docs import section

PATH = "sequences.strategies"
SEQUENCES: dict[str, Any] = {
    "orders": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "MAXIMUM": 1000},
    "letters": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", "TABLE": "letters"},
}


class Operator:
    """Somebody who begins at the overview, and clicks."""

    def __init__(self, client: Client) -> None:
        self.client, self.clicks, self.at = client, 0, LIST
        self.page: Any = client.get(LIST)

    @property
    def text(self) -> str:
        """What the page says."""
        return shown(self.page)

    def click(self, name: str) -> None:
        """Follow the link, or the button, that people call so."""
        content = self.page.content.decode()
        found = re.search(rf'<a [^>]*?href="([^"]*)"[^>]*>{re.escape(name)}</a>', content)
        assert found is not None, name
        self._go(self.client.get(urljoin(self.at, unescape(found[1]))))

    def send(self, path: str, **fields: str) -> None:
        """Send a form by its button."""
        self._go(self.client.post(urljoin(self.at, path), fields, follow=True))

    def _go(self, page: Any) -> None:
        self.clicks += 1
        self.at, self.page = page.request["PATH_INFO"] + "?" + page.request["QUERY_STRING"], page
        assert page.status_code == 200


@pytest.fixture
def numbers(db: None, own_sequences: str) -> None:
    """Two sequences, of which one has given numbers in several scopes."""
    for scope, count in (("north", 3), ("south", 950), ("west", 7)):
        get_next_values(count, "orders", scope=scope)


@pytest.fixture
def owner() -> Client:
    """Somebody who may change the sequences."""
    return client_with("sequences.view_sequence", "sequences.change_sequence")


@pytest.mark.usefixtures("numbers")
class TestQuestions:
    def test_does_anything_need_a_hand(self, owner: Client) -> None:
        """It stands on top."""
        operator = Operator(owner)
        assert re.search(r"Needs a hand careful sequence orders, scope 'south' : 95 % of its values", operator.text)
        assert operator.clicks == 0

    def test_which_scopes_are_used_most(self, owner: Client) -> None:
        """They come first."""
        operator = Operator(owner)
        assert re.search(r"AtomicCounter.* south 950 .* west 7 .* north 3 ", operator.text)
        assert operator.clicks == 0

    def test_how_far_is_a_scope_and_since_when_is_it_quiet(self, owner: Client) -> None:
        """Its page has the next numbers, and a line by hour and by day, also as tables."""
        operator = Operator(owner)
        operator.click("west")
        assert "Next numbers 8, 9, 10 " in operator.text
        content = operator.page.content.decode()
        assert content.count('<g class="point" role="img"') == 24 + 30
        assert re.search(r'tabindex="0" aria-label="\d\d \w+ \d\d:00: 7"', content)
        assert re.search(r'tabindex="0" aria-label="20\d\d-\d\d-\d\d: 7"', content)
        assert re.search(r"Hour \(UTC\) Numbers \d\d \w+ \d\d:00 7 \d\d \w+ \d\d:00 0 ", operator.text)
        assert operator.clicks == 1

    def test_how_long_do_its_numbers_last(self, owner: Client) -> None:
        """Each row says how much is used, and when all is."""
        operator = Operator(owner)
        assert re.search(r"south 950 .* 95 % used up about 20\d\d-\d\d-\d\d ", operator.text)
        assert operator.clicks == 0

    def test_what_do_numbers_cost(self, owner: Client) -> None:
        """Each sequence says it by its strategy, without and with tokens."""
        operator = Operator(owner)
        assert "0.00125 to 0.00325 USD for a thousand numbers." in operator.text
        assert operator.clicks == 0

    def test_who_froze_it_and_how_does_it_go_on(self, owner: Client) -> None:
        """The button leads to what thaws it."""
        changes.freeze("orders", scope="west", by="bob", reason="Count the stock.")
        operator = Operator(owner)
        assert re.search(r"scope 'west' : frozen by bob since [\d-]+T[\d:]+\+00:00: Count the", operator.text)
        operator.click("Thaw")
        assert "Let the frozen scope go on." in operator.text
        assert operator.clicks == 1

    def test_it_was_set_back(self, owner: Client) -> None:
        """The button leads to what mends it, and only who may do it has it."""
        set_counter("orders", "west", last_value=2)
        operator = Operator(owner)
        assert "Needs a hand unsound sequence orders, scope 'west' : it stands at 2, but 7 was handed" in operator.text
        operator.click("Recover")
        assert "begin above all that is stored or remembered, by a margin" in operator.text
        assert operator.clicks == 1

    def test_is_a_number_missing(self, owner: Client) -> None:
        """An audit is two clicks away where none was made."""
        put_next("letters", {}, scope="A")
        operator = Operator(owner)
        assert "sequence letters, audits : none was kept" in operator.text
        found = re.search(r'href="([^"]*letters[^"]*audit/\?scope=A)"', operator.page.content.decode())
        assert found is not None
        operator._go(owner.get(found[1]))
        operator.send("")
        wait_until(lambda: KeptAudits(strategies["letters"]).look("A")[1])
        assert operator.clicks == 2
        assert "Last audit: " in shown(owner.get(LIST))
        assert "none was kept" not in re.sub(r"orders, audits : none was kept", "", shown(owner.get(LIST)))

    def test_who_changed_what(self, owner: Client) -> None:
        """The page of the sequence has its changes, with names and reasons."""
        changes.advance("orders", to=20, scope="north", by="bob", reason="A round number.")
        operator = Operator(owner)
        operator.click("orders")
        assert re.search(r"History .* advance north 3 20 bob A round number\.", operator.text)
        assert operator.clicks == 1

    def test_what_became_of_a_request(self, owner: Client) -> None:
        """Its token tells, on the page of its scope."""
        put_next("orders", {}, scope="west", idempotency_token="one")
        operator = Operator(owner)
        operator.click("west")
        operator.send("request/?scope=west", token="one")
        assert "This request is known It got 8 " in operator.text
        assert operator.clicks == 2


def test_the_page_of_docs_has_each_question() -> None:
    """There are ten, each with its answer."""
    rows = re.findall(r"^\d+\. .+\? .+\.$", section("docs/watching.md", "Ten questions"), re.MULTILINE)
    tests = [name for name in vars(TestQuestions) if name.startswith("test_")]
    assert len(rows) == len(tests) == 10


@pytest.mark.usefixtures("numbers")
def test_buttons_are_for_who_may() -> None:
    """Who may only look is led to the scope; what can be seen is the same."""
    changes.freeze("orders", scope="west", by="bob", reason="Count the stock.")
    operator = Operator(client_with("sequences.view_sequence"))
    buttons = re.findall(r'<a class="button" href="[^"]*/scope/([^"]*)"[^>]*>(.*?)</a>', operator.page.content.decode())
    assert buttons[0] == ("?scope=south", "Look at it")
    assert ("?scope=west", "Look at it") in buttons
    assert {label for _, label in buttons} <= {"Look at it", "Audit"}


@pytest.mark.usefixtures("numbers")
def test_frozen_ones_are_found_among_many(owner: Client) -> None:
    """What lists know to need a hand is looked at first, however little it is used."""
    for number in range(12):
        get_next_values(2, "orders", scope=f"many-{number}")
    get_next_value("orders", scope="zero")
    changes.freeze("orders", scope="zero", by="bob", reason="Count the stock.")
    assert "scope 'zero' : frozen" in Operator(owner).text
