"""Companies: each issues invoices in a series of its own, and none has a text of another one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.signing import Signer
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from rest_framework.test import APIClient

from sequences import get_last_value, series
from sequences.changes import advance, close, freeze, void
from sequences.exceptions import IdempotencyMismatch, InvalidScope, NotWritten
from sequences.registry import strategies
from sequences.series import Line, Lines, lines_of
from tests.people import allow
from tests.tickets.sales.support import drafted, issued
from tests.tickets.test_pages import hidden
from tickets.exceptions import CompanyExists, CompanyNotFound, FormatRefused, InvalidInput
from tickets.problems import explain
from tickets.sales import companies, selectors, services
from tickets.sales.types import Company, Invoice, Skipped, State

NORD: dict[str, Any] = {"key": "NORD", "name": "Nordic Branch", "format": "N/{period}/{value:04d}", "start": 500}
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"key": "nord"}, "key", "2 to 10 capital letters"),
    ({"name": " "}, "name", "must not be empty"),
    ({"start": 0}, "start", "from 1"),
    ({"format": "N/{year}"}, "format", "year"),
    ({"format": "N/{value}"}, "format", "period"),
    ({"format": "INV-{period}-{value:06d}-{check:damm}"}, "format", "could also be one of"),
    ({"format": "ORD-{value}{period}"}, "format", "could also be one of"),
    ({"format": "NORD-{period}{value:03d}"}, "format", "could be the key of a ticket"),
    ({"format": "N{period}{value:03d}"}, "format", "could be the key of a ticket"),
    ({"format": "NO-{period}{value:crockford}"}, "format", "could be the key of a ticket"),
    ({"format": "{yy}{value}", "start": 1}, "format", "could be a year"),
    ({"format": "{value}{yy}", "start": 1}, "format", "could be a year"),
    ({"format": "N/{period}/{value}/void"}, "format", "address of another page"),
    ({"format": "../N/{period}/{value}"}, "format", "address of another page"),
]


@pytest.fixture
def nord(tables: str) -> Company:
    """A company beside the main one."""
    return companies.create_company(**NORD, by="ann").value


def issued_by(company: str, day: date | None = None, **about: Any) -> Invoice:
    """A new invoice of a company."""
    return services.issue_invoice(drafted(), company=company, date=day, by="ann", **about).value


def issuing(browser: Client, order: int, *, company: str) -> dict[str, str]:
    """What the form of a draft sends."""
    page = browser.get(f"/orders/{order}/issue/")
    return {"company": company, "date": "", **{name: hidden(page, name) for name in ("token", "version")}}


def away(**asked: Any) -> None:
    """A read that finds no engine."""
    raise NotWritten("It cannot be read.")


class TestSeries:
    def test_each_company_counts_for_itself(self, nord: Company, this_year: int) -> None:
        """The invoices of a company have its texts and numbers; those of the main one are as before."""
        texts = [invoice.key.text for invoice in (issued(), issued_by("NORD"), issued(), issued_by("NORD"))]
        assert texts[1::2] == [f"N/{this_year}/0500", f"N/{this_year}/0501"]
        assert [text[:15] for text in texts[::2]] == [f"INV-{this_year}-000001", f"INV-{this_year}-000002"]
        assert [selectors.get_invoice(text).key.company for text in texts] == ["", "NORD", "", "NORD"]
        page = selectors.list_invoices(company="NORD")
        assert [invoice.key.number for invoice in page.results] == [501, 500]
        assert (page.missing, page.oldest, page.newest, page.is_whole) == ((), 500, 501, True)

    def test_a_year_of_its_own(self, nord: Company, this_year: int) -> None:
        """A company counts anew each year, as the main one does."""
        issued_by("NORD")
        before = issued_by("NORD", date(this_year - 1, 12, 31))
        assert before.key.text == f"N/{this_year - 1}/0500"
        assert [one.key for one in selectors.list_invoices(this_year - 1, company="NORD").results] == [before.key]

    def test_no_gaps_and_no_twice_by_many_at_once(self, nord: Company) -> None:
        """Sixteen callers issue for two companies at once: each series has every number once."""
        orders = [drafted() for _ in range(32)]

        def issue(place: int) -> tuple[str, int]:
            key = services.issue_invoice(orders[place], company=("", "NORD")[place % 2], by="ann").value.key
            return key.company, key.number

        with ThreadPoolExecutor(16) as threads:
            assert sorted(threads.map(issue, range(32))) == [
                *(("", number) for number in range(1, 17)),
                *(("NORD", number) for number in range(500, 516)),
            ]

    def test_a_repeat_issues_nothing(self, nord: Company) -> None:
        """The same request gives the same invoice; for another company it is refused."""
        order = drafted()
        first, again = (
            services.issue_invoice(order, company="NORD", by="ann", idempotency_token="t") for _ in range(2)
        )
        assert (again.value, again.replayed) == (first.value, True)
        with pytest.raises(IdempotencyMismatch, match=r"to issue N/\d+/0500 for NORD"):
            services.issue_invoice(order, by="ann", idempotency_token="t")
        assert selectors.list_invoices().results == ()

    @pytest.mark.parametrize(
        ("company", "error"), [("SYD", CompanyNotFound), ("nord", InvalidInput), ("N", InvalidInput), (5, InvalidInput)]
    )
    def test_there_is_no_such_company(self, nord: Company, company: Any, error: type[Exception]) -> None:
        """An unknown company is refused, and no number is taken."""
        order = drafted()
        for ask in (
            lambda: services.issue_invoice(order, company=company, by="ann"),
            lambda: selectors.list_invoices(company=company),
        ):
            with pytest.raises(error) as refused:
                ask()
            assert [wrong.path for wrong in explain(refused.value, "a test").wrong] == [("company",)]
        assert selectors.get_order(order).state is State.DRAFT

    def test_a_void_opens_the_order(self, nord: Company) -> None:
        """By its page, and by its number alone, as an operator does."""
        for strike in (
            lambda invoice: services.void_invoice(invoice.key.text, reason="Wrong.", by="ann"),
            lambda invoice: void("invoices", invoice.key.number, scope="NORD", by="ann", reason="Wrong."),
        ):
            invoice = issued_by("NORD")
            strike(invoice)
            assert selectors.get_invoice(invoice.key.text).void
            order = selectors.get_order(invoice.order)
            assert (order.state, order.voided) == (State.OPEN, (invoice.key,))

    def test_skipped_numbers_are_of_their_company(self, nord: Company) -> None:
        """What was skipped in one company explains nothing in another one."""
        issued_by("NORD")
        advance("invoices", to=510, scope="NORD", by="ann", reason="The printer.")
        issued_by("NORD")
        page = selectors.list_invoices(company="NORD")
        assert [(one.first, one.last) for one in page.entries if isinstance(one, Skipped)] == [(501, 510)]
        assert (page.missing, selectors.list_invoices().entries) == ((), [])

    def test_the_digest_of_its_invoice(self, nord: Company) -> None:
        """The digest that is stored is the one that was told."""
        invoice = issued_by("NORD")
        assert len(invoice.digest) == 64
        assert selectors.get_invoice(invoice.key.text) == invoice


class TestMaking:
    def test_a_repeat_makes_nothing(self, tables: str, caplog: pytest.LogCaptureFixture) -> None:
        """The same content is a repeat, of which the log says nothing; the key with other content is taken."""
        caplog.set_level("INFO", "tickets")
        first, again = (companies.create_company(**NORD, by="ann") for _ in range(2))
        assert (first.replayed, again.value, again.replayed) == (False, first.value, True)
        said = [record.getMessage() for record in caplog.records if record.name == "tickets.sales.companies"]
        assert said == ["company NORD created by ann"]
        with pytest.raises(CompanyExists):
            companies.preview_company(**NORD)
        for other in ({"start": 7}, {"name": "Another Branch"}):
            with pytest.raises(CompanyExists, match="NORD already"):
                companies.create_company(**{**NORD, **other}, by="ann")

    def test_two_requests_at_once(self, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of two requests that see no company, one makes it; the other is a repeat, or learns that the key is taken."""
        blind = [True, True]

        def see_nothing_yet(sequence: str, scope: str) -> Lines:
            return Lines() if blind and blind.pop() else lines_of(sequence, scope)

        monkeypatch.setattr(companies, "lines_of", see_nothing_yet)
        first, second = (companies.create_company(**NORD, by=name) for name in ("ann", "bob"))
        assert (first.replayed, second.replayed, second.value) == (False, True, first.value)
        blind.append(True)
        with pytest.raises(CompanyExists):
            companies.create_company(**{**NORD, "start": 7}, by="cid")

    def test_what_cannot_be(self, tables: str) -> None:
        """What is wrong is named with its field, also before anything is made."""
        makers = (companies.preview_company, lambda **content: companies.create_company(**content, by="ann"))
        for (about, field, told), make in product(WRONG, makers):
            with pytest.raises((InvalidInput, FormatRefused), match=told) as refused:
                make(**{**NORD, **about})
            assert [wrong.path for wrong in explain(refused.value, "a test").wrong] == [(field,)], about
        assert companies.list_companies().results == ()

    def test_texts_of_another_company(self, nord: Company) -> None:
        """No two companies write one text, unless their keys are in it."""
        with pytest.raises(FormatRefused, match="NORD"):
            companies.create_company(**{**NORD, "key": "SYD"}, by="ann")
        for key in ("SYD", "WEST"):
            companies.create_company(**{**NORD, "key": key, "format": "R/{scope}/{period}/{value}"}, by="ann")

    def test_a_list_in_pages(self, nord: Company) -> None:
        """Companies are listed by their keys; other scopes of the sequence are none."""
        east = companies.create_company(**{**NORD, "key": "EAST", "format": "E/{period}/{value}"}, by="ann").value
        series.create("invoices", "branch-7", Line(format="B7/{period}/{value}"), by="ann", reason="No company.")
        series.name_scope("invoices", "SYD", "Only a name", by="ann", reason="No rules yet.")
        assert companies.list_companies().results == (east, nord)
        page = companies.list_companies(limit=1)
        found = [*page.results]
        while page.next_cursor:
            page = companies.list_companies(cursor=page.next_cursor, limit=1)
            found += page.results
        assert found == [east, nord]
        with pytest.raises(InvalidInput, match="not a cursor"):
            companies.list_companies(cursor="EAST")

    def test_a_repeat_after_a_later_range(self, nord: Company, this_year: int) -> None:
        """A range that staff has added does not make a repeat another request."""
        line = Line(format="Z/{period}/{value}", start=500, valid_from=date(this_year + 1, 1, 1))
        series.add_line("invoices", "NORD", line, by="ann", reason="Another book.")
        assert companies.create_company(**NORD, by="ann").replayed

    @pytest.mark.parametrize("name", ["Dupont\u00a0& Fils", "Zoë 👩\u200d💻"])
    def test_what_people_type_as_a_name(self, tables: str, name: str) -> None:
        """Spaces that do not break, and joiners, are kept."""
        companies.create_company(**{**NORD, "name": name}, by="ann")
        assert companies.list_companies().results[0].name == name

    def test_rules_that_the_staff_changes(self, nord: Company) -> None:
        """A later range of the company is what the list shows, and what the next invoice follows."""
        series.change_line(
            "invoices", "NORD", Line(format="Z/{period}/{value}", start=500), by="ann", reason="Shorter."
        )
        assert companies.list_companies().results[0].format == "Z/{period}/{value}"
        assert issued_by("NORD").key.text.startswith("Z/")


class TestPages:
    def test_a_company_is_made_and_issues(self, tables: str, browser: Client, this_year: int) -> None:
        """The form shows the first texts, then makes the company; the form of a draft asks for it from then on."""
        order = drafted()
        assert 'type="hidden" name="company"' in browser.get(f"/orders/{order}/").content.decode()
        form = {"key": "nord", "name": "Nordic Branch", "format": NORD["format"], "start": "500"}
        shown = browser.post("/invoices/companies/new/", {**form, "preview": "1"}).content.decode()
        assert f"N/{this_year}/0500" in shown
        assert f"N/{this_year}/0502" in shown
        assert companies.list_companies().results == ()
        made = browser.post("/invoices/companies/new/", form, follow=True)
        assert made.redirect_chain == [("/invoices/companies/", 302)]
        assert "Nordic Branch issues invoices as NORD." in made.content.decode()
        draft = browser.get(f"/orders/{order}/")
        assert "NORD Nordic Branch" in draft.content.decode()
        sent = browser.post(f"/orders/{order}/issue/", issuing(browser, order, company="NORD"), follow=True)
        assert sent.redirect_chain == [(f"/invoices/N/{this_year}/0500/", 302)]
        assert f"/invoices/{this_year}/?company=NORD" in sent.content.decode()

    @pytest.mark.parametrize("format_", ["Ärzte {period}/{value}", "R&D-{period}.{value}", "100%-{period}-{value}"])
    def test_texts_of_any_characters(self, tables: str, browser: Client, ann: User, format_: str) -> None:
        """Each invoice has its page, whatever characters an address writes in another way, and is found."""
        companies.create_company(**{**NORD, "format": format_}, by="ann")
        text = issued_by("NORD").key.text
        page = browser.get(reverse("sales:invoice", args=[text]))
        assert page.status_code == 200
        assert escape(text) in page.content.decode()
        User.objects.filter(pk=ann.pk).update(is_staff=True)
        response = browser.get("/admin/tickets/invoice/", {"find": text})
        assert (response.status_code, response["Location"]) == (302, reverse("sales:invoice", args=[text]))

    def test_what_is_wrong_is_beside_its_field(self, nord: Company, browser: Client) -> None:
        """What was typed stays, with the reason."""
        page = browser.post("/invoices/companies/new/", {**NORD, "key": "SYD"})
        assert page.status_code == 409
        assert "could also be one of the scope" in page.content.decode()
        assert 'value="SYD"' in page.content.decode()
        assert browser.post("/invoices/companies/new/", {**NORD, "name": "Other", "start": 3}).status_code == 409

    def test_the_list_of_a_company_stays_in_it(self, nord: Company, browser: Client, this_year: int) -> None:
        """Its years, its filters and its pages lead to lists of the same company."""
        issued(), issued_by("NORD")
        page = browser.get(f"/invoices/{this_year}/?company=NORD").content.decode()
        assert f"N/{this_year}/0500" in page
        assert "INV-" not in page
        assert f"/invoices/{this_year - 1}/?company=NORD" in page
        assert "?company=NORD&amp;state=issued" in page
        assert '<input type="hidden" name="company" value="NORD">' in page
        found = browser.get(f"/invoices/{this_year}/?company=NORD&state=issued").content.decode()
        assert f"N/{this_year}/0500" in found
        assert "INV-" not in found
        assert browser.get(f"/invoices/{this_year}/?company=SYD").status_code == 404
        assert browser.get("/invoices/?company=NORD")["Location"] == f"/invoices/{this_year}/?company=NORD"
        found = browser.get(f"/invoices/{this_year}/?company=NORD&text=ada").content.decode()
        assert '<a href="?company=NORD" title="Without this filter">' in found

    def test_many_companies(self, tables: str, browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where they do not fit a list, the form takes the key."""
        for key in ("EAST", "WEST"):
            content = {**NORD, "key": key, "format": "R/{scope}/{period}/{value}"}
            companies.create_company(**content, by="ann")
        listed = companies.list_companies
        monkeypatch.setattr(companies, "list_companies", lambda **asked: listed(**{**asked, "limit": 1}))
        order = drafted()
        page = browser.get(f"/orders/{order}/").content.decode()
        assert '<input type="text" name="company"' in page
        form = issuing(browser, order, company="west")
        assert browser.post(f"/orders/{order}/issue/", form)["Location"].startswith("/invoices/R/WEST/")

    def test_the_form_needs_no_list_to_issue(
        self, nord: Company, browser: Client, sent: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Companies are read where the form is shown again; where they cannot be read, what was typed stays."""
        order = drafted()
        form = issuing(browser, order, company="NORD")
        sent.clear()
        again = browser.post(f"/orders/{order}/issue/", {**form, "date": "never"})
        assert (again.status_code, sent) == (400, ["query"])
        assert '<option value="NORD" selected>' in again.content.decode()
        monkeypatch.setattr(companies, "list_companies", away)
        again = browser.post(f"/orders/{order}/issue/", {**form, "date": "never"})
        assert again.status_code == 400
        assert 'type="hidden" name="company" value="NORD"' in again.content.decode()
        assert browser.post(f"/orders/{order}/issue/", form).status_code == 302

    def test_a_company_whose_numbers_are_frozen(self, nord: Company, browser: Client, api: APIClient) -> None:
        """The form says so, and stays; other companies go on."""
        freeze("invoices", scope="NORD", by="ann", reason="The year's end.")
        order = drafted()
        page = browser.post(f"/orders/{order}/issue/", issuing(browser, order, company="NORD"))
        assert page.status_code == 503
        assert '<option value="NORD" selected>' in page.content.decode()
        assert api.post(f"/api/orders/{order}/invoice/issue/", {"company": "NORD"}).status_code == 503
        assert issued().key.number == 1

    def test_a_year_whose_books_are_closed(self, nord: Company, api: APIClient) -> None:
        """Who is refused learns that it is not only for a while; other years go on."""
        close("invoices", period="2025", by="ann", reason="The audit is done.")
        address = f"/api/orders/{drafted()}/invoice/issue/"
        for company in ("", "NORD"):
            refused = api.post(address, {"date": "2025-12-31", "company": company})
            assert (refused.status_code, refused.json()["code"]) == (409, "period_closed")
            assert "Retry-After" not in refused
        assert api.post(address, {"date": "2024-12-31", "company": "NORD"}).status_code == 201

    def test_a_name_is_no_markup(self, tables: str, browser: Client) -> None:
        """What people typed is shown as they typed it."""
        form = {**NORD, "name": "<b>Nord</b>"}
        made = browser.post("/invoices/companies/new/", form, follow=True).content.decode()
        assert made.count("&lt;b&gt;Nord&lt;/b&gt;") == 2
        assert "<b>Nord" not in made

    def test_who_may(self, nord: Company, ann: User, browser: Client) -> None:
        """Without the permission there is no form, and no link to it."""
        ann.user_permissions.clear()
        allow(ann, "tickets.view_invoice")
        assert "/companies/new/" not in browser.get("/invoices/companies/").content.decode()
        assert browser.get("/invoices/companies/new/").status_code == 403

    def test_the_administration(self, nord: Company, ann: User, browser: Client, this_year: int) -> None:
        """The list of invoices shows those of a company, too."""
        ann.is_staff = True
        ann.save()
        issued_by("NORD")
        page = browser.get("/admin/tickets/invoice/?company=NORD").content.decode()
        assert f"N/{this_year}/0500" in page
        assert f"?year={this_year - 1}&amp;company=NORD" in page
        assert browser.get("/admin/tickets/invoice/?company=SYD").status_code == 404


class TestREST:
    def test_a_program_makes_and_uses_a_company(self, tables: str, api: APIClient, this_year: int) -> None:
        """One call makes the series; the next one issues by it."""
        made = api.post("/api/companies/", NORD)
        assert (made.status_code, made.json()) == (201, NORD)
        again = api.post("/api/companies/", NORD)
        assert (again.status_code, again["Idempotent-Replayed"]) == (201, "true")
        assert made["Location"] == "http://testserver/api/invoices/?company=NORD"
        assert api.get("/api/companies/").json() == {"results": [NORD], "next": None, "prev": None}
        issue = api.post(f"/api/orders/{drafted()}/invoice/issue/", {"company": "NORD"})
        assert (issue.json()["company"], issue.json()["text"]) == ("NORD", f"N/{this_year}/0500")
        listed = api.get("/api/invoices/?company=NORD").json()
        assert [one["text"] for one in listed["results"]] == [f"N/{this_year}/0500"]
        assert api.get("/api/invoices/").json()["results"] == []

    def test_the_pages_of_a_company(self, nord: Company, api: APIClient) -> None:
        """The next page is of the same company, and its cursor is of no use in another list."""
        issued_by("NORD"), issued_by("NORD")
        following = api.get("/api/invoices/?company=NORD&limit=1").json()["next"]
        assert "company=NORD" in following
        assert [one["number"] for one in api.get(following).json()["results"]] == [500]
        assert api.get(following.replace("company=NORD&", "").replace("&company=NORD", "")).status_code == 400
        assert api.get("/api/invoices/?company=NORD&company=NORD").status_code == 400

    def test_null_is_the_main_company(self, nord: Company, api: APIClient) -> None:
        """As for each field that may be left out."""
        assert api.post(f"/api/orders/{drafted()}/invoice/issue/", {"company": None}).json()["company"] == ""

    def test_what_is_refused(self, nord: Company, api: APIClient) -> None:
        """Each error names its field."""
        order = drafted()
        for answer, status, where in (
            (api.post("/api/companies/", {**NORD, "start": 3}), 409, "/key"),
            (api.post("/api/companies/", {**NORD, "key": "SYD"}), 409, "/format"),
            (api.post("/api/companies/", {"key": "SYD"}), 400, "/name"),
            (api.post(f"/api/orders/{order}/invoice/issue/", {"company": "SYD"}), 404, "/company"),
        ):
            assert answer.status_code == status
            assert where in [one["pointer"].removeprefix("#") for one in answer.json()["errors"]]
        assert api.get("/api/invoices/?company=SYD").status_code == 404


def test_no_request_more_for_the_main_company(nord: Company, sent: list[str]) -> None:
    """An invoice of the main company costs what it did; one of another company a read more."""
    costs = []
    for company in ("", "NORD", "", "NORD"):
        order = drafted()
        sent.clear()
        services.issue_invoice(order, company=company, by="ann")
        costs.append([*sent])
    assert costs[2] == ["get_item", "transact_write_items"]
    assert costs[3] == ["get_item", "get_item", "transact_write_items"]


def test_another_process_follows_at_once(nord: Company, store_away: Callable[[], None]) -> None:
    """A process that begins reads the rules of the company with its first invoice."""
    strategies.drop()
    assert issued_by("NORD").key.number == 500


def test_a_process_that_has_refused_the_key_before(tables: str) -> None:
    """A process that looked for the company before another one made it issues for it at once."""
    with pytest.raises(InvalidScope):
        get_last_value("invoices", scope="NORD")
    book = strategies.lines("invoices")
    assert book
    companies.create_company(**NORD, by="ann")
    book.known._known.put("NORD", (Lines(), book.clock()))  # as it still is in another process
    assert issued_by("NORD").key.number == 500


def test_the_pages_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cursor is the signed key of the last company, in every release; a page has up to a hundred scopes."""
    asked, signer = list[Any](), Signer(salt="tickets.cursor.companies")
    lines = Lines(lines=(Line(format="N{value}", start=5),))
    scopes = [("NORD", lines), (None, lines), ("nord", lines), ("EMPTY", Lines()), ("XYZ", lines)]

    def page(*given: Any) -> Any:
        asked.append(given)
        return scopes, "XYZ" if len(asked) == 1 else None

    monkeypatch.setattr(companies, "page", page)
    monkeypatch.setattr(companies, "_company", lambda key, lines: key)
    first: Any = companies.list_companies()
    assert (first.results, first.next_cursor, first.previous_cursor) == (("NORD", "XYZ"), signer.sign("XYZ"), None)
    assert companies.list_companies(cursor=first.next_cursor, limit=5).next_cursor is None
    assert asked == [("invoices", None, 100), ("invoices", "XYZ", 5)]
    for cursor in ("XYZ", Signer(salt="x").sign("XYZ")):
        with pytest.raises(InvalidInput):
            companies.list_companies(cursor=cursor)
