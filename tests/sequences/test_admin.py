"""The administration's pages of the sequences: what they show, to whom, and how they tell what is wrong."""

import datetime
import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from sequences import admin, changes, dynamodb, get_next_value, get_next_values, put_next
from sequences.capabilities import capabilities
from sequences.exceptions import StorageRefused
from sequences.models import Sequence
from sequences.retries import Deadline

PATH = "sequences.strategies"
LIST = "/admin/sequences/sequence/"
SEQUENCES: dict[str, dict[str, Any]] = {
    "orders": {"STRATEGY": f"{PATH}.atomic.AtomicCounter", "START": 1001},
    "invoices": {
        "STRATEGY": f"{PATH}.sort_key.SortKeyMaximum",
        "OPTIONS": {"scopes": "tests.sequences.test_admin.three_scopes"},
    },
    "letters": {"STRATEGY": f"{PATH}.sort_key.SortKeyMaximum"},
}


def three_scopes(cursor: str | None, limit: int) -> tuple[list[str], str | None]:
    """The scopes of the invoices: A and B on the first page, C on the next."""
    if cursor not in (None, "more"):
        raise ValidationError("This is not a cursor of this list.")
    return (["C"], None) if cursor else (["A", "B"], "more")


@pytest.fixture(autouse=True)
def three_sequences(db: None, endpoint: str, table_prefix: str, settings: Settings) -> None:
    """Three sequences with empty tables."""
    settings.SEQUENCES = SEQUENCES
    call_command("create_tables", verbosity=0)


@pytest.fixture
def staff() -> Client:
    """Somebody of the staff who may see the sequences."""
    return client_with("sequences.view_sequence")


def client_with(*permissions: str, is_staff: bool = True) -> Client:
    """Somebody signed in with these permissions."""
    user = User.objects.create_user("ada", is_staff=is_staff)
    for label, codename in (permission.split(".") for permission in permissions):
        user.user_permissions.add(Permission.objects.get(content_type__app_label=label, codename=codename))
    client = Client(raise_request_exception=True)
    client.force_login(user)
    return client


def shown(page: Any) -> str:
    """The text of a page as a person reads it."""
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page.content.decode(), flags=re.DOTALL)
    return " ".join(unescape(text).split())


class TestList:
    def test_every_sequence_is_shown_with_its_strategy(self, staff: Client) -> None:
        """The list names each sequence and its strategy, and leads to its counters."""
        page = staff.get(LIST)
        for alias, strategy in (("orders", "AtomicCounter"), ("letters", "SortKeyMaximum")):
            assert re.search(rf"\b{alias} {strategy}\b", shown(page))
            assert f'href="{LIST}{alias}/"' in page.content.decode()

    @pytest.mark.parametrize("address", [LIST, f"{LIST}orders/"])
    def test_every_flag_is_explained_by_its_question(self, staff: Client, address: str) -> None:
        """What the flags mean is said in full beside them."""
        text = shown(staff.get(address))
        for capability in capabilities():
            assert capability.label in text
            assert not capability.is_flag or capability.question.replace("`", "") in text

    def test_flags_and_cost_are_the_strategys_own(self, staff: Client) -> None:
        """Yes, no and the cost come from the class."""
        text = shown(staff.get(LIST))
        assert "Requests: 1/n for n values; 1 more for an item" in text
        row = re.search(r"orders/.*?</tr>", staff.get(LIST).content.decode(), re.DOTALL)
        assert row is not None
        assert re.findall(r'alt="(\w+)"', row[0]) == ["no", "yes", "no", "yes", "no", "yes", "no"]

    def test_the_first_counters_stand_on_it(self, staff: Client) -> None:
        """The list shows how far each sequence has come, and leads to the other counters."""
        get_next_value("orders")
        for scope in "ABCDEF":
            get_next_value("orders", scope=scope)
        put_next("invoices", {}, scope="A")
        text = shown(staff.get(LIST))
        assert re.search(r"Counters of orders .*\(no scope\) 1001 .*\bD 1001 ", text)
        assert re.search(r"Counters of invoices .*\bA 1 ", text)
        assert "All counters of orders" in text

    def test_an_engine_that_is_away_is_waited_for_once(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """If no engine answers, the list waits once for all sequences, is still shown, and says so."""
        tried: list[str] = []

        def away(operation: str, request: object, **_: Any) -> None:
            tried.append(operation)
            raise StorageRefused("away")

        monkeypatch.setattr(dynamodb, "call", away)
        page = staff.get(LIST)
        assert page.status_code == 200
        assert len(tried) == shown(page).count("The counters cannot be read.") == 1

    def test_a_menu_entry_leads_to_it(self, staff: Client) -> None:
        """The administration's first page and its sidebar offer the list, and nothing to add."""
        page = staff.get("/admin/").content.decode()
        assert f'href="{LIST}"' in page
        assert f"{LIST}add/" not in page


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
        assert re.search(r"\bA 1 - ", text)
        assert re.search(r"\bB nothing yet - ", text)

    def test_periods_are_shown_and_how_much_is_used(self, staff: Client, settings: Settings) -> None:
        """Each scope is shown with its period, and one that is nearly used up says so."""
        yearly = {**SEQUENCES["orders"], "START": 1, "MAXIMUM": 10, "PERIOD": "year"}
        settings.SEQUENCES = {**SEQUENCES, "yearly": yearly}
        get_next_values(9, "yearly", scope="A", date=datetime.date(2025, 1, 1))
        get_next_values(8, "yearly", scope="A", date=datetime.date(2026, 1, 1))
        page = shown(staff.get(f"{LIST}yearly/"))
        assert re.search(r"A 2025 9 90 % of its values are used .* A 2026 8 ", page)
        assert page.count("% of its values") == 1

    def test_pages_follow_one_another(self, staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """The links lead through all scopes, once each, and back to the first page."""
        monkeypatch.setattr(admin, "COUNTERS_A_PAGE", 2)
        for scope in ("A/1", "B&2", "C 3", "D#4", "É5"):
            get_next_value("orders", scope=scope)
        seen, address = [], f"{LIST}orders/"
        while address:
            page = staff.get(address).content.decode()
            seen += re.findall(r'<th scope="row">([A-ZÉ].*?)</th>\s*<td>1001</td>\s*<td>\w', page)
            following = re.search(r'href="(\?cursor=[^"]*)">Next', page)
            address = f"{LIST}orders/{unescape(following[1])}" if following else ""
            assert ("First page" in page) == (len(seen) > 2)
        assert seen == ["A/1", "B&amp;2", "C 3", "D#4", "É5"]

    def test_a_sequence_that_lists_no_scopes_says_what_to_do(self, staff: Client) -> None:
        """Without the option "scopes" the page says so, and still shows what is guaranteed."""
        page = staff.get(f"{LIST}letters/")
        assert page.status_code == 200
        assert "Name a function (cursor, limit)" in shown(page)
        assert "What SortKeyMaximum guarantees" in shown(page)

    def test_the_configuration_is_shown(self, staff: Client) -> None:
        """START and the other keys of the setting are on the page."""
        assert re.search(r"START 1001 STEP 1 ", shown(staff.get(f"{LIST}orders/")))


class TestPermission:
    @pytest.mark.parametrize("address", [LIST, f"{LIST}orders/", f"{LIST}unknown/"])
    def test_staff_without_the_permission_are_refused(self, address: str) -> None:
        """Staff who may see other things get 403."""
        assert client_with("auth.view_user").get(address).status_code == 403

    @pytest.mark.parametrize("address", [LIST, f"{LIST}orders/"])
    def test_others_are_sent_to_the_sign_in(self, address: str) -> None:
        """Users who are not staff, or not signed in, see the sign-in page."""
        for client in (Client(), client_with(is_staff=False)):
            page = client.get(address)
            assert page.status_code == 302
            assert "login" in page["Location"]

    @pytest.mark.parametrize("address", [LIST, f"{LIST}orders/"])
    def test_the_pages_only_read(self, staff: Client, address: str) -> None:
        """A POST is refused with 405."""
        assert staff.post(address).status_code == 405


class TestTrouble:
    @pytest.fixture(autouse=True)
    def brief_patience(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reads give up soon."""
        monkeypatch.setitem(Deadline.__init__.__kwdefaults__ or {}, "seconds", 0.1)

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
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
        dynamodb.reset()
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

    @pytest.mark.parametrize("address", [LIST, f"{LIST}orders/"])
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


class TestGuardedChanges:
    """One page makes guarded changes of one scope."""

    PAGE = f"{LIST}orders/change-scope/"
    ASKED = {"kind": "advance", "scope": "", "period": "", "number": "5000", "reason": "a new year"}

    def test_it_asks_shows_and_does(self) -> None:
        """A change is shown with before and after, made when that is confirmed, and told in the history."""
        client = client_with("sequences.view_sequence", "sequences.change_sequence")
        get_next_value("orders")
        shown = unescape(client.post(self.PAGE, self.ASKED).content.decode())
        assert re.search(r"Before</th><td>1001<.*After</th><td>5000<", shown, re.DOTALL)
        assert get_next_value("orders") == 1002
        assert client.post(self.PAGE, {**self.ASKED, "confirmed": "yes"}, follow=True).status_code == 200
        assert get_next_value("orders") == 5001
        page = unescape(client.get(f"{LIST}orders/").content.decode())
        assert re.search(
            r"<td>advance</td>.*<td>1002</td><td>5000</td><td>ada</td><td>a new year</td>", page, re.DOTALL
        )

    def test_frozen_scopes_are_shown(self) -> None:
        """A frozen scope says so in the list, with a counter and without one."""
        client = client_with("sequences.view_sequence", "sequences.change_sequence")
        for alias, scope in (("orders", ""), ("invoices", "A")):
            given = {**self.ASKED, "kind": "freeze", "scope": scope, "confirmed": "yes"}
            client.post(f"{LIST}{alias}/change-scope/", given)
            page = client.get(f"{LIST}{alias}/").content.decode()
            assert re.search(r"Frozen by ada since .*: a new year<", page)

    @pytest.mark.parametrize("kind", ["freeze", "thaw", "recover", "void"])
    def test_each_change(self, kind: str) -> None:
        """The page makes each change."""
        client = client_with("sequences.view_sequence", "sequences.change_sequence")
        value = get_next_value("orders")
        if kind == "thaw":
            changes.freeze("orders", by="ana", reason="a test")
        given = {**self.ASKED, "kind": kind, "number": str(value), "confirmed": "yes"}
        assert client.post(self.PAGE, given).status_code == 302
        assert kind in {change.kind for change in changes.history("orders")[0]}

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"number": "1"}, "give 1001 or more"),
            ({"number": ""}, "This change needs a number."),
            ({"kind": "thaw"}, "is not frozen"),
            ({"reason": ""}, "This field is required."),
            ({"scope": "#x"}, "reserved"),
            ({"period": "2026"}, "2026"),
        ],
    )
    @pytest.mark.parametrize("confirmed", [{}, {"confirmed": "yes"}])
    def test_what_is_refused(self, given: dict[str, str], said: str, confirmed: dict[str, str]) -> None:
        """What a change refuses is an error of the form, and nothing is changed."""
        client = client_with("sequences.view_sequence", "sequences.change_sequence")
        page = client.post(self.PAGE, {**self.ASKED, **given, **confirmed})
        assert page.status_code == 200
        assert said in unescape(page.content.decode())
        assert changes.history("orders")[0] == []

    def test_who_may(self, staff: Client) -> None:
        """Without the permission there is neither the page nor a link to it; a change is made by POST only."""
        assert staff.get(self.PAGE).status_code == staff.post(self.PAGE, self.ASKED).status_code == 403
        assert "Change a scope" not in staff.get(f"{LIST}orders/").content.decode()
        ada = User.objects.get(username="ada")
        ada.user_permissions.add(Permission.objects.get(codename="change_sequence"))
        assert "Change a scope" in staff.get(f"{LIST}orders/").content.decode()
        staff.get(self.PAGE, {**self.ASKED, "confirmed": "yes"})
        assert changes.history("orders")[0] == []

    def test_an_unknown_sequence(self) -> None:
        """There is no page to change what is not in the settings."""
        client = client_with("sequences.view_sequence", "sequences.change_sequence")
        assert client.get(f"{LIST}nothing/change-scope/").status_code == 404
