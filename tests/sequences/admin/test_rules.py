"""Rules of single scopes in the administration, and by the command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from html import unescape
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from sequences import put_next, series
from sequences.changes import history
from sequences.commit.retries import Deadline
from sequences.exceptions import SequenceExhausted, SequenceUnavailable
from sequences.ops.doctor import Verdict, diagnose
from sequences.registry import strategies
from sequences.series import Line
from sequences.testing.embedded import Engine
from tests.sequences.admin.test_admin import LIST, client_with
from tests.sequences.support import tables_of, tapped, written

SEQUENCES: dict[str, dict[str, Any]] = {
    "invoices": {
        "STRATEGY": "sequences.strategies.TransactionalCounter",
        "PERIOD": "year",
        "FORMAT": "INV-{scope}-{period}-{value}",
        "SERIES": "sequences",
    },
    "yearly": {
        "STRATEGY": "sequences.strategies.TransactionalCounter",
        "PERIOD": "year",
        "FORMAT": "YEARLY-{scope}-{period}-{value}",
        "SERIES": "sequences",
        "TABLE": "yearly_items",
    },
    "single": {
        "STRATEGY": "sequences.strategies.TransactionalCounter",
        "FORMAT": "S-{value}",
        "SERIES": "sequences",
        "TABLE": "single_items",
    },
    "plain": {"STRATEGY": "sequences.strategies.TransactionalCounter", "TABLE": "plain_items"},
}
RULES = f"{LIST}invoices/rules/"
WHO: dict[str, Any] = {"by": "ana", "reason": "a test"}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("configured")]


@pytest.fixture(scope="module")
def configured(engine: Engine) -> Iterator[str]:
    """The sequences of this file."""
    with tables_of(SEQUENCES, engine.endpoint) as prefix:
        yield prefix


@pytest.fixture
def client() -> Client:
    """Somebody who may see sequences and change their rules, and nothing else."""
    return client_with("sequences.view_sequence", "sequences.series_sequence")


def page_of(scope: str) -> str:
    """The page of the rules of a scope."""
    return f"{LIST}invoices/scope/rules/?scope={scope}"


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of a page."""
    found = re.findall(r'<input type="hidden" name="(\w+)"(?: value="(.*?)")?', page)
    return {name: unescape(value) for name, value in found if name != "csrfmiddlewaretoken"}


class TestPages:
    def test_a_scope_that_the_settings_do_not_take(self, client: Client, scope: str) -> None:
        """It gets its first line here, too."""
        page = f"{LIST}single/scope/rules/?scope={scope}"
        typed = {"format": f"{scope}/{{value}}", "reason": "a test"}
        asked = client.post(page, typed).content.decode()
        assert client.post(page, {**hidden(asked), "confirmed": "Yes"}).status_code == 302
        assert put_next("single", {}, scope=scope).text == f"{scope}/1"

    def test_a_line_with_a_strategy(self, client: Client, scope: str) -> None:
        """It keeps its strategy, and a line after it has the same."""
        form, strategy = f"{scope}/{{period}}/{{value}}", "sequences.strategies.OptimisticCounter"
        series.create("invoices", scope, Line(format=form, strategy=strategy), **WHO)
        put_next("invoices", {}, scope=scope)
        for more, typed in (("&line=1", {"maximum": "50"}), ("", {"start": "51"})):
            page = f"{page_of(scope)}{more}"
            asked = client.post(page, {"format": form, "reason": "a test", **typed}).content.decode()
            assert client.post(page, {**hidden(asked), "confirmed": "Yes"}).status_code == 302
        assert [one.strategy for one in series.lines_of("invoices", scope).lines] == [strategy] * 2

    def test_a_line_is_shown_before_it_is_made(self, client: Client, scope: str) -> None:
        """The form shows the next numbers; what is confirmed is made, and stands in the history with who and why."""
        given = {"format": f"{scope}/{{value:04d}}", "start": "50", "period": "never", "reason": "a new branch"}
        asked = client.post(page_of(scope), given).content.decode()
        assert f"{scope}/0050, {scope}/0051, {scope}/0052" in asked
        assert series.lines_of("invoices", scope).lines == ()
        answer = client.post(page_of(scope), {**hidden(asked), "confirmed": "Yes"})
        assert answer.status_code == 302
        assert series.lines_of("invoices", scope).lines == (Line(format=given["format"], start=50, period="never"),)
        (change,) = (one for one in history("invoices")[0] if one.scope == scope)
        assert (change.kind, change.reason) == ("series", "a new branch")
        assert put_next("invoices", {}, scope=scope).text == f"{scope}/0050"
        shown = client.get(RULES).content.decode()
        assert f"{scope}/{{value:04d}}" in shown

    def test_what_was_shown_is_made_or_nothing(self, client: Client, scope: str) -> None:
        """Where the next numbers are others by then, nothing is made, and the form shows them anew."""
        given = {"format": f"{scope}/{{value}}", "period": "never", "reason": "a test"}
        asked = client.post(page_of(scope), given).content.decode()
        series.create("invoices", scope, Line(format=f"{scope}x{{value}}", period="never"), **WHO)
        put_next("invoices", {}, scope=scope)
        answer = client.post(page_of(scope), {**hidden(asked), "confirmed": "Yes"}).content.decode()
        assert "not as they were shown" in answer
        assert len(series.lines_of("invoices", scope)) == 1

    def test_a_line_is_changed(self, client: Client, scope: str) -> None:
        """The form begins with what the line says."""
        series.create("invoices", scope, Line(format=f"{scope}-{{period}}-{{value}}", code="AT"), **WHO)
        page = f"{page_of(scope)}&line=1"
        assert f'value="{scope}-{{period}}-{{value}}"' in client.get(page).content.decode()
        given = {"format": f"{scope}/{{period}}/{{value}}", "code": "AT", "reason": "a test"}
        asked = client.post(page, given).content.decode()
        assert client.post(page, {**hidden(asked), "confirmed": "Yes"}).status_code == 302
        (line,) = series.lines_of("invoices", scope).lines
        assert (line.format, line.former, line.code) == (given["format"], (f"{scope}-{{period}}-{{value}}",), "AT")

    @pytest.mark.parametrize("number", ["0", "2", "x", "1" * 4301])
    def test_a_line_that_is_not_there(self, client: Client, scope: str, number: str) -> None:
        """The page is the one for a new line."""
        series.create("invoices", scope, Line(format=f"{scope}-{{period}}-{{value}}"), **WHO)
        answer = client.get(f"{page_of(scope)}&line={number}")
        assert answer.status_code == 200
        assert f'value="{scope}-{{period}}-{{value}}"' not in answer.content.decode()

    def test_a_wrong_line(self, client: Client, scope: str) -> None:
        """What is wrong stands in the form, which keeps what was typed."""
        page = client.post(page_of(scope), {"format": "no number", "reason": "a test"}).content.decode()
        assert "it must have {value}" in unescape(page)
        assert 'value="no number"' in page

    def test_pages_of_scopes(self, client: Client) -> None:
        """A long list has pages, and a cursor of one's own making is refused."""
        for number in range(51):
            name = f"pages-{number:02d}"
            series.create("invoices", name, Line(format=f"{name}/{{period}}/{{value}}"), **WHO)
        first = client.get(RULES).content.decode()
        (following,) = re.findall(r'href="(\?cursor=[^"]*)"', first)
        second = client.get(RULES + unescape(following)).content.decode()
        on_each = [set(re.findall(r"pages-\d\d/", page)) for page in (first, second)]
        assert on_each[0].isdisjoint(on_each[1])
        assert all(on_each)
        assert len(on_each[0] | on_each[1]) == 51
        assert client.get(f"{RULES}?cursor=mine").status_code == 400

    def test_who_may(self, scope: str) -> None:
        """Who may only see sequences sees the list, and no form."""
        viewer = client_with("sequences.view_sequence")
        assert viewer.get(RULES).status_code == 200
        assert viewer.get(page_of(scope)).status_code == 403
        assert viewer.post(page_of(scope), {"format": "X{value}", "reason": "a test"}).status_code == 403

    def test_where_there_are_none(self, client: Client, scope: str) -> None:
        """A sequence without SERIES has no such page."""
        assert client.get(f"{LIST}plain/rules/").status_code == 404
        assert client.get(f"{LIST}nothing/rules/").status_code == 404

    def test_the_engine_is_away(self, client: Client, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Pages say so with 503, and show no error of their own."""

        def fails(*_: object, **__: object) -> None:
            raise SequenceUnavailable("The engine does not answer.", attempts=1, seconds=10.0)

        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}"), **WHO)
        strategies.reset()
        monkeypatch.setattr(Deadline, "send", fails)
        for page in (RULES, page_of(scope), f"{LIST}invoices/scope/?scope={scope}"):
            answer = client.get(page)
            assert answer.status_code == 503
            assert "The engine does not answer." in answer.content.decode()


class TestCommand:
    def test_made_changed_and_listed(self, scope: str) -> None:
        """It makes the first line, adds others, changes one, and lists them."""
        rules = ["--number-format", f"{scope}/{{period}}/{{value}}", "--maximum", "9", "--warn-on", "2030-01-01"]
        made = written("sequences", "series", "invoices", "--scope", scope, *rules, "--reason", "a test")
        assert f"{scope}/" in made.rpartition("next: ")[2]
        more = ["--number-format", f"{scope}_{{period}}_{{value}}", "--start", "10", "--reason", "more"]
        call_command("sequences", "series", "invoices", "--scope", scope, *more)
        again = [
            "--line",
            "2",
            "--number-format",
            f"{scope}.{{period}}.{{value}}",
            "--start",
            "10",
            "--reason",
            "again",
        ]
        assert written("sequences", "series", "invoices", "--scope", scope, *again, "--dry-run").startswith(
            "would be: "
        )
        assert len(series.lines_of("invoices", scope)) == 2
        call_command("sequences", "series", "invoices", "--scope", scope, *again)
        one, two = json.loads(written("sequences", "series", "invoices", "--scope", scope, "--format", "json"))
        assert (one["line"], one["maximum"], one["warn_on"]) == (1, 9, "2030-01-01")
        assert two["number_format"] == f"{scope}.{{period}}.{{value}}"
        every = json.loads(written("sequences", "series", "invoices", "--format", "json"))
        assert one in every

    def test_what_is_not_said_stays(self, scope: str) -> None:
        """A change of a line keeps its other rules, also its start; an empty text is what the settings say."""
        line = Line(format=f"{scope}/{{period}}/{{value}}", start=5000, maximum=5999, code="ATCUD-1", warn_at=5900)
        series.create("invoices", scope, line, **WHO)
        put_next("invoices", {}, scope=scope)
        chosen = ["sequences", "series", "invoices", "--scope", scope, "--line", "1", "--reason", "a test"]
        call_command(*chosen, "--maximum", "6999")
        assert series.lines_of("invoices", scope).lines == (replace(line, maximum=6999),)
        call_command(*chosen, "--warn-at", "", "--code", "", "--valid-to", "")
        assert series.lines_of("invoices", scope).lines == (replace(line, maximum=6999, warn_at=None, code=""),)

    def test_a_line_with_a_name(self, scope: str) -> None:
        """Both are made; a name alone changes no line."""
        rules = ["--number-format", f"{scope}/{{period}}/{{value}}", "--name", "Ada", "--reason", "a test"]
        call_command("sequences", "series", "invoices", "--scope", scope, *rules)
        call_command("sequences", "series", "invoices", "--scope", scope, "--name", "Ada & Co", "--reason", "a test")
        found = series.lines_of("invoices", scope)
        assert (len(found), found.name) == (1, "Ada & Co")
        with pytest.raises(CommandError, match="leave --line out"):
            call_command("sequences", "series", "invoices", "--scope", scope, "--line", "1", *rules)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--start", "5"], "needs --scope and --reason"),
            (["--scope", "any", "--start", "5"], "needs --scope and --reason"),
            (["--scope", "any", "--number-format", "x", "--reason", "a test"], "it must have {value}"),
            (["--scope", "any", "--line", "7", "--start", "5", "--reason", "a test"], "--line is 7.* 0 lines"),
            (["--scope", "any", "--line", "0", "--start", "5", "--reason", "a test"], "--line is 0.* counted from 1"),
            (["--scope", "any", "--maximum", "many", "--reason", "a test"], "--maximum: invalid int value: 'many'"),
        ],
    )
    def test_wrong_arguments(self, arguments: list[str], said: str) -> None:
        """The error says what is missing or wrong."""
        with pytest.raises(CommandError, match=said):
            call_command("sequences", "series", "invoices", *arguments)

    def test_a_name_for_people(self, scope: str) -> None:
        """A renamed tenant keeps its scope; lists and the overview show its name, for no request more."""
        put_next("invoices", {}, scope=scope)
        named = ["--name", "Ada & Sons", "--reason", "renamed"]
        assert written("sequences", "series", "invoices", "--scope", scope, *named).strip().endswith("name: Ada & Sons")
        (row,) = json.loads(written("sequences", "show", "invoices", "--scope", scope, "--format", "json"))
        assert (row["scope"], row["name"]) == (scope, "Ada & Sons")
        client = client_with("sequences.view_sequence")
        assert "Ada &amp; Sons" in client.get(f"{LIST}invoices/?q={scope}").content.decode()
        assert put_next("invoices", {}, scope=scope).value == 2
        chosen = ["invoices", "--scope", scope, "--period", str(timezone.now().year)]
        assert f"invoices {scope} (Ada & Sons) {timezone.now().year} (" in written("sequences", "audit", *chosen)
        strategies.drop()
        with tapped() as wire:
            (report,) = json.loads(written("sequences", "audit", *chosen, "--format", "json"))
        assert (report["scope"], report["name"]) == (scope, "Ada & Sons")
        assert sum("#series#invoices" in str(sent.body) for sent in wire.sent) == 1  # the lines, by which it audits
        page = client.get(f"{LIST}invoices/scope/audit/?scope={scope}").content.decode()
        assert f"<h2>{scope} (Ada &amp; Sons) {timezone.now().year}</h2>" in page
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}"), **WHO)
        (row,) = json.loads(written("sequences", "show", "invoices", "--scope", scope, "--format", "json"))
        assert row["name"] == "Ada & Sons"
        with pytest.raises(CommandError, match="name is ''"):
            call_command("sequences", "series", "invoices", "--scope", scope, "--name", "", "--reason", "a test")

    def test_the_end_of_a_line(self, scope: str) -> None:
        """The doctor names a line from the day of its warning on."""
        line = Line(format=f"{scope}/{{period}}/{{value}}", warn_on=timezone.now().date())
        series.create("invoices", scope, line, **WHO)
        put_next("invoices", {}, scope=scope)
        found = diagnose(most_scopes=1000).findings
        assert any(scope in one.about and "comes to its end" in one.found for one in found)

    def test_a_line_that_ends_before_the_next_one_begins(self, scope: str) -> None:
        """The doctor goes by the line of today: no number is left until the next one begins."""
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", maximum=1), **WHO)
        series.add_line("invoices", scope, Line(valid_from=timezone.now().date() + timedelta(days=1), start=5), **WHO)
        put_next("invoices", {}, scope=scope)
        with pytest.raises(SequenceExhausted):
            put_next("invoices", {}, scope=scope)
        (found,) = (one for one in diagnose(most_scopes=1000).findings if repr(scope) in one.about)
        assert (found.verdict, found.found[:6]) == (Verdict.UNSOUND, "100 % ")
        assert "adds one" in found.remedy

    def test_operators_see_what_is_used(self, scope: str) -> None:
        """Lists, audits and forecasts go by the lines of each scope."""
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", maximum=4), **WHO)
        put_next("invoices", {}, scope=scope)
        (row,) = json.loads(written("sequences", "show", "invoices", "--scope", scope, "--format", "json"))
        assert (row["share_used"], row["hour"]) == (0.25, 1)
        chosen = ["--prefix", scope, "--period", str(timezone.now().year)]
        listed = json.loads(written("sequences", "show", "invoices", *chosen, "--format", "json"))
        assert [one["share_used"] for one in listed] == [0.25]
        assert "all explained" in written("sequences", "audit", "invoices", "--scope", scope)


class TestPeriods:
    def test_the_list_of_the_present_one(self, scope: str, client: Client) -> None:
        """It has no scopes of former periods, as long as no line has a PERIOD of its own; then none is missing."""
        series.create("yearly", scope, Line(format=f"{scope}/{{period}}/{{value}}", period="year"), **WHO)
        this_year = timezone.now().year
        for day in (date(2001, 1, 1), date(this_year, 1, 1)):
            put_next("yearly", {}, scope=scope, date=day)
        former, present = f"{scope} 2001", f"{scope} {this_year}"
        with tapped() as wire:
            page = client.get(f"{LIST}yearly/").content.decode()
        assert (former in page, present in page) == (False, True)
        assert former in client.get(f"{LIST}yearly/?period=2001").content.decode()
        assert sum("##" in str(sent.body) for sent in wire.sent) == 1  # one read more than without SERIES
        assert (former in (page := client.get(LIST).content.decode()), present in page) == (False, True)
        series.create("yearly", f"{scope}m", Line(format=f"{scope}m/{{period}}/{{value}}", period="month"), **WHO)
        put_next("yearly", {}, scope=f"{scope}m")
        month = f"{scope}m {timezone.now():%Y-%m}"
        for address in (LIST, f"{LIST}yearly/"):
            page = client.get(address).content.decode()
            assert [one in page for one in (former, present, month)] == [True, True, True]
