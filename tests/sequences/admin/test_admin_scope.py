"""The administration's pages about one scope: what they show, what they cost, what they change, and for whom."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Iterator
from html import unescape
from itertools import cycle
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from sequences import changes, dynamodb, get_last_value, get_next_value, get_next_values, put_next, put_next_many
from sequences.admin.forms import CHANGES
from sequences.commit.retries import Deadline
from sequences.exceptions import SequenceUnavailable
from sequences.ops.audit import background
from sequences.ops.audit.results import KeptAudits
from sequences.ops.scope_report import REQUESTS_OF_A_REQUEST, REQUESTS_OF_A_SCOPE
from sequences.registry import strategies
from sequences.rows.numbers import LARGEST
from sequences.storage import personal_token
from sequences.strategies.counter_strategy import counter_of
from sequences.testing.embedded import Engine
from sequences.types import scope_text
from tests.sequences.admin.test_admin import LIST, client_with, shown
from tests.sequences.support import (
    Wire,
    delete_row,
    give_each_scope_its_place,
    import_row,
    tables_of,
    tapped,
    wait_until,
)

PATH = "sequences.strategies"
SEQUENCES: dict[str, dict[str, Any]] = {
    "sorted": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum"},
    "atomic": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "FORMAT": "ORD-{scope}-{value}"},
    "plain": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "START": 10**37, "TABLE": "plain_items"},
    "yearly": {
        "STRATEGY": f"{PATH}.transactional.TransactionalCounter",
        "PERIOD": "year",
        "FORMAT": "INV-{period}-{value}",
    },
    "block": {"STRATEGY": f"{PATH}.block.BlockAllocator", "OPTIONS": {"block_size": 10, "watch_seconds": 3600}},
    "named": {
        "STRATEGY": f"{PATH}.atomic.AtomicCounter",
        "TABLE": "named_items",
        "OPTIONS": {"value_in": "partition_key", "partition": "n-{scope}-{value}", "key_names": ["id"]},
    },
    "own": {
        "STRATEGY": f"{PATH}.atomic.AtomicCounter",
        "TABLE": "own_items",
        "OPTIONS": {"value_in": "attribute", "key_names": ["id"]},
    },
}
SEQUENCES["texts"] = {**SEQUENCES["sorted"], "FORMAT": "T-{scope}-{value}", "OPTIONS": {"text_name": "text"}}
SEQUENCES["bare"] = {**SEQUENCES["sorted"], "TABLE": "bare_items", "OPTIONS": {"partition": "{scope}"}}
ODD = "a&b=c/../?#é <b>\"'+%2F"
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def _sequences(engine: Engine) -> Iterator[None]:
    """Tables that the tests of this module share; each has scopes of its own."""
    with tables_of(SEQUENCES, engine.endpoint):
        yield


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No audit meets that of another scope by chance."""
    give_each_scope_its_place(monkeypatch)


@pytest.fixture
def wire() -> Iterator[Wire]:
    """The requests of this process during the test."""
    with tapped() as wire:
        yield wire


@pytest.fixture
def staff() -> Client:
    """Somebody of the staff who may see the sequences."""
    return client_with("sequences.view_sequence")


@pytest.fixture
def owner() -> Client:
    """Somebody who may change the sequences, too."""
    return client_with("sequences.view_sequence", "sequences.change_sequence")


def address(alias: str, page: str = "", **query: str) -> str:
    """The address of a page about a scope."""
    return f"{LIST}{alias}/scope/{page}?{urlencode(query)}"


def exported(client: Client, scope: str) -> Iterator[bytes]:
    """The parts of the file of a scope."""
    answer: Any = client.get(address("sorted", "export/", scope=scope))
    return iter(answer.streaming_content)


def rows(page: Any, caption: str) -> list[list[str]]:
    """The cells of the table with this caption, as a person reads them."""
    found = re.search(rf"<caption>{caption}.*?</table>", page.content.decode(), re.DOTALL)
    assert found is not None
    cells = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL) for row in re.split("<tr.*?>", found[0])[1:]]
    return [[" ".join(unescape(re.sub(r"<.*?>", " ", cell)).split()) for cell in row] for row in cells]


class TestScope:
    def test_the_last_numbers(self, staff: Client, scope: str) -> None:
        """Each number is shown with its text and the key of its item, the highest first."""
        put_next_many("sorted", [{}] * 3, scope=scope)
        page = staff.get(address("sorted", scope=scope))
        assert rows(page, "Last numbers")[1:] == [
            [str(value), str(value), "Item", f"sorted#{scope} / {value}"] for value in (3, 2, 1)
        ]
        assert re.search(r"Last value 3 .*Next numbers 4, 5, 6 ", shown(page))
        assert get_last_value("sorted", scope=scope) == 3

    def test_the_text_that_an_item_was_stored_with(self, staff: Client, scope: str) -> None:
        """It is shown as it is stored, though the numbers have another text by now."""
        put_next("texts", {}, scope=scope)
        key = strategies["texts"].schema.key(strategies["texts"].layout.partition(scope), 1)
        text = {"UpdateExpression": "SET #text = :text", "ExpressionAttributeNames": {"#text": "text"}}
        values = {"ExpressionAttributeValues": {":text": {"S": "OLD-1"}}}
        table = strategies["texts"].schema.table
        dynamodb.call("update_item", {"TableName": table, "Key": key, **text, **values})
        assert [row[1] for row in rows(staff.get(address("texts", scope=scope)), "Last numbers")[1:]] == ["OLD-1"]

    @pytest.mark.parametrize("name", ["sorted", "named"])
    def test_no_more_than_a_hundred(self, staff: Client, scope: str, name: str) -> None:
        """Of a long scope the last hundred are shown, and nothing before them is called a gap."""
        put_next_many(name, [{}] * 120, scope=scope)
        found = rows(staff.get(address(name, scope=scope)), "Last numbers")[1:]
        assert [int(row[0]) for row in found] == list(range(120, 20, -1))

    def test_gaps_and_voids_have_their_reason(self, staff: Client, scope: str) -> None:
        """A gap that a change explains is told with it, one that nothing explains asks for an audit."""
        put_next_many("sorted", [{}] * 6, scope=scope)
        changes.void("sorted", 2, scope=scope, by="ada", reason="entered twice")
        delete_row("sorted", scope, 4)
        changes.advance("sorted", to=20, scope=scope, by="bob", reason="a round number")
        found = {row[0]: row[2] for row in rows(staff.get(address("sorted", scope=scope)), "Last numbers")[1:]}
        assert re.fullmatch(r"Void By ada, .*: entered twice", found["2"])
        assert found["4"] == "No item No change explains it: run an audit."
        assert re.fullmatch(r"No item Skipped by bob, .*: a round number", found["8 to 19 12 numbers"])
        assert found["6"] == "Item"

    def test_values_without_items_are_by_design(self, staff: Client, scope: str) -> None:
        """A strategy that hands out values first says that unused values are no fault."""
        get_next_values(3, "atomic", scope=scope)
        put_next("atomic", {}, scope=scope)
        found = rows(staff.get(address("atomic", scope=scope)), "Last numbers")[1:]
        assert found[0] == ["4", f"ORD-{scope}-4", "Item", f"atomic#{scope} / 4"]
        assert found[1][0] == "1 to 3 3 numbers"
        assert found[1][2].startswith("No item By design: a value is taken before its item is stored")

    def test_items_under_keys_of_their_values(self, staff: Client, scope: str) -> None:
        """Items that are no collection are read by their keys, which follow from the values."""
        put_next_many("named", [{}] * 2, scope=scope)
        get_next_value("named", scope=scope)
        found = rows(staff.get(address("named", scope=scope)), "Last numbers")[1:]
        assert [(row[0], row[3]) for row in found] == [("3", "-"), ("2", f"n-{scope}-2"), ("1", f"n-{scope}-1")]

    def test_items_with_keys_of_their_own(self, staff: Client, scope: str) -> None:
        """Where only the application knows the keys the page says so, and offers neither audit nor export."""
        put_next("own", {"id": scope}, scope=scope)
        page = staff.get(address("own", scope=scope))
        assert "have keys of their own: which item has which number" in shown(page)
        assert "Export" not in shown(page)

    def test_blocks(self, staff: Client, scope: str) -> None:
        """What this process holds is told, and what the last value means then."""
        get_next_value("block", scope=scope)
        text = shown(staff.get(address("block", scope=scope)))
        assert "This process holds 9 values of its blocks. Values up to 10 are reserved" in text
        assert "Another process gets these." in text

    def test_frozen(self, staff: Client, scope: str) -> None:
        """A frozen scope says by whom and why."""
        get_next_value("atomic", scope=scope)
        changes.freeze("atomic", scope=scope, by="ada", reason="the books are closed")
        text = shown(staff.get(address("atomic", scope=scope)))
        assert re.search(r"Frozen Yes , by ada since .*: the books are closed", text)

    def test_periods(self, staff: Client) -> None:
        """Each period has its own page; without one it is that of today."""
        put_next("yearly", {}, date=datetime.date(2019, 5, 5))
        assert rows(staff.get(address("yearly", period="2019")), "Last numbers")[1][1] == "INV-2019-1"
        text = shown(staff.get(address("yearly", period="2018")))
        assert "No number was handed out yet." in text
        assert "Next numbers INV-2018-1, INV-2018-2, INV-2018-3" in text
        assert f"without scope {datetime.datetime.now(datetime.UTC).year}" in shown(staff.get(address("yearly")))

    def test_the_history_and_the_settings(self, staff: Client, scope: str) -> None:
        """Changes of this scope alone are listed; settings say whether they are defaults."""
        changes.advance("atomic", to=7, scope=scope, by="ada", reason="only here")
        changes.advance("atomic", to=8, scope=f"{scope}-2", by="ada", reason="only there")
        page = staff.get(address("atomic", scope=scope))
        (change,) = rows(page, "History of this scope")[1:]
        assert change[1:] == ["advance", "-", "7", "ada", "only here"]
        settings = dict(rows(page, "Settings in force"))
        assert settings["FORMAT"] == "ORD-{scope}-{value}"
        assert settings["STEP"] == "1 (default)"
        assert settings["deadline"] == "10.0 (default)"

    @pytest.mark.parametrize("alias", SEQUENCES)
    def test_what_it_costs(self, staff: Client, scope: str, alias: str, wire: Wire) -> None:
        """The page says how many requests it took, and never takes more than it says."""
        for n in range(3):
            put_next(
                alias, {"id": f"{scope}-{n}"} if alias == "own" else {}, scope=None if alias == "yearly" else scope
            )
        wire.clear()
        text = shown(staff.get(address(alias, **({} if alias == "yearly" else {"scope": scope}))))
        told = re.search(
            r"This page took (\d+) requests to DynamoDB. It takes at most (\d+), as it repeats up to 4", text
        )
        assert told is not None
        assert int(told[1]) == len(wire.sent) <= REQUESTS_OF_A_SCOPE == int(told[2]) - 4
        assert not set(wire.operations) - {"GetItem", "Query", "BatchGetItem"}

    @pytest.mark.parametrize("odd", [ODD, "z" * 255, "漢字 🙂"])
    def test_any_scope(self, owner: Client, odd: str) -> None:
        """The list of counters leads to scopes of any characters, and their pages to each other."""
        get_next_value("plain", scope=odd)
        found = re.findall(r'href="([^"]*/plain/scope/\?[^"]+)"', owner.get(f"{LIST}plain/").content.decode())
        page = next(page for page in map(owner.get, map(unescape, found)) if odd in shown(page))
        assert str(10**37) in shown(page)
        links = map(unescape, re.findall(r'href="([^"]*/plain/scope/[^"]*)"', page.content.decode()))
        for link in (link for link in links if "/export/" not in link):
            assert odd in shown(owner.get(link))

    @pytest.mark.parametrize(
        ("alias", "query", "status", "said"),
        [
            ("sorted", {"scope": "#x"}, 400, "reserved"),
            ("sorted", {"scope": "x" * 256}, 400, "at most 255 characters"),
            ("sorted", {"scope": "a\nb"}, 400, "control characters"),
            ("yearly", {"period": "26"}, 400, "The period is '26'"),
            ("yearly", {"scope": "A"}, 400, "has no {scope}"),
            ("atomic", {}, 400, "has {scope}: give a text"),
        ],
    )
    def test_what_is_no_scope(self, owner: Client, alias: str, query: dict[str, str], status: int, said: str) -> None:
        """What cannot be a scope or a period gets a page that says why."""
        answer = owner.get(address(alias, **query))
        assert answer.status_code == status
        assert said in shown(answer)

    def test_every_page_wants_a_scope(self, owner: Client) -> None:
        """The other pages say so, too."""
        for page in ("request/", "audit/", "export/", "freeze/"):
            answer = owner.get(address("yearly", page, scope="A"))
            assert answer.status_code == 400
            assert "has no {scope}" in shown(answer)

    def test_an_unknown_sequence(self, owner: Client, settings: Settings) -> None:
        """There are no such pages of what is not in the settings, or is wrong there."""
        for page in ("", "request/", "audit/", "export/", "freeze/", "nothing/"):
            assert owner.get(address("nothing", page)).status_code == 404
        assert owner.get(address("sorted", "nothing/")).status_code == 404

    def test_a_scope_that_must_exist(self, staff: Client, settings: Settings) -> None:
        """A scope without a row is not found where it must have one."""
        settings.SEQUENCES = {**SEQUENCES, "sorted": {**SEQUENCES["sorted"], "OPTIONS": {"scope_must_exist": True}}}
        page = staff.get(address("sorted", scope="nowhere"))
        assert page.status_code == 404
        assert "'nowhere' does not exist" in shown(page)

    def test_a_counter_that_went_back(self, staff: Client, scope: str) -> None:
        """A counter that was set back is shown with the remedy."""
        get_next_values(5, "plain", scope=scope)
        update = {"UpdateExpression": "SET last_value = :v", "ExpressionAttributeValues": {":v": {"N": str(10**37)}}}
        counter = counter_of(strategies["plain"])
        dynamodb.call("update_item", {"TableName": counter.table, "Key": counter.key(scope), **update})
        page = staff.get(address("plain", scope=scope))
        assert page.status_code == 200
        assert f"manage.py sequences recover plain --scope {scope}" in shown(page)


class TestRequest:
    def test_what_became_of_it(self, staff: Client, scope: str, wire: Wire) -> None:
        """A token that is known tells its number, when, the item and until when a repeat gets the same."""
        put_next("atomic", {"secret": "private"}, scope=scope, idempotency_token="t-1")
        wire.clear()
        page = staff.post(address("atomic", "request/", scope=scope), {"token": "t-1", "person": ""})
        found = dict(rows(page, "This request is known"))
        assert found["It got"] == f"ORD-{scope}-1"
        assert found["Item"] == f"Its item is stored. Its key: atomic#{scope} / 1"
        assert found["A repeat gets the same"].startswith("until ")
        assert "private" not in page.content.decode()
        assert len(wire.sent) == REQUESTS_OF_A_REQUEST
        assert "This page took 2 requests to DynamoDB. It takes at most 6, as it repeats up to 4" in shown(page)

    def test_of_a_person(self, staff: Client, scope: str) -> None:
        """A token that is a digest is found by the person and what they sent."""
        put_next("sorted", {}, scope=scope, idempotency_token=personal_token("ada", "mine"))
        where = address("sorted", "request/", scope=scope)
        assert "This request is known" in shown(staff.post(where, {"token": "mine", "person": "ada"}))
        for other in ({"token": "mine"}, {"token": "mine", "person": "bob"}):
            assert "Nothing is known of this request" in shown(staff.post(where, other))

    def test_values_without_items(self, staff: Client, scope: str) -> None:
        """A request for values tells all of them."""
        get_next_values(3, "plain", scope=scope, idempotency_token="t-3")
        found = dict(rows(staff.post(address("plain", "request/", scope=scope), {"token": "t-3"}), "This request"))
        assert found["It got"] == f"{10**37} to {10**37 + 2} (3 values)"
        assert found["Item"] == "It took values without items."

    def test_in_another_period(self, staff: Client) -> None:
        """A repeat gets the first answer in any period; so a request is found in any."""
        put_next("yearly", {}, date=datetime.date(2017, 5, 5), idempotency_token="t-17")
        found = dict(rows(staff.post(address("yearly", "request/", period="2016"), {"token": "t-17"}), "This request"))
        assert (found["It got"], found["Period"]) == ("INV-2017-1", "2017")

    def test_an_item_that_is_gone_or_void(self, staff: Client, scope: str) -> None:
        """The page tells what is under the number now."""
        for token in ("t-1", "t-2", "t-3"):
            put_next("sorted", {}, scope=scope, idempotency_token=token)
        changes.void("sorted", 1, scope=scope, by="ada", reason="a test")
        delete_row("sorted", scope, 2)
        import_row("sorted", scope, 3)
        where = address("sorted", "request/", scope=scope)
        assert "Its item is stored, and void." in shown(staff.post(where, {"token": "t-1"}))
        assert "Its item is not there any more" in shown(staff.post(where, {"token": "t-2"}))
        assert "belongs to another request" in shown(staff.post(where, {"token": "t-3"}))

    def test_an_expired_marker(self, staff: Client, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A marker that DynamoDB has not deleted yet counts no more."""
        put_next("sorted", {}, scope=scope, idempotency_token="t-1")
        later = strategies["sorted"].wall() + 8 * 86_400
        monkeypatch.setattr(strategies["sorted"], "wall", lambda: later)
        page = staff.post(address("sorted", "request/", scope=scope), {"token": "t-1"})
        assert "No more: that ended" in shown(page)

    @pytest.mark.parametrize("token", ["", "x" * 256, "a\x7fb"])
    def test_what_is_no_token(self, staff: Client, token: str) -> None:
        """What cannot be a token is an error of the field."""
        page = staff.post(address("sorted", "request/"), {"token": token})
        assert page.status_code == 400
        assert 'class="errorlist"' in page.content.decode()


class TestChanges:
    """Guarded changes: shown first, then made as they were shown."""

    def ask(self, client: Client, kind: str, alias: str, scope: str, **given: str) -> tuple[Any, dict[str, str]]:
        """The page that shows what a change would do, and its form for confirming that."""
        page = client.post(address(alias, f"{kind}/", scope=scope), {"reason": "a new year", **given})
        inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.content.decode())
        return page, {**{name: unescape(value) for name, value in inputs}, "confirmed": "Yes"}

    def test_it_asks_shows_and_does(self, owner: Client, scope: str) -> None:
        """A change is shown with before and after, made when that is confirmed, and told in the history."""
        get_next_value("atomic", scope=scope)
        page, form = self.ask(owner, "advance", "atomic", scope, number="5000")
        found = dict(rows(page, "What this would do"))
        assert (found["Last value before"], found["Last value after"], found["Why"]) == ("1", "5000", "a new year")
        assert get_last_value("atomic", scope=scope) == 1
        made = owner.post(address("atomic", "advance/", scope=scope), form)
        assert made["Location"] == address("atomic", scope=scope)
        assert get_next_value("atomic", scope=scope) == 5001
        (line,) = changes.history("atomic", scope=scope)[0]
        assert (line.kind, line.before, line.after, line.by, line.reason) == ("advance", 1, 5000, "ada", "a new year")

    @pytest.mark.parametrize("kind", ["advance", "seed", "recover"])
    def test_what_moved_is_shown_again(self, owner: Client, scope: str, kind: str) -> None:
        """If the counter moved after it was shown, nothing is done, and the new state is shown."""
        get_next_value("atomic", scope=scope)
        _, form = self.ask(owner, kind, "atomic", scope, number="50")
        get_next_value("atomic", scope=scope)
        page = owner.post(address("atomic", f"{kind}/", scope=scope), form)
        assert "Nothing was done: the scope is not as it was shown any more." in shown(page)
        assert dict(rows(page, "What this would do"))["Last value before"] == "2"
        assert changes.history("atomic", scope=scope)[0] == []
        inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.content.decode())
        again = {**{name: unescape(value) for name, value in inputs}, "confirmed": "Yes"}
        assert owner.post(address("atomic", f"{kind}/", scope=scope), again).status_code == 302
        assert owner.post(address("atomic", f"{kind}/", scope=scope), again).status_code == 200
        assert len(changes.history("atomic", scope=scope)[0]) == 1

    def test_a_busy_scope_can_be_frozen(self, owner: Client, scope: str) -> None:
        """To freeze does not depend on the last value that was shown."""
        get_next_value("atomic", scope=scope)
        _, form = self.ask(owner, "freeze", "atomic", scope)
        get_next_value("atomic", scope=scope)
        assert owner.post(address("atomic", "freeze/", scope=scope), form).status_code == 302

    @pytest.mark.usefixtures("steady_date")
    @pytest.mark.parametrize(("kind", "alias"), [*zip(CHANGES, cycle(["sorted", "atomic", "block"]))])
    def test_each_change(self, owner: Client, scope: str, kind: str, alias: str) -> None:
        """Each change is made by its page. What it does to each kind of sequence is the test of the changes."""
        put_next(alias, {}, scope=scope)
        if kind == "thaw":
            changes.freeze(alias, scope=scope, by="ana", reason="a test")
        last = get_last_value(alias, scope=scope) or 0
        _, form = self.ask(owner, kind, alias, scope, number="1" if kind == "void" else "70")
        assert owner.post(address(alias, f"{kind}/", scope=scope), form).status_code == 302
        (line, *_) = changes.history(alias, scope=scope)[0]
        assert (line.kind, line.by, line.reason) == (kind, "ada", "a new year")
        moved = {"advance": 70, "seed": 70, "recover": last + 70, "freeze": last + (alias == "sorted")}
        assert get_last_value(alias, scope=scope) == moved.get(kind, last)

    @pytest.mark.parametrize(
        ("kind", "given", "said"),
        [
            ("advance", {"number": "1"}, "give 2 or more"),
            ("advance", {"number": ""}, "This field is required."),
            ("advance", {"number": "1.5"}, "Enter a whole number."),
            ("advance", {"number": "9" * 5000}, "whole number"),
            ("advance", {"number": str(LARGEST + 1)}, "less than or equal to"),
            ("void", {"number": "99"}, "its last value, which is 1"),
            ("thaw", {}, "is not frozen"),
            ("freeze", {"reason": ""}, "This field is required."),
            ("freeze", {"reason": "a\u200bb"}, "printable"),
        ],
    )
    def test_what_is_refused(self, owner: Client, scope: str, kind: str, given: dict[str, str], said: str) -> None:
        """What a change refuses is an error of the form, shown or confirmed, and nothing is changed."""
        get_next_value("atomic", scope=scope)
        confirmed = {"confirmed": "yes", "shown": "advance 1 1 1"}
        for more in ({}, confirmed) if kind == "void" else (confirmed,):
            page, _ = self.ask(owner, kind, "atomic", scope, **given, **more)
            assert page.status_code == 200
            assert said in shown(page)
        assert changes.history("atomic", scope=scope)[0] == []

    def test_what_is_not_offered(self, owner: Client, scope: str) -> None:
        """A change that cannot be made now is no link, and the page says why."""
        put_next("own", {"id": scope}, scope=scope)
        found = rows(owner.get(address("own", scope=scope)), "Guarded changes")
        page = owner.get(address("own", scope=scope)).content.decode()
        told = {row[0]: row[1] for row in found}
        assert "Not now: It is not frozen." in told["Thaw"]
        assert "withdraw an item in your application" in told["Void"]
        assert "Not now" not in told["Advance"]
        assert "/scope/void/" not in page
        assert "/scope/advance/" in page

    def test_without_a_history_nothing_is_changed(self, owner: Client, scope: str, settings: Settings) -> None:
        """Where the history has no table of its own, no change is offered."""
        options = {**SEQUENCES["own"]["OPTIONS"], "history_table": "own_items"}
        settings.SEQUENCES = {**SEQUENCES, "own": {**SEQUENCES["own"], "OPTIONS": options}}
        *offered, _ = rows(owner.get(address("own", scope=scope)), "Guarded changes")
        assert all("Not now: SEQUENCES['own']['OPTIONS']['history_table'] must be another" in row[1] for row in offered)

    def test_a_change_that_dynamodb_does_not_serve(
        self, owner: Client, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If the engine is away the form says so, with 503."""
        monkeypatch.setitem(strategies["plain"].option, "deadline", 0.1)
        with away(monkeypatch):
            page, _ = self.ask(owner, "freeze", "plain", scope)
        assert page.status_code == 503
        assert "nothing was stored" in shown(page)


class away:  # noqa: N801 - used as a context manager
    """No engine is at the address while the body runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def __enter__(self) -> None:
        for strategy in strategies._made.values():
            self.monkeypatch.setitem(strategy.option, "deadline", 0.1)
        self.monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        dynamodb.reset()
        dynamodb.shared_client()  # made before the page, whose time is short

    def __exit__(self, *_: object) -> None:
        self.monkeypatch.undo()
        dynamodb.reset()


class TestPermissions:
    @pytest.mark.parametrize("kind", [*CHANGES, "audit", "export"])
    def test_each_action_has_its_own(self, scope: str, kind: str) -> None:
        """Whoever has the permission for one action may do that alone."""
        put_next("sorted", {}, scope=scope)
        client = client_with("sequences.view_sequence", f"sequences.{kind}_sequence")
        for page in {*CHANGES, "export"} & {kind, "void" if kind == "freeze" else "freeze"}:
            expected = 200 if page == kind else 403
            assert client.get(address("sorted", f"{page}/", scope=scope)).status_code == expected
            if page != "export":
                assert client.post(address("sorted", f"{page}/", scope=scope), {}).status_code == expected
        began = client.post(address("sorted", "audit/", scope=scope))
        assert began.status_code == (302 if kind == "audit" else 403)
        text = shown(client.get(address("sorted", scope=scope)))
        assert ("Guarded changes" in text) == (kind in CHANGES)
        assert ("Audit this scope" in text) == (kind == "audit")
        assert ("Export all numbers" in text) == (kind == "export")
        background.stop_audits()

    @pytest.mark.parametrize("page", ["", "request/", "audit/", "freeze/", "export/"])
    def test_without_the_permission_to_see(self, page: str) -> None:
        """Others of the staff are refused; who is not staff, or not signed in, is led to the sign-in."""
        assert (
            client_with("auth.view_user", "sequences.freeze_sequence").get(address("sorted", page)).status_code == 403
        )
        User.objects.all().delete()
        for client in (Client(), client_with(is_staff=False)):
            assert "login" in client.get(address("sorted", page))["Location"]

    @pytest.mark.parametrize("page", ["freeze/", "audit/", "request/"])
    def test_a_post_needs_the_token_of_its_form(self, owner: Client, scope: str, page: str) -> None:
        """Another site cannot have somebody's browser do it."""
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(User.objects.get(username="ada"))
        given = {"reason": "x", "confirmed": "yes", "shown": "freeze None"}
        assert strict.post(address("plain", page, scope=scope), given).status_code == 403
        assert changes.history("plain", scope=scope)[0] == []
        assert KeptAudits(strategies["plain"]).look(scope) == (None, None)

    def test_get_changes_nothing(self, owner: Client, scope: str, wire: Wire) -> None:
        """Only a POST writes."""
        put_next("sorted", {}, scope=scope)
        wire.clear()
        given = {"reason": "x", "number": "9", "confirmed": "yes", "shown": "freeze None", "token": "t"}
        for page in ("", "request/", "audit/", "export/", *(f"{kind}/" for kind in CHANGES)):
            answer = owner.get(address("sorted", page, scope=scope, **given))
            assert answer.status_code == 200
            b"".join(getattr(answer, "streaming_content", ()))
        assert not set(wire.operations) - {"GetItem", "Query"}

    @pytest.mark.parametrize("page", ["", "export/"])
    def test_what_only_reads_takes_no_post(self, owner: Client, page: str) -> None:
        """A POST is refused with 405."""
        assert owner.post(address("sorted", page)).status_code == 405


class TestAudit:
    def test_it_runs_in_the_background(self, owner: Client, scope: str) -> None:
        """A POST begins an audit; its page shows the result, and the page of the scope the verdict."""
        put_next_many("sorted", [{}] * 5, scope=scope)
        delete_row("sorted", scope, 3)
        where = address("sorted", "audit/", scope=scope)
        assert "No audit of this scope is kept." in shown(owner.get(where))
        assert owner.post(where)["Location"] == where
        wait_until(lambda: KeptAudits(strategies["sorted"]).look(scope)[1])
        page = owner.get(where)
        found = dict(rows(page, "The last result"))
        assert found["Verdict"] == "1 finding is unexplained"
        assert (found["Numbers with an item or a row"], found["Missing numbers"]) == ("4", "1 in 1 gap")
        assert found["First findings"] == "gap: 3"
        assert "data-renew" not in page.content.decode()
        assert "1 finding is unexplained" in shown(owner.get(address("sorted", scope=scope)))
        latest = rows(owner.get(f"{LIST}sorted/"), "Latest audits")[1]
        assert latest[1:] == [scope, "1 finding is unexplained", "4", "1", "ada"]

    def test_while_it_runs(self, owner: Client, scope: str) -> None:
        """The page refreshes by itself until it is told not to, and another start is told of the first."""
        kept = KeptAudits(strategies["sorted"])
        run = kept.begin(scope_text(scope), "bob")
        kept.renew(run, 2000, 9000)
        where = address("sorted", "audit/", scope=scope)
        page = owner.get(where)
        assert '<noscript><meta http-equiv="refresh" content="2">' in page.content.decode()
        assert 'data-renew="2"' in page.content.decode()
        assert "Running, by bob, since" in shown(page)
        assert '<progress id="audit-progress" max="9000" value="2000">' in page.content.decode()
        assert "Begin an audit" not in shown(page)
        assert "by bob is running here since" in shown(owner.post(where, follow=True))
        kept.stop(run, "enough")
        assert "stopped at 2000 of 9000: enough. Another one may begin." in shown(owner.get(where))

    def test_what_cannot_be_audited(self, owner: Client, scope: str) -> None:
        """Where the items cannot be listed the page says so in place of a button."""
        assert "cannot list them" in shown(owner.get(address("own", "audit/", scope=scope)))
        assert owner.post(address("own", "audit/", scope=scope)).status_code == 400


class TestExport:
    def table(self, answer: Any) -> list[list[str]]:
        """The lines of the file."""
        return list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))

    def test_every_number(self, owner: Client, scope: str) -> None:
        """The file has a line for each number, with its key, and for each gap and void with its reason."""
        put_next_many("sorted", [{}] * 3, scope=scope)
        changes.void("sorted", 2, scope=scope, by="ada", reason="=1+1")
        changes.advance("sorted", to=9, scope=scope, by="bob", reason="a round number")
        answer = owner.get(address("sorted", "export/", scope=scope))
        assert answer["Content-Disposition"] == f'attachment; filename="sorted-{scope}.csv"'
        head, *lines = self.table(answer)
        assert head == [*["sequence", "period", "scope", "kind", "first", "last", "text", "by", "at", "reason", "item"]]
        assert [line[3:7] + line[10:] for line in lines[:1]] == [["stored", "1", "1", "1", f"sorted#{scope} / 1"]]
        assert (lines[1][3], lines[1][9]) == ("void", "'=1+1")
        assert [(line[3], line[4], line[5], line[7]) for line in lines[2:]] == [
            ("stored", "3", "3", ""), ("void", "4", "4", "bob"), ("gap", "5", "8", "bob"), ("void", "9", "9", "bob"),
        ]  # fmt: skip

    def test_pages_are_read_when_they_are_wanted(
        self, owner: Client, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However many numbers there are, one page of them is in memory."""
        monkeypatch.setattr("sequences.ops.audit.check.ROWS_A_PAGE", 10)
        put_next_many("sorted", [{}] * 50, scope=scope)
        wire.clear()
        parts = exported(owner, scope)
        assert len(wire.sent) == 2
        next(parts)
        assert next(parts).count(b"\r\n") == 10
        next(parts)
        assert len(wire.sent) == 3

    def test_an_end_that_is_missing(self, owner: Client, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the engine goes away the last line says that the file is incomplete, and the download fails."""
        monkeypatch.setattr("sequences.ops.audit.check.ROWS_A_PAGE", 10)
        put_next_many("sorted", [{}] * 50, scope=scope)
        parts = exported(owner, scope)
        read = [next(parts), next(parts)]
        monkeypatch.setitem(Deadline.__init__.__kwdefaults__ or {}, "seconds", 0.1)
        with away(monkeypatch):
            read.append(next(parts))
            with pytest.raises(SequenceUnavailable):
                next(parts)
        assert read[-1].startswith(b'"INCOMPLETE: DynamoDB did not answer.')

    def test_a_scope_that_is_a_formula(self, owner: Client) -> None:
        """No cell is a formula."""
        put_next("bare", {}, scope="=cmd()")
        lines = self.table(owner.get(address("bare", "export/", scope="=cmd()")))
        assert (lines[1][2], lines[1][10]) == ("'=cmd()", "'=cmd() / 1")

    def test_what_cannot_be_listed(self, owner: Client, scope: str) -> None:
        """The page says why there is no file."""
        page = owner.get(address("own", "export/", scope=scope))
        assert page.status_code == 400
        assert "cannot list them" in shown(page)


class TestTrouble:
    @pytest.mark.parametrize("page", ["", "request/", "audit/", "export/"])
    def test_an_engine_out_of_reach(
        self, owner: Client, page: str, scope: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If DynamoDB does not answer, each page says so with 503."""
        send = owner.post if page == "request/" else owner.get
        monkeypatch.setitem(Deadline.__init__.__kwdefaults__ or {}, "seconds", 0.1)
        with away(monkeypatch):
            answer = send(address("sorted", page, scope=scope), {"token": "t"} if page == "request/" else {})
        assert answer.status_code == 503
        assert "DynamoDB did not serve this." in shown(answer)
        assert "Is an engine running at AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:9?" in shown(answer)

    def test_missing_tables(self, owner: Client, scope: str, settings: Settings) -> None:
        """If the tables are missing, the page names the command that makes them."""
        settings.TABLE_PREFIX = "missing_"
        for page in ("", "audit/", "export/"):
            answer = owner.get(address("sorted", page, scope=scope))
            assert answer.status_code == 503
            assert "create_tables" in shown(answer)
