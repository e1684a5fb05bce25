"""The administration's pages of the sequences: what they show, to whom, and how they tell what is wrong."""

import datetime
import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.test import Client
from pytest_django import Settings

from sequences import dynamodb, get_last_value, get_next_value, get_next_values, put_next, put_next_many
from sequences.admin import overview as admin_overview
from sequences.admin import pages
from sequences.capabilities import capabilities
from sequences.changes import advance
from sequences.commit.retries import Deadline
from sequences.exceptions import NotConfigured
from sequences.models import Sequence
from sequences.ops import doctor, overview
from sequences.ops.audit.results import AuditResult
from tests.people import allow
from tests.sequences.support import tapped

pytestmark = pytest.mark.usefixtures("db", "own_sequences")

PATH = "sequences.strategies"
LIST = "/admin/sequences/sequence/"
HEALTH = f"{LIST}health/"
SEQUENCES: dict[str, dict[str, Any]] = {
    "orders": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "START": 1001},
    "invoices": {
        "STRATEGY": f"{PATH}.sort_key.SortKeyMaximum",
        "OPTIONS": {"scopes": "tests.sequences.admin.test_admin.three_scopes"},
    },
    "letters": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", "OPTIONS": {"scopes": None}},
}


def three_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """The scopes of the invoices: A and B on the first page, C on the next."""
    if cursor not in (None, "more"):
        raise ValidationError("This is not a cursor of this list.")
    return (["C"], None) if cursor else (["A", "B"], "more")


def many_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """As many scopes as are wanted, for ever."""
    return [f"many-{number}" for number in range(limit)], "more"


def greedy_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """Reads without end."""
    while True:
        get_last_value("orders")


@pytest.fixture
def staff() -> Client:
    """Somebody of the staff who may see the sequences."""
    return client_with("sequences.view_sequence")


def client_with(*permissions: str, is_staff: bool = True) -> Client:
    """Somebody signed in with these permissions."""
    user = User.objects.create_user("ada", is_staff=is_staff)
    allow(user, *permissions)
    client = Client(raise_request_exception=True)
    client.force_login(user)
    return client


def shown(page: Any) -> str:
    """The text of a page as a person reads it."""
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page.content.decode(), flags=re.DOTALL)
    return " ".join(unescape(text).split())


class TestList:
    def test_every_sequence_is_shown_with_its_strategy(self, staff: Client) -> None:
        """The list names each sequence and its strategy, and leads to its page."""
        page = staff.get(LIST)
        for alias, strategy in (("orders", "AtomicCounter"), ("letters", "SortKeyMaximum")):
            assert re.search(rf"\b{alias} {strategy}\b", shown(page))
            assert f'href="{LIST}{alias}/"' in page.content.decode()

    def test_every_flag_is_explained_by_its_question(self, staff: Client) -> None:
        """What the flags mean is said in full beside them, on the page of each sequence."""
        text = shown(staff.get(f"{LIST}orders/"))
        for capability in capabilities():
            assert not capability.is_flag or capability.label in text
            assert not capability.is_flag or capability.question.replace("`", "") in text

    def test_a_strategy_is_told_in_plain_words(self, staff: Client) -> None:
        """What a strategy does is said in words: no is no failure, and there are no ticks and crosses."""
        page = staff.get(LIST)
        assert "AtomicCounter may leave gaps; hands out numbers before their items; needs no transactions" in shown(
            page
        )
        assert "icon-no" not in page.content.decode()

    def test_the_first_scopes_stand_on_it(self, staff: Client) -> None:
        """The list shows how far each sequence has come, and leads to its other scopes."""
        for scope in (None, *"ABCDE"):
            get_next_value("orders", scope=scope)
        put_next("invoices", {}, scope="A")
        page = staff.get(LIST)
        assert re.search(
            r"orders AtomicCounter.*\(no scope\) 1001 .* A 1001 .* D 1001 .* More scopes of orders", shown(page)
        )
        assert "E 1001" not in shown(page)
        assert re.search(r"invoices SortKeyMaximum.* A 1 ", shown(page))

    def test_those_used_most_come_first(self, staff: Client) -> None:
        """Of all that are read, the scopes with most numbers of a month are shown, and empty ones last."""
        for place, (scope, count) in enumerate(zip("ABCDEFG", (1, 5, 0, 7, 2, 3, 0), strict=True)):
            advance("orders", to=2000 - 100 * place, scope=scope, by="ada", reason="skipped numbers are no use")
            if count:
                get_next_values(count, "orders", scope=scope)
        put_next_many("invoices", [{}] * 3, scope="B")
        page = staff.get(LIST).content.decode()
        assert re.findall(r'<a href="[^"]*/orders/scope/\?scope=(.)">\1', page) == [*"DBFEA"]
        assert re.findall(r'<a href="[^"]*/invoices/scope/\?scope=(.)">\1', page) == [*"BA"]
        page = staff.get(f"{LIST}orders/").content.decode()
        assert re.findall(r'<a href="[^"]*/orders/scope/\?scope=(.)">\1', page) == [*"DBFEACG"]

    def test_figures_of_a_scope(self, staff: Client) -> None:
        """Numbers of the last hour, day and month stand beside the last value, with a plot that says the same."""
        get_next_values(7, "orders")
        text = shown(page := staff.get(f"{LIST}orders/"))
        assert re.search(r"\(no scope\) 1007 20\d\d-\d\d-\d\d \d\d:\d\d (about )?7 (about )?7 (about )?7 ", text)
        assert "< 0.01 % end not in sight" in text
        assert re.search(
            r'role="img" aria-label="30 days: 7 at most in one, [\d-]+, 7 in this one"', page.content.decode()
        )

    def test_what_is_not_known_is_said(self, staff: Client) -> None:
        """A sequence whose items have no time says that its rates are not known."""
        put_next("invoices", {}, scope="A")
        assert re.search(r"A 1 not known not known not known not known < 0.01 %", shown(staff.get(LIST)))

    def test_the_cost_of_a_thousand_numbers(self, staff: Client, settings: Settings) -> None:
        """The units of a strategy are told in money, by the prices of the settings."""
        assert "A thousand numbers with items of up to 1 KB cost about 0.00125 USD: each takes 2" in shown(
            staff.get(LIST)
        )
        settings.SEQUENCES_PRICES = {"WRITE": "1000", "READ": "0", "CURRENCY": "EUR"}
        page = shown(staff.get(LIST))
        assert "cost about 2 EUR: each takes 2 write and 0 read units" in page
        assert "in a group, they cost up to 5 EUR: 5 write units each." in page
        settings.SEQUENCES_PRICES = {"WRITE": "dear"}
        assert "SEQUENCES_PRICES['WRITE'] is 'dear'; it must be a number" in shown(staff.get(LIST))

    def test_the_last_audit(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """The last audit of a sequence is told with its verdict, if there was one."""
        assert "Last audit" not in shown(staff.get(LIST))
        counts: dict[str, Any] = {"stored": 5, "missing": 2, "gaps": 1, "voids": 0, "unexplained": 2, "seconds": 1.0}
        at = datetime.datetime(2026, 3, 4, 5, 6, tzinfo=datetime.UTC)
        kept = AuditResult(sequence="orders", scope="A", period="", by="ada", at=at, **counts)
        monkeypatch.setattr(overview, "latest_audits", lambda strategy: [kept] if strategy.alias == "orders" else [])
        assert "Last audit: 2026-03-04 05:06, A: 2 findings are unexplained." in shown(staff.get(LIST))

    def test_scopes_are_searched(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """Scopes of one sequence are found by how they begin, page by page, and a page names what was not found."""
        monkeypatch.setattr(admin_overview, "SCOPES_A_PAGE", 2)
        for scope in ("north-1", "north-2", "north-3", "south"):
            get_next_value("orders", scope=scope)
        first = staff.get(f"{LIST}?sequence=orders&q=north", follow=True)
        address = re.search(r'href="([^"]*)">Next page', first.content.decode())
        assert address is not None
        second = staff.get(f"{LIST}orders/{unescape(address[1])}")
        assert re.findall(r"north-\d", shown(first) + shown(second)) == ["north-1", "north-2", "north-3"]
        assert "south" not in shown(first) + shown(second)
        assert "No scope begins with “west”." in shown(staff.get(f"{LIST}orders/?q=west"))
        assert "an argument 'prefix'" in shown(staff.get(f"{LIST}invoices/?q=A"))
        assert staff.get(f"{LIST}orders/?q={'x' * 256}").status_code == 400

    def test_scopes_of_a_period(self, staff: Client, settings: Settings) -> None:
        """A sequence with periods is shown with the scopes of the present one, and searched in any."""
        settings.SEQUENCES = {"yearly": {**SEQUENCES["orders"], "PERIOD": "year"}}
        today = datetime.datetime.now(datetime.UTC)
        for year, scope in ((2001, "AB"), (2001, "AC"), (2001, "B"), (today.year, "AD")):
            get_next_value("yearly", scope=scope, date=datetime.date(year, 7, 1))
        text = shown(staff.get(LIST))
        assert f"Scope in {today.year}" in text
        assert "AD" in text
        assert "AB" not in text
        text = shown(staff.get(f"{LIST}yearly/?q=A&period=2001"))
        assert re.search(r"AB 2001 1001 .* AC 2001 1001 ", text)
        assert "B 2001 1001" not in text.replace("AB 2001", "")
        assert "nonsense" in shown(staff.get(f"{LIST}yearly/?period=nonsense"))

    @pytest.mark.parametrize("alias", ["yearly", "orders"])
    def test_a_period_that_is_none(
        self, staff: Client, settings: Settings, alias: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is the caller's mistake, and no line of the log."""
        settings.SEQUENCES = {**SEQUENCES, "yearly": {**SEQUENCES["orders"], "PERIOD": "year"}}
        page = staff.get(f"{LIST}{alias}/?period=nonsense")
        assert (page.status_code, "The period is 'nonsense'; it must be" in shown(page)) == (400, True)
        assert not [record for record in caplog.records if record.name.startswith("sequences.")]

    @pytest.mark.parametrize("alias", ["nothing", "<b>", "%00", "a/b"])
    def test_a_sequence_that_is_not_there(self, staff: Client, alias: str) -> None:
        """An unknown name gives 404 and says so."""
        page = staff.get(f"{LIST}?sequence={alias}")
        assert page.status_code == 404

    def test_a_page_says_what_it_took(self, staff: Client, settings: Settings) -> None:
        """However many sequences and scopes there are, a page sends no more requests than it says, and pages follow."""
        times = {"scopes": f"{__name__}.many_scopes", "time_name": "at"}
        busy = {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum", "OPTIONS": times}
        settings.SEQUENCES = {f"busy-{number}": busy for number in range(12)}
        for scope in ("many-0", "many-1", "many-2"):
            put_next("busy-0", {"at": 1}, scope=scope)
        with tapped() as wire:
            pages = [staff.get(f"{LIST}?page={number}") for number in (1, 2)]
            sent = [
                int(number) for page in pages for number in re.findall(r"This page took (\d+) requests?", shown(page))
            ]
            assert len(wire.sent) == sum(sent)
            assert max(sent) <= admin_overview.MOST_OF_ALL
            wire.clear()
            one = shown(staff.get(f"{LIST}busy-0/"))
            said = f"This page took {len(wire.sent)} requests to DynamoDB, at most {admin_overview.MOST_OF_ONE}."
            assert said in one
            assert len(wire.sent) <= admin_overview.MOST_OF_ONE
        assert [shown(page).count("SortKeyMaximum,") for page in pages] == [10, 2]

    def test_one_sequence_cannot_spend_it_all(self, staff: Client, settings: Settings) -> None:
        """A function of scopes that sends too many requests is stopped; the others are shown."""
        greedy = {**SEQUENCES["invoices"], "OPTIONS": {"scopes": f"{__name__}.greedy_scopes"}}
        settings.SEQUENCES = {"greedy": greedy, "orders": SEQUENCES["orders"]}
        get_next_value("orders")
        page = staff.get(LIST)
        assert f"The {overview.REQUESTS_A_SEQUENCE} requests that this may take are sent." in shown(page)
        assert "1001" in shown(page)
        assert page.status_code == 200

    def test_long_scopes_and_large_values(self, staff: Client, settings: Settings) -> None:
        """A scope of 255 characters and a value of 38 digits are shown whole, and markup in a scope is text."""
        large = 10**37 + 5
        settings.SEQUENCES = {"large": {**SEQUENCES["orders"], "START": large}}
        for scope in ("x" * 255, "<script>alert(1)</script>"):
            get_next_value("large", scope=scope)
        page = staff.get(LIST).content.decode()
        assert "x" * 255 in page
        assert str(large) in page
        assert "<script>alert" not in page

    def test_an_engine_that_is_away_is_waited_for_once(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """If no engine answers, the list waits once for all sequences, is still shown, and says so with 503."""
        tried: list[str] = []

        def away(operation: str, request: object, **_: Any) -> None:
            tried.append(operation)
            raise NotConfigured("away")

        monkeypatch.setattr(dynamodb, "call", away)
        page = staff.get(LIST)
        assert page.status_code == 503
        assert len(tried) == shown(page).count("The scopes cannot be read. away") == 1
        assert "Needs a hand That is not known" in shown(page)
        assert shown(page).count("Not asked, as for orders.") == 2

    def test_it_does_not_wait_long(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """The time of a page is bounded, whatever the deadline of a sequence is; the reason is told."""
        monkeypatch.setattr(admin_overview, "MOST_SECONDS", 1.0)
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        dynamodb.reset()
        dynamodb.shared_client()  # making it takes a part of the time
        page = staff.get(LIST)
        assert page.status_code == 503
        assert "Is an engine running at AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:9?" in shown(page)

    def test_a_menu_entry_leads_to_it(self, staff: Client) -> None:
        """The administration's first page and its sidebar offer the list, and nothing to add."""
        page = staff.get("/admin/").content.decode()
        assert f'href="{LIST}"' in page
        assert f"{LIST}add/" not in page


class TestHealth:
    def test_each_table_is_judged(self, staff: Client) -> None:
        """Each table is shown with its uses and verdicts, and the page says what it took."""
        with tapped() as wire:
            page = staff.get(HEALTH)
        text = shown(page)
        assert page.status_code == 200
        assert re.search(r"sequence_items orders: items, markers; invoices: items, markers", text)
        assert re.search(r"table good active It takes reads and writes\. nothing to do", text)
        assert re.search(r"deletion protection careful off .* Run aws dynamodb update-table", text)
        said = f"This page took {len(wire.sent)} requests to DynamoDB, at most {pages.MOST_REQUESTS}."
        assert said in text
        assert len(wire.sent) <= pages.MOST_REQUESTS

    def test_a_missing_table(self, staff: Client, settings: Settings) -> None:
        """A table that is missing is unsound, and the page is no failure."""
        settings.SEQUENCES = {**SEQUENCES, "elsewhere": {**SEQUENCES["orders"], "TABLE": "elsewhere"}}
        page = staff.get(HEALTH)
        assert page.status_code == 200
        assert re.search(r"table unsound missing Every write .* Run manage.py create_tables", shown(page))

    def test_many_tables(self, staff: Client, settings: Settings) -> None:
        """A page sends a bounded number of requests, and says what it does not know for want of more."""
        most = pages.MOST_REQUESTS
        settings.SEQUENCES = {f"s{number}": {**SEQUENCES["orders"], "TABLE": f"t{number}x"} for number in range(most)}
        with tapped() as wire:
            text = shown(staff.get(HEALTH))
        assert len(wire.sent) == most
        limit = f"The {most} requests that this may take are sent."
        assert f"table unknown not known {limit} manage.py sequences doctor has no such limit." in text

    def test_an_engine_that_is_away(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """The page says that nothing answers, with 503, and has asked once."""
        monkeypatch.setattr(doctor, "PATIENCE_SECONDS", 1.0)
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        dynamodb.reset()
        page = staff.get(HEALTH)
        assert page.status_code == 503
        assert "DynamoDB does not answer." in shown(page)
        assert "Is an engine running at AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:9?" in shown(page)


class TestCounters:
    def test_counters_are_shown_with_their_last_values(self, staff: Client) -> None:
        """Each scope has a row with the highest value handed out; the one without a name too."""
        for scope in ("south", None, "south"):
            get_next_value("orders", scope=scope)
        text = shown(staff.get(f"{LIST}orders/"))
        assert re.search(r"\(no scope\) 1001 ", text)
        assert re.search(r"\bsouth 1002 ", text)

    def test_a_sort_key_sequence_shows_the_highest_number_of_each_scope(self, staff: Client) -> None:
        """Without counters, the scopes come from the option "scopes", and each one's highest item counts."""
        put_next("invoices", {}, scope="A")
        text = shown(staff.get(f"{LIST}invoices/"))
        assert re.search(r"\bA 1 ", text)
        assert re.search(r"\bB nothing yet ", text)

    def test_periods_are_shown_and_how_much_is_used(self, staff: Client, settings: Settings) -> None:
        """Each scope is shown with its period, and one that is nearly used up says so."""
        yearly = {**SEQUENCES["orders"], "START": 1, "MAXIMUM": 10, "PERIOD": "year"}
        settings.SEQUENCES = {**SEQUENCES, "yearly": yearly}
        get_next_values(9, "yearly", scope="A", date=datetime.date(2025, 1, 1))
        get_next_values(8, "yearly", scope="A", date=datetime.date(2026, 1, 1))
        page = shown(staff.get(f"{LIST}yearly/?period=2025"))
        assert "careful sequence yearly, scope 'A' of 2025 : 90 % of its values are used" in page
        assert re.search(r"A 2025 9 .* 90 % ", page)
        page = shown(staff.get(f"{LIST}yearly/?period=2026"))
        assert re.search(r"A 2026 8 .* 80 % ", page)
        assert "of its values are used" not in page

    def test_pages_follow_one_another(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """The links lead through all scopes, once each, and back to the first page."""
        monkeypatch.setattr(admin_overview, "SCOPES_A_PAGE", 2)
        for scope in ("A/1", "B&2", "C 3", "D#4", "É5"):
            get_next_value("orders", scope=scope)
        seen, address = [], f"{LIST}orders/"
        while address:
            page = staff.get(address).content.decode()
            seen += re.findall(r'<th role="rowheader" scope="row"><a [^>]*>([A-ZÉ].*?)</a>', page)
            following = re.search(r'href="(\?cursor=[^"]*)">Next', page)
            address = f"{LIST}orders/{unescape(following[1])}" if following else ""
            assert ("First page" in page) == (len(seen) > 2)
        assert seen == ["A/1", "B&amp;2", "C 3", "D#4", "É5"]

    def test_a_sequence_that_lists_no_scopes_says_what_to_do(self, staff: Client) -> None:
        """Where the option "scopes" is None the page says so, and still shows what is guaranteed."""
        page = staff.get(f"{LIST}letters/")
        assert page.status_code == 200
        assert "keeps no list of its scopes" in shown(page)
        assert "What SortKeyMaximum guarantees" in shown(page)

    def test_the_configuration_is_shown(self, staff: Client) -> None:
        """START and the other keys of the setting are on the page."""
        assert re.search(r"START 1001 STEP 1 \(default\) ", shown(staff.get(f"{LIST}orders/")))


class TestPermission:
    @pytest.mark.parametrize("address", [LIST, HEALTH, f"{LIST}orders/", f"{LIST}unknown/"])
    def test_staff_without_the_permission_are_refused(self, address: str) -> None:
        """Staff who may see other things get 403."""
        assert client_with("auth.view_user").get(address).status_code == 403

    @pytest.mark.parametrize("address", [LIST, f"{LIST}?sequence=orders&q=a", HEALTH, f"{LIST}orders/"])
    def test_others_are_sent_to_the_sign_in(self, address: str) -> None:
        """Users who are not staff, or not signed in, see the sign-in page."""
        for client in (Client(), client_with(is_staff=False)):
            page = client.get(address)
            assert page.status_code == 302
            assert "login" in page["Location"]

    @pytest.mark.parametrize("address", [LIST, f"{LIST}?sequence=orders&q=a", HEALTH, f"{LIST}orders/"])
    def test_the_pages_only_read(self, staff: Client, address: str) -> None:
        """A POST is refused with 405."""
        assert staff.post(address).status_code == 405


class TestTrouble:
    @pytest.mark.parametrize(
        "path",
        [
            "add/",
            "1/",
            "1/change/",
            "1/delete/",
            "1/history/",
            "unknown/",
            "orders/change/",
            "%00/",
            "a%2Fb/",
        ],
    )
    def test_addresses_of_other_models_are_not_found(self, admin_client: Client, path: str) -> None:
        """What Django offers for models with rows is 404 here, for a superuser too."""
        assert admin_client.get(LIST + path).status_code == 404

    def test_the_address_of_a_row_is_not_found(self, admin_client: Client) -> None:
        """The administration's way from a content type to a row's page is 404, although there is no table."""
        content_type = ContentType.objects.get_for_model(Sequence)
        assert admin_client.get(f"/admin/r/{content_type.pk}/1/").status_code == 404

    def test_an_engine_out_of_reach_is_explained(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """The page answers 503 and names the address at which no engine is."""
        monkeypatch.setitem(Deadline.__init__.__kwdefaults__ or {}, "seconds", 0.1)
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        dynamodb.reset()
        dynamodb.shared_client()  # made before the page, whose time is short
        page = staff.get(f"{LIST}orders/")
        assert page.status_code == 503
        assert "Is an engine running at AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:9?" in shown(page)
        assert "What AtomicCounter guarantees" in shown(page)

    @pytest.mark.parametrize("alias", ["orders", "invoices"])
    def test_missing_tables_are_explained(self, staff: Client, settings: Settings, alias: str) -> None:
        """The page answers 503 and names the command that makes the tables."""
        settings.TABLE_PREFIX = "missing_"
        page = staff.get(f"{LIST}{alias}/")
        assert page.status_code == 503
        assert "create_tables" in shown(page)

    def test_missing_credentials_are_explained(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a Region the page answers 503 and names the variable to set."""
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
        dynamodb.reset()
        page = staff.get(f"{LIST}orders/")
        assert page.status_code == 503
        assert "Set AWS_DEFAULT_REGION" in shown(page)

    @pytest.mark.parametrize("entry", [{}, {"STRATEGY": "no.such.Strategy"}, {"STRATEGY": f"{PATH}.base.Option"}])
    def test_a_wrong_entry_is_explained(self, staff: Client, settings: Settings, entry: dict[str, str]) -> None:
        """One wrong entry says what is wrong with it, and the others are shown."""
        settings.SEQUENCES = {"wrong": entry, "orders": SEQUENCES["orders"]}
        text = shown(staff.get(LIST))
        assert "SEQUENCES['wrong']" in text
        assert "orders AtomicCounter" in text
        page = staff.get(f"{LIST}wrong/")
        assert page.status_code == 200
        assert "SEQUENCES['wrong']" in shown(page)

    @pytest.mark.parametrize("address", [LIST, f"{LIST}?sequence=orders&q=a", HEALTH, f"{LIST}orders/"])
    def test_a_wrong_setting_is_explained(self, staff: Client, settings: Settings, address: str) -> None:
        """A setting that is not a dict is reported on the page."""
        settings.SEQUENCES = ["orders"]
        assert "The setting SEQUENCES must be a dict" in shown(staff.get(address))

    def test_a_wrong_path_of_scopes_is_explained(self, staff: Client, settings: Settings) -> None:
        """A function of scopes that cannot be imported is named."""
        settings.SEQUENCES = {"wrong": {**SEQUENCES["letters"], "OPTIONS": {"scopes": "no.such.function"}}}
        page = staff.get(f"{LIST}wrong/")
        assert page.status_code == 200
        assert "no.such" in shown(page) or "'no'" in shown(page)

    def test_a_made_up_cursor_is_refused(self, staff: Client) -> None:
        """A cursor that the list does not know gives 400 and the reason."""
        page = staff.get(f"{LIST}invoices/?cursor=nonsense")
        assert page.status_code == 400
        assert "This is not a cursor of this list." in shown(page)

    @pytest.mark.parametrize("cursor", ["bad", "%00", "zz", "x" * 2000, "%FF"])
    def test_no_cursor_can_be_made_up(self, staff: Client, cursor: str) -> None:
        """A cursor that no page of this list gave is refused, and the page says so."""
        page = staff.get(f"{LIST}orders/?cursor={cursor}")
        assert page.status_code == 400
        assert "This is not a cursor of this list." in shown(page)
